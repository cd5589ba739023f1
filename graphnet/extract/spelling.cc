#include "graphnet/extract/spelling.h"

#include <limits>

#include "absl/algorithm/container.h"

namespace graphnet::extract {
namespace {

bool AllAre(const Argument& list, int64_t value) {
  return list.is_list() && absl::c_all_of(list.elements(), [&](const Argument& element) {
           return element.is_int() && element.integer() == value;
         });
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
// output_padding, groups, …): the flags behind are settings of the process.
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

}  // namespace

void SpellAsScripts(torchscript::CallForm* form) {
  if (form->target == "aten.slice.Tensor") SpellSlice(&form->args);
  if (form->target == "aten._convolution.default") SpellConvolution(form);
}

}  // namespace graphnet::extract
