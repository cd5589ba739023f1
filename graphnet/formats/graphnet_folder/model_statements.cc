#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/model_parser.h"
#include "graphnet/ir/unchecked_builder.h"

namespace graphnet {

absl::Status ModelParser::ParseStatement() {
  // Formatters put long targets in parentheses.
  const bool parenthesised = scanner_.Accept(Punct("("));
  if (scanner_.token().kind != TokenKind::kName) return scanner_.Expected("a statement");
  const absl::string_view first = scanner_.token().text;
  if (is_paddle() && first == "del" && !parenthesised) return ParseDelete();
  if (IsForeignKeyword(first)) {
    return scanner_.Error(absl::StrCat("'", first,
                                       "' is outside the subset of straight-line "
                                       "assignments and calls"));
  }
  StartStatement();
  location_ = {file_, scanner_.line(), scanner_.column()};
  scanner_.Next();
  if (is_paddle() && scanner_.Is(Punct(","))) return ParseUnpacking(first, parenthesised);
  if (is_posted() && !parenthesised && scanner_.Is(Punct(","))) return ParseFlattenedInputs(first);
  if (is_posted() && !parenthesised && scanner_.Is(Punct(":")))
    return ParseAnnotatedAssignment(first);
  if (parenthesised) RETURN_IF_ERROR(scanner_.Expect(Punct(")"), "after the name"));
  if (scanner_.Is(Punct("="))) return ParseAssignment(first);
  FinishUnnamed();
  if (scanner_.token().kind == TokenKind::kPunct) {
    if (const BinaryOperator* op = FindAugmented(scanner_.token().punct)) {
      return ParseAugmented(first, *op);
    }
  }
  if (scanner_.Is(Punct(":"))) return scanner_.Error("annotated variables are not supported");
  if (scanner_.Is(Punct(","))) return scanner_.Error("assignments to tuples are not supported");
  if (scanner_.Is(Punct("["))) return ParseSubscriptStatement(first);
  // The statement must be a call that is made for its effect.
  ASSIGN_OR_RETURN(Argument value, ParseAtomFromName(first));
  ASSIGN_OR_RETURN(value, ParsePostfix(value));
  if (scanner_.Is(Punct("=")))
    return scanner_.Error("only names and subscripts can be assigned to");
  if (is_posted() && value.is_none()) return absl::OkStatus();
  if (!value.is_node() || new_nodes_.empty()) return scanner_.Expected("an assignment or a call");
  NameNewNodes();
  return absl::OkStatus();
}

absl::Status ModelParser::ParseAssignment(absl::string_view target) {
  // Most statements have one target. Further ones go to `more_targets_`.
  more_targets_.clear();
  Argument value;
  while (true) {
    scanner_.Next();  // =
    // A name, with or without parentheses, is a further target, an alias or the start of an
    // expression.
    const size_t base = stack_.size();
    const bool parenthesised = scanner_.Accept(Punct("("));
    const absl::string_view name = scanner_.token().text;
    if (scanner_.token().kind != TokenKind::kName || (parenthesised && name == "lambda")) {
      FinishUnnamed();
      if (parenthesised) {
        ASSIGN_OR_RETURN(value, ParseParenthesisRest(base));
        ASSIGN_OR_RETURN(value, ParseExpressionRest(value));
      } else {
        ASSIGN_OR_RETURN(value, ParseExpressionList());
      }
      break;
    }
    scanner_.Next();
    const bool closed = parenthesised && scanner_.Accept(Punct(")"));
    if (closed == parenthesised) {
      if (scanner_.Is(Punct("="))) {
        more_targets_.push_back(name);
        continue;
      }
      if (EndsStatement()) {
        if (more_targets_.empty() && name != "None") return Alias(target, name);
        ASSIGN_OR_RETURN(value, ParseAtomFromName(name));
        break;
      }
    }
    FinishUnnamed();
    ASSIGN_OR_RETURN(value, ParseAtomFromName(name));
    if (parenthesised && !closed) {
      ASSIGN_OR_RETURN(value, ParsePostfix(value));
      ASSIGN_OR_RETURN(value, ParseBinaryRest(value, kComparison));
      stack_.Push(value);
      ASSIGN_OR_RETURN(value, ParseParenthesisRest(base));
    }
    ASSIGN_OR_RETURN(value, ParseExpressionRest(value));
    break;
  }
  if (value.is_none()) {
    FinishUnnamed();
    Release(target);
    for (absl::string_view name : more_targets_) Release(name);
    return absl::OkStatus();
  }
  Bind(target, value);
  for (absl::string_view name : more_targets_) Bind(name, value);
  return absl::OkStatus();
}

// Binds a name to the value of an expression. If this statement made the value's node, the node
// takes the name.
void ModelParser::Bind(absl::string_view name, const Argument& value) {
  Node* takes_name = nullptr;
  if (value.is_node() && !new_nodes_.empty() && new_nodes_.back() == value.node()) {
    takes_name = new_nodes_.back();
    new_nodes_.pop_back();
  }
  NameNewNodes();
  Binding* binding = &scope_.names[name];
  if (takes_name != nullptr) {
    if (binding->names_a_node) {
      UncheckedBuilder(scope_.graph).SetName(takes_name, UniqueName(name));
      binding = &scope_.names[name];  // Inserting another name may have moved it.
    } else {
      binding->names_a_node = true;
      UncheckedBuilder(scope_.graph).SetName(takes_name, name);
    }
  }
  binding->value = value.is_aggregate() ? values_.Keep(value) : value;
  binding->kind = Binding::kValue;
}

// `target = source`
absl::Status ModelParser::Alias(absl::string_view target, absl::string_view source) {
  if (const std::optional<Argument> literal = NamedLiteral(source)) {
    FinishUnnamed();
    Bind(target, *literal);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Argument value, Lookup(source));
  if (scope_.unnamed != nullptr) {
    if (source == scope_.unnamed_base) {
      // This alias names `a += b` or `a[i] = b`.
      Binding& binding = scope_.names[target];
      if (!binding.names_a_node) {
        binding.names_a_node = true;
        UncheckedBuilder(scope_.graph).SetName(scope_.unnamed, target);
        scope_.unnamed = nullptr;
      }
    }
    FinishUnnamed();
  }
  Binding& binding = scope_.names[target];
  // The first alias of a parameter names its placeholder, because torch.fx prints `l_x_ = L_x_`.
  if (value.is_node() && value.node()->is_placeholder() && !binding.names_a_node &&
      value.node()->name() == value.node()->target()) {
    UncheckedBuilder(scope_.graph).SetName(value.node(), target);
    binding.names_a_node = true;
  }
  binding.value = value;
  binding.kind = Binding::kValue;
  return absl::OkStatus();
}

absl::Status ModelParser::ParseAugmented(absl::string_view target, const BinaryOperator& op) {
  ASSIGN_OR_RETURN(const Argument self, Lookup(target));
  scanner_.Next();
  ASSIGN_OR_RETURN(const Argument value, ParseExpressionList());
  const Argument args[] = {self, value};
  Node* node = Create(Op::kCallFunction, op.in_place_target, args, {});
  new_nodes_.pop_back();
  NameNewNodes();
  scope_.unnamed = node;
  scope_.unnamed_base = target;
  Binding& binding = scope_.names[target];
  binding.value = node;
  binding.kind = Binding::kValue;
  return absl::OkStatus();
}

// Parses `name[...]...`, an item assignment or a call on an element.
absl::Status ModelParser::ParseSubscriptStatement(absl::string_view first) {
  ASSIGN_OR_RETURN(const Argument self, Lookup(first));
  scanner_.Next();  // [
  ASSIGN_OR_RETURN(const Argument index, ParseSubscript());
  if (scanner_.token().kind == TokenKind::kPunct && FindAugmented(scanner_.token().punct)) {
    return scanner_.Error("augmented assignments to elements are not supported");
  }
  if (!scanner_.Is(Punct("="))) {
    const Argument args[] = {self, index};
    Argument value = Create(Op::kCallFunction, "operator.getitem", args, {});
    ASSIGN_OR_RETURN(value, ParsePostfix(value));
    NameNewNodes();
    return absl::OkStatus();
  }
  scanner_.Next();
  ASSIGN_OR_RETURN(const Argument value, ParseExpressionList());
  if (scanner_.Is(Punct("=")))
    return scanner_.Error("chained assignments to elements are not supported");
  const Argument args[] = {self, index, value};
  Node* node = Create(Op::kCallFunction, "operator.setitem", args, {});
  new_nodes_.pop_back();
  NameNewNodes();
  scope_.unnamed = node;
  scope_.unnamed_base = first;
  return absl::OkStatus();
}

// Names the nodes that this statement has made after their targets.
void ModelParser::NameNewNodes() {
  for (Node* node : new_nodes_) NameNode(node, DefaultName(*node));
  new_nodes_.clear();
}

void ModelParser::NameNode(Node* node, absl::string_view name) {
  Binding& binding = scope_.names[name];
  if (!binding.names_a_node) {
    binding.names_a_node = true;
    UncheckedBuilder(scope_.graph).SetName(node, name);
  } else {
    UncheckedBuilder(scope_.graph).SetName(node, UniqueName(name));
  }
}

absl::string_view ModelParser::DefaultName(const Node& node) const {
  const absl::string_view target = node.target();
  const size_t dot = target.rfind('.');
  return dot == absl::string_view::npos ? target : target.substr(dot + 1);
}

// Returns a name that no node has yet, and marks it as taken.
absl::string_view ModelParser::UniqueName(absl::string_view base) {
  std::string name(base);
  for (int& i = suffixes_[base];; name = absl::StrCat(base, "_", i)) {
    const auto it = scope_.names.find(name);
    if (it == scope_.names.end() || !it->second.names_a_node) break;
    ++i;
  }
  const absl::string_view kept = module_->arena().Copy(absl::string_view(name));
  scope_.names[kept].names_a_node = true;
  return kept;
}

// Names the node of an augmented or item assignment that no alias has named.
void ModelParser::FinishUnnamed() {
  if (scope_.unnamed == nullptr) return;
  NameNode(scope_.unnamed, DefaultName(*scope_.unnamed));
  scope_.unnamed = nullptr;
}

Argument ModelParser::WrittenOut(const Argument& value) {
  return values_.WrittenOut(
      value, scope_.graph, [this](absl::string_view target, absl::Span<const Argument> args) {
        Node* const node =
            UncheckedBuilder(scope_.graph).CreateNode(Op::kCallFunction, target, args, {}, {});
        node->set_location(location_);
        NameNode(node, DefaultName(*node));
        return node;
      });
}

Node* ModelParser::Create(Op op, absl::string_view target, absl::Span<const Argument> args,
                          absl::Span<const KwArg> kwargs) {
  absl::InlinedVector<Argument, 8> written_args;
  absl::InlinedVector<KwArg, 4> written_kwargs;
  if (!values_.empty()) {
    for (const Argument& arg : args) written_args.push_back(WrittenOut(arg));
    for (const KwArg& kwarg : kwargs) {
      written_kwargs.push_back({kwarg.name, WrittenOut(kwarg.value)});
    }
    args = written_args;
    kwargs = written_kwargs;
  }
  Node* node = UncheckedBuilder(scope_.graph).CreateNode(op, target, args, kwargs, {});
  node->set_location(location_);
  new_nodes_.push_back(node);
  return node;
}

}  // namespace graphnet
