// Exports branches and loops: torch.cond becomes prim::If, torch.while_loop becomes prim::Loop.
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/torchscript/exporter_graph.h"

namespace graphnet::torchscript {

namespace jit = torch::jit;
namespace prim = c10::prim;
namespace aten = c10::aten;

namespace {

// Returns the elements of a list or tuple; any other argument is its only element.
absl::Span<const Argument> Elements(const Argument& argument) {
  if (argument.is_tuple() || argument.is_list()) return argument.elements();
  return absl::MakeConstSpan(&argument, 1);
}

// Returns the index of the placeholder `argument`; nullopt if it is not one.
std::optional<size_t> PlaceholderNumber(const Argument& argument,
                                        const std::vector<Node*>& placeholders) {
  if (!argument.is_node()) return std::nullopt;
  const auto it = absl::c_find(placeholders, argument.node());
  if (it == placeholders.end()) return std::nullopt;
  return it - placeholders.begin();
}

bool IsInt(const Argument& argument, int64_t value) {
  return argument.is_int() && argument.integer() == value;
}

// Returns whether `argument` is a call of `target` with two arguments, the first being `first`.
bool IsCallOn(const Argument& argument, absl::string_view target, const Node* first) {
  return argument.is_node() && argument.node()->is_call_function(target) &&
         argument.node()->args().size() == 2 && argument.node()->kwargs().empty() &&
         argument.node()->args()[0].is_node() && argument.node()->args()[0].node() == first;
}

}  // namespace

absl::StatusOr<Argument> GraphExporter::ExportBody(const Graph& body,
                                                   absl::Span<const Bound> inputs,
                                                   const Node* skip) {
  const Node* const caller = current_;
  if (depth_ >= kMaxNesting) return Error(absl::StrCat("bodies nest deeper than ", kMaxNesting));
  const std::vector<Node*> placeholders = body.placeholders();
  if (placeholders.size() != inputs.size()) {
    return Error(absl::StrCat("the body ", body.name(), " takes ", placeholders.size(),
                              " operands, not ", inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) bound_[placeholders[i]] = inputs[i];
  ++depth_;
  for (const Node* node : body.nodes()) {
    if (node != skip) RETURN_IF_ERROR(ExportNode(*node));
  }
  --depth_;
  current_ = caller;
  return body.output()->args()[0];
}

absl::StatusOr<std::vector<GraphExporter::Bound>> GraphExporter::OperandsOf(
    absl::Span<const Argument> arguments) {
  std::vector<Bound> operands;
  for (const Argument& argument : arguments) {
    ASSIGN_OR_RETURN(operands.emplace_back(), BoundOf(argument));
  }
  return operands;
}

absl::StatusOr<jit::Value*> GraphExporter::Condition(const Argument& argument) {
  ASSIGN_OR_RETURN(jit::Value* const value, ValueOf(argument, c10::BoolType::get()));
  switch (value->type()->kind()) {
    case c10::TypeKind::BoolType: return value;
    case c10::TypeKind::TensorType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType: return graph_->insert(aten::Bool, {value});
    default: return Error(absl::StrCat("the condition has type ", value->type()->annotation_str()));
  }
}

absl::Status GraphExporter::ExportCond(const Node& node) {
  const absl::Span<const Argument> args = node.args();
  if (args.size() < 3 || args.size() > 4 || !node.kwargs().empty() || !args[1].is_graph() ||
      !args[2].is_graph()) {
    return Error("it takes a condition, two bodies and their operands");
  }
  ASSIGN_OR_RETURN(jit::Value* const condition, Condition(args[0]));
  ASSIGN_OR_RETURN(const std::vector<Bound> operands,
                   OperandsOf(args.size() == 4 ? Elements(args[3]) : absl::Span<const Argument>()));
  if (args[1].graph() == args[2].graph()) {
    // Values are stored by node, so one body cannot be in both branches.
    ASSIGN_OR_RETURN(const Argument result, ExportBody(*args[1].graph(), operands));
    Bound bound{.is_tuple = result.is_tuple() || result.is_list()};
    for (const Argument& element : Elements(result)) {
      ASSIGN_OR_RETURN(jit::Value* const value, ValueOf(element));
      bound.values.push_back(value);
    }
    bound_[&node] = std::move(bound);
    return absl::OkStatus();
  }
  jit::Node* const branch = graph_->insertNode(graph_->create(prim::If, {condition}, 0));
  Argument results[2];
  for (int i = 0; i < 2; ++i) {
    const jit::WithInsertPoint guard(branch->addBlock());
    ASSIGN_OR_RETURN(results[i], ExportBody(*args[i + 1].graph(), operands));
  }
  const absl::Span<const Argument> elements[2] = {Elements(results[0]), Elements(results[1])};
  const bool is_tuple = results[0].is_tuple() || results[0].is_list();
  if (elements[0].size() != elements[1].size() ||
      is_tuple != (results[1].is_tuple() || results[1].is_list())) {
    return Error("its bodies return different structures");
  }
  Bound bound{.is_tuple = is_tuple};
  for (size_t i = 0; i < elements[0].size(); ++i) {
    c10::TypePtr types[2] = {TypeOf(elements[0][i]), TypeOf(elements[1][i])};
    if (types[0] == nullptr) types[0] = types[1];
    if (types[1] == nullptr) types[1] = types[0];
    c10::TypePtr type;
    if (types[0] != nullptr) type = c10::unifyTypes(types[0], types[1]).value_or(nullptr);
    if (types[0] != nullptr && type == nullptr) {
      return Error(absl::StrCat("result ", i, " has type ", types[0]->annotation_str(), " or ",
                                types[1]->annotation_str()));
    }
    for (int b = 0; b < 2; ++b) {
      const jit::WithInsertPoint guard(branch->blocks()[b]);
      ASSIGN_OR_RETURN(jit::Value* const value, Fit(elements[b][i], type));
      branch->blocks()[b]->registerOutput(value);
      if (type == nullptr) type = value->type();
    }
    bound.values.push_back(branch->addOutput()->setType(type));
  }
  bound_[&node] = std::move(bound);
  return absl::OkStatus();
}

// prim::Loop supports `for index in range(trip_count)` and `while condition`. The
// importer makes while_loops of both. This recognises them:
//
//   @cond(index, …):   return operator.lt(index, trip_count)
//   @body(index, …):   return (operator.add(index, 1), …)
//
//   @cond(condition, …): return condition
//
// Any other loop becomes `while condition`, with @cond inlined before it and in its body.
GraphExporter::LoopForm GraphExporter::FormOf(const Node& loop) const {
  const std::vector<Node*> test_inputs = loop.args()[0].graph()->placeholders();
  const std::vector<Node*> body_inputs = loop.args()[1].graph()->placeholders();
  const absl::Span<const Argument> carried = Elements(loop.args()[2]);
  const absl::Span<const Argument> operands = Elements(loop.args()[3]);
  const Argument proceed = loop.args()[0].graph()->output()->args()[0];
  const absl::Span<const Argument> next = Elements(loop.args()[1].graph()->output()->args()[0]);
  // A value can only be dropped if the loop's result of it is unused.
  const auto is_result_used = [&](size_t i) {
    return absl::c_any_of(loop.users(), [&](const Node* user) {
      return !user->is_call_function("operator.getitem") || user->args().size() != 2 ||
             !user->args()[1].is_int() || IsInt(user->args()[1], static_cast<int64_t>(i));
    });
  };
  LoopForm form;
  const size_t test_calls = loop.args()[0].graph()->num_nodes() - test_inputs.size() - 1;
  if (const auto i = PlaceholderNumber(proceed, test_inputs);
      i && *i < carried.size() && test_calls == 0 && body_inputs[*i]->num_uses() == 0 &&
      !is_result_used(*i)) {
    form.condition = i;
  } else if (test_calls == 1 && !carried.empty() && IsInt(carried[0], 0) &&
             IsCallOn(proceed, "operator.lt", test_inputs[0]) && !next.empty() &&
             IsCallOn(next[0], "operator.add", body_inputs[0]) &&
             IsInt(next[0].node()->args()[1], 1) && !is_result_used(0)) {
    Argument trip_count = proceed.node()->args()[1];
    if (const auto number = PlaceholderNumber(trip_count, test_inputs)) {
      if (*number < carried.size()) return form;  // The trip count may change.
      trip_count = operands[*number - carried.size()];
    }
    form.counts = TypeOf(trip_count) == c10::IntType::get();
    form.trip_count = trip_count;
  }
  return form;
}

absl::Status GraphExporter::ExportWhileLoop(const Node& node) {
  const absl::Span<const Argument> args = node.args();
  if (args.size() != 4 || !node.kwargs().empty() || !args[0].is_graph() || !args[1].is_graph()) {
    return Error("it takes two bodies, the values that it carries, and operands");
  }
  const Graph& test = *args[0].graph();
  const Graph& body = *args[1].graph();
  const absl::Span<const Argument> carried = Elements(args[2]);
  ASSIGN_OR_RETURN(const std::vector<Bound> operands, OperandsOf(Elements(args[3])));
  const std::vector<Node*> placeholders = body.placeholders();
  for (const Graph* graph : {&test, &body}) {
    if (graph->placeholders().size() != carried.size() + operands.size()) {
      return Error(absl::StrCat("the body ", graph->name(), " takes ", graph->placeholders().size(),
                                " operands, not ", carried.size() + operands.size()));
    }
  }
  const LoopForm form = FormOf(node);
  const Node* const current = current_;

  // Carried values, each with its type.
  std::vector<jit::Value*> start;
  for (size_t i = 0; i < carried.size(); ++i) {
    if (!form.is_carried(i)) continue;
    c10::TypePtr& type = carried_types_[placeholders[i]];
    if (type == nullptr) {
      if (placeholders[i]->tensor_meta() != nullptr) type = c10::TensorType::get();
      ASSIGN_OR_RETURN(type, AnnotatedType(*placeholders[i], type));
      const c10::TypePtr first = TypeOf(carried[i]);
      if (first != nullptr) {
        type = type == nullptr ? first : c10::unifyTypes(type, first).value_or(type);
      }
    }
    ASSIGN_OR_RETURN(jit::Value* const value, Fit(carried[i], type));
    if (type == nullptr) type = value->type();
    start.push_back(value);
  }
  // Returns the inputs of both bodies if `values` are carried.
  const auto inputs_of = [&](at::ArrayRef<jit::Value*> values, jit::Value* index) {
    std::vector<Bound> inputs;
    size_t used = 0;
    for (size_t i = 0; i < carried.size(); ++i) {
      if (form.is_carried(i)) {
        inputs.push_back({.values = {values[used++]}});
      } else {
        inputs.push_back(i == form.condition ? Bound() : Bound{.values = {index}});
      }
    }
    inputs.insert(inputs.end(), operands.begin(), operands.end());
    return inputs;
  };
  const auto test_of = [&](at::ArrayRef<jit::Value*> values) -> absl::StatusOr<jit::Value*> {
    ASSIGN_OR_RETURN(const Argument result, ExportBody(test, inputs_of(values, nullptr)));
    return Condition(result);
  };

  jit::Value* trip_count;
  jit::Value* condition;
  if (form.counts) {
    ASSIGN_OR_RETURN(trip_count, Fit(form.trip_count, c10::IntType::get()));
    condition = graph_->insertConstant(true);
  } else {
    trip_count = graph_->insertConstant(std::numeric_limits<int64_t>::max());
    ASSIGN_OR_RETURN(condition,
                     form.condition ? Condition(carried[*form.condition]) : test_of(start));
  }
  std::vector<jit::Value*> inputs = {trip_count, condition};
  inputs.insert(inputs.end(), start.begin(), start.end());
  jit::Node* const loop = graph_->insertNode(graph_->create(prim::Loop, inputs, 0));
  jit::Block* const block = loop->addBlock();
  {
    const jit::WithInsertPoint guard(block);
    jit::Value* const index = block->addInput()->setType(c10::IntType::get());
    if (form.counts) index->setDebugName(Identifier(placeholders[0]->name()));
    std::vector<jit::Value*> values;
    for (size_t i = 0; i < carried.size(); ++i) {
      if (!form.is_carried(i)) continue;
      jit::Value* const value = block->addInput(Identifier(placeholders[i]->name()));
      values.push_back(value->setType(carried_types_[placeholders[i]]));
    }
    const Node* skip = nullptr;
    if (form.counts) {
      const Node* const next = Elements(body.output()->args()[0])[0].node();
      if (next->num_uses() == 1) skip = next;
    }
    ASSIGN_OR_RETURN(const Argument result, ExportBody(body, inputs_of(values, index), skip));
    const absl::Span<const Argument> next = Elements(result);
    if (next.size() != carried.size())
      return Error("the body returns a different number of values");
    std::vector<jit::Value*> outputs;
    for (size_t i = 0; i < carried.size(); ++i) {
      if (!form.is_carried(i)) continue;
      c10::TypePtr& type = carried_types_[placeholders[i]];
      ASSIGN_OR_RETURN(jit::Value* const value, ValueOf(next[i], type));
      if (!value->type()->isSubtypeOf(*type)) {
        const auto wider = c10::unifyTypes(type, value->type());
        if (!wider || **wider == *type) {
          return Error(absl::StrCat("it carries a value of type ", type->annotation_str(),
                                    ", and then one of type ", value->type()->annotation_str()));
        }
        type = *wider;
        again_ = true;
        return Error("its types are not known yet");
      }
      outputs.push_back(value);
    }
    jit::Value* proceed;
    if (form.counts) {
      proceed = graph_->insertConstant(true);
    } else {
      ASSIGN_OR_RETURN(proceed,
                       form.condition ? Condition(next[*form.condition]) : test_of(outputs));
    }
    block->registerOutput(proceed);
    for (jit::Value* value : outputs) block->registerOutput(value);
  }
  current_ = current;
  Bound bound{.is_tuple = true};
  for (size_t i = 0; i < carried.size(); ++i) {
    bound.values.push_back(
        form.is_carried(i) ? loop->addOutput()->setType(carried_types_[placeholders[i]]) : nullptr);
  }
  bound_[&node] = std::move(bound);
  return absl::OkStatus();
}

}  // namespace graphnet::torchscript
