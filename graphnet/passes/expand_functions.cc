#include "graphnet/passes/expand_functions.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/expansion.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

using expansion::kMaxSize;
using expansion::Results;
using expansion::Steps;
using expansion::Unknown;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// --- torch.nn.functional.multi_head_attention_forward --------------------------------

// As _canonical_mask: turns a mask of bools into one of 0 and -inf.
Argument FloatMask(Steps& s, const Argument& mask, DType dtype) {
  if (mask.is_none() || s.Facts(mask).dtype != DType::kBool) return mask;
  const Argument zeros = s.Aten("zeros_like.default", {mask}, {{"dtype", dtype}});
  return s.Aten("masked_fill.Scalar", {zeros, mask, -kInfinity});
}

// Checks everything that is needed before a call is written.
absl::Status CheckAttention(const Steps& s) {
  const TensorFacts query = s.Facts(s["query"]);
  if (query.rank() != 2 && query.rank() != 3) return Unknown("the rank of its query");
  const auto is_size = [&s](absl::string_view name) {
    return s[name].is_int() && s[name].integer() > 0 && s[name].integer() <= kMaxSize;
  };
  if (!is_size("embed_dim_to_check")) return Unknown("the size of its embedding");
  if (!is_size("num_heads")) return Unknown("the number of its heads");
  for (const absl::string_view name : {"key_padding_mask", "attn_mask"}) {
    if (!s.Has(name)) continue;
    if (s.Facts(s[name]).dtype == DType::kUnknown)
      return Unknown(absl::StrCat("the dtype of its ", name));
    if (s.Facts(s[name]).dtype == DType::kBool && query.dtype == DType::kUnknown)
      return Unknown("the dtype of its query");
  }
  if (s.Has("attn_mask") && s.Facts(s["attn_mask"]).rank() < 0)
    return Unknown("the rank of its attn_mask");
  if (s.IsTrue("is_causal") && !s.Has("attn_mask")) return Unknown("the mask that is_causal means");
  return absl::OkStatus();
}

// Projects query, key and value as _in_projection and _in_projection_packed do, which depends on
// whether they are the same tensor.
std::vector<Argument> Project(Steps& s, const Argument& query, const Argument& key,
                              const Argument& value) {
  const int64_t embed = s["embed_dim_to_check"].integer();
  const Argument bias = s["in_proj_bias"];
  const auto linear = [&](const Argument& x, const Argument& weight, const Argument& b) {
    return s.Aten("linear.default", {x, weight, b});
  };
  // Takes rows of weight and bias, from one multiple of the embedding size to another.
  const auto rows = [&](const Argument& x, int64_t from, int64_t to) {
    return x.is_none() ? x : s.Aten("slice.Tensor", {x, 0, from * embed, to * embed});
  };
  if (s.IsTrue("use_separate_proj_weight")) {
    return {linear(query, s["q_proj_weight"], rows(bias, 0, 1)),
            linear(key, s["k_proj_weight"], rows(bias, 1, 2)),
            linear(value, s["v_proj_weight"], rows(bias, 2, 3))};
  }
  const Argument weight = s["in_proj_weight"];
  const auto part = [&](const Argument& packed, int64_t i) {
    const Argument slice = s.Aten("slice.Tensor", {packed, -1, i * embed, (i + 1) * embed});
    return s.Aten("contiguous.default", {slice});
  };
  if (key == value && query == key) {
    const Argument all = linear(query, weight, bias);
    return {part(all, 0), part(all, 1), part(all, 2)};
  }
  if (key == value) {
    const Argument projected = linear(query, rows(weight, 0, 1), rows(bias, 0, 1));
    const Argument both = linear(key, rows(weight, 1, 3), rows(bias, 1, 3));
    return {projected, part(both, 0), part(both, 1)};
  }
  return {linear(query, rows(weight, 0, 1), rows(bias, 0, 1)),
          linear(key, rows(weight, 1, 2), rows(bias, 1, 2)),
          linear(value, rows(weight, 2, 3), rows(bias, 2, 3))};
}

// Follows torch/nn/functional.py.
absl::StatusOr<Results> Attention(Steps& s) {
  RETURN_IF_ERROR(CheckAttention(s));
  const DType dtype = s.Facts(s["query"]).dtype;
  const bool is_batched = s.Facts(s["query"]).rank() == 3;
  const int64_t embed = s["embed_dim_to_check"].integer(), heads = s["num_heads"].integer();
  const int64_t head = embed / heads;
  const bool need_weights = s.IsTrue("need_weights");
  bool is_causal = s.IsTrue("is_causal");

  const Argument targets = s.Size(s["query"], 0);
  const Argument batch = is_batched ? s.Size(s["query"], 1) : Argument(1);
  const Argument all_heads = s.Times(batch, heads);
  Argument query = s["query"], key = s["key"], value = s["value"];
  Argument padding = FloatMask(s, s["key_padding_mask"], dtype), mask = s["attn_mask"];
  int mask_rank = mask.is_none() ? 0 : s.Facts(mask).rank();
  if (!is_batched) {
    for (Argument* x : {&query, &key, &value}) *x = s.Aten("unsqueeze.default", {*x, 1});
    if (!padding.is_none()) padding = s.Aten("unsqueeze.default", {padding, 0});
  }
  if (is_causal && padding.is_none() && !need_weights) {
    mask = Argument();
  } else {
    mask = FloatMask(s, mask, dtype);
    if (!padding.is_none()) is_causal = false;
  }

  const std::vector<Argument> projected = Project(s, query, key, value);
  Argument k = projected[1], v = projected[2];
  const auto pad_masks = [&] {
    if (!mask.is_none()) mask = s.Aten("pad.default", {mask, s.List({0, 1})});
    if (!padding.is_none()) padding = s.Aten("pad.default", {padding, s.List({0, 1})});
  };
  if (s.Has("bias_k") && s.Has("bias_v")) {
    const auto append = [&](const Argument& x, const Argument& bias) {
      const Argument repeated = s.Aten("repeat.default", {bias, s.List({1, batch, 1})});
      return s.Aten("cat.default", {s.List({x, repeated})});
    };
    k = append(k, s["bias_k"]);
    v = append(v, s["bias_v"]);
    pad_masks();
  }
  const auto split_heads = [&](const Argument& x) {
    const Argument apart = s.Aten("view.default", {x, s.List({-1, all_heads, head})});
    return s.Aten("transpose.int", {apart, 0, 1});
  };
  const Argument q = split_heads(projected[0]);
  k = s.Has("static_k") ? s["static_k"] : split_heads(k);
  v = s.Has("static_v") ? s["static_v"] : split_heads(v);
  if (s.IsTrue("add_zero_attn")) {
    const auto append = [&](const Argument& x) {
      const Argument zeros = s.Aten("new_zeros.default", {x, s.List({all_heads, 1, head})});
      return s.Aten("cat.default", {s.List({x, zeros}), 1});
    };
    k = append(k);
    v = append(v);
    pad_masks();
  }
  if (mask_rank == 2 && !mask.is_none()) mask = s.Aten("unsqueeze.default", {mask, 0});
  if (!padding.is_none()) {
    const Argument wide =
        s.Aten("unsqueeze.default", {s.Aten("unsqueeze.default", {padding, 1}), 2});
    const Argument spread = s.Aten("expand.default", {wide, s.List({-1, heads, -1, -1})});
    padding = s.Aten("reshape.default", {spread, s.List({all_heads, 1, -1})});
    mask = mask.is_none() ? padding : s.Aten("add.Tensor", {mask, padding});
    mask_rank = 3;
  }
  const Argument dropout = s.IsTrue("training") ? s["dropout_p"] : Argument(0.0);
  const bool drops =
      !(dropout.is_float() && dropout.real() == 0) && !(dropout.is_int() && dropout.integer() == 0);

  const auto project_out = [&](const Argument& rows) {
    const Argument joined = s.Aten("reshape.default", {rows, s.List({-1, embed})});
    const Argument made =
        s.Aten("linear.default", {joined, s["out_proj_weight"], s["out_proj_bias"]});
    const Argument output = s.Aten("view.default", {made, s.List({targets, batch, -1})});
    return is_batched ? output : s.Aten("squeeze.dim", {output, 1});
  };
  if (need_weights) {
    const Argument scaled = s.Aten("mul.Scalar", {q, std::sqrt(1.0 / static_cast<double>(head))});
    const Argument turned = s.Aten("transpose.int", {k, -2, -1});
    const Argument scores = mask.is_none() ? s.Aten("bmm.default", {scaled, turned})
                                           : s.Aten("baddbmm.default", {mask, scaled, turned});
    Argument weights = s.Aten("softmax.int", {scores, -1});
    if (drops) weights = s.Aten("dropout.default", {weights, dropout, true});
    const Argument product = s.Aten("bmm.default", {weights, v});
    const Argument output = project_out(s.Aten("transpose.int", {product, 0, 1}));
    weights = s.Aten("view.default", {weights, s.List({batch, heads, targets, -1})});
    if (s.IsTrue("average_attn_weights")) weights = s.Aten("mean.dim", {weights, s.List({1})});
    if (!is_batched) weights = s.Aten("squeeze.dim", {weights, 0});
    return Results{output, weights};
  }
  if (!mask.is_none()) {
    const Argument rows = s.Has("attn_mask") ? targets : Argument(1);
    mask = mask_rank == 2 ? s.Aten("unsqueeze.default", {mask, 0})
                          : s.Aten("view.default", {mask, s.List({batch, heads, rows, -1})});
  }
  const auto apart = [&](const Argument& x, const Argument& length) {
    return s.Aten("view.default", {x, s.List({batch, heads, length, head})});
  };
  const Argument attended = s.Aten("scaled_dot_product_attention.default",
                                   {apart(q, targets), apart(k, -1), apart(v, -1), mask,
                                    drops ? dropout : Argument(0.0), is_causal});
  return Results{project_out(s.Aten("permute.default", {attended, s.List({2, 0, 1, 3})})),
                 Argument()};
}

// --- torch._weight_norm ------------------------------------------------------------------

// g * v / |v|, with the norm over all dimensions but one.
absl::StatusOr<Results> WeightNorm(Steps& s) {
  const int rank = s.Facts(s["v"]).rank();
  const Argument dim = s["dim"];
  if (rank < 1 || !dim.is_int() || dim.integer() >= rank || dim.integer() < -1)
    return Unknown("the rank of its weights");
  // Here -1 does not mean the last dimension but none.
  std::vector<Argument> others;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != dim.integer()) others.emplace_back(i);
  }
  const Argument norm = s.Aten("linalg_vector_norm.default",
                               {s["v"], 2, Argument::List(others), dim.integer() != -1});
  return Results{s.Aten("mul.Tensor", {s["v"], s.Aten("div.Tensor", {s["g"], norm})})};
}

// --- torch.nn.functional.interpolate ------------------------------------------------------

// Returns `given` for each of `dims` dimensions; scales become floats.
Argument ForAll(Steps& s, const Argument& given, size_t dims, bool is_scale) {
  const auto number = [is_scale](const Argument& a) {
    return is_scale && a.is_int() ? Argument(static_cast<double>(a.integer())) : a;
  };
  if (given.is_list() || given.is_tuple()) {
    std::vector<Argument> all;
    for (const Argument& element : given.elements()) all.push_back(number(element));
    return s.List(std::move(all));
  }
  // Repeat a number; any other value of a node is a list already.
  if (given.is_int() || given.is_float()) return s.List(std::vector<Argument>(dims, number(given)));
  return given;
}

// Computes the sizes that scales mean, for recompute_scale_factor and for modes that average areas.
absl::StatusOr<Argument> ScaledSizes(Steps& s, const TensorFacts& input, const Argument& scales) {
  std::vector<Argument> sizes;
  if (!scales.is_list()) return Unknown("its scale");
  for (size_t i = 0; i < scales.elements().size(); ++i) {
    const Argument& scale = scales.elements()[i];
    if (!scale.is_float()) return Unknown("its scale");
    const int64_t size =
        input.sizes.has_value() && i + 2 < input.sizes->size() ? (*input.sizes)[i + 2] : -1;
    if (size < 0 || size > kMaxSize) return Unknown("the size of its input");
    const double made = std::trunc(static_cast<double>(size) * scale.real());
    if (!(made >= 0 && made <= static_cast<double>(kMaxSize))) return Unknown("the size it makes");
    sizes.emplace_back(static_cast<int64_t>(made));
  }
  return s.List(std::move(sizes));
}

// Chooses among the operators as torch/nn/functional.py does.
absl::StatusOr<Results> Interpolate(Steps& s) {
  const TensorFacts input = s.Facts(s["input"]);
  if (input.rank() < 3 || input.rank() > 5) return Unknown("the rank of its input");
  const auto dims = static_cast<size_t>(input.rank() - 2);
  if (!s["mode"].is_string()) return Unknown("its mode");
  const absl::string_view mode = s["mode"].string();
  if (s.Has("size") == s.Has("scale_factor")) return Unknown("whether size or scale_factor");
  Argument size = ForAll(s, s["size"], dims, /*is_scale=*/false);
  Argument scales = ForAll(s, s["scale_factor"], dims, /*is_scale=*/true);
  if (size.is_none() && (s.IsTrue("recompute_scale_factor") || mode == "area")) {
    ASSIGN_OR_RETURN(size, ScaledSizes(s, input, scales));
    scales = Argument();
  }
  if (mode == "area")
    return Results{
        s.Aten(absl::StrCat("adaptive_avg_pool", dims, "d.default"), {s["input"], size})};
  if (mode == "nearest" || mode == "nearest-exact") {
    return Results{
        s.Aten(absl::StrCat(mode == "nearest" ? "upsample_nearest" : "_upsample_nearest_exact",
                            dims, "d.vec"),
               {s["input"], size, scales})};
  }
  const bool is_smooth = s.IsTrue("antialias");
  const std::string overload = absl::StrCat(is_smooth ? "_" : "", "upsample_", mode, dims, "d",
                                            is_smooth ? "_aa" : "", ".vec");
  if (FindOverload(absl::StrCat("aten.", overload)) == nullptr)
    return Unknown(absl::StrCat("an operator for mode ", mode, " of ", dims, " dimensions"));
  const Argument align = s.Has("align_corners") ? s["align_corners"] : Argument(false);
  return Results{s.Aten(overload, {s["input"], size, align, scales})};
}

// --- _native_multi_head_attention ---------------------------------------------------

// Follows aten/src/ATen/native/transformers/attention.cpp for the case in which query, key and
// value are one tensor.
absl::StatusOr<Results> NativeAttention(Steps& s) {
  const Argument query = s["query"];
  if (s["key"] != query || s["value"] != query) return Unknown("how several inputs are projected");
  if (!s["embed_dim"].is_int() || !s["num_head"].is_int())
    return Unknown("the number of its heads");
  const int64_t embed = s["embed_dim"].integer(), heads = s["num_head"].integer();
  if (embed <= 0 || embed > kMaxSize || heads <= 0 || embed % heads != 0)
    return Unknown("the size of its heads");
  const int64_t head = embed / heads;
  const bool is_padding = s["mask_type"] == Argument(1);
  if (s.Has("mask") && s.Facts(s["mask"]).dtype != DType::kBool) return Unknown("its mask");
  if (s.Has("mask") && !s["mask_type"].is_int()) return Unknown("the kind of its mask");
  const Argument batch = s.Size(query, 0), length = s.Size(query, 1);

  const Argument projected = s.Aten("linear.default", {query, s["qkv_weight"], s["qkv_bias"]});
  const Argument apart =
      s.Aten("view.default", {projected, s.List({batch, length, 3, heads, head})});
  const Argument by_part = s.Aten("permute.default", {apart, s.List({2, 0, 3, 1, 4})});
  const auto part = [&](int64_t i) { return s.Aten("select.int", {by_part, 0, i}); };
  const Argument scaled = s.Aten("div.Scalar", {part(0), std::sqrt(static_cast<double>(head))});
  const Argument turned = s.Aten("transpose.int", {part(1), -2, -1});
  Argument scores = s.Aten("matmul.default", {scaled, turned});
  if (s.Has("mask")) {
    Argument mask = s["mask"];
    if (is_padding) {
      mask = s.Aten("unsqueeze.default", {mask, 1});
      mask = s.Aten("unsqueeze.default", {mask, 1});
    }
    scores = s.Aten("masked_fill.Scalar", {scores, mask, -kInfinity});
  }
  const Argument weights = s.Aten("softmax.int", {scores, -1});
  const Argument context = s.Aten("matmul.default", {weights, part(2)});
  const Argument back = s.Aten("transpose.int", {context, 1, 2});
  const Argument joined = s.Aten("reshape.default", {back, s.List({batch, length, embed})});
  const Argument out = s.Aten("linear.default", {joined, s["proj_weight"], s["proj_bias"]});
  if (!s.IsTrue("need_weights")) return Results{out, Argument()};
  if (!s.IsTrue("average_attn_weights")) return Results{out, weights};
  return Results{out, s.Aten("mean.dim", {weights, s.List({1})})};
}

// -------------------------------------------------------------------------------------------

using Function = absl::StatusOr<Results> (*)(Steps&);

// Operators to expand that most consumers have.
struct Choices {
  bool fused = false;      // those that PyTorch has fused
  bool recurrent = false;  // recurrent layers
};

Function FunctionOf(const Callable& callee, const Choices& choices) {
  if (callee.is_function("torch.nn.functional.multi_head_attention_forward")) return Attention;
  if (callee.is_function("torch.nn.functional.interpolate") ||
      callee.is_function("torch.nn.functional.upsample")) {
    return Interpolate;
  }
  if (callee.kind != Callable::Kind::kOperator) return nullptr;
  if (callee.name == "_weight_norm") return WeightNorm;
  if (choices.fused && callee.name == "_native_multi_head_attention") return NativeAttention;
  if (!choices.recurrent) return nullptr;
  if (callee.name == "lstm") return expansion::Lstm;
  if (callee.name == "gru") return expansion::Gru;
  if (callee.name == "rnn_tanh") return expansion::RnnTanh;
  if (callee.name == "rnn_relu") return expansion::RnnRelu;
  return nullptr;
}

// Returns the overload of tensors. That of packed sequences lacks one of its lists at its place.
const Schema& SchemaOf(const Callable& callee) {
  const auto of_tensors = absl::c_find_if(
      callee.overloads, [](const Schema& schema) { return schema.FindArgument("batch_first"); });
  return of_tensors == callee.overloads.end() ? callee.overloads[0] : *of_tensors;
}

// Replaces a call by its results, with the name and metas that were known.
void Replace(Node* call, const Results& results, bool is_tuple) {
  const std::string name(call->name());
  const ValueMeta* const meta = call->meta();
  if (!is_tuple) {
    Node* const made = results[0].node();
    made->set_meta(meta);
    call->ReplaceAllUsesWith(made);
    call->graph()->EraseNode(call);
    made->set_name(name);
    return;
  }
  for (Node* user : call->users()) {
    const bool takes_one = user->is_call_function("operator.getitem") && user->args().size() == 2 &&
                           user->args()[0].is_node() && user->args()[1].is_int();
    const auto count = static_cast<int64_t>(results.size());
    int64_t i = takes_one ? user->args()[1].integer() : 0;
    if (i < 0) i += count;
    if (!takes_one || i < 0 || i >= count || !results[static_cast<size_t>(i)].is_node()) {
      user->MapArguments([&](const Argument& a) {
        return a.is_node() && a.node() == call ? Argument::Tuple(results) : a;
      });
      continue;
    }
    Node* const made = results[static_cast<size_t>(i)].node();
    if (user->meta() != nullptr) made->set_meta(user->meta());
    const std::string label(user->name());
    user->ReplaceAllUsesWith(made);
    call->graph()->EraseNode(user);
    made->set_name(label);
  }
  call->graph()->EraseNode(call);
}

}  // namespace

absl::StatusOr<bool> ExpandFunctions(Module* module, PassRun& run) {
  ASSIGN_OR_RETURN(const bool keeps_interpolate, run.flag("keep_interpolate"));
  Choices choices;
  ASSIGN_OR_RETURN(choices.fused, run.flag("fused"));
  ASSIGN_OR_RETURN(choices.recurrent, run.flag("recurrent"));
  std::vector<Node*> calls;
  for (const Graph* graph : module->graphs()) {
    for (Node* node : graph->nodes()) {
      if (!node->is_call()) continue;
      const Function function = FunctionOf(CalleeOf(*node), choices);
      if (function != nullptr && !(keeps_interpolate && function == Interpolate))
        calls.push_back(node);
    }
  }
  if (calls.empty()) return false;
  RefusedCalls refused;
  ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(*module, &refused));
  const FactsTable facts(lowered, refused);
  const auto facts_of = [&](const Node* node) {
    const Argument& value = lowered.values[node];
    return value.is_node() ? facts.Of(value.node()) : TensorFacts();
  };
  bool changed = false;
  // Go backwards, so that the facts still describe the operands of each call.
  for (auto it = calls.rbegin(); it != calls.rend(); ++it) {
    Node* const call = *it;
    if (const auto wrong = refused.find(call); wrong != refused.end()) {
      run.Note(absl::StrCat("stays: %", call->name(), ": ", wrong->second.message()));
      continue;
    }
    const Callable callee = CalleeOf(*call);
    const InsertionGuard guard(call->graph(), call);
    Steps steps(call, SchemaOf(callee), facts_of);
    const absl::StatusOr<Results> results = FunctionOf(callee, choices)(steps);
    if (!results.ok()) {
      run.Note(absl::StrCat("stays: %", call->name(), ": ", results.status().message()));
      continue;
    }
    Replace(call, *results, results->size() > 1);
    changed = true;
  }
  return changed;
}

namespace {

const RegisteredPass kExpandFunctionsPass("expand-functions", "expand_functions.h", ExpandFunctions,
                                          {"fused", "keep_interpolate", "recurrent"});

}  // namespace

}  // namespace graphnet
