// Dtype and sizes of what a call of ATen yields, from those of what it takes: the usual
// operators, without running or LibTorch.
#ifndef GRAPHNET_IDENTITY_INFER_META_H_
#define GRAPHNET_IDENTITY_INFER_META_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

// "add_" of "aten.add_.Tensor"; empty for what is no operator of ATen.
absl::string_view AtenName(const Node& node);
// What a call in ATen gives a parameter, its default if it is left out; None if there is no such
// parameter.
Argument AtenArgument(const Node& node, const Schema& schema, absl::string_view parameter);

// The sizes of a value, all of them numbers.
std::optional<std::vector<int64_t>> SizesOf(const Argument& value);
// -1: unknown.
int RankOf(const Argument& value);
DType DTypeOf(const Argument& value);

// The number that an attribute of no dimensions holds, where the module says it.
std::optional<Argument> ConstantOf(const Node& get_attr);

// Sets the meta of a call that has none, or one that does not say all, as far as it is known.
void InferMeta(Node* node);

}  // namespace graphnet

#endif  // GRAPHNET_IDENTITY_INFER_META_H_
