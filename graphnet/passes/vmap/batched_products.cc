// Products of matrices, attention, convolutions and other operators on images, for batched values.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/status.h"
#include "graphnet/passes/vmap/batched_calls.h"

namespace graphnet {

BatchedCalls::Result BatchedCalls::Matmul(Value a, Value b, const TensorFacts& facts) {
  if (a.rank() < 1 || b.rank() < 1) return NoRule("the ranks of matrices under vmap are not known");
  const Batch batch = a | b;
  const int ra = a.rank(), rb = b.rank();
  // If all levels share one matrix, stack the others and multiply once.
  if (!b.batched() && rb <= 2)
    return Value{batch, Emit("aten.matmul.default", {a.arg, b.arg}), facts};
  const auto as_matrix = [&](Value* v, int at) {
    if (v->rank() > 1) return;
    v->arg = Emit("aten.unsqueeze.default", {v->arg, at});
    v->facts.set_rank(2);
  };
  as_matrix(&a, -2);
  as_matrix(&b, -1);
  const int rank = std::max(a.rank(), b.rank());
  Argument x =
      Emit("aten.matmul.default", {Align(a, batch.prefix, rank), Align(b, batch.prefix, rank)});
  if (rb == 1) x = Emit("aten.select.int", {x, -1, 0});
  if (ra == 1) x = Emit("aten.select.int", {x, rb == 1 ? -1 : -2, 0});
  return Value{batch, x, facts};
}

BatchedCalls::Result BatchedCalls::Linear(const Call& call, const Value& input) {
  const Value weight = At(call, "weight");
  const Value bias = At(call, "bias");
  if (!weight.batched() && !bias.batched()) return Yield(call, input);
  if (weight.rank() != 2 || input.rank() < 1) return RankUnknown(*call.node);
  Value transposed = weight;
  transposed.arg = Emit("aten.transpose.int", {weight.arg, -2, -1});
  ASSIGN_OR_RETURN(Value product, Matmul(input, transposed, facts_.Of(call.node)));
  if (!bias.arg.is_node()) return product;
  if (bias.rank() < 0 || product.rank() < 0) return RankUnknown(*call.node);
  return Binary("aten.add.Tensor", product, bias, facts_.Of(call.node));
}

BatchedCalls::Result BatchedCalls::AddMatmul(const Call& call, const Value& self) {
  const Node& node = *call.node;
  const TensorFacts facts = facts_.Of(&node);
  ASSIGN_OR_RETURN(Value product,
                   Matmul(*ValueOf(node.args()[1]), *ValueOf(node.args()[2]), facts));
  const auto scale = [&](Value* v, absl::string_view factor) {
    const Argument by = call[factor];
    const bool is_one =
        by.is_none() || (by.is_int() && by.integer() == 1) || (by.is_float() && by.real() == 1);
    if (!is_one) v->arg = Emit("aten.mul.Scalar", {v->arg, ValueOf(by)->arg});
  };
  Value added = self;
  scale(&product, "alpha");
  scale(&added, "beta");
  product.facts.set_rank(call.op() == "addmv" ? 1 : call.op() == "addmm" ? 2 : 3);
  if (added.rank() < 0) return RankUnknown(node);
  return Binary("aten.add.Tensor", added, product, facts);
}

BatchedCalls::Result BatchedCalls::Outer(const Call& call, const Value& self) {
  Value a = self, b = *ValueOf(call.node->args()[1]);
  a.arg = Emit("aten.unsqueeze.default", {a.arg, -1});
  b.arg = Emit("aten.unsqueeze.default", {b.arg, -2});
  a.facts.set_rank(2);
  b.facts.set_rank(2);
  return Binary("aten.mul.Tensor", a, b, facts_.Of(call.node));
}

BatchedCalls::Result BatchedCalls::Attention(Call call) {
  const Value mask = At(call, "attn_mask");
  Batch batch = mask;
  int rank = 0;
  for (const absl::string_view name : {"query", "key", "value"}) {
    const Value v = At(call, name);
    if (!v.is_tensor() || v.rank() < 2) return RankUnknown(*call.node);
    batch = batch | v;
    rank = std::max(rank, v.rank());
  }
  for (const absl::string_view name : {"query", "key", "value"}) {
    call.Set(name, Materialize(At(call, name), batch, rank));
  }
  if (mask.arg.is_node()) {
    if (mask.rank() < 0 || mask.rank() > rank) return RankUnknown(*call.node);
    call.Set("attn_mask", Align(mask, batch.prefix, rank));
  }
  return Yield(call, batch);
}

BatchedCalls::Result BatchedCalls::Einsum(Call call) {
  const Argument equation = call["equation"];
  const Argument list = call["tensors"];
  if (!equation.is_string() || !list.is_list())
    return NoRule("an equation of einsum that is not written out");
  std::string text(equation.string());
  std::erase(text, ' ');
  const std::string output = OutputOfEinsum(text);
  const std::vector<std::string> inputs = absl::StrSplit(text.substr(0, text.find("->")), ',');
  if (inputs.size() != list.elements().size())
    return NoRule("an equation of einsum for another number of tensors");
  // Give each level a letter; levels of size 1 broadcast.
  std::string letters;
  for (const char c : absl::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")) {
    if (!absl::StrContains(text, c)) letters += c;
  }
  Batch batch;
  std::vector<std::string> terms;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value v = *ValueOf(list.elements()[i]);
    batch = batch | v;
    if (static_cast<size_t>(v.prefix) > letters.size())
      return NoRule("einsum with more dimensions than letters");
    terms.push_back(absl::StrCat(letters.substr(0, static_cast<size_t>(v.prefix)), inputs[i]));
  }
  call.Set("equation",
           arena_.Copy(absl::StrCat(absl::StrJoin(terms, ","), "->",
                                    letters.substr(0, static_cast<size_t>(batch.prefix)), output)));
  return Yield(call, batch);
}

// Prepares `x`, the argument `name`, which holds several images or one.
BatchedValue BatchedCalls::Images(Call call, absl::string_view name, const Value& x, bool several) {
  Arguments sizes = SizesOf(x);
  if (several) sizes.push_back(-1);
  call.Set(name, Flatten(x.arg, 0, static_cast<int>(sizes.size()) - 1));
  Value made = Yield(call, x);
  if (sizes.size() > 1) made.arg = Emit("aten.unflatten.int", {made.arg, 0, List(sizes)});
  made.facts.set_rank(x.rank());
  return made;
}

// Handles "avg_pool2d" and the like, whose images have two dimensions and channels.
BatchedCalls::Result BatchedCalls::Pooling(Call call, const Value& self) {
  const absl::string_view name = call.op();
  const int own = absl::EndsWith(name, "d") ? name[name.size() - 2] - '0' + 1 : 0;
  if (self.rank() < 1 || (own != 0 && self.rank() != own && self.rank() != own + 1)) {
    return RankUnknown(*call.node);
  }
  const absl::string_view input = call.schema->arguments[0].name;
  return Images(std::move(call), input, self, self.rank() != own);
}

// Batched images become more images; batched weights become more groups.
BatchedCalls::Result BatchedCalls::Convolution(Call call, const Value& input) {
  const Value weight = At(call, "weight");
  Value bias = At(call, "bias");
  const bool several = input.rank() == weight.rank();
  const bool has_bias = bias.arg.is_node();
  const Node& node = *call.node;
  if (weight.rank() < 3 || (!several && input.rank() != weight.rank() - 1) ||
      (has_bias && bias.rank() != 1)) {
    return RankUnknown(node);
  }
  if (!weight.batched() && !bias.batched()) return Images(std::move(call), "input", input, several);
  if (has_bias) call.Set("bias", Argument());  // added below, as under vmap
  Value made;
  if (weight.batched()) {
    const Batch batch = input | weight;
    Argument x = Materialize(input, batch, input.rank());
    const Argument w = Materialize(weight, batch, weight.rank());
    const int at = several ? 1 : 0;
    if (several) x = Move(x, batch.prefix, 0);
    call.Set("input", Flatten(x, at, at + batch.prefix));
    call.Set("weight", Flatten(w, 0, batch.prefix));
    Argument groups = call["groups"];
    if (!groups.is_int()) return NoRule("groups of a convolution that are not written out");
    Arguments sizes = SizesOf(batch);
    for (const Argument& size : sizes) {
      groups = size.is_int() && groups.is_int() ? Argument(groups.integer() * size.integer())
                                                : Emit("operator.mul", {groups, size});
    }
    call.Set("groups", groups);
    made = Yield(call, batch);
    sizes.push_back(-1);
    made.arg = Emit("aten.unflatten.int", {made.arg, at, List(sizes)});
    if (several) made.arg = Move(made.arg, 0, batch.prefix);
  } else if (input.batched()) {
    made = Images(std::move(call), "input", input, several);
  } else {
    made = Yield(call, {});
  }
  made.facts.set_rank(input.rank());
  if (!has_bias) return made;
  bias.arg = Insert(bias.arg, bias.prefix + 1, weight.rank() - 2);
  bias.facts.set_rank(weight.rank() - 1);
  return Binary("aten.add.Tensor", made, bias, facts_.Of(&node));
}

}  // namespace graphnet
