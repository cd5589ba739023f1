#include "graphnet/interp/observe.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "ATen/core/ivalue.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/data_sizes.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/run_report.h"
#include "graphnet/interp/shape_run.h"
#include "graphnet/interp/shapes.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/ir/shared_walk.h"

namespace graphnet {
namespace {

// Tensors of at most this many elements are stored in full.
constexpr int64_t kMaxLiterals = 64;
// Lists of numbers are stored in full until they hold this many numbers together. (Each call that
// appends to a list has the whole list as its value.)
constexpr uint64_t kMaxNumbers = uint64_t{1} << 20;
// Lists and tuples are stored until they have this many elements together.
constexpr uint64_t kMaxElements = uint64_t{1} << 22;

size_t NumElements(const c10::IValue& value) {
  return value.isTuple()  ? value.toTupleRef().elements().size()
         : value.isList() ? value.toListRef().size()
                          : 0;
}

// Returns the elements as literals, in row-major order. There are no literals of complex numbers.
std::vector<Argument> Literals(const at::Tensor& tensor) {
  std::vector<Argument> elements;
  const at::Tensor flat = tensor.detach().cpu().contiguous().flatten();
  const bool is_bool = tensor.scalar_type() == at::kBool;
  const bool is_integral = at::isIntegralType(tensor.scalar_type(), /*includeBool=*/false);
  for (int64_t i = 0; i < flat.numel(); ++i) {
    const at::Scalar element = flat[i].item();
    elements.push_back(is_bool       ? Argument(element.toBool())
                       : is_integral ? Argument(element.toLong())
                                     : Argument(element.toDouble()));
  }
  return elements;
}

// Returns how to draw a tensor like this one, whose data is known.
DrawSpec SpecOf(const at::Tensor& tensor, Module* module) {
  DrawSpec spec;
  if (tensor.numel() == 0 || tensor.is_complex()) return spec;
  const bool is_float = tensor.is_floating_point();
  if (!is_float && tensor.numel() <= kMaxLiterals) {
    spec.data = module->CopyArgument(Argument::List(Literals(tensor)));
    return spec;
  }
  if (tensor.scalar_type() == at::kBool) return spec;
  if (!is_float) {
    spec.min = Argument(tensor.min().item<int64_t>());
    spec.max = Argument(tensor.max().item<int64_t>());
    return spec;
  }
  const at::Tensor all = tensor.to(at::kDouble);
  const at::Tensor finite = all.masked_select(all.isfinite());
  if (finite.numel() == 0) return spec;
  spec.has_mean = spec.has_std = true;
  spec.mean = finite.mean().item<double>();
  spec.std = finite.numel() > 1 ? finite.std().item<double>() : 0;
  spec.min = Argument(finite.min().item<double>());
  spec.max = Argument(finite.max().item<double>());
  return spec;
}

// Returns how to draw a tensor without data: integers must be valid indices.
DrawSpec SpecWithoutData(const at::Tensor& tensor) {
  DrawSpec spec;
  if (!at::isIntegralType(tensor.scalar_type(), /*includeBool=*/false)) return spec;
  spec.min = spec.max = Argument(0);
  return spec;
}

// Returns a number, or a list of ints, as literals with an annotation; nullopt for other values.
std::optional<ObservedValues::Value> NumbersOf(const c10::IValue& value, Module* module,
                                               Budget* budget) {
  std::vector<Argument> numbers;
  std::string annotation;
  if (value.isInt()) {
    numbers.push_back(Argument(value.toInt()));
    annotation = "torch.SymInt";
  } else if (value.isDouble()) {
    numbers.push_back(Argument(value.toDouble()));
    annotation = "torch.SymFloat";
  } else if (value.isBool()) {
    numbers.push_back(Argument(value.toBool()));
    annotation = "torch.SymBool";
  } else if (value.isList() || value.isTuple()) {
    const c10::ArrayRef<c10::IValue> elements =
        value.isTuple() ? value.toTupleRef().elements().asArrayRef() : value.toListRef();
    if (elements.empty() || !elements[0].isInt() || !budget->Charge(elements.size()))
      return std::nullopt;
    for (const c10::IValue& element : elements) {
      if (!element.isInt()) return std::nullopt;
      numbers.push_back(Argument(element.toInt()));
    }
    annotation = "List[int]";
  }
  if (numbers.empty()) return std::nullopt;
  ObservedValues::Value found;
  found.draw_spec.data = module->CopyArgument(Argument::List(numbers));
  found.annotation = std::move(annotation);
  return found;
}

// Records a value. `measured` is true if the values of floats are meaningful and not made up.
void Note(const Node& node, const c10::IValue& value, bool measured, Budget* budget,
          ObservedValues* found) {
  const std::string name(node.name());
  if (value.isTensor() && value.toTensor().defined()) {
    const at::Tensor& tensor = value.toTensor();
    // The tensor is inside a vmap, where items cannot be read. No cut goes through a vmap.
    if (tensor.unsafeGetTensorImpl()->key_set().has(c10::DispatchKey::FuncTorchBatched)) return;
    if (tensor.is_nested() || tensor.layout() != c10::kStrided) return;
    if (!measured && tensor.is_floating_point()) return;
    const DrawSpec spec =
        tensor.is_meta() ? SpecWithoutData(tensor) : SpecOf(tensor, found->module.get());
    if (!(spec == DrawSpec())) found->values[name] = {spec, ""};
  } else if (auto numbers = NumbersOf(value, found->module.get(), budget)) {
    found->values[name] = *std::move(numbers);
  }
}

}  // namespace

absl::Status InferValues(const Sample& sample, bool name_sizes, ObservedValues* found) {
  found->module = sample.module->Clone();
  DrawOptions draw;
  draw.max_bytes = AvailableMemoryBytes() / 2;
  draw.max_elements = kMaxElementsWithData;
  ASSIGN_OR_RETURN(const auto values, DrawInputs(sample, draw));
  FoundValues observed;
  SaidValues said;
  for (const Node* node : found->module->main()->nodes()) {
    if (node->meta() != nullptr) said.metas[node] = node->meta();
  }
  bool reads_data = false;
  Budget numbers(kMaxNumbers);
  Budget elements(kMaxElements);
  ShapeRun run;
  run.reads_data = &reads_data;
  run.observer = [&](const Node& node, const c10::IValue& value) {
    Note(node, value, /*measured=*/false, &numbers, found);
    if (name_sizes && elements.Charge(NumElements(value))) observed[&node] = value;
    return absl::OkStatus();
  };
  absl::Status status = InferShapesFrom(found->module.get(), values, said, run).status();
  if (name_sizes) {
    GiveExamples(observed, found->module.get());
    if (reads_data) NameDataSizes(*sample.module, values, observed, found->module.get());
  }
  return status;
}

absl::Status MeasureValues(const Sample& sample, const DrawOptions& draw, ObservedValues* found) {
  InferValues(sample, /*name_sizes=*/false, found).IgnoreError();  // The run reports errors better.
  ASSIGN_OR_RETURN(auto values, DrawInputs(sample, draw));
  ASSIGN_OR_RETURN(PreparedRun prepared,
                   PrepareRun(*sample.module, std::move(values), {.max_bytes = draw.max_bytes}));
  Budget budget(kMaxNumbers);
  const Observer note = [&](const Node& node, const c10::IValue& value) {
    return Guarded([&]() -> absl::Status {
      Note(node, value, /*measured=*/true, &budget, found);
      Node* copy = found->module->main()->FindNode(node.name());
      // If there are symbols, these sizes hold for the example only.
      if (copy->meta() == nullptr && sample.module->symbols().empty())
        copy->set_meta(MetaOfValue(value, nullptr, found->module.get()));
      return absl::OkStatus();
    });
  };
  return prepared.executable->Run(std::move(prepared.inputs), {.seed = draw.seed, .observer = note})
      .status();
}

}  // namespace graphnet
