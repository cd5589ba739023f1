#include "graphnet/extract/stitched.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "c10/core/InferenceMode.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/ivalue_tree.h"
#include "graphnet/extract/value_tree.h"
#include "graphnet/interp/no_grad.h"
#include "graphnet/interp/torch/allowed_operators.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/values.h"
#include "graphnet/ops/lowering.h"
#include "torch/csrc/jit/runtime/operator.h"
#include "torch/custom_class.h"

namespace graphnet {

using c10::IValue;

namespace {

// Keeps attributes by their full name.
class OwnStore : public AttributeStore {
 public:
  IValue Get(const std::string& path, const std::string& name) override {
    const auto it = values_.find({path, name});
    TORCH_CHECK(it != values_.end(), "no attribute ", path, ".", name);
    return it->second;
  }
  void Set(const std::string& path, const std::string& name, IValue value) override {
    values_[{path, name}] = std::move(value);
  }

 private:
  std::map<std::pair<std::string, std::string>, IValue> values_;
};

// Returns the place of a step, for messages.
std::string PlaceOf(const StitchStep& step) {
  if (step.line == 0) return step.op;
  return absl::StrCat(Printable(step.file, 500), ":", step.line, ":", step.column, ": ",
                      Printable(step.op));
}

bool IsCustom(const StitchStep& step) {
  return step.reason == BreakReason::kCustomOperator || step.reason == BreakReason::kCustomClass;
}

// Returns true if the step's result for `tree` may fail to fit it.
bool HasGuard(const StitchStep& step, const ValueTree& tree, const StitchManifest& manifest) {
  if (tree.kind == ValueTree::Kind::kObject || tree.kind == ValueTree::Kind::kNumber) return false;
  if (tree.kind != ValueTree::Kind::kTensor || IsCustom(step)) return true;
  return manifest.tensors.find(tree.number) != manifest.tensors.end();
}

}  // namespace

std::vector<IValue> FlattenResult(const IValue& value) {
  std::vector<IValue> leaves;
  const auto add = [&](const IValue& element) {
    for (IValue& leaf : FlattenResult(element)) leaves.push_back(std::move(leaf));
  };
  if (value.isList() || value.isTuple()) {
    for (const IValue& element : Elements(value)) add(element);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) add(entry.value());
  } else {
    leaves.push_back(value);
  }
  return leaves;
}

absl::StatusOr<std::unique_ptr<StitchedProgram>> StitchedProgram::Make(
    StitchManifest manifest, std::vector<Subgraph> subgraphs,
    std::map<int64_t, at::Tensor> constants, std::map<int64_t, IValue> objects,
    std::unique_ptr<AttributeStore> store) {
  std::unique_ptr<StitchedProgram> program(new StitchedProgram);
  program->records_gradients_ = absl::c_any_of(
      subgraphs, [](const Subgraph& subgraph) { return AsksForGradients(*subgraph.module); });
  for (Subgraph& subgraph : subgraphs) {
    if (subgraph.executable != nullptr) {
      program->executables_.push_back(std::move(subgraph.executable));
      continue;
    }
    CompileOptions options;
    options.records_gradients = program->records_gradients_;
    options.attributes = std::move(subgraph.attributes);
    absl::StatusOr<std::unique_ptr<Executable>> executable = Compile(*subgraph.module, options);
    if (!executable.ok()) {
      return Annotate(executable.status(), absl::StrCat("subgraph_", program->executables_.size()));
    }
    program->executables_.push_back(*std::move(executable));
  }
  for (const StitchStep& step : manifest.steps) {
    if (step.subgraph >= static_cast<int>(program->executables_.size())) {
      return absl::InvalidArgumentError(absl::StrCat("missing subgraph_", step.subgraph));
    }
  }
  for (const auto& [number, name] : manifest.constants) {
    if (constants.find(number) == constants.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no value for the constant ", Printable(name)));
    }
  }
  for (const auto& [number, path] : manifest.objects) {
    if (objects.find(number) == objects.end()) {
      return absl::FailedPreconditionError(absl::StrCat(
          Printable(path), " is an object of a class written in C++, and was not stored"));
    }
  }
  RETURN_IF_ERROR(Guarded([&]() -> absl::Status {
    program->tensors_ = std::make_unique<extract::TensorTable>(manifest);
    if (store == nullptr) {
      store = std::make_unique<OwnStore>();
      for (const auto& [number, tensor] : constants) program->tensors_->Set(number, tensor);
      for (const auto& [number, object] : objects) program->tensors_->SetObject(number, object);
      for (const auto& state : manifest.states) {
        store->Set(state.path, state.name, program->tensors_->Make(state.pattern));
      }
    }
    return absl::OkStatus();
  }));
  for (const StitchStep& step : manifest.steps) {
    for (const ValueTree& result : step.results)
      program->has_guard_on_the_way_ |= HasGuard(step, result, manifest);
  }
  program->manifest_ = std::move(manifest);
  program->constants_ = std::move(constants);
  program->objects_ = std::move(objects);
  program->store_ = std::move(store);
  return program;
}

StitchedProgram::StitchedProgram() = default;
StitchedProgram::~StitchedProgram() = default;

size_t StitchedProgram::num_guards() const {
  size_t count = 1 + manifest_.relations.size();  // 1: how many inputs there are
  for (const auto& input : manifest_.inputs) count += extract::NumGuards(input.pattern, manifest_);
  for (const auto& state : manifest_.states) count += extract::NumGuards(state.pattern, manifest_);
  return count;
}

absl::StatusOr<std::vector<IValue>> StitchedProgram::MakeInputs(
    const std::map<int64_t, at::Tensor>& tensors) {
  return Guarded([&]() -> absl::StatusOr<std::vector<IValue>> {
    tensors_->Clear();
    for (const auto& [number, tensor] : tensors) tensors_->Set(number, tensor);
    std::vector<IValue> inputs;
    for (const auto& input : manifest_.inputs) inputs.push_back(tensors_->Make(input.pattern));
    return inputs;
  });
}

bool StitchedProgram::HasGuardAfterEffect(const StitchManifest& manifest, bool from_start) {
  bool effect = from_start;
  for (const StitchStep& step : manifest.steps) {
    if (step.subgraph >= 0) continue;
    switch (step.reason) {
      case BreakReason::kPrint:
      case BreakReason::kWarning:
      case BreakReason::kAttributeAssigned:
      case BreakReason::kAttributeMutated:
      case BreakReason::kSideEffect:
      case BreakReason::kCustomOperator:
      case BreakReason::kCustomClass: effect = true; break;
      default: break;
    }
    for (const ValueTree& result : step.results) {
      if (effect && HasGuard(step, result, manifest)) return true;
    }
  }
  return false;
}

absl::Status StitchedProgram::CheckGuards(const std::vector<IValue>& inputs) {
  return Guarded([&]() -> absl::Status {
    if (inputs.size() != manifest_.inputs.size()) {
      return absl::FailedPreconditionError(
          absl::StrCat("expected ", manifest_.inputs.size(), " inputs, found ", inputs.size()));
    }
    const auto hold = [&](std::string* why) {
      tensors_->Clear();
      for (size_t i = 0; i < inputs.size(); ++i) {
        const StitchManifest::Input& input = manifest_.inputs[i];
        if (!tensors_->Match(input.pattern, inputs[i], input.name, why)) return false;
      }
      for (const auto& state : manifest_.states) {
        if (!tensors_->Match(state.pattern, store_->Get(state.path, state.name), state.name, why))
          return false;
      }
      return tensors_->CheckRelations(manifest_, why);
    };
    // The message costs time, so it is built only after a failure.
    if (hold(nullptr)) return absl::OkStatus();
    std::string why;
    hold(&why);
    return absl::FailedPreconditionError(why);
  });
}

absl::StatusOr<std::vector<IValue>> StitchedProgram::RunMethod(std::vector<IValue> operands,
                                                               const StitchStep& step,
                                                               const RunOptions& options) {
  const c10::QualifiedName name(step.op);
  const c10::ClassTypePtr type = torch::getCustomClass(name.prefix());
  torch::jit::Function* method = type == nullptr ? nullptr : type->findMethod(name.name());
  if (method == nullptr) return absl::InvalidArgumentError("the method does not exist");
  if (!options.custom_operators)
    return absl::InvalidArgumentError("is not run: it may reach beyond the program's values");
  const bool creates = name.name() == "__init__";
  if (creates) {
    operands.insert(operands.begin(),
                    c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, type), 1));
  }
  const IValue self = operands.empty() ? IValue() : operands[0];
  method->getSchema().checkAndNormalizeInputs(operands);
  method->run(operands);
  return creates ? std::vector<IValue>{self} : operands;
}

absl::StatusOr<std::vector<IValue>> StitchedProgram::RunOperation(const StitchStep& step,
                                                                  const RunOptions& options) {
  std::vector<IValue> stack;
  for (const ValueTree& operand : step.operands) stack.push_back(tensors_->Make(operand));
  if (step.op == "prim::Print") {
    extract::Print(stack, options.print);
    return std::vector<IValue>();
  }
  if (step.op == "aten::warn") {
    extract::Warn(stack);
    return std::vector<IValue>();
  }
  if (step.op == "prim::Loop") return std::vector<IValue>();  // between two of its iterations
  if (step.op == "prim::SetAttr") {
    if (stack.size() != 3 || !stack[0].isString() || !stack[1].isString()) {
      return absl::InvalidArgumentError("takes an object, a name and a value");
    }
    store_->Set(stack[0].toStringRef(), stack[1].toStringRef(), stack[2]);
    return std::vector<IValue>();
  }
  if (step.reason == BreakReason::kCustomClass) return RunMethod(std::move(stack), step, options);
  std::shared_ptr<torch::jit::Operator> op;
  for (const auto& candidate :
       torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(step.op))) {
    if (candidate->schema().overload_name() == step.overload) op = candidate;
  }
  if (op == nullptr) return absl::InvalidArgumentError("the operator does not exist");
  const bool custom = !absl::StartsWith(step.op, "aten::") && !absl::StartsWith(step.op, "prim::");
  if (!IsAllowed(op->schema()) && !(custom && options.custom_operators)) {
    return absl::InvalidArgumentError("is not run: it may reach beyond the program's values");
  }
  if (!op->schema().is_vararg() && stack.size() != op->schema().arguments().size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("takes ", op->schema().arguments().size(), " operands, not ", stack.size()));
  }
  if (op->schema().is_vararg() && !op->schema().is_varret())
    stack.push_back(static_cast<int64_t>(stack.size()));
  // Operators such as aten::str(t elem) take any type, which the check does not support.
  const bool is_generic = absl::c_any_of(
      op->schema().arguments(),
      [](const c10::Argument& argument) { return argument.type()->hasFreeVariables(); });
  if (!op->schema().is_vararg() && !is_generic) op->schema().checkAndNormalizeInputs(stack);
  const auto handle = c10::Dispatcher::singleton().findSchema(op->schema().operator_name());
  interp::CallAsNoGrad(!records_gradients_ && handle && interp::IsComposite(*handle),
                       at::ArrayRef(stack),
                       [&] { WithGuard(op->schema(), op->getOperation())(stack); });
  return stack;
}

absl::StatusOr<IValue> StitchedProgram::Run(const std::vector<IValue>& inputs,
                                            const RunOptions& options) {
  return Guarded([&]() -> absl::StatusOr<IValue> {
    const c10::InferenceMode inference(!records_gradients_);
    std::string why;
    RETURN_IF_ERROR(CheckGuards(inputs));
    for (const auto& [number, tensor] : constants_) {
      if (!tensors_->Get(number).defined()) tensors_->Set(number, tensor);
    }
    for (const auto& [number, object] : objects_) tensors_->SetObject(number, object);
    graphnet::RunOptions run;
    run.observer = options.observer;
    for (const StitchStep& step : manifest_.steps) {
      if (step.subgraph < 0) {
        absl::StatusOr<std::vector<IValue>> results =
            Guarded([&] { return RunOperation(step, options); });
        if (!results.ok()) return Annotate(results.status(), PlaceOf(step));
        if (results->size() != step.results.size()) {
          return absl::InvalidArgumentError(absl::StrCat(
              PlaceOf(step), ": returns ", results->size(), " values, not ", step.results.size()));
        }
        for (size_t i = 0; i < results->size(); ++i) {
          if (!tensors_->Match(step.results[i], (*results)[i], "its result", &why)) {
            return absl::FailedPreconditionError(absl::StrCat(PlaceOf(step), ": ", why));
          }
        }
        continue;
      }
      std::vector<IValue> values;
      for (const std::string& symbol : step.symbols) values.push_back(tensors_->SizeOf(symbol));
      for (const int64_t number : step.inputs) values.push_back(tensors_->Value(number));
      absl::StatusOr<std::vector<IValue>> outputs =
          executables_[static_cast<size_t>(step.subgraph)]->Run(std::move(values), run);
      if (!outputs.ok())
        return Annotate(outputs.status(), absl::StrCat("subgraph_", step.subgraph));
      if (outputs->size() != step.outputs.size()) {
        return absl::InvalidArgumentError(absl::StrCat("subgraph_", step.subgraph, " returns ",
                                                       outputs->size(), " tensors, not ",
                                                       step.outputs.size()));
      }
      for (size_t i = 0; i < outputs->size(); ++i) {
        if (!(*outputs)[i].isTensor())
          return absl::InvalidArgumentError("a subgraph returned a value other than a tensor");
        tensors_->Set(step.outputs[i], (*outputs)[i].toTensor());
      }
    }
    IValue result = tensors_->Make(manifest_.result);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (manifest_.inputs[i].after) tensors_->Assign(*manifest_.inputs[i].after, inputs[i]);
    }
    tensors_->Clear();
    return result;
  });
}

}  // namespace graphnet
