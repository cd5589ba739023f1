#include "graphnet/passes/tensor_facts.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/memory_use.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/functional_twin.h"

namespace graphnet {
namespace {

using Kind = TensorFacts::Kind;

using Names = absl::flat_hash_set<absl::string_view>;

TensorFacts Tensor(int rank, DType dtype) { return {Kind::kTensor, rank, dtype}; }

// The words of `text`.
Names Words(absl::string_view text) { return absl::StrSplit(text, ' '); }

// What the name of an operator says of its result.
struct Rule {
  enum Rank : uint8_t {
    kByName,  // SetShape has code for it, or nothing is known
    kIs,      // `number`
    kAdds,    // `number` more than the first tensor has
    kSecond,  // that of the second tensor
    kListed,  // as long as the argument `list`
    kWhole,   // 0, without the argument `dim`
  };
  enum : uint8_t { kKeepsDType = 1, kKeepsSizes = 2, kIsBool = 4, kIsInt64 = 8 };
  Rank rank = kByName;
  int number = 0;
  uint8_t flags = 0;
  absl::string_view list;

  bool has(int flag) const { return (flags & flag) != 0; }
};

// Operators without the "_" of those in place.
Rule RuleOf(absl::string_view name) {
  using Table = absl::flat_hash_map<absl::string_view, Rule>;
  static const auto* const table = [] {
    auto* made = new Table;
    const auto add = [made](const Rule& rule, absl::string_view names) {
      for (const absl::string_view name : absl::StrSplit(names, ' ')) made->emplace(name, rule);
    };
    add({Rule::kAdds, 0, Rule::kKeepsSizes | Rule::kKeepsDType},
        "alias contiguous detach empty_like flip full_like index_put layer_norm log_softmax "
        "ones_like rms_norm roll softmax tril triu zeros_like");
    add({Rule::kAdds, 0, Rule::kKeepsSizes},
        "_to_copy cumprod cumsum dropout group_norm lift_fresh log_sigmoid logcumsumexp rand_like "
        "randn_like scatter scatter_add sort to type_as");
    add({Rule::kAdds, 0, Rule::kKeepsSizes | Rule::kIsInt64}, "argsort");
    add({Rule::kAdds, 0, Rule::kKeepsDType},
        "cat chunk conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
        "convolution gather index_select mT moveaxis movedim narrow numpy_T permute slice split "
        "split_with_sizes swapaxes t transpose");
    add({Rule::kAdds},
        "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adjoint avg_pool1d avg_pool2d "
        "avg_pool3d batch_norm concat constant_pad_nd fill glu index_add index_copy index_fill "
        "instance_norm masked_scatter max_pool1d max_pool2d max_pool3d native_layer_norm pad prelu "
        "renorm scaled_dot_product_attention tensor_split topk upsample_bicubic2d "
        "upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d "
        "upsample_nearest3d upsample_trilinear3d zero");
    add({Rule::kAdds, -1, Rule::kKeepsDType}, "diagonal select unbind");
    add({Rule::kAdds, 1, Rule::kKeepsDType}, "stack unsqueeze");
    add({Rule::kAdds, 1}, "diag_embed one_hot");
    add({Rule::kIs, 0}, "dot scalar_tensor vdot");
    add({Rule::kIs, 1, Rule::kKeepsDType}, "mv");
    add({Rule::kIs, 1}, "addmv arange linspace");
    add({Rule::kIs, 2, Rule::kKeepsDType}, "addmm mm");
    add({Rule::kIs, 2}, "eye ger outer");
    add({Rule::kIs, 3, Rule::kKeepsDType}, "baddbmm bmm");
    add({Rule::kSecond, 0, Rule::kKeepsDType}, "expand_as reshape_as view_as");
    add({Rule::kListed, 0, Rule::kKeepsDType, "size"},
        "expand new_empty new_empty_strided new_full new_ones new_zeros view");
    add({Rule::kListed, 0, 0, "size"}, "empty full normal ones rand randint randn zeros");
    add({Rule::kListed, 0, Rule::kKeepsDType, "shape"}, "reshape");
    add({Rule::kListed, 0, Rule::kKeepsDType, "repeats"}, "repeat");
    add({Rule::kByName, 0, Rule::kKeepsDType},
        "amax amin einsum embedding flatten index linear matmul meshgrid repeat_interleave squeeze "
        "tile unflatten");
    add({Rule::kByName, 0, Rule::kIsBool},
        "eq ge greater greater_equal gt isfinite isinf isnan isneginf isposinf le less less_equal "
        "logical_and logical_not logical_or logical_xor lt ne not_equal signbit");
    add({Rule::kByName, 0, Rule::kIsInt64}, "argmax argmin argwhere");
    add({Rule::kWhole, 0, Rule::kIsBool}, "all any");
    add({Rule::kWhole, 0, Rule::kIsInt64}, "count_nonzero");
    add({Rule::kWhole}, "max mean median min norm prod std sum var");
    return made;
  }();
  const auto it = table->find(name);
  return it == table->end() ? Rule() : it->second;
}

// Pointwise on integers with integers for result.
bool KeepsIntegers(absl::string_view name) {
  static const auto* const names = new Names(
      Words("add sub mul neg abs __and__ __or__ __xor__ bitwise_and bitwise_or bitwise_xor "
            "bitwise_not minimum maximum max min clamp clamp_min clamp_max remainder floor_divide "
            "where masked_fill clone square sign relu"));
  return names->contains(name);
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

// What in_dims or out_dims says of the i-th value.
Argument DimAt(const Argument& dims, size_t i) {
  if (!dims.is_list() && !dims.is_tuple()) return dims;
  return i < dims.elements().size() ? dims.elements()[i] : Argument();
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

// The one that is written as -1, of a tensor of known sizes in other ones.
void Complete(const TensorFacts& from, const Argument& list, std::vector<int64_t>* sizes) {
  if (from.rank < 0 || from.sizes.size() != static_cast<size_t>(from.rank)) return;
  int64_t all = 1, known = 1;
  for (const int64_t size : from.sizes) {
    if (size < 0 || __builtin_mul_overflow(all, size, &all)) return;
  }
  for (size_t i = 0; i < sizes->size(); ++i) {
    const int64_t size = (*sizes)[i];
    if (!list.elements()[i].is_int() || __builtin_mul_overflow(known, size < 0 ? 1 : size, &known))
      return;
  }
  if (absl::c_count(*sizes, -1) == 1 && known > 0 && all % known == 0)
    *absl::c_find(*sizes, -1) = all / known;
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

absl::string_view BareName(const Node& call) {
  absl::string_view name = CalleeOf(call).name;
  if (name.empty()) name = call.target();
  name = name.substr(name.rfind('.') + 1);
  if (name.size() > 1 && absl::EndsWith(name, "_") && !absl::EndsWith(name, "__"))
    name.remove_suffix(1);
  return name;
}

bool IsPointwise(const Schema& schema) {
  static const auto* const aliases = new Names(
      Words("__and__ __or__ __xor__ __lshift__ __rshift__ __iand__ __ior__ __ixor__ floor_divide "
            "floor_divide_ absolute divide multiply subtract negative greater greater_equal less "
            "less_equal not_equal fix arccos arcsin arctan arctan2 special_expit softsign clip"));
  const absl::string_view name = OperatorName(schema);
  const bool all_tensors = absl::c_all_of(schema.returns, [](const SchemaType& type) {
    return type.kind == SchemaType::Kind::kTensor;
  });
  if (schema.returns.size() != 1 || !all_tensors) return false;
  if (name == "where" || name == "masked_fill")
    return true;  // in all overloads but where(condition)
  return schema.is_pointwise || aliases->contains(name);
}

bool YieldsBools(absl::string_view name) { return RuleOf(name).has(Rule::kIsBool); }

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

FactsTable::FactsTable(const LoweredModule& lowered, const RefusedCalls& refused)
    : lowered_(lowered),
      refused_(refused),
      facts_(*lowered.module),
      changes_sizes_(*lowered.module) {
  AddGraph(*lowered.module->main(), {});
}

void FactsTable::FindChangedSizes(const Graph& graph) {
  std::vector<const Node*> changed;
  for (const Node* node : graph.nodes()) {
    const Schema* schema = node->is_call() ? FindOverload(node->target()) : nullptr;
    if (schema == nullptr || !ChangesSizes(*schema) || !node->args()[0].is_node()) continue;
    changed.push_back(node);
    changed.push_back(node->args()[0].node());
  }
  // Through calls that yield what they are given, or may, both ways.
  const auto add = [&](const Node* node) {
    if (!changes_sizes_[node]) changed.push_back(node);
  };
  while (!changed.empty()) {
    const Node* const node = changed.back();
    changed.pop_back();
    if (std::exchange(changes_sizes_[node], true)) continue;
    for (const Use& use : node->uses()) {
      if (!MemoryUseOf(*use.user).shared.empty()) add(use.user);
    }
    for (const Node* shared : MemoryUseOf(*node).shared) add(shared);
  }
}

void FactsTable::AddGraph(const Graph& graph, absl::Span<const TensorFacts> parameters) {
  FindChangedSizes(graph);
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
    if (changes_sizes_[node]) {
      facts.rank = -1;
      facts.sizes = {};
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
  std::vector<TensorFacts> parameters;
  int64_t batch = -1;
  for (size_t i = 0; i < operands.size(); ++i) {
    TensorFacts facts = OfArgument(operands[i]);
    const Argument dim = DimAt(dims, i);
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
    const Argument dim = DimAt(out_dims, i);
    if (ambiguous || facts.rank < 0) return Tensor(-1, facts.dtype);
    TensorFacts made = Tensor(facts.rank + (dim.is_none() ? 0 : 1), facts.dtype);
    if (dim.is_none()) {
      made.sizes = facts.sizes;
    } else if (facts.rank == 0 || !facts.sizes.empty()) {
      const auto at = DimsOf(dim, made.rank);
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
      if (!other.is_index()) return Tensor(-1, facts.dtype);
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

TensorFacts FactsTable::OfLiteral(const Node& call) {
  int rank = 0;
  const Argument* data = &call.args()[0];
  while ((data->is_list() || data->is_tuple()) && !data->elements().empty()) {
    ++rank;
    data = &data->elements()[0];
  }
  if (data->is_node()) rank = -1;
  const Argument* dtype = call.kwarg("dtype");
  if (dtype != nullptr && dtype->kind() == Argument::Kind::kDType)
    return Tensor(rank, dtype->dtype());
  return Tensor(rank, data->is_bool()  ? DType::kBool
                      : data->is_int() ? DType::kInt64
                                       : DType::kUnknown);
}

// A call of an operator that yields tensors.
struct FactsTable::Call {
  const Node& node;
  const Schema& schema;
  absl::string_view name;  // without the "_" of one in place
  Rule rule;
  std::vector<TensorFacts> tensors;  // that it takes
  bool has_float = false;            // among its scalars
  bool has_int = false;

  Argument operator[](absl::string_view argument) const {
    if (const Argument* given = schema.Given(node, argument); given != nullptr) return *given;
    const SchemaArgument* declared = schema.FindArgument(argument);
    return declared == nullptr ? Argument() : declared->default_value;
  }
  TensorFacts first() const { return tensors.empty() ? TensorFacts() : tensors[0]; }
};

TensorFacts FactsTable::OfCall(const Node& node) {
  if (refused_.contains(lowered_.origins[&node])) return {Kind::kOther};
  if (node.target() == "torch.vmap") return OfVmap(node);
  if (node.target() == "operator.getitem") return OfSubscript(node);
  if (node.target() == "torch.tensor") return OfLiteral(node);
  const Schema* schema = FindOverload(node.target());
  if (schema == nullptr || schema->returns.empty()) return {Kind::kOther};
  for (const SchemaType& type : schema->returns) {
    if (type.kind != SchemaType::Kind::kTensor) return {Kind::kOther};
  }
  absl::string_view name = OperatorName(*schema);
  if (name.size() > 1 && absl::EndsWith(name, "_") && !absl::EndsWith(name, "__"))
    name.remove_suffix(1);
  Call call{node, *schema, name, RuleOf(name), {}};
  for (const SchemaArgument& argument : schema->arguments) {
    const Argument value = call[argument.name];
    const TensorFacts of = OfArgument(value);
    if (argument.type.kind == SchemaType::Kind::kTensor &&
        (of.is_tensor() || of.kind == Kind::kList)) {
      call.tensors.push_back(of);
    }
    if (argument.type.kind == SchemaType::Kind::kScalar) {
      call.has_float |=
          value.is_float() || value.kind() == Argument::Kind::kComplex || value.is_node();
      call.has_int |= value.is_int();
    }
  }
  // What is written to stays what it is.
  if (schema->mutates() && !schema->yields_tuple() && schema->arguments[0].type.is_mutated &&
      call.first().is_tensor() && !ChangesSizes(*schema)) {
    return call.first();
  }
  TensorFacts facts;
  facts.kind = schema->yields_tuple() ? Kind::kList : Kind::kTensor;
  facts.dtype = DTypeOf(call);
  SetShape(call, &facts);
  return facts;
}

DType FactsTable::DTypeOf(const Call& call) const {
  const Argument dtype = call["dtype"];
  const std::vector<TensorFacts>& tensors = call.tensors;
  if (call.schema.mutates()) return call.first().dtype;  // whatever is written to it
  if (dtype.kind() == Argument::Kind::kDType) return dtype.dtype();
  if (call.rule.has(Rule::kIsBool)) return DType::kBool;
  if (call.name == "to" && dtype.is_none()) {
    const Argument other = call["other"];
    return other.is_none() ? call.first().dtype : OfArgument(other).dtype;
  }
  if (call.name == "type_as" && tensors.size() == 2) return tensors[1].dtype;
  if (call.rule.has(Rule::kIsInt64)) return DType::kInt64;
  if (call.rule.has(Rule::kKeepsDType)) return call.first().dtype;
  if (IsPointwise(call.schema) && !tensors.empty()) {
    const size_t skip = call.name == "where" ? 1 : 0;
    DType common = skip < tensors.size() ? tensors[skip].dtype : DType::kUnknown;
    for (size_t i = skip; i < tensors.size() && call.name != "masked_fill"; ++i) {
      if (tensors[i].dtype != common) common = DType::kUnknown;
    }
    const bool keeps = IsFloatingPoint(common) || (KeepsIntegers(call.name) && !call.has_float &&
                                                   !(call.has_int && common == DType::kBool));
    const bool is_complex =
        common == DType::kComplex32 || common == DType::kComplex64 || common == DType::kComplex128;
    return keeps && !(call.name == "abs" && is_complex) ? common : DType::kUnknown;
  }
  if (call.name != "arange") return DType::kUnknown;
  for (const absl::string_view part : {"start", "end", "step"}) {
    const Argument value = call[part];
    if (!value.is_none() && !value.is_int()) return DType::kUnknown;
  }
  return DType::kInt64;
}

void FactsTable::SetShape(const Call& call, TensorFacts* facts) {
  const TensorFacts first = call.first();
  const std::vector<TensorFacts>& tensors = call.tensors;
  const Rule& rule = call.rule;
  const absl::string_view name = call.name;
  const auto set_sizes = [&](const std::vector<int64_t>& sizes) {
    facts->rank = static_cast<int>(sizes.size());
    if (facts->is_tensor()) facts->sizes = Keep(sizes);
  };
  if (IsPointwise(call.schema)) {
    int rank = tensors.empty() ? -1 : 0;
    for (const TensorFacts& t : tensors) {
      rank = rank < 0 || t.rank < 0 ? -1 : std::max(rank, t.rank);
    }
    if (rank >= 0) set_sizes(Broadcast(tensors, rank));
    return;
  }
  if (rule.rank == Rule::kListed && call.schema.FindArgument(rule.list) != nullptr) {
    const Argument list = call[rule.list];
    facts->rank = LengthOf(list).value_or(-1);
    if (list.is_int() || facts->rank < 0 || name == "expand" || name == "repeat") return;
    std::vector<int64_t> sizes;
    for (const Argument& size : list.elements()) {
      sizes.push_back(size.is_int() ? std::max<int64_t>(size.integer(), -1) : -1);
    }
    if (name == "view" || name == "reshape") Complete(first, list, &sizes);
    return set_sizes(sizes);
  }
  if (rule.rank == Rule::kListed) {
    if (name == "view") facts->rank = first.rank;  // as another dtype
    return;
  }
  if (rule.rank == Rule::kIs) {
    facts->rank = rule.number;
    return;
  }
  if (rule.rank == Rule::kSecond) {
    facts->rank = tensors.size() == 2 ? tensors[1].rank : -1;
    return;
  }
  if (name == "matmul" && tensors.size() == 2 && tensors[0].rank > 0 && tensors[1].rank > 0) {
    const int a = tensors[0].rank, b = tensors[1].rank;
    facts->rank = a == 1 && b == 1 ? 0 : a == 1 ? b - 1 : b == 1 ? a - 1 : std::max(a, b);
    return;
  }
  if (name == "meshgrid") {
    facts->rank = LengthOf(call["tensors"]).value_or(-1);
    return;
  }
  if (name == "einsum" && call["equation"].is_string()) {
    facts->rank = RankOfEinsum(call["equation"].string(), call["tensors"]);
    return;
  }
  if (first.rank < 0) return;  // Of what follows, all depend on it.
  std::vector<int64_t> sizes(first.sizes.begin(), first.sizes.end());
  const bool has_sizes = !sizes.empty() || first.rank == 0;
  const auto size_of = [&](int i) { return sizes[static_cast<size_t>(i)]; };
  if (name == "linear") {
    const int weight = tensors.size() > 1 ? tensors[1].rank : -1;
    if (weight >= 1) facts->rank = first.rank - (weight == 1 ? 1 : 0);
  } else if (name == "squeeze") {
    std::optional<std::vector<int>> dims = DimsOf(call["dim"], first.rank);
    if (call.schema.FindArgument("dim") == nullptr) {
      dims.emplace(static_cast<size_t>(first.rank));
      absl::c_iota(*dims, 0);
    }
    const bool known = dims.has_value() && has_sizes &&
                       absl::c_all_of(*dims, [&](int i) { return size_of(i) >= 0; });
    if (!known) return;
    std::vector<int64_t> left;
    for (int i = 0; i < first.rank; ++i) {
      if (!absl::c_linear_search(*dims, i) || size_of(i) != 1) left.push_back(size_of(i));
    }
    set_sizes(left);
  } else if (call.schema.FindArgument("keepdim") != nullptr || name == "select") {
    const Argument dim = call["dim"], keepdim = call["keepdim"];
    const SchemaArgument* declared = call.schema.FindArgument("dim");
    // A list that is no value here, as [-2, -1].
    if (dim.is_none() && declared != nullptr && declared->has_default &&
        declared->default_text != "None") {
      return;
    }
    const bool keeps = keepdim.is_bool() && keepdim.boolean();
    const auto dims = DimsOf(dim, first.rank);
    const bool whole = dim.is_none() || LengthOf(dim) == 0;
    const int removed = whole ? first.rank : name == "select" ? 1 : LengthOf(dim).value_or(-1);
    facts->rank = keeps ? first.rank : removed < 0 ? -1 : std::max(0, first.rank - removed);
    if (!has_sizes || (!whole && !dims.has_value())) return;
    std::vector<int64_t> left;
    for (int i = 0; i < first.rank; ++i) {
      const bool reduced = whole || absl::c_linear_search(*dims, i);
      if (!reduced || keeps) left.push_back(reduced ? 1 : size_of(i));
    }
    if (static_cast<int>(left.size()) == facts->rank) set_sizes(left);  // no dimension twice
  } else if (rule.rank == Rule::kAdds) {
    facts->rank = first.rank + rule.number;
    if (rule.has(Rule::kKeepsSizes) && has_sizes) return set_sizes(sizes);
    if (!has_sizes) return;
    if (name == "unsqueeze") {
      const auto dims = DimsOf(call["dim"], first.rank + 1);
      if (!dims.has_value()) return;
      sizes.insert(sizes.begin() + (*dims)[0], 1);
      set_sizes(sizes);
    } else if (name == "transpose") {
      const auto a = DimsOf(call["dim0"], first.rank), b = DimsOf(call["dim1"], first.rank);
      if (!a.has_value() || !b.has_value()) return;
      std::swap(sizes[static_cast<size_t>((*a)[0])], sizes[static_cast<size_t>((*b)[0])]);
      set_sizes(sizes);
    } else if (name == "permute") {
      const auto dims = DimsOf(call["dims"], first.rank);
      if (!dims.has_value() || static_cast<int>(dims->size()) != first.rank) return;
      std::vector<int64_t> permuted;
      for (const int dim : *dims) permuted.push_back(size_of(dim));
      set_sizes(permuted);
    }
  } else if (name == "flatten") {
    const auto place = [&](const Argument& a, int64_t otherwise) {
      const int64_t at = a.is_int() ? a.integer() : otherwise;
      return static_cast<int>(at < 0 ? at + first.rank : at);
    };
    const int start = place(call["start_dim"], 0), end = place(call["end_dim"], -1);
    facts->rank = first.rank == 0 ? 1 : first.rank - (end - start);
  } else if (name == "unflatten") {
    const std::optional<int> length = LengthOf(call["sizes"]);
    if (length.has_value()) facts->rank = first.rank + *length - 1;
  } else if (name == "embedding") {
    if (tensors.size() == 2 && tensors[1].rank >= 0) facts->rank = tensors[1].rank + 1;
  } else if (name == "index" && call["indices"].is_list()) {
    int tensor_rank = 0, indexed = 0;
    for (const Argument& element : call["indices"].elements()) {
      if (element.is_none()) continue;
      const TensorFacts of = OfArgument(element);
      if (!of.is_index()) return;
      tensor_rank = std::max(tensor_rank, of.rank);
      ++indexed;
    }
    facts->rank = first.rank - indexed + tensor_rank;
  } else if (name == "repeat_interleave") {
    facts->rank = call["dim"].is_none() ? 1 : first.rank;
  } else if (rule.rank == Rule::kWhole && call["dim"].is_none()) {
    facts->rank = 0;
  }
}

}  // namespace graphnet
