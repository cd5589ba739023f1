#include "graphnet/formats/pt2/model_runner.h"

#include <mutex>
#include <optional>

#include "ATen/Functions.h"
#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/formats/pt2/input_check.h"
#include "graphnet/formats/pt2/input_structure.h"
#include "graphnet/formats/pt2/tree_spec.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/interp/torch/types.h"
#include "graphnet/interp/torch/values.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {
namespace {

using c10::IValue;
using pt2::TreeSpec;

// Shapes that fit are not checked again; at most this many are remembered.
constexpr size_t kMaxCheckedShapes = 1024;

// True if a call writes to an attribute or a view of one, or might do so.
bool WritesState(const Module& module) {
  for (const Graph* graph : module.graphs()) {
    absl::flat_hash_set<const Node*> state;
    for (const Node* node : graph->nodes()) {
      if (node->op() == Op::kGetAttr) state.insert(node);
      if (node->op() == Op::kPlaceholder || node->op() == Op::kOutput) continue;
      const MemoryUse use = MemoryUseOf(*node);
      const auto is_state = [&](const Node* operand) { return state.contains(operand); };
      if (absl::c_any_of(use.written, is_state)) return true;
      if (absl::c_any_of(use.shared, is_state)) state.insert(node);
    }
  }
  return false;
}

std::string PathOf(const std::string& path, const TreeSpec::Key& key) {
  if (const auto* text = std::get_if<std::string>(&key))
    return absl::StrCat(path, "['", *text, "']");
  if (const auto* number = std::get_if<int64_t>(&key)) return absl::StrCat(path, "[", *number, "]");
  return absl::StrCat(path, "[…]");
}

bool IsKey(const IValue& value, const TreeSpec::Key& key) {
  if (const auto* text = std::get_if<std::string>(&key))
    return value.isString() && value.toStringRef() == *text;
  if (const auto* number = std::get_if<int64_t>(&key))
    return value.isInt() && value.toInt() == *number;
  if (const auto* flag = std::get_if<bool>(&key)) return value.isBool() && value.toBool() == *flag;
  if (const auto* number = std::get_if<double>(&key))
    return value.isDouble() && value.toDouble() == *number;
  return value.isNone();
}

absl::Status Misfit(const std::string& path, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": the program takes ", wanted, " there"));
}

// Appends the leaves of `value`, which must have the structure `spec`.
absl::Status Flatten(const IValue& value, const TreeSpec& spec, const std::string& path,
                     std::vector<IValue>* leaves) {
  switch (spec.kind) {
    case TreeSpec::Kind::kLeaf: leaves->push_back(value); return absl::OkStatus();
    case TreeSpec::Kind::kDict: {
      if (!value.isGenericDict()) return Misfit(path, "a dict");
      const auto dict = value.toGenericDict();
      for (size_t i = 0; i < spec.children.size(); ++i) {
        const std::string place = PathOf(path, spec.keys[i]);
        const auto entry = absl::c_find_if(
            dict, [&](const auto& member) { return IsKey(member.key(), spec.keys[i]); });
        if (entry == dict.end()) return Misfit(place, "a value");
        RETURN_IF_ERROR(Flatten(entry->value(), spec.children[i], place, leaves));
      }
      if (dict.size() == spec.children.size()) return absl::OkStatus();
      return Misfit(path, absl::StrCat("a dict of ", spec.children.size()));
    }
    case TreeSpec::Kind::kTuple:
    case TreeSpec::Kind::kList:
    case TreeSpec::Kind::kOther: {
      const std::string wanted = absl::StrCat("a list or tuple of ", spec.children.size());
      if (!value.isTuple() && !value.isList()) return Misfit(path, wanted);
      const std::vector<IValue> elements = Elements(value);
      if (elements.size() != spec.children.size()) return Misfit(path, wanted);
      for (size_t i = 0; i < elements.size(); ++i) {
        RETURN_IF_ERROR(
            Flatten(elements[i], spec.children[i], absl::StrCat(path, "[", i, "]"), leaves));
      }
      return absl::OkStatus();
    }
  }
  return absl::InternalError("unknown structure");
}

IValue KeyOf(const Argument& key) {
  if (key.is_int()) return key.integer();
  if (key.is_bool()) return key.boolean();
  if (key.is_float()) return key.real();
  if (key.is_string()) return std::string(key.string());
  return {};
}

// Inverse of Flatten: rebuilds the structure that the output node returns.
IValue Unflatten(const Argument& structure, absl::Span<const IValue>* leaves) {
  if (!structure.is_aggregate()) {
    IValue leaf = leaves->front();
    leaves->remove_prefix(1);
    return leaf;
  }
  const auto elements = structure.elements();
  if (structure.kind() == Argument::Kind::kDict) {
    c10::impl::GenericDict dict(c10::AnyType::get(), c10::AnyType::get());
    for (size_t i = 0; i < elements.size(); i += 2)
      dict.insert(KeyOf(elements[i]), Unflatten(elements[i + 1], leaves));
    return dict;
  }
  std::vector<IValue> values;
  for (const Argument& element : elements) values.push_back(Unflatten(element, leaves));
  if (structure.is_tuple()) return c10::ivalue::Tuple::create(std::move(values));
  c10::impl::GenericList list(c10::AnyType::get());
  for (IValue& value : values) list.push_back(std::move(value));
  return list;
}

size_t NumLeaves(const Argument& structure) {
  if (!structure.is_aggregate()) return 1;
  size_t sum = 0;
  const auto elements = structure.elements();
  const bool is_dict = structure.kind() == Argument::Kind::kDict;
  for (size_t i = is_dict ? 1 : 0; i < elements.size(); i += is_dict ? 2 : 1)
    sum += NumLeaves(elements[i]);
  return sum;
}

// Runs a module without inputs on the values of its attributes.
absl::StatusOr<std::map<std::string, TensorData>> RunOnce(
    const Module& module, const std::map<std::string, TensorData>& values, c10::Device device) {
  CompileOptions compile;
  compile.device = device;
  for (const auto& [name, data] : values) {
    ASSIGN_OR_RETURN(compile.attributes[name], ToTensor(data, device));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable, Compile(module, compile));
  ASSIGN_OR_RETURN(const std::vector<IValue> outputs, executable->Run({}));
  return NameOutputs(outputs);
}

// Returns the sample without the calls that each run would repeat: those that change nothing, and
// those that depend on weights and constants alone. No bit of a result changes.
absl::StatusOr<Sample> Optimised(const Sample& sample, c10::Device device) {
  Sample made;
  made.module = sample.module->Clone();
  made.weights = sample.weights;
  ASSIGN_OR_RETURN(const Pipeline pipeline,
                   ParsePipeline("remove-aliases,fold-constants{values=true},dce"));
  PipelineOptions options;
  options.run_constants = [device](const Module& module, const auto& values) {
    return RunOnce(module, values, device);
  };
  RETURN_IF_ERROR(RunPipeline(pipeline, &made, options).status());
  return made;
}

absl::StatusOr<std::map<std::string, at::Tensor>> AttributesOf(const Sample& sample,
                                                               c10::Device device) {
  std::map<std::string, at::Tensor> tensors;
  for (const Attribute& attribute : sample.module->attributes()) {
    const auto value = sample.weights.find(std::string(attribute.name));
    if (value == sample.weights.end()) continue;  // It may not be read.
    absl::StatusOr<at::Tensor> tensor = ToTensor(value->second, device);
    if (!tensor.ok()) return Annotate(tensor.status(), Printable(attribute.name));
    tensors.emplace(attribute.name, *std::move(tensor));
  }
  return tensors;
}

class Runner final : public ModelRunner {
 public:
  // `program` is what runs; it computes what `sample` does. `state` has the attributes of `sample`.
  Runner(Sample sample, std::unique_ptr<const Module> program, CompileOptions compile,
         std::map<std::string, at::Tensor> state)
      : sample_(std::move(sample)),
        program_(std::move(program)),
        compile_(std::move(compile)),
        state_(std::move(state)),
        writes_state_(WritesState(*sample_.module)) {
    for (const Node* node : sample_.module->main()->placeholders())
      inputs_.emplace_back(node->target());
  }

  // Compiles the first executable, so that a program that cannot run fails before any call.
  absl::Status Start() {
    ASSIGN_OR_RETURN(auto executable, Compile(program(), compile_));
    idle_.push_back(std::move(executable));
    absl::StatusOr<pt2::InputStructure> structure = pt2::ReadInputStructure(sample_);
    if (structure.ok()) {
      structure_ = *std::move(structure);
    } else if (!absl::IsNotFound(structure.status())) {
      return structure.status();
    }
    return absl::OkStatus();
  }

  absl::StatusOr<IValue> Call(std::vector<IValue> args,
                              const std::map<std::string, IValue>& kwargs) override {
    std::vector<IValue> inputs;
    RETURN_IF_ERROR(structure_.has_value() ? BindByStructure(std::move(args), kwargs, &inputs)
                                           : Bind(std::move(args), kwargs, &inputs));
    ASSIGN_OR_RETURN(const std::vector<IValue> outputs, Run(std::move(inputs)));
    const Argument returned = sample_.module->main()->output()->args()[0];
    if (NumLeaves(returned) != outputs.size())
      return absl::InternalError("the outputs are not those of the output node");
    absl::Span<const IValue> leaves(outputs);
    return Guarded([&]() -> absl::StatusOr<IValue> { return Unflatten(returned, &leaves); });
  }

  absl::StatusOr<std::vector<IValue>> Run(std::vector<IValue> inputs) override {
    if (inputs.size() != inputs_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(inputs.size(), " inputs, the program takes ", inputs_.size()));
    }
    RETURN_IF_ERROR(CheckInputs(inputs));
    std::unique_lock<std::mutex> alone(state_mutex_, std::defer_lock);
    if (writes_state_) alone.lock();
    ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable, Take());
    absl::StatusOr<std::vector<IValue>> outputs = executable->Run(std::move(inputs));
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(executable));
    return outputs;
  }

  const std::vector<std::string>& inputs() const override { return inputs_; }
  bool writes_state() const override { return writes_state_; }

  absl::StatusOr<std::map<std::string, TensorData>> State() override {
    std::unique_lock<std::mutex> alone(state_mutex_, std::defer_lock);
    if (writes_state_) alone.lock();
    std::map<std::string, TensorData> state;
    for (const auto& [name, tensor] : state_) {
      ASSIGN_OR_RETURN(state[name], ToTensorData(tensor));
    }
    return state;
  }

 private:
  absl::Status BindByStructure(std::vector<IValue> args,
                               const std::map<std::string, IValue>& kwargs,
                               std::vector<IValue>* inputs) const {
    std::vector<IValue> leaves;
    c10::impl::GenericDict named(c10::AnyType::get(), c10::AnyType::get());
    for (const auto& [name, value] : kwargs) named.insert(name, value);
    const IValue positional = c10::ivalue::Tuple::create(std::move(args));
    RETURN_IF_ERROR(Flatten(positional, structure_->spec.children[0], "args", &leaves));
    RETURN_IF_ERROR(Flatten(named, structure_->spec.children[1], "kwargs", &leaves));
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!structure_->inputs[i].empty()) inputs->push_back(leaves[i]);
    }
    return absl::OkStatus();
  }

  absl::Status Bind(std::vector<IValue> args, const std::map<std::string, IValue>& kwargs,
                    std::vector<IValue>* inputs) const {
    *inputs = std::move(args);
    size_t taken = 0;
    for (size_t i = inputs->size(); i < inputs_.size(); ++i) {
      const auto named = kwargs.find(inputs_[i]);
      if (named == kwargs.end())
        return absl::InvalidArgumentError(absl::StrCat("no value for ", Printable(inputs_[i])));
      inputs->push_back(named->second);
      ++taken;
    }
    if (taken == kwargs.size()) return absl::OkStatus();
    for (const auto& [name, value] : kwargs) {
      if (!absl::c_linear_search(inputs_, name))
        return absl::InvalidArgumentError(
            absl::StrCat("the program has no input ", Printable(name)));
    }
    return absl::InvalidArgumentError("an input has two values");
  }

  absl::Status CheckInputs(const std::vector<IValue>& inputs) {
    if (!structure_.has_value()) return absl::OkStatus();
    std::map<std::string, TensorData> values;
    std::string key;
    for (size_t i = 0; i < inputs.size(); ++i) {
      TensorData& data = values[inputs_[i]];
      if (inputs[i].isTensor()) {
        const at::Tensor& tensor = inputs[i].toTensor();
        data.dtype = DTypeOf(tensor.scalar_type());
        data.shape = tensor.sizes().vec();
      } else if (inputs[i].isInt()) {
        ASSIGN_OR_RETURN(data, ToTensorData(at::full({}, inputs[i].toInt(), at::kLong)));
      }
      absl::StrAppend(&key, ";", inputs[i].isInt() ? absl::StrCat("=", inputs[i].toInt()) : "");
      for (const int64_t size : data.shape) absl::StrAppend(&key, size, ",");
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (checked_.contains(key)) return absl::OkStatus();
    }
    RETURN_IF_ERROR(CheckProgramInputs(sample_, values));
    const std::lock_guard<std::mutex> lock(mutex_);
    if (checked_.size() >= kMaxCheckedShapes) checked_.clear();
    checked_.insert(std::move(key));
    return absl::OkStatus();
  }

  // An executable serves one run at a time, so there are as many as have run at once.
  absl::StatusOr<std::unique_ptr<Executable>> Take() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Executable> executable = std::move(idle_.back());
        idle_.pop_back();
        return executable;
      }
    }
    return Compile(program(), compile_);
  }

  const Module& program() const { return program_ != nullptr ? *program_ : *sample_.module; }

  const Sample sample_;
  const std::unique_ptr<const Module> program_;  // null: that of sample_
  const CompileOptions compile_;                 // whose attributes all executables share
  const std::map<std::string, at::Tensor> state_;
  const bool writes_state_;
  std::vector<std::string> inputs_;
  std::optional<pt2::InputStructure> structure_;
  std::mutex state_mutex_;
  std::mutex mutex_;  // guards the members below
  std::vector<std::unique_ptr<Executable>> idle_;
  absl::flat_hash_set<std::string> checked_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ModelRunner>> ModelRunner::Make(Sample sample, c10::Device device) {
  CompileOptions compile;
  compile.device = device;
  ASSIGN_OR_RETURN(auto state, AttributesOf(sample, device));
  compile.attributes = state;
  std::unique_ptr<const Module> program;
  if (absl::StatusOr<Sample> optimised = Optimised(sample, device); optimised.ok()) {
    std::erase_if(optimised->weights,
                  [&](const auto& weight) { return state.contains(weight.first); });
    ASSIGN_OR_RETURN(auto computed, AttributesOf(*optimised, device));
    compile.attributes.merge(computed);
    program = std::move(optimised->module);
  }
  sample.weights.clear();
  auto runner = std::make_unique<Runner>(std::move(sample), std::move(program), std::move(compile),
                                         std::move(state));
  RETURN_IF_ERROR(runner->Start());
  return runner;
}

}  // namespace graphnet
