#include "graphnet/passes/generalize_dims.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/dim_propagation.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/callable.h"
#include "graphnet/passes/inline_regions.h"
#include "graphnet/passes/pass.h"
#include "graphnet/passes/rename_inputs.h"

namespace graphnet {
namespace {

constexpr int kMaxRounds = 64;

class Generalization : private DimPropagation {
 public:
  Generalization(Module* module, PassRun* run) : DimPropagation(module), run_(*run) {}

  absl::StatusOr<bool> Run() {
    RETURN_IF_ERROR(ChooseInputs());
    if (inputs_.empty()) return false;
    for (int round = 0;; ++round) {
      again_ = false;
      edits_.clear();
      expands_.clear();
      values_ = NodeTable<SymbolicSizes>(module_);
      for (Node* node : module_.main()->nodes()) {
        RETURN_IF_ERROR(Visit(node));
      }
      if (!again_) break;
      if (round == kMaxRounds)
        return absl::FailedPreconditionError("sizes depend on each other in too many places");
    }
    return Apply();
  }

 private:
  // --- What is to grow -----------------------------------------------------------

  absl::Status ChooseInputs() {
    int64_t dim = 0;
    if (!run_.option("dim").empty() && (!absl::SimpleAtoi(run_.option("dim"), &dim) || dim < 0)) {
      return absl::InvalidArgumentError(absl::StrCat("dim must be a number from 0 up, not \"",
                                                     Printable(run_.option("dim")), "\""));
    }
    dim_ = static_cast<size_t>(dim);
    if (!run_.option("to").empty() && (!absl::SimpleAtoi(run_.option("to"), &to_) || to_ <= 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("to must be a size above 0, not \"", Printable(run_.option("to")), "\""));
    }
    const std::vector<std::string> wanted = run_.list("inputs");
    std::set<absl::string_view> found;
    const SymExpr* symbol = nullptr;
    size_t others = 0;
    for (Node* node : module_.main()->placeholders()) {
      const bool is_wanted = absl::c_linear_search(wanted, node->target());
      if (is_wanted) found.insert(node->target());
      const TensorMeta* meta = node->tensor_meta();
      const bool fits = meta != nullptr && meta->has_shape && meta->shape.size() > dim_ &&
                        !NumberDType(node->annotation()).has_value();
      if (is_wanted && !fits) {
        return absl::FailedPreconditionError(absl::StrCat(
            "input ", Printable(node->target()), " is not known to have a dimension ", dim_));
      }
      if (!fits || (wanted.empty() ? IsWeight(*node) : !is_wanted)) continue;
      const Dim& size = meta->shape[dim_];
      if (inputs_.empty()) {
        symbol = size.expr;
        const auto example =
            size.is_static() ? size.value : EvaluateWithExamples(module_, *size.expr);
        if (!example.has_value() || *example <= 0 ||
            (symbol != nullptr && symbol->kind != SymExpr::Kind::kSymbol)) {
          return absl::FailedPreconditionError(
              absl::StrCat("input ", Printable(node->target()), ", dimension ", dim_,
                           ": neither a size above 0 nor a symbol with an example"));
        }
        example_ = *example;
      } else if (size.is_static() ? symbol != nullptr || size.value != example_
                                  : symbol == nullptr || !(*size.expr == *symbol)) {
        if (is_wanted) {
          return absl::FailedPreconditionError(absl::StrCat(
              "input ", Printable(node->target()), ", dimension ", dim_,
              ": differs from the size that ", Printable(inputs_[0]->target()), " has"));
        }
        ++others;
        continue;
      }
      inputs_.push_back(node);
    }
    for (const std::string& name : wanted) {
      if (!found.contains(name))
        return absl::InvalidArgumentError(absl::StrCat("there is no input ", Printable(name)));
    }
    if (inputs_.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("no data input is known to have a dimension ", dim_));
    }
    if (others > 0) run_.Note("inputs have another size there and keep it", others);
    symbol_ = symbol;
    return absl::OkStatus();
  }

  // --- Changing --------------------------------------------------------------------

  const SymExpr* Times(int64_t factor) {
    const SymExpr* name = module_.SymSymbol(symbol_->name);
    return factor == 1 ? name
                       : module_.SymBinary(SymExpr::Kind::kMul, module_.SymInt(factor), name);
  }

  Node* SizeNode() {
    if (size_ != nullptr) return size_;
    Node* place = module_.main()->first();
    while (place->is_placeholder()) place = place->next();
    const InsertionGuard guard(module_.main(), place);
    size_ = module_.main()->CallMethod("size", {inputs_[0], static_cast<int64_t>(dim_)});
    return size_;
  }
  Argument SizeBefore(Node* place, int64_t factor) {
    Node* size = SizeNode();
    if (factor == 1) return size;
    const InsertionGuard guard(module_.main(), place);
    Node* product = module_.main()->CallFunction("operator.mul", {size, factor});
    product->set_location(place->location());
    product->set_module_path(place->module_path());
    return product;
  }

  // Returns a number that is a multiple of the example, with the example replaced by the size.
  Argument Stretched(Node* place, const Argument& number) {
    Node* size = SizeNode();
    const InsertionGuard guard(module_.main(), place);
    Node* made = module_.main()->CallFunction("operator.mul", {number, size});
    if (example_ != 1) made = module_.main()->CallFunction("operator.floordiv", {made, example_});
    return made;
  }

  absl::StatusOr<bool> Apply() {
    if (symbol_ == nullptr) {
      int64_t next = 0;
      for (const Symbol& symbol : module_.symbols()) {
        int64_t number = 0;
        absl::string_view text = symbol.name;
        if (absl::ConsumePrefix(&text, "S") && absl::SimpleAtoi(text, &number))
          next = std::max(next, number + 1);
      }
      const std::string name = absl::StrCat("S", next);
      module_.AddSymbol(name, example_);
      symbol_ = module_.SymSymbol(name);
      changed_ = true;
    }
    std::vector<Node*> nodes;
    for (Node* node : module_.main()->nodes()) nodes.push_back(node);
    size_t written = 0, expanded = 0;
    for (Node* node : nodes) {
      if (const auto edit = edits_.find(node); edit != edits_.end()) {
        written += edit->second.size();
        std::map<const Argument*, Argument> by_place;
        for (const auto& [place, factor] : edit->second)
          by_place[place] = factor == 0 ? Stretched(node, *place) : SizeBefore(node, factor);
        ReplaceSizes(node, by_place);
        MakeReshape(node);
      }
      if (const auto expand = expands_.find(node); expand != expands_.end()) {
        expanded += expand->second.size();
        for (const auto& [operand, dims] : expand->second) ExpandFor(node, operand, dims);
      }
      const SymbolicSizes& extent = values_[node];
      if (extent.any() && node->meta() != nullptr) {
        const ValueMeta* meta = WithSymbols(*node->meta(), extent);
        changed_ |= meta != node->meta();
        node->set_meta(meta);
      }
    }
    // Set the new size after all steps that use the old one.
    if (to_ > 0 && to_ != example_) {
      module_.AddSymbol(symbol_->name, to_);
      changed_ = true;
    }
    if (written > 0) run_.Note("sizes now follow that of the input", written);
    if (expanded > 0) run_.Note("operands of size 1 are expanded", expanded);
    return changed_;
  }

  // Replaces arguments by their address.
  void ReplaceSizes(Node* node, const std::map<const Argument*, Argument>& by_place) {
    changed_ = true;
    Arena arena;
    const auto replaced = [&](const Argument& argument) -> Argument {
      const auto it = by_place.find(&argument);
      if (it != by_place.end()) return it->second;
      if (!argument.is_list() && !argument.is_tuple()) return argument;
      std::vector<Argument> elements;
      for (const Argument& element : argument.elements()) {
        const auto place = by_place.find(&element);
        elements.push_back(place == by_place.end() ? element : place->second);
      }
      return Argument::Aggregate(argument.kind(), arena.Copy(absl::MakeConstSpan(elements)));
    };
    std::vector<Argument> args;
    for (const Argument& argument : node->args()) args.push_back(replaced(argument));
    std::vector<KwArg> kwargs;
    for (const KwArg& kwarg : node->kwargs()) kwargs.push_back({kwarg.name, replaced(kwarg.value)});
    node->set_args(args);
    node->set_kwargs(kwargs);
  }

  // A size of one fits any strides; a larger one may not, so a view that joins it with others may
  // need a copy. A reshape is a view wherever a view is possible.
  void MakeReshape(Node* node) {
    const absl::string_view name = BareName(*node);
    if (example_ != 1 || (name != "view" && name != "_unsafe_view") || !node->kwargs().empty() ||
        !node->args()[0].is_node()) {
      return;
    }
    const auto factors = [&](const SymbolicSizes& of) {
      int64_t most = 0;
      for (size_t i = 0; i < of.grows.size(); ++i) most = of.grows[i] ? of.sizes[i] : most;
      return most;
    };
    if (factors(values_[node]) <= factors(values_[node->args()[0].node()])) return;
    node->set_target(node->op() == Op::kCallMethod ? "reshape" : "aten.reshape.default");
  }

  void ExpandFor(Node* node, Node* operand, const std::set<size_t>& dims) {
    changed_ = true;
    std::vector<Argument> args = {operand};
    for (size_t i = 0; i < values_[operand].sizes.size(); ++i)
      args.push_back(dims.contains(i) ? Argument(SizeNode()) : Argument(-1));
    Node* made;
    {
      const InsertionGuard guard(module_.main(), node);
      made = module_.main()->CallMethod("expand", args);
    }
    made->set_location(node->location());
    made->set_module_path(node->module_path());
    if (operand->meta() != nullptr) {
      SymbolicSizes extent = values_[operand];
      for (const size_t i : dims) extent.grows[i] = 1;
      made->set_meta(WithSymbols(*operand->meta(), extent));
    }
    node->ReplaceInput(operand, made);
  }

  // Returns the size `dim`, which is `factor` times the example, with the symbol instead of the
  // example. Other symbols stay.
  Dim WithSymbol(const Dim& dim, int64_t factor) {
    if (dim.is_static()) return Dim(Times(factor));
    if (Mentions(*dim.expr)) return dim;
    const SymExpr* all = module_.SymBinary(SymExpr::Kind::kMul, dim.expr, Times(1));
    return Dim(example_ == 1
                   ? all
                   : module_.SymBinary(SymExpr::Kind::kFloorDiv, all, module_.SymInt(example_)));
  }
  bool Mentions(const SymExpr& expr) const {
    std::vector<const SymExpr*> open = {&expr};
    std::set<const SymExpr*> seen;
    while (!open.empty()) {
      const SymExpr* one = open.back();
      open.pop_back();
      if (one == nullptr || !seen.insert(one).second) continue;
      if (one->kind == SymExpr::Kind::kSymbol && one->name == symbol_->name) return true;
      open.insert(open.end(), {one->lhs, one->rhs});
    }
    return false;
  }

  const ValueMeta* WithSymbols(const ValueMeta& meta, const SymbolicSizes& extent) {
    if (meta.is_tuple) {
      std::vector<const ValueMeta*> elements;
      for (size_t i = 0; i < meta.elements.size(); ++i) {
        const ValueMeta* element = meta.elements[i];
        elements.push_back(element == nullptr || i >= extent.elements.size()
                               ? element
                               : WithSymbols(*element, extent.elements[i]));
      }
      return module_.InternTupleMeta(elements);
    }
    if (meta.tensor == nullptr || !extent.is_tensor()) return &meta;
    TensorMeta tensor = *meta.tensor;
    std::vector<Dim> shape(tensor.shape.begin(), tensor.shape.end());
    for (size_t i = 0; i < shape.size() && i < extent.grows.size(); ++i) {
      if (extent.grows[i]) shape[i] = WithSymbol(shape[i], extent.sizes[i] / example_);
    }
    tensor.shape = shape;
    return module_.InternValueMeta(tensor);
  }

  PassRun& run_;
  Node* size_ = nullptr;
  int64_t to_ = 0;  // the new example size; 0 to keep the old one
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
