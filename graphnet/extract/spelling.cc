#include "graphnet/extract/spelling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace graphnet::extract {
namespace {

bool AllAre(const Argument& list, int64_t value) {
  return list.is_list() && absl::c_all_of(list.elements(), [&](const Argument& element) {
           return element.is_int() && element.integer() == value;
         });
}

// Counts a dimension from the front.
void SpellDim(const at::Tensor& tensor, Argument* dim) {
  if (dim->is_int() && dim->integer() < 0) *dim = dim->integer() + tensor.dim();
}

// slice(input, dim = 0, start = None, end = None, step = 1)
void SpellSlice(std::vector<Argument>* args) {
  if (args->size() > 2 && (*args)[2] == Argument(0)) (*args)[2] = Argument::None();
  if (args->size() > 3 && (*args)[3] == Argument(std::numeric_limits<int64_t>::max())) {
    (*args)[3] = Argument::None();
  }
  const Argument defaults[] = {0, Argument::None(), Argument::None(), 1};
  while (args->size() > 1 && args->back() == defaults[args->size() - 2]) args->pop_back();
}

// _convolution(input, weight, bias, stride, padding, dilation, transposed,
// output_padding, groups, …): the flags after these are settings of the process.
void SpellConvolution(torchscript::CallForm* form) {
  std::vector<Argument>& args = form->args;
  if (args.size() < 9 || !args[3].is_list() || !args[6].is_bool() || args[6].boolean() ||
      !AllAre(args[7], 0)) {
    return;
  }
  switch (args[3].elements().size()) {
    case 1: form->target = "aten.conv1d.default"; break;
    case 2: form->target = "aten.conv2d.default"; break;
    case 3: form->target = "aten.conv3d.default"; break;
    default: return;
  }
  args[6] = args[8];
  args.resize(7);
  const auto is_default = [&](size_t i) {
    if (i == 2) return args[i].is_none();
    if (i == 6) return args[i] == Argument(1);
    return i > 2 && AllAre(args[i], i == 4 ? 0 : 1);
  };
  while (is_default(args.size() - 1)) args.pop_back();
}

// upsample_*(input, output_size, …, a scale or None for each dimension of an image); .vec
// computes the size from scales.
void SpellUpsample(const std::vector<c10::IValue>& operands, Arena* arena,
                   torchscript::CallForm* form) {
  if (!operands[1].isIntList()) return;
  const std::vector<int64_t> sizes = operands[1].toIntVector();
  if (operands.size() < 2 + sizes.size()) return;
  const size_t first = operands.size() - sizes.size();
  const at::IntArrayRef from = operands[0].toTensor().sizes();
  std::vector<Argument> scales;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const c10::IValue& scale = operands[first + i];
    if (scale.isNone()) continue;
    if (!scale.isDouble()) return;
    const auto length = static_cast<double>(from[from.size() - sizes.size() + i]);
    if (static_cast<int64_t>(std::floor(length * scale.toDouble())) != sizes[i]) return;
    scales.emplace_back(scale.toDouble());
  }
  if (form->args.size() < first || (!scales.empty() && scales.size() < sizes.size())) return;
  form->target = arena->Copy(absl::StrCat(absl::StripSuffix(form->target, ".default"), ".vec"));
  form->args.resize(first);
  if (!scales.empty()) form->args[1] = Argument::None();
  form->args.push_back(scales.empty() ? Argument::None()
                                      : Argument::List(arena->Copy(absl::MakeConstSpan(scales))));
}

}  // namespace

void SpellAsScripts(const std::vector<c10::IValue>& operands, Arena* arena,
                    torchscript::CallForm* form) {
  const absl::string_view target = form->target;
  std::vector<Argument>& args = form->args;
  const bool has_dim = target == "aten.slice.Tensor" || target == "aten.select.int";
  if (has_dim && args.size() > 1) SpellDim(operands[0].toTensor(), &args[1]);
  if (target == "aten.slice.Tensor") SpellSlice(&args);
  if (target == "aten._convolution.default") SpellConvolution(form);
  if (target == "aten.norm.ScalarOpt_dim") {
    form->target = "aten.linalg_vector_norm.default";
    if (args[1].is_none()) args[1] = 2.0;
  }
  if (target == "aten.split_with_sizes.default") form->target = "aten.split.sizes";
  if (absl::StrContains(target, "upsample_") && absl::EndsWith(target, ".default"))
    SpellUpsample(operands, arena, form);
  form->kwargs.erase(std::remove_if(form->kwargs.begin(), form->kwargs.end(),
                                    [](const KwArg& kwarg) {
                                      return kwarg.name == "pin_memory" &&
                                             kwarg.value == Argument(false);
                                    }),
                     form->kwargs.end());
}

}  // namespace graphnet::extract
