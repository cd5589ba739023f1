#include "graphnet/ops/callable.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/ops/foreign_operators.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

// A module in which Python has callables, and their names in the tables.
struct Home {
  absl::string_view python;
  absl::string_view operator_prefix;  // torch.fft.rfft is fft_rfft
  absl::string_view functions;        // torch.split is torch.functional.split
  // For private modules: the public modules that have the same functions, without `stripped`.
  absl::string_view stable[2] = {};
  absl::string_view stripped;
};
constexpr Home kHomes[] = {
    {"torch._C._nn.", "", "", {"torch.nn.functional.", "torch."}, ""},
    {"torch._C._linalg.", "", "", {"torch.linalg."}, "linalg_"},
    {"torch._C._fft.", "", "", {"torch.fft."}, "fft_"},
    {"torch._C._special.", "", "", {"torch.special."}, "special_"},
    {"torch._C._sparse.", "", "", {"torch.sparse."}, "_sparse_"},
    {"torch._C._VariableFunctions.", "", "", {"torch."}, ""},
    {"torch._VF.", "", "", {"torch."}, ""},
    {"torch._C.", "", "", {"torch."}, "_"},  // torch._C._set_grad_enabled
    {"torch._functorch.predispatch.", "", "torch._C._functorch."},
    {"torch.ops.higher_order.", "", "torch."},
    {"torch.nn.functional.", "", ""},
    {"torch.functional.", "", ""},
    {"torch.linalg.", "linalg_", ""},
    {"torch.fft.", "fft_", ""},
    {"torch.special.", "special_", ""},
    {"torch.sparse.", "_sparse_", ""},
    {"torch.", "", "torch.functional."},
};

Callable FunctionOf(absl::Span<const Schema> rows, CallForm form) {
  return {.kind = Callable::Kind::kFunction, .form = form, .name = rows[0].name, .overloads = rows};
}

Callable OperatorOf(absl::Span<const Schema> overloads, CallForm form) {
  return {.kind = Callable::Kind::kOperator,
          .form = form,
          .name = overloads[0].name,
          .overloads = overloads};
}

Callable PythonOperatorOf(absl::string_view name) {
  const PythonOperator* op = FindPythonOperator(name);
  if (op == nullptr) return {};
  return {.kind = Callable::Kind::kPythonOperator, .name = op->name, .python_operator = op};
}

Callable FindMethod(absl::string_view name) {
  if (const auto rows = FindFunctions(absl::StrCat("Tensor.", name)); !rows.empty()) {
    return FunctionOf(rows, CallForm::kMethod);
  }
  // Python calls methods such as __and__ and __radd__ for an operator.
  if (name.size() > 4 && absl::StartsWith(name, "__") && absl::EndsWith(name, "__")) {
    const absl::string_view op = name.substr(2, name.size() - 4);
    return PythonOperatorOf(op == "and" ? "and_" : op == "or" ? "or_" : op);
  }
  const absl::Span<const Schema> overloads = FindSchemas(name);
  return overloads.empty() ? Callable() : OperatorOf(overloads, CallForm::kMethod);
}

// Finds "conv2d" or "conv2d.padding", as in torch.ops.aten.
Callable FindAten(absl::string_view target, absl::string_view name) {
  const absl::string_view base = name.substr(0, name.find('.'));
  const absl::Span<const Schema> overloads = FindSchemas(base);
  if (base.size() == name.size()) {
    return overloads.empty() ? Callable() : OperatorOf(overloads, CallForm::kFunction);
  }
  for (size_t i = 0; i < overloads.size(); ++i) {
    if (overloads[i].overload != name.substr(base.size() + 1)) continue;
    Callable callable = OperatorOf(overloads.subspan(i, 1), CallForm::kFunction);
    callable.names_overload = true;
    return callable;
  }
  return {.kind = Callable::Kind::kForeign, .name = target};
}

Callable LookUp(Op op, absl::string_view target) {
  if (op == Op::kCallMethod) return FindMethod(target);
  absl::string_view name = target;
  if (absl::ConsumePrefix(&name, "torch.Tensor.")) return FindMethod(name);
  if (absl::ConsumePrefix(&name, "operator.") || absl::ConsumePrefix(&name, "_operator.")) {
    return PythonOperatorOf(name);
  }
  absl::ConsumePrefix(&name, "torch.ops.");
  if (absl::ConsumePrefix(&name, "aten.")) return FindAten(target, name);
  if (absl::StartsWith(target, "prim.") || absl::StartsWith(name, "quantized.")) {
    return {.kind = Callable::Kind::kForeign, .name = target};
  }
  if (const auto rows = FindFunctions(target); !rows.empty()) {
    return FunctionOf(rows, CallForm::kFunction);
  }
  for (const Home& home : kHomes) {
    name = target;
    if (!absl::ConsumePrefix(&name, home.python) || absl::StrContains(name, '.')) continue;
    if (!home.functions.empty()) {
      const auto rows = FindFunctions(absl::StrCat(home.functions, name));
      if (!rows.empty()) return FunctionOf(rows, CallForm::kFunction);
    }
    const auto overloads = home.operator_prefix.empty()
                               ? FindSchemas(name)
                               : FindSchemas(absl::StrCat(home.operator_prefix, name));
    if (overloads.empty()) continue;
    Callable callable = OperatorOf(overloads, CallForm::kFunction);
    callable.is_binding = true;
    return callable;
  }
  name = absl::StripPrefix(target, "torch.ops.");
  if (!IsForeignOperator(name)) return {};
  if (const Schema* const known = FindKnownOverload(name)) {
    Callable callable = OperatorOf(absl::MakeConstSpan(known, 1), CallForm::kFunction);
    callable.names_overload = true;
    return callable;
  }
  Callable callable = {.kind = Callable::Kind::kForeign, .name = target};
  if (const Schema* schema = FindForeignSchema(name))
    callable.overloads = absl::MakeConstSpan(schema, 1);
  return callable;
}

}  // namespace

Callable FindCallable(Op op, absl::string_view target) {
  if (op != Op::kCallMethod && op != Op::kCallFunction) return {};
  struct Entry {
    std::string target;
    Op op = Op::kOutput;
    Callable callable;
  };
  // The cache is keyed by the address of the target, because modules intern targets.
  constexpr int kBits = 9;
  thread_local std::vector<Entry> entries(size_t{1} << kBits);
  thread_local int foreign = 0;
  if (const int count = CountForeignOperators(); count != foreign) {
    foreign = count;
    entries.assign(entries.size(), {});
  }
  const uint64_t address = reinterpret_cast<uintptr_t>(target.data()) + target.size();
  Entry& entry = entries[(address * 0x9e3779b97f4a7c15) >> (64 - kBits)];
  if (entry.op == op && entry.target == target) return entry.callable;
  Callable callable = LookUp(op, target);
  // Its name may point to the target.
  if (callable.kind == Callable::Kind::kForeign) return callable;
  entry = {std::string(target), op, callable};
  return callable;
}

absl::string_view BareName(const Node& call) {
  absl::string_view name = CalleeOf(call).name;
  if (name.empty()) name = call.target();
  if (absl::ConsumePrefix(&name, "aten.")) {
    name = name.substr(0, name.find('.'));  // without the overload
  } else {
    name = name.substr(name.rfind('.') + 1);
  }
  if (name.size() > 1 && absl::EndsWith(name, "_") && !absl::EndsWith(name, "__"))
    name.remove_suffix(1);
  return name;
}

absl::string_view TargetKindName(TargetKind kind) {
  switch (kind) {
    case TargetKind::kNone: return "none";
    case TargetKind::kFunction: return "function";
    case TargetKind::kMethod: return "method";
    case TargetKind::kOperator: return "operator";
    case TargetKind::kHigherOrder: return "higher-order";
    case TargetKind::kConstructor: return "constructor";
    case TargetKind::kModule: return "module";
  }
  return "";
}

TargetKind KindOfTarget(const Node& node) {
  switch (node.op()) {
    case Op::kCallMethod: return TargetKind::kMethod;
    case Op::kCallModule: return TargetKind::kModule;
    case Op::kCallFunction: break;
    default: return TargetKind::kNone;
  }
  if (node.HasBody()) return TargetKind::kHigherOrder;
  const Callable callee = CalleeOf(node);
  if (callee.kind == Callable::Kind::kPythonOperator) return TargetKind::kOperator;
  if (callee.is_function("torch.tensor")) return TargetKind::kConstructor;
  if (callee.kind == Callable::Kind::kForeign) {
    return absl::EndsWith(callee.name, "Construct") ? TargetKind::kConstructor
                                                    : TargetKind::kFunction;
  }
  const bool constructs =
      callee.kind == Callable::Kind::kOperator && !callee.overloads[0].returns.empty() &&
      callee.overloads[0].returns[0].kind == SchemaType::Kind::kTensor &&
      absl::c_none_of(callee.overloads[0].arguments, [](const SchemaArgument& a) {
        return a.type.kind == SchemaType::Kind::kTensor;
      });
  return constructs ? TargetKind::kConstructor : TargetKind::kFunction;
}

bool IsPrivateTarget(absl::string_view target) {
  for (const absl::string_view part : absl::StrSplit(target, '.')) {
    // Python's own methods such as __and__ do not count.
    if (absl::StartsWith(part, "_") && !absl::EndsWith(part, "__")) return true;
  }
  return false;
}

std::string StableTarget(absl::string_view target) {
  if (absl::StartsWith(target, "_operator.")) return std::string(target.substr(1));
  if (!IsPrivateTarget(target)) return "";
  for (const Home& home : kHomes) {
    absl::string_view name = target;
    if (!absl::ConsumePrefix(&name, home.python)) continue;
    if (!absl::ConsumePrefix(&name, home.stripped)) continue;
    for (const absl::string_view module : home.stable) {
      std::string stable = absl::StrCat(module, name);
      if (!module.empty() && IsPublicFunction(stable)) return stable;
    }
  }
  return "";
}

}  // namespace graphnet
