#include "graphnet/ir/unchecked_builder.h"

#include "graphnet/ir/module.h"

namespace graphnet {

Node* UncheckedBuilder::CreateNodeFromInterned(Op op, const absl::string_view* target,
                                               absl::Span<const Argument> args,
                                               absl::Span<const KwArg> kwargs,
                                               absl::string_view name) {
  Node* node = graph_->NewNode(op, target, graph_->CopyName(op, *target, name));
  graph_->AllocateArguments(node, args.size(), kwargs.size());
  const auto copy = [this](const Argument& argument) {
    bool has_node = false;
    if (argument.is_aggregate()) {
      ForEachArgument(argument, [&](const Argument& a) { has_node |= a.is_node(); });
    }
    return has_node ? graph_->module()->CopyArgument(argument) : argument;
  };
  for (size_t i = 0; i < args.size(); ++i) new (&node->args_[i]) Argument(copy(args[i]));
  for (size_t i = 0; i < kwargs.size(); ++i) {
    new (&node->kwarg_array()[i]) KwArg{kwargs[i].name, copy(kwargs[i].value)};
  }
  node->LinkOperands();
  graph_->LinkBefore(node, graph_->insertion_point_);
  graph_->IndexName(node);
  return node;
}

Node* UncheckedBuilder::PlaceholderFor(const Node& node, absl::string_view target) {
  Module* module = graph_->module();
  if (!module->SharesWith(*node.graph_->module())) {
    Node* made = CreateNode(Op::kPlaceholder, target, {}, {}, node.name());
    made->set_annotation(node.annotation());
    made->set_meta(node.meta_);
    return made;
  }
  Node* made =
      graph_->NewNode(Op::kPlaceholder,
                      module->arena().New<absl::string_view>(
                          target == node.name() ? node.name() : module->arena().Copy(target)),
                      node.name());
  if (!node.annotation().empty()) made->rare().annotation = node.rare_->annotation;
  made->meta_ = node.meta_;
  graph_->LinkBefore(made, graph_->insertion_point_);
  graph_->IndexName(made);
  return made;
}

}  // namespace graphnet
