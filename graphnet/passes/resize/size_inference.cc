// Follows calls that no rule knows, by asking for the shapes of their results.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/infer_meta.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/passes/resize/size_follower.h"

namespace graphnet {
namespace {

// Writes arguments as a key.
void AppendKey(const Argument& argument, std::string* key) {
  switch (argument.kind()) {
    case Argument::Kind::kInt: absl::StrAppend(key, "i", argument.integer()); break;
    case Argument::Kind::kBool: absl::StrAppend(key, "b", argument.boolean()); break;
    case Argument::Kind::kFloat: absl::StrAppend(key, "f", argument.real()); break;
    case Argument::Kind::kString: absl::StrAppend(key, "s", argument.string(), ";"); break;
    default:
      absl::StrAppend(key, "k", static_cast<int>(argument.kind()));
      if (!argument.is_aggregate()) break;
      for (const Argument& element : argument.elements()) {
        key->push_back(',');
        AppendKey(element, key);
      }
      key->push_back(')');
  }
}

using AllSizes = std::vector<std::vector<int64_t>>;

// Returns the sizes of a tensor, or of each tensor in a tuple; nullopt if one is unknown.
std::optional<AllSizes> SizesOfMeta(const ValueMeta* meta) {
  AllSizes made;
  const auto add = [&](const ValueMeta* part) {
    const TensorFacts facts = FactsOfMeta(part == nullptr ? nullptr : part->tensor);
    if (facts.is_static()) made.push_back(*facts.sizes);
    return facts.is_static();
  };
  if (meta == nullptr) return std::nullopt;
  const auto parts = meta->is_tuple ? meta->elements : absl::MakeConstSpan(&meta, 1);
  return absl::c_all_of(parts, add) ? std::optional(std::move(made)) : std::nullopt;
}

// Returns the sizes of what the only call of a module gives, by the rules of facts/shapes.
std::optional<AllSizes> SizesByRules(const Module& module, const Node* call) {
  const auto lowered = LowerToAten(module);
  if (!lowered.ok()) return std::nullopt;
  for (Node* made : lowered->module->main()->nodes()) {
    if (made->is_call()) InferMeta(made);
  }
  const Argument& value = lowered->values[call];
  if (value.is_node()) return SizesOfMeta(value.node()->meta());
  if (!value.is_sequence()) return std::nullopt;
  AllSizes all;
  for (const Argument& element : value.elements()) {
    const auto one = element.is_node() ? SizesOfMeta(element.node()->meta()) : std::nullopt;
    if (!one.has_value()) return std::nullopt;
    all.insert(all.end(), one->begin(), one->end());
  }
  return all;
}

}  // namespace

absl::Status SizeFollower::FollowInferred(Node* node, Extent* out) {
  // The sizes of all tensors that a call returns, and how they change with the operands.
  std::vector<Extent*> parts = {out};
  if (out->is_tuple()) {
    parts.clear();
    for (Extent& element : out->elements) parts.push_back(&element);
  }
  if (!IsAlive(0)) return status[0];
  if (absl::c_any_of(parts, [](const Extent* part) { return !part->is_tensor(); }))
    return absl::FailedPreconditionError("no rule says how it changes sizes");
  std::vector<std::vector<std::vector<int64_t>>> all(points_);
  for (size_t p = 0; p < points_; ++p) {
    if (!IsAlive(p)) {
      all[p] = all[0];
      continue;
    }
    Module scratch;
    Graph* graph = scratch.AddGraph("forward");
    Arena arena;
    absl::flat_hash_map<const Node*, Node*> made;
    std::string key(node->target());
    bool is_known = true;
    const auto operand = [&](const Argument& argument) -> Argument {
      const Extent& of = Of(argument);
      if (of.is_number() && !of.is_tensor()) {
        absl::StrAppend(&key, "n", of.number.at(p));
        return of.number.at(p);
      }
      if (of.is_tuple()) {
        std::vector<Argument> numbers;
        for (const Extent& element : of.elements) {
          is_known &= element.is_number();
          numbers.emplace_back(element.number.at(p));
          absl::StrAppend(&key, "n", element.number.at(p));
        }
        return Argument::List(arena.Copy(absl::MakeConstSpan(numbers)));
      }
      // Numbers that data gives, such as a value for padding, have no effect on sizes in most calls.
      if (argument.node()->is_call() && argument.node()->meta() == nullptr &&
          absl::EndsWith(argument.node()->target(), "item")) {
        return 1;
      }
      is_known &= of.is_tensor();
      if (!of.is_tensor()) return Argument();
      const TensorMeta* recorded = argument.node()->tensor_meta();
      TensorMeta meta;
      if (recorded != nullptr) meta.dtype = recorded->dtype;
      meta.has_shape = true;
      std::vector<Dim> dims;
      absl::StrAppend(&key, "t", static_cast<int>(meta.dtype));
      for (const Size& dim : of.dims) {
        dims.emplace_back(dim.at(p));
        absl::StrAppend(&key, "x", dim.at(p));
      }
      meta.shape = dims;
      Node*& input = made[argument.node()];
      if (input == nullptr) {
        // No sample has an input of such a name.
        input = graph->Placeholder(absl::StrCat("operand ", made.size()));
        input->set_meta(scratch.InternValueMeta(meta));
      }
      return input;
    };
    const auto mapped = [&](const auto& self, const Argument& argument) -> Argument {
      if (argument.is_node()) return operand(argument);
      if (!argument.is_aggregate()) {
        AppendKey(argument, &key);
        if (argument.is_string()) return Argument(*scratch.InternTarget(argument.string()));
        return argument;
      }
      std::vector<Argument> elements;
      key.push_back('(');
      for (const Argument& element : argument.elements()) elements.push_back(self(self, element));
      key.push_back(')');
      return Argument::Aggregate(argument.kind(), arena.Copy(absl::MakeConstSpan(elements)));
    };
    std::vector<Argument> args;
    std::vector<KwArg> kwargs;
    for (const Argument& argument : node->args()) args.push_back(mapped(mapped, argument));
    for (const KwArg& kwarg : node->kwargs()) {
      absl::StrAppend(&key, kwarg.name, "=");
      kwargs.push_back({kwarg.name, mapped(mapped, kwarg.value)});
    }
    if (!is_known) return absl::FailedPreconditionError("has operands whose sizes are not known");
    auto [it, is_new] = inferred_.try_emplace(key);
    if (is_new) {
      Node* call = node->op() == Op::kCallMethod
                       ? graph->CallMethod(node->target(), args, kwargs)
                       : graph->CallFunction(node->target(), args, kwargs);
      graph->Output(call);
      if (infer_ == nullptr) {
        it->second = SizesByRules(scratch, call);
      } else if (infer_(&scratch).ok()) {
        it->second = SizesOfMeta(call->meta());
      }
    }
    if (it->second.has_value() && it->second->size() == parts.size()) {
      all[p] = *it->second;
    } else if (p == 0) {
      return absl::FailedPreconditionError("no rule says how it changes sizes");
    } else {
      GiveUp(*node, "does not take these sizes", [&](size_t at) { return at == p; });
      all[p] = all[0];
    }
  }
  for (size_t k = 0; k < parts.size(); ++k) {
    for (size_t i = 0; i < parts[k]->rank(); ++i) {
      if (all[0][k].size() != parts[k]->rank() || all[0][k][i] != parts[k]->dims[i].base())
        return absl::FailedPreconditionError("has sizes that depend on data");
    }
    for (size_t p = 0; p < points_; ++p) {
      if (all[p][k].size() == parts[k]->rank()) continue;
      GiveUp(*node, "has another number of dimensions", [&](size_t at) { return at == p; });
      all[p][k] = all[0][k];
    }
    for (size_t i = 0; i < parts[k]->rank(); ++i)
      parts[k]->dims[i] = Map([&](size_t p) { return all[p][k][i]; });
  }
  return absl::OkStatus();
}

}  // namespace graphnet
