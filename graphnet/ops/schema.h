// Schema: what a callable takes and returns: an operator of ATen, as PyTorch declares
// it, or a function of Python.
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
    kInt,     // and SymInt
    kFloat,
    kBool,
    kString,
    kDType,
    kLayout,
    kDevice,
    kMemoryFormat,
    kAny,    // Python's parameters say nothing of their type
    kOther,  // generators, storages, streams: no graph has them
  };
  Kind kind = Kind::kOther;
  bool optional = false;     // None may stand for it
  bool is_symbolic = false;  // SymInt
  bool is_list = false;
  bool optional_elements = false;  // "Tensor?[]"
  bool is_mutated = false;         // "(a!)": the operator writes to it
  bool is_alias = false;           // "(a)" or "(a!)": a result may share its memory
  uint8_t list_size = 0;           // "int[2]": one int may stand for two; 0: any number
};

struct SchemaArgument {
  absl::string_view name;
  SchemaType type;
  bool has_default = false;
  absl::string_view default_text;  // as the schema has it: "[]", "0.5", "None"
  Argument default_value;          // None, bool, int, float, string, (): else None
  bool positional_only = false;
  bool keyword_only = false;
  bool is_variadic = false;                   // *tensors
  absl::Span<const absl::string_view> words;  // the only ones that it takes, of strings

  // Whether it means the same to hand on `value` and to leave the argument out.
  bool IsDefault(const Argument& value) const;
};

struct Schema {
  // Of callables whose calls open or close a region of a graph: a level of vmap, autocast.
  enum class Bracket : uint8_t { kNone, kVmapOpen, kVmapClose, kAutocastOpen, kAutocastClose };

  absl::string_view name;      // "conv2d"; of a Python function "torch.nn.functional.relu"
  absl::string_view overload;  // "padding"; "default" for the one without a name
  std::string target;          // "aten.conv2d.padding", as nodes have it
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaType> returns;
  // How Python reaches an operator: in a module of functions ('t' for torch, 'n' for
  // torch._C._nn, 'l' _linalg, 'F' _fft, 's' _special, 'p' _sparse; 0: in none),
  // as a method of Tensor.
  char function_module = 0;
  bool is_method = false;
  bool is_random = false;
  bool may_alias = false;           // a result may be an argument though no type says so
  bool updates_statistics = false;  // running_mean and running_var, in training
  bool is_pointwise = false;        // element by element, on tensors that broadcast
  bool may_run = false;             // only computes on the values that it is given
  // Of Python's functions.
  bool is_python = false;
  bool is_kept = false;       // stays a call of its own when a graph is lowered
  bool keeps_all = false;     // … with all arguments written out, by position
  bool is_dropped = false;    // does nothing here; its value is None
  bool is_statement = false;  // is there for more than its value
  Bracket bracket = Bracket::kNone;

  // Its position; -1 when there is none of that name.
  int IndexOf(absl::string_view argument) const;
  const SchemaArgument* FindArgument(absl::string_view argument) const;  // null: none
  // The argument at `i`, or under a name, as `call` has it, which writes arguments by
  // position as the schema does; null when it is left out, or there is none of that name.
  const Argument* Given(const Node& call, size_t i) const;
  const Argument* Given(const Node& call, absl::string_view argument) const;
  bool is_of_aten() const { return absl::StartsWith(target, "aten."); }
  // Whether it writes to an argument.
  bool mutates() const;
  // Whether its value is a tuple or list.
  bool yields_tuple() const {
    return returns.size() > 1 || (returns.size() == 1 && returns[0].is_list);
  }
};

// A line of schemas.txt, "<flags> <schema>", of signatures.txt, "<name>(<parameters>)",
// or of callables.txt; make_schemas.py and callables.txt say what the flags mean. The
// schema points into `line`.
absl::StatusOr<Schema> ParseSchema(absl::string_view line);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_SCHEMA_H_
