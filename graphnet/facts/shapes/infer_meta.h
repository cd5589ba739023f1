// Infers missing metas of calls of ATen from the metas of their operands
// (facts/shapes/tensor_facts.h).
#ifndef GRAPHNET_FACTS_SHAPES_INFER_META_H_
#define GRAPHNET_FACTS_SHAPES_INFER_META_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Returns "add_" for a call of aten.add_.Tensor; empty if the node does not call an operator of
// ATen.
absl::string_view AtenName(const Node& node);

// Returns the sizes of a tensor; nullopt unless all are known.
std::optional<Sizes> SizesOf(const Argument& value);
// Returns the number of dimensions of a tensor, -1 if it is unknown.
int RankOf(const Argument& value);
DType DTypeOf(const Argument& value);

// Returns the number that a constant attribute without dimensions holds, if the module states it.
std::optional<Argument> ConstantOf(const Node& get_attr);

// Sets the meta of a call whose meta is missing or incomplete, as far as it can be inferred.
void InferMeta(Node* node);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_INFER_META_H_
