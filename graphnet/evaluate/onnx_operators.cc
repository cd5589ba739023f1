#include "graphnet/evaluate/onnx_operators.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/ops/callable.h"

namespace graphnet {
namespace {

// A line of onnx_operators.txt.
struct Row {
  absl::string_view flags;
  std::vector<absl::string_view> missing;
};

const Row* FindRow(absl::string_view target) {
  static const auto* const rows = [] {
    auto* made = new absl::flat_hash_map<absl::string_view, Row>();
    for (absl::string_view line : absl::StrSplit(OnnxOperatorsText(), '\n', absl::SkipEmpty())) {
      const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
      (*made)[words[0]] = {words[1], {words.begin() + 2, words.end()}};
    }
    return made;
  }();
  const auto it = rows->find(target);
  return it == rows->end() ? nullptr : &it->second;
}

bool IsComplex(const TensorMeta* meta) {
  return meta != nullptr && absl::StartsWith(DTypeName(meta->dtype), "complex");
}

// Returns whether an operator is an assertion, which the exporter drops.
bool IsAssertion(absl::string_view name) {
  return name == "sym_constrain_range_for_size" || name == "_assert_async" ||
         name == "_assert_scalar" || name == "_assert_tensor_metadata";
}

// Returns whether a call takes a float out of a tensor for another purpose than filling a tensor,
// which workers/onnx_export.py writes without the float.
bool TakesFloatOut(const Node& node, const Schema& schema) {
  if (schema.name != "item" && schema.name != "_local_scalar_dense") return false;
  const std::vector<Node*> operands = node.operands();
  if (operands.empty() || operands[0]->tensor_meta() == nullptr ||
      !IsFloatingPoint(operands[0]->tensor_meta()->dtype))
    return false;
  return absl::c_any_of(node.users(), [&](const Node* user) {
    const bool fills = user->target() == "aten.full.default" && user->args().size() > 1 &&
                       user->args()[1].is_node() && user->args()[1].node() == &node;
    return !fills && !absl::StrContains(user->target(), "assert");
  });
}

// Returns whether a clamp has an int and a float as bounds.
bool HasMixedBounds(const Node& node, const Schema& schema) {
  if (schema.name != "clamp") return false;
  const Argument* const min = schema.Given(node, "min");
  const Argument* const max = schema.Given(node, "max");
  return min != nullptr && max != nullptr &&
         ((min->is_int() && max->is_float()) || (min->is_float() && max->is_int()));
}

// Returns whether a tensor of ints or bools is subtracted from a number of another kind.
bool SubtractsFromOtherNumber(const Node& node, const Schema& schema) {
  const bool is_rsub = schema.name == "rsub";
  if (!is_rsub && schema.name != "sub") return false;
  const Argument* const number = schema.Given(node, is_rsub ? "other" : "self");
  const Argument* const from = schema.Given(node, is_rsub ? "self" : "other");
  if (number == nullptr || from == nullptr || !from->is_node() ||
      from->node()->tensor_meta() == nullptr)
    return false;
  const DType dtype = from->node()->tensor_meta()->dtype;
  if (IsFloatingPoint(dtype)) return false;
  return number->is_float() || (number->is_int() && dtype == DType::kBool);
}

}  // namespace

std::string WhyNotInOnnx(const Node& node) {
  if (node.HasBody()) {
    const bool is_known = absl::EndsWith(node.target(), "cond") ||
                          absl::EndsWith(node.target(), "while_loop") ||
                          absl::EndsWith(node.target(), "scan");
    return is_known ? "" : "the exporter cannot write this call, which has a body";
  }
  if (node.target() == "torch.sym_sum" &&
      absl::c_any_of(node.operands(), [](const Node* term) { return term->is_placeholder(); }))
    return "the exporter cannot add a number and a size that is an input";
  const Callable callee = CalleeOf(node);
  if (callee.kind == Callable::Kind::kPythonOperator || absl::StartsWith(node.target(), "math.") ||
      absl::StartsWith(node.target(), "torch.sym_"))
    return "";
  if (callee.kind != Callable::Kind::kOperator || !callee.names_overload)
    return "the exporter takes ATen's overloads only";
  const Schema& schema = callee.overloads[0];
  if (IsAssertion(schema.name)) return "";
  if (TakesFloatOut(node, schema))
    return "the exporter loses track of a float that is taken out of a tensor";
  if (HasMixedBounds(node, schema))
    return "the exporter finds no overload for an int and a float as bounds";
  if (SubtractsFromOtherNumber(node, schema))
    return "the exporter finds no overload for ints that are taken from a float";
  const Row* row = FindRow(schema.target);
  if (row == nullptr && schema.mutates()) {
    // The exporter replaces it by the call that returns the value that this one writes.
    row = FindRow(absl::StrCat("aten.", absl::StripSuffix(schema.name, "_"), ".", schema.overload));
  }
  if (row == nullptr || row->flags == "x") return "the exporter has no ONNX function for it";
  if (!row->missing.empty()) {
    return absl::StrCat("the exporter has no ONNX function for its parts: ",
                        absl::StrJoin(row->missing, ", "));
  }
  const bool is_direct = row->flags != "d" && row->flags != "u";
  const bool is_complex = absl::c_any_of(
      node.operands(), [](const Node* operand) { return IsComplex(operand->tensor_meta()); });
  if (is_direct && is_complex && !absl::StrContains(row->flags, "c"))
    return "the exporter has no ONNX function for it on complex numbers";
  if (is_direct && !is_complex && !absl::StrContains(row->flags, "r"))
    return "the exporter has an ONNX function for it on complex numbers only";
  return "";
}

MissingCalls MissingInOnnx(const Module& program) {
  MissingCalls missing;
  for (const Graph* graph : program.graphs()) {
    for (const Node* node : graph->nodes()) {
      if (!node->is_call()) continue;
      if (std::string why = WhyNotInOnnx(*node); !why.empty())
        ++missing[{std::string(node->target()), std::move(why)}];
    }
  }
  return missing;
}

namespace {

// Returns whether a call squeezes a dimension of a size other than 1. PyTorch leaves it, ONNX
// fails.
bool SqueezesMoreThanOne(const Node& node) {
  if (node.target() != "aten.squeeze.dim" || node.args().size() != 2 || !node.args()[0].is_node() ||
      !node.args()[1].is_int())
    return false;
  const TensorMeta* const meta = node.args()[0].node()->tensor_meta();
  if (meta == nullptr || !meta->has_shape) return false;
  const auto rank = static_cast<int64_t>(meta->shape.size());
  const int64_t dim = node.args()[1].integer() + (node.args()[1].integer() < 0 ? rank : 0);
  if (dim < 0 || dim >= rank) return false;
  const Dim& size = meta->shape[static_cast<size_t>(dim)];
  return size.is_static() && size.value != 1;
}

}  // namespace

MissingCalls MissingInOnnxRuntime(const Module& program) {
  // Operators that only move or cast values; layer_norm has a kernel of its own.
  static constexpr absl::string_view kTakesBFloat16[] = {
      "to",         "_to_copy",  "view",    "reshape",      "permute",    "transpose",
      "t",          "flatten",   "squeeze", "unsqueeze",    "slice",      "select",
      "split",      "chunk",     "cat",     "stack",        "embedding",  "index_select",
      "contiguous", "clone",     "detach",  "_unsafe_view", "layer_norm", "split_with_sizes",
      "dropout",    "unflatten", "view_as", "reshape_as",   "unbind",     "type_as"};
  MissingCalls missing;
  for (const Graph* graph : program.graphs()) {
    for (const Node* node : graph->nodes()) {
      if (node->is_call() && SqueezesMoreThanOne(*node)) {
        ++missing[{std::string(node->target()), "ONNX Runtime squeezes only dimensions of size 1"}];
        continue;
      }
      const Callable callee = node->is_call() ? CalleeOf(*node) : Callable();
      if (callee.kind != Callable::Kind::kOperator ||
          absl::c_linear_search(kTakesBFloat16, BareName(*node)))
        continue;
      const bool is_bfloat16 = absl::c_any_of(node->operands(), [](const Node* operand) {
        const TensorMeta* const meta = operand->tensor_meta();
        return meta != nullptr && meta->dtype == DType::kBFloat16;
      });
      if (is_bfloat16) {
        ++missing[{std::string(node->target()),
                   "ONNX Runtime computes nothing in bfloat16 on the CPU"}];
      }
    }
  }
  return missing;
}

}  // namespace graphnet
