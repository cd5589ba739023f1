#include "graphnet/interp/torch/annotation.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/annotation.h"
#include "torch/csrc/jit/frontend/resolver.h"
#include "torch/csrc/jit/frontend/script_type_parser.h"

namespace graphnet {

absl::StatusOr<c10::TypePtr> ParseAnnotation(absl::string_view annotation,
                                             const std::shared_ptr<torch::jit::Resolver>& classes) {
  // GraphNet's samples annotate their inputs in this way.
  if (annotation == kParameterAnnotation || annotation == "torch.nn.Parameter" ||
      annotation == "torch.Tensor") {
    return c10::TensorType::get();
  }
  if (annotation == "torch.SymInt") return c10::IntType::get();
  if (annotation == "torch.SymFloat") return c10::FloatType::get();
  if (annotation == "torch.SymBool") return c10::BoolType::get();
  // Limit the nesting, because LibTorch's parser recurses.
  int depth = 0, deepest = 0;
  for (const char c : annotation) {
    depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
    deepest = std::max(deepest, depth);
  }
  if (deepest > kMaxNesting || annotation.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError("its type is too long");
  }
  try {
    torch::jit::ScriptTypeParser parser(classes);
    return parser.parseType(std::string(annotation));
  } catch (...) {
    return absl::InvalidArgumentError(
        absl::StrCat("TorchScript knows no type ", Printable(annotation)));
  }
}

}  // namespace graphnet
