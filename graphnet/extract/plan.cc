#include "graphnet/extract/plan.h"

#include <algorithm>

#include "ATen/core/dispatch/Dispatcher.h"
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "c10/core/InferenceMode.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/no_grad.h"
#include "graphnet/interp/torch/allowed_operators.h"
#include "torch/csrc/jit/ir/constants.h"
#include "torch/csrc/jit/passes/dead_code_elimination.h"

namespace graphnet::extract {

namespace jit = torch::jit;
namespace prim = c10::prim;

namespace {

bool HoldsTensor(const c10::Type& type) {
  return torchscript::Holds(type, {c10::TypeKind::TensorType});
}

// Returns true for a type variable such as "t", or Any, and for types that contain one.
bool HoldsVariable(const c10::Type& type) {
  return torchscript::Holds(type, {c10::TypeKind::VarType, c10::TypeKind::AnyType});
}

// Returns "aten.mul.Scalar" for "aten::mul.Tensor", the overload "Scalar_mode" for "Tensor_mode",
// and fill_ for copy_; empty if there is none.
std::string TargetForNumbers(const c10::FunctionSchema& schema) {
  if (schema.name() == "aten::copy_" && schema.overload_name().empty()) return "aten.fill_.Scalar";
  absl::string_view name = schema.name();
  absl::string_view overload = schema.overload_name();
  if (!absl::ConsumePrefix(&name, "aten::") || !absl::ConsumePrefix(&overload, "Tensor") ||
      schema.arguments().size() < 2) {
    return "";
  }
  const std::string other = absl::StrCat("Scalar", overload);
  const auto handle = c10::Dispatcher::singleton().findSchema({schema.name(), other});
  const bool fits = handle && handle->schema().arguments().size() == schema.arguments().size() &&
                    handle->schema().arguments()[1].type()->kind() == c10::TypeKind::NumberType;
  return fits ? absl::StrCat("aten.", name, ".", other) : "";
}

void Classify(StepPlan* step) {
  const c10::FunctionSchema& schema = *step->schema;
  step->is_allowed = IsAllowed(schema);
  bool takes_tensors = schema.is_vararg();
  bool is_generic = false;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    takes_tensors |= HoldsTensor(*argument.type());
    is_generic |= HoldsVariable(*argument.type());
    const c10::AliasInfo* alias = argument.alias_info();
    if (alias != nullptr && alias->isWrite()) step->writes.push_back(static_cast<int>(i));
  }
  if (!schema.arguments().empty()) {
    const c10::Type& first = *schema.arguments()[0].type();
    step->takes_any_list = first.kind() == c10::TypeKind::ListType && HoldsVariable(first);
  }
  bool yields_tensors = false;
  for (const c10::Argument& result : schema.returns()) {
    yields_tensors |= HoldsTensor(*result.type());
    step->yields_list |=
        HoldsTensor(*result.type()) && result.type()->kind() == c10::TypeKind::ListType;
    is_generic |= HoldsVariable(*result.type());
  }
  bool writes_tensors = false;
  for (const int i : step->writes) writes_tensors |= HoldsTensor(*schema.arguments()[i].type());
  if (is_generic) {
    step->op_class = OpClass::kValues;
  } else if (yields_tensors || writes_tensors) {
    step->op_class = OpClass::kCompute;
  } else if (schema.is_varret() || (takes_tensors && !schema.returns().empty())) {
    step->op_class = OpClass::kRead;
  } else if (schema.returns().empty() && step->writes.empty()) {
    step->op_class = OpClass::kEffect;
  }
  if (const auto handle = c10::Dispatcher::singleton().findSchema(schema.operator_name())) {
    step->is_composite = interp::IsComposite(*handle);
    step->is_random = handle->hasTag(at::Tag::nondeterministic_seeded);
    step->target_for_numbers = TargetForNumbers(schema);
    step->sizes_may_depend_on_data = handle->hasTag(at::Tag::dynamic_output_shape);
  }
}

class Maker {
 public:
  explicit Maker(FunctionPlan* plan) : plan_(*plan) {}

  absl::Status Run(const jit::Graph& graph) {
    for (const jit::Value* input : graph.inputs()) SlotOf(input);
    RETURN_IF_ERROR(MakeBlock(*graph.block(), &plan_.body, 0));
    plan_.num_slots = slots_.size();
    return absl::OkStatus();
  }

 private:
  int SlotOf(const jit::Value* value) {
    return slots_.try_emplace(value, static_cast<int>(slots_.size())).first->second;
  }

  absl::Status MakeBlock(const jit::Block& block, BlockPlan* out, int depth) {
    if (depth > kMaxNesting) return absl::InvalidArgumentError("blocks nest too deep");
    for (const jit::Value* input : block.inputs()) out->inputs.push_back(SlotOf(input));
    for (const jit::Node* node : block.nodes()) {
      StepPlan step;
      step.node = node;
      for (const jit::Value* input : node->inputs()) step.in.push_back(SlotOf(input));
      for (const jit::Value* output : node->outputs()) step.out.push_back(SlotOf(output));
      for (const jit::Block* inner : node->blocks()) {
        RETURN_IF_ERROR(MakeBlock(*inner, &step.blocks.emplace_back(), depth + 1));
      }
      if (node->kind() == prim::Constant) {
        const std::optional<c10::IValue> value = jit::toIValue(node->output());
        if (!value && node->output()->type()->kind() != c10::TypeKind::FunctionType) {
          return torchscript::CannotRepresent(*node, "constants of this type are not supported");
        }
        if (value) step.constant = *value;
      } else if (!IsChosenByNode(node->kind())) {
        const jit::Operator* op = node->maybeOperator();
        if (op == nullptr)
          return torchscript::CannotRepresent(*node, "the operator does not exist");
        step.schema = &op->schema();
        step.operation = WithGuard(op->schema(), op->getOperation(node));
        Classify(&step);
      }
      out->steps.push_back(std::move(step));
    }
    for (const jit::Value* output : block.outputs()) out->outputs.push_back(SlotOf(output));
    FindDead(out);
    return absl::OkStatus();
  }

  static void CollectUses(const StepPlan& step, absl::flat_hash_set<int>* uses) {
    uses->insert(step.in.begin(), step.in.end());
    for (const BlockPlan& block : step.blocks) {
      uses->insert(block.outputs.begin(), block.outputs.end());
      for (const StepPlan& inner : block.steps) CollectUses(inner, uses);
    }
  }

  // A value dies in the block that defines it.
  static void FindDead(BlockPlan* block) {
    absl::flat_hash_set<int> defined(block->inputs.begin(), block->inputs.end());
    for (const StepPlan& step : block->steps) defined.insert(step.out.begin(), step.out.end());
    absl::flat_hash_set<int> used(block->outputs.begin(), block->outputs.end());
    for (auto step = block->steps.rbegin(); step != block->steps.rend(); ++step) {
      absl::flat_hash_set<int> here;
      CollectUses(*step, &here);
      here.insert(step->out.begin(), step->out.end());
      for (const int slot : here) {
        if (defined.contains(slot) && used.insert(slot).second) step->dead.push_back(slot);
      }
    }
  }

  FunctionPlan& plan_;
  absl::flat_hash_map<const jit::Value*, int> slots_;
};

}  // namespace

bool IsChosenByNode(c10::Symbol kind) {
  static constexpr c10::Symbol kKinds[] = {prim::Constant,
                                           prim::If,
                                           prim::Loop,
                                           prim::CallFunction,
                                           prim::CallMethod,
                                           prim::Enter,
                                           prim::Exit,
                                           prim::GetAttr,
                                           prim::SetAttr,
                                           prim::TupleConstruct,
                                           prim::ListConstruct,
                                           prim::DictConstruct,
                                           prim::TupleUnpack,
                                           prim::ListUnpack,
                                           prim::TupleIndex,
                                           prim::TupleSlice,
                                           prim::isinstance,
                                           prim::CreateObject,
                                           prim::Uninitialized,
                                           prim::unchecked_cast,
                                           prim::unchecked_unwrap_optional,
                                           prim::fork,
                                           prim::Print,
                                           prim::RaiseException,
                                           c10::aten::wait,
                                           c10::aten::warn};
  return absl::c_linear_search(kKinds, kind);
}

bool AsksForGradients(jit::Function& function) {
  std::vector<jit::Function*> functions = {&function};
  absl::flat_hash_set<const jit::Function*> seen = {&function};
  const auto add = [&](jit::Function* callee) {
    if (callee != nullptr && seen.insert(callee).second) functions.push_back(callee);
  };
  std::vector<const jit::Block*> blocks;
  while (!functions.empty() || !blocks.empty()) {
    if (blocks.empty()) {
      jit::GraphFunction* const next = jit::tryToGraphFunction(*functions.back());
      functions.pop_back();
      if (next == nullptr) continue;
      next->ensure_defined();
      blocks.push_back(next->graph()->block());
    }
    const jit::Block* const block = blocks.back();
    blocks.pop_back();
    for (const jit::Node* node : block->nodes()) {
      blocks.insert(blocks.end(), node->blocks().begin(), node->blocks().end());
      const c10::TypePtr type = node->inputs().empty() ? nullptr : node->input(0)->type();
      const auto add_method = [&](const std::string& name) {
        if (const auto of = type->cast<c10::ClassType>()) add(of->findMethod(name));
      };
      switch (node->kind()) {
        case c10::aten::grad: return true;
        case prim::CallFunction:
          if (const auto of = type->cast<c10::FunctionType>()) add(of->function());
          break;
        case prim::CallMethod: add_method(node->s(c10::attr::name)); break;
        case prim::Enter: add_method("__enter__"); break;
        case prim::Exit: add_method("__exit__"); break;
        case prim::fork: blocks.push_back(node->g(c10::attr::Subgraph)->block()); break;
        default: break;
      }
    }
  }
  return false;
}

absl::StatusOr<const FunctionPlan*> Planner::Plan(const jit::Graph& graph, const jit::Node* call) {
  // The last inputs of a call node are the arguments.
  const size_t arity = graph.inputs().size();
  const size_t first = call != nullptr && call->inputs().size() > arity ? 1 : 0;
  std::vector<at::Tensor> constants(arity);
  Key key(&graph, {});
  for (size_t i = 0; i < arity; ++i) {
    const jit::Value* operand =
        call != nullptr && first + i < call->inputs().size() ? call->input(first + i) : nullptr;
    if (operand == nullptr) continue;
    const std::optional<at::Tensor> tensor = torchscript::ConstantTensor(operand);
    if (tensor && tensor->dim() == 0) constants[i] = *tensor;
  }
  for (const at::Tensor& tensor : constants) key.second.push_back(tensor.unsafeGetTensorImpl());
  std::unique_ptr<FunctionPlan>& plan = plans_[key];
  if (plan == nullptr) {
    auto made = std::make_unique<FunctionPlan>();
    made->graph = const_cast<jit::Graph&>(graph).copy();  // copy() does not change it.
    const jit::WithInsertPoint guard(made->graph->block()->nodes().front());
    for (size_t i = 0; i < arity; ++i) {
      if (!constants[i].defined()) continue;
      made->graph->inputs()[i]->replaceAllUsesWith(made->graph->insertConstant(constants[i]));
    }
    torchscript::RestoreNumbers(made->graph->block());
    // TorchScript does not run dead code either.
    jit::EliminateDeadCode(made->graph);
    RETURN_IF_ERROR(Maker(made.get()).Run(*made->graph));
    plan = std::move(made);
  }
  return plan.get();
}

void Execute(const StepPlan& step, std::vector<c10::IValue>* stack) {
  // Such operators expect the number of operands on the stack; that of prim::tolist is fixed.
  if (step.schema->is_vararg() && !step.schema->is_varret())
    stack->emplace_back(static_cast<int64_t>(step.in.size()));
  // The program runs in inference mode unless it asks for gradients.
  interp::CallAsNoGrad(step.is_composite && c10::InferenceMode::is_enabled(), at::ArrayRef(*stack),
                       [&] { (*step.operation)(*stack); });
}

}  // namespace graphnet::extract
