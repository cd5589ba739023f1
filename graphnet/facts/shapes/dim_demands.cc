// Probes the rules of shapes for sizes that grow (forwards), and finds the sizes that have to grow
// so that others do (backwards).
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/arena.h"
#include "graphnet/facts/shapes/dim_propagation.h"
#include "graphnet/facts/shapes/infer_meta.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {

namespace {

// Returns the sizes of a tensor, or of each tensor in a tuple; nullopt if one is unknown.
std::optional<std::vector<Sizes>> StaticSizes(const Argument& value) {
  std::vector<Sizes> made;
  const auto add = [&](const TensorMeta* meta) {
    std::optional<Sizes> sizes = FactsOfMeta(meta).sizes;
    const bool is_known = sizes.has_value() && FactsOfMeta(meta).is_static();
    if (is_known) made.push_back(*std::move(sizes));
    return is_known;
  };
  const auto elements = value.is_aggregate() ? value.elements() : absl::MakeConstSpan(&value, 1);
  for (const Argument& element : elements) {
    if (!element.is_node() || element.node()->meta() == nullptr) return std::nullopt;
    const ValueMeta& meta = *element.node()->meta();
    if (!meta.is_tuple) {
      if (!add(meta.tensor)) return std::nullopt;
      continue;
    }
    for (const ValueMeta* part : meta.elements) {
      if (part == nullptr || !add(part->tensor)) return std::nullopt;
    }
  }
  return made;
}

}  // namespace

std::optional<std::vector<Sizes>> DimPropagation::Probe(const Node& node, int64_t symbol,
                                                        const Stretch& stretch) const {
  if (!node.is_call() || node.HasBody()) return std::nullopt;
  // Builds the call again, with inputs of the required sizes as its operands.
  Module scratch;
  Graph* graph = scratch.AddGraph("forward");
  Arena arena;
  absl::flat_hash_map<const Node*, Node*> inputs;
  bool is_known = true;
  const auto number = [&](const SymbolicSizes& of) -> Argument {
    is_known &= of.is_number() && of.number.has_value() && !of.number_varies;
    if (!is_known) return Argument();
    return of.number_grows ? *of.number / example_ * symbol : *of.number;
  };
  const auto input = [&](const Node* operand) -> Argument {
    const SymbolicSizes& of = values_[operand];
    if (of.kind == SymbolicSizes::Kind::kNumber) return number(of);
    if (of.is_tuple()) {
      std::vector<Argument> elements;
      for (const SymbolicSizes& element : of.elements) elements.push_back(number(element));
      return Argument::Aggregate(Argument::Kind::kList, arena.Copy(absl::MakeConstSpan(elements)));
    }
    is_known &= of.is_tensor();
    Node*& made = inputs[operand];
    if (made != nullptr || !is_known) return made == nullptr ? Argument() : Argument(made);
    made = graph->Placeholder("x");
    TensorMeta meta;
    if (operand->tensor_meta() != nullptr) meta.dtype = operand->tensor_meta()->dtype;
    meta.has_shape = true;
    std::vector<Dim> dims;
    for (size_t i = 0; i < of.sizes.size(); ++i) {
      const int64_t size = of.grows[i] ? of.sizes[i] / example_ * symbol : of.sizes[i];
      const bool is_stretched = operand == stretch.operand && i == stretch.dim;
      dims.emplace_back(is_stretched ? size * stretch.times : size);
    }
    meta.shape = dims;
    made->set_meta(scratch.InternValueMeta(meta));
    return made;
  };
  // The call takes tensors or numbers in at most one level of lists.
  const auto mapped = [&](const Argument& argument) -> Argument {
    if (argument.is_node()) return input(argument.node());
    if (!argument.is_list() && !argument.is_tuple()) return argument;
    std::vector<Argument> elements;
    for (const Argument& element : argument.elements()) {
      is_known &= !element.is_list() && !element.is_tuple();
      elements.push_back(element.is_node() ? input(element.node()) : element);
    }
    return Argument::Aggregate(argument.kind(), arena.Copy(absl::MakeConstSpan(elements)));
  };
  std::vector<Argument> args;
  std::vector<KwArg> kwargs;
  for (const Argument& argument : node.args()) args.push_back(mapped(argument));
  for (const KwArg& kwarg : node.kwargs()) kwargs.push_back({kwarg.name, mapped(kwarg.value)});
  if (!is_known) return std::nullopt;
  Node* call = node.op() == Op::kCallMethod ? graph->CallMethod(node.target(), args, kwargs)
                                            : graph->CallFunction(node.target(), args, kwargs);
  graph->Output(call);
  const auto lowered = LowerToAten(scratch);
  if (!lowered.ok()) return std::nullopt;
  for (Node* made : lowered->module->main()->nodes()) {
    if (made->is_call()) InferMeta(made);
  }
  return StaticSizes(lowered->values[call]);
}

absl::Status DimPropagation::FollowProbes(const Node& node, SymbolicSizes* out) const {
  const auto unknown = [] {
    return absl::FailedPreconditionError("no rule says how it changes sizes");
  };
  std::vector<SymbolicSizes*> parts = {out};
  if (out->is_tuple()) {
    parts.clear();
    for (SymbolicSizes& element : out->elements) parts.push_back(&element);
  }
  const auto now = Probe(node, example_, {});
  if (!now.has_value() || now->size() != parts.size() || parts.empty()) return unknown();
  for (size_t k = 0; k < parts.size(); ++k) {
    if (!parts[k]->is_tensor() || (*now)[k] != parts[k]->sizes) return unknown();
  }
  bool is_first = true;
  for (const int64_t symbol : {example_ + 1, example_ + 2, int64_t{1}}) {
    if (symbol == example_) continue;
    const auto then = Probe(node, symbol, {});
    if (!then.has_value() || then->size() != parts.size()) {
      return absl::FailedPreconditionError("depends on the size, but not in proportion to it");
    }
    for (size_t k = 0; k < parts.size(); ++k) {
      SymbolicSizes& part = *parts[k];
      if ((*then)[k].size() != part.sizes.size())
        return absl::FailedPreconditionError("takes the dimension away where its size is 1");
      for (size_t i = 0; i < part.sizes.size(); ++i) {
        const int64_t before = part.sizes[i], after = (*then)[k][i];
        const bool grows = after != before;
        const bool fits = !grows || (before % example_ == 0 && after == before / example_ * symbol);
        if (!fits || (!is_first && grows != (part.grows[i] != 0))) {
          return absl::FailedPreconditionError("depends on the size, but not in proportion to it");
        }
        part.grows[i] = grows;
      }
    }
    is_first = false;
  }
  return absl::OkStatus();
}

bool DimPropagation::Force(const Argument& argument, size_t dim) {
  constexpr size_t kMost = 10'000;
  if (!argument.is_node()) return false;
  Demands open = {{argument.node(), dim}};
  std::set<std::pair<const Node*, size_t>> seen;
  Demands makers;
  while (!open.empty()) {
    const auto [node, at] = open.back();
    open.pop_back();
    if (!seen.insert({node, at}).second) continue;
    const SymbolicSizes& of = values_[node];
    if (seen.size() > kMost || !node->is_call() || !of.is_tensor() || at >= of.sizes.size())
      return false;
    if (of.grows[at]) continue;
    if (of.sizes[at] <= 0 || of.sizes[at] % example_ != 0) return false;
    if (IsMade(*node, at)) {
      makers.push_back({node, at});
      continue;
    }
    const std::optional<Demands> more = DemandsOn(*node, at);
    if (!more.has_value() || more->empty()) return false;
    open.insert(open.end(), more->begin(), more->end());
  }
  bool is_new = again_;
  for (const auto& [node, at] : makers) is_new |= forced_[node].insert(at).second;
  // A dimension that was forced before does not help.
  again_ |= is_new;
  return is_new;
}

bool DimPropagation::IsMade(const Node& node, size_t dim) const {
  const absl::string_view name = OperatorName(node), rule = ResultRuleOf(name).sizes;
  const SymbolicSizes& of = values_[&node];
  // A result that counts can only be extended if its dimension is exactly the symbol.
  const bool counts = name == "arange" || name == "eye" || name == "linspace" ||
                      name == "randperm" || name == "slice";
  if (counts && of.sizes[dim] != example_) return false;
  if (name == "arange") {
    // It counts from 0 by 1; FollowRange checks the end again.
    return absl::c_none_of(node.args(), [](const Argument& a) { return a.is_node(); });
  }
  if (name == "eye" || name == "linspace" || name == "randperm") return true;
  if (name == "slice") {
    // It takes the first elements of a longer dimension.
    const Argument* end = node.FindArg("end", 3);
    const SymbolicSizes& in = node.args().empty() ? of : Of(node.args()[0]);
    return end != nullptr && end->is_int() && end->integer() == of.sizes[dim] &&
           in.rank() == of.rank() && in.sizes[dim] > of.sizes[dim] &&
           DimIn(node.FindArg("dim", 1), in.rank(), 0) == static_cast<int>(dim);
  }
  if (rule == "repeat" && !node.args().empty()) {
    const SizeList list = NamedSizes(node, "repeats", 1);
    const SymbolicSizes& in = Of(node.args()[0]);
    const size_t lead = of.sizes.size() - in.sizes.size();
    return in.is_tensor() && !list.is_computed && list.extents.size() == of.sizes.size() &&
           list.extents[dim].number == of.sizes[dim] && (dim < lead || in.sizes[dim - lead] == 1);
  }
  if (rule != "listed" && rule != "expand") return false;
  const SizeList list =
      NamedSizes(node, "size", rule == "expand" || absl::StartsWith(name, "new_") ? 1 : 0);
  if (list.is_computed || dim >= list.extents.size() || list.extents[dim].number == -1)
    return false;
  if (rule == "listed") return true;
  // The dimension must not have its size from the operand.
  const SymbolicSizes& in = node.args().empty() ? of : Of(node.args()[0]);
  if (!in.is_tensor() || of.rank() < in.rank()) return false;
  const size_t lead = of.sizes.size() - in.sizes.size();
  return dim < lead || in.sizes[dim - lead] == 1;
}

std::optional<size_t> DimPropagation::SourceOfSubscript(const Argument& index,
                                                        const SymbolicSizes& in, size_t dim) {
  const auto elements = index.is_tuple() ? index.elements() : absl::MakeConstSpan(&index, 1);
  const auto taken = static_cast<size_t>(absl::c_count_if(elements, [](const Argument& a) {
    return !a.is_none() && a.kind() != Argument::Kind::kEllipsis;
  }));
  size_t from = 0, to = 0;
  for (const Argument& element : elements) {
    if (element.is_none()) {
      if (to++ == dim) return std::nullopt;
    } else if (element.kind() == Argument::Kind::kEllipsis) {
      for (size_t i = taken; i < in.sizes.size(); ++i, ++from) {
        if (to++ == dim) return from;
      }
    } else if (element.is_int()) {
      ++from;
    } else if (element.kind() == Argument::Kind::kSlice) {
      if (to++ == dim) return from;
      ++from;
    } else {
      return std::nullopt;
    }
  }
  const size_t place = from + (dim - to);
  return dim >= to && place < in.sizes.size() ? std::optional(place) : std::nullopt;
}

std::optional<DimPropagation::Demands> DimPropagation::DemandsOn(const Node& node,
                                                                 size_t dim) const {
  const absl::string_view name = OperatorName(node), rule = ResultRuleOf(name).sizes;
  const std::vector<Argument> args = PositionalArgs(node);
  const SymbolicSizes& of = values_[&node];
  const int64_t size = of.sizes[dim];
  Demands made;
  if (CallsPointwise(node)) {
    node.ForEachArgument([&](const Argument& a) {
      if (!a.is_node() || !Of(a).is_tensor()) return;
      const size_t behind = of.sizes.size() - dim, rank = Of(a).sizes.size();
      if (behind <= rank && Of(a).sizes[rank - behind] == size)
        made.push_back({a.node(), rank - behind});
    });
    return made;
  }
  if (name == "cat" || name == "concat" || name == "concatenate" || name == "stack") {
    const bool stacks = name == "stack";
    const Argument* given = node.FindArg("dim", 1);
    const std::optional<int> along = DimIn(given, of.rank(), 0);
    if (args.empty() || !args[0].is_aggregate() || !along.has_value() ||
        static_cast<size_t>(*along) == dim) {
      return std::nullopt;
    }
    const size_t at = stacks && dim > static_cast<size_t>(*along) ? dim - 1 : dim;
    for (const Argument& element : args[0].elements()) {
      if (!element.is_node()) return std::nullopt;
      if (Of(element).sizes.size() == of.sizes.size() - (stacks ? 1 : 0))
        made.push_back({element.node(), at});
    }
    return made;
  }
  if (name == "einsum" && args.size() > 1 && args[0].is_string()) {
    std::string equation(args[0].string());
    equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
    const std::string output = OutputOfEinsum(equation);
    if (absl::StrContains(equation, "...") || dim >= output.size()) return std::nullopt;
    const std::vector<std::string> terms =
        absl::StrSplit(equation.substr(0, equation.find("->")), ',');
    const auto operands =
        args[1].is_aggregate() ? args[1].elements() : absl::MakeConstSpan(args).subspan(1);
    for (size_t i = 0; i < terms.size() && i < operands.size(); ++i) {
      const size_t at = terms[i].find(output[dim]);
      if (at == std::string::npos) continue;
      if (!operands[i].is_node()) return std::nullopt;
      made.push_back({operands[i].node(), at});
    }
    return made;
  }
  if (args.empty() || !args[0].is_node() || !Of(args[0]).is_tensor()) return std::nullopt;
  const SymbolicSizes& in = Of(args[0]);
  Node* const operand = args[0].node();
  if (rule == "matmul" || name == "__matmul__") {
    if (args.size() < 2 || !args[1].is_node() || in.rank() < 2 || Of(args[1]).rank() < 2)
      return std::nullopt;
    const size_t behind = of.sizes.size() - dim;
    for (size_t k = 0; k < 2; ++k) {
      const SymbolicSizes& factor = Of(args[k]);
      if (behind == k + 1) continue;  // Rows come from the first operand, columns from the second.
      if (behind <= factor.sizes.size() && factor.sizes[factor.sizes.size() - behind] == size)
        made.push_back({args[k].node(), factor.sizes.size() - behind});
    }
    return made;
  }
  if (rule == "view" || name == "flatten" || name == "unflatten") {
    // In the other direction, a join is a split.
    SymbolicSizes whole = of, parts = in;
    absl::c_fill(whole.grows, uint8_t{0});
    absl::c_fill(parts.grows, uint8_t{0});
    whole.grows[dim] = 1;
    if (!SplitAndJoin(whole, {}, &parts).ok()) return std::nullopt;
    for (size_t i = 0; i < parts.grows.size(); ++i) {
      // If it is part of a larger dimension, the rest would have to grow with it.
      if (parts.grows[i] && parts.sizes[i] > size) return std::nullopt;
      if (parts.grows[i]) made.push_back({operand, i});
    }
    return made;
  }
  if (name == "getitem" && args.size() > 1) {
    const std::optional<size_t> from = SourceOfSubscript(args[1], in, dim);
    if (!from.has_value() || in.sizes[*from] != size) return std::nullopt;
    return Demands{{operand, *from}};
  }
  // The call keeps the sizes of its only tensor, as .float() does.
  if (in.sizes == of.sizes && (rule == "same" || rule == "-" || rule == "expand")) {
    return Demands{{operand, dim}};
  }
  if (rule == "expand" && of.rank() >= in.rank()) {
    const size_t lead = of.sizes.size() - in.sizes.size();
    if (dim < lead || in.sizes[dim - lead] != size) return std::nullopt;
    return Demands{{operand, dim - lead}};
  }
  // Tries which dimension of an operand it follows.
  const auto now = Probe(node, example_, {});
  if (!now.has_value() || now->size() != 1 || (*now)[0] != of.sizes) return std::nullopt;
  Sizes wanted = of.sizes;
  wanted[dim] *= 2;
  std::optional<Demands> found;
  node.ForEachArgument([&](const Argument& a) {
    if (found.has_value() || !a.is_node() || !Of(a).is_tensor()) return;
    for (size_t i = 0; i < Of(a).sizes.size() && !found.has_value(); ++i) {
      if (Of(a).sizes[i] % example_ != 0) continue;
      const auto then = Probe(node, example_, {a.node(), i, 2});
      if (then.has_value() && (*then)[0] == wanted) found = Demands{{a.node(), i}};
    }
  });
  return found;
}

}  // namespace graphnet
