#include "graphnet/passes/vmap/vmap_call.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ops/binder.h"
#include "graphnet/ops/callable.h"

namespace graphnet {
namespace {

// Reads the dimension that `argument` gives each of `count` values; false if it does not fit.
bool ReadDims(const Argument& argument, size_t count, std::vector<BatchDim>* dims) {
  const auto read = [&](const Argument& dim) {
    if (dim.is_none()) {
      dims->push_back(std::nullopt);
    } else if (dim.is_int()) {
      dims->push_back(dim.integer());
    } else {
      return false;
    }
    return true;
  };
  if (!argument.is_list() && !argument.is_tuple()) {
    for (size_t i = 0; i < count; ++i) {
      if (!read(argument)) return false;
    }
    return true;
  }
  return argument.elements().size() == count && absl::c_all_of(argument.elements(), read);
}

// Binds the arguments of a call of a Python function, which may have any type.
absl::StatusOr<BoundCall> BindUntyped(const Node& node) {
  absl::StatusOr<BoundCall> call =
      Bind(CalleeOf(node), node.args(), node.kwargs(), [](const Node*) { return ValueType(); });
  if (!call.ok()) return NodeError(node, call.status().message());
  return call;
}

}  // namespace

absl::Status UnimplementedAt(const Node& node, absl::string_view what) {
  return absl::UnimplementedError(NodeError(node, what).message());
}

NestingCall NestingCallOf(const Node& node) {
  // Every node comes here, so reject most of them at first sight.
  if (node.op() != Op::kCallFunction || !absl::StartsWith(node.target(), "torch._")) {
    return NestingCall::kNone;
  }
  const Callable callee = CalleeOf(node);
  if (callee.kind != Callable::Kind::kFunction) return NestingCall::kNone;
  if (callee.bracket() == Schema::Bracket::kVmapOpen) return NestingCall::kIncrement;
  if (callee.bracket() == Schema::Bracket::kVmapClose) return NestingCall::kDecrement;
  const absl::string_view name = callee.name.substr(callee.name.rfind('.') + 1);
  if (name == "lazy_load_decompositions") return NestingCall::kLoad;
  if (name == "_add_batch_dim") return NestingCall::kAdd;
  return name == "_remove_batch_dim" ? NestingCall::kRemove : NestingCall::kNone;
}

absl::StatusOr<std::vector<Argument>> NestingArguments(const Node& node) {
  // Most calls have their arguments by position already, so there is nothing to bind.
  const Callable callee = CalleeOf(node);
  if (node.kwargs().empty() && callee.kind == Callable::Kind::kFunction) {
    const std::vector<SchemaArgument>& formals = callee.overloads[0].arguments;
    const auto takes_any = [](const SchemaArgument& formal) {
      return formal.type.kind == SchemaType::Kind::kAny && !formal.type.is_list &&
             !formal.is_variadic;
    };
    if (formals.size() == node.args().size() && absl::c_all_of(formals, takes_any))
      return std::vector<Argument>(node.args().begin(), node.args().end());
  }
  ASSIGN_OR_RETURN(const BoundCall call, BindUntyped(node));
  return call.all();
}

bool IsVmapCall(const Node& node) { return node.is_call_function("torch.vmap"); }

absl::StatusOr<VmapCall> ReadVmapCall(const Node& node) {
  ASSIGN_OR_RETURN(const BoundCall given, BindUntyped(node));
  const Argument& func = given["func"];
  const Argument& operands = given["operands"];
  if (!func.is_graph()) return NodeError(node, "takes a graph");
  VmapCall call;
  call.body = func.graph();
  if (operands.is_tuple() || operands.is_list()) {
    call.operands.assign(operands.elements().begin(), operands.elements().end());
  } else {
    call.operands.push_back(operands);
  }
  size_t parameters = 0;
  for (const Node* parameter : call.body->nodes()) {
    if (!parameter->is_placeholder()) break;
    ++parameters;
  }
  if (call.operands.size() != parameters) {
    return NodeError(
        node, absl::StrCat("the body takes ", parameters, " values, not ", call.operands.size()));
  }
  if (!ReadDims(given["in_dims"], call.operands.size(), &call.in_dims)) {
    return UnimplementedAt(node, "in_dims must give one dimension or None for each operand");
  }
  if (absl::c_none_of(call.in_dims, [](const BatchDim& dim) { return dim.has_value(); })) {
    return NodeError(node, "at least one operand must have a batch dimension");
  }
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (call.in_dims[i].has_value() && !call.operands[i].is_node()) {
      return NodeError(node,
                       absl::StrCat("operand ", i, " has a batch dimension but is not a tensor"));
    }
  }
  if (call.body->output() == nullptr) return NodeError(node, "the body returns nothing");
  const Argument& result = call.body->output()->args()[0];
  call.yields_tuple = result.is_tuple() || result.is_list();
  if (call.yields_tuple) {
    call.results.assign(result.elements().begin(), result.elements().end());
  } else {
    call.results.push_back(result);
  }
  for (const Argument& r : call.results) {
    if (!r.is_node()) return UnimplementedAt(node, "the body returns values that are not tensors");
  }
  if (!ReadDims(given["out_dims"], call.results.size(), &call.out_dims)) {
    return UnimplementedAt(node, "out_dims must give one dimension or None for each result");
  }
  const Argument& randomness = given["randomness"];
  if (!randomness.is_string()) return NodeError(node, "randomness must be a string");
  call.randomness = randomness.string();
  const Argument& chunk_size = given["chunk_size"];
  if (chunk_size.is_none()) return call;
  if (!chunk_size.is_int() || chunk_size.integer() <= 0 ||
      absl::c_linear_search(call.out_dims, BatchDim())) {
    return NodeError(node, "chunk_size must be above 0 and needs an out_dim for every result");
  }
  if (call.randomness == "different") {
    return UnimplementedAt(node, "chunk_size with randomness \"different\"");
  }
  return call;
}

std::optional<int64_t> KnownSize(const Argument& value, int64_t dim) {
  if (!value.is_node()) return std::nullopt;
  const TensorMeta* meta = value.node()->tensor_meta();
  if (meta == nullptr || !meta->has_shape) return std::nullopt;
  const auto rank = static_cast<int64_t>(meta->shape.size());
  if (dim < -rank || dim >= rank) return std::nullopt;
  const Dim& size = meta->shape[static_cast<size_t>(dim < 0 ? dim + rank : dim)];
  return size.is_static() ? std::optional<int64_t>(size.value) : std::nullopt;
}

}  // namespace graphnet
