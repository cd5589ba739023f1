// What a node yields when its graph is written as a program of torch.export: a value of the
// program, or something that is known already and needs no node.
#ifndef GRAPHNET_FORMATS_PT2_EXPORT_VALUE_H_
#define GRAPHNET_FORMATS_PT2_EXPORT_VALUE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ir/tensor_meta.h"

namespace graphnet::pt2 {

struct ExportValue {
  enum class Kind {
    kLiteral,  // `literal`, which is no aggregate and no node
    kScalar,   // a tensor of no dimensions that holds `literal`, an int
    // Values of the program, called `name`.
    kTensor,
    kInt,
    kFloat,
    kBool,
    kObject,
    // Structures, `elements`; keys and values of dicts alternate. Shared, as Python's lists are.
    kList,
    kTuple,
    kDict,
  };
  using Elements = std::vector<ExportValue>;

  Kind kind = Kind::kLiteral;
  Argument literal;
  absl::string_view name;
  const TensorMeta* meta = nullptr;  // of a tensor, where it is known
  const SymExpr* size = nullptr;     // of an int, where it is known
  std::shared_ptr<Elements> elements;

  ExportValue() = default;                                // None
  ExportValue(const Argument& value) : literal(value) {}  // NOLINT
  static ExportValue Sequence(Kind kind, Elements elements);

  bool is_literal() const { return kind == Kind::kLiteral; }
  bool is_none() const { return is_literal() && literal.is_none(); }
  bool is_int() const { return is_literal() && literal.is_int(); }
  bool is_number() const {
    return is_literal() && (literal.is_int() || literal.is_float() || literal.is_bool());
  }
  bool is_string() const { return is_literal() && literal.is_string(); }
  bool is_tensor() const { return kind == Kind::kTensor || kind == Kind::kScalar; }
  bool is_sequence() const { return kind == Kind::kList || kind == Kind::kTuple; }
};

// What the call yields, computed now, where its arguments are known and are no tensors but for
// their sizes, dtypes and devices: sizes, arithmetic, lists. nullopt for all others. Changes the
// lists that TorchScript changes. Texts are made in `arena`; `budget` is charged for elements that
// are copied or looked for. An error where Python raises, where a list would hold itself, and
// where the budget is spent.
absl::StatusOr<std::optional<ExportValue>> ComputeCall(absl::string_view target,
                                                       absl::Span<const ExportValue> args,
                                                       Arena* arena, Budget* budget);

// How large and how deep it is when what is shared in it is written out. Nullopt for one that
// holds itself.
std::optional<Expansion> ExpansionOf(const ExportValue& value);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_EXPORT_VALUE_H_
