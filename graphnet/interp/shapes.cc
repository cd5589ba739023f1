#include "graphnet/interp/shapes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/structured_input.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/torch/status.h"
#include "graphnet/torch/tensors.h"
#include "graphnet/torch/types.h"
#include "graphnet/torch/values.h"

namespace graphnet {
namespace {

const c10::Device kMeta(c10::kMeta);
// Of a value that has a meta, with those of tuples in it wherever they are referred to.
constexpr uint64_t kMaxParts = 1 << 16;

// A tensor with data if it is small, else one without.
absl::StatusOr<at::Tensor> InputTensor(const Module& module, absl::string_view name,
                                       const TensorMeta* meta, const TensorData* value) {
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("input ", Printable(name), ": ", what));
  };
  std::vector<int64_t> shape;
  DType dtype = DType::kUnknown;
  if (value != nullptr) {
    shape = value->shape;
    dtype = value->dtype;
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    if (elements <= kMaxElementsWithData) return ToTensor(*value, c10::Device(c10::kCPU));
  } else {
    if (meta == nullptr || !meta->has_shape) return error("its shape is not known");
    dtype = meta->dtype;
    for (const Dim& dim : meta->shape) {
      const std::optional<int64_t> size =
          dim.is_static() ? dim.value : EvaluateWithExamples(module, *dim.expr);
      if (!size) return error("its shape is symbolic, without an example");
      shape.push_back(*size);
    }
  }
  absl::StatusOr<at::Tensor> tensor = Guarded([&]() -> absl::StatusOr<at::Tensor> {
    return at::empty(shape, at::TensorOptions(kMeta).dtype(ScalarTypeOf(dtype)));
  });
  if (!tensor.ok()) return error(tensor.status().message());
  return tensor;
}

// Adds up the memory that is alive.
class MemoryMeter {
 public:
  void Add(const c10::IValue& value) {
    absl::flat_hash_set<const void*> seen;
    Add(value, &seen);
  }
  // While a value is made, what was alive before it still is.
  void Measure() {
    peak_ = std::max(peak_, alive_ + added_);
    added_ = 0;
    int64_t alive = 0;
    for (auto it = storages_.begin(); it != storages_.end();) {
      if (it->second.storage.expired()) {
        storages_.erase(it++);
      } else {
        alive += it->second.bytes;
        ++it;
      }
    }
    alive_ = alive;
  }
  int64_t peak() const { return peak_; }

 private:
  // `seen`: tuples, which may be shared.
  void Add(const c10::IValue& value, absl::flat_hash_set<const void*>* seen) {
    if (value.isTensor() && value.toTensor().defined() && value.toTensor().has_storage()) {
      const c10::Storage& storage = value.toTensor().storage();
      const auto bytes = static_cast<int64_t>(storage.nbytes());
      const auto [it, is_new] = storages_.try_emplace(storage.unsafeGetStorageImpl(),
                                                      Entry{storage.getWeakStorageImpl(), bytes});
      if (is_new) added_ += bytes;
    } else if (value.isTuple() || value.isTensorList()) {
      if (value.isTuple() && !seen->insert(&value.toTupleRef()).second) return;
      for (const c10::IValue& element : Elements(value)) Add(element, seen);
    }
  }

  struct Entry {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    int64_t bytes;
  };
  absl::flat_hash_map<const void*, Entry> storages_;
  int64_t alive_ = 0;
  int64_t added_ = 0;
  int64_t peak_ = 0;
};

// Runs the main graph without data.
// `peak`, unless null, becomes the most bytes that were needed at once, as far as the run came.
absl::Status RunForShapes(const Module& module, const std::map<std::string, TensorData>& values,
                          const Observer& observer, const Recover& recover, int64_t* peak,
                          bool recover_errors = false) {
  const auto find = [&values](absl::string_view name) {
    const auto it = values.find(std::string(name));
    return it == values.end() ? nullptr : &it->second;
  };
  CompileOptions options;
  options.device = kMeta;
  MemoryMeter memory;
  for (const Attribute& attribute : module.attributes()) {
    ASSIGN_OR_RETURN(at::Tensor tensor,
                     InputTensor(module, attribute.name, attribute.meta, find(attribute.name)));
    memory.Add(tensor);
    options.attributes.emplace(attribute.name, std::move(tensor));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable, Compile(module, options));
  std::vector<c10::IValue> inputs;
  for (const Node* node : module.main()->placeholders()) {
    if (IsStructure(*node)) {
      ASSIGN_OR_RETURN(
          inputs.emplace_back(),
          MakeStructure(*node, values, [&](const std::string& name, const TensorData& data) {
            return InputTensor(module, name, nullptr, &data);
          }));
      continue;
    }
    const TensorData* value = find(node->target());
    if (value == nullptr && node->tensor_meta() == nullptr &&
        absl::StartsWith(node->annotation(), "Optional[")) {
      inputs.emplace_back();
      continue;
    }
    if (const Symbol* symbol = module.FindSymbol(node->target());
        value == nullptr && symbol != nullptr && symbol->example.has_value()) {
      inputs.emplace_back(*symbol->example);
      continue;
    }
    ASSIGN_OR_RETURN(at::Tensor tensor,
                     InputTensor(module, node->target(), node->tensor_meta(), value));
    memory.Add(tensor);
    if (tensor.is_meta()) {
      inputs.emplace_back(std::move(tensor));
    } else {
      ASSIGN_OR_RETURN(c10::IValue input, ToInput(std::move(tensor), *node));
      inputs.push_back(std::move(input));
    }
  }
  memory.Measure();
  RunOptions run;
  run.observer = [&](const Node& node, const c10::IValue& value) {
    memory.Add(value);
    memory.Measure();
    return observer ? observer(node, value) : absl::OkStatus();
  };
  run.recover = recover;
  run.recover_errors = recover_errors;
  absl::Status ran = executable->Run(inputs, run).status();
  if (peak != nullptr) *peak = memory.peak();
  return ran;
}

// The sizes of the tensors in a value, one after the other.
void AppendDims(const ValueMeta& meta, std::vector<Dim>* dims) {
  if (meta.tensor != nullptr)
    dims->insert(dims->end(), meta.tensor->shape.begin(), meta.tensor->shape.end());
  for (const ValueMeta* element : meta.elements) AppendDims(*element, dims);
}
void AppendSizes(const ValueMeta& meta, std::vector<int64_t>* sizes) {
  std::vector<Dim> dims;
  AppendDims(meta, &dims);
  for (const Dim& dim : dims) sizes->push_back(dim.value);
}

// Whether both are tensors of one rank, or tuples of such.
bool HaveSameRanks(const ValueMeta& a, const ValueMeta& b) {
  if ((a.tensor == nullptr) != (b.tensor == nullptr)) return false;
  if (a.tensor != nullptr) {
    return a.tensor->has_shape == b.tensor->has_shape &&
           a.tensor->shape.size() == b.tensor->shape.size();
  }
  return absl::c_equal(a.elements, b.elements, [](const ValueMeta* x, const ValueMeta* y) {
    return HaveSameRanks(*x, *y);
  });
}

// What the program says of the values of its nodes.
using SaidMetas = absl::flat_hash_map<const Node*, const ValueMeta*>;

// A tensor, or a tuple of tensors, of the sizes that a meta says for the example values;
// nullopt if it does not say all, or if it has too many parts.
std::optional<c10::IValue> ValueOfMeta(const Module& module, const ValueMeta& meta,
                                       Budget* budget) {
  if (!budget->Charge(1)) return std::nullopt;
  if (meta.tensor == nullptr) {
    std::vector<c10::IValue> elements;
    for (const ValueMeta* element : meta.elements) {
      std::optional<c10::IValue> value = ValueOfMeta(module, *element, budget);
      if (!value) return std::nullopt;
      elements.push_back(*std::move(value));
    }
    if (!meta.is_tuple) return std::nullopt;
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  absl::StatusOr<at::Tensor> tensor = InputTensor(module, "", meta.tensor, nullptr);
  if (!tensor.ok()) return std::nullopt;
  return *std::move(tensor);
}

Recover RecoverBy(const Module& module, const SaidMetas& said) {
  return [&](const Node& node) -> std::optional<c10::IValue> {
    const auto it = said.find(&node);
    if (it == said.end()) return std::nullopt;
    Budget budget(kMaxParts);
    return ValueOfMeta(module, *it->second, &budget);
  };
}

// Finds how sizes depend on the symbols by running the graph with other values of
// them: what three runs agree on is taken for true. Where such a run cannot say, and where a
// size depends on data, it is what the program says of it, or not known.
class SymbolProber {
 public:
  using Values = std::map<std::string, TensorData>;

  // `values` are those of the run that gave the nodes their metas; `said` are the ones that
  // they had before.
  SymbolProber(Module* module, const Values& values, const SaidMetas& said)
      : module_(*module), values_(values), said_(said) {
    // Inputs whose sizes change have no values.
    const auto forget = [this](absl::string_view name, const TensorMeta* meta) {
      if (meta != nullptr &&
          absl::c_any_of(meta->shape, [](const Dim& d) { return !d.is_static(); })) {
        values_.erase(std::string(name));
      }
    };
    for (const Node* node : module_.main()->placeholders()) {
      forget(node->target(), node->tensor_meta());
      if (module_.FindSymbol(node->target()) != nullptr) values_.erase(std::string(node->target()));
    }
    for (const Attribute& attribute : module_.attributes()) forget(attribute.name, attribute.meta);
  }

  void Run() {
    std::vector<Dependence> dependences;
    for (const Symbol& symbol :
         std::vector<Symbol>(module_.symbols().begin(), module_.symbols().end())) {
      if (!symbol.example.has_value()) continue;
      dependences.push_back({symbol, Observe({{symbol, 1}}), Observe({{symbol, 3}})});
    }
    // Of two symbols together: sizes may be products of them.
    std::vector<std::pair<Symbol, int64_t>> all;
    for (const Dependence& d : dependences) all.emplace_back(d.symbol, 2);
    const Observed together = Observe(all);
    std::optional<Observed> again;  // with the example values: what such runs can say at all
    for (Node* node : module_.main()->nodes()) {
      if (!node->is_call() || node->meta() == nullptr) continue;
      Sizes sizes;
      AppendSizes(*node->meta(), &sizes);
      const ValueMeta* const said = SaidOf(*node);
      std::vector<Dim> said_dims;
      if (said != nullptr) AppendDims(*said, &said_dims);
      std::vector<Dim> dims(sizes.begin(), sizes.end());
      bool any = false, known = true;
      for (size_t i = 0; i < sizes.size(); ++i) {
        const bool is_said = said != nullptr && MayBe(said_dims[i], sizes[i]);
        const SymExpr* expr = nullptr;
        if (is_said && !IsOfExamples(said_dims[i])) {
          expr = said_dims[i].expr;
        } else {
          expr = Express(*node, i, sizes[i], dependences, together);
          const bool is_fixed = expr == nullptr && IsFixed(*node, i, sizes[i], dependences);
          if (expr == nullptr && !is_fixed && is_said) {
            expr = said_dims[i].expr;
          } else if (expr == nullptr && !is_fixed) {
            // A graph that holds for its example values only says what they give.
            if (!again) again = Observe({});
            known = known && SizeIn(*again, *node, i) == sizes[i];
          }
        }
        if (expr != nullptr) dims[i] = Dim(expr);
        any = any || expr != nullptr;
      }
      size_t next = 0;
      if (!known) {
        const auto it = said_.find(node);
        node->set_meta(it == said_.end() ? nullptr : it->second);
      } else if (any) {
        node->set_meta(WithDims(*node->meta(), dims, &next));
      }
    }
  }

 private:
  using Sizes = std::vector<int64_t>;
  using Observed = absl::flat_hash_map<const Node*, Sizes>;
  struct Dependence {
    Symbol symbol;
    Observed near, far;  // with 1 and 3 added to the example
  };

  // The sizes of all nodes, up to the first that does not run, with that added to
  // the example values of symbols.
  Observed Observe(const std::vector<std::pair<Symbol, int64_t>>& changes) {
    Observed observed;
    for (const auto& [symbol, change] : changes)
      module_.AddSymbol(symbol.name, *symbol.example + change);
    RunForShapes(
        module_, values_,
        [&](const Node& node, const c10::IValue& value) {
          if (const ValueMeta* meta = MetaOfValue(value, nullptr, &module_))
            AppendSizes(*meta, &observed[&node]);
          return absl::OkStatus();
        },
        RecoverBy(module_, said_), nullptr, /*recover_errors=*/true)
        .IgnoreError();  // A graph may hold for its example values only.
    for (const auto& [symbol, change] : changes) module_.AddSymbol(symbol.name, symbol.example);
    return observed;
  }

  static std::optional<int64_t> SizeIn(const Observed& observed, const Node& node, size_t i) {
    const auto it = observed.find(&node);
    if (it == observed.end() || i >= it->second.size()) return std::nullopt;
    return it->second[i];
  }

  // What the program says of a node, if that fits what was found; else null.
  const ValueMeta* SaidOf(const Node& node) const {
    const auto it = said_.find(&node);
    return it != said_.end() && HaveSameRanks(*it->second, *node.meta()) ? it->second : nullptr;
  }

  bool MayBe(const Dim& dim, int64_t size) const {
    return dim.is_static() ? dim.value == size
                           : EvaluateWithExamples(module_, *dim.expr).value_or(size) == size;
  }

  // Whether it is a number or depends on symbols that have examples, which inputs decide.
  bool IsOfExamples(const Dim& dim) const {
    return dim.is_static() || EvaluateWithExamples(module_, *dim.expr).has_value();
  }

  // Whether runs with other values of each symbol found the same size.
  static bool IsFixed(const Node& node, size_t i, int64_t size,
                      const std::vector<Dependence>& dependences) {
    return absl::c_all_of(dependences, [&](const Dependence& d) {
      return SizeIn(d.near, node, i) == size && SizeIn(d.far, node, i) == size;
    });
  }

  // What the i-th size of `node` is, if it is one of s + b, a * s + b, a * s * t;
  // null if it does not change, or in another way.
  const SymExpr* Express(const Node& node, size_t i, int64_t size,
                         const std::vector<Dependence>& dependences, const Observed& together) {
    std::vector<std::pair<const Dependence*, int64_t>> slopes;
    for (const Dependence& d : dependences) {
      const auto near = SizeIn(d.near, node, i), far = SizeIn(d.far, node, i);
      if (!near || !far) return nullptr;
      if (*near == size && *far == size) continue;
      if (*far - size != 3 * (*near - size)) return nullptr;
      slopes.emplace_back(&d, *near - size);
    }
    const auto all = SizeIn(together, node, i);
    if (slopes.empty() || !all) return nullptr;
    if (slopes.size() == 1) {
      const auto& [d, slope] = slopes[0];
      if (*all != size + 2 * slope) return nullptr;
      return Plus(Times(slope, Name(*d)), size - slope * *d->symbol.example);
    }
    if (slopes.size() > 2) return nullptr;
    const auto& [a, slope_a] = slopes[0];
    const auto& [b, slope_b] = slopes[1];
    const int64_t s = *a->symbol.example, t = *b->symbol.example;
    // size = c * s * t, so that one more of s is c * t more.
    const int64_t c = t == 0 ? 0 : slope_a / t;
    if (c * s * t != size || c * t != slope_a || c * s != slope_b ||
        c * (s + 2) * (t + 2) != *all) {
      return nullptr;
    }
    return module_.SymBinary(SymExpr::Kind::kMul, Times(c, Name(*a)), Name(*b));
  }

  const SymExpr* Name(const Dependence& d) { return module_.SymSymbol(d.symbol.name); }
  const SymExpr* Times(int64_t factor, const SymExpr* expr) {
    if (factor == 1) return expr;
    return module_.SymBinary(SymExpr::Kind::kMul, module_.SymInt(factor), expr);
  }
  const SymExpr* Plus(const SymExpr* expr, int64_t number) {
    if (number == 0) return expr;
    return number > 0 ? module_.SymBinary(SymExpr::Kind::kAdd, expr, module_.SymInt(number))
                      : module_.SymBinary(SymExpr::Kind::kSub, expr, module_.SymInt(-number));
  }

  const ValueMeta* WithDims(const ValueMeta& meta, const std::vector<Dim>& dims, size_t* next) {
    if (meta.tensor != nullptr) {
      TensorMeta tensor = *meta.tensor;
      const std::vector<Dim> shape(
          dims.begin() + static_cast<ptrdiff_t>(*next),
          dims.begin() + static_cast<ptrdiff_t>(*next + tensor.shape.size()));
      *next += tensor.shape.size();
      tensor.shape = shape;
      return module_.InternValueMeta(tensor);
    }
    std::vector<const ValueMeta*> elements;
    for (const ValueMeta* element : meta.elements)
      elements.push_back(WithDims(*element, dims, next));
    return module_.InternTupleMeta(elements);
  }

  Module& module_;
  Values values_;
  const SaidMetas& said_;
};

}  // namespace

namespace {

const ValueMeta* MakeMeta(const c10::IValue& value, const ValueMeta* known, Module* module,
                          Budget* budget) {
  if (!budget->Charge(1)) return nullptr;
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return nullptr;
    TensorMeta meta;
    meta.dtype = DTypeOf(tensor.scalar_type());
    meta.has_shape = !tensor.is_nested();
    std::vector<Dim> shape;
    if (meta.has_shape) shape.assign(tensor.sizes().begin(), tensor.sizes().end());
    meta.shape = shape;
    if (known != nullptr && known->tensor != nullptr) {
      meta.has_device = known->tensor->has_device;
      meta.device = known->tensor->device;
    }
    return module->InternValueMeta(meta);
  }
  if (!value.isTuple() && !value.isTensorList()) return nullptr;
  // One that the program is yet to fill.
  if (value.isTensorList() && value.toListRef().empty()) return nullptr;
  std::vector<const ValueMeta*> elements;
  for (const c10::IValue& element : Elements(value)) {
    const size_t i = elements.size();
    const bool is_known = known != nullptr && i < known->elements.size();
    const ValueMeta* meta =
        MakeMeta(element, is_known ? known->elements[i] : nullptr, module, budget);
    if (meta == nullptr) return nullptr;
    elements.push_back(meta);
  }
  return module->InternTupleMeta(elements);
}

}  // namespace

const ValueMeta* MetaOfValue(const c10::IValue& value, const ValueMeta* known, Module* module) {
  Budget budget(kMaxParts);
  return MakeMeta(value, known, module, &budget);
}

absl::StatusOr<ShapeReport> InferShapes(Module* module,
                                        const std::map<std::string, TensorData>& values,
                                        const Observer& observer) {
  ShapeReport report;
  if (module->main() == nullptr) return absl::InvalidArgumentError("the module has no graph");
  absl::flat_hash_map<const Node*, Node*> nodes;
  for (Node* node : module->main()->nodes()) nodes[node] = node;
  SaidMetas said;
  for (const Node* node : module->main()->nodes()) {
    if (node->meta() != nullptr) said[node] = node->meta();
  }
  const absl::Status ran = RunForShapes(
      *module, values,
      [&](const Node& node, const c10::IValue& value) {
        if (const ValueMeta* meta = MetaOfValue(value, node.meta(), module)) {
          nodes.at(&node)->set_meta(meta);
          ++report.nodes;
        }
        return observer ? observer(node, value) : absl::OkStatus();
      },
      RecoverBy(*module, said), &report.peak_bytes);
  const bool is_symbolic = !module->symbols().empty();
  // What depends on data that is not there has no sizes. All others have theirs.
  if (!ran.ok() && !absl::IsFailedPrecondition(ran)) {
    // Sizes that may be those of the example only.
    for (const auto& [node, made] : nodes) {
      const auto it = said.find(node);
      if (is_symbolic) made->set_meta(it == said.end() ? nullptr : it->second);
    }
    return ran;
  }
  if (is_symbolic) SymbolProber(module, values, said).Run();
  RETURN_IF_ERROR(ran);
  return report;
}

int64_t PeakBytes(const Module& module, const std::map<std::string, TensorData>& values) {
  int64_t peak = 0;
  RunForShapes(module, values, nullptr, {}, &peak).IgnoreError();
  return peak;
}

}  // namespace graphnet
