#include "graphnet/passes/quantize_weights.h"

#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/interp/inputs/float16.h"
#include "graphnet/interp/inputs/numbers.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/call_scope.h"
#include "graphnet/passes/fold_values.h"
#include "graphnet/passes/lowered_calls.h"

namespace graphnet {
namespace {

// A weight that becomes integers: [channels, inner].
struct Weight {
  Node* value = nullptr;
  Node* first_use = nullptr;
  int64_t channels = 0;
  int64_t inner = 0;  // numbers of a channel
  int64_t group = 0;  // numbers that share a scale
};

// The names of what a weight became.
struct Stored {
  std::string weight;
  std::string integers;
  std::string scale;
};

// Returns a number as a dtype holds it.
double Rounded(DType dtype, double number) {
  const float narrow = static_cast<float>(number);
  return dtype == DType::kFloat64    ? number
         : dtype == DType::kFloat16  ? HalfToFloat(FloatToHalf(narrow))
         : dtype == DType::kBFloat16 ? BFloat16ToFloat(FloatToBFloat16(narrow))
                                     : narrow;
}

class Quantization {
 public:
  Quantization(Module* module, const LoweredModule& lowered, int bits, int64_t group, PassRun* run)
      : module_(*module),
        graph_(*module->main()),
        calls_(lowered),
        effects_(*module),
        memory_(*module, effects_),
        bits_(bits),
        group_(group),
        run_(*run) {}

  absl::StatusOr<bool> Run(const CallScope& scope) {
    ScopeMatcher matcher(scope);
    std::map<const Node*, std::set<const Node*>> users;  // by weight: the calls that may take it so
    std::vector<std::pair<Node*, Node*>> weights;        // in order, with the first call
    for (Node* node : graph_.nodes()) {
      if (!node->is_call() || !matcher.Means(*node)) continue;
      Node* const weight = WeightOf(node);
      if (weight == nullptr) continue;
      if (users[weight].empty()) weights.emplace_back(weight, node);
      users[weight].insert(node);
    }
    RETURN_IF_ERROR(matcher.CheckWords());
    std::vector<Weight> all;
    for (const auto& [weight, first] : weights) {
      std::string why;
      std::optional<Weight> plan = Plan(weight, first, users[weight], &why);
      if (plan.has_value()) {
        all.push_back(*plan);
      } else {
        ++stay_[why];
      }
    }
    std::vector<AheadCall> ahead;
    std::vector<Stored> stored;
    for (const Weight& weight : all) Quantize(weight, &ahead, &stored);
    for (const auto& [why, count] : stay_) run_.Note(absl::StrCat("weights stay: ", why), count);
    if (all.empty()) return false;
    run_.Note(absl::StrCat("weights of ", bits_, " bits"), all.size());
    if (!ahead.empty()) RETURN_IF_ERROR(ComputeAhead(&module_, run_, ahead).status());
    const size_t left = all.size() - stored.size();
    if (left > 0)
      run_.Note("weights are rounded in each run, as their values are not known now", left);
    for (const Stored& names : stored) NoteError(names);
    return true;
  }

 private:
  // Returns the weight of a linear layer or of a convolution that is not transposed; null for others.
  Node* WeightOf(Node* call) const {
    const Node* const lowered = calls_.Of(call);
    const Schema* const schema = lowered == nullptr ? nullptr : FindOverload(lowered->target());
    if (schema == nullptr) return nullptr;
    const absl::string_view name = schema->name;
    if (name == "convolution" || name == "_convolution") {
      const Argument* const transposed = schema->Given(*lowered, "transposed");
      if (transposed == nullptr || !transposed->is_bool() || transposed->boolean()) return nullptr;
    } else if (name != "linear" && name != "conv1d" && name != "conv2d" && name != "conv3d") {
      return nullptr;
    }
    Node* const weight = calls_.Original(graph_, schema->Given(*lowered, "weight"));
    const bool is_read =
        weight != nullptr && (weight->is_placeholder() || weight->op() == Op::kGetAttr);
    return is_read ? weight : nullptr;
  }

  std::optional<Weight> Plan(Node* weight, Node* first, const std::set<const Node*>& users,
                             std::string* why) const {
    const bool is_used_elsewhere =
        absl::c_any_of(weight->uses(), [&](const Use& use) { return !users.contains(use.user); });
    if (is_used_elsewhere || memory_.IsWritten(weight) || IsReadTwice(*weight)) {
      *why = "something else reads or writes them, or they are skipped in one place";
      return std::nullopt;
    }
    const TensorMeta* const meta = weight->tensor_meta();
    const bool is_float = meta != nullptr && meta->has_shape && meta->is_static() &&
                          (meta->dtype == DType::kFloat32 || meta->dtype == DType::kFloat16 ||
                           meta->dtype == DType::kBFloat16 || meta->dtype == DType::kFloat64);
    if (!is_float || meta->shape.size() < 2) {
      *why = "their dtype or sizes are not known, or they are no floats";
      return std::nullopt;
    }
    Weight plan = {
        .value = weight, .first_use = first, .channels = meta->shape[0].value, .inner = 1};
    for (const Dim& dim : meta->shape.subspan(1)) {
      if (__builtin_mul_overflow(plan.inner, dim.value, &plan.inner)) plan.inner = 0;
    }
    const int64_t usual = bits_ == 4 && plan.inner % 32 == 0 ? 32 : plan.inner;
    plan.group = group_ > 0 ? group_ : usual;
    if (plan.channels <= 0 || plan.inner <= 0 || plan.inner % plan.group != 0 ||
        (bits_ == 4 && plan.inner % 2 != 0)) {
      *why = absl::StrCat("the numbers of a channel are no multiple of ", group_ > 0 ? group_ : 2);
      return std::nullopt;
    }
    return plan;
  }

  // Returns whether another node reads the same attribute.
  bool IsReadTwice(const Node& weight) const {
    if (weight.op() != Op::kGetAttr) return false;
    return absl::c_any_of(module_.graphs(), [&](const Graph* graph) {
      for (const Node* node : graph->nodes()) {
        if (node != &weight && node->op() == Op::kGetAttr && node->target() == weight.target())
          return true;
      }
      return false;
    });
  }

  Node* Call(absl::string_view name, absl::string_view target, const std::vector<Argument>& args) {
    return graph_.CallFunction(target, args, {}, name);
  }
  Node* Cast(absl::string_view name, Node* value, DType dtype) {
    return graph_.CallMethod("to", {value, dtype}, {}, name);
  }
  Node* Reshape(absl::string_view name, Node* value, const std::vector<int64_t>& sizes) {
    const std::vector<Argument> elements(sizes.begin(), sizes.end());
    return Call(name, "torch.reshape", {value, module_.CopyArgument(Argument::List(elements))});
  }
  void SetMeta(Node* node, const TensorMeta& like, DType dtype, const std::vector<int64_t>& sizes) {
    TensorMeta meta = like;
    meta.dtype = dtype;
    std::vector<Dim> shape;
    for (const int64_t size : sizes) shape.emplace_back(size);
    meta.shape = shape;
    node->set_meta(module_.InternValueMeta(meta));
  }

  // Writes the calls that round a weight, and those that make it from integers and scales.
  void Quantize(const Weight& weight, std::vector<AheadCall>* ahead, std::vector<Stored>* stored) {
    const InsertionGuard guard(&graph_, weight.first_use);
    Node* const value = weight.value;
    const TensorMeta& meta = *value->tensor_meta();
    const std::string name(value->name());
    const double levels = bits_ == 8 ? 127 : 7;
    const std::vector<int64_t> grouped = {weight.channels, weight.inner / weight.group,
                                          weight.group};
    const std::vector<int64_t> scales = {weight.channels, weight.inner / weight.group, 1};
    // The rows are computed in float32 or wider, and divided by the scale as it is stored.
    Node* const rows = Reshape(absl::StrCat(name, "_rows"), value, grouped);
    Node* wide = rows;
    if (meta.dtype == DType::kFloat16 || meta.dtype == DType::kBFloat16)
      wide = Cast(absl::StrCat(name, "_wide"), rows, DType::kFloat32);
    Node* const size = Call(absl::StrCat(name, "_size"), "torch.abs", {wide});
    Node* const largest = Call(absl::StrCat(name, "_largest"), "torch.amax", {size, -1, true});
    Node* const step = Call(absl::StrCat(name, "_step"), "torch.div", {largest, levels});
    // A channel of zeros has no scale of its own.
    const double least = meta.dtype == DType::kFloat16 ? 0x1p-24 : 0x1p-126;
    Node* const positive = Call(absl::StrCat(name, "_positive"), "torch.clamp", {step, least});
    Node* const scale = Cast(absl::StrCat(name, "_scale"), positive, meta.dtype);
    SetMeta(scale, meta, meta.dtype, scales);
    Node* const ratio = Call(absl::StrCat(name, "_ratio"), "torch.div", {wide, scale});
    Node* const rounded = Call(absl::StrCat(name, "_rounded"), "torch.round", {ratio});
    Node* const limited =
        Call(absl::StrCat(name, "_limited"), "torch.clamp", {rounded, -levels, levels});
    Node* const integers =
        bits_ == 8 ? Eight(weight, name, limited) : Packed(weight, name, limited);
    Node* const numbers = bits_ == 8 ? Cast(absl::StrCat(name, "_numbers"), integers, meta.dtype)
                                     : Unpacked(weight, name, integers, grouped);
    Node* const product = Call(absl::StrCat(name, "_product"), "torch.mul", {numbers, scale});
    std::vector<int64_t> shape;
    for (const Dim& dim : meta.shape) shape.push_back(dim.value);
    Node* const result = Reshape(absl::StrCat(name, "_dequantized"), product, shape);
    result->set_meta(value->meta());
    for (Node* made : {integers, scale, result}) {
      made->set_location(weight.first_use->location());
      made->set_module_path(weight.first_use->module_path());
    }
    value->ReplaceUsesWithIf(result, [&](const Node* user) { return user != rows; });
    if (value->op() != Op::kGetAttr || run_.constants() == nullptr ||
        !run_.constants()->values.contains(std::string(value->target())))
      return;
    const std::string target(value->target());
    stored->push_back(
        {target, absl::StrCat(target, "_int", bits_), absl::StrCat(target, "_scale")});
    ahead->push_back({integers, stored->back().integers});
    ahead->push_back({scale, stored->back().scale});
  }

  Node* Eight(const Weight& weight, const std::string& name, Node* limited) {
    Node* const integers = Cast(absl::StrCat(name, "_int8"), limited, DType::kInt8);
    SetMeta(integers, *weight.value->tensor_meta(), DType::kInt8,
            {weight.channels, weight.inner / weight.group, weight.group});
    return integers;
  }

  // Two numbers share a byte: the earlier one is in the low half.
  Node* Packed(const Weight& weight, const std::string& name, Node* limited) {
    Node* const moved = Call(absl::StrCat(name, "_moved"), "torch.add", {limited, 8});
    Node* const bytes = Cast(absl::StrCat(name, "_bytes"), moved, DType::kUInt8);
    Node* const pairs =
        Reshape(absl::StrCat(name, "_pairs"), bytes, {weight.channels, weight.inner / 2, 2});
    Node* const low = Call(absl::StrCat(name, "_first"), "torch.select", {pairs, 2, 0});
    Node* const high = Call(absl::StrCat(name, "_second"), "torch.select", {pairs, 2, 1});
    Node* const shifted = Call(absl::StrCat(name, "_shifted"), "torch.mul", {high, 16});
    Node* const integers = Call(absl::StrCat(name, "_int4"), "torch.add", {low, shifted});
    SetMeta(integers, *weight.value->tensor_meta(), DType::kUInt8,
            {weight.channels, weight.inner / 2});
    return integers;
  }
  // Takes the halves of bytes apart by arithmetic on floats, which is exact and which every runtime has.
  Node* Unpacked(const Weight& weight, const std::string& name, Node* integers,
                 const std::vector<int64_t>& grouped) {
    Node* const bytes =
        Cast(absl::StrCat(name, "_floats"), integers, weight.value->tensor_meta()->dtype);
    Node* const part = Call(absl::StrCat(name, "_part"), "torch.mul", {bytes, 0.0625});
    Node* const high = Call(absl::StrCat(name, "_high"), "torch.floor", {part});
    Node* const rest = Call(absl::StrCat(name, "_rest"), "torch.mul", {high, 16.0});
    Node* const low = Call(absl::StrCat(name, "_low"), "torch.sub", {bytes, rest});
    const std::vector<Argument> halves = {low, high};
    Node* const both = Call(absl::StrCat(name, "_both"), "torch.stack",
                            {module_.CopyArgument(Argument::List(halves)), -1});
    Node* const groups = Reshape(absl::StrCat(name, "_groups"), both, grouped);
    return Call(absl::StrCat(name, "_numbers"), "torch.sub", {groups, 8.0});
  }

  // Tells how far a weight moved.
  void NoteError(const Stored& names) {
    const TensorData& before = run_.constants()->values.at(names.weight);
    const auto integers = run_.values().find(names.integers);
    const auto scale = run_.values().find(names.scale);
    if (integers == run_.values().end() || scale == run_.values().end()) return;
    const Numbers numbers = NumbersOf(before.dtype);
    const size_t count = before.bytes->size() / numbers.bytes;
    const size_t scales = scale->second.bytes->size() / numbers.bytes;
    double moved = 0, all = 0;
    for (size_t i = 0; i < count; ++i) {
      const double old = numbers.read(before.bytes->data() + i * numbers.bytes);
      const char* const bytes = integers->second.bytes->data();
      const int number = bits_ == 8
                             ? static_cast<signed char>(bytes[i])
                             : (static_cast<unsigned char>(bytes[i / 2]) >> (i % 2 * 4) & 15) - 8;
      const double now =
          Rounded(before.dtype, number * numbers.read(scale->second.bytes->data() +
                                                      i / (count / scales) * numbers.bytes));
      moved += (now - old) * (now - old);
      all += old * old;
    }
    run_.Note(absl::StrFormat("error of %s: %.3f %%", names.weight,
                              all > 0 ? 100 * std::sqrt(moved / all) : 0.0));
  }

  Module& module_;
  Graph& graph_;
  const LoweredCalls calls_;
  const Effects effects_;
  const MemoryGroups memory_;
  const int bits_;
  const int64_t group_;  // 0: the usual one
  PassRun& run_;
  std::map<std::string, size_t> stay_;  // by reason
};

}  // namespace

absl::StatusOr<bool> QuantizeWeights(Module* module, PassRun& run) {
  const absl::string_view bits = run.option("bits", "8");
  if (bits != "8" && bits != "4") {
    return absl::InvalidArgumentError(
        absl::StrCat("bits is 8 or 4, not \"", Printable(bits), "\""));
  }
  const absl::string_view group = run.option("group");
  int64_t size = 0;
  if (!group.empty() && (!absl::SimpleAtoi(group, &size) || size <= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("group is a positive number, not \"", Printable(group), "\""));
  }
  if (module->main() == nullptr || module->main()->output() == nullptr) return false;
  RefusedCalls refused;
  ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(*module, &refused));
  return Quantization(module, lowered, bits == "8" ? 8 : 4, size, &run).Run(CallScopeOf(run));
}

namespace {

const RegisteredPass kQuantizeWeightsPass("quantize-weights", "quantize_weights.h", QuantizeWeights,
                                          {"bits", "group", "module", "nodes", "skip"},
                                          /*header_text=*/{}, /*uses_values=*/true);

}  // namespace

}  // namespace graphnet
