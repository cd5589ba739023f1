// Metas of calls of ATen that have none, from those of what they take (facts/shapes/tensor_facts.h).
#ifndef GRAPHNET_FACTS_SHAPES_INFER_META_H_
#define GRAPHNET_FACTS_SHAPES_INFER_META_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// "add_" of "aten.add_.Tensor"; empty for what is no operator of ATen.
absl::string_view AtenName(const Node& node);

// The sizes of a value, all of them numbers.
std::optional<Sizes> SizesOf(const Argument& value);
// -1: unknown.
int RankOf(const Argument& value);
DType DTypeOf(const Argument& value);

// The number that an attribute of no dimensions holds, where the module says it.
std::optional<Argument> ConstantOf(const Node& get_attr);

// Sets the meta of a call that has none, or one that does not say all, as far as it is known.
void InferMeta(Node* node);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_INFER_META_H_
