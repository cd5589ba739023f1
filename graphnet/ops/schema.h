// Schema: the parameters and results of a callable, which is an operator of ATen, as PyTorch
// declares it, or a Python function.
#ifndef GRAPHNET_OPS_SCHEMA_H_
#define GRAPHNET_OPS_SCHEMA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/argument.h"

namespace graphnet {

// A type in a schema: "Tensor", "SymInt[2]?", "Tensor?[]", "Tensor(a!)".
struct SchemaType {
  enum class Kind : uint8_t {
    kTensor,
    kScalar,  // int, float, bool or complex
    kInt,     // int or SymInt
    kFloat,
    kBool,
    kString,
    kDType,
    kLayout,
    kDevice,
    kMemoryFormat,
    kAny,    // a parameter of a Python function without a type
    kOther,  // generators, storages, streams, which graphs never contain
  };
  Kind kind = Kind::kOther;
  bool optional = false;     // accepts None
  bool is_symbolic = false;  // SymInt
  bool is_list = false;
  bool optional_elements = false;  // "Tensor?[]"
  bool is_mutated = false;         // "(a!)": the operator writes to it
  bool is_alias = false;           // "(a)" or "(a!)": a result may share its memory
  uint8_t list_size = 0;           // "int[2]": one int may stand for two; 0: any number
};

// A parameter.
struct SchemaArgument {
  absl::string_view name;
  SchemaType type;
  bool has_default = false;
  absl::string_view default_text;  // as written in the schema: "[]", "0.5", "None"
  Argument default_value;          // a bool, int, float, string or (); otherwise None
  bool positional_only = false;
  bool keyword_only = false;
  bool is_variadic = false;                   // *tensors
  absl::Span<const absl::string_view> words;  // the only strings that it accepts; empty: any

  // Returns whether passing `value` means the same as omitting the argument.
  bool IsDefault(const Argument& value) const;
};

// An overload of an operator, or a Python function.
struct Schema {
  // A call may open or close a region of the graph: a level of vmap, or autocast.
  enum class Bracket : uint8_t { kNone, kVmapOpen, kVmapClose, kAutocastOpen, kAutocastClose };

  absl::string_view name;      // "conv2d"; for a Python function "torch.nn.functional.relu"
  absl::string_view overload;  // "padding"; "default" for the one without a name
  std::string target;          // "aten.conv2d.padding", as in nodes
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaType> returns;
  // The way that Python finds an operator: in a module of functions ('t' is torch, 'n'
  // torch._C._nn, 'l' _linalg, 'F' _fft, 's' _special, 'p' _sparse; 0: none), and as a method of
  // Tensor.
  char function_module = 0;
  bool is_method = false;
  bool is_random = false;
  bool may_alias = false;  // a result may share an argument's memory although no type says so
  bool updates_statistics = false;  // writes running_mean and running_var in training
  bool is_pointwise = false;        // element by element, on tensors that broadcast
  bool may_run = false;             // only computes on the values that it is given
  // The members from here on are about Python functions.
  bool is_python = false;
  bool is_kept = false;       // stays one call when a graph is lowered
  bool keeps_all = false;     // … with all arguments, by position
  bool is_dropped = false;    // does nothing here; its value is None
  bool is_statement = false;  // must stay even if its value is unused
  Bracket bracket = Bracket::kNone;

  // Returns the position of a parameter; -1 if there is none of that name.
  int IndexOf(absl::string_view argument) const;
  const SchemaArgument* FindArgument(absl::string_view argument) const;  // null: none
  // Returns the argument that `call` passes for a parameter; null if it passes none, or if there is
  // no such parameter. The positional arguments of `call` must be in the order of the schema.
  const Argument* Given(const Node& call, size_t i) const;
  const Argument* Given(const Node& call, absl::string_view argument) const;
  bool is_of_aten() const { return absl::StartsWith(target, "aten."); }
  // Returns whether it writes to an argument.
  bool mutates() const;
  // Returns whether its value is a tuple or list.
  bool yields_tuple() const {
    return returns.size() > 1 || (returns.size() == 1 && returns[0].is_list);
  }
};

// Parses a line of schemas.txt, "<flags> <schema>", of signatures.txt, "<name>(<parameters>)", or
// of callables.txt. make_schemas.py and callables.txt explain the flags. The result points into
// `line`.
absl::StatusOr<Schema> ParseSchema(absl::string_view line);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_SCHEMA_H_
