#include "graphnet/interp/declared_operator.h"

#include <complex>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "ATen/core/dispatch/Dispatcher.h"
#include "ATen/core/function_schema.h"
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "c10/util/Exception.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/infer_meta.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/types.h"
#include "graphnet/interp/torch/values.h"
#include "graphnet/ops/foreign_operators.h"
#include "torch/csrc/jit/frontend/function_schema_parser.h"
#include "torch/library.h"

namespace graphnet {
namespace {

using c10::IValue;
using torch::jit::Stack;

bool IsTensor(const c10::Argument& argument) {
  return argument.type()->kind() == c10::TypeKind::TensorType;
}

// Returns the target of the operator, such as "mylib.observe.default".
std::string TargetOf(const c10::FunctionSchema& schema) {
  return absl::StrCat(absl::StrReplaceAll(schema.name(), {{"::", "."}}), ".",
                      schema.overload_name().empty() ? "default" : schema.overload_name());
}

// Makes an argument of a call from `input`, with a placeholder for each tensor in it.
Argument AsArgument(const IValue& input, const c10::Argument& formal, Graph* graph) {
  if (input.isTensor()) {
    const at::Tensor& tensor = input.toTensor();
    if (!tensor.defined()) return Argument();
    Node* const node = graph->Placeholder(absl::StrCat("x", graph->num_nodes()));
    TensorMeta meta;
    meta.dtype = DTypeOf(tensor.scalar_type());
    meta.has_shape = true;
    const std::vector<Dim> dims(tensor.sizes().begin(), tensor.sizes().end());
    meta.shape = dims;
    node->set_meta(graph->module()->InternValueMeta(meta));
    return node;
  }
  if (input.isList() || input.isTuple()) {
    std::vector<Argument> elements;
    for (const IValue& element : Elements(input))
      elements.push_back(AsArgument(element, formal, graph));
    return graph->module()->CopyArgument(Argument::List(elements));
  }
  std::complex<double> complex;
  const std::optional<Argument> constant = ArgumentOf(input, &complex);
  if (!constant.has_value()) return Argument();
  return graph->module()->CopyArgument(AsFormal(*constant, formal.real_type()->kind()));
}

// Returns tensors without data, with the sizes and dtypes by the facts of an operator.
absl::StatusOr<std::vector<IValue>> ShapesByFacts(absl::string_view target,
                                                  const c10::FunctionSchema& schema,
                                                  const std::vector<IValue>& inputs) {
  Module module;
  Graph* const graph = module.AddGraph("call");
  std::vector<Argument> args;
  for (size_t i = 0; i < inputs.size(); ++i)
    args.push_back(AsArgument(inputs[i], schema.arguments()[i], graph));
  Node* const call = graph->CallFunction(target, args);
  InferMeta(call);
  const auto make = [](const ValueMeta* meta) -> absl::StatusOr<at::Tensor> {
    const TensorMeta* tensor = meta == nullptr ? nullptr : meta->tensor;
    if (tensor == nullptr || !tensor->is_static() || tensor->dtype == DType::kUnknown)
      return absl::FailedPreconditionError(
          "has facts that do not determine its sizes and dtype here");
    std::vector<int64_t> sizes;
    for (const Dim& dim : tensor->shape) sizes.push_back(dim.value);
    return at::empty(sizes, at::device(c10::kMeta).dtype(ScalarTypeOf(tensor->dtype)));
  };
  const ValueMeta* const meta = call->meta();
  if (meta == nullptr || !meta->is_tuple) {
    ASSIGN_OR_RETURN(at::Tensor tensor, make(meta));
    return std::vector<IValue>{std::move(tensor)};
  }
  std::vector<at::Tensor> tensors;
  for (const ValueMeta* element : meta->elements) {
    ASSIGN_OR_RETURN(tensors.emplace_back(), make(element));
  }
  if (schema.returns().size() == 1) return std::vector<IValue>{std::move(tensors)};
  return std::vector<IValue>(tensors.begin(), tensors.end());
}

// The kernel of an operator with or without a body. Thread-safe.
class Kernel final : public c10::OperatorKernel {
 public:
  Kernel(const c10::FunctionSchema& schema, std::shared_ptr<const Module> body)
      : name_(schema.name()),
        target_(TargetOf(schema)),
        num_results_(schema.returns().size()),
        body_(std::move(body)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    const size_t count = op.schema().arguments().size();
    std::vector<IValue> inputs(stack->end() - static_cast<ptrdiff_t>(count), stack->end());
    stack->resize(stack->size() - count);
    const bool is_meta = absl::c_any_of(inputs, [](const IValue& input) {
      return input.isTensor() && input.toTensor().defined() && input.toTensor().is_meta();
    });
    const char* const kNoBody = " is declared without a body";
    TORCH_CHECK(body_ != nullptr || FindKnownOverload(target_) != nullptr, name_, kNoBody);
    TORCH_CHECK_NOT_IMPLEMENTED(body_ != nullptr || is_meta, name_, kNoBody);
    absl::StatusOr<std::vector<IValue>> results = body_ != nullptr
                                                      ? Run(std::move(inputs), is_meta)
                                                      : ShapesByFacts(target_, op.schema(), inputs);
    TORCH_CHECK(results.ok(), name_, body_ != nullptr ? ": " : " ",
                std::string(results.status().message()));
    TORCH_CHECK(results->size() == num_results_, name_, ": it returns ", results->size(),
                " values, not ", num_results_);
    for (IValue& result : *results) stack->push_back(std::move(result));
  }

 private:
  absl::StatusOr<std::vector<IValue>> Run(std::vector<IValue> inputs, bool is_meta) {
    CompileOptions options;
    if (is_meta) options.device = c10::Device(c10::kMeta);
    // One executable cannot run twice at the same time.
    ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable, Compile(*body_, options));
    return executable->Run(std::move(inputs));
  }

  const std::string name_;
  const std::string target_;
  const size_t num_results_;
  const std::shared_ptr<const Module> body_;
};

// The kernel of an identity. A result is a copy, unless the schema says that it shares memory with
// an argument.
class IdentityKernel final : public c10::OperatorKernel {
 public:
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    const c10::FunctionSchema& schema = op.schema();
    const size_t count = schema.arguments().size();
    std::vector<IValue> results;
    for (size_t i = 0; results.size() < schema.returns().size(); ++i) {
      if (!IsTensor(schema.arguments()[i])) continue;
      const at::Tensor& tensor = (*stack)[stack->size() - count + i].toTensor();
      const bool is_alias = schema.returns()[results.size()].alias_info() != nullptr;
      results.emplace_back(is_alias ? tensor : tensor.clone());
    }
    stack->resize(stack->size() - count);
    for (IValue& result : results) stack->push_back(std::move(result));
  }
};

absl::Status Check(const c10::FunctionSchema& schema, const DeclaredOperator& declared) {
  const std::string& name = schema.name();
  RETURN_IF_ERROR(Annotate(CheckForeignName(name), name));
  if (c10::Dispatcher::singleton().findSchema(schema.operator_name()))
    return absl::AlreadyExistsError(absl::StrCat(name, ": the operator exists already"));
  if (declared.is_identity) {
    const auto tensors = absl::c_count_if(schema.arguments(), IsTensor);
    if (!absl::c_all_of(schema.returns(), IsTensor) ||
        static_cast<size_t>(tensors) < schema.returns().size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name,
                       ": identity returns the tensors that it takes, but its schema takes fewer "
                       "than it returns, or returns other values"));
    }
  }
  if (declared.body == nullptr) return absl::OkStatus();
  const Graph* main = declared.body->main();
  const size_t taken = main == nullptr ? 0 : main->placeholders().size();
  if (taken != schema.arguments().size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": its body takes ", taken, " values, its schema ", schema.arguments().size()));
  }
  if (!declared.body->attributes().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": a body cannot have parameters or buffers, but this one has ",
                     declared.body->attributes().size()));
  }
  // The operators that the body calls must exist already, so bodies cannot call each other in a
  // circle.
  return Annotate(Compile(*declared.body).status(), absl::StrCat(name, ": its body"));
}

template <typename K, typename... Args>
torch::CppFunction Boxed(Args&&... args) {
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<K>(std::forward<Args>(args)...));
}

absl::Status Declare(DeclaredOperator declared) {
  c10::FunctionSchema schema = torch::jit::parseSchema(declared.schema);
  RETURN_IF_ERROR(Check(schema, declared));
  const size_t colons = schema.name().find("::");
  const std::string space = schema.name().substr(0, colons);
  const std::string name = schema.name().substr(colons + 2);
  const std::string overload = schema.overload_name();
  // The libraries stay loaded: graphs may call the operator until the process ends.
  static auto* const libraries = new std::vector<torch::Library>;
  torch::Library library(torch::Library::FRAGMENT, space, std::nullopt, __FILE__, __LINE__);
  torch::CppFunction kernel = declared.is_identity
                                  ? Boxed<IdentityKernel>()
                                  : Boxed<Kernel>(schema, std::move(declared.body));
  const std::string full = overload.empty() ? name : absl::StrCat(name, ".", overload);
  AddForeignOperator(toString(schema));
  library.def(std::move(schema));
  // This key covers all devices, and tensors without data.
  library.impl(full.c_str(),
               torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, std::move(kernel)));
  libraries->push_back(std::move(library));
  return absl::OkStatus();
}

}  // namespace

absl::Status DeclareOperator(DeclaredOperator declared) {
  const std::string schema = declared.schema;
  return Annotate(Guarded([&] { return Declare(std::move(declared)); }), Printable(schema, 300));
}

}  // namespace graphnet
