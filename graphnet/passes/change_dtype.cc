#include "graphnet/passes/change_dtype.h"

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/facts/shapes/operator_name.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/cpu_dtype_rows.h"
#include "graphnet/passes/kept_dtypes.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

bool IsComplex(DType dtype) {
  return dtype == DType::kComplex32 || dtype == DType::kComplex64 || dtype == DType::kComplex128;
}
// One of the four that can be changed.
bool IsFloat(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kFloat32 ||
         dtype == DType::kFloat64;
}
double LargestOf(DType dtype) {
  return dtype == DType::kFloat16    ? 65504.0
         : dtype == DType::kBFloat16 ? 0x1.FEp127
         : dtype == DType::kFloat32  ? 0x1.FFFFFEp127
                                     : 0x1.FFFFFFFFFFFFFp1023;
}

// Returns the dtype to which PyTorch promotes two floating-point or complex dtypes.
DType Promoted(DType a, DType b) {
  if (a == DType::kUnknown || a == b) return b;
  if (b == DType::kUnknown) return a;
  if (IsComplex(a) || IsComplex(b)) {
    const bool wide = a == DType::kComplex128 || b == DType::kComplex128 || a == DType::kFloat64 ||
                      b == DType::kFloat64;
    return wide ? DType::kComplex128 : DType::kComplex64;
  }
  return a == DType::kFloat64 || b == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

// Returns the dtype that .float() and the like convert to; unknown for other methods.
DType DTypeOfMethod(const Node& node) {
  if (node.op() != Op::kCallMethod || node.args().size() != 1) return DType::kUnknown;
  const absl::string_view name = node.target();
  return name == "float"      ? DType::kFloat32
         : name == "half"     ? DType::kFloat16
         : name == "bfloat16" ? DType::kBFloat16
         : name == "double"   ? DType::kFloat64
                              : DType::kUnknown;
}

// Returns the dtype that a conversion yields; unknown for other calls.
DType ConvertsTo(const Node& node) {
  if (node.is_call_method("to") || node.is_call_method("type")) {
    for (size_t i = 1; i < node.args().size(); ++i) {
      if (node.args()[i].kind() == Argument::Kind::kDType) return node.args()[i].dtype();
    }
    const Argument* dtype = node.kwarg("dtype");
    if (dtype != nullptr && dtype->kind() == Argument::Kind::kDType) return dtype->dtype();
  }
  return DTypeOfMethod(node);
}

class DTypeChange {
 public:
  DTypeChange(Module* module, DType to, std::vector<DType> from, KeptDTypes kept, PassRun* run)
      : module_(*module),
        to_(to),
        from_(std::move(from)),
        kept_by_user_(std::move(kept)),
        run_(*run) {}

  absl::StatusOr<bool> Run() {
    RETURN_IF_ERROR(FindDTypes());
    for (Graph* graph : module_.graphs()) {
      // Copy the list: casts that are inserted on the way need no visit.
      std::vector<Node*> nodes;
      for (Node* node : graph->nodes()) nodes.push_back(node);
      for (const Node* node : nodes) {
        stays_[node] = kept_[node] || FeedsKept(*node) || left_.contains(node);
      }
      for (Node* node : nodes) {
        if (left_.contains(node)) continue;
        if (node->is_call()) {
          if (kept_[node]) {
            CastOperands(node);
          } else if (!stays_[node]) {
            ChangeCall(node);
          }
          if (const auto it = operands_.find(node); it != operands_.end() && !kept_[node])
            KeepOperands(node, it->second);
        }
        if (stays_[node]) {
          CastResult(node);
        } else {
          ChangeMeta(node);
        }
      }
    }
    ChangeAttributes();
    const size_t removed = RemoveConversions(&module_, to_, [this](const Node* value) {
      if (const DType made = ConvertsTo(*value); made != DType::kUnknown) return made;
      const bool stays = stays_[value] || left_.contains(value) || !IsMeant(dtypes_[value]);
      return stays ? dtypes_[value] : to_;
    });
    if (removed > 0) counts_["conversions that change nothing are removed"] = removed;
    changed_ |= removed > 0;
    for (const auto& [what, count] : counts_) run_.Note(what, count);
    return changed_;
  }

 private:
  bool IsMeant(DType dtype) const { return dtype != to_ && absl::c_linear_search(from_, dtype); }

  // --- What is known before anything changes -----------------------------------

  absl::Status FindDTypes() {
    RefusedCalls refused;
    ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(module_, &refused));
    const FactsTable facts(lowered, refused);
    dtypes_ = NodeTable<DType>(module_);
    kept_ = NodeTable<uint8_t>(module_);
    stays_ = NodeTable<uint8_t>(module_);
    floats_ = NodeTable<uint8_t>(module_);
    // Rows of the operators that a call is lowered to.
    NodeTable<const CpuRow*> rows(module_);
    for (const Graph* graph : lowered.module->graphs()) {
      for (const Node* node : graph->nodes()) {
        if (!node->is_call() || lowered.origins[node] == nullptr) continue;
        const CpuRow* row = FindCpuRow(BareName(*node));
        if (row == nullptr || !Lacks(*row)) continue;
        const Node* origin = lowered.origins[node];
        if (!FindOperands(lowered, *node, *row)) rows[origin] = row;
      }
    }
    for (const Graph* graph : module_.graphs()) {
      for (const Node* node : graph->nodes()) {
        const Argument value = lowered.values[node];
        DType dtype = DType::kUnknown;
        if (node->tensor_meta() != nullptr) dtype = node->tensor_meta()->dtype;
        if (dtype == DType::kUnknown && value.is_node()) dtype = facts.Of(value.node()).dtype;
        if (node->op() == Op::kGetAttr && dtype == DType::kUnknown) {
          const Attribute* attribute = module_.FindAttribute(node->target());
          if (attribute != nullptr && attribute->meta != nullptr) dtype = attribute->meta->dtype;
        }
        if (dtype == DType::kUnknown && node->is_call()) {
          dtype = Guess(*node, rows[node]);
          // An element of a tuple that may hold other values than floats.
          const Node* tuple = node->is_call_function("operator.getitem") && node->args().size() == 2
                                  ? (node->args()[0].is_node() ? node->args()[0].node() : nullptr)
                                  : nullptr;
          const CpuRow* row = tuple == nullptr ? nullptr : rows[tuple];
          if (row != nullptr && node->args()[1].is_int() && node->args()[1].integer() >= 0 &&
              static_cast<size_t>(node->args()[1].integer()) < row->kinds.size() &&
              row->kinds[static_cast<size_t>(node->args()[1].integer())] == 'i') {
            dtype = DType::kUnknown;
          }
        }
        // Numbers do not take part in the promotion of tensors.
        if (NumberDType(node->annotation()).has_value()) dtype = DType::kUnknown;
        dtypes_[node] = dtype;
        floats_[node] = IsFloatNumber(*node);
        if (!node->is_call()) continue;
        bool keeps =
            rows[node] != nullptr || IsComplex(dtype) || kept_by_user_.calls.contains(node);
        node->ForEachOperand([&](const Node* operand) { keeps |= IsComplex(dtypes_[operand]); });
        // The elements of a tuple that a kept call yields.
        if (node->is_call_function("operator.getitem") && !node->args().empty() &&
            node->args()[0].is_node())
          keeps |= kept_[node->args()[0].node()] != 0;
        kept_[node] = keeps;
      }
    }
    for (const auto& [call, kept] : kept_by_user_.operands)
      operands_[call].insert(kept.begin(), kept.end());
    FindLeft();
    return absl::OkStatus();
  }

  // Notes the operands that must keep their dtype for a call of the lowered module. Returns false
  // if the row applies to the whole call, or if the operands are made within the call.
  bool FindOperands(const LoweredModule& lowered, const Node& call, const CpuRow& row) {
    const Schema* schema = FindOverload(call.target());
    if (row.operands.empty() || schema == nullptr) return false;
    const Node* origin = lowered.origins[&call];
    absl::flat_hash_set<const Node*> found;
    for (const absl::string_view parameter : row.operands) {
      const Argument value = ArgumentOf(call, *schema, parameter);
      if (!value.is_node()) continue;
      const Node* operand = lowered.origins[value.node()];
      bool is_given = false;
      origin->ForEachOperand([&](const Node* given) { is_given |= given == operand; });
      if (!is_given) return false;
      found.insert(operand);
    }
    operands_[origin].insert(found.begin(), found.end());
    return true;
  }
  bool KeepsOperand(const Node* call, const Node* operand) const {
    const auto it = operands_.find(call);
    return it != operands_.end() && it->second.contains(operand);
  }

  // Finds the inputs and attributes that are used only by calls that keep or write to them.
  void FindLeft() {
    absl::flat_hash_set<std::string> others;
    for (const Graph* graph : module_.graphs()) {
      for (const Node* node : graph->nodes()) {
        const bool is_attribute = node->op() == Op::kGetAttr;
        const bool is_input = node->is_placeholder() && graph == module_.main();
        if ((!is_attribute && !is_input) || !IsMeant(dtypes_[node])) continue;
        bool all = true, any = false;
        for (const Use& use : node->uses()) {
          const bool is_written =
              kept_[use.user] && absl::c_linear_search(MemoryUseOf(*use.user).written, node);
          const bool is_operand = is_written || KeepsOperand(use.user, node);
          any |= is_operand;
          all &= is_operand || kept_[use.user];
        }
        if (all && any) {
          left_.insert(node);
        } else if (is_attribute) {
          others.emplace(node->target());
        }
      }
    }
    // An attribute has one dtype wherever it is read.
    for (auto it = left_.begin(); it != left_.end();) {
      const auto at = it++;
      if ((*at)->op() != Op::kGetAttr) continue;
      if (others.contains((*at)->target())) {
        left_.erase(at);
      } else {
        left_attributes_.emplace((*at)->target());
      }
    }
  }

  // Returns whether a call or an input yields a floating-point number.
  bool IsFloatNumber(const Node& node) const {
    if (const auto number = NumberDType(node.annotation()); number.has_value())
      return IsFloat(*number);
    if (!node.is_call() || node.tensor_meta() != nullptr || dtypes_[&node] != DType::kUnknown)
      return false;
    static constexpr absl::string_view kIntegers[] = {"Int",   "int",  "IntImplicit", "sym_int",
                                                      "floor", "ceil", "len",         "size"};
    static constexpr absl::string_view kFloats[] = {
        "Float", "FloatImplicit", "float", "sym_float", "truediv", "div", "sqrt", "exp", "log"};
    static constexpr absl::string_view kData[] = {"item", "_local_scalar_dense", "ScalarImplicit",
                                                  "tolist"};
    const absl::string_view name = OperatorName(node);
    if (absl::c_linear_search(kIntegers, name)) return false;
    if (absl::c_linear_search(kFloats, name)) return true;
    const bool is_data = absl::c_linear_search(kData, name);
    bool is_float = false;
    node.ForEachArgument([&](const Argument& argument) {
      is_float |= argument.is_float();
      if (argument.is_node()) {
        is_float |= floats_[argument.node()] != 0 || (is_data && IsFloat(dtypes_[argument.node()]));
      }
    });
    return is_float;
  }

  bool Lacks(const CpuRow& row) const {
    return to_ == DType::kBFloat16  ? row.lacks_bfloat16
           : to_ == DType::kFloat16 ? row.lacks_float16
           : to_ == DType::kFloat64 ? row.lacks_float64
                                    : false;
  }

  // Derives the dtype from the operands if no rule gives it.
  DType Guess(const Node& call, const CpuRow* row) const {
    const absl::string_view name = OperatorName(call);
    DType common = DType::kUnknown;
    bool has_float =
        call.target() == "aten.tensor.float" || call.target() == "aten.as_tensor.float";
    call.ForEachArgument([&](const Argument& argument) {
      has_float |= argument.is_float();
      if (!argument.is_node()) return;
      has_float |= floats_[argument.node()] != 0;
      const DType dtype = dtypes_[argument.node()];
      if (IsFloat(dtype) || IsComplex(dtype)) common = Promoted(common, dtype);
    });
    if (row != nullptr && !row->kinds.empty()) {
      const bool is_wide = common == DType::kFloat64 || common == DType::kComplex128;
      const char kind = row->kinds[0];
      if (kind == 'c') return is_wide ? DType::kComplex128 : DType::kComplex64;
      if (kind == 'i') return DType::kUnknown;
      return common == DType::kUnknown ? DType::kFloat32 : RealOf(common);
    }
    if (IsComplex(common)) {
      static constexpr absl::string_view kReal[] = {"abs",  "absolute",     "angle",
                                                    "real", "view_as_real", "imag"};
      bool is_real = absl::c_linear_search(kReal, name) || absl::StartsWith(name, "fft_irfft") ||
                     absl::StartsWith(name, "fft_hfft");
      if (call.is_call_function("builtins.getattr") && call.args().size() > 1 &&
          call.args()[1].is_string()) {
        is_real |= call.args()[1].string() == "real" || call.args()[1].string() == "imag";
      }
      return is_real ? RealOf(common) : common;
    }
    const CpuRow* own = FindCpuRow(name);
    if (own != nullptr && own->makes_float32) return DType::kFloat32;
    if (common != DType::kUnknown) return IsDataType(name) ? DType::kUnknown : common;
    if (TakesDType(call)) return DefaultDType(name, has_float);
    // A quotient of integers is a float unless it is rounded.
    const bool is_rounded =
        call.kwarg("rounding_mode") != nullptr && !call.kwarg("rounding_mode")->is_none();
    if ((own != nullptr && own->makes_floats && !is_rounded) || name == "truediv" ||
        name == "rtruediv" || (has_float && IsArithmetic(name))) {
      return AreIntegers(call) ? DType::kFloat32 : DType::kUnknown;
    }
    return DType::kUnknown;
  }

  static DType RealOf(DType dtype) {
    return dtype == DType::kComplex128  ? DType::kFloat64
           : dtype == DType::kComplex64 ? DType::kFloat32
           : dtype == DType::kComplex32 ? DType::kFloat16
                                        : dtype;
  }
  // The names of calls that yield an integer, a bool or no tensor, whatever their operands are.
  static bool IsDataType(absl::string_view name) {
    static constexpr absl::string_view kNames[] = {"size",
                                                   "dim",
                                                   "numel",
                                                   "item",
                                                   "tolist",
                                                   "getattr",
                                                   "argmax",
                                                   "argmin",
                                                   "argsort",
                                                   "nonzero",
                                                   "searchsorted",
                                                   "bucketize",
                                                   "isin",
                                                   "is_floating_point",
                                                   "multinomial",
                                                   "eq",
                                                   "ne",
                                                   "lt",
                                                   "le",
                                                   "gt",
                                                   "ge",
                                                   "isnan",
                                                   "isinf",
                                                   "isfinite",
                                                   "setitem",
                                                   "long",
                                                   "int",
                                                   "bool",
                                                   "equal",
                                                   "allclose",
                                                   "shape",
                                                   "stride",
                                                   "len",
                                                   "Int",
                                                   "Float",
                                                   "Bool",
                                                   "IntImplicit",
                                                   "FloatImplicit",
                                                   "NumToTensor",
                                                   "sym_size",
                                                   "sym_stride",
                                                   "sym_numel",
                                                   "sym_int",
                                                   "sym_float",
                                                   "ScalarImplicit",
                                                   "device",
                                                   "dtype",
                                                   "layout",
                                                   "_local_scalar_dense"};
    return absl::c_linear_search(kNames, name) || absl::StartsWith(name, "is_");
  }
  static bool IsArithmetic(absl::string_view name) {
    static constexpr absl::string_view kNames[] = {
        "add", "sub", "mul", "pow", "radd", "rsub", "rmul", "rpow", "fmod", "remainder", "mod"};
    return absl::c_linear_search(kNames, name);
  }
  bool AreIntegers(const Node& call) const {
    bool all = true;
    call.ForEachOperand([&](const Node* operand) {
      if (!NumberDType(operand->annotation()).has_value())
        all &= dtypes_[operand] != DType::kUnknown;
    });
    return all;
  }
  // Returns the dtype of a call that makes a tensor from no other and is not given a dtype.
  static DType DefaultDType(absl::string_view name, bool has_float) {
    static constexpr absl::string_view kFloats[] = {
        "zeros",           "ones",          "empty",          "rand",
        "randn",           "linspace",      "logspace",       "eye",
        "normal",          "empty_strided", "empty_permuted", "bartlett_window",
        "blackman_window", "hann_window",   "hamming_window", "kaiser_window",
        "fft_fftfreq",     "fft_rfftfreq",  "fftfreq",        "rfftfreq"};
    static constexpr absl::string_view kByValue[] = {"full",          "arange",    "tensor",
                                                     "scalar_tensor", "as_tensor", "range"};
    if (absl::c_linear_search(kFloats, name)) return DType::kFloat32;
    if (absl::c_linear_search(kByValue, name) && has_float) return DType::kFloat32;
    // Numbers that are computed are sizes, so arange counts as i64.
    return name == "arange" ? DType::kInt64 : DType::kUnknown;
  }

  // Returns whether this is an inserted cast: a conversion whose result only kept calls use.
  bool FeedsKept(const Node& node) const {
    if (!node.is_call() || !IsMeant(ConvertsTo(node)) || !node.has_uses()) return false;
    const Node::Uses uses = node.uses();
    return absl::c_all_of(uses, [this](const Use& use) { return kept_[use.user] != 0; });
  }

  // --- Calls that change -------------------------------------------------------

  // Returns whether the call involves values that change.
  bool IsConcerned(const Node& node) const {
    bool concerned = IsMeant(dtypes_[&node]);
    node.ForEachOperand([&](const Node* operand) { concerned |= IsMeant(dtypes_[operand]); });
    return concerned;
  }

  void ChangeCall(Node* node) {
    if (const DType method = DTypeOfMethod(*node); IsMeant(method)) {
      node->set_target("to");
      node->set_args({node->args()[0], to_});
      changed_ = true;
      return;
    }
    const bool is_concerned = IsConcerned(*node);
    bool is_told = false;
    const double largest = LargestOf(to_);
    changed_ |= node->MapArguments([&](const Argument& a) -> Argument {
      if (a.kind() == Argument::Kind::kDType && IsMeant(a.dtype())) {
        is_told = true;
        return to_;
      }
      if (is_concerned && a.is_float() && std::isfinite(a.real()) && std::fabs(a.real()) > largest)
        return std::copysign(largest, a.real());
      return a;
    });
    if (is_concerned && to_ == DType::kFloat16) LimitIntegers(node);
    if (is_told || !IsMeant(dtypes_[node])) return;
    // `follows`: an operand changes; `others`: an operand has another floating-point dtype.
    bool follows = false, others = false;
    node->ForEachOperand([&](const Node* operand) {
      const DType dtype = dtypes_[operand];
      follows |= IsMeant(dtype);
      others |= IsFloat(dtype) && !IsMeant(dtype) && dtype != to_;
    });
    if (follows && !others) return;
    if (!follows && !others && TakesDType(*node)) {
      node->set_kwarg("dtype", to_);
      changed_ = true;
      ++counts_["calls that now get the dtype as an argument"];
      return;
    }
    stays_[node] = 1;  // CastUses adds a cast after it.
  }

  static bool IsTuple(const Node& node) { return node.meta() != nullptr && node.meta()->is_tuple; }

  // Returns whether a call that makes a tensor from no other takes a dtype.
  static bool TakesDType(const Node& node) {
    const Argument* given = node.kwarg("dtype");
    if (node.op() != Op::kCallFunction || (given != nullptr && !given->is_none())) return false;
    const Callable callee = CalleeOf(node);
    // TorchScript's own functions have no schema in the tables.
    if (callee.kind == Callable::Kind::kForeign)
      return absl::StartsWith(node.target(), "aten.tensor.") ||
             absl::StartsWith(node.target(), "aten.as_tensor.");
    return absl::c_any_of(callee.overloads, [](const Schema& schema) {
      const SchemaArgument* dtype = schema.FindArgument("dtype");
      return dtype != nullptr && dtype->keyword_only &&
             absl::c_none_of(schema.arguments, [](const SchemaArgument& argument) {
               return argument.type.kind == SchemaType::Kind::kTensor;
             });
    });
  }

  // Limits integers that stand for elements to the range of the dtype.
  void LimitIntegers(Node* node) {
    const auto largest = static_cast<int64_t>(LargestOf(to_));
    const Callable callee = CalleeOf(*node);
    for (size_t i = 0; i < node->args().size(); ++i) {
      const Argument& argument = node->args()[i];
      if (!argument.is_int() || (argument.integer() >= -largest && argument.integer() <= largest)) {
        continue;
      }
      const bool is_element = (i == 2 && node->is_call_function("operator.setitem")) ||
                              absl::c_any_of(callee.overloads, [&](const Schema& schema) {
                                return i < schema.arguments.size() &&
                                       schema.arguments[i].type.kind == SchemaType::Kind::kScalar;
                              });
      if (!is_element) continue;
      node->set_arg(i, argument.integer() < 0 ? -LargestOf(to_) : LargestOf(to_));
      changed_ = true;
    }
  }

  // --- Calls that keep their dtype -----------------------------------------------

  Node* CastBefore(Node* place, Node* value, DType dtype) {
    const InsertionGuard guard(place->graph(), place);
    Node* cast = place->graph()->CallMethod("to", {value, dtype});
    cast->set_location(place->location());
    cast->set_module_path(place->module_path());
    if (value->tensor_meta() != nullptr) {
      TensorMeta meta = *value->tensor_meta();
      meta.dtype = dtype;
      cast->set_meta(module_.InternValueMeta(meta));
    }
    dtypes_[cast] = dtypes_[value];
    stays_[cast] = dtype != to_;
    changed_ = true;
    return cast;
  }

  void CastOperands(Node* node) {
    absl::flat_hash_map<const Node*, Node*> casts;
    const auto written = MemoryUseOf(*node).written;
    // An element of a tuple is taken out unchanged.
    if (node->is_call_function("operator.getitem") && !node->args().empty() &&
        node->args()[0].is_node() && kept_[node->args()[0].node()]) {
      return;
    }
    bool writes = false;
    node->MapArguments([&](const Argument& argument) -> Argument {
      if (!argument.is_node()) return argument;
      Node* operand = argument.node();
      if (!IsMeant(dtypes_[operand]) || stays_[operand] || IsTuple(*operand)) return argument;
      if (absl::c_linear_search(written, operand)) {
        writes = true;
        return argument;
      }
      Node*& cast = casts[operand];
      if (cast == nullptr) cast = CastBefore(node, operand, dtypes_[operand]);
      return cast;
    });
    if (writes) {
      run_.Warn(absl::StrCat(node->target(),
                             " writes to an operand and PyTorch does not compute it in ",
                             DTypeShortName(to_), " on the CPU: left as it is"));
    } else if (!casts.empty()) {
      ++counts_[absl::StrCat("calls of ", node->target(), " keep their dtype")];
    }
  }

  // Casts back the operands that a call needs in their old dtype.
  void KeepOperands(Node* node, const absl::flat_hash_set<const Node*>& operands) {
    absl::flat_hash_map<const Node*, Node*> casts;
    node->MapArguments([&](const Argument& argument) -> Argument {
      if (!argument.is_node() || !operands.contains(argument.node())) return argument;
      Node* operand = argument.node();
      if (!IsMeant(dtypes_[operand]) || stays_[operand]) return argument;
      Node*& cast = casts[operand];
      if (cast == nullptr) cast = CastBefore(node, operand, dtypes_[operand]);
      return cast;
    });
    if (!casts.empty())
      ++counts_[absl::StrCat("operands of ", node->target(), " keep their dtype")];
  }

  void CastResult(Node* node) {
    if (IsMeant(dtypes_[node]) && !IsTuple(*node) && !TakenApart(*node)) CastUses(node, to_);
  }
  // Returns whether its uses show that the value is a tuple.
  static bool TakenApart(const Node& node) {
    return node.is_call() && node.has_uses() && YieldsTuple(node);
  }

  // Adds a cast for all users except those that want the value as it is.
  void CastUses(Node* node, DType dtype) {
    const auto wants = [&](const Node* user) {
      return kept_[user] == 0 && ConvertsTo(*user) == DType::kUnknown && !KeepsOperand(user, node);
    };
    const Node::Uses uses = node->uses();
    if (absl::c_none_of(uses, [&](const Use& use) { return wants(use.user); })) return;
    Node* cast = CastBefore(node->next(), node, dtype);
    cast->set_location(node->location());
    cast->set_module_path(node->module_path());
    node->ReplaceUsesWithIf(cast, [&](const Node* user) { return user != cast && wants(user); });
    ++counts_["casts behind calls that yield another dtype"];
  }

  // --- Metas ---------------------------------------------------------------------

  const TensorMeta* Changed(const TensorMeta& meta) {
    if (!IsMeant(meta.dtype)) return &meta;
    TensorMeta changed = meta;
    changed.dtype = to_;
    return module_.InternMeta(changed);
  }
  const ValueMeta* Changed(const ValueMeta* meta) {
    if (meta->tensor != nullptr) {
      const TensorMeta* tensor = Changed(*meta->tensor);
      return tensor == meta->tensor ? meta : module_.InternValueMeta(*tensor);
    }
    std::vector<const ValueMeta*> elements;
    bool changed = false;
    for (const ValueMeta* element : meta->elements) {
      elements.push_back(element == nullptr ? nullptr : Changed(element));
      changed |= elements.back() != element;
    }
    return changed ? module_.InternTupleMeta(elements) : meta;
  }
  void ChangeMeta(Node* node) {
    // Numbers are not tensors, although a folder stores them as such.
    if (node->meta() == nullptr || NumberDType(node->annotation()).has_value()) return;
    const ValueMeta* meta = Changed(node->meta());
    if (meta == node->meta()) return;
    node->set_meta(meta);
    changed_ = true;
  }
  void ChangeAttributes() {
    const std::vector<Attribute> attributes(module_.attributes().begin(),
                                            module_.attributes().end());
    for (Attribute attribute : attributes) {
      if (attribute.meta == nullptr || left_attributes_.contains(attribute.name)) continue;
      const TensorMeta* meta = Changed(*attribute.meta);
      if (meta == attribute.meta) continue;
      attribute.meta = meta;
      module_.AddAttribute(attribute);
      changed_ = true;
    }
  }

  Module& module_;
  const DType to_;
  const std::vector<DType> from_;
  const KeptDTypes kept_by_user_;
  PassRun& run_;
  NodeTable<DType> dtypes_;    // before the change; for a tuple, of its elements
  NodeTable<uint8_t> kept_;    // calls that compute in their old dtype
  NodeTable<uint8_t> stays_;   // values that keep their old dtype
  NodeTable<uint8_t> floats_;  // numbers that are floats
  // The operands that a call needs in their old dtype, by call.
  absl::flat_hash_map<const Node*, absl::flat_hash_set<const Node*>> operands_;
  absl::flat_hash_set<const Node*> left_;  // inputs and attributes that only such calls use
  absl::flat_hash_set<std::string> left_attributes_;
  std::map<std::string, size_t> counts_;
  bool changed_ = false;
};

std::optional<DType> ReadDType(absl::string_view text) {
  std::optional<DType> dtype = ParseDTypeShortName(text);
  if (!dtype.has_value()) dtype = ParseDType(absl::StripPrefix(text, "torch."));
  return dtype.has_value() && IsFloat(*dtype) ? dtype : std::nullopt;
}

absl::Status OptionError(absl::string_view option, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(option, ", not \"", Printable(text), "\""));
}

}  // namespace

absl::StatusOr<bool> ChangeDType(Module* module, PassRun& run) {
  const std::optional<DType> to = ReadDType(run.option("to"));
  if (!to.has_value()) return OptionError("to is bf16, f16, f32 or f64", run.option("to"));
  std::vector<DType> from;
  for (const std::string& text : run.list("from")) {
    const std::optional<DType> dtype = ReadDType(text);
    if (!dtype.has_value()) return OptionError("from is bf16, f16, f32 or f64", text);
    from.push_back(*dtype);
  }
  if (from.empty()) from = {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64};
  const absl::string_view keep = run.option("keep");
  if (!keep.empty() && keep != "norm") {
    return absl::InvalidArgumentError(absl::StrCat("keep is norm, not \"", Printable(keep), "\""));
  }
  ASSIGN_OR_RETURN(KeptDTypes kept, FindKeptDTypes(*module, keep == "norm", CallScopeOf(run)));
  return DTypeChange(module, *to, std::move(from), std::move(kept), &run).Run();
}

namespace {

const RegisteredPass kChangeDtypePass("change-dtype", "change_dtype.h", ChangeDType,
                                      {"from", "keep", "module", "nodes", "skip", "to"});

}  // namespace

}  // namespace graphnet
