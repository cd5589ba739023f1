// Internal: turns a TorchScript operation into a call of the IR, with a target and
// with positional and keyword arguments.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_CALL_FORM_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_CALL_FORM_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/argument.h"
#include "torch/csrc/jit/ir/ir.h"

namespace graphnet::torchscript {

// Returns the name of a value in its program, without the numeric suffix that makes
// it unique; empty if there is none, or if it has more than 200 bytes.
std::string NameOf(const torch::jit::Value* value);

// Returns the target of an operation without a schema, such as "prim.tolist".
std::string TargetOf(const torch::jit::Node& node);

// A call of the IR that has no node yet.
struct CallForm {
  absl::string_view target;  // owned by the table
  std::vector<Argument> args;
  std::vector<KwArg> kwargs;
};

// Caches the targets and formal arguments of operators.
class OperatorTable {
 public:
  // Converts a constant, such as an argument's default. The result must outlive the table.
  using Literal = absl::FunctionRef<absl::StatusOr<Argument>(const c10::IValue&)>;

  // Returns the call for `node`, which must have a schema with fixed results.
  // `operands` holds one argument per input. Like torch.fx, this leaves out
  // arguments that equal their default.
  absl::StatusOr<CallForm> Form(const torch::jit::Node& node, std::vector<Argument> operands,
                                Literal literal);

 private:
  // An operator's target and formal arguments.
  struct Operator {
    std::string target;
    struct Formal {
      c10::TypeKind kind;  // the declared type without Optional
      bool keyword_only;
      std::optional<Argument> default_value;
      std::string name;
    };
    std::vector<Formal> formals;
    bool is_vararg;
  };
  absl::StatusOr<const Operator*> Find(const torch::jit::Node& node, Literal literal);

  absl::node_hash_map<const c10::FunctionSchema*, Operator> operators_;
};

}  // namespace graphnet::torchscript

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_CALL_FORM_H_
