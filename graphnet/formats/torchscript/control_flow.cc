// Imports branches and loops: prim::If becomes torch.cond and prim::Loop becomes while_loop, in
// the form that torch.fx gives them. A body takes everything that it needs as operands.
#include <limits>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/torchscript/graph_importer.h"
#include "torch/csrc/jit/ir/constants.h"

namespace graphnet::torchscript {

namespace jit = torch::jit;

Node* GraphImporter::AddPlaceholder(Scope* scope, absl::string_view name, const c10::Type* type) {
  const std::string unique = scope->graph->UniqueName(name);
  const InsertionGuard guard(scope->graph, scope->last_placeholder != nullptr
                                               ? scope->last_placeholder->next()
                                               : scope->graph->first());
  Node* node = scope->graph->Placeholder(unique, unique);
  scope->last_placeholder = node;
  if (type != nullptr) {
    types_[node] = type;
    if (type->kind() != c10::TypeKind::TensorType) node->set_annotation(TypeText(*type));
  }
  return node;
}

void GraphImporter::TakeCaptures(Scope* scope) {
  for (size_t i = scope->inner_count; i < scope->captures->size(); ++i) {
    Node* outer = (*scope->captures)[i];
    const auto type = types_.find(outer);
    Node* node =
        AddPlaceholder(scope, outer->name(), type == types_.end() ? nullptr : type->second);
    node->set_meta(outer->meta());
    scope->inner[outer] = node;
  }
  scope->inner_count = scope->captures->size();
}

absl::Status GraphImporter::ImportOutputs(at::ArrayRef<const jit::Value*> outputs,
                                          std::vector<Argument> first) {
  ASSIGN_OR_RETURN(const std::vector<Argument> rest, Operands(outputs));
  first.insert(first.end(), rest.begin(), rest.end());
  scope_->graph->Output(Argument::Tuple(first));
  return absl::OkStatus();
}

//   %c = torch.cond(%pred, @true, @false, (operands…))
// Its value is the tuple of outputs of the body that ran.
absl::Status GraphImporter::ImportIf(const jit::Node* node, int depth) {
  ASSIGN_OR_RETURN(const Argument predicate, Operand(node->input(0)));
  if (predicate.is_bool() && options_.fold_branches) {
    const jit::Block* taken = node->blocks()[predicate.boolean() ? 0 : 1];
    RETURN_IF_ERROR(ImportBlock(taken, depth + 1));
    current_ = node;
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      if (!node->output(i)->hasUses()) continue;
      ASSIGN_OR_RETURN(values_[node->output(i)], Lookup(taken->outputs()[i]));
    }
    return absl::OkStatus();
  }
  Scope* const outer = scope_;
  const int number = outer->num_ifs++;
  std::vector<Node*> captures;
  Scope bodies[2];
  for (int i = 0; i < 2; ++i) {
    bodies[i].graph =
        module_.AddGraph(absl::StrCat(outer->graph->name(), i == 0 ? "_true_" : "_false_", number));
    bodies[i].parent = outer;
    bodies[i].captures = &captures;
  }
  for (int i = 0; i < 2; ++i) {
    scope_ = &bodies[i];
    RETURN_IF_ERROR(ImportBlock(node->blocks()[i], depth + 1));
    current_ = node;
    RETURN_IF_ERROR(ImportOutputs(node->blocks()[i]->outputs()));
  }
  scope_ = outer;
  for (Scope& body : bodies) TakeCaptures(&body);
  const std::vector<Argument> operands(captures.begin(), captures.end());
  Node* cond =
      Emit("torch.cond", {predicate, bodies[0].graph, bodies[1].graph, Argument::Tuple(operands)});
  SetElements(node, cond, 0);
  return absl::OkStatus();
}

// prim::Loop(trip count, condition, carried…) runs its body (index, carried…) ->
// (condition, carried…) while index < trip count and condition. Index and condition
// become carried values before the others if the loop depends on them:
//   torch.ops.higher_order.while_loop(@cond, @body, (index, condition, carried…), (operands…))
absl::Status GraphImporter::ImportLoop(const jit::Node* node, int depth) {
  const jit::Block* block = node->blocks()[0];
  ASSIGN_OR_RETURN(const Argument trip_count, Operand(node->input(0)));
  ASSIGN_OR_RETURN(const Argument condition, Operand(node->input(1)));
  ASSIGN_OR_RETURN(const std::vector<Argument> initial, Operands(node->inputs().slice(2)));
  const auto always = jit::toIValue(block->outputs()[0]);
  const bool counts =
      !trip_count.is_int() || trip_count.integer() != std::numeric_limits<int64_t>::max();
  const bool has_index = counts || block->inputs()[0]->hasUses();
  const bool has_condition = !condition.is_bool() || !condition.boolean() || !always ||
                             !always->isBool() || !always->toBool();

  Scope* const outer = scope_;
  const int number = outer->num_loops++;
  std::vector<Node*> captures;
  Scope test, body;
  test.graph = module_.AddGraph(absl::StrCat(outer->graph->name(), "_cond_", number));
  body.graph = module_.AddGraph(absl::StrCat(outer->graph->name(), "_body_", number));
  std::vector<Argument> carried;
  if (has_index) carried.push_back(int64_t{0});
  if (has_condition) carried.push_back(condition);
  carried.insert(carried.end(), initial.begin(), initial.end());

  Node* index = nullptr;
  Node* test_index = nullptr;
  Node* test_condition = nullptr;
  for (Scope* scope : {&test, &body}) {
    scope->parent = outer;
    scope->captures = &captures;
    if (has_index) {
      const std::string name = NameOf(block->inputs()[0]);
      index = AddPlaceholder(scope, name.empty() ? "index" : name, c10::IntType::get().get());
      if (scope == &test) test_index = index;
    }
    if (has_condition) {
      Node* proceed = AddPlaceholder(scope, "proceed", c10::BoolType::get().get());
      if (scope == &test) test_condition = proceed;
    }
    for (size_t i = 1; i < block->inputs().size(); ++i) {
      const jit::Value* value = block->inputs()[i];
      const std::string name = NameOf(value);
      Node* placeholder =
          AddPlaceholder(scope, name.empty() ? "carried" : name, value->type().get());
      Describe(placeholder, value);
      values_[value] = placeholder;  // The body's comes last and stays.
    }
  }
  if (has_index) values_[block->inputs()[0]] = index;

  scope_ = &body;
  RETURN_IF_ERROR(ImportBlock(block, depth + 1));
  current_ = node;
  std::vector<Argument> next;
  if (has_index) next.push_back(Emit("operator.add", {index, 1}));
  RETURN_IF_ERROR(ImportOutputs(block->outputs().slice(has_condition ? 0 : 1), std::move(next)));

  scope_ = &test;
  TakeCaptures(&test);
  Argument proceed = true;
  if (counts) proceed = Emit("operator.lt", {test_index, Localize(trip_count)});
  if (has_condition) {
    proceed = counts ? Argument(Emit("operator.and_", {proceed, test_condition}))
                     : Argument(test_condition);
  }
  test.graph->Output(proceed);

  scope_ = outer;
  TakeCaptures(&body);
  const std::vector<Argument> operands(captures.begin(), captures.end());
  Node* loop = Emit("torch.ops.higher_order.while_loop",
                    {test.graph, body.graph, Argument::Tuple(carried), Argument::Tuple(operands)});
  SetElements(node, loop, (has_index ? 1 : 0) + (has_condition ? 1 : 0));
  return absl::OkStatus();
}

}  // namespace graphnet::torchscript
