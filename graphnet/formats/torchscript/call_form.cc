#include "graphnet/formats/torchscript/call_form.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/torch/values.h"

namespace graphnet::torchscript {

namespace jit = torch::jit;

namespace {

bool AllDigits(absl::string_view text) { return absl::c_all_of(text, absl::ascii_isdigit); }

// Returns the kind of the declared type without Optional.
c10::TypeKind FormalKind(const c10::Type& type) {
  if (const auto* optional = type.castRaw<c10::OptionalType>()) {
    return optional->getElementType()->kind();
  }
  return type.kind();
}

}  // namespace

std::string NameOf(const jit::Value* value) {
  if (!value->hasDebugName()) return "";
  std::string name = value->debugName();
  if (const size_t dot = name.rfind('.');
      dot != std::string::npos && dot > 0 && AllDigits(absl::string_view(name).substr(dot + 1))) {
    name.resize(dot);
  }
  if (name.size() > 200 || AllDigits(name)) return "";
  return name;
}

std::string TargetOf(const jit::Node& node) {
  return absl::StrReplaceAll(node.kind().toQualString(), {{"::", "."}});
}

absl::StatusOr<const OperatorTable::Operator*> OperatorTable::Find(const jit::Node& node,
                                                                   Literal literal) {
  const c10::FunctionSchema* schema = node.maybeSchema();
  const auto [it, inserted] = operators_.try_emplace(schema);
  Operator& op = it->second;
  if (!inserted) return &op;
  const std::string& overload = schema->overload_name();
  op.target = absl::StrCat(TargetOf(node), ".", overload.empty() ? "default" : overload);
  op.is_vararg = schema->is_vararg();
  for (const c10::Argument& formal : schema->arguments()) {
    Operator::Formal out{.kind = FormalKind(*formal.real_type()),
                         .keyword_only = formal.kwarg_only(),
                         .default_value = std::nullopt,
                         .name = formal.name()};
    if (formal.default_value()) {
      ASSIGN_OR_RETURN(const Argument value, literal(*formal.default_value()));
      out.default_value = AsFormal(value, out.kind);
    }
    op.formals.push_back(std::move(out));
  }
  return &op;
}

absl::StatusOr<CallForm> OperatorTable::Form(const jit::Node& node, std::vector<Argument> operands,
                                             Literal literal) {
  ASSIGN_OR_RETURN(const Operator* op, Find(node, literal));
  CallForm form{.target = op->target, .args = std::move(operands), .kwargs = {}};
  std::vector<Argument>& args = form.args;
  size_t positional = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    if (i >= op->formals.size()) {
      args[positional++] = args[i];
      continue;
    }
    const Operator::Formal& formal = op->formals[i];
    const Argument value = AsFormal(args[i], formal.kind);
    if (!formal.keyword_only) {
      args[positional++] = value;
    } else if (value != formal.default_value) {
      form.kwargs.push_back({formal.name, value});
    }
  }
  args.resize(positional);
  while (!op->is_vararg && !args.empty() &&
         args.back() == op->formals[args.size() - 1].default_value) {
    args.pop_back();
  }
  return form;
}

}  // namespace graphnet::torchscript
