#include "graphnet/ir/verifier.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/check.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/name_hash.h"
#include "graphnet/base/python_numbers.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/shared_walk.h"

namespace graphnet {

class Verifier {
 public:
  explicit Verifier(const Module& module) : module_(module) {}

  absl::Status Run() {
    if (module_.graphs().empty()) return Fail(1, "the module has no graph");
    for (const Graph* graph : module_.graphs()) {
      graphs_.insert(graph);
      if (graph->name().empty()) return Fail(1, "a graph has no name");
      if (module_.FindGraph(graph->name()) != graph) {
        return Fail(1, absl::StrCat("two graphs are named ", Printable(graph->name())));
      }
    }
    for (const Symbol& symbol : module_.symbols()) {
      if (symbol.name.empty()) return Fail(12, "a symbol has no name");
    }
    for (const SymExpr* relation : module_.relations()) {
      if (!relation->is_relation()) return Fail(12, "a relation is not a comparison");
      RETURN_IF_ERROR(CheckSym(*relation->lhs, 1));
      RETURN_IF_ERROR(CheckSym(*relation->rhs, 1));
    }
    for (const Attribute& attribute : module_.attributes()) {
      attribute_ = &attribute;
      RETURN_IF_ERROR(CheckAttribute(attribute));
    }
    attribute_ = nullptr;
    for (const Graph* graph : module_.graphs()) {
      graph_ = graph;
      RETURN_IF_ERROR(CheckGraph());
    }
    graph_ = nullptr;
    return CheckReferences();
  }

 private:
  // Returns an error that names the graph, node or attribute that is being checked.
  absl::Status Fail(int invariant, absl::string_view what) const {
    std::string where;
    if (attribute_ != nullptr) {
      where = absl::StrCat("attribute ", Printable(attribute_->name), ": ");
    } else if (node_ != nullptr) {
      where = absl::StrCat("graph ", Printable(graph_->name()), ", node ", Printable(node_->name()),
                           ": ");
    } else if (graph_ != nullptr) {
      where = absl::StrCat("graph ", Printable(graph_->name()), ": ");
    }
    return absl::FailedPreconditionError(absl::StrCat("invariant ", invariant, ": ", where, what));
  }

  absl::Status CheckGraph() {
    size_t count = 0;
    size_t operands = 0;
    size_t uses = 0;
    bool seen_other = false;
    const Node* output = nullptr;
    const Node* before = nullptr;
    names_.clear();
    names_.reserve(graph_->num_nodes());
    targets_.clear();
    targets_.reserve(graph_->num_nodes() / 2);
    for (const Node* node = graph_->first_; node != nullptr; before = node, node = node->next_) {
      node_ = node;
      ++count;
      if (node->graph_ != graph_) return Fail(2, "belongs to another graph");
      if (node->erased_) return Fail(2, "is erased");
      if (node->prev_ != before) return Fail(2, "is not linked to the node before it");
      if (before != nullptr && before->order_ >= node->order_) {
        return Fail(2, "order keys do not rise");
      }
      if (node->name().empty()) return Fail(3, "has no name");
      if (node->name().size() > kMaxNameBytes) return Fail(3, "the name is too long");
      if (!names_.insert(node->name()).second) return Fail(3, "the name is not unique");
      if (node->target().empty()) return Fail(8, "has no target");
      if (output != nullptr) return Fail(5, "comes after the output");
      switch (node->op()) {
        case Op::kPlaceholder:
          if (seen_other) return Fail(4, "a placeholder after another operation");
          if (!node->args().empty() || !node->kwargs().empty()) {
            return Fail(4, "a placeholder takes no arguments");
          }
          if (!targets_.insert(node->target()).second) {
            return Fail(4, "two placeholders have one target");
          }
          break;
        case Op::kGetAttr:
          if (!node->args().empty() || !node->kwargs().empty()) {
            return Fail(10, "a get_attr takes no arguments");
          }
          if (module_.FindAttribute(node->target()) == nullptr) {
            return Fail(10, absl::StrCat("no attribute ", Printable(node->target())));
          }
          break;
        case Op::kCallMethod:
          if (node->args().empty()) return Fail(8, "a method without its object");
          break;
        case Op::kOutput:
          output = node;
          if (node->args().size() != 1 || !node->kwargs().empty()) {
            return Fail(5, "an output has one argument and no keywords");
          }
          if (node->has_uses()) return Fail(5, "an output has uses");
          break;
        default: break;
      }
      seen_other |= !node->is_placeholder();
      written_out_ = 0;
      for (const Argument& arg : node->args())
        RETURN_IF_ERROR(CheckArgument(*node, arg, 0, operands));
      if (!node->kwargs().empty()) RETURN_IF_ERROR(CheckKeywords(*node));
      for (const KwArg& kwarg : node->kwargs()) {
        RETURN_IF_ERROR(CheckArgument(*node, kwarg.value, 0, operands));
      }
      uses += node->num_uses_;
      if (node->meta_ != nullptr) RETURN_IF_ERROR(CheckMeta(*node->meta_, 0));
      if (const DrawSpec* spec = node->draw_spec(); spec != nullptr) {
        if (!node->is_placeholder()) return Fail(14, "only placeholders have draw specs");
        RETURN_IF_ERROR(CheckDrawSpec(*spec, node->tensor_meta()));
      }
    }
    node_ = nullptr;
    if (count != graph_->num_nodes_ || before != graph_->last_) {
      return Fail(2, "the list of nodes is broken");
    }
    if (output == nullptr) return Fail(5, "there is no output");
    // Each operand was found in the uses of its value, so equal numbers mean that the lists of
    // uses hold nothing else.
    if (operands != uses) {
      return Fail(7, absl::StrCat(uses, " uses for ", operands, " operands"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckKeywords(const Node& node) {
    keywords_.clear();
    for (const KwArg& kwarg : node.kwargs()) {
      if (kwarg.name.empty()) return Fail(8, "a keyword without a name");
      if (!keywords_.insert(kwarg.name).second) {
        return Fail(8, absl::StrCat("keyword ", Printable(kwarg.name), " twice"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckArgument(const Node& node, const Argument& arg, int depth, size_t& operands) {
    if (depth > kMaxNesting) return Fail(13, "arguments nest too deep");
    switch (arg.kind()) {
      case Argument::Kind::kNode: {
        ++operands;
        const Node* value = arg.u_.node;
        if (value == nullptr || value->graph_ != graph_) {
          return Fail(6, "an operand belongs to another graph");
        }
        if (value->erased_) {
          return Fail(6, absl::StrCat("operand ", Printable(value->name()), " is erased"));
        }
        if (value->order_ >= node.order_) {
          return Fail(6, absl::StrCat("operand ", Printable(value->name()),
                                      " is defined later than it is used"));
        }
        const uint32_t i = arg.size_;
        if (i >= value->num_uses_ || value->use_array()[i].slot != &arg ||
            value->use_array()[i].user != &node) {
          return Fail(7, absl::StrCat("not among the uses of ", Printable(value->name())));
        }
        return absl::OkStatus();
      }
      case Argument::Kind::kGraph:
        // The graph may have been erased, so only its address is used.
        if (!graphs_.contains(arg.graph())) {
          return Fail(9, "refers to a graph that is not of this module");
        }
        references_.push_back({graph_, arg.graph()});
        return absl::OkStatus();
      case Argument::Kind::kSymInt: return CheckSym(*arg.sym(), 0);
      case Argument::Kind::kList:
      case Argument::Kind::kTuple:
      case Argument::Kind::kDict:
      case Argument::Kind::kSlice: return CheckElements(node, arg, depth, operands);
      default: return absl::OkStatus();
    }
  }

  absl::Status CheckElements(const Node& node, const Argument& arg, int depth, size_t& operands) {
    const bool is_nested =
        absl::c_any_of(arg.elements(), [](const Argument& a) { return a.is_aggregate(); });
    // Aggregates without nodes and bodies are shared, so each is checked once.
    if (is_nested) {
      const auto it = checked_aggregates_.find(AggregateKey(arg));
      if (it != checked_aggregates_.end() && it->second.depth >= depth) {
        return AddWrittenOut(it->second.size);
      }
    }
    const uint64_t before = written_out_;
    const size_t operands_before = operands;
    const size_t references_before = references_.size();
    RETURN_IF_ERROR(AddWrittenOut(arg.elements().size()));
    for (size_t i = 0; i < arg.elements().size(); ++i) {
      const size_t operands_of_others = operands;
      RETURN_IF_ERROR(CheckArgument(node, arg.elements()[i], depth + 1, operands));
      if (arg.kind() == Argument::Kind::kDict && i % 2 == 0 && operands != operands_of_others) {
        return Fail(13, "the key of a dict holds a node");
      }
    }
    if (is_nested && operands == operands_before && references_.size() == references_before) {
      checked_aggregates_[AggregateKey(arg)] = {depth, written_out_ - before};
    }
    return absl::OkStatus();
  }

  absl::Status AddWrittenOut(uint64_t size) {
    written_out_ = AddSizes(written_out_, size);
    if (written_out_ <= kMaxWrittenOut) return absl::OkStatus();
    return Fail(15, absl::StrCat("with what is shared written out, the arguments hold more than ",
                                 kMaxWrittenOut, " values"));
  }

  // `depth` is the depth of `expr` in the expression around it.
  absl::Status CheckSym(const SymExpr& expr, int depth) {
    const std::optional<Expansion> all = expressions_.Of(&expr, SymParts());
    if (!all || all->height > kMaxNesting - depth) return Fail(13, "an expression nests too deep");
    if (all->size > kMaxTerms) {
      return Fail(15, absl::StrCat("with what is shared written out, an expression has more than ",
                                   kMaxTerms, " terms"));
    }
    absl::Status status;
    const bool is_finite = checked_expressions_.Run(&expr, SymParts(), [&](const SymExpr* e) {
      if (!status.ok()) return;
      if (e->is_relation()) {
        status = Fail(12, "a comparison where a number is wanted");
      } else if (e->kind == SymExpr::Kind::kSymbol && module_.FindSymbol(e->name) == nullptr) {
        status = Fail(12, absl::StrCat("symbol ", Printable(e->name), " is not declared"));
      }
    });
    CHECK(is_finite);
    return status;
  }

  absl::Status CheckMeta(const ValueMeta& meta, int depth) {
    if (depth > kMaxNesting) return Fail(13, "metas nest too deep");
    if (meta.tensor != nullptr) return CheckTensorMeta(*meta.tensor);
    if (meta.elements.empty()) return absl::OkStatus();
    // Tuples are shared, too.
    const auto [it, inserted] = checked_tuples_.try_emplace(&meta, depth);
    if (!inserted) {
      if (it->second >= depth) return absl::OkStatus();
      it->second = depth;
    }
    for (const ValueMeta* element : meta.elements) RETURN_IF_ERROR(CheckMeta(*element, depth + 1));
    return absl::OkStatus();
  }

  absl::Status CheckTensorMeta(const TensorMeta& meta) {
    // Metas are shared, so each is checked once.
    if (!checked_metas_.insert(&meta).second) return absl::OkStatus();
    if (meta.shape.size() > kMaxRank) return Fail(11, "too many dimensions");
    int64_t elements = 1;
    for (const Dim& dim : meta.shape) {
      if (!dim.is_static()) {
        RETURN_IF_ERROR(CheckSym(*dim.expr, 0));
      } else if (dim.value < 0) {
        return Fail(11, absl::StrCat("dimension ", dim.value, " is negative"));
      } else if (dim.value > 0 && (__builtin_mul_overflow(elements, dim.value, &elements) ||
                                   elements > kMaxTensorElements)) {
        return Fail(11, "too many elements");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckDrawSpec(const DrawSpec& spec, const TensorMeta* meta) const {
    for (const Argument& bound : {spec.min, spec.max}) {
      if (!bound.is_none() && !bound.is_int() && !bound.is_float()) {
        return Fail(14, "a bound is not a number");
      }
    }
    if (spec.data.is_none()) return absl::OkStatus();
    if (!spec.data.is_list()) return Fail(14, "literal data is not a list");
    for (const Argument& element : spec.data.elements()) {
      if (!element.is_bool() && !element.is_int() && !element.is_float()) {
        return Fail(14, "literal data holds something else than numbers");
      }
    }
    if (meta == nullptr || !meta->has_shape) return absl::OkStatus();
    int64_t elements = 1;
    for (const Dim& dim : meta->shape) {
      std::optional<int64_t> size = dim.value;
      if (!dim.is_static()) size = EvaluateWithExamples(module_, *dim.expr);
      if (!size || __builtin_mul_overflow(elements, *size, &elements)) return absl::OkStatus();
    }
    if (elements != static_cast<int64_t>(spec.data.elements().size())) {
      return Fail(14, absl::StrCat("literal data has ", spec.data.elements().size(),
                                   " elements, the shape ", elements));
    }
    return absl::OkStatus();
  }

  absl::Status CheckAttribute(const Attribute& attribute) {
    if (attribute.name.empty()) return Fail(10, "an attribute has no name");
    if (attribute.meta != nullptr) RETURN_IF_ERROR(CheckTensorMeta(*attribute.meta));
    if (attribute.draw_spec != nullptr) {
      RETURN_IF_ERROR(CheckDrawSpec(*attribute.draw_spec, attribute.meta));
    }
    return absl::OkStatus();
  }

  // Checks invariant 9: the first graph reaches all graphs, and no graph reaches itself.
  absl::Status CheckReferences() const {
    absl::flat_hash_map<const Graph*, std::vector<const Graph*>> callees;
    absl::flat_hash_set<const Graph*> referred = {module_.main()};
    for (const auto& [caller, callee] : references_) {
      callees[caller].push_back(callee);
      referred.insert(callee);
    }
    for (const Graph* graph : module_.graphs()) {
      if (!referred.contains(graph)) {
        return Fail(9, absl::StrCat("graph ", Printable(graph->name()), " is never referred to"));
      }
    }
    // A depth-first search with an explicit stack. `active` holds the graphs on the stack, and
    // `heights` the depth of the bodies below a graph.
    absl::flat_hash_map<const Graph*, int> heights;
    for (const Graph* root : module_.graphs()) {
      std::vector<std::pair<const Graph*, size_t>> stack = {{root, 0}};
      absl::flat_hash_set<const Graph*> active = {root};
      if (heights.contains(root)) continue;
      while (!stack.empty()) {
        auto& [graph, next] = stack.back();
        const auto it = callees.find(graph);
        if (it == callees.end() || next == it->second.size()) {
          int height = 0;
          if (it != callees.end()) {
            for (const Graph* callee : it->second) height = std::max(height, heights[callee] + 1);
          }
          if (height > kMaxNesting) {
            return Fail(13, absl::StrCat("in graph ", Printable(graph->name()),
                                         ", bodies nest deeper than ", kMaxNesting));
          }
          heights[graph] = height;
          active.erase(graph);
          stack.pop_back();
          continue;
        }
        const Graph* callee = it->second[next++];
        if (active.contains(callee)) {
          return Fail(9, absl::StrCat("graph ", Printable(callee->name()), " refers to itself"));
        }
        if (!heights.contains(callee)) {
          active.insert(callee);
          stack.push_back({callee, 0});
        }
      }
    }
    return absl::OkStatus();
  }

  const Module& module_;
  // The graph, node and attribute that are being checked.
  const Graph* graph_ = nullptr;
  const Node* node_ = nullptr;
  const Attribute* attribute_ = nullptr;
  absl::flat_hash_set<const Graph*> graphs_;
  absl::flat_hash_set<absl::string_view, NameHash> names_;
  absl::flat_hash_set<absl::string_view, NameHash> targets_;
  absl::flat_hash_set<absl::string_view, NameHash> keywords_;
  absl::flat_hash_set<const TensorMeta*> checked_metas_;
  absl::flat_hash_map<const ValueMeta*, int> checked_tuples_;  // With the depth of each.
  struct CheckedAggregate {
    int depth;
    uint64_t size;  // The size when it is written out.
  };
  absl::flat_hash_map<AggregateKey, CheckedAggregate> checked_aggregates_;
  Expansions<const SymExpr*> expressions_;
  SharedWalk<const SymExpr*> checked_expressions_;
  uint64_t written_out_ = 0;  // The size of the node's arguments when they are written out.
  std::vector<std::pair<const Graph*, const Graph*>> references_;
};

absl::Status Verify(const Module& module) { return Verifier(module).Run(); }

namespace {

// Returns the value of an expression from the values of its operands; nullopt if one is needed and
// has none.
std::optional<int64_t> Evaluate(const Module& module, const SymExpr& expr,
                                std::optional<int64_t> lhs, std::optional<int64_t> rhs) {
  using Kind = SymExpr::Kind;
  if (expr.kind == Kind::kInt) return expr.value;
  if (expr.kind == Kind::kSymbol) {
    const Symbol* symbol = module.FindSymbol(expr.name);
    return symbol ? symbol->example : std::nullopt;
  }
  if (!lhs) return std::nullopt;
  if (expr.kind == Kind::kNeg) return python::Subtract(0, *lhs);
  if (!rhs) return std::nullopt;
  const int64_t a = *lhs;
  const int64_t b = *rhs;
  switch (expr.kind) {
    case Kind::kAdd: return python::Add(a, b);
    case Kind::kSub: return python::Subtract(a, b);
    case Kind::kMul: return python::Multiply(a, b);
    case Kind::kFloorDiv: return python::FloorDivide(a, b);
    case Kind::kMod: return python::Modulo(a, b);
    case Kind::kPow: return python::Power(a, b);
    case Kind::kMin: return std::min(a, b);
    case Kind::kMax: return std::max(a, b);
    case Kind::kEq: return a == b;
    case Kind::kNe: return a != b;
    case Kind::kLt: return a < b;
    case Kind::kLe: return a <= b;
    case Kind::kGt: return a > b;
    case Kind::kGe: return a >= b;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<int64_t> EvaluateWithExamples(const Module& module, const SymExpr& expr) {
  if (expr.lhs == nullptr) return Evaluate(module, expr, std::nullopt, std::nullopt);
  absl::flat_hash_map<const SymExpr*, std::optional<int64_t>> values;
  const auto value_of = [&](const SymExpr* e) { return e == nullptr ? std::nullopt : values[e]; };
  SharedWalk<const SymExpr*> walk;
  const bool is_finite = walk.Run(&expr, SymParts(), [&](const SymExpr* e) {
    values[e] = Evaluate(module, *e, value_of(e->lhs), value_of(e->rhs));
  });
  return is_finite ? values[&expr] : std::nullopt;
}

}  // namespace graphnet
