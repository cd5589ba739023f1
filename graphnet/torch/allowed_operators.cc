#include "graphnet/torch/allowed_operators.h"

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// An operator that touches files, processes or devices' internals says so in its
// schema: by a name or type that no computation on tensors needs.
bool IsAllowed(const c10::FunctionSchema& schema) {
  const absl::string_view name = schema.name();
  if (!absl::StartsWith(name, "aten::") && !absl::StartsWith(name, "prim::")) return false;
  for (const absl::string_view word :
       {"file", "save", "load", "open", "print", "storage", "import"}) {
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

}  // namespace graphnet
