#include "graphnet/passes/vmap_call.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/node_error.h"

namespace graphnet {
namespace {

absl::Span<const absl::string_view> ParametersOf(NestingCall call) {
  static constexpr absl::string_view kIncrement[] = {"batch_size", "randomness"};
  static constexpr absl::string_view kAdd[] = {"self", "batch_dim", "level"};
  static constexpr absl::string_view kRemove[] = {"self", "level", "batch_size", "out_dim"};
  switch (call) {
    case NestingCall::kIncrement: return kIncrement;
    case NestingCall::kAdd: return kAdd;
    case NestingCall::kRemove: return kRemove;
    default: return {};
  }
}

// Puts `args` and `kwargs` in the order of `parameters`; false when they do not fit.
bool Place(absl::Span<const absl::string_view> parameters, absl::Span<const Argument> args,
           absl::Span<const KwArg> kwargs, std::vector<std::optional<Argument>>* placed) {
  placed->assign(parameters.size(), std::nullopt);
  if (args.size() > parameters.size()) return false;
  for (size_t i = 0; i < args.size(); ++i) (*placed)[i] = args[i];
  for (const KwArg& kwarg : kwargs) {
    const auto it = absl::c_find(parameters, kwarg.name);
    if (it == parameters.end()) return false;
    std::optional<Argument>& place = (*placed)[static_cast<size_t>(it - parameters.begin())];
    if (place.has_value()) return false;
    place = kwarg.value;
  }
  return true;
}

// What `argument` says for each of `count` values; false when it does not fit.
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

absl::Status UnimplementedAt(const Node& node, absl::string_view what) {
  return absl::UnimplementedError(NodeError(node, what).message());
}

}  // namespace

NestingCall NestingCallOf(const Node& node) {
  if (node.op() != Op::kCallFunction) return NestingCall::kNone;
  absl::string_view name = node.target();
  if (name == "torch._functorch.vmap.lazy_load_decompositions") return NestingCall::kLoad;
  if (!absl::ConsumePrefix(&name, "torch._functorch.predispatch.") &&
      !absl::ConsumePrefix(&name, "torch._C._functorch.")) {
    return NestingCall::kNone;
  }
  if (name == "lazy_load_decompositions") return NestingCall::kLoad;
  if (name == "_vmap_increment_nesting") return NestingCall::kIncrement;
  if (name == "_add_batch_dim") return NestingCall::kAdd;
  if (name == "_remove_batch_dim") return NestingCall::kRemove;
  if (name == "_vmap_decrement_nesting") return NestingCall::kDecrement;
  return NestingCall::kNone;
}

absl::StatusOr<std::vector<Argument>> NestingArguments(const Node& node) {
  const absl::Span<const absl::string_view> parameters = ParametersOf(NestingCallOf(node));
  std::vector<std::optional<Argument>> placed;
  if (!Place(parameters, node.args(), node.kwargs(), &placed) ||
      !absl::c_all_of(placed, [](const auto& a) { return a.has_value(); })) {
    return NodeError(node, absl::StrCat("takes ", parameters.size(), " arguments, not these"));
  }
  std::vector<Argument> arguments;
  for (const std::optional<Argument>& argument : placed) arguments.push_back(*argument);
  return arguments;
}

bool IsVmapCall(const Node& node) { return node.is_call_function("torch.vmap"); }

absl::StatusOr<VmapCall> ReadVmapCall(const Node& node) {
  static constexpr absl::string_view kParameters[] = {"func",     "operands",   "in_dims",
                                                      "out_dims", "randomness", "chunk_size"};
  std::vector<std::optional<Argument>> given;
  if (!Place(kParameters, node.args(), node.kwargs(), &given) || !given[0] || !given[1]) {
    return NodeError(node, "takes a body, its operands, in_dims, out_dims and randomness");
  }
  if (!given[0]->is_graph()) return NodeError(node, "takes a graph");
  VmapCall call;
  call.body = given[0]->graph();
  if (given[1]->is_tuple() || given[1]->is_list()) {
    call.operands.assign(given[1]->elements().begin(), given[1]->elements().end());
  } else {
    call.operands.push_back(*given[1]);
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
  if (!ReadDims(given[2].value_or(Argument(0)), call.operands.size(), &call.in_dims)) {
    return UnimplementedAt(node, "in_dims that are not one dimension or None an operand");
  }
  if (absl::c_none_of(call.in_dims, [](const BatchDim& dim) { return dim.has_value(); })) {
    return NodeError(node, "at least one operand must have a batch dimension");
  }
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (call.in_dims[i].has_value() && !call.operands[i].is_node()) {
      return NodeError(node,
                       absl::StrCat("operand ", i, " is no tensor but has a batch dimension"));
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
    if (!r.is_node()) return UnimplementedAt(node, "the body returns other things than tensors");
  }
  if (!ReadDims(given[3].value_or(Argument(0)), call.results.size(), &call.out_dims)) {
    return UnimplementedAt(node, "out_dims that are not one dimension or None a result");
  }
  const Argument randomness = given[4].value_or(Argument("error"));
  if (!randomness.is_string() ||
      (randomness.string() != "error" && randomness.string() != "different" &&
       randomness.string() != "same")) {
    return NodeError(node, "randomness is \"error\", \"different\" or \"same\"");
  }
  call.randomness = randomness.string();
  const Argument chunk_size = given[5].value_or(Argument());
  if (chunk_size.is_none()) return call;
  if (!chunk_size.is_int() || chunk_size.integer() <= 0 ||
      absl::c_linear_search(call.out_dims, BatchDim())) {
    return NodeError(node, "chunk_size is above 0, and all results have an out_dim then");
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
