#include "graphnet/facts/shapes/sizes_of_run.h"

#include <algorithm>
#include <cstddef>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/limits.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/schema.h"

namespace graphnet {
namespace {

// Calls that read numbers from a tensor.
bool ReadsData(absl::string_view name) {
  static const auto* const names = new absl::flat_hash_set<absl::string_view>{
      "item",    "tolist",      "_local_scalar_dense", "int",
      "Int",     "IntImplicit", "ScalarImplicit",      "sym_int",
      "__int__", "__index__"};
  return names->contains(name);
}

// Calls that PyTorch tags with dynamic_output_shape, whatever their operands are.
bool MakesSizes(absl::string_view name) {
  static const auto* const names = new absl::flat_hash_set<absl::string_view>{
      "argwhere",           "bincount",   "masked_select",          "nonzero", "unique",
      "unique_consecutive", "unique_dim", "unique_dim_consecutive", "_unique", "_unique2"};
  return names->contains(name);
}

// Calls whose result is the same for all sizes of a tensor.
bool IgnoresSizes(const Node& node, absl::string_view name) {
  static const auto* const names = new absl::flat_hash_set<absl::string_view>{
      "dim",    "ndim",    "ndimension",        "dtype",      "device",
      "layout", "is_cuda", "is_floating_point", "is_complex", "requires_grad"};
  if (node.is_call_function("builtins.getattr"))
    return node.args().size() > 1 && node.args()[1].is_string() &&
           names->contains(node.args()[1].string());
  return names->contains(name);
}

// Returns whether a tensor may stand for an int, as one integer does.
bool MayBeInt(const TensorMeta& meta) {
  const bool is_integer = absl::StartsWith(DTypeName(meta.dtype), "int") ||
                          absl::StartsWith(DTypeName(meta.dtype), "uint");
  return meta.has_shape && meta.shape.empty() && is_integer;
}

// Returns whether a value is known to be a tensor.
bool IsTensor(const Node& node) {
  if (node.meta() != nullptr) return node.tensor_meta() != nullptr;
  const Callable callee = CalleeOf(node);
  return !callee.overloads.empty() && absl::c_all_of(callee.overloads, [](const Schema& schema) {
    return schema.returns.size() == 1 && schema.returns[0].kind == SchemaType::Kind::kTensor &&
           !schema.returns[0].is_list;
  });
}

// Returns whether the parameter that `find` returns for a schema is an int, or a list of them, in
// some overload. Nothing is known of a call without one.
template <typename Find>
bool TakesInt(const Callable& callee, Find&& find) {
  if (callee.kind == Callable::Kind::kPythonOperator) return false;
  if (callee.overloads.empty()) return true;
  return absl::c_any_of(callee.overloads, [&](const Schema& schema) {
    const SchemaArgument* const argument = find(schema);
    return argument != nullptr && argument->type.kind == SchemaType::Kind::kInt;
  });
}

}  // namespace

bool SizesOfRun::DependsOnData(const Node& node) const {
  if (!node.is_call()) return node.is_placeholder() && Has(node);
  // An attribute that the program assigns may have any of the values.
  if (node.is_call_function("prim.GetAttr") && node.args().size() == 3 &&
      node.args()[1].is_string() && assigned_.contains(node.args()[1].string()))
    return true;
  const Callable callee = CalleeOf(node);
  const absl::string_view name = BareName(node);
  const auto is_tensor_at = [&](size_t i) {
    return i < node.args().size() && node.args()[i].is_node() && IsTensor(*node.args()[i].node());
  };
  const bool is_tensor = IsTensor(node);
  if (!is_tensor && is_tensor_at(0) && ReadsData(name) && !IsPlain(*node.args()[0].node()))
    return true;
  const TensorMeta* const meta = node.tensor_meta();
  if (IgnoresSizes(node, name) || (meta != nullptr && meta->has_shape && meta->shape.empty()))
    return false;
  if (MakesSizes(name)) return true;
  if (name == "repeat_interleave" && is_tensor_at(1) && node.kwarg("output_size") == nullptr)
    return true;

  const bool is_index = name == "getitem" || name == "index" || name == "__getitem__";
  const Node* const whole = is_index && !node.args().empty() && node.args()[0].is_node()
                                ? node.args()[0].node()
                                : nullptr;
  // Numbers are all that tensors such as those of arange can be made of.
  bool takes_tensor = false;
  node.ForEachOperand([&](const Node* operand) {
    takes_tensor |= operand->meta() != nullptr || IsTensor(*operand);
  });
  bool depends = false;
  // `is_int`: an int is wanted here, as in a slice, or among ints.
  const auto take = [&](auto&& take, const Argument& argument, bool is_int) -> void {
    if (argument.is_aggregate()) {
      const auto elements = argument.elements();
      is_int |=
          argument.kind() == Argument::Kind::kSlice ||
          (!is_index && absl::c_any_of(elements, [](const Argument& a) { return a.is_int(); }));
      for (const Argument& element : elements) take(take, element, is_int);
      return;
    }
    if (!argument.is_node()) return;
    const Node& operand = *argument.node();
    const TensorMeta* const given = operand.tensor_meta();
    const bool is_mask =
        is_index && given != nullptr && given->dtype == DType::kBool && &operand != whole;
    depends |= is_mask || (is_int && given != nullptr && MayBeInt(*given) && !IsPlain(operand));
    // A number that no size is computed from, such as a factor, changes only values.
    const bool is_value = is_tensor && !is_int && &operand != whole && operand.meta() == nullptr &&
                          !IsTensor(operand);
    depends |= Has(operand) && !is_value;
  };
  // A call may give the ints of a list one by one.
  size_t first_ints = node.args().size();
  for (const Schema& schema : callee.overloads) {
    for (size_t i = 0; i < std::min(first_ints, schema.arguments.size()); ++i) {
      const SchemaType& type = schema.arguments[i].type;
      if (type.is_list && type.kind == SchemaType::Kind::kInt) first_ints = i;
    }
  }
  for (size_t i = 0; i < node.args().size(); ++i) {
    const bool is_int =
        !takes_tensor || i >= first_ints || TakesInt(callee, [i](const Schema& schema) {
          return i < schema.arguments.size() ? &schema.arguments[i] : nullptr;
        });
    take(take, node.args()[i], is_int);
  }
  for (const KwArg& kwarg : node.kwargs()) {
    const bool is_int =
        TakesInt(callee, [&](const Schema& schema) { return schema.FindArgument(kwarg.name); });
    take(take, kwarg.value, is_int);
  }
  return depends;
}

// Traces compute sizes in tensors: prim.NumToTensor.Scalar(%size), and arithmetic on the results.
bool SizesOfRun::IsMadeOfNumbers(const Node& node) const {
  if (!node.is_call()) return false;
  const absl::string_view name = BareName(node);
  bool is_plain = absl::StartsWith(node.target(), "prim.NumToTensor") || name == "scalar_tensor" ||
                  name == "tensor";
  bool is_all = true;
  node.ForEachOperand([&](const Node* operand) {
    const bool is_number = operand->meta() == nullptr && !Has(*operand) && !IsTensor(*operand);
    is_plain |= IsPlain(*operand);
    is_all &= is_number || IsPlain(*operand);
  });
  return is_plain && is_all;
}

void SizesOfRun::Add(const Node& node) {
  if (IsMadeOfNumbers(node)) {
    plain_.insert(&node);
  } else {
    plain_.erase(&node);
  }
  if (DependsOnData(node)) {
    found_.insert(&node);
  } else {
    found_.erase(&node);
  }
}

void SizesOfRun::AddAll(const Module& module) {
  const auto has = [this](const Node* node) { return Has(*node); };
  // A value that a body returns may be handed to the same body again.
  for (int round = 0; round < kMaxNesting; ++round) {
    const size_t before = found_.size();
    for (const Graph* graph : module.graphs()) {
      for (const Node* node : graph->nodes()) {
        Add(*node);
        if (node->is_call_function("prim.SetAttr") && node->args().size() == 3 &&
            node->args()[1].is_string() && absl::c_any_of(node->operands(), has))
          assigned_.insert(node->args()[1].string());
        if (!node->is_call() || !node->HasBody()) continue;
        node->ForEachArgument([&](const Argument& argument) {
          if (!argument.is_graph()) return;
          const Graph& body = *argument.graph();
          const Node* const output = body.output();
          if (output != nullptr && absl::c_any_of(output->operands(), has)) found_.insert(node);
          if (!absl::c_any_of(node->operands(), has)) return;
          for (const Node* placeholder : body.placeholders()) found_.insert(placeholder);
        });
      }
    }
    if (found_.size() == before) return;
  }
}

}  // namespace graphnet
