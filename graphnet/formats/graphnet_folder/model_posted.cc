// The syntax of functions that PyTorch prints for readers.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/model_parser.h"
#include "graphnet/formats/graphnet_folder/posted_parser.h"
#include "graphnet/ir/unchecked_builder.h"

namespace graphnet {

absl::Status ModelParser::RunPosted(PostedFunction* function) {
  posted_ = function;
  for (const absl::string_view name :
       {"torch", "math", "operator", "_operator", "builtins", "typing", "fx_pytree", "pytree"}) {
    imports_[name] = name;
  }
  if (!scanner_.IsName("def")) return scanner_.Expected("'def forward'");
  RETURN_IF_ERROR(ParseFunction(/*is_method=*/true, 0));
  if (scanner_.token().kind != TokenKind::kEnd)
    return scanner_.Error("expected nothing after the method 'forward'");
  return absl::OkStatus();
}

// Parses an annotation, which is a text in quotes or a type of Python, and keeps it for `node` or, if
// that is null, in `text`.
absl::Status ModelParser::ParseAnnotation(Node* node, std::string* text) {
  std::string annotation;
  if (scanner_.token().kind == TokenKind::kString) {
    annotation = std::string(scanner_.TakeStrings());
  } else {
    if (scanner_.token().kind != TokenKind::kName) return scanner_.Expected("a type");
    ASSIGN_OR_RETURN(const absl::string_view type, ParseDotted());
    if (scanner_.Is(Punct("["))) RETURN_IF_ERROR(SkipBrackets());
    if (node != nullptr && node->is_placeholder()) node->set_annotation(type);
    return absl::OkStatus();
  }
  if (node != nullptr) {
    posted_->annotations.emplace_back(node, std::move(annotation));
  } else {
    *text = std::move(annotation);
  }
  return absl::OkStatus();
}

// Parses the rest of `NAME: ANNOTATION = EXPRESSION`, or of `NAME: ANNOTATION;`, by which PyTorch
// announces an input that pytree makes.
absl::Status ModelParser::ParseAnnotatedAssignment(absl::string_view target) {
  scanner_.Next();  // :
  std::string annotation;
  RETURN_IF_ERROR(ParseAnnotation(nullptr, &annotation));
  if (!scanner_.Is(Punct("="))) {
    announced_[target] = std::move(annotation);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(ParseAssignment(target));
  const auto it = scope_.names.find(target);
  if (!annotation.empty() && it != scope_.names.end() && it->second.kind == Binding::kValue &&
      it->second.value.is_node()) {
    posted_->annotations.emplace_back(it->second.value.node(), std::move(annotation));
  }
  return absl::OkStatus();
}

// Skips a bracket and everything in it.
absl::Status ModelParser::SkipBrackets() {
  int open = 0;
  do {
    const Token& token = scanner_.token();
    if (token.kind == TokenKind::kEnd || token.kind == TokenKind::kError)
      return scanner_.Expected("a closing bracket");
    if (token.kind == TokenKind::kPunct) {
      const uint32_t punct = token.punct;
      if (punct == '(' || punct == '[' || punct == '{') ++open;
      if (punct == ')' || punct == ']' || punct == '}') --open;
    }
    scanner_.Next();
  } while (open > 0);
  return absl::OkStatus();
}

// Parses `x, y, = fx_pytree.tree_flatten_spec((…), self._in_spec)`. The names are the inputs of the
// graph. The parameters of the function have the structure in which callers pass them.
absl::Status ModelParser::ParseFlattenedInputs(absl::string_view first) {
  std::vector<absl::string_view> names = {first};
  while (scanner_.Accept(Punct(","))) {
    if (scanner_.Is(Punct("="))) break;
    ASSIGN_OR_RETURN(const absl::string_view name, scanner_.TakeName("the name of an input"));
    names.push_back(name);
  }
  RETURN_IF_ERROR(scanner_.Expect(Punct("="), "after the names"));
  const char* const begin = scanner_.token().begin;
  if (scanner_.token().kind != TokenKind::kName) return scanner_.Expected("a call of fx_pytree");
  ASSIGN_OR_RETURN(const absl::string_view call, ParseDotted());
  if (call != "fx_pytree.tree_flatten_spec" || !scanner_.Is(Punct("("))) {
    return scanner_.ErrorAtOffset(begin, "assignments to tuples are not supported");
  }
  RETURN_IF_ERROR(SkipBrackets());
  std::vector<Node*> before;
  for (Node* node : scope_.graph->nodes()) {
    if (!node->is_placeholder() || node->has_uses())
      return scanner_.ErrorAtOffset(begin, "the inputs are flattened after a value is made");
    before.push_back(node);
  }
  posted_->annotations.clear();
  for (Node* node : before) scope_.graph->EraseNode(node);
  scope_.names.clear();
  scope_.unnamed = nullptr;
  for (const absl::string_view name : names) {
    Binding& binding = scope_.names[name];
    if (binding.kind != Binding::kUndefined)
      return scanner_.ErrorAtOffset(begin, absl::StrCat("two inputs are named '", name, "'"));
    Node* const node =
        UncheckedBuilder(scope_.graph).CreateNode(Op::kPlaceholder, name, {}, {}, name);
    node->set_location(location_);
    binding = {node, Binding::kValue, true};
    if (const auto it = announced_.find(name); it != announced_.end() && !it->second.empty())
      posted_->annotations.emplace_back(node, it->second);
  }
  return absl::OkStatus();
}

// Parses the rest of `pytree.tree_unflatten((x, y), self._out_spec)`, and returns the flat results.
absl::StatusOr<Argument> ModelParser::ParseUnflattened() {
  scanner_.Next();  // (
  ASSIGN_OR_RETURN(const Argument results, ParseExpression());
  while (scanner_.Accept(Punct(","))) {
    if (scanner_.Is(Punct(")"))) break;
    if (scanner_.token().kind != TokenKind::kName) return scanner_.Expected("a structure");
    RETURN_IF_ERROR(ParseDotted().status());
  }
  RETURN_IF_ERROR(scanner_.Expect(Punct(")"), "after the structure"));
  if (results.kind() == Argument::Kind::kList) return Argument::Tuple(results.elements());
  return results;
}

// Parses what follows `self` or `getattr`: a graph, an attribute or a call of a module.
absl::StatusOr<Argument> ModelParser::ParseSelf(absl::string_view first) {
  ASSIGN_OR_RETURN(const std::string path, ParseSelfPath(first, 0));
  if (path.empty()) return scanner_.Expected("an attribute of self");
  if (scanner_.Is(Punct("("))) {
    // Checks of the inputs, which PyTorch adds to the module of an exported program.
    if (path == "_guards_fn") {
      RETURN_IF_ERROR(SkipBrackets());
      return Argument();
    }
    return ParseCall(Op::kCallModule, module_->InternString(path));
  }
  if (const auto it = posted_->bodies.find(path); it != posted_->bodies.end())
    return Argument(it->second);
  if (module_->FindAttribute(path) == nullptr) module_->AddAttribute({.name = path});
  return Argument(Create(Op::kGetAttr, module_->InternString(path), {}, {}));
}

// Parses self.a.b, or getattr(self.a, "0").b, whose first name has been taken. Returns "a.0.b".
absl::StatusOr<std::string> ModelParser::ParseSelfPath(absl::string_view first, int depth) {
  std::string path;
  if (depth > kMaxNesting) return scanner_.Error("attributes nest too deep");
  if (first == "getattr") {
    RETURN_IF_ERROR(scanner_.Expect(Punct("("), "after getattr"));
    const absl::string_view inner = scanner_.token().text;
    if (!scanner_.IsName("self") && !scanner_.IsName("getattr"))
      return scanner_.Expected("'self', since only its attributes have a getattr");
    scanner_.Next();
    ASSIGN_OR_RETURN(path, ParseSelfPath(inner, depth + 1));
    RETURN_IF_ERROR(scanner_.Expect(Punct(","), "after the object"));
    ASSIGN_OR_RETURN(const absl::string_view name, scanner_.TakeText("the name of an attribute"));
    RETURN_IF_ERROR(scanner_.Expect(Punct(")"), "after the name"));
    absl::StrAppend(&path, path.empty() ? "" : ".", name);
  }
  while (scanner_.Accept(Punct("."))) {
    ASSIGN_OR_RETURN(const absl::string_view name, scanner_.TakeName("a name after '.'"));
    absl::StrAppend(&path, path.empty() ? "" : ".", name);
    if (path.size() > kMaxNameBytes) return scanner_.Error("the name is too long");
  }
  return path;
}

// Ends a graph whose text is cut off before its return.
void ModelParser::ReturnUnusedValues() {
  posted_->is_cut = true;
  FinishUnnamed();
  StartStatement();
  for (Node* node : scope_.graph->nodes()) {
    if (!node->is_placeholder() && !node->has_uses()) stack_.Push(node);
  }
  const Argument value = Argument::Tuple(stack_.Close(0));
  UncheckedBuilder(scope_.graph)
      .CreateNode(Op::kOutput, "output", absl::MakeConstSpan(&value, 1), {}, UniqueName("output"));
}

absl::Status ParsePostedFunction(const std::string& text, absl::string_view file_name,
                                 Module* module, PostedFunction* function) {
  return ModelParser(text, file_name, Framework::kTorch, module).RunPosted(function);
}

}  // namespace graphnet
