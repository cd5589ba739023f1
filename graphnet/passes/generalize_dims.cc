#include "graphnet/passes/generalize_dims.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/inline_regions.h"
#include "graphnet/passes/pass.h"
#include "graphnet/passes/rename_inputs.h"
#include "graphnet/passes/resize/size_expressions.h"
#include "graphnet/passes/resize/size_follower.h"
#include "graphnet/passes/resize/sized_meta.h"

namespace graphnet {
namespace {

constexpr size_t kMaxDims = 8;

// A symbol: one that is made, or one that the module has.
struct Growing {
  std::string name;
  int64_t example = 0;
  bool is_new = false;
  int64_t to = 0;                              // the new example; 0 to keep the old one
  std::vector<std::pair<Node*, size_t>> dims;  // of inputs; of an old symbol, those that were named
};

class Generalization {
 public:
  Generalization(Module* module, PassRun* run) : module_(*module), run_(*run) {}

  absl::StatusOr<bool> Run() {
    RETURN_IF_ERROR(ChooseInputs());
    const size_t lacking = NumLacking();
    if (lacking > 0 && run_.infer_sizes() != nullptr) {
      // The pass reports what is still lacking.
      run_.infer_sizes()(&module_).IgnoreError();
    }
    const bool inferred = NumLacking() < lacking;
    absl::Status followed = Follow();
    if (!followed.ok() && TieEqualSizes()) {
      // Sizes that were equal may have to stay so.
      if (const absl::Status tied = Follow(); tied.ok()) followed = tied;
    }
    RETURN_IF_ERROR(followed);
    std::vector<Node*> nodes;
    for (Node* node : module_.main()->nodes()) nodes.push_back(node);
    RETURN_IF_ERROR(Apply());
    if (changed_) RETURN_IF_ERROR(Prove(nodes));
    SetExamples();
    return changed_ || inferred;
  }

 private:
  // --- What is to grow -----------------------------------------------------------

  absl::StatusOr<std::vector<int64_t>> Numbers(absl::string_view option, int64_t least,
                                               absl::string_view what) const {
    std::vector<int64_t> numbers;
    for (const std::string& text : run_.list(option)) {
      int64_t number = 0;
      if (!absl::SimpleAtoi(text, &number) || number < least) {
        return absl::InvalidArgumentError(
            absl::StrCat(option, " must be ", what, ", not \"", Printable(text), "\""));
      }
      numbers.push_back(number);
    }
    return numbers;
  }

  absl::Status ChooseInputs() {
    ASSIGN_OR_RETURN(std::vector<int64_t> dims, Numbers("dim", 0, "a number from 0 up"));
    ASSIGN_OR_RETURN(const std::vector<int64_t> to, Numbers("to", 1, "a size above 0"));
    if (dims.empty()) dims.push_back(0);
    if (std::set(dims.begin(), dims.end()).size() != dims.size() || dims.size() > kMaxDims)
      return absl::InvalidArgumentError("dim has a number twice, or more than 8");
    if (!to.empty() && to.size() != dims.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("to has ", to.size(), " sizes for ", dims.size(), " dimensions"));
    }
    for (const Symbol& symbol : module_.symbols()) {
      int64_t number = 0;
      absl::string_view text = symbol.name;
      if (absl::ConsumePrefix(&text, "S") && absl::SimpleAtoi(text, &number))
        next_name_ = std::max(next_name_, number + 1);
      if (symbol.example.has_value() && *symbol.example > 0)
        growing_.push_back({std::string(symbol.name), *symbol.example});
    }
    for (size_t i = 0; i < dims.size(); ++i)
      RETURN_IF_ERROR(ChooseInputs(static_cast<size_t>(dims[i]), to.empty() ? 0 : to[i]));
    return absl::OkStatus();
  }

  absl::Status ChooseInputs(size_t dim, int64_t to) {
    const std::vector<std::string> wanted = run_.list("inputs");
    std::set<absl::string_view> found;
    const SymExpr* symbol = nullptr;
    int64_t example = 0;
    size_t others = 0;
    std::vector<std::pair<Node*, size_t>> chosen;
    for (Node* node : module_.main()->placeholders()) {
      const bool is_wanted = absl::c_linear_search(wanted, node->target());
      if (is_wanted) found.insert(node->target());
      const TensorMeta* meta = node->tensor_meta();
      const bool fits = meta != nullptr && meta->has_shape && meta->shape.size() > dim &&
                        !NumberDType(node->annotation()).has_value();
      if (is_wanted && !fits) {
        return absl::FailedPreconditionError(absl::StrCat(
            "input ", Printable(node->target()), " is not known to have a dimension ", dim));
      }
      if (!fits || (wanted.empty() ? IsWeight(*node) : !is_wanted)) continue;
      const Dim& size = meta->shape[dim];
      if (chosen.empty()) {
        symbol = size.expr;
        const auto recorded =
            size.is_static() ? size.value : EvaluateWithExamples(module_, *size.expr);
        if (!recorded.has_value() || *recorded <= 0 ||
            (symbol != nullptr && symbol->kind != SymExpr::Kind::kSymbol)) {
          return absl::FailedPreconditionError(
              absl::StrCat("input ", Printable(node->target()), ", dimension ", dim,
                           ": neither a size above 0 nor a symbol with an example"));
        }
        example = *recorded;
      } else if (size.is_static() ? symbol != nullptr || size.value != example
                                  : symbol == nullptr || !(*size.expr == *symbol)) {
        if (is_wanted) {
          return absl::FailedPreconditionError(absl::StrCat(
              "input ", Printable(node->target()), ", dimension ", dim,
              ": differs from the size that ", Printable(chosen[0].first->target()), " has"));
        }
        ++others;
        continue;
      }
      chosen.emplace_back(node, dim);
    }
    for (const std::string& name : wanted) {
      if (!found.contains(name))
        return absl::InvalidArgumentError(absl::StrCat("there is no input ", Printable(name)));
    }
    if (chosen.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("no data input is known to have a dimension ", dim));
    }
    if (others > 0) run_.Note("inputs have another size there and keep it", others);
    if (symbol != nullptr) {
      for (Growing& one : growing_) {
        if (one.name != symbol->name) continue;
        one.to = to;
        one.dims.insert(one.dims.end(), chosen.begin(), chosen.end());
      }
      return absl::OkStatus();
    }
    growing_.push_back({absl::StrCat("S", next_name_++), example, true, to, std::move(chosen)});
    return absl::OkStatus();
  }

  // Makes one symbol of new ones that have the same size. Returns whether there are any.
  bool TieEqualSizes() {
    bool ties = false;
    for (size_t i = 0; i < growing_.size(); ++i) {
      for (size_t j = growing_.size(); j-- > i + 1;) {
        Growing& one = growing_[i];
        const Growing& other = growing_[j];
        if (!one.is_new || one.example != other.example || one.to != other.to) continue;
        one.dims.insert(one.dims.end(), other.dims.begin(), other.dims.end());
        growing_.erase(growing_.begin() + static_cast<ptrdiff_t>(j));
        ties = true;
      }
    }
    // The names are without gaps again.
    for (size_t i = growing_.size(); i-- > 0;) {
      if (growing_[i].is_new) next_name_ = std::min(next_name_, NumberOf(growing_[i]));
    }
    for (Growing& one : growing_) {
      if (one.is_new) one.name = absl::StrCat("S", next_name_++);
    }
    return ties;
  }
  static int64_t NumberOf(const Growing& one) {
    int64_t number = 0;
    return absl::SimpleAtoi(absl::string_view(one.name).substr(1), &number) ? number : 0;
  }

  // Returns how many calls have no sizes.
  size_t NumLacking() const {
    return static_cast<size_t>(absl::c_count_if(module_.main()->nodes(), [](const Node* node) {
      return node->is_call() && node->has_uses() && node->meta() == nullptr;
    }));
  }

  // --- Following -----------------------------------------------------------------

  // Follows all sizes where each symbol is twice and three times as large, or a little larger.
  absl::Status Follow() {
    const size_t count = growing_.size();
    std::vector<int64_t> recorded;
    for (const Growing& one : growing_) recorded.push_back(one.example);
    points_ = {recorded};
    // The points at which a symbol is larger. Two of them must be possible.
    std::vector<std::vector<size_t>> of_symbol(count);
    for (size_t i = 0; i < count; ++i) {
      const int64_t e = recorded[i];
      for (const int64_t size : {2 * e, 3 * e, e == 1 ? 5 : e + 1, e == 1 ? 7 : e + 2}) {
        of_symbol[i].push_back(points_.size());
        points_.push_back(recorded);
        points_.back()[i] = size;
      }
    }
    if (count > 1) {
      points_.push_back(recorded);
      for (size_t i = 0; i < count; ++i) points_.back()[i] *= 2 + static_cast<int64_t>(i % 2);
    }
    std::vector<Size> symbols;
    for (size_t i = 0; i < count; ++i) {
      std::vector<int64_t> values;
      for (const std::vector<int64_t>& point : points_) values.push_back(point[i]);
      symbols.emplace_back(std::move(values));
    }
    SizesOfInputs inputs = Inputs(symbols);
    follower_ = std::make_unique<SizeFollower>(&module_, points_.size(), std::move(inputs), symbols,
                                               run_.infer_sizes(), SizeFollower::MayGrow::kData);
    RETURN_IF_ERROR(follower_->Run());
    std::vector<size_t> alive;
    for (size_t p = 0; p < points_.size(); ++p) {
      if (follower_->status[p].ok()) alive.push_back(p);
    }
    for (size_t i = 0; i < count; ++i) {
      if (!growing_[i].is_new && growing_[i].dims.empty()) continue;
      if (absl::c_count_if(of_symbol[i], [&](size_t p) { return follower_->status[p].ok(); }) < 2) {
        for (const size_t p : of_symbol[i]) RETURN_IF_ERROR(follower_->status[p]);
      }
    }
    if (count > 1 && absl::c_any_of(growing_, [](const Growing& one) { return one.is_new; }))
      RETURN_IF_ERROR(follower_->status.back());
    std::vector<std::pair<std::string, Size>> named;
    for (size_t i = 0; i < count; ++i) named.emplace_back(growing_[i].name, symbols[i]);
    expressions_ = std::make_unique<SizeExpressions>(&module_, std::move(named), std::move(alive));
    return absl::OkStatus();
  }

  // Returns the sizes of inputs with old or new symbols.
  SizesOfInputs Inputs(absl::Span<const Size> symbols) {
    std::vector<std::vector<int64_t>> old = points_;
    for (std::vector<int64_t>& point : old) {
      size_t n = 0;
      for (size_t i = 0; i < growing_.size(); ++i) {
        if (!growing_[i].is_new) point[n++] = point[i];
      }
      point.resize(n);
    }
    SizesOfInputs inputs = SymbolicInputs(&module_, old, nullptr);
    for (size_t i = 0; i < growing_.size(); ++i) {
      if (!growing_[i].is_new) continue;
      for (const auto& [node, dim] : growing_[i].dims) {
        std::vector<Size>& sizes = inputs[node];
        for (size_t k = sizes.size(); k < node->tensor_meta()->shape.size(); ++k)
          sizes.emplace_back(node->tensor_meta()->shape[k].value);
        sizes[dim] = symbols[i];
      }
    }
    return inputs;
  }

  // Returns whether a size depends on a new symbol.
  bool DependsOnNew(const Size& size) const {
    for (size_t p = 0; p < points_.size(); ++p) {
      if (size.at(p) == size.base()) continue;
      for (size_t i = 0; i < growing_.size(); ++i) {
        if (growing_[i].is_new && points_[p][i] != growing_[i].example) return true;
      }
    }
    return false;
  }

  // --- Changing --------------------------------------------------------------------

  // How a call changes.
  struct Change {
    Node* node;
    std::map<size_t, const SymExpr*> numbers;  // by the index of the argument
    std::vector<std::pair<Node*, std::map<size_t, const SymExpr*>>>
        expands;  // by operand and dimension
  };

  absl::Status Apply() {
    // What cannot be written is found before anything is changed.
    std::vector<Change> changes;
    std::map<Node*, std::map<size_t, const SymExpr*>> inputs;
    for (Node* node : module_.main()->nodes()) {
      // Later sizes are written with those of earlier values.
      for (const Size& size : follower_->ValueOf(node).dims) expressions_->Of(size);
      Change change{node, {}, {}};
      for (const auto& [index, size] : follower_->EditsOf(node)) {
        ASSIGN_OR_RETURN(change.numbers[index], Written(*node, size));
      }
      if (const auto it = follower_->expands.find(node); it != follower_->expands.end()) {
        for (Node* operand : OperandsOf(*node)) {
          const auto dims = it->second.find(operand);
          if (dims == it->second.end()) continue;
          change.expands.emplace_back(operand, std::map<size_t, const SymExpr*>());
          for (const auto& [dim, size] : dims->second) {
            ASSIGN_OR_RETURN(change.expands.back().second[dim], Written(*node, size));
          }
        }
      }
      if (const auto it = follower_->grown.find(node); it != follower_->grown.end()) {
        for (const auto& [dim, size] : it->second) {
          ASSIGN_OR_RETURN(inputs[node][dim], Written(*node, size));
        }
      }
      if (!change.numbers.empty() || !change.expands.empty()) changes.push_back(std::move(change));
    }
    if (!inputs.empty()) run_.Note("other inputs grow, too", inputs.size());
    for (const Growing& one : growing_) {
      if (!one.is_new) continue;
      module_.AddSymbol(one.name, one.example);
      changed_ = true;
      for (const auto& [node, dim] : one.dims) inputs[node][dim] = module_.SymSymbol(one.name);
    }
    for (const auto& [node, dims] : inputs) {
      TensorMeta meta = *node->tensor_meta();
      std::vector<Dim> shape(meta.shape.begin(), meta.shape.end());
      for (const auto& [dim, expr] : dims) shape[dim] = Dim(expr);
      meta.shape = shape;
      node->set_meta(module_.InternValueMeta(meta));
      changed_ = true;
    }
    WriteMetas();
    size_t written = 0, expanded = 0;
    for (const Change& change : changes) {
      written += change.numbers.size();
      expanded += change.expands.size();
      RETURN_IF_ERROR(WriteNumbers(change));
      for (const auto& [operand, dims] : change.expands)
        RETURN_IF_ERROR(Expand(change.node, operand, dims));
    }
    for (Node* node : follower_->reshapes) {
      changed_ = true;
      node->set_target(node->op() == Op::kCallMethod ? "reshape" : "aten.reshape.default");
    }
    changed_ |= written + expanded > 0;
    if (written > 0) run_.Note("sizes now follow that of the input", written);
    if (expanded > 0) run_.Note("operands of size 1 are expanded", expanded);
    return absl::OkStatus();
  }

  void SetExamples() {
    for (const Growing& one : growing_) {
      if (one.to == 0 || one.to == one.example) continue;
      module_.AddSymbol(one.name, one.to);
      changed_ = true;
    }
  }

  // --- Proving -----------------------------------------------------------------------

  // Infers all sizes at two other sizes of the symbols, if something can, and compares them with
  // those that were followed. `nodes` are those of before.
  absl::Status Prove(absl::Span<Node* const> nodes) const {
    if (run_.infer_sizes() == nullptr) return absl::OkStatus();
    // With several symbols, all grow at the last point.
    std::vector<size_t> order;
    if (growing_.size() > 1) order.push_back(points_.size() - 1);
    for (size_t p = 1; p < points_.size(); ++p) order.push_back(p);
    size_t proven = 0;
    for (const size_t p : order) {
      if (proven == 2) break;
      bool is_new = false;
      for (size_t i = 0; i < growing_.size(); ++i)
        is_new |= growing_[i].is_new && points_[p][i] != growing_[i].example;
      if (!is_new || !follower_->status[p].ok()) continue;
      ++proven;
      RETURN_IF_ERROR(ProveAt(p, nodes));
    }
    return absl::OkStatus();
  }

  absl::Status ProveAt(size_t point, absl::Span<Node* const> nodes) const {
    const std::unique_ptr<Module> trial = module_.Clone();
    for (size_t i = 0; i < growing_.size(); ++i)
      trial->AddSymbol(growing_[i].name, points_[point][i]);
    for (Node* node : trial->main()->placeholders()) {
      if (node->tensor_meta() == nullptr || node->tensor_meta()->is_static()) continue;
      TensorMeta meta = *node->tensor_meta();
      std::vector<Dim> shape;
      for (const Dim& dim : meta.shape) {
        const auto size = dim.is_static() ? dim.value : EvaluateWithExamples(*trial, *dim.expr);
        shape.push_back(size.has_value() ? Dim(*size) : dim);
      }
      meta.shape = shape;
      node->set_meta(trial->InternValueMeta(meta));
    }
    for (Node* node : trial->main()->nodes()) {
      if (node->is_call()) node->set_meta(nullptr);
    }
    const absl::Status inferred = run_.infer_sizes()(trial.get());
    if (!inferred.ok()) return absl::FailedPreconditionError(inferred.message());
    for (const Node* node : nodes) {
      const Extent& extent = follower_->ValueOf(node);
      const Node* other = trial->main()->FindNode(node->name());
      if (!node->is_call() || !extent.varies() || other == nullptr || other->meta() == nullptr)
        continue;
      const ValueMeta* followed =
          SizedMeta(trial.get(), *other->meta(), extent,
                    [&](const Size& size, const Dim&) { return Dim(size.at(point)); });
      if (HaveSameSizes(*other->meta(), *followed)) continue;
      return absl::FailedPreconditionError(
          NodeError(*node, "has other sizes than those that were followed").message());
    }
    return absl::OkStatus();
  }

  static std::vector<Node*> OperandsOf(const Node& node) {
    std::vector<Node*> made;
    node.ForEachOperand([&](Node* operand) {
      if (!absl::c_linear_search(made, operand)) made.push_back(operand);
    });
    return made;
  }

  absl::Status WriteNumbers(const Change& change) {
    std::map<size_t, Argument> values;
    for (const auto& [index, expr] : change.numbers) {
      ASSIGN_OR_RETURN(const Argument value, Computed(*expr, change.node));
      values.emplace(index, value);
    }
    size_t place = 0;
    change.node->MapArguments([&](const Argument& argument) -> Argument {
      const auto it = values.find(place++);
      return it == values.end() ? argument : it->second;
    });
    return absl::OkStatus();
  }

  absl::StatusOr<const SymExpr*> Written(const Node& node, const Size& size) {
    const SymExpr* expr = expressions_->Of(size);
    if (expr != nullptr) return expr;
    return absl::FailedPreconditionError(
        NodeError(node, "has a size that depends on the symbols in an unknown way").message());
  }

  void WriteMetas() {
    for (Node* node : module_.main()->nodes()) {
      const Extent& extent = follower_->ValueOf(node);
      if (!node->is_call() || node->meta() == nullptr || !extent.varies()) continue;
      bool is_known = true;
      const ValueMeta* meta =
          SizedMeta(&module_, *node->meta(), extent, [&](const Size& size, const Dim& now) {
            if (!size.varies() || (!now.is_static() && !DependsOnNew(size))) return now;
            const SymExpr* expr = expressions_->Of(size);
            is_known &= expr != nullptr;
            return expr == nullptr ? now : Dim(expr);
          });
      if (!is_known) meta = nullptr;
      changed_ |= meta != node->meta();
      node->set_meta(meta);
    }
  }

  // Returns the node that has the value of a symbol.
  absl::StatusOr<Node*> SizeNode(absl::string_view symbol) {
    Node*& size = sizes_[std::string(symbol)];
    if (size != nullptr) return size;
    for (Node* node : module_.main()->placeholders()) {
      const TensorMeta* meta = node->tensor_meta();
      if (NumberDType(node->annotation()).has_value()) {
        if (node->target() == symbol) return size = node;
        continue;
      }
      for (size_t i = 0; meta != nullptr && meta->has_shape && i < meta->shape.size(); ++i) {
        const Dim& dim = meta->shape[i];
        if (dim.is_static() || dim.expr->kind != SymExpr::Kind::kSymbol || dim.expr->name != symbol)
          continue;
        Node* place = module_.main()->first();
        while (place->is_placeholder()) place = place->next();
        // One size stands behind the other.
        while (absl::c_any_of(sizes_, [&](const auto& one) { return one.second == place; }))
          place = place->next();
        const InsertionGuard guard(module_.main(), place);
        return size = module_.main()->CallMethod("size", {node, static_cast<int64_t>(i)});
      }
    }
    return absl::FailedPreconditionError(absl::StrCat("no input has the size ", Printable(symbol)));
  }

  // Writes the calls that compute an expression, before a node.
  absl::StatusOr<Argument> Computed(const SymExpr& expr, Node* place) {
    if (expr.kind == SymExpr::Kind::kInt) return Argument(expr.value);
    if (expr.kind == SymExpr::Kind::kSymbol) {
      ASSIGN_OR_RETURN(Node * size, SizeNode(expr.name));
      return Argument(size);
    }
    ASSIGN_OR_RETURN(Argument lhs, Computed(*expr.lhs, place));
    ASSIGN_OR_RETURN(Argument rhs, Computed(*expr.rhs, place));
    // Symbols stand before numbers.
    if (expr.kind == SymExpr::Kind::kMul && lhs.is_int()) std::swap(lhs, rhs);
    const char* target = expr.kind == SymExpr::Kind::kAdd   ? "operator.add"
                         : expr.kind == SymExpr::Kind::kSub ? "operator.sub"
                         : expr.kind == SymExpr::Kind::kMul ? "operator.mul"
                                                            : "operator.floordiv";
    const InsertionGuard guard(module_.main(), place);
    Node* made = module_.main()->CallFunction(target, {lhs, rhs});
    made->set_location(place->location());
    made->set_module_path(place->module_path());
    return Argument(made);
  }

  absl::Status Expand(Node* node, Node* operand, const std::map<size_t, const SymExpr*>& dims) {
    std::vector<Argument> args = {operand};
    const Extent& extent = follower_->ValueOf(operand);
    std::vector<Dim> shape;
    for (size_t i = 0; i < extent.rank(); ++i) {
      const auto it = dims.find(i);
      Argument size(-1);
      if (it != dims.end()) {
        ASSIGN_OR_RETURN(size, Computed(*it->second, node));
      }
      args.push_back(size);
    }
    Node* made;
    {
      const InsertionGuard guard(module_.main(), node);
      made = module_.main()->CallMethod("expand", args);
    }
    made->set_location(node->location());
    made->set_module_path(node->module_path());
    if (const TensorMeta* known = operand->tensor_meta()) {
      TensorMeta meta = *known;
      for (size_t i = 0; i < meta.shape.size(); ++i) {
        const auto it = dims.find(i);
        shape.push_back(it == dims.end() ? meta.shape[i] : Dim(it->second));
      }
      meta.shape = shape;
      made->set_meta(module_.InternValueMeta(meta));
    }
    node->ReplaceInput(operand, made);
    return absl::OkStatus();
  }

  Module& module_;
  PassRun& run_;
  int64_t next_name_ = 0;
  std::vector<Growing> growing_;
  std::vector<std::vector<int64_t>> points_;  // values of the symbols of growing_
  std::unique_ptr<SizeFollower> follower_;
  std::unique_ptr<SizeExpressions> expressions_;
  std::map<std::string, Node*> sizes_;  // by the name of a symbol
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> GeneralizeDims(Module* module, PassRun& run) {
  if (module->main() == nullptr) return absl::InvalidArgumentError("the module has no graph");
  ASSIGN_OR_RETURN(const bool inlined, InlineRegions(module, run));
  ASSIGN_OR_RETURN(const bool generalized, Generalization(module, &run).Run());
  return inlined || generalized;
}

namespace {

const RegisteredPass kGeneralizeDimsPass("generalize-dims", "generalize_dims.h", GeneralizeDims,
                                         {"dim", "inputs", "to"});

}  // namespace

}  // namespace graphnet
