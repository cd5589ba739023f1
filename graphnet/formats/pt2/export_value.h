// The result of a node while its graph is written as a program of torch.export: a value of the
// program, or a known value that needs no node.
#ifndef GRAPHNET_FORMATS_PT2_EXPORT_VALUE_H_
#define GRAPHNET_FORMATS_PT2_EXPORT_VALUE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ir/tensor_meta.h"

namespace graphnet::pt2 {

// A known value, a named value of the program, or a structure of values.
struct ExportValue {
  enum class Kind {
    kLiteral,  // `literal`, which is neither an aggregate nor a node
    // Values of the program with the name `name`.
    kTensor,
    kInt,
    kFloat,
    kBool,
    kObject,
    // Structures of `elements`; a dict's keys and values alternate. Copies share them.
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
  bool is_tensor() const { return kind == Kind::kTensor; }
  bool is_sequence() const { return kind == Kind::kList || kind == Kind::kTuple; }
};

// Returns whether the dtype of a tensor is known.
inline bool IsKnown(const TensorMeta* meta) {
  return meta != nullptr && meta->dtype != DType::kUnknown;
}

// Returns the size and depth of a value when its shared parts are written out; nullopt for a value
// that holds itself.
std::optional<Expansion> ExpansionOf(const ExportValue& value);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_EXPORT_VALUE_H_
