#include "graphnet/extract/dynamic_sizes.h"

#include <map>
#include <set>

#include "ATen/Functions.h"
#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "c10/core/SymInt.h"
#include "c10/core/SymNodeImpl.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/ivalue_tree.h"
#include "graphnet/extract/run_number.h"
#include "graphnet/interp/meta_rules.h"
#include "graphnet/ir/verifier.h"

namespace graphnet::extract {
namespace {

using c10::IValue;
using Values = std::vector<IValue>;
using Kind = SymExpr::Kind;

class SizeNode : public c10::SymNodeImpl {
 public:
  SizeNode(DynamicSizes* sizes, const SymExpr* expr, int64_t example)
      : expr(expr), example(example), sizes_(*sizes) {}
  bool is_int() override { return true; }
  bool is_bool() override { return false; }
  bool is_float() override { return false; }
  bool has_hint() override { return true; }
  int64_t guard_int(const char*, int64_t) override { return sizes_.Pin(*expr); }
  int64_t int_() override { return sizes_.Pin(*expr); }
  std::string str() override { return absl::StrCat(example); }

  const SymExpr* const expr;
  const int64_t example;

 private:
  DynamicSizes& sizes_;
};

const SizeNode& NodeOf(const IValue& value) {
  return *static_cast<const SizeNode*>(value.toSymInt().toSymNodeImplUnowned());
}

// Larger expressions are not made: their operands are pinned.
constexpr uint64_t kMaxWrittenTerms = 1024;

// An operator that does not run without data runs on zeros, up to this many.
constexpr int64_t kMaxZeros = int64_t{1} << 24;

// Returns `value` with tensors of zeros, or, on the meta device, without data, of the same sizes.
IValue OnDevice(const IValue& value, c10::DeviceType device) {
  return MapLeaves(value, [&](const IValue& leaf) -> IValue {
    if (!IsTensor(leaf)) return leaf;
    const at::Tensor& tensor = leaf.toTensor();
    const at::TensorOptions options = tensor.options().device(device);
    const bool is_meta = device == at::kMeta;
    TORCH_CHECK_NOT_IMPLEMENTED(is_meta || tensor.numel() <= kMaxZeros, "too many zeros");
    const at::Tensor other = at::empty_strided(tensor.sizes(), tensor.strides(), options);
    return is_meta ? other : other.zero_();
  });
}

}  // namespace

const SymExpr& ExprOf(const IValue& value) { return *NodeOf(value).expr; }

bool HasSymbols(const Values& values) {
  return absl::c_any_of(values, [](const IValue& value) { return HasSymbols(value); });
}

IValue WithoutSymbols(const IValue& value) {
  if (!HasSymbols(value)) return value;
  return MapLeaves(value, [](const IValue& leaf) {
    if (const RunNumber* number = RunNumberOf(leaf)) return number->example;
    return leaf.isSymInt() ? IValue(NodeOf(leaf).example) : leaf;
  });
}

// --- Symbols -------------------------------------------------------------------

absl::Status DynamicSizes::Add(const at::Tensor& input, int64_t dim, const std::string& name) {
  if (dim < 0 || dim >= input.dim()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no dimension ", dim, ": the tensor has rank ", input.dim()));
  }
  const auto same =
      absl::c_find_if(inputs_, [&](const auto& entry) { return entry.first.is_same(input); });
  if (same == inputs_.end()) {
    inputs_.push_back({input, {{dim, name}}});
  } else {
    same->second.push_back({dim, name});
  }
  return absl::OkStatus();
}

void DynamicSizes::MakeProbes() {
  std::vector<int64_t> examples;
  for (const Symbol& symbol : module_->symbols()) examples.push_back(*symbol.example);
  for (size_t i = 0; i < examples.size(); ++i) {
    for (const int64_t change : {1, 3}) {
      probes_.push_back({examples});
      probes_.back().values[i] += change;
    }
  }
  // Change all together: a size that is linear nearby may have been rounded or clamped.
  const auto add = [&](int64_t factor, int64_t offset) {
    Probe& probe = probes_.emplace_back();
    for (size_t i = 0; i < examples.size(); ++i)
      probe.values.push_back(factor * examples[i] + offset * static_cast<int64_t>(i + 1));
  };
  add(0, 2);
  add(0, 3);
  add(1, 2);
  add(2, 1);
  add(8, 5);
}

void DynamicSizes::Begin() {
  std::map<std::string, std::set<int64_t>> sizes_by_name;
  for (const auto& [tensor, dims] : inputs_) {
    for (const auto& [dim, name] : dims) sizes_by_name[name].insert(tensor.size(dim));
  }
  for (const auto& [name, sizes] : sizes_by_name) {
    if (sizes.size() != 1 || *sizes.begin() < 2) continue;
    module_->AddSymbol(name, *sizes.begin());
    Relate(Kind::kGe, module_->SymSymbol(name), module_->SymInt(2));
  }
  if (!any()) return;
  MakeProbes();
  for (const auto& [tensor, dims] : inputs_) {
    Shadow shadow{c10::weak_intrusive_ptr<c10::TensorImpl>(tensor.getIntrusivePtr()), {}};
    for (const Probe& probe : probes_) {
      std::vector<int64_t> sizes = tensor.sizes().vec();
      for (const auto& [dim, name] : dims) {
        const Symbol* symbol = module_->FindSymbol(name);
        if (symbol == nullptr) continue;
        sizes[static_cast<size_t>(dim)] =
            probe.values[static_cast<size_t>(symbol - module_->symbols().data())];
      }
      shadow.others.push_back(at::empty(sizes, tensor.options().device(at::kMeta)));
    }
    shadows_.emplace(tensor.unsafeGetTensorImpl(), std::move(shadow));
  }
  inputs_.clear();
}

IValue DynamicSizes::BeginLoop(const std::string& name) {
  module_->AddSymbol(name, 0);
  MakeProbes();
  return *Number(module_->SymSymbol(name));  // The symbol has an example, so there is a number.
}

bool DynamicSizes::EndLoop() {
  const bool is_same = module_->relations().empty() && shadows_.empty();
  module_ = std::make_unique<Module>();
  expansions_ = {};
  places_.clear();
  probes_.clear();
  shadows_.clear();
  return is_same;
}

std::optional<IValue> DynamicSizes::Number(const SymExpr* expr) {
  if (expr->kind == Kind::kInt) return expr->value;
  const std::optional<int64_t> example = EvaluateWithExamples(*module_, *expr);
  if (!example) return std::nullopt;
  return c10::SymInt(c10::SymNode(c10::make_intrusive<SizeNode>(this, expr, *example)));
}

bool DynamicSizes::IsWritable(const SymExpr* expr) {
  // A folder's constraints can hold a sum of this height; a relation is one level higher.
  constexpr int kMaxHeight = kMaxNesting / 4;
  const std::optional<Expansion> all = expansions_.Of(expr, SymParts());
  return all && all->size <= kMaxWrittenTerms && all->height <= kMaxHeight;
}

void DynamicSizes::Relate(Kind kind, const SymExpr* lhs, const SymExpr* rhs) {
  const SymExpr* relation = module_->SymBinary(kind, lhs, rhs);
  for (const SymExpr* known : module_->relations()) {
    if (*known == *relation) return;
  }
  module_->AddRelation(relation);
  places_.push_back(step_ != nullptr
                        ? torchscript::PlaceOf(torchscript::NearestWithPlace(*step_->node))
                        : torchscript::Place());
}

int64_t DynamicSizes::Pin(const SymExpr& expr) {
  const int64_t value = *EvaluateWithExamples(*module_, expr);
  if (expr.kind != Kind::kInt) Relate(Kind::kEq, module_->CopySym(&expr), module_->SymInt(value));
  return value;
}

IValue DynamicSizes::Pin(const IValue& value) {
  if (!HasSymbols(value)) return value;
  if (const RunNumber* number = RunNumberOf(value)) return number->Pin();
  if (value.isSymInt()) return Pin(ExprOf(value));
  if (value.isList()) {
    auto list = value.toList();
    for (size_t i = 0; i < list.size(); ++i) list.set(i, Pin(IValue(list.get(i))));
    return value;
  }
  if (value.isGenericDict()) {
    auto dict = value.toGenericDict();
    for (auto& entry : dict) dict.insert_or_assign(entry.key(), Pin(entry.value()));
    return value;
  }
  Values elements;
  for (const IValue& element : value.toTupleRef().elements()) elements.push_back(Pin(element));
  return c10::ivalue::Tuple::create(std::move(elements));
}

void DynamicSizes::PinAll() {
  for (const Symbol& symbol : module_->symbols()) Pin(*module_->SymSymbol(symbol.name));
  shadows_.clear();
}

std::optional<IValue> DynamicSizes::Compute(const std::string& op, const Values& operands) {
  static const auto* const kinds = new absl::flat_hash_map<std::string, Kind>{
      {"aten::add", Kind::kAdd},       {"aten::sub", Kind::kSub},
      {"aten::mul", Kind::kMul},       {"aten::floordiv", Kind::kFloorDiv},
      {"aten::remainder", Kind::kMod}, {"prim::min", Kind::kMin},
      {"prim::max", Kind::kMax},       {"aten::eq", Kind::kEq},
      {"aten::ne", Kind::kNe},         {"aten::lt", Kind::kLt},
      {"aten::le", Kind::kLe},         {"aten::gt", Kind::kGt},
      {"aten::ge", Kind::kGe},
  };
  std::vector<const SymExpr*> exprs;
  for (const IValue& operand : operands) {
    if (operand.isSymInt()) {
      exprs.push_back(&ExprOf(operand));
    } else if (operand.isInt()) {
      exprs.push_back(module_->SymInt(operand.toInt()));
    } else {
      return std::nullopt;
    }
  }
  const auto kind = kinds->find(op);
  const SymExpr* expr = nullptr;
  if (op == "aten::neg" && exprs.size() == 1) {
    expr = module_->SymNeg(exprs[0]);
  } else if (op == "aten::__derive_index" && exprs.size() == 3) {
    const SymExpr* offset = module_->SymBinary(Kind::kMul, exprs[0], exprs[2]);
    expr = module_->SymBinary(Kind::kAdd, exprs[1], offset);
  } else if (kind != kinds->end() && exprs.size() == 2) {
    expr = module_->SymBinary(kind->second, exprs[0], exprs[1]);
  } else {
    return std::nullopt;
  }
  const std::optional<int64_t> value = EvaluateWithExamples(*module_, *expr);
  if (!value) return std::nullopt;  // Division by zero: the operator reports it.
  if (!IsWritable(expr)) {
    for (const SymExpr* operand : exprs) Pin(*operand);
    return expr->is_relation() ? IValue(*value != 0) : IValue(*value);
  }
  if (!expr->is_relation()) return Number(expr);
  if (*exprs[0] == *exprs[1]) return *value != 0;
  if (*value != 0) {
    Relate(kind->second, exprs[0], exprs[1]);
    return true;
  }
  static const auto* const opposites = new absl::flat_hash_map<Kind, Kind>{
      {Kind::kEq, Kind::kNe}, {Kind::kNe, Kind::kEq}, {Kind::kLt, Kind::kGe},
      {Kind::kGe, Kind::kLt}, {Kind::kGt, Kind::kLe}, {Kind::kLe, Kind::kGt}};
  Relate(opposites->at(kind->second), exprs[0], exprs[1]);
  return false;
}

// --- Tensors -------------------------------------------------------------------

const DynamicSizes::Shadow* DynamicSizes::Find(const at::Tensor& tensor) const {
  const auto it = shadows_.find(tensor.unsafeGetTensorImpl());
  return it == shadows_.end() ? nullptr : &it->second;
}

bool DynamicSizes::AnyDynamic(const Values& operands) const {
  return absl::c_any_of(operands, [&](const IValue& operand) {
    if (operand.isTensor()) return operand.toTensor().defined() && IsDynamic(operand.toTensor());
    return (operand.isTensorList() || operand.isOptionalTensorList()) &&
           AnyDynamic(operand.toListRef().vec());
  });
}

IValue DynamicSizes::ForProbe(const IValue& value, size_t probe) {
  return MapLeaves(value, [&](const IValue& leaf) -> IValue {
    if (IsTensor(leaf)) {
      const at::Tensor& tensor = leaf.toTensor();
      if (const Shadow* shadow = Find(tensor)) return shadow->others[probe];
      return at::empty_strided(tensor.sizes(), tensor.strides(),
                               tensor.options().device(at::kMeta));
    }
    if (const RunNumber* number = RunNumberOf(leaf)) return number->example;
    if (!leaf.isSymInt()) return leaf;
    const std::optional<int64_t> size = Evaluate(ExprOf(leaf), probes_[probe].values);
    TORCH_CHECK(size, "a size has no value");
    return *size;
  });
}

std::optional<int64_t> DynamicSizes::Evaluate(const SymExpr& expr,
                                              const std::vector<int64_t>& values) {
  const std::vector<Symbol> symbols(module_->symbols().begin(), module_->symbols().end());
  for (size_t i = 0; i < symbols.size(); ++i) module_->AddSymbol(symbols[i].name, values[i]);
  const std::optional<int64_t> value = EvaluateWithExamples(*module_, expr);
  for (const Symbol& symbol : symbols) module_->AddSymbol(symbol.name, symbol.example);
  return value;
}

Values DynamicSizes::RunProbe(const StepPlan& step, const Values& operands, size_t probe) {
  Values stack;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool is_device =
        i < step.schema->arguments().size() && step.schema->arguments()[i].name() == "device";
    stack.push_back(is_device ? IValue(c10::Device(c10::kMeta)) : ForProbe(operands[i], probe));
  }
  const Values metas = stack;
  try {
    Execute(step, &stack);
    return stack;
  } catch (const c10::NotImplementedError&) {
    if (const auto result = interp::MetaResult(step.schema->name(), metas)) return {*result};
    // An operator that depends on data or changes operands cannot run on zeros.
    if (step.is_random || step.sizes_may_depend_on_data || !step.writes.empty()) throw;
  }
  stack.clear();
  for (const IValue& operand : metas) stack.push_back(OnDevice(operand, at::kCPU));
  Execute(step, &stack);
  for (IValue& result : stack) result = OnDevice(result, at::kMeta);
  return stack;
}

std::vector<Values> DynamicSizes::RunProbes(const StepPlan& step, const Values& operands) {
  std::vector<Values> all(probes_.size());
  for (size_t probe = 0; probe < probes_.size(); ++probe) {
    if (!probes_[probe].works) continue;
    try {
      all[probe] = RunProbe(step, operands, probe);
    } catch (...) {
      if (probe < 2 * module_->symbols().size()) return {};
      probes_[probe].works = false;
    }
  }
  return all;
}

const SymExpr* DynamicSizes::Fit(int64_t size, const std::vector<int64_t>& others) {
  const auto times = [&](int64_t factor, const SymExpr* expr) {
    return factor == 1 ? expr : module_->SymBinary(Kind::kMul, module_->SymInt(factor), expr);
  };
  std::vector<std::pair<const Symbol*, int64_t>> slopes;
  for (size_t i = 0; i < module_->symbols().size(); ++i) {
    const int64_t near = others[2 * i] - size, far = others[2 * i + 1] - size;
    if (far != 3 * near) return nullptr;
    if (near != 0) slopes.emplace_back(&module_->symbols()[i], near);
  }
  const SymExpr* expr = nullptr;
  if (slopes.size() == 1) {
    const auto& [symbol, slope] = slopes[0];
    const int64_t rest = size - slope * *symbol->example;
    expr = times(slope, module_->SymSymbol(symbol->name));
    if (rest > 0) expr = module_->SymBinary(Kind::kAdd, expr, module_->SymInt(rest));
    if (rest < 0) expr = module_->SymBinary(Kind::kSub, expr, module_->SymInt(-rest));
  } else if (slopes.size() == 2) {
    // For a * s * t, the slope by s is a * t.
    const auto& [first, slope] = slopes[0];
    const auto& [second, unused] = slopes[1];
    expr = module_->SymBinary(Kind::kMul,
                              times(slope / *second->example, module_->SymSymbol(first->name)),
                              module_->SymSymbol(second->name));
    if (EvaluateWithExamples(*module_, *expr) != size) return nullptr;
  } else {
    return nullptr;
  }
  for (size_t probe = 0; probe < probes_.size(); ++probe) {
    if (probes_[probe].works && Evaluate(*expr, probes_[probe].values) != others[probe])
      return nullptr;
  }
  return expr;
}

bool DynamicSizes::Keep(const IValue& result, const Values& others) {
  const auto differs = [&](auto&& is_other) {
    for (size_t probe = 0; probe < probes_.size(); ++probe) {
      if (probes_[probe].works && is_other(others[probe])) return true;
    }
    return false;
  };
  if (result.isTensor() && result.toTensor().defined()) {
    const at::Tensor& tensor = result.toTensor();
    if (differs([&](const IValue& other) {
          return !other.isTensor() || other.toTensor().dim() != tensor.dim();
        })) {
      return false;
    }
    if (differs([&](const IValue& other) { return other.toTensor().sizes() != tensor.sizes(); })) {
      Shadow shadow{c10::weak_intrusive_ptr<c10::TensorImpl>(tensor.getIntrusivePtr()), {}};
      for (const IValue& other : others)
        shadow.others.push_back(other.isTensor() ? other.toTensor() : at::Tensor());
      shadows_.insert_or_assign(tensor.unsafeGetTensorImpl(), std::move(shadow));
    }
    return true;
  }
  if (!result.isTensorList()) return true;
  const size_t size = result.toListRef().size();
  if (differs([&](const IValue& other) {
        return !other.isTensorList() || other.toListRef().size() != size;
      })) {
    return false;
  }
  for (size_t i = 0; i < size; ++i) {
    Values inner;
    for (const IValue& other : others)
      inner.push_back(other.isTensorList() ? other.toListRef()[i] : IValue());
    if (!Keep(result.toListRef()[i], inner)) return false;
  }
  return true;
}

void DynamicSizes::Run(const StepPlan& step, const Values& operands, const Values& results) {
  if (!AnyDynamic(operands) && !HasSymbols(operands)) return;
  const std::vector<Values> all = RunProbes(step, operands);
  bool kept = !all.empty();
  for (size_t i = 0; kept && i < results.size(); ++i) {
    Values others;
    for (const Values& probe : all) others.push_back(probe.size() > i ? probe[i] : IValue());
    kept = Keep(results[i], others);
  }
  if (!kept) PinAll();
}

std::vector<Dim> DynamicSizes::DimsOf(const at::Tensor& tensor) {
  std::vector<Dim> dims(tensor.sizes().begin(), tensor.sizes().end());
  const Shadow* shadow = Find(tensor);
  if (shadow == nullptr) return dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    std::vector<int64_t> others;
    for (const at::Tensor& other : shadow->others)
      others.push_back(other.defined() ? other.size(static_cast<int64_t>(i)) : 0);
    if (const SymExpr* expr = Fit(dims[i].value, others)) dims[i] = Dim(expr);
  }
  return dims;
}

IValue DynamicSizes::Read(const StepPlan& step, const Values& operands, const IValue& result) {
  const std::vector<Values> all = RunProbes(step, operands);
  const auto fits = [&](absl::FunctionRef<bool(const IValue&)> is) {
    for (size_t probe = 0; probe < all.size(); ++probe) {
      if (probes_[probe].works && !(all[probe].size() == 1 && is(all[probe][0]))) return false;
    }
    return !all.empty();
  };
  const auto symbolic = [&](int64_t size, absl::FunctionRef<int64_t(const IValue&)> get) -> IValue {
    if (fits([&](const IValue& v) { return get(v) == size; })) return size;
    std::vector<int64_t> others;
    for (const Values& probe : all) others.push_back(probe.empty() ? 0 : get(probe[0]));
    if (const SymExpr* expr = Fit(size, others)) {
      if (std::optional<IValue> number = Number(expr)) return *std::move(number);
    }
    PinAll();
    return size;
  };
  if (result.isInt() && fits([](const IValue& v) { return v.isInt(); })) {
    return symbolic(result.toInt(), [](const IValue& v) { return v.toInt(); });
  }
  const std::vector<int64_t> sizes =
      result.isIntList() ? result.toIntVector() : std::vector<int64_t>();
  if (result.isIntList() && fits([&](const IValue& v) {
        return v.isIntList() && v.toListRef().size() == sizes.size();
      })) {
    c10::impl::GenericList list(c10::IntType::get());
    for (size_t i = 0; i < sizes.size(); ++i) {
      list.push_back(symbolic(sizes[i], [i](const IValue& v) { return v.toListRef()[i].toInt(); }));
    }
    return list;
  }
  if (!fits([&](const IValue& v) { return v == result; })) PinAll();
  return result;
}

}  // namespace graphnet::extract
