#include "graphnet/passes/tensor_facts.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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
                                             "conv_transpose1d",
                                             "conv_transpose2d",
                                             "conv_transpose3d",
                                             "convolution",
                                             "avg_pool1d",
                                             "avg_pool2d",
                                             "avg_pool3d",
                                             "max_pool1d",
                                             "max_pool2d",
                                             "max_pool3d",
                                             "adaptive_avg_pool1d",
                                             "adaptive_avg_pool2d",
                                             "adaptive_avg_pool3d",
                                             "upsample_nearest1d",
                                             "upsample_nearest2d",
                                             "upsample_nearest3d",
                                             "upsample_bilinear2d",
                                             "upsample_bicubic2d",
                                             "upsample_linear1d",
                                             "upsample_trilinear3d",
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
                                             "einsum",
                                             "conv1d",
                                             "conv2d",
                                             "conv3d",
                                             "conv_transpose1d",
                                             "conv_transpose2d",
                                             "conv_transpose3d",
                                             "convolution",
                                             "index_put",
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

// Of results that have all the sizes of the first tensor.
const Names& KeepsSizes() {
  static const auto* const names = new Names{
      "softmax",    "log_softmax", "cumsum",    "cumprod",    "logcumsumexp", "flip",
      "roll",       "tril",        "triu",      "layer_norm", "rms_norm",     "group_norm",
      "contiguous", "detach",      "alias",     "to",         "_to_copy",     "type_as",
      "zeros_like", "ones_like",   "full_like", "empty_like", "rand_like",    "randn_like",
      "lift_fresh", "dropout",     "index_put", "scatter",    "scatter_add",  "sort",
      "argsort",    "log_sigmoid"};
  return *names;
}

// Dimensions that are written out, counted from 0; none: not known. An argument that
// is left out is none.
std::optional<std::vector<int>> DimsOf(const Argument& argument, int rank) {
  std::vector<int> dims;
  const bool is_list = argument.is_list() || argument.is_tuple();
  for (const Argument& dim : is_list ? argument.elements() : absl::MakeConstSpan(&argument, 1)) {
    if (!dim.is_int()) return std::nullopt;
    const int64_t at = dim.integer() < 0 ? dim.integer() + rank : dim.integer();
    if (at < 0 || at >= rank) return std::nullopt;
    dims.push_back(static_cast<int>(at));
  }
  return dims;
}

// Those of tensors that broadcast.
std::vector<int64_t> Broadcast(const std::vector<TensorFacts>& tensors, int rank) {
  std::vector<int64_t> sizes(static_cast<size_t>(rank), 1);
  for (const TensorFacts& tensor : tensors) {
    for (int i = 0; i < tensor.rank; ++i) {
      const int64_t size =
          tensor.sizes.empty() ? -1 : tensor.sizes[static_cast<size_t>(tensor.rank - 1 - i)];
      int64_t& sum = sizes[static_cast<size_t>(rank - 1 - i)];
      if (size != 1 && (sum == 1 || sum == -1)) sum = size;
    }
  }
  return sizes;
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

std::string OutputOfEinsum(absl::string_view equation) {
  std::string text(equation);
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  if (const size_t arrow = text.find("->"); arrow != std::string::npos)
    return text.substr(arrow + 2);
  std::string letters;
  for (const char c : text) {
    if (absl::ascii_isalpha(static_cast<unsigned char>(c)) && absl::c_count(text, c) == 1)
      letters += c;
  }
  absl::c_sort(letters);
  return absl::StrCat(absl::StrContains(text, "...") ? "..." : "", letters);
}

Argument ArgumentOf(const Node& call, const Schema& schema, absl::string_view name) {
  const Argument* value = schema.Given(call, name);
  return value == nullptr ? Argument() : *value;
}

FactsTable::FactsTable(const LoweredModule& lowered) : lowered_(lowered), facts_(*lowered.module) {
  AddGraph(*lowered.module->main(), {});
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
    const Node* origin = lowered_.origins[node];
    // A node's value may be that of another origin: only its own meta is asked.
    const Argument& value = lowered_.values[origin];
    const bool is_value = value.is_node() && value.node() == node;
    if (is_value && origin->tensor_meta() != nullptr) {
      facts.kind = Kind::kTensor;
      if (origin->tensor_meta()->has_shape) {
        facts.rank = static_cast<int>(origin->tensor_meta()->shape.size());
        std::vector<int64_t> sizes;
        for (const Dim& dim : origin->tensor_meta()->shape)
          sizes.push_back(dim.is_static() ? dim.value : -1);
        facts.sizes = Keep(sizes);
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
    facts.sizes = {};
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
  int64_t batch = -1;
  for (size_t i = 0; i < operands.size(); ++i) {
    TensorFacts facts = OfArgument(operands[i]);
    const Argument dim = !one_each                    ? dims
                         : i < dims.elements().size() ? dims.elements()[i]
                                                      : Argument();
    if (!dim.is_none() && facts.rank > 0) {
      const auto at = DimsOf(dim, facts.rank);
      if (at.has_value() && !facts.sizes.empty()) {
        batch = std::max(batch, facts.sizes[static_cast<size_t>((*at)[0])]);
        std::vector<int64_t> sizes(facts.sizes.begin(), facts.sizes.end());
        sizes.erase(sizes.begin() + (*at)[0]);
        facts.sizes = Keep(sizes);
      } else {
        facts.sizes = {};
      }
      --facts.rank;
    }
    parameters.push_back(facts);
  }
  const auto [it, is_new] = parameters_.try_emplace(body, parameters);
  if (is_new) {
    AddGraph(*body, parameters);
  } else if (it->second != parameters) {
    ambiguous_[body] = true;
  } else {
    // Sizes are known of the body where all of its calls agree.
    bool fewer = false;
    for (size_t i = 0; i < parameters.size(); ++i) {
      absl::Span<const int64_t>& known = it->second[i].sizes;
      const absl::Span<const int64_t> sizes = parameters[i].sizes;
      std::vector<int64_t> common(known.begin(), known.end());
      for (size_t d = 0; d < common.size(); ++d) {
        if (sizes.empty() || sizes[d] != common[d]) common[d] = -1;
      }
      if (common == known) continue;
      known = Keep(common);
      fewer = true;
    }
    if (fewer) AddGraph(*body, std::vector<TensorFacts>(it->second));  // which may move
  }
  if (body->output() == nullptr) return {};
  const bool ambiguous = ambiguous_.contains(body);
  const Argument& out_dims = call.args()[3];
  const auto result = [&](const Argument& value, size_t i) {
    const TensorFacts facts = OfArgument(value);
    const bool each = out_dims.is_tuple() || out_dims.is_list();
    const bool kept = each ? i < out_dims.elements().size() && out_dims.elements()[i].is_none()
                           : out_dims.is_none();
    if (ambiguous || facts.rank < 0) return Tensor(-1, facts.dtype);
    TensorFacts made = Tensor(facts.rank + (kept ? 0 : 1), facts.dtype);
    if (kept) {
      made.sizes = facts.sizes;
    } else if (facts.rank == 0 || !facts.sizes.empty()) {
      const auto at = DimsOf(each ? out_dims.elements()[i] : out_dims, made.rank);
      if (at.has_value()) {
        std::vector<int64_t> sizes(facts.sizes.begin(), facts.sizes.end());
        sizes.insert(sizes.begin() + (*at)[0], batch);
        made.sizes = Keep(sizes);
      }
    }
    return made;
  };
  const Argument& returned = body->output()->args()[0];
  if (!returned.is_tuple() && !returned.is_list()) return result(returned, 0);
  std::vector<TensorFacts>& elements = elements_[&call];
  elements.clear();
  for (size_t i = 0; i < returned.elements().size(); ++i) {
    elements.push_back(result(returned.elements()[i], i));
  }
  return {Kind::kList};
}

TensorFacts FactsTable::OfSubscript(const Node& call) {
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
  std::vector<int64_t> sizes;
  size_t next = 0;  // of the dimensions that are indexed
  const auto take = [&](bool keeps) {
    if (keeps) sizes.push_back(next < facts.sizes.size() ? facts.sizes[next] : -1);
    ++next;
  };
  const int all = facts.rank;
  const absl::Span<const Argument> elements =
      index.is_tuple() ? index.elements() : absl::MakeConstSpan(&index, 1);
  for (const Argument& element : elements) {
    if (element.is_int()) {
      --facts.rank;
      take(false);
    } else if (element.is_none()) {
      ++facts.rank;
      sizes.push_back(1);
    } else if (element.is_node() && Of(element.node()).kind == Kind::kOther) {
      --facts.rank;  // a number
      take(false);
    } else if (element.is_node()) {
      const TensorFacts& other = Of(element.node());
      if (!other.is_tensor() || other.rank < 0 || other.dtype == DType::kBool ||
          other.dtype == DType::kUnknown) {
        return Tensor(-1, facts.dtype);
      }
      tensors = std::max(tensors, other.rank);
      --facts.rank;
    } else if (element.kind() == Argument::Kind::kSlice) {
      const bool whole =
          absl::c_all_of(element.elements(), [](const Argument& a) { return a.is_none(); });
      if (whole) {
        take(true);
      } else {
        sizes.push_back(-1);
        ++next;
      }
    } else if (element.kind() == Argument::Kind::kEllipsis) {
      const auto taken = absl::c_count_if(elements, [](const Argument& a) {
        return !a.is_none() && a.kind() != Argument::Kind::kEllipsis;
      });
      for (auto i = taken; i < all; ++i) take(true);
    } else {
      return Tensor(-1, facts.dtype);
    }
  }
  TensorFacts made = Tensor(facts.rank + std::max(tensors, 0), facts.dtype);
  while (static_cast<int>(next) < all) take(true);
  if (tensors < 0) made.sizes = Keep(sizes);
  return made;
}

int FactsTable::RankOfEinsum(absl::string_view equation, const Argument& tensors) const {
  const std::string output = OutputOfEinsum(equation);
  const auto letters = [](absl::string_view term) {
    return static_cast<int>(absl::c_count_if(
        term, [](char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)); }));
  };
  if (!absl::StrContains(output, "...")) return letters(output);
  const std::vector<absl::string_view> terms =
      absl::StrSplit(equation.substr(0, equation.find("->")), ',');
  if (!tensors.is_list() || terms.size() != tensors.elements().size()) return -1;
  int others = 0;  // that the dots stand for
  for (size_t i = 0; i < terms.size(); ++i) {
    const int rank = OfArgument(tensors.elements()[i]).rank;
    if (!absl::StrContains(terms[i], "...")) continue;
    if (rank < 0) return -1;
    others = std::max(others, rank - letters(terms[i]));
  }
  return letters(output) + others;
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
    const Argument* asked = call.kwarg("dtype");
    const Argument dtype = asked == nullptr ? Argument() : *asked;
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
    const bool is_complex =
        common == DType::kComplex32 || common == DType::kComplex64 || common == DType::kComplex128;
    if (keeps && !(name == "abs" && is_complex)) facts.dtype = common;
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
             name == "view" || name == "expand" || name == "randint" || name == "normal") {
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
  } else if (name == "einsum" && argument("equation").is_string()) {
    facts.rank = RankOfEinsum(argument("equation").string(), argument("tensors"));
  } else if (name == "linear") {
    const int weight = tensors.size() > 1 ? tensors[1].rank : -1;
    facts.rank = first.rank < 0 || weight < 1 ? -1 : first.rank - (weight == 1 ? 1 : 0);
  } else if (first.rank < 0) {
    // Of what follows, all depend on it.
  } else if (name == "squeeze") {
    std::optional<std::vector<int>> dims = DimsOf(argument("dim"), first.rank);
    if (schema->FindArgument("dim") == nullptr) {
      dims.emplace();
      for (int i = 0; i < first.rank; ++i) dims->push_back(i);
    }
    const bool known = dims.has_value() && absl::c_all_of(*dims, [&](int i) {
                         return !first.sizes.empty() && first.sizes[static_cast<size_t>(i)] >= 0;
                       });
    if (!known) return facts;
    facts.rank = first.rank;
    for (const int i : *dims) facts.rank -= first.sizes[static_cast<size_t>(i)] == 1 ? 1 : 0;
    std::vector<int64_t> sizes;
    for (int i = 0; i < first.rank; ++i) {
      if (!absl::c_linear_search(*dims, i) || first.sizes[static_cast<size_t>(i)] != 1)
        sizes.push_back(first.sizes[static_cast<size_t>(i)]);
    }
    facts.sizes = Keep(sizes);
    return facts;
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
  if (facts.is_tensor() && facts.rank >= 0) {
    const std::vector<int64_t> sizes = SizesOfCall(call, *schema, name, tensors, facts);
    if (static_cast<int>(sizes.size()) == facts.rank) facts.sizes = Keep(sizes);
  }
  return facts;
}

std::vector<int64_t> FactsTable::SizesOfCall(const Node& call, const Schema& schema,
                                             absl::string_view name,
                                             const std::vector<TensorFacts>& tensors,
                                             const TensorFacts& facts) const {
  const auto argument = [&](absl::string_view of) { return ArgumentOf(call, schema, of); };
  for (const absl::string_view list : {"size", "shape"}) {
    if (schema.FindArgument(list) == nullptr || name == "expand") continue;
    std::vector<int64_t> sizes;
    const Argument given = argument(list);
    if (!given.is_list() && !given.is_tuple()) return {};
    for (const Argument& size : given.elements()) {
      sizes.push_back(size.is_int() ? std::max<int64_t>(size.integer(), -1) : -1);
    }
    return sizes;
  }
  if (IsPointwise(schema)) return Broadcast(tensors, facts.rank);
  if (tensors.empty()) return {};
  const TensorFacts& first = tensors[0];
  std::vector<int64_t> sizes(first.sizes.begin(), first.sizes.end());
  if (KeepsSizes().contains(name)) return sizes;
  if (sizes.empty() && first.rank != 0) return {};
  const bool reduces = schema.FindArgument("keepdim") != nullptr;
  if (name == "unsqueeze") {
    const auto dims = DimsOf(argument("dim"), first.rank + 1);
    if (!dims.has_value()) return {};
    sizes.insert(sizes.begin() + (*dims)[0], 1);
  } else if (reduces || name == "select") {
    const auto dims = DimsOf(argument("dim"), first.rank);
    const Argument keepdim = argument("keepdim");
    const bool whole = argument("dim").is_none() || (dims.has_value() && dims->empty());
    if (!whole && !dims.has_value()) return {};
    sizes.clear();
    for (int i = 0; i < first.rank; ++i) {
      const bool reduced = whole || absl::c_linear_search(*dims, i);
      if (!reduced) sizes.push_back(first.sizes[static_cast<size_t>(i)]);
      if (reduced && keepdim.is_bool() && keepdim.boolean()) sizes.push_back(1);
    }
  } else if (name == "transpose") {
    const auto a = DimsOf(argument("dim0"), first.rank), b = DimsOf(argument("dim1"), first.rank);
    if (!a.has_value() || !b.has_value()) return {};
    std::swap(sizes[static_cast<size_t>((*a)[0])], sizes[static_cast<size_t>((*b)[0])]);
  } else if (name == "permute") {
    const auto dims = DimsOf(argument("dims"), first.rank);
    if (!dims.has_value() || static_cast<int>(dims->size()) != first.rank) return {};
    for (size_t i = 0; i < sizes.size(); ++i)
      sizes[i] = first.sizes[static_cast<size_t>((*dims)[i])];
  } else {
    return {};
  }
  return sizes;
}

}  // namespace graphnet
