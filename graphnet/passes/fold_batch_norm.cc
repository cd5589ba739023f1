#include "graphnet/passes/fold_batch_norm.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/facts/shapes/operator_name.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/fold_values.h"
#include "graphnet/passes/lowered_calls.h"

namespace graphnet {
namespace {

// How a call before a batch norm uses its weight.
struct Layer {
  Node* call = nullptr;
  int weight_rank = 0;
  int64_t groups = 1;
  // The weight is [in, out / groups, …] instead of [out, in / groups, …].
  bool is_transposed = false;
  DType dtype = DType::kUnknown;  // of the weight
};

// A batch norm that can be folded. The parameters are values of the graph, or null.
struct Folded {
  Layer layer;
  Node* norm = nullptr;
  Node* mean = nullptr;
  Node* var = nullptr;
  Node* gain = nullptr;
  Node* shift = nullptr;
  Node* weight = nullptr;
  Node* bias = nullptr;  // of the layer
  double eps = 0;
};

bool IsNorm(absl::string_view target) {
  return target == "aten.batch_norm.default" ||
         target == "aten._native_batch_norm_legit_no_training.default";
}

// Returns whether a call, with all its bodies, takes nothing but sizes and kinds from tensors.
bool OnlyMeasures(const Node& call) {
  if (!call.is_call()) return false;
  if (!call.HasBody()) {
    static constexpr absl::string_view kNames[] = {"dim",   "ndimension", "size",    "sym_size",
                                                   "numel", "sym_numel",  "nelement"};
    if (absl::c_linear_search(kNames, OperatorName(call))) return true;
    static constexpr absl::string_view kAttributes[] = {"shape", "ndim", "dtype", "device"};
    return call.is_call_function("builtins.getattr") && call.args().size() == 2 &&
           call.args()[1].is_string() &&
           absl::c_linear_search(kAttributes, call.args()[1].string());
  }
  bool all = true;
  const auto check = [&](const Argument& argument) {
    if (!argument.is_graph()) return;
    for (const Node* parameter : argument.graph()->placeholders()) {
      all &=
          absl::c_all_of(parameter->users(), [](const Node* user) { return OnlyMeasures(*user); });
    }
  };
  for (const Argument& argument : call.args()) ForEachArgument(argument, check);
  for (const KwArg& argument : call.kwargs()) ForEachArgument(argument.value, check);
  return all;
}

class NormFolding {
 public:
  NormFolding(Module* module, const LoweredModule& lowered, const RefusedCalls& refused,
              PassRun* run)
      : module_(*module),
        graph_(*module->main()),
        calls_(lowered),
        facts_(lowered, refused),
        effects_(*module),
        memory_(*module, effects_),
        run_(*run) {}

  absl::StatusOr<bool> Run() {
    // Decide first: what is known of the graph is of the graph as it was.
    std::vector<Folded> all;
    for (Node* node : graph_.nodes()) {
      const Node* const norm = calls_.Of(node);
      if (norm == nullptr || !IsNorm(norm->target())) continue;
      std::string why;
      std::optional<Folded> folded = Plan(node, *norm, &why);
      if (folded.has_value()) {
        all.push_back(*std::move(folded));
      } else {
        ++stay_[why];
      }
    }
    for (const Graph* graph : module_.graphs()) {
      if (graph == &graph_) continue;
      for (const Node* node : graph->nodes()) {
        const Node* const norm = calls_.Of(node);
        if (norm != nullptr && IsNorm(norm->target())) ++stay_["they lie in a body"];
      }
    }
    std::vector<AheadCall> ahead;
    for (const Folded& folded : all) Fold(folded, &ahead);
    for (const auto& [why, count] : stay_)
      run_.Note(absl::StrCat("batch norms stay: ", why), count);
    if (all.empty()) return false;
    run_.Note("batch norms folded", all.size());
    size_t computed = 0;
    if (!ahead.empty()) {
      ASSIGN_OR_RETURN(computed, ComputeAhead(&module_, run_, ahead));
    }
    const size_t left = 2 * all.size() - computed;
    if (left > 0)
      run_.Note("weights are computed in each run, as their parts are not known now", left);
    return true;
  }

 private:
  Node* Original(const Argument* value) const { return calls_.Original(graph_, value); }
  static bool IsNone(const Argument* value) { return value == nullptr || value->is_none(); }

  // Returns whether the value can be read before any other call.
  bool IsParameter(const Node* value) const {
    return value != nullptr && (value->is_placeholder() || value->op() == Op::kGetAttr) &&
           !memory_.IsWritten(value);
  }

  std::optional<Folded> Plan(Node* node, const Node& norm, std::string* why) const {
    const Schema* const schema = FindOverload(norm.target());
    if (schema == nullptr) return std::nullopt;
    const auto given = [&](absl::string_view name) { return schema->Given(norm, name); };
    Folded folded = {.norm = node};
    if (const Argument* training = given("training");
        training != nullptr && !(training->is_bool() && !training->boolean())) {
      *why = "they train";
      return std::nullopt;
    }
    const Argument* const eps = given("eps");
    folded.mean = Original(given("running_mean"));
    folded.var = Original(given("running_var"));
    folded.gain = Original(given("weight"));
    folded.shift = Original(given("bias"));
    const bool are_read = IsParameter(folded.mean) && IsParameter(folded.var) &&
                          (IsNone(given("weight")) || IsParameter(folded.gain)) &&
                          (IsNone(given("bias")) || IsParameter(folded.shift)) && eps != nullptr &&
                          eps->is_float();
    if (!are_read) {
      *why = "their parameters are computed or written to";
      return std::nullopt;
    }
    folded.eps = eps->real();
    Node* const input = Original(given("input"));
    if (input == nullptr || !FindLayer(input, &folded)) {
      *why = "no convolution and no linear layer on matrices of known dtype makes their input";
      return std::nullopt;
    }
    const bool is_used = absl::c_any_of(
        input->users(), [&](const Node* user) { return user != node && !OnlyMeasures(*user); });
    if (is_used) {
      *why = "their input has other uses";
      return std::nullopt;
    }
    if (schema->yields_tuple()) {
      const bool only_first = absl::c_all_of(node->users(), [](const Node* user) {
        return user->is_call_function("operator.getitem") && user->args().size() == 2 &&
               user->args()[1] == Argument(0);
      });
      if (!only_first) {
        *why = "their statistics are used";
        return std::nullopt;
      }
    }
    return folded;
  }

  // Reads how a call uses its weight. Returns false if a batch norm cannot become part of it.
  bool FindLayer(Node* call, Folded* folded) const {
    const Node* const lowered = calls_.Of(call);
    if (lowered == nullptr) return false;
    const Schema* const schema = FindOverload(lowered->target());
    if (schema == nullptr) return false;
    const absl::string_view name = schema->name;
    const auto given = [&](absl::string_view parameter) {
      return schema->Given(*lowered, parameter);
    };
    Layer& layer = folded->layer;
    layer.call = call;
    if (name == "linear") {
      if (facts_.Of(lowered).rank() != 2) return false;
    } else if (absl::StartsWith(name, "conv_transpose")) {
      layer.is_transposed = true;
    } else if (name == "convolution" || name == "_convolution") {
      const Argument* const transposed = given("transposed");
      if (transposed == nullptr || !transposed->is_bool()) return false;
      layer.is_transposed = transposed->boolean();
    } else if (name != "conv1d" && name != "conv2d" && name != "conv3d") {
      return false;
    }
    if (const Argument* const groups = given("groups"); groups != nullptr) {
      if (!groups->is_int() || groups->integer() < 1) return false;
      layer.groups = groups->integer();
    }
    const Argument* const weight = given("weight");
    const Argument* const bias = given("bias");
    folded->weight = Original(weight);
    folded->bias = Original(bias);
    if (folded->weight == nullptr || memory_.IsWritten(folded->weight)) return false;
    if (!IsNone(bias) && (folded->bias == nullptr || memory_.IsWritten(folded->bias))) return false;
    const TensorFacts& facts = facts_.Of(weight->node());
    layer.weight_rank = facts.rank();
    layer.dtype = facts.dtype;
    const bool is_float = layer.dtype == DType::kFloat32 || layer.dtype == DType::kFloat64 ||
                          layer.dtype == DType::kFloat16 || layer.dtype == DType::kBFloat16;
    if (!is_float || layer.weight_rank < 2) return false;
    // A call that takes its parameters elsewhere than PyTorch's functions do would be changed wrongly.
    const Argument* const found = call->FindArg("weight", 1);
    return found != nullptr && *found == Argument(folded->weight);
  }

  // Returns a parameter as it is read at the insertion point.
  Node* Read(Node* parameter, const Node& before) {
    if (parameter->op() != Op::kGetAttr) return parameter;
    for (const Node* node = parameter; node != nullptr; node = node->next()) {
      if (node == &before) return parameter;
    }
    Node* const read = graph_.GetAttr(parameter->target());
    read->set_meta(parameter->meta());
    return read;
  }

  Node* Call(absl::string_view name, absl::string_view target, const std::vector<Argument>& args) {
    return graph_.CallFunction(target, args, {}, name);
  }
  Node* Wide(absl::string_view name, Node* value) {
    return graph_.CallMethod("to", {value, DType::kFloat64}, {}, name);
  }
  Node* Rounded(absl::string_view name, Node* value, const Folded& folded, const TensorMeta* meta) {
    Node* const rounded = graph_.CallMethod("to", {value, folded.layer.dtype}, {}, name);
    if (meta != nullptr) rounded->set_meta(module_.InternValueMeta(*meta));
    return rounded;
  }
  Argument Sizes(const std::vector<int64_t>& sizes) {
    std::vector<Argument> elements(sizes.begin(), sizes.end());
    return module_.CopyArgument(Argument::List(elements));
  }

  // Writes the calls that compute the weight and bias of the layer with the norm in it.
  void Fold(const Folded& folded, std::vector<AheadCall>* ahead) {
    const Layer& layer = folded.layer;
    const InsertionGuard guard(&graph_, layer.call);
    const auto read = [&](Node* parameter) { return Read(parameter, *layer.call); };
    Node* const sum = Call("sum", "torch.add", {Wide("var", read(folded.var)), folded.eps});
    Node* const sqrt = Call("sqrt", "torch.sqrt", {sum});
    Node* const scale = folded.gain != nullptr
                            ? Call("scale", "torch.div", {Wide("gain", read(folded.gain)), sqrt})
                            : Call("scale", "torch.reciprocal", {sqrt});
    const TensorMeta* const weight_meta = folded.weight->tensor_meta();
    Node* const weight =
        Rounded("weight", Scaled(folded, Wide("wide", folded.weight), scale), folded, weight_meta);
    Node* const mean = Wide("mean", read(folded.mean));
    Node* const rest = folded.bias != nullptr
                           ? Call("rest", "torch.sub", {Wide("offset", folded.bias), mean})
                           : Call("rest", "torch.neg", {mean});
    Node* total = Call("scaled", "torch.mul", {rest, scale});
    if (folded.shift != nullptr)
      total = Call("total", "torch.add", {total, Wide("shift", read(folded.shift))});
    Node* const bias = Rounded("bias", total, folded, BiasMeta(folded));
    for (Node* made : {weight, bias}) {
      made->set_location(folded.norm->location());
      made->set_module_path(folded.norm->module_path());
    }
    SetParameter(layer.call, "weight", 1, weight);
    SetParameter(layer.call, "bias", 2, bias);
    if (IsKnown(folded)) {
      const std::string name(folded.weight->target());
      const bool is_weight = absl::EndsWith(name, "weight");
      ahead->push_back({weight, absl::StrCat(name, "_folded")});
      ahead->push_back({bias, is_weight
                                  ? absl::StrCat(name.substr(0, name.size() - 6), "bias_folded")
                                  : absl::StrCat(name, "_bias_folded")});
    }
    Erase(folded.norm, layer.call);
  }

  // Multiplies the weight by the scale of each output channel.
  Node* Scaled(const Folded& folded, Node* weight, Node* scale) {
    const Layer& layer = folded.layer;
    const size_t inner = static_cast<size_t>(layer.weight_rank) - 2;
    if (!layer.is_transposed) {
      std::vector<int64_t> sizes(static_cast<size_t>(layer.weight_rank), 1);
      sizes[0] = -1;
      Node* const column = Call("column", "torch.reshape", {scale, Sizes(sizes)});
      return Call("product", "torch.mul", {weight, column});
    }
    // [in, out / groups, …] is [groups, in / groups, out / groups, …].
    std::vector<int64_t> sizes = {layer.groups, 1, -1};
    sizes.resize(3 + inner, 1);
    Node* const column = Call("column", "torch.reshape", {scale, Sizes(sizes)});
    Node* const grouped =
        Call("grouped", "torch.unflatten", {weight, 0, Sizes({layer.groups, -1})});
    Node* const product = Call("product", "torch.mul", {grouped, column});
    return Call("flat", "torch.flatten", {product, 0, 1});
  }

  const TensorMeta* BiasMeta(const Folded& folded) {
    const TensorMeta* const mean = folded.mean->tensor_meta();
    if (mean == nullptr) {
      const TensorMeta* const weight = folded.weight->tensor_meta();
      if (weight == nullptr || !weight->has_shape || folded.layer.is_transposed) return nullptr;
      TensorMeta meta = *weight;
      meta.shape = meta.shape.first(1);
      return module_.InternMeta(meta);
    }
    TensorMeta meta = *mean;
    meta.dtype = folded.layer.dtype;
    return module_.InternMeta(meta);
  }

  // Returns whether the values of all parameters are known.
  bool IsKnown(const Folded& folded) const {
    if (run_.constants() == nullptr) return false;
    return absl::c_all_of(std::vector<const Node*>{folded.mean, folded.var, folded.gain,
                                                   folded.shift, folded.weight, folded.bias},
                          [&](const Node* value) {
                            return value == nullptr || (value->op() == Op::kGetAttr &&
                                                        run_.constants()->values.contains(
                                                            std::string(value->target())));
                          });
  }

  static void SetParameter(Node* call, absl::string_view name, size_t position, Node* value) {
    if (call->kwarg(name) == nullptr && call->args().size() > position) {
      call->set_arg(position, value);
    } else {
      call->set_kwarg(name, value);
    }
  }

  // Removes the norm; the layer yields its value.
  void Erase(Node* norm, Node* layer) {
    const Schema* const schema = FindOverload(calls_.Of(norm)->target());
    std::vector<Node*> parameters;
    for (Node* operand : norm->operands()) {
      if (operand->op() == Op::kGetAttr) parameters.push_back(operand);
    }
    if (schema->yields_tuple()) {
      for (Node* user : norm->users()) {
        user->ReplaceAllUsesWith(layer);
        graph_.EraseNode(user);
      }
    } else {
      norm->ReplaceAllUsesWith(layer);
    }
    graph_.EraseNode(norm);
    for (Node* parameter : parameters) {
      if (!parameter->is_erased() && !parameter->has_uses()) graph_.EraseNode(parameter);
    }
  }

  Module& module_;
  Graph& graph_;
  const LoweredCalls calls_;
  const FactsTable facts_;
  const Effects effects_;
  const MemoryGroups memory_;
  PassRun& run_;
  std::map<std::string, size_t> stay_;  // by reason
};

}  // namespace

absl::StatusOr<bool> FoldBatchNorm(Module* module, PassRun& run) {
  if (module->main() == nullptr || module->main()->output() == nullptr) return false;
  if (AsksForGradients(*module)) {
    run.Note("nothing is folded: the program computes gradients");
    return false;
  }
  RefusedCalls refused;
  ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(*module, &refused));
  return NormFolding(module, lowered, refused, &run).Run();
}

namespace {

const RegisteredPass kFoldBatchNormPass("fold-batch-norm", "fold_batch_norm.h", FoldBatchNorm, {},
                                        /*header_text=*/{}, /*uses_values=*/true);

}  // namespace

}  // namespace graphnet
