#include "graphnet/interp/dead_paths.h"

#include <algorithm>

#include "ATen/Functions.h"
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

// Returns the operator's name in torch.mul, aten.mul_.Tensor, operator.imul or .mul.
absl::string_view NameOf(absl::string_view target) {
  if (absl::ConsumePrefix(&target, "aten.")) return target.substr(0, target.find('.'));
  return target.substr(target.rfind('.') + 1);
}

bool IsProduct(absl::string_view name) {
  static const auto* const names = new absl::flat_hash_set<absl::string_view>{
      "mul",    "mul_",   "imul",   "multiply", "matmul",      "mm",    "bmm",
      "linear", "conv1d", "conv2d", "conv3d",   "convolution", "einsum"};
  return names->contains(name);
}

}  // namespace

DeadPaths::DeadPaths(const std::map<std::string, TensorData>& values) {
  for (const auto& [name, data] : values) {
    if (data.bytes != nullptr && !data.bytes->empty() &&
        absl::c_all_of(*data.bytes, [](char byte) { return byte == 0; }))
      given_zeros_.insert(name);
  }
}

bool DeadPaths::HoldsZeros(const Node& node) const {
  const bool is_given = node.is_placeholder() || node.op() == Op::kGetAttr;
  return zeros_.contains(&node) || (is_given && given_zeros_.contains(node.target()));
}

void DeadPaths::See(const Node& node, const c10::IValue& value) {
  if (node.is_call()) {
    const absl::string_view name = NameOf(node.target());
    const std::vector<Node*> operands = node.operands();
    if (IsProduct(name) && operands.size() > 1) {
      // Only the first two operands are factors; a bias is added.
      const size_t factors = std::min<size_t>(operands.size(), 2);
      for (size_t i = 0; i < factors; ++i) {
        if (!HoldsZeros(*operands[i])) continue;
        found_.push_back(absl::StrCat("%", Printable(node.name()), " = ", Printable(node.target()),
                                      " takes zeros only as %", Printable(operands[i]->name())));
        break;
      }
    } else if (name == "where" && operands.size() > 1) {
      const Node& condition = *operands[0];
      const bool is_false = HoldsZeros(condition);
      if (is_false || trues_.contains(&condition)) {
        found_.push_back(absl::StrCat("%", Printable(node.name()), " = ", Printable(node.target()),
                                      " finds %", Printable(condition.name()), " ",
                                      is_false ? "false" : "true", " everywhere"));
      }
    }
  }
  if (!value.isTensor() || !value.toTensor().defined() || !value.toTensor().has_storage()) return;
  const at::Tensor& tensor = value.toTensor();
  if (tensor.is_nested() || tensor.layout() != at::kStrided) return;
  if (tensor.numel() == 0 || tensor.is_quantized() || tensor.is_meta()) return;
  if (!at::any(tensor).item<bool>()) {
    zeros_.insert(&node);
  } else if (tensor.scalar_type() == at::kBool && at::all(tensor).item<bool>()) {
    trues_.insert(&node);
  }
}

}  // namespace graphnet
