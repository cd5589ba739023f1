// The form that a TorchScript operation has as a call of the IR: its target, and
// its operands as positional and keyword arguments.
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

// The name a value has in its program, without the number that makes it unique
// there; empty if it has none.
std::string NameOf(const torch::jit::Value* value);

// Of an operation whose operator has no schema of its own: "prim.tolist".
std::string TargetOf(const torch::jit::Node& node);

struct CallForm {
  absl::string_view target;  // as long as the table lives
  std::vector<Argument> args;
  std::vector<KwArg> kwargs;
};

class OperatorTable {
 public:
  // A constant, such as the default of a parameter, that lives as long as this.
  using Literal = absl::FunctionRef<absl::StatusOr<Argument>(const c10::IValue&)>;

  // `operands`: one an input of `node`, which has a schema with fixed results. As
  // torch.fx does, it leaves out what the operator would take anyway.
  absl::StatusOr<CallForm> Form(const torch::jit::Node& node, std::vector<Argument> operands,
                                Literal literal);

 private:
  // What is known of an operator.
  struct Operator {
    std::string target;
    struct Formal {
      c10::TypeKind kind;  // of the type as declared, optional or not
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
