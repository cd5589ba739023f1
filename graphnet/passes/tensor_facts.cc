#include "graphnet/passes/tensor_facts.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

using Kind = TensorFacts::Kind;

using Names = absl::flat_hash_set<absl::string_view>;

TensorFacts Tensor(int rank, DType dtype) { return {Kind::kTensor, rank, dtype}; }

const Names& Comparisons() {
  static const auto* const names =
      new Names{"eq",         "ne",          "lt",          "le",
                "gt",         "ge",          "greater",     "greater_equal",
                "less",       "less_equal",  "not_equal",   "logical_and",
                "logical_or", "logical_not", "logical_xor", "isnan",
                "isinf",      "isfinite",    "isposinf",    "isneginf",
                "signbit",    "all",         "any"};
  return *names;
}
// Pointwise on integers with integers for result.
const Names& Integral() {
  static const auto* const names = new Names{
      "add",       "sub",       "mul",          "neg",        "abs",         "__and__",
      "__or__",    "__xor__",   "bitwise_and",  "bitwise_or", "bitwise_xor", "bitwise_not",
      "minimum",   "maximum",   "max",          "min",        "clamp",       "clamp_min",
      "clamp_max", "remainder", "floor_divide", "where",      "masked_fill", "clone",
      "square",    "sign",      "relu"};
  return *names;
}
// Results of the shape of the first tensor.
const Names& SameShape() {
  static const auto* const names = new Names{"softmax",
                                             "log_softmax",
                                             "cumsum",
                                             "cumprod",
                                             "logcumsumexp",
                                             "flip",
                                             "roll",
                                             "tril",
                                             "triu",
                                             "contiguous",
                                             "detach",
                                             "alias",
                                             "to",
                                             "_to_copy",
                                             "type_as",
                                             "zeros_like",
                                             "ones_like",
                                             "full_like",
                                             "empty_like",
                                             "rand_like",
                                             "randn_like",
                                             "layer_norm",
                                             "rms_norm",
                                             "group_norm",
                                             "batch_norm",
                                             "instance_norm",
                                             "dropout",
                                             "pad",
                                             "constant_pad_nd",
                                             "slice",
                                             "narrow",
                                             "transpose",
                                             "swapaxes",
                                             "movedim",
                                             "moveaxis",
                                             "permute",
                                             "mT",
                                             "adjoint",
                                             "t",
                                             "numpy_T",
                                             "glu",
                                             "log_sigmoid",
                                             "gather",
                                             "scatter",
                                             "scatter_add",
                                             "index_select",
                                             "sort",
                                             "topk",
                                             "argsort",
                                             "renorm",
                                             "expand_as_self",
                                             "prelu",
                                             "softsign",
                                             "lift_fresh",
                                             "fill",
                                             "scaled_dot_product_attention",
                                             "conv1d",
                                             "conv2d",
                                             "conv3d",
                                             "split",
                                             "split_with_sizes",
                                             "chunk",
                                             "tensor_split",
                                             "cat",
                                             "concat",
                                             "index_add",
                                             "index_copy",
                                             "index_fill",
                                             "masked_scatter",
                                             "index_put",
                                             "native_layer_norm",
                                             "zero"};
  return *names;
}
const Names& KeepsDType() {
  static const auto* const names = new Names{"flip",
                                             "roll",
                                             "tril",
                                             "triu",
                                             "contiguous",
                                             "detach",
                                             "alias",
                                             "slice",
                                             "narrow",
                                             "transpose",
                                             "swapaxes",
                                             "movedim",
                                             "moveaxis",
                                             "permute",
                                             "mT",
                                             "t",
                                             "numpy_T",
                                             "gather",
                                             "index_select",
                                             "select",
                                             "unsqueeze",
                                             "squeeze",
                                             "unbind",
                                             "view",
                                             "reshape",
                                             "expand",
                                             "flatten",
                                             "unflatten",
                                             "repeat",
                                             "index",
                                             "embedding",
                                             "split",
                                             "split_with_sizes",
                                             "chunk",
                                             "cat",
                                             "stack",
                                             "diagonal",
                                             "zeros_like",
                                             "ones_like",
                                             "full_like",
                                             "empty_like",
                                             "amax",
                                             "amin",
                                             "matmul",
                                             "mm",
                                             "bmm",
                                             "mv",
                                             "linear",
                                             "addmm",
                                             "baddbmm",
                                             "expand_as",
                                             "view_as",
                                             "reshape_as",
                                             "softmax",
                                             "log_softmax",
                                             "repeat_interleave",
                                             "tile",
                                             "layer_norm",
                                             "rms_norm"};
  return *names;
}

bool IsFloatScalar(const Argument& a) {
  return a.is_float() || a.kind() == Argument::Kind::kComplex;
}

// Of a list argument that is written out.
std::optional<int> LengthOf(const Argument& list) {
  if (list.is_list() || list.is_tuple()) return static_cast<int>(list.elements().size());
  if (list.is_int()) return 1;
  return std::nullopt;
}

}  // namespace

absl::string_view OperatorName(const Schema& schema) {
  absl::string_view name = absl::StripPrefix(schema.target, "aten.");
  return name.substr(0, name.find('.'));
}

bool IsPointwise(const Schema& schema) {
  static const auto* const aliases = new Names{
      "__and__",    "__or__",        "__xor__",      "__lshift__",    "__rshift__",    "__iand__",
      "__ior__",    "__ixor__",      "floor_divide", "floor_divide_", "absolute",      "divide",
      "multiply",   "subtract",      "negative",     "greater",       "greater_equal", "less",
      "less_equal", "not_equal",     "fix",          "arccos",        "arcsin",        "arctan",
      "arctan2",    "special_expit", "softsign",     "clip"};
  const absl::string_view name = OperatorName(schema);
  const bool all_tensors = absl::c_all_of(schema.returns, [](const SchemaType& type) {
    return type.kind == SchemaType::Kind::kTensor;
  });
  if (schema.returns.size() != 1 || !all_tensors) return false;
  if (name == "where" || name == "masked_fill")
    return true;  // in all overloads but where(condition)
  return schema.is_pointwise || aliases->contains(name);
}

Argument ArgumentOf(const Node& call, const Schema& schema, absl::string_view name) {
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    if (schema.arguments[i].name != name) continue;
    if (i < call.args().size()) return call.args()[i];
    const Argument* value = call.kwarg(name);
    return value == nullptr ? Argument() : *value;
  }
  return Argument();
}

FactsTable::FactsTable(const LoweredModule& lowered) : lowered_(lowered) {
  facts_.reserve(lowered.module->num_nodes());
  AddGraph(*lowered.module->main(), {});
}

TensorFacts FactsTable::Of(const Node* node) const {
  const auto it = facts_.find(node);
  return it == facts_.end() ? TensorFacts() : it->second;
}

void FactsTable::AddGraph(const Graph& graph, absl::Span<const TensorFacts> parameters) {
  size_t next = 0;
  for (const Node* node : graph.nodes()) {
    TensorFacts facts;
    if (node->is_placeholder()) {
      if (next < parameters.size()) {
        facts = parameters[next];
      } else {
        const ValueType type = TypeOfAnnotation(node->annotation());
        facts.kind = type.kind == ValueType::Kind::kTensor ? Kind::kTensor : Kind::kOther;
      }
      ++next;
    } else if (node->op() == Op::kGetAttr) {
      facts.kind = Kind::kTensor;
    } else if (node->is_call()) {
      facts = OfCall(*node);
    }
    const Node* origin = lowered_.origins.at(node);
    // A node's value may be that of another origin: only its own meta is asked.
    const auto value = lowered_.values.find(origin);
    const bool is_value =
        value != lowered_.values.end() && value->second.is_node() && value->second.node() == node;
    if (is_value && origin->tensor_meta() != nullptr) {
      facts.kind = Kind::kTensor;
      if (origin->tensor_meta()->has_shape) {
        facts.rank = static_cast<int>(origin->tensor_meta()->shape.size());
      }
      if (origin->tensor_meta()->dtype != DType::kUnknown)
        facts.dtype = origin->tensor_meta()->dtype;
    }
    facts_[node] = facts;
  }
}

TensorFacts FactsTable::OfArgument(const Argument& argument) const {
  if (argument.is_node()) return Of(argument.node());
  if ((argument.is_list() || argument.is_tuple()) && !argument.elements().empty()) {
    TensorFacts facts = OfArgument(argument.elements()[0]);
    if (!facts.is_tensor()) return {Kind::kOther};
    facts.kind = Kind::kList;
    for (const Argument& element : argument.elements()) {
      const TensorFacts other = OfArgument(element);
      if (other.rank != facts.rank) facts.rank = -1;
      if (other.dtype != facts.dtype) facts.dtype = DType::kUnknown;
    }
    return facts;
  }
  return {Kind::kOther};
}

TensorFacts FactsTable::OfVmap(const Node& call) {
  const Graph* body = call.args()[0].graph();
  const absl::Span<const Argument> operands = call.args()[1].elements();
  const Argument& dims = call.args()[2];
  const bool one_each = dims.is_tuple() || dims.is_list();
  std::vector<TensorFacts> parameters;
  for (size_t i = 0; i < operands.size(); ++i) {
    TensorFacts facts = OfArgument(operands[i]);
    const bool batched =
        one_each ? i < dims.elements().size() && !dims.elements()[i].is_none() : !dims.is_none();
    if (batched && facts.rank > 0) --facts.rank;
    parameters.push_back(facts);
  }
  const auto [it, is_new] = parameters_.try_emplace(body, parameters);
  if (is_new) {
    AddGraph(*body, parameters);
  } else if (it->second != parameters) {
    ambiguous_[body] = true;
  }
  if (body->output() == nullptr) return {};
  const bool ambiguous = ambiguous_.contains(body);
  const Argument& out_dims = call.args()[3];
  const auto result = [&](const Argument& value, size_t i) {
    const TensorFacts facts = OfArgument(value);
    const bool each = out_dims.is_tuple() || out_dims.is_list();
    const bool kept = each ? i < out_dims.elements().size() && out_dims.elements()[i].is_none()
                           : out_dims.is_none();
    return Tensor(ambiguous || facts.rank < 0 ? -1 : facts.rank + (kept ? 0 : 1), facts.dtype);
  };
  const Argument& returned = body->output()->args()[0];
  if (!returned.is_tuple() && !returned.is_list()) return result(returned, 0);
  std::vector<TensorFacts>& elements = elements_[&call];
  for (size_t i = 0; i < returned.elements().size(); ++i) {
    elements.push_back(result(returned.elements()[i], i));
  }
  return {Kind::kList};
}

TensorFacts FactsTable::OfSubscript(const Node& call) const {
  TensorFacts facts = OfArgument(call.args()[0]);
  const Argument& index = call.args()[1];
  if (facts.kind == Kind::kList) {
    const Node* whole = call.args()[0].is_node() ? call.args()[0].node() : nullptr;
    const auto known = elements_.find(whole);
    if (known != elements_.end() && index.is_int()) {
      const auto size = static_cast<int64_t>(known->second.size());
      const int64_t i = index.integer() < 0 ? index.integer() + size : index.integer();
      return i >= 0 && i < size ? known->second[static_cast<size_t>(i)] : TensorFacts();
    }
    return index.is_int() ? Tensor(facts.rank, facts.dtype)
                          : TensorFacts{Kind::kList, -1, facts.dtype};
  }
  if (!facts.is_tensor()) return {facts.kind};
  if (facts.rank < 0) return facts;
  int tensors = -1;  // the rank of those that index
  const absl::Span<const Argument> elements =
      index.is_tuple() ? index.elements() : absl::MakeConstSpan(&index, 1);
  for (const Argument& element : elements) {
    if (element.is_int()) {
      --facts.rank;
    } else if (element.is_none()) {
      ++facts.rank;
    } else if (element.is_node() && Of(element.node()).kind == Kind::kOther) {
      --facts.rank;  // a number
    } else if (element.is_node()) {
      const TensorFacts other = Of(element.node());
      if (!other.is_tensor() || other.rank < 0 || other.dtype == DType::kBool ||
          other.dtype == DType::kUnknown) {
        return Tensor(-1, facts.dtype);
      }
      tensors = std::max(tensors, other.rank);
      --facts.rank;
    } else if (element.kind() != Argument::Kind::kSlice &&
               element.kind() != Argument::Kind::kEllipsis) {
      return Tensor(-1, facts.dtype);
    }
  }
  return Tensor(facts.rank + std::max(tensors, 0), facts.dtype);
}

TensorFacts FactsTable::OfCall(const Node& call) {
  const absl::string_view target = call.target();
  if (target == "torch.vmap") return OfVmap(call);
  if (target == "operator.getitem") return OfSubscript(call);
  if (target == "torch.tensor") {
    int rank = 0;
    const Argument* data = &call.args()[0];
    while ((data->is_list() || data->is_tuple()) && !data->elements().empty()) {
      ++rank;
      data = &data->elements()[0];
    }
    if (data->is_node()) rank = -1;
    const Argument dtype = call.args().size() > 1 ? call.args()[1] : Argument();
    return Tensor(rank, dtype.kind() == Argument::Kind::kDType ? dtype.dtype()
                        : data->is_bool()                      ? DType::kBool
                        : data->is_int()                       ? DType::kInt64
                                                               : DType::kUnknown);
  }
  const Schema* schema = FindOverload(target);
  if (schema == nullptr) return {Kind::kOther};
  if (schema->returns.empty()) return {Kind::kOther};
  for (const SchemaType& type : schema->returns) {
    if (type.kind != SchemaType::Kind::kTensor) return {Kind::kOther};
  }
  TensorFacts facts;
  facts.kind =
      schema->returns.size() > 1 || schema->returns[0].is_list ? Kind::kList : Kind::kTensor;
  const auto argument = [&](absl::string_view name) { return ArgumentOf(call, *schema, name); };
  absl::string_view name = OperatorName(*schema);
  if (name.size() > 1 && absl::EndsWith(name, "_") && !absl::EndsWith(name, "__"))
    name.remove_suffix(1);
  // The tensors it takes.
  std::vector<TensorFacts> tensors;
  bool has_float = false, has_int = false;
  for (size_t i = 0; i < schema->arguments.size(); ++i) {
    const Argument value = argument(schema->arguments[i].name);
    const TensorFacts of = OfArgument(value);
    if (schema->arguments[i].type.kind == SchemaType::Kind::kTensor &&
        (of.is_tensor() || of.kind == Kind::kList)) {
      tensors.push_back(of);
    }
    if (schema->arguments[i].type.kind == SchemaType::Kind::kScalar) {
      has_float |= IsFloatScalar(value) || value.is_node();
      has_int |= value.is_int();
    }
  }
  const TensorFacts first = tensors.empty() ? TensorFacts() : tensors[0];

  const Argument dtype = argument("dtype");
  if (dtype.kind() == Argument::Kind::kDType) {
    facts.dtype = dtype.dtype();
  } else if (Comparisons().contains(name)) {
    facts.dtype = DType::kBool;
  } else if (name == "to" && dtype.is_none()) {
    facts.dtype = argument("other").is_none() ? first.dtype : OfArgument(argument("other")).dtype;
  } else if (name == "type_as" && tensors.size() == 2) {
    facts.dtype = tensors[1].dtype;
  } else if (absl::StartsWith(name, "arg") || name == "count_nonzero") {
    facts.dtype = DType::kInt64;
  } else if (KeepsDType().contains(name) || absl::StartsWith(name, "new_")) {
    facts.dtype = first.dtype;
  } else if (IsPointwise(*schema) && !tensors.empty()) {
    const size_t skip = name == "where" ? 1 : 0;
    DType common = skip < tensors.size() ? tensors[skip].dtype : DType::kUnknown;
    for (size_t i = skip; i < tensors.size() && name != "masked_fill"; ++i) {
      if (tensors[i].dtype != common) common = DType::kUnknown;
    }
    const bool keeps = IsFloatingPoint(common) || (Integral().contains(name) && !has_float &&
                                                   !(has_int && common == DType::kBool));
    if (keeps && name != "abs") facts.dtype = common;
  } else if (name == "arange") {
    bool all_int = true;
    for (const absl::string_view part : {"start", "end", "step"}) {
      const Argument value = argument(part);
      all_int = all_int && (value.is_none() || value.is_int());
    }
    if (all_int) facts.dtype = DType::kInt64;
  }

  const auto rank_of_list = [&](absl::string_view list) {
    const std::optional<int> length = LengthOf(argument(list));
    return length.value_or(-1);
  };
  const Argument keepdim = argument("keepdim");
  const bool reduces = schema->FindArgument("keepdim") != nullptr;
  if (IsPointwise(*schema)) {
    facts.rank = tensors.empty() ? -1 : 0;
    for (const TensorFacts& t : tensors) {
      facts.rank = facts.rank < 0 || t.rank < 0 ? -1 : std::max(facts.rank, t.rank);
    }
  } else if (absl::StartsWith(name, "new_") || name == "zeros" || name == "ones" ||
             name == "empty" || name == "full" || name == "rand" || name == "randn" ||
             name == "view" || name == "expand" || name == "randint") {
    facts.rank = name == "view" && schema->FindArgument("size") == nullptr ? first.rank
                                                                           : rank_of_list("size");
  } else if (name == "reshape") {
    facts.rank = rank_of_list("shape");
  } else if (name == "expand_as" || name == "view_as" || name == "reshape_as") {
    facts.rank = tensors.size() == 2 ? tensors[1].rank : -1;
  } else if (name == "repeat") {
    facts.rank = rank_of_list("repeats");
  } else if (name == "arange" || name == "linspace") {
    facts.rank = 1;
  } else if (name == "scalar_tensor" || name == "dot" || name == "vdot") {
    facts.rank = 0;
  } else if (name == "mv" || name == "addmv") {
    facts.rank = 1;
  } else if (name == "mm" || name == "addmm" || name == "outer" || name == "ger" || name == "eye") {
    facts.rank = 2;
  } else if (name == "bmm" || name == "baddbmm") {
    facts.rank = 3;
  } else if (name == "matmul" && tensors.size() == 2 && tensors[0].rank > 0 &&
             tensors[1].rank > 0) {
    const int a = tensors[0].rank, b = tensors[1].rank;
    facts.rank = a == 1 && b == 1 ? 0 : a == 1 ? b - 1 : b == 1 ? a - 1 : std::max(a, b);
  } else if (name == "linear") {
    const int weight = tensors.size() > 1 ? tensors[1].rank : -1;
    facts.rank = first.rank < 0 || weight < 1 ? -1 : first.rank - (weight == 1 ? 1 : 0);
  } else if (first.rank < 0) {
    // Of what follows, all depend on it.
  } else if (reduces) {
    const Argument dim = argument("dim");
    const bool whole = dim.is_none() || (dim.is_list() && dim.elements().empty());
    const int removed = whole ? first.rank : LengthOf(dim).value_or(-1);
    const bool keeps = keepdim.is_bool() && keepdim.boolean();
    facts.rank = keeps                          ? first.rank
                 : removed < 0 || dim.is_node() ? -1
                                                : std::max(0, first.rank - removed);
  } else if (name == "select" || name == "unbind" || name == "diagonal") {
    facts.rank = first.rank - 1;
  } else if (name == "unsqueeze" || name == "stack" || name == "diag_embed" || name == "one_hot") {
    facts.rank = first.rank + 1;
  } else if (name == "flatten") {
    const auto place = [&](const Argument& a, int64_t otherwise) {
      const int64_t at = a.is_int() ? a.integer() : otherwise;
      return static_cast<int>(at < 0 ? at + first.rank : at);
    };
    const int start = place(argument("start_dim"), 0), end = place(argument("end_dim"), -1);
    facts.rank = first.rank == 0 ? 1 : first.rank - (end - start);
  } else if (name == "unflatten") {
    const std::optional<int> length = LengthOf(argument("sizes"));
    facts.rank = length.has_value() ? first.rank + *length - 1 : -1;
  } else if (name == "embedding" && tensors.size() == 2) {
    facts.rank = tensors[1].rank < 0 ? -1 : tensors[1].rank + 1;
  } else if (name == "index" && argument("indices").is_list()) {
    int tensor_rank = 0, indexed = 0;
    for (const Argument& element : argument("indices").elements()) {
      if (element.is_none()) continue;
      const TensorFacts of = OfArgument(element);
      const bool known =
          of.is_tensor() && of.rank >= 0 && of.dtype != DType::kBool && of.dtype != DType::kUnknown;
      if (!known) return facts;
      tensor_rank = std::max(tensor_rank, of.rank);
      ++indexed;
    }
    facts.rank = first.rank - indexed + tensor_rank;
  } else if (name == "repeat_interleave") {
    facts.rank = argument("dim").is_none() ? 1 : first.rank;
  } else if (SameShape().contains(name)) {
    facts.rank = first.rank;
  } else if (name == "sum" || name == "mean" || name == "prod" || name == "max" || name == "min" ||
             name == "any" || name == "all" || name == "std" || name == "var" || name == "norm" ||
             name == "median" || name == "count_nonzero") {
    facts.rank = argument("dim").is_none() ? 0 : -1;
  }
  return facts;
}

}  // namespace graphnet
