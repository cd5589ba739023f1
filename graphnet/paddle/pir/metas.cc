#include "graphnet/paddle/pir/metas.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ops/lowering.h"

namespace graphnet::pir {
namespace {

class MetaMaker {
 public:
  explicit MetaMaker(Module* module) : module_(*module) {}

  // Returns nullptr if nothing is known that a type can express.
  const ValueMeta* Of(const TensorFacts& facts) {
    if (!facts.is_tensor() || !facts.sizes.has_value()) return nullptr;
    TensorMeta meta;
    meta.dtype = facts.dtype;
    meta.has_shape = true;
    std::vector<Dim> sizes;
    for (const int64_t size : *facts.sizes) {
      sizes.push_back(size < 0 ? Dim(NewSymbol()) : Dim(size));
    }
    meta.shape = sizes;
    return module_.InternValueMeta(meta);
  }

 private:
  const SymExpr* NewSymbol() {
    std::string name;
    do {
      name = absl::StrCat("D", num_symbols_++);
    } while (module_.FindSymbol(name) != nullptr);
    module_.AddSymbol(name, std::nullopt);
    return module_.SymSymbol(name);
  }

  Module& module_;
  size_t num_symbols_ = 0;
};

bool SaysAll(const ValueMeta* meta) {
  if (meta == nullptr) return false;
  if (meta->is_tuple) return true;
  return meta->tensor != nullptr && meta->tensor->has_shape &&
         meta->tensor->dtype != DType::kUnknown;
}

}  // namespace

void AddMetas(Module* module) {
  RefusedCalls refused;
  const absl::StatusOr<LoweredModule> lowered = LowerToAten(*module, &refused);
  if (!lowered.ok()) return;  // Nothing is known then.
  const FactsTable facts(*lowered, refused);
  MetaMaker maker(module);
  for (Graph* graph : module->graphs()) {
    for (Node* node : graph->nodes()) {
      if (!node->is_call() || SaysAll(node->meta())) continue;
      const Argument& value = lowered->values[node];
      if (value.is_node()) {
        if (const ValueMeta* meta = maker.Of(facts.Of(value.node()))) node->set_meta(meta);
      }
    }
  }
}

}  // namespace graphnet::pir
