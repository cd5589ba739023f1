// Compiles a lowered graph to a program.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/meta_rules.h"
#include "graphnet/interp/no_grad.h"
#include "graphnet/interp/program.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/allowed_operators.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/foreign_operators.h"
#include "graphnet/ops/region_call.h"
#include "torch/csrc/jit/runtime/operator.h"

namespace graphnet::interp {
namespace {

using c10::IValue;

class Compiler {
 public:
  Compiler(const LoweredModule& lowered, const CompileOptions& options, const Programs& programs)
      : lowered_(lowered), options_(options), programs_(programs) {}

  absl::Status Run(const Graph& graph) {
    program_ = programs_.at(&graph).get();
    if (&graph == lowered_.module->main()) FindEnds();
    for (const Node* node : graph.nodes()) {
      origin_ = lowered_.origins[node];
      RETURN_IF_ERROR(CompileNode(*node));
    }
    program_->num_slots = slots_.size();
    MakeSteps(FindLastUses());
    return absl::OkStatus();
  }

 private:
  absl::Status Error(absl::string_view what) const { return NodeError(*origin_, what); }

  // Fills ends_ for the observer, which sees the main graph only.
  void FindEnds() {
    for (const Graph* graph : lowered_.original->graphs()) {
      for (const Node* node : graph->nodes()) {
        const Argument& value = lowered_.values[node];
        if (node->is_call() && value.is_node()) ends_[value.node()].push_back(node);
      }
    }
    for (auto& [made, nodes] : ends_) {
      absl::c_sort(nodes, [](const Node* a, const Node* b) { return a->name() < b->name(); });
    }
  }

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
      source.constant = ToIValue(argument, options_.device);
      Convert(wanted, &source.constant);
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
      default: return Error("an argument has a kind that cannot be run");
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
      case Op::kPlaceholder:
        for (const Node* end : ends_[&node])
          program_->passed_on.emplace_back(end, program_->inputs.size());
        program_->inputs.push_back(NewSlot(&node));
        return absl::OkStatus();
      case Op::kGetAttr: {
        const auto it = options_.attributes.find(std::string(node.target()));
        if (it == options_.attributes.end()) return Error("no value is known for this attribute");
        Instruction instruction;
        instruction.kind = Instruction::Kind::kBuiltin;
        instruction.builtin = {[](std::vector<IValue>& args, c10::Device) { return args[0]; }, 1};
        Source source;
        const Attribute* attribute = lowered_.module->FindAttribute(node.target());
        const bool is_parameter =
            attribute != nullptr && attribute->annotation == kParameterAnnotation;
        source.constant = is_parameter ? AsParameter(it->second) : it->second;
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
    if (const Builtin builtin = FindTorchScriptCall(node.target())) {
      instruction.kind = Instruction::Kind::kBuiltin;
      instruction.builtin = builtin;
      instruction.is_container_call = instruction.writes_containers = true;
      if (absl::EndsWith(node.target(), "Construct")) {
        RETURN_IF_ERROR(AddArgument(&instruction, node.annotation()));
      }
      for (const Argument& argument : node.args()) {
        RETURN_IF_ERROR(AddArgument(&instruction, argument));
      }
    } else if (absl::StartsWith(node.target(), "aten.") ||
               absl::StartsWith(node.target(), "prim.") ||
               absl::StartsWith(absl::StripPrefix(node.target(), "torch.ops."), "quantized.") ||
               IsForeignOperator(node.target())) {
      RETURN_IF_ERROR(CompileOperator(node, &instruction));
    } else {
      RETURN_IF_ERROR(CompileBuiltin(node, &instruction));
    }
    return Finish(node, std::move(instruction));
  }

  absl::Status Finish(const Node& node, Instruction instruction) {
    if (instruction.kind == Instruction::Kind::kBuiltin) {
      const absl::Status status = instruction.builtin.CheckNumArgs(instruction.args.size());
      if (!status.ok()) return Error(status.message());
    }
    instruction.origin = origin_;
    instruction.result = NewSlot(&node);
    const auto ends = ends_.find(&node);
    if (ends != ends_.end()) instruction.ends = std::move(ends->second);
    program_->instructions.push_back(std::move(instruction));
    return absl::OkStatus();
  }

  absl::Status CompileOperator(const Node& node, Instruction* instruction) {
    absl::string_view rest = absl::StripPrefix(node.target(), "torch.ops.");
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
    instruction->op = handle;
    instruction->is_container_call = !handle.has_value();
    if (handle.has_value() && !NeedsGuard(handle->schema())) {
      if (!options_.device.is_meta()) instruction->direct = FindDirectCall(*handle);
      instruction->is_composite = IsComposite(*handle) && !options_.records_gradients;
      schema = &handle->schema();
    } else {
      for (const auto& candidate :
           torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name))) {
        if (candidate->schema().overload_name() == overload) operation = candidate;
      }
      if (operation == nullptr)
        return Error(absl::StrCat(node.target(), " is not an operator of PyTorch"));
      schema = &operation->schema();
      instruction->kind = Instruction::Kind::kOperation;
    }
    // It takes its numbers from a node of LibTorch's graph.
    if (name == "prim::ConstantChunk") return Error("an operation that only LibTorch itself makes");
    if (!IsAllowed(*schema)) {
      if (ReadsFiles(*schema))
        return Error(absl::StrCat(name, " reads a file, which needs --trust-files"));
      return Error(absl::StrCat(name, " is not run: it may reach beyond the graph's values"));
    }
    if (operation != nullptr) {
      instruction->operation = WithGuard(*schema, operation->getOperation());
      instruction->writes_containers = schema->is_mutable();
    }
    const auto& parameters = schema->arguments();
    if (node.args().size() > parameters.size() && !schema->is_vararg()) {
      return Error(
          absl::StrCat("takes ", parameters.size(), " arguments, not ", node.args().size()));
    }
    size_t taken = 0;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Wanted wanted = WantedOf(parameters[i]);
      const Argument* given =
          i < node.args().size() ? &node.args()[i] : node.kwarg(parameters[i].name());
      if (given != nullptr) {
        if (i >= node.args().size()) ++taken;
        if (given->kind() == Argument::Kind::kLayout && TakesSparseLayouts(*schema)) {
          Source source;
          source.constant = *ConstantOf(*given);
          instruction->args.push_back(std::move(source));
          continue;
        }
        RETURN_IF_ERROR(AddArgument(instruction, *given, wanted));
      } else if (parameters[i].default_value().has_value()) {
        Source source;
        source.constant = *parameters[i].default_value();
        // Operators that make a tensor without a tensor operand make it on the meta device.
        if (wanted.want == Want::kDevice && options_.device.is_meta() &&
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
    if (taken != node.kwargs().size())
      return Error("has a keyword that the operator does not take");
    for (size_t i = parameters.size(); i < node.args().size(); ++i) {
      RETURN_IF_ERROR(AddArgument(instruction, node.args()[i]));
    }
    if (name == "aten::grad" && options_.device.is_meta()) {
      instruction->kind = Instruction::Kind::kBuiltin;
      instruction->builtin = {GradientsForShapes, static_cast<int>(parameters.size())};
    }
    // Such operators expect the number of operands on the stack; that of prim.tolist is fixed.
    if (schema->is_vararg() && !schema->is_varret())
      RETURN_IF_ERROR(AddArgument(instruction, instruction->args.size()));
    if (name == "prim::tolist" && instruction->args.size() != 3)
      return Error("takes a tensor, its rank and the number of its elements' type");
    return absl::OkStatus();
  }

  // Fills the views that a subscript of constants makes of a tensor. Ignores other subscripts.
  static void MakeViews(const Argument& subscript, Instruction* instruction) {
    const absl::Span<const Argument> elements =
        subscript.is_tuple() ? subscript.elements() : absl::MakeConstSpan(&subscript, 1);
    const auto is_bound = [](const Argument& a) { return a.is_none() || a.is_int(); };
    const auto is_slice = [&](const Argument& a) {
      return a.kind() == Argument::Kind::kSlice && absl::c_all_of(a.elements(), is_bound);
    };
    int64_t taken = 0;
    for (const Argument& element : elements) {
      if (element.is_int() || is_slice(element)) {
        ++taken;
      } else if (!element.is_none() && element.kind() != Argument::Kind::kEllipsis) {
        return;
      }
    }
    std::vector<ViewStep> views;
    int64_t left = taken;
    ViewStep step;  // the next step
    for (const Argument& element : elements) {
      if (element.kind() == Argument::Kind::kEllipsis) {
        step.from_end = true;
        continue;
      }
      ViewStep made = step;
      if (step.from_end) made.dim = left;
      if (element.is_none()) {
        made.kind = ViewStep::Kind::kUnsqueeze;
      } else if (element.is_int()) {
        made.kind = ViewStep::Kind::kSelect;
        made.start = element.integer();
      } else {
        const absl::Span<const Argument> bounds = element.elements();
        if (bounds[0].is_int()) made.start = bounds[0].integer();
        if (bounds[1].is_int()) made.stop = bounds[1].integer();
        if (bounds[2].is_int()) made.step = bounds[2].integer();
      }
      left -= element.is_none() ? 0 : 1;
      step.dim += element.is_int() ? 0 : 1;
      const bool is_whole = made.kind == ViewStep::Kind::kSlice && !made.start && !made.stop &&
                            element.elements()[2].is_none();
      if (!is_whole) views.push_back(made);
    }
    instruction->views = std::move(views);
    instruction->num_subscripts = taken;
  }

  // A call of one body: the index of that argument, the index of its first operand, and the
  // number of leading arguments that set the mode that it runs in.
  struct Region {
    Instruction::Kind kind;
    size_t body = 0;
    size_t operands = 1;
    size_t mode = 0;
  };
  static std::optional<Region> FindRegion(const Callable& callee) {
    using Kind = Instruction::Kind;
    if (callee.is_function("torch.ops.higher_order.map_impl")) return Region{Kind::kMap};
    if (callee.is_function("torch.ops.higher_order.scan")) return Region{Kind::kScan};
    const std::optional<RegionForm> form =
        callee.kind == Callable::Kind::kFunction ? RegionFormOf(callee.name) : std::nullopt;
    if (!form.has_value()) return std::nullopt;
    const bool has_mode = form->mode == RegionForm::Mode::kAutocast;
    return Region{Kind::kRegion, form->body, form->operands, has_mode ? form->body : 0};
  }

  absl::Status CompileRegion(const Node& node, const Region& region, Instruction* instruction) {
    instruction->kind = region.kind;
    if (node.args().size() <= region.body || !node.args()[region.body].is_graph()) {
      return Error("takes a graph");
    }
    if (!node.kwargs().empty()) return Error("takes no keywords");
    instruction->bodies.push_back(programs_.at(node.args()[region.body].graph()).get());
    if (region.kind != Instruction::Kind::kRegion) return absl::OkStatus();
    // The original call may have its body at another place, and sees the body as it was given.
    const bool is_plain = CalleeOf(node).is_function("torch.ops.higher_order.wrap");
    if (options_.backend != nullptr && is_plain && !options_.device.is_meta() &&
        !origin_->args().empty() && origin_->args()[0].is_graph()) {
      absl::StatusOr<BodyRunner> runner = options_.backend(*origin_->args()[0].graph());
      if (!runner.ok()) return Error(runner.status().message());
      instruction->runner = *std::move(runner);
    }
    return AddArgument(instruction, Argument::Tuple(node.args().subspan(0, region.mode)));
  }

  absl::Status CompileBuiltin(const Node& node, Instruction* instruction) {
    instruction->kind = Instruction::Kind::kBuiltin;
    size_t first_argument = 0;
    const Callable callee = CalleeOf(node);
    const bool is_cond = callee.is_function("torch.cond");
    if (node.target() == "operator.getitem") {
      instruction->kind = Instruction::Kind::kGetItem;
      MakeViews(node.args()[1], instruction);
    } else if (node.target() == "operator.setitem") {
      instruction->kind = Instruction::Kind::kSetItem;
    } else if (is_cond || callee.is_function("torch.while_loop")) {
      instruction->kind = is_cond ? Instruction::Kind::kCond : Instruction::Kind::kWhile;
      const size_t begin = is_cond ? 1 : 0;
      if (node.args().size() < begin + 3) return Error("lacks arguments");
      for (size_t i = begin; i < begin + 2; ++i) {
        if (!node.args()[i].is_graph()) return Error("takes graphs");
        instruction->bodies.push_back(programs_.at(node.args()[i].graph()).get());
      }
      if (is_cond) RETURN_IF_ERROR(AddArgument(instruction, node.args()[0]));
      first_argument = begin + 2;
    } else if (const std::optional<Region> region = FindRegion(callee)) {
      RETURN_IF_ERROR(CompileRegion(node, *region, instruction));
      first_argument = region->operands;
    } else if (callee.is_function("torch.vmap")) {
      instruction->kind = Instruction::Kind::kVmap;
      instruction->bodies.push_back(programs_.at(node.args()[0].graph()).get());
      // The chunk size saves memory and changes no values except random numbers.
      const Argument& chunk_size = node.args()[5];
      if (!chunk_size.is_none() && !(chunk_size.is_int() && chunk_size.integer() > 0)) {
        return Error("chunk_size must be above 0");
      }
      if (!chunk_size.is_none() && node.args()[4].is_string() &&
          node.args()[4].string() == "different") {
        return Error("chunk_size with randomness \"different\" is not supported");
      }
      first_argument = 1;
    } else {
      const bool is_function = callee.kind == Callable::Kind::kFunction;
      instruction->builtin = FindBuiltin(is_function ? callee.name : node.target());
      instruction->is_container_call =
          node.target() == "operator.is_" || node.target() == "operator.is_not";
      if (!instruction->builtin) return Error("the interpreter cannot run it");
    }
    for (const Argument& argument : node.args().subspan(first_argument)) {
      RETURN_IF_ERROR(AddArgument(instruction, argument));
    }
    if (node.target() == "torch.tensor") {  // the only builtin with keywords
      for (const absl::string_view name : {"dtype", "device"}) {
        const Argument* argument = node.kwarg(name);
        RETURN_IF_ERROR(AddArgument(instruction, argument == nullptr ? Argument() : *argument));
      }
    }
    return absl::OkStatus();
  }

  template <typename Fn>
  static void ForEachSlot(Source& source, Fn&& fn) {
    if (source.kind == Source::Kind::kSlot) fn(source);
    for (Source& element : source.elements) ForEachSlot(element, fn);
  }

  // Returns the slots that each instruction is the last to read, and marks the values that it
  // may therefore move.
  std::vector<std::vector<uint32_t>> FindLastUses() {
    std::vector<Instruction>& instructions = program_->instructions;
    std::vector<std::vector<uint32_t>> dead(instructions.size());
    std::vector<bool> seen(program_->num_slots);
    for (size_t i = instructions.size(); i-- > 0;) {
      Instruction& instruction = instructions[i];
      // An unused result dies at once.
      if (instruction.result != kNoSlot && !seen[instruction.result]) {
        dead[i].push_back(instruction.result);
      }
      for (auto arg = instruction.args.rbegin(); arg != instruction.args.rend(); ++arg) {
        ForEachSlot(*arg, [&](Source& source) {
          if (!seen[source.slot]) dead[i].push_back(source.slot);
          seen[source.slot] = true;
        });
      }
    }
    // A value is moved into its last instruction if that uses it once.
    for (size_t i = 0; i < instructions.size(); ++i) {
      Instruction& instruction = instructions[i];
      if (instruction.direct != nullptr) continue;  // reads it in place
      absl::flat_hash_map<uint32_t, int> uses;
      for (Source& arg : instruction.args) ForEachSlot(arg, [&](Source& s) { ++uses[s.slot]; });
      for (Source& arg : instruction.args) {
        ForEachSlot(arg, [&](Source& s) {
          s.last_use = uses[s.slot] == 1 && absl::c_linear_search(dead[i], s.slot);
        });
      }
    }
    for (const uint32_t slot : program_->inputs) {
      // An unused input is released at the first instruction.
      if (!seen[slot] && !instructions.empty()) dead[0].push_back(slot);
    }
    return dead;
  }

  // Call it when the instructions are complete: steps point into them.
  void MakeSteps(const std::vector<std::vector<uint32_t>>& dead) {
    program_->steps.reserve(program_->instructions.size());
    for (size_t i = 0; i < program_->instructions.size(); ++i) {
      const Instruction& instruction = program_->instructions[i];
      Step step;
      step.direct = instruction.direct;
      step.result = instruction.result;
      step.is_composite = instruction.is_composite;
      if (step.direct != nullptr) {
        for (const Source& source : instruction.args) {
          Operand operand;
          operand.source = &source;
          if (source.kind == Source::Kind::kConstant) operand.constant = &source.constant;
          if (source.kind == Source::Kind::kSlot && source.wanted.want == Want::kTensor) {
            operand.tensor_slot = source.slot;
          }
          program_->operands.push_back(operand);
        }
      }
      program_->dead.insert(program_->dead.end(), dead[i].begin(), dead[i].end());
      step.operands_end = static_cast<uint32_t>(program_->operands.size());
      step.dead_end = static_cast<uint32_t>(program_->dead.size());
      program_->steps.push_back(step);
    }
  }

  const LoweredModule& lowered_;
  const CompileOptions& options_;
  const Programs& programs_;
  Program* program_ = nullptr;
  const Node* origin_ = nullptr;
  absl::flat_hash_map<const Node*, uint32_t> slots_;
  // The nodes of the original graph, by the lowered node that has their value.
  absl::flat_hash_map<const Node*, std::vector<const Node*>> ends_;
};

}  // namespace

absl::Status CompileGraph(const Graph& graph, const LoweredModule& lowered,
                          const CompileOptions& options, const Programs& programs) {
  return Compiler(lowered, options, programs).Run(graph);
}

}  // namespace graphnet::interp
