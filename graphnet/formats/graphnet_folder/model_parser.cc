#include "graphnet/formats/graphnet_folder/model_parser.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/parsers.h"
#include "graphnet/ir/unchecked_builder.h"

namespace graphnet {
namespace {

bool IsImportable(absl::string_view module, Framework framework) {
  const absl::string_view root = module.substr(0, module.find('.'));
  return root == FrameworkName(framework) || root == "math" || root == "operator" ||
         root == "builtins" || root == "typing";
}

}  // namespace

absl::Status ModelParser::Run() {
  RETURN_IF_ERROR(ParseImports());
  const absl::string_view base_class = is_paddle() ? "paddle.nn.Layer" : "torch.nn.Module";
  if (!scanner_.IsName("class"))
    return scanner_.Expected(absl::StrCat("'class GraphModule(", base_class, "):'"));
  if (scanner_.indent() != 0) return scanner_.Error("unexpected indentation");
  scanner_.Next();
  RETURN_IF_ERROR(scanner_.ExpectName("GraphModule", "the class name GraphModule"));
  RETURN_IF_ERROR(scanner_.Expect(Punct("("), "after the class name"));
  if (scanner_.token().kind != TokenKind::kName)
    return scanner_.Expected(absl::StrCat("the base class ", base_class));
  const char* const base_begin = scanner_.token().begin;
  ASSIGN_OR_RETURN(const absl::string_view base, ParseDotted());
  if (base != base_class) {
    return scanner_.ErrorAtOffset(
        base_begin, absl::StrCat("the base class must be ", base_class,
                                 ", as graph_net.json says \"", FrameworkName(framework_), "\""));
  }
  RETURN_IF_ERROR(scanner_.Expect(Punct(")"), "after the base class"));
  RETURN_IF_ERROR(scanner_.Expect(Punct(":"), "after the class header"));
  RETURN_IF_ERROR(scanner_.ExpectNewline("after the class header"));
  if (!scanner_.IsName("def")) return scanner_.Expected("'def forward'");
  if (scanner_.indent() == 0) return scanner_.Error("expected an indented method");
  if (is_paddle()) RETURN_IF_ERROR(ParseInit());
  RETURN_IF_ERROR(ParseFunction(/*is_method=*/true, 0));
  if (scanner_.token().kind != TokenKind::kEnd) {
    return scanner_.Error("expected nothing after the method 'forward'");
  }
  return absl::OkStatus();
}

absl::Status ModelParser::ParseImports() {
  while (scanner_.token().kind == TokenKind::kName && !scanner_.IsName("class")) {
    if (scanner_.indent() != 0) return scanner_.Error("unexpected indentation");
    if (scanner_.AcceptName("import")) {
      ASSIGN_OR_RETURN(const absl::string_view name, ParseImportable());
      imports_[name.substr(0, name.find('.'))] = name.substr(0, name.find('.'));
    } else if (scanner_.AcceptName("from")) {
      ASSIGN_OR_RETURN(const absl::string_view from, ParseImportable());
      RETURN_IF_ERROR(scanner_.ExpectName("import", "'import'"));
      do {
        ASSIGN_OR_RETURN(const absl::string_view name, scanner_.TakeName("a name to import"));
        imports_[name] = module_->InternString(absl::StrCat(from, ".", name));
      } while (scanner_.Accept(Punct(",")));
    } else {
      // aten = torch.ops.aten, which keeps the names of operator overloads short.
      const absl::string_view name = scanner_.token().text;
      const char* const begin = scanner_.token().begin;
      scanner_.Next();
      if (!scanner_.Accept(Punct("=")))
        return scanner_.Error("expected an import or the class GraphModule");
      if (scanner_.token().kind != TokenKind::kName)
        return scanner_.Expected("an operator namespace");
      ASSIGN_OR_RETURN(const absl::string_view path, ParseDotted());
      if (path != absl::StrCat("torch.ops.", name)) {
        return scanner_.ErrorAtOffset(
            begin, absl::StrCat("only an operator namespace may be named here, as in '", name,
                                " = torch.ops.", name, "'"));
      }
      imports_[name] = name;
    }
    RETURN_IF_ERROR(scanner_.ExpectNewline("after the import"));
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> ModelParser::ParseImportable() {
  if (scanner_.token().kind != TokenKind::kName) return scanner_.Expected("the name of a module");
  const char* const begin = scanner_.token().begin;
  ASSIGN_OR_RETURN(const absl::string_view name, ParseDotted());
  if (!IsImportable(name, framework_)) {
    return scanner_.ErrorAtOffset(
        begin,
        absl::StrCat("module '", name, "' may not be imported; only ", FrameworkName(framework_),
                     ", math, operator, builtins and typing may"));
  }
  return name;
}

// Takes NAME ("." NAME)* and returns it as one view. The current token is the first name.
absl::StatusOr<absl::string_view> ModelParser::ParseDotted() {
  const absl::string_view first = scanner_.token().text;
  scanner_.Next();
  return ParseDottedRest(first, /*is_import=*/true);
}

// Takes the rest of a dotted name, and returns the whole. Errors are at the start of an import, else
// at the token.
absl::StatusOr<absl::string_view> ModelParser::ParseDottedRest(absl::string_view first,
                                                               bool is_import) {
  const auto spaced = [&] {
    return scanner_.ErrorAtOffset(is_import ? first.data() : scanner_.token().begin,
                                  "white space inside a dotted name");
  };
  const char* end = first.data() + first.size();
  if (scanner_.Is(Punct(".")) && scanner_.token().begin == end) {
    if (const char* const dotted = scanner_.TakeDottedNames()) end = dotted;
  }
  while (scanner_.Is(Punct("."))) {
    if (scanner_.token().begin != end) return spaced();
    scanner_.Next();
    if (scanner_.token().kind != TokenKind::kName) return scanner_.Expected("a name after '.'");
    if (scanner_.token().begin != end + 1) return spaced();
    end = scanner_.token().begin + scanner_.token().text.size();
    scanner_.Next();
  }
  return absl::string_view(first.data(), static_cast<size_t>(end - first.data()));
}

absl::Status ModelParser::ParseFunction(bool is_method, int depth) {
  if (depth > kMaxNesting) return scanner_.Error("functions nest too deep");
  const int indent = scanner_.indent();
  scanner_.Next();  // def
  const Token name = scanner_.token();
  if (name.kind != TokenKind::kName) return scanner_.Expected("the name of the function");
  if (is_method && name.text != "forward") return scanner_.Expected("the method name 'forward'");
  if (!is_method && module_->FindGraph(name.text) != nullptr) {
    return scanner_.Error(absl::StrCat("a second function named '", name.text, "'"));
  }
  scanner_.Next();

  Scope scope;
  scope.graph = is_posted() && is_method ? posted_->graph : module_->AddGraph(name.text);
  if (is_method) scope.names.reserve(text_size_ / 96);
  std::swap(scope, scope_);
  absl::Status status = ParseSignature(is_method);
  if (status.ok()) status = ParseBody(indent, depth);
  std::swap(scope, scope_);
  if (!is_method) functions_[name.text] = scope.graph;
  return status;
}

absl::Status ModelParser::ParseSignature(bool is_method) {
  RETURN_IF_ERROR(scanner_.Expect(Punct("("), "after the function name"));
  if (is_method) {
    RETURN_IF_ERROR(scanner_.ExpectName("self", "the parameter 'self'"));
    if (!scanner_.Is(Punct(")"))) RETURN_IF_ERROR(scanner_.Expect(Punct(","), "after 'self'"));
  }
  RETURN_IF_ERROR(scanner_.TakeElements(Punct(")"), "after the parameters", [&]() -> absl::Status {
    const absl::string_view name = scanner_.token().text;
    if (scanner_.token().kind != TokenKind::kName) return scanner_.Expected("a parameter");
    const SourceLocation location = {file_, scanner_.line(), scanner_.column()};
    Binding& binding = scope_.names[name];
    if (binding.kind != Binding::kUndefined || name == "self") {
      return scanner_.Error(absl::StrCat("a second parameter named '", name, "'"));
    }
    Node* node = UncheckedBuilder(scope_.graph).CreateNode(Op::kPlaceholder, name, {}, {}, name);
    node->set_location(location);
    binding = {node, Binding::kValue, true};
    scanner_.Next();
    if (scanner_.Accept(Punct(":"))) {
      if (is_posted()) {
        RETURN_IF_ERROR(ParseAnnotation(node, nullptr));
      } else if (scanner_.token().kind != TokenKind::kName) {
        return scanner_.Expected("a type");
      } else {
        ASSIGN_OR_RETURN(const absl::string_view annotation, ParseDotted());
        node->set_annotation(annotation);
      }
    }
    if (is_posted() && scanner_.Accept(Punct("="))) {
      StartStatement();
      return ParseExpression().status();
    }
    if (scanner_.Is(Punct("="))) return scanner_.Error("default values are not supported");
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(scanner_.Expect(Punct(":"), "after the parameters"));
  return scanner_.ExpectNewline("after the function header");
}

absl::Status ModelParser::ParseBody(int outer_indent, int depth) {
  if (is_posted() && scanner_.token().kind == TokenKind::kEnd) {
    ReturnUnusedValues();
    return absl::OkStatus();
  }
  if (scanner_.token().kind == TokenKind::kEnd || scanner_.indent() <= outer_indent) {
    return scanner_.Error("expected an indented function body");
  }
  const int indent = scanner_.indent();
  while (true) {
    if (scanner_.token().kind == TokenKind::kEnd && is_posted()) {
      ReturnUnusedValues();
      return absl::OkStatus();
    }
    if (scanner_.token().kind == TokenKind::kEnd || scanner_.indent() < indent) {
      return scanner_.Error("the function ends without a return");
    }
    if (scanner_.at_line_start() && scanner_.indent() != indent) {
      return scanner_.Error("unexpected indentation");
    }
    if (scanner_.IsName("return")) {
      RETURN_IF_ERROR(ParseReturn());
      break;
    }
    if (scanner_.IsName("def")) {
      FinishUnnamed();
      RETURN_IF_ERROR(ParseFunction(/*is_method=*/false, depth + 1));
      continue;
    }
    RETURN_IF_ERROR(ParseStatement());
    if (scanner_.Accept(Punct(";"))) {
      if (scanner_.token().kind == TokenKind::kNewline) scanner_.Next();
      continue;
    }
    RETURN_IF_ERROR(scanner_.ExpectNewline("after the statement"));
  }
  if (scanner_.token().kind != TokenKind::kEnd && scanner_.indent() > outer_indent) {
    return scanner_.Error("a statement after the return");
  }
  return absl::OkStatus();
}

absl::Status ModelParser::ParseReturn() {
  FinishUnnamed();
  const SourceLocation location = {file_, scanner_.line(), scanner_.column()};
  scanner_.Next();
  StartStatement();
  // A return without a value is an error here: it may come from a truncated file.
  ASSIGN_OR_RETURN(Argument value, ParseExpressionList());
  NameNewNodes();
  location_ = location;
  value = WrittenOut(value);
  // A variable may be named "output".
  const absl::string_view name = UniqueName("output");
  Node* node = UncheckedBuilder(scope_.graph)
                   .CreateNode(Op::kOutput, "output", absl::MakeConstSpan(&value, 1), {}, name);
  node->set_location(location);
  scanner_.Accept(Punct(";"));
  return scanner_.ExpectNewline("after the return");
}

absl::Status ParseModelPy(const std::string& text, absl::string_view file_name, Framework framework,
                          Module* module) {
  return ModelParser(text, file_name, framework, module).Run();
}

}  // namespace graphnet
