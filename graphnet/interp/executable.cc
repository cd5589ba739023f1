#include "graphnet/interp/executable.h"

#include <algorithm>
#include <utility>

#include "ATen/Context.h"
#include "ATen/Functions.h"
#include "ATen/TensorIndexing.h"
#include "ATen/core/dispatch/Dispatcher.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "c10/core/InferenceMode.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/builtins.h"
#include "graphnet/interp/meta_rules.h"
#include "graphnet/interp/values.h"
#include "graphnet/ops/lowering.h"
#include "torch/csrc/jit/runtime/operator.h"

namespace graphnet {
namespace {

using c10::IValue;
using interp::Builtin;
using interp::Wanted;

constexpr uint32_t kNoSlot = ~uint32_t{0};
// In a run on the meta device, tensors of at most so many elements keep their
// data if it is known: sizes may depend on it.
constexpr int64_t kSmallTensor = 4096;

// How to make an argument: a constant, the value in a slot, or a structure.
struct Source {
  enum class Kind : uint8_t { kConstant, kSlot, kList, kTuple, kDict, kSlice, kEllipsis };
  Kind kind = Kind::kConstant;
  uint32_t slot = kNoSlot;
  Wanted wanted;
  bool last_use = false;  // the value may be moved out of its slot
  IValue constant;
  std::vector<Source> elements;
};

class Program;

struct Instruction {
  enum class Kind : uint8_t {
    kOperator,   // through the dispatcher
    kOperation,  // of TorchScript's own
    kBuiltin,
    kGetItem,
    kSetItem,
    kCond,
    kWhile,
    kOutput,
  };
  Kind kind = Kind::kOperator;
  uint32_t result = kNoSlot;
  std::vector<Source> args;
  std::vector<uint32_t> dead;  // slots to clear afterwards
  const c10::OperatorHandle* op = nullptr;
  mutable std::optional<torch::jit::Operation> operation;  // calling it is not const
  Builtin builtin = nullptr;
  std::vector<const Program*> bodies;
  const Node* origin = nullptr;  // of the graph that was given
  bool ends_origin = false;      // the last one made for it
};

// A graph.
class Program {
 public:
  std::vector<Instruction> instructions;
  std::vector<uint32_t> inputs;  // slots
  size_t num_slots = 0;
};

std::string FirstLine(absl::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

absl::Status ErrorAtNode(const Node& node, absl::string_view what) {
  const SourceLocation at = node.location();
  const std::string message = absl::StrCat(node.target(), " (node ", node.name(), "): ", what);
  return at.file.empty() ? absl::InvalidArgumentError(message)
                         : ErrorAt(at.file, at.line, at.column, message);
}

// An operator that touches files, processes or devices' internals says so in its
// schema: by a name or type that no computation on tensors needs.
bool IsAllowed(const c10::FunctionSchema& schema) {
  const absl::string_view name = schema.name();
  if (!absl::StartsWith(name, "aten::") && !absl::StartsWith(name, "prim::")) return false;
  for (const absl::string_view word : {"file", "save", "load", "open", "print", "storage", "import"}) {
    if (absl::StrContains(name, word)) return false;
  }
  for (const c10::Argument& argument : schema.arguments()) {
    const absl::string_view argument_name = argument.name();
    if (absl::StrContains(argument_name, "file") || absl::StrContains(argument_name, "path")) {
      if (name != "aten::einsum") return false;  // its path is an order of operands
    }
    const auto kind = argument.type()->kind();
    if (kind == c10::TypeKind::StorageType || kind == c10::TypeKind::StreamObjType ||
        kind == c10::TypeKind::CapsuleType) {
      return false;
    }
  }
  return true;
}

class Compiler {
 public:
  Compiler(const LoweredModule& lowered, const CompileOptions& options,
           std::map<const Graph*, std::unique_ptr<Program>>* programs)
      : lowered_(lowered), options_(options), programs_(*programs) {}

  absl::Status Run(const Graph& graph, Program* program) {
    program_ = program;
    for (const Node* node : graph.nodes()) {
      origin_ = lowered_.origins.at(node);
      RETURN_IF_ERROR(CompileNode(*node));
    }
    program_->num_slots = slots_.size();
    FindLastUses();
    return absl::OkStatus();
  }

 private:
  absl::Status Error(absl::string_view what) const { return ErrorAtNode(*origin_, what); }

  uint32_t NewSlot(const Node* node) {
    const auto slot = static_cast<uint32_t>(slots_.size());
    slots_[node] = slot;
    return slot;
  }

  static bool IsStatic(const Argument& argument) {
    switch (argument.kind()) {
      case Argument::Kind::kNode:
      case Argument::Kind::kSlice:
      case Argument::Kind::kEllipsis:
      case Argument::Kind::kGraph:
      case Argument::Kind::kSymInt:
      case Argument::Kind::kDict: return false;
      case Argument::Kind::kList:
      case Argument::Kind::kTuple:
        return std::all_of(argument.elements().begin(), argument.elements().end(), IsStatic);
      default: return true;
    }
  }

  absl::StatusOr<Source> MakeSource(const Argument& argument, const Wanted& wanted) {
    Source source;
    source.wanted = wanted;
    if (IsStatic(argument)) {
      source.constant = interp::ToIValue(argument, options_.device);
      interp::Convert(wanted, &source.constant);
      source.wanted = Wanted();
      return source;
    }
    switch (argument.kind()) {
      case Argument::Kind::kNode:
        source.kind = Source::Kind::kSlot;
        source.slot = slots_.at(argument.node());
        return source;
      case Argument::Kind::kEllipsis: source.kind = Source::Kind::kEllipsis; return source;
      case Argument::Kind::kList: source.kind = Source::Kind::kList; break;
      case Argument::Kind::kTuple: source.kind = Source::Kind::kTuple; break;
      case Argument::Kind::kDict: source.kind = Source::Kind::kDict; break;
      case Argument::Kind::kSlice: source.kind = Source::Kind::kSlice; break;
      default: return Error("an argument of a kind that cannot be run");
    }
    for (const Argument& element : argument.elements()) {
      ASSIGN_OR_RETURN(Source made, MakeSource(element, Wanted()));
      source.elements.push_back(std::move(made));
    }
    return source;
  }

  absl::Status AddArgument(Instruction* instruction, const Argument& argument,
                           const Wanted& wanted = {}) {
    ASSIGN_OR_RETURN(Source source, MakeSource(argument, wanted));
    instruction->args.push_back(std::move(source));
    return absl::OkStatus();
  }

  absl::Status CompileNode(const Node& node) {
    switch (node.op()) {
      case Op::kPlaceholder: program_->inputs.push_back(NewSlot(&node)); return absl::OkStatus();
      case Op::kGetAttr: {
        const auto it = options_.attributes.find(std::string(node.target()));
        if (it == options_.attributes.end()) return Error("no value is known for this attribute");
        Instruction instruction;
        instruction.kind = Instruction::Kind::kBuiltin;
        instruction.builtin = [](std::vector<IValue>& args, c10::Device) { return args[0]; };
        Source source;
        source.constant = it->second;
        instruction.args.push_back(std::move(source));
        return Finish(node, std::move(instruction));
      }
      case Op::kOutput: {
        Instruction instruction;
        instruction.kind = Instruction::Kind::kOutput;
        RETURN_IF_ERROR(AddArgument(&instruction, node.args()[0]));
        instruction.origin = origin_;
        program_->instructions.push_back(std::move(instruction));
        return absl::OkStatus();
      }
      default: break;
    }
    Instruction instruction;
    if (const Builtin builtin = interp::FindTorchScriptCall(node.target())) {
      instruction.kind = Instruction::Kind::kBuiltin;
      instruction.builtin = builtin;
      if (absl::EndsWith(node.target(), "Construct")) {
        RETURN_IF_ERROR(AddArgument(&instruction, node.annotation()));
      }
      for (const Argument& argument : node.args()) {
        RETURN_IF_ERROR(AddArgument(&instruction, argument));
      }
    } else if (absl::StartsWith(node.target(), "aten.") ||
               absl::StartsWith(node.target(), "prim.")) {
      RETURN_IF_ERROR(CompileOperator(node, &instruction));
    } else {
      RETURN_IF_ERROR(CompileBuiltin(node, &instruction));
    }
    return Finish(node, std::move(instruction));
  }

  absl::Status Finish(const Node& node, Instruction instruction) {
    instruction.origin = origin_;
    instruction.result = NewSlot(&node);
    const auto value = lowered_.values.find(origin_);
    instruction.ends_origin =
        value != lowered_.values.end() && value->second.is_node() && value->second.node() == &node;
    program_->instructions.push_back(std::move(instruction));
    return absl::OkStatus();
  }

  absl::Status CompileOperator(const Node& node, Instruction* instruction) {
    absl::string_view rest = node.target();
    const size_t first = rest.find('.');
    const std::string space(rest.substr(0, first));
    rest.remove_prefix(first + 1);
    const size_t dot = rest.find('.');
    const std::string name = absl::StrCat(space, "::", rest.substr(0, dot));
    std::string overload(dot == absl::string_view::npos ? "" : rest.substr(dot + 1));
    if (overload == "default") overload.clear();
    const c10::FunctionSchema* schema = nullptr;
    std::optional<c10::OperatorHandle> handle =
        c10::Dispatcher::singleton().findSchema({name, overload});
    std::shared_ptr<torch::jit::Operator> operation;
    if (handle.has_value()) {
      instruction->op = &handles_.emplace_back(new c10::OperatorHandle(*handle)).operator*();
      schema = &handle->schema();
    } else {
      for (const auto& candidate :
           torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name))) {
        if (candidate->schema().overload_name() == overload) operation = candidate;
      }
      if (operation == nullptr) return Error(absl::StrCat(node.target(), " is no operator of PyTorch"));
      schema = &operation->schema();
      instruction->kind = Instruction::Kind::kOperation;
    }
    if (!IsAllowed(*schema)) {
      return Error(absl::StrCat(name, " is not run: it may reach beyond the graph's values"));
    }
    if (operation != nullptr) instruction->operation = operation->getOperation();
    const auto& parameters = schema->arguments();
    if (node.args().size() > parameters.size() && !schema->is_vararg()) {
      return Error(absl::StrCat("takes ", parameters.size(), " arguments, not ", node.args().size()));
    }
    size_t taken = 0;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Wanted wanted = interp::WantedOf(parameters[i]);
      const Argument* given =
          i < node.args().size() ? &node.args()[i] : node.kwarg(parameters[i].name());
      if (given != nullptr) {
        if (i >= node.args().size()) ++taken;
        RETURN_IF_ERROR(AddArgument(instruction, *given, wanted));
      } else if (parameters[i].default_value().has_value()) {
        Source source;
        source.constant = *parameters[i].default_value();
        // What makes a tensor of nothing makes it there.
        if (wanted.want == interp::Want::kDevice && options_.device.is_meta() &&
            parameters[0].type()->kind() != c10::TypeKind::TensorType) {
          source.constant = options_.device;
        }
        instruction->args.push_back(std::move(source));
      } else if (wanted.optional) {
        instruction->args.emplace_back();
      } else {
        return Error(absl::StrCat("lacks ", parameters[i].name()));
      }
    }
    if (taken != node.kwargs().size()) return Error("has a keyword that the operator does not take");
    for (size_t i = parameters.size(); i < node.args().size(); ++i) {
      RETURN_IF_ERROR(AddArgument(instruction, node.args()[i]));
    }
    if (schema->is_vararg()) {  // Such operators find their number on the stack.
      RETURN_IF_ERROR(AddArgument(instruction, instruction->args.size()));
    }
    return absl::OkStatus();
  }

  absl::Status CompileBuiltin(const Node& node, Instruction* instruction) {
    instruction->kind = Instruction::Kind::kBuiltin;
    size_t first_argument = 0;
    if (node.target() == "operator.getitem") {
      instruction->kind = Instruction::Kind::kGetItem;
    } else if (node.target() == "operator.setitem") {
      instruction->kind = Instruction::Kind::kSetItem;
    } else if (node.target() == "torch.cond" || node.target() == "torch.while_loop") {
      const bool is_cond = node.target() == "torch.cond";
      instruction->kind = is_cond ? Instruction::Kind::kCond : Instruction::Kind::kWhile;
      const size_t begin = is_cond ? 1 : 0;
      if (node.args().size() < begin + 3) return Error("lacks arguments");
      for (size_t i = begin; i < begin + 2; ++i) {
        if (!node.args()[i].is_graph()) return Error("takes graphs");
        instruction->bodies.push_back(programs_.at(node.args()[i].graph()).get());
      }
      if (is_cond) RETURN_IF_ERROR(AddArgument(instruction, node.args()[0]));
      first_argument = begin + 2;
    } else {
      instruction->builtin = interp::FindBuiltin(node.target());
      if (instruction->builtin == nullptr) return Error("nothing is known to run it");
    }
    for (const Argument& argument : node.args().subspan(first_argument)) {
      RETURN_IF_ERROR(AddArgument(instruction, argument));
    }
    return absl::OkStatus();
  }

  template <typename Fn>
  static void ForEachSlot(Source& source, Fn&& fn) {
    if (source.kind == Source::Kind::kSlot) fn(source);
    for (Source& element : source.elements) ForEachSlot(element, fn);
  }

  void FindLastUses() {
    std::vector<bool> seen(program_->num_slots);
    for (auto it = program_->instructions.rbegin(); it != program_->instructions.rend(); ++it) {
      // A result that nobody uses dies at once.
      if (it->result != kNoSlot && !seen[it->result]) it->dead.push_back(it->result);
      for (auto arg = it->args.rbegin(); arg != it->args.rend(); ++arg) {
        ForEachSlot(*arg, [&](Source& source) {
          if (!seen[source.slot]) it->dead.push_back(source.slot);
          seen[source.slot] = true;
        });
      }
    }
    // A value that is used once by the instruction that ends it is moved there.
    for (Instruction& instruction : program_->instructions) {
      absl::flat_hash_map<uint32_t, int> uses;
      for (Source& arg : instruction.args) ForEachSlot(arg, [&](Source& s) { ++uses[s.slot]; });
      for (Source& arg : instruction.args) {
        ForEachSlot(arg, [&](Source& s) {
          s.last_use = uses[s.slot] == 1 && std::find(instruction.dead.begin(), instruction.dead.end(),
                                                      s.slot) != instruction.dead.end();
        });
      }
      std::vector<uint32_t> kept;
      for (const uint32_t slot : instruction.dead) {
        if (slot == instruction.result || uses[slot] != 1) kept.push_back(slot);
      }
      instruction.dead = std::move(kept);
    }
    std::vector<bool> used = seen;
    for (const uint32_t slot : program_->inputs) {
      // An input that nobody uses is let go at the first instruction.
      if (!used[slot] && !program_->instructions.empty()) {
        program_->instructions[0].dead.push_back(slot);
      }
    }
  }

  const LoweredModule& lowered_;
  const CompileOptions& options_;
  std::map<const Graph*, std::unique_ptr<Program>>& programs_;
  Program* program_ = nullptr;
  const Node* origin_ = nullptr;
  absl::flat_hash_map<const Node*, uint32_t> slots_;

 public:
  std::vector<std::unique_ptr<c10::OperatorHandle>> handles_;
};

// Runs a program once.
class Frame {
 public:
  Frame(const Program& program, c10::Device device, const Observer* observer)
      : program_(program), device_(device), observer_(observer), slots_(program.num_slots) {}

  absl::StatusOr<IValue> Run(std::vector<IValue> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) slots_[program_.inputs[i]] = std::move(inputs[i]);
    for (const Instruction& instruction : program_.instructions) {
      try {
        Execute(instruction);
      } catch (const c10::Error& error) {
        return ErrorAtNode(*instruction.origin, FirstLine(error.what_without_backtrace()));
      } catch (const std::exception& error) {
        return ErrorAtNode(*instruction.origin, FirstLine(error.what()));
      } catch (...) {
        return ErrorAtNode(*instruction.origin, "failed");
      }
      if (!status_.ok()) return status_;
      if (observer_ != nullptr && instruction.ends_origin) {
        RETURN_IF_ERROR((*observer_)(*instruction.origin, slots_[instruction.result]));
      }
      for (const uint32_t slot : instruction.dead) slots_[slot] = IValue();
    }
    return std::move(output_);
  }

 private:
  IValue Make(const Source& source) {
    switch (source.kind) {
      case Source::Kind::kConstant: return source.constant;
      case Source::Kind::kSlot: {
        IValue value = source.last_use ? std::move(slots_[source.slot]) : slots_[source.slot];
        interp::Convert(source.wanted, &value);
        return value;
      }
      case Source::Kind::kList:
      case Source::Kind::kTuple: {
        std::vector<IValue> elements;
        elements.reserve(source.elements.size());
        for (const Source& element : source.elements) elements.push_back(Make(element));
        IValue value =
            interp::MakeSequence(std::move(elements), source.kind == Source::Kind::kTuple);
        interp::Convert(source.wanted, &value);
        return value;
      }
      case Source::Kind::kDict: {
        std::vector<IValue> entries;
        for (const Source& element : source.elements) entries.push_back(Make(element));
        const c10::TypePtr key =
            entries.empty() ? c10::TypePtr(c10::StringType::get()) : entries[0].type();
        return interp::MakeDict(key, std::move(entries));
      }
      case Source::Kind::kSlice:
      case Source::Kind::kEllipsis: break;
    }
    TORCH_CHECK(false, "a slice outside of a subscript");
  }

  void MakeAll(const Instruction& instruction) {
    for (const Source& source : instruction.args) stack_.push_back(Make(source));
  }

  void Execute(const Instruction& instruction) {
    stack_.clear();
    switch (instruction.kind) {
      case Instruction::Kind::kOperator:
      case Instruction::Kind::kOperation:
      case Instruction::Kind::kBuiltin:
        MakeAll(instruction);
        if (device_.is_meta()) [[unlikely]] {
          CallForShapes(instruction);
        } else {
          Call(instruction, device_);
        }
        return;
      case Instruction::Kind::kGetItem: GetItem(instruction); return;
      case Instruction::Kind::kSetItem: SetItem(instruction); return;
      case Instruction::Kind::kCond: Cond(instruction); return;
      case Instruction::Kind::kWhile: While(instruction); return;
      case Instruction::Kind::kOutput: output_ = Make(instruction.args[0]); return;
    }
  }

  // With the arguments on the stack.
  void Call(const Instruction& instruction, c10::Device device) {
    if (instruction.kind == Instruction::Kind::kBuiltin) {
      slots_[instruction.result] = instruction.builtin(stack_, device);
      return;
    }
    if (instruction.kind == Instruction::Kind::kOperator) {
      instruction.op->callBoxed(&stack_);
    } else {
      (*instruction.operation)(stack_);
    }
    StoreResults(instruction);
  }

  // --- On the meta device ----------------------------------------------------

  // Calls fn(Tensor) -> Tensor on all tensors in `value`.
  template <typename Fn>
  static IValue MapTensors(const IValue& value, Fn&& fn) {
    if (value.isTensor()) return value.toTensor().defined() ? IValue(fn(value.toTensor())) : value;
    if (!value.isTensorList() && !value.isTuple() &&
        !(value.isList() && !value.isIntList() && !value.isDoubleList() && !value.isBoolList())) {
      return value;
    }
    std::vector<IValue> elements = interp::Elements(value);
    bool any = false;
    for (IValue& element : elements) {
      IValue mapped = MapTensors(element, fn);
      any = any || !mapped.is(element);
      element = std::move(mapped);
    }
    return any ? interp::MakeSequence(std::move(elements), value.isTuple()) : value;
  }
  static at::Tensor ToMeta(const at::Tensor& tensor) {
    return tensor.is_meta() ? tensor : tensor.to(c10::kMeta);
  }

  // Computes with data where all operands have it, else with shapes alone.
  void CallForShapes(const Instruction& instruction) {
    size_t tensors = 0;
    bool all_real = true;
    for (const IValue& value : stack_) {
      MapTensors(value, [&](const at::Tensor& t) {
        ++tensors;
        all_real = all_real && !t.is_meta();
        return t;
      });
    }
    const std::vector<IValue> arguments = stack_;
    const auto wanted_kinds = [&](bool real) {
      stack_.clear();
      for (size_t i = 0; i < arguments.size(); ++i) {
        if (real) {
          stack_.push_back(arguments[i].isDevice() ? IValue(c10::Device(c10::kCPU)) : arguments[i]);
        } else {
          stack_.push_back(MapTensors(arguments[i], ToMeta));
          if (i < instruction.args.size()) interp::Convert(instruction.args[i].wanted, &stack_.back());
        }
      }
    };
    const auto is_small = [](const IValue& value) {
      bool small = true;
      MapTensors(value, [&](const at::Tensor& t) {
        small = small && t.numel() <= kSmallTensor;
        return t;
      });
      return small;
    };
    IValue& result = slots_[instruction.result];
    if (all_real && (tensors > 0 || instruction.kind == Instruction::Kind::kBuiltin)) {
      wanted_kinds(true);
      Call(instruction, c10::Device(c10::kCPU));
      if (!is_small(result)) result = MapTensors(result, ToMeta);
      return;
    }
    wanted_kinds(false);
    if (instruction.kind == Instruction::Kind::kOperator) {
      if (auto made = interp::MetaResult(instruction.op->operator_name().name, stack_)) {
        result = *std::move(made);
        return;
      }
    }
    try {
      Call(instruction, device_);
    } catch (const c10::Error&) {
      const bool depends_on_data = instruction.kind == Instruction::Kind::kOperator &&
                                   (instruction.op->hasTag(at::Tag::dynamic_output_shape) ||
                                    instruction.op->hasTag(at::Tag::data_dependent_output));
      TORCH_CHECK(!depends_on_data, "its shape depends on data that is not known");
      if (tensors == 0) throw;
      // An operator without a meta kernel: on zeros in place of the data.
      wanted_kinds(false);
      for (IValue& value : stack_) {
        value = value.isDevice() ? IValue(c10::Device(c10::kCPU))
                                 : MapTensors(value, [](const at::Tensor& t) {
                                     return t.is_meta() ? at::zeros(t.sizes(), t.options().device(c10::kCPU))
                                                        : t;
                                   });
      }
      Call(instruction, c10::Device(c10::kCPU));
      result = MapTensors(result, ToMeta);
    }
    if (tensors == 0 && is_small(result)) {
      wanted_kinds(true);
      Call(instruction, c10::Device(c10::kCPU));
    }
  }

  // A boolean mask, whose positions are known, as the indices that it stands for.
  static void AppendMask(const at::Tensor& mask, std::vector<at::indexing::TensorIndex>* out) {
    for (const at::Tensor& index : mask.nonzero().unbind(1)) out->push_back(index.to(c10::kMeta));
  }
  std::vector<at::indexing::TensorIndex> OnMeta(const std::vector<at::indexing::TensorIndex>& indices) {
    std::vector<at::indexing::TensorIndex> moved;
    for (const at::indexing::TensorIndex& index : indices) {
      if (!index.is_tensor()) {
        moved.push_back(index);
      } else if (index.tensor().scalar_type() != c10::kBool && index.tensor().scalar_type() != c10::kByte) {
        moved.emplace_back(ToMeta(index.tensor()));
      } else {
        TORCH_CHECK(!index.tensor().is_meta(), "its shape depends on data that is not known");
        AppendMask(index.tensor(), &moved);
      }
    }
    return moved;
  }

  void StoreResults(const Instruction& instruction) {
    if (stack_.size() == 1) {
      slots_[instruction.result] = std::move(stack_[0]);
    } else {
      slots_[instruction.result] =
          stack_.empty() ? IValue() : IValue(c10::ivalue::Tuple::create(std::move(stack_)));
    }
  }

  // --- Subscripts ------------------------------------------------------------

  std::optional<c10::SymInt> Bound(const Source& source) {
    IValue value = Make(source);
    if (value.isNone()) return std::nullopt;
    Wanted wanted;
    wanted.want = interp::Want::kInt;
    interp::Convert(wanted, &value);
    return c10::SymInt(value.toInt());
  }

  at::indexing::TensorIndex Index(const Source& source) {
    if (source.kind == Source::Kind::kEllipsis) return at::indexing::Ellipsis;
    if (source.kind == Source::Kind::kSlice) {
      return at::indexing::Slice(Bound(source.elements[0]), Bound(source.elements[1]),
                                 Bound(source.elements[2]));
    }
    const IValue value = Make(source);
    if (value.isNone()) return at::indexing::None;
    if (value.isBool()) return value.toBool();
    if (value.isInt()) return value.toInt();
    if (value.isTensor()) return value.toTensor();
    // A list of numbers is a tensor of them.
    std::vector<IValue> args = {value, IValue(), IValue()};
    return interp::FindBuiltin("torch.tensor")(args, device_).toTensor();
  }

  std::vector<at::indexing::TensorIndex> Indices(const Source& source) {
    std::vector<at::indexing::TensorIndex> indices;
    if (source.kind == Source::Kind::kTuple) {
      for (const Source& element : source.elements) indices.push_back(Index(element));
    } else if (source.kind == Source::Kind::kConstant && source.constant.isTuple()) {
      for (const IValue& element : source.constant.toTupleRef().elements()) {
        Source constant;
        constant.constant = element;
        indices.push_back(Index(constant));
      }
    } else {
      indices.push_back(Index(source));
    }
    return indices;
  }

  void GetItem(const Instruction& instruction) {
    const IValue object = Make(instruction.args[0]);
    const Source& index = instruction.args[1];
    IValue& result = slots_[instruction.result];
    if (object.isTensor()) {
      auto indices = Indices(index);
      at::Tensor tensor = object.toTensor();
      if (device_.is_meta()) {
        const bool real = !tensor.is_meta() && std::all_of(indices.begin(), indices.end(), [](const auto& i) {
          return !i.is_tensor() || !i.tensor().is_meta();
        });
        if (!real) {
          tensor = ToMeta(tensor);
          indices = OnMeta(indices);
        }
      }
      result = at::indexing::get_item(tensor, indices);
      return;
    }
    if (object.isGenericDict()) {
      result = object.toGenericDict().at(Make(index));
      return;
    }
    const std::vector<IValue> elements = interp::Elements(object);
    const auto size = static_cast<int64_t>(elements.size());
    if (index.kind == Source::Kind::kSlice) {
      const auto start = Bound(index.elements[0]), stop = Bound(index.elements[1]),
                 step = Bound(index.elements[2]);
      const int64_t by = step ? step->expect_int() : 1;
      TORCH_CHECK(by > 0, "a slice of a sequence with a step of ", by);
      const auto clamp = [size](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
      std::vector<IValue> taken;
      for (int64_t i = start ? clamp(start->expect_int()) : 0,
                   end = stop ? clamp(stop->expect_int()) : size;
           i < end; i += by) {
        taken.push_back(elements[static_cast<size_t>(i)]);
      }
      result = interp::MakeSequence(std::move(taken), object.isTuple());
      return;
    }
    IValue at = Make(index);
    Wanted wanted;
    wanted.want = interp::Want::kInt;
    interp::Convert(wanted, &at);
    const int64_t i = at.toInt() < 0 ? at.toInt() + size : at.toInt();
    TORCH_CHECK(i >= 0 && i < size, "there is no element ", at.toInt(), " among ", size);
    result = elements[static_cast<size_t>(i)];
  }

  void SetItem(const Instruction& instruction) {
    at::Tensor object = Make(instruction.args[0]).toTensor();
    const IValue value = Make(instruction.args[2]);
    const auto indices = Indices(instruction.args[1]);
    if (device_.is_meta()) {  // Shapes do not change.
      bool real = !object.is_meta() && !(value.isTensor() && value.toTensor().is_meta());
      for (const auto& i : indices) real = real && !(i.is_tensor() && i.tensor().is_meta());
      if (!real) return;
    }
    if (value.isTensor()) {
      object.index_put_(indices, value.toTensor());
    } else {
      object.index_put_(indices, value.toScalar());
    }
  }

  // --- Higher-order calls ----------------------------------------------------

  std::vector<IValue> CallBody(const Program& body, std::vector<IValue> inputs) {
    TORCH_CHECK(inputs.size() == body.inputs.size(), "a body takes ", body.inputs.size(),
                " values, not ", inputs.size());
    Frame frame(body, device_, nullptr);
    absl::StatusOr<IValue> result = frame.Run(std::move(inputs));
    if (!result.ok()) {
      status_ = result.status();
      TORCH_CHECK(false, "failed");
    }
    if (result->isTuple() || result->isList()) return interp::Elements(*result);
    return {*std::move(result)};
  }

  static bool IsTrue(const IValue& value) {
    return value.isTensor() ? value.toTensor().item().toBool()
           : value.isBool() ? value.toBool()
                            : value.toInt() != 0;
  }

  void Cond(const Instruction& instruction) {
    const bool taken = IsTrue(Make(instruction.args[0]));
    std::vector<IValue> inputs;
    if (instruction.args.size() > 1) inputs = interp::Elements(Make(instruction.args[1]));
    slots_[instruction.result] =
        c10::ivalue::Tuple::create(CallBody(*instruction.bodies[taken ? 0 : 1], std::move(inputs)));
  }

  void While(const Instruction& instruction) {
    std::vector<IValue> carried = interp::Elements(Make(instruction.args[0]));
    std::vector<IValue> others;
    if (instruction.args.size() > 1) others = interp::Elements(Make(instruction.args[1]));
    const auto inputs = [&] {
      std::vector<IValue> all = carried;
      all.insert(all.end(), others.begin(), others.end());
      return all;
    };
    while (true) {
      const std::vector<IValue> proceed = CallBody(*instruction.bodies[0], inputs());
      TORCH_CHECK(proceed.size() == 1, "the condition of a loop must yield one value");
      if (!IsTrue(proceed[0])) break;
      carried = CallBody(*instruction.bodies[1], inputs());
    }
    slots_[instruction.result] = c10::ivalue::Tuple::create(std::move(carried));
  }

  const Program& program_;
  const c10::Device device_;
  const Observer* observer_;
  std::vector<IValue> slots_;
  torch::jit::Stack stack_;
  IValue output_;
  absl::Status status_;
};

void Flatten(const IValue& value, std::vector<IValue>* out) {
  if (value.isTuple() || value.isList()) {
    for (const IValue& element : interp::Elements(value)) Flatten(element, out);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) Flatten(entry.value(), out);
  } else {
    out->push_back(value);
  }
}

class ExecutableImpl : public Executable {
 public:
  absl::Status Build(const Module& module, const CompileOptions& options) {
    device_ = options.device;
    ASSIGN_OR_RETURN(lowered_, LowerToAten(module));
    for (const Graph* graph : lowered_.module->graphs()) {
      programs_[graph] = std::make_unique<Program>();
    }
    for (const Graph* graph : lowered_.module->graphs()) {
      Compiler compiler(lowered_, options, &programs_);
      try {
        RETURN_IF_ERROR(compiler.Run(*graph, programs_.at(graph).get()));
      } catch (const std::exception& error) {
        return absl::InvalidArgumentError(FirstLine(error.what()));
      }
      for (auto& handle : compiler.handles_) handles_.push_back(std::move(handle));
    }
    main_ = programs_.at(lowered_.module->main()).get();
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<IValue>> Run(std::vector<IValue> inputs,
                                          const RunOptions& options) override {
    if (inputs.size() != main_->inputs.size()) {
      return absl::InvalidArgumentError(absl::StrCat("the graph takes ", main_->inputs.size(),
                                                     " inputs, not ", inputs.size()));
    }
    if (options.seed.has_value()) at::manual_seed(*options.seed);
    c10::InferenceMode inference;
    interp::StateGuard state;
    Frame frame(*main_, device_, options.observer ? &options.observer : nullptr);
    ASSIGN_OR_RETURN(const IValue output, frame.Run(std::move(inputs)));
    std::vector<IValue> flat;
    Flatten(output, &flat);
    return flat;
  }

  size_t num_instructions() const override { return main_->instructions.size(); }

 private:
  LoweredModule lowered_;
  c10::Device device_ = c10::Device(c10::kCPU);
  std::map<const Graph*, std::unique_ptr<Program>> programs_;
  std::vector<std::unique_ptr<c10::OperatorHandle>> handles_;
  const Program* main_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> Compile(const Module& module,
                                                    const CompileOptions& options) {
  if (module.main() == nullptr) return absl::InvalidArgumentError("the module has no graph");
  auto executable = std::make_unique<ExecutableImpl>();
  RETURN_IF_ERROR(executable->Build(module, options));
  return std::unique_ptr<Executable>(std::move(executable));
}

}  // namespace graphnet
