// The result of a node while its graph is written as a program of torch.export: a value of the
// program, or a known value that needs no node.
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

// A known value, a named value of the program, or a structure of values.
struct ExportValue {
  enum class Kind {
    kLiteral,  // `literal`, which is neither an aggregate nor a node
    kScalar,   // a zero-dimensional tensor that holds `literal`, an int
    // Values of the program with the name `name`.
    kTensor,
    kInt,
    kFloat,
    kBool,
    kObject,
    // Structures of `elements`; a dict's keys and values alternate. Copies share them, as in
    // Python.
    kList,
    kTuple,
    kDict,
  };
  using Elements = std::vector<ExportValue>;

  Kind kind = Kind::kLiteral;
  Argument literal;
  absl::string_view name;
  const TensorMeta* meta = nullptr;  // of a tensor; nullptr if unknown
  const SymExpr* size = nullptr;     // of an int; nullptr if unknown
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

// Computes the result of a call on known arguments: sizes, arithmetic, lists. From tensors it reads
// only sizes, dtypes and devices. Returns nullopt for all other calls. Changes the lists that
// TorchScript changes. Strings are made in `arena`; `budget` is charged for elements that are
// copied or searched. Returns an error where Python raises, where a list would hold itself, and if
// the budget is spent.
absl::StatusOr<std::optional<ExportValue>> ComputeCall(absl::string_view target,
                                                       absl::Span<const ExportValue> args,
                                                       Arena* arena, Budget* budget);

// Returns the size and depth of a value when its shared parts are written out; nullopt for a value
// that holds itself.
std::optional<Expansion> ExpansionOf(const ExportValue& value);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_EXPORT_VALUE_H_
