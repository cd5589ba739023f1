#include "graphnet/interp/symbol_prober.h"

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graphnet/interp/shapes.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

void AppendSizes(const ValueMeta& meta, std::vector<int64_t>* sizes) {
  std::vector<Dim> dims;
  AppendDims(meta, &dims);
  for (const Dim& dim : dims) sizes->push_back(dim.value);
}

// Returns true if both are tensors of the same rank, or tuples of such tensors.
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

// The names of the symbols that metas and arguments mention. Other symbols have no effect.
class MentionedSymbols {
 public:
  MentionedSymbols(const Module& module, const SaidValues& said) {
    for (const auto& [node, meta] : said.metas) {
      if (meta != nullptr) AddMeta(*meta);
    }
    for (const auto& [node, number] : said.numbers)
      names_.insert(number.symbols.begin(), number.symbols.end());
    for (const Attribute& attribute : module.attributes()) {
      if (attribute.meta != nullptr) AddTensor(*attribute.meta);
    }
    for (const Graph* graph : module.graphs()) {
      for (const Node* node : graph->nodes()) {
        if (node->is_placeholder()) names_.insert(node->target());
        if (node->meta() != nullptr) AddMeta(*node->meta());
        node->ForEachArgument([this](const Argument& a) {
          if (a.kind() == Argument::Kind::kSymInt) AddExpr(a.sym());
        });
      }
    }
  }
  bool contains(absl::string_view name) const { return names_.contains(name); }

 private:
  void AddExpr(const SymExpr* expr) {
    // This cannot fail, as an expression cannot contain itself.
    std::ignore = walk_.Run(expr, SymParts(), [this](const SymExpr* e) {
      if (e->kind == SymExpr::Kind::kSymbol) names_.insert(e->name);
    });
  }
  void AddTensor(const TensorMeta& meta) {
    for (const Dim& dim : meta.shape) {
      if (!dim.is_static()) AddExpr(dim.expr);
    }
  }
  void AddMeta(const ValueMeta& meta) {
    if (!metas_.insert(&meta).second) return;
    if (meta.tensor != nullptr) AddTensor(*meta.tensor);
    for (const ValueMeta* element : meta.elements) AddMeta(*element);
  }

  SharedWalk<const SymExpr*> walk_;
  absl::flat_hash_set<const ValueMeta*> metas_;
  absl::flat_hash_set<absl::string_view> names_;
};

// Finds how sizes depend on the symbols by running the graph with other values of them: a
// dependence counts if three runs agree on it. If the runs cannot find a size, or if it depends
// on data, the program's own meta counts; without one, the size is unknown.
class SymbolProber {
 public:
  using Values = std::map<std::string, TensorData>;

  // `values` are those of the run that gave the nodes their metas; `said` are the ones that
  // they had before.
  SymbolProber(Module* module, const Values& values, const SaidValues& said)
      : module_(*module), values_(values), said_(said) {
    // Inputs whose sizes change must not have values.
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
    const MentionedSymbols mentioned(module_, said_);
    std::vector<Dependence> dependences;
    for (const Symbol& symbol :
         std::vector<Symbol>(module_.symbols().begin(), module_.symbols().end())) {
      if (!symbol.example.has_value() || !mentioned.contains(symbol.name)) continue;
      dependences.push_back({symbol, Observe({{symbol, 1}}), Observe({{symbol, 3}})});
    }
    // Change all symbols together, too: sizes may be products of two symbols.
    std::vector<std::pair<Symbol, int64_t>> all;
    for (const Dependence& d : dependences) all.emplace_back(d.symbol, 2);
    const Observed together = Observe(all);
    std::optional<Observed> again;  // with the example values, to see which sizes such runs find
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
            // The graph is valid for its example values only, so their sizes count.
            if (!again) again = Observe({});
            known = known && SizeIn(*again, *node, i) == sizes[i];
          }
        }
        if (expr != nullptr) dims[i] = Dim(expr);
        any = any || expr != nullptr;
      }
      size_t next = 0;
      if (!known) {
        const auto it = said_.metas.find(node);
        node->set_meta(it == said_.metas.end() ? nullptr : it->second);
      } else if (any) {
        node->set_meta(WithDims(*node->meta(), dims, &next, &module_));
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

  // Returns the sizes of all nodes, up to the first that does not run, with the changes added
  // to the example values of symbols.
  Observed Observe(const std::vector<std::pair<Symbol, int64_t>>& changes) {
    Observed observed;
    for (const auto& [symbol, change] : changes)
      module_.AddSymbol(symbol.name, *symbol.example + change);
    ShapeRun run;
    run.observer = [&](const Node& node, const c10::IValue& value) {
      if (const ValueMeta* meta = MetaOfValue(value, nullptr, &module_))
        AppendSizes(*meta, &observed[&node]);
      return absl::OkStatus();
    };
    run.recover = RecoverBy(module_, said_);
    run.recover_errors = true;
    RunForShapes(module_, values_, run)
        .IgnoreError();  // A graph may be valid for its example values only.
    for (const auto& [symbol, change] : changes) module_.AddSymbol(symbol.name, symbol.example);
    return observed;
  }

  static std::optional<int64_t> SizeIn(const Observed& observed, const Node& node, size_t i) {
    const auto it = observed.find(&node);
    if (it == observed.end() || i >= it->second.size()) return std::nullopt;
    return it->second[i];
  }

  // Returns the program's own meta of a node if it fits the one that was found, else null.
  const ValueMeta* SaidOf(const Node& node) const {
    const auto it = said_.metas.find(&node);
    return it != said_.metas.end() && HaveSameRanks(*it->second, *node.meta()) ? it->second
                                                                               : nullptr;
  }

  bool MayBe(const Dim& dim, int64_t size) const {
    return dim.is_static() ? dim.value == size
                           : EvaluateWithExamples(module_, *dim.expr).value_or(size) == size;
  }

  // Returns true for a number, and for an expression of symbols that have examples; inputs decide
  // these symbols.
  bool IsOfExamples(const Dim& dim) const {
    return dim.is_static() || EvaluateWithExamples(module_, *dim.expr).has_value();
  }

  // Returns true if runs with other values of each symbol found the same size.
  static bool IsFixed(const Node& node, size_t i, int64_t size,
                      const std::vector<Dependence>& dependences) {
    return absl::c_all_of(dependences, [&](const Dependence& d) {
      return SizeIn(d.near, node, i) == size && SizeIn(d.far, node, i) == size;
    });
  }

  // Returns size i of `node` as an expression s + b, a * s + b or a * s * t; null if it does not
  // change, or changes in another way.
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
    // If size = c * s * t, the slope by s is c * t.
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

  Module& module_;
  Values values_;
  const SaidValues& said_;
};

}  // namespace

void ProbeSymbols(Module* module, const std::map<std::string, TensorData>& values,
                  const SaidValues& said) {
  SymbolProber(module, values, said).Run();
}

}  // namespace graphnet
