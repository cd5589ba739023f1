#include "graphnet/decompose/ports.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ops/lowering.h"

namespace graphnet {

struct PieceFacts::Table {
  LoweredModule lowered;
  RefusedCalls refused;
  std::unique_ptr<FactsTable> facts;  // null if the module cannot be lowered
};

PieceFacts::PieceFacts(const Module& module) : module_(&module) {}
PieceFacts::~PieceFacts() = default;
PieceFacts::PieceFacts(PieceFacts&&) noexcept = default;

TensorFacts PieceFacts::Of(const Node& node) {
  if (node.tensor_meta() != nullptr) return FactsOfMeta(node.tensor_meta());
  if (table_ == nullptr) {
    table_ = std::make_unique<Table>();
    if (absl::StatusOr<LoweredModule> lowered = LowerToAten(*module_, &table_->refused);
        lowered.ok()) {
      table_->lowered = *std::move(lowered);
      table_->facts = std::make_unique<FactsTable>(table_->lowered, table_->refused);
    }
  }
  if (table_->facts == nullptr) return {};
  const Argument& value = table_->lowered.values[&node];
  return value.is_node() ? table_->facts->Of(value.node()) : TensorFacts();
}

std::string PortContradiction(const Node& port, const TensorFacts& given) {
  const TensorMeta* const meta = port.tensor_meta();
  if (meta == nullptr || !given.is_tensor()) return "";
  if (meta->dtype != DType::kUnknown && given.dtype != DType::kUnknown &&
      meta->dtype != given.dtype) {
    return absl::StrCat("dtype is ", DTypeShortName(meta->dtype), ", not ",
                        DTypeShortName(given.dtype));
  }
  if (meta->has_device && given.device.has_value() && meta->device != *given.device) {
    return absl::StrCat("device is ", DeviceName(meta->device), ", not ",
                        DeviceName(*given.device));
  }
  if (!meta->has_shape || !given.sizes.has_value()) return "";
  if (static_cast<int>(meta->shape.size()) != given.rank())
    return absl::StrCat("rank is ", meta->shape.size(), ", not ", given.rank());
  for (size_t d = 0; d < meta->shape.size(); ++d) {
    const int64_t size = (*given.sizes)[d];
    if (!meta->shape[d].is_static() || size < 0 || meta->shape[d].value == size) continue;
    return absl::StrCat("size ", d, " is ", meta->shape[d].value, ", not ", size);
  }
  return "";
}

}  // namespace graphnet
