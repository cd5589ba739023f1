// Schema: what an ATen operator takes and returns, as PyTorch declares it.
#ifndef GRAPHNET_OPS_SCHEMA_H_
#define GRAPHNET_OPS_SCHEMA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

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
  bool keyword_only = false;
};

struct Schema {
  absl::string_view name;      // "conv2d"
  absl::string_view overload;  // "padding"; "default" for the one without a name
  std::string target;          // "aten.conv2d.padding", as nodes have it
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaType> returns;
  // How Python reaches it: in a module of functions ('t' for torch, 'n' for
  // torch._C._nn, 'l' _linalg, 'F' _fft, 's' _special, 'p' _sparse; 0: in none),
  // as a method of Tensor.
  char function_module = 0;
  bool is_method = false;
  bool is_random = false;
  bool may_alias = false;           // a result may be an argument though no type says so
  bool updates_statistics = false;  // running_mean and running_var, in training
  bool is_pointwise = false;        // element by element, on tensors that broadcast

  // Null when there is none of that name.
  const SchemaArgument* FindArgument(absl::string_view argument) const;
  // Whether it writes to an argument.
  bool mutates() const;
};

// A line of schemas.txt: "<flags> <schema>"; the flags are described in
// make_schemas.py. The schema points into `line`.
absl::StatusOr<Schema> ParseSchema(absl::string_view line);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_SCHEMA_H_
