// Call tells the rules of result types what is known of an operation of PIR.
#ifndef GRAPHNET_PADDLE_PIR_CALL_FACTS_H_
#define GRAPHNET_PADDLE_PIR_CALL_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/node.h"
#include "graphnet/ir/tensor_meta.h"
#include "graphnet/paddle/pir/operators.h"

namespace graphnet::pir {

using Sizes = std::vector<Dim>;

struct TensorType {
  DType dtype = DType::kUnknown;
  Sizes sizes;
};
using Result = std::optional<TensorType>;

// Gives rules access to one call.
struct Call {
  const Node& node;

  Module* module() const { return node.graph()->module(); }
  const ValueMeta* meta(size_t i) const {
    return i < node.args().size() && node.args()[i].is_node() ? node.args()[i].node()->meta()
                                                              : nullptr;
  }
  Result tensor(size_t i) const {
    const ValueMeta* m = meta(i);
    if (m == nullptr || m->tensor == nullptr || !m->tensor->has_shape) return std::nullopt;
    return TensorType{m->tensor->dtype, Sizes(m->tensor->shape.begin(), m->tensor->shape.end())};
  }
  bool is_true(absl::string_view name) const {
    const Argument* value = node.kwarg(name);
    return value != nullptr && value->is_bool() && value->boolean();
  }
  std::optional<int64_t> integer(absl::string_view name) const {
    const Argument* value = node.kwarg(name);
    return value != nullptr && value->is_int() ? std::optional(value->integer()) : std::nullopt;
  }
  static std::vector<int64_t> Numbers(const Argument* list) {
    std::vector<int64_t> numbers;
    if (list == nullptr || !list->is_list()) return numbers;
    for (const Argument& e : list->elements()) {
      if (e.is_int()) numbers.push_back(e.integer());
      if (e.is_float()) numbers.push_back(static_cast<int64_t>(e.real()));
    }
    return numbers;
  }
  std::vector<int64_t> list(absl::string_view name) const { return Numbers(node.kwarg(name)); }
  // Returns the constant that operand `i` is made from.
  std::optional<std::vector<int64_t>> constant(size_t i) const {
    if (i >= node.args().size() || !node.args()[i].is_node()) return std::nullopt;
    const Node* of = node.args()[i].node();
    if (of->target() == "pd_op.full_int_array") return Numbers(of->kwarg("value"));
    const Argument* value = of->target() == "pd_op.full" ? of->kwarg("value") : nullptr;
    if (value == nullptr || !value->is_float()) return std::nullopt;
    return std::vector<int64_t>{static_cast<int64_t>(value->real())};
  }
};

// Returns the axis counted from the front; below 0 or not below `rank` if there is none.
inline int64_t At(int64_t axis, size_t rank) {
  return axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
}

// Returns the type of the first result of an einsum.
Result Einsum(const Call& call);

inline const ValueMeta* MetaOf(Module* module, const Result& type) {
  if (!type) return nullptr;
  TensorMeta meta;
  meta.dtype = type->dtype;
  meta.has_shape = true;
  meta.shape = type->sizes;
  return module->InternValueMeta(meta);
}

// Returns the metas of the results of an operation that has several, or a vec; nullopt for other
// operations, and if too little is known.
std::optional<std::vector<const ValueMeta*>> SeveralResults(const Call& call, Module* module);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_CALL_FACTS_H_
