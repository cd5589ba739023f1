#include "graphnet/interp/data_sizes.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "absl/container/btree_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "graphnet/interp/shape_run.h"
#include "graphnet/interp/shapes.h"
#include "graphnet/interp/structured_input.h"
#include "graphnet/interp/torch/values.h"
#include "graphnet/interp/values.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

using Values = std::map<std::string, TensorData>;

constexpr size_t kMaxSizes = 64;

// Keeps only the values of attributes, and of inputs whose sizes the graph does not know.
Values WithoutData(const Module& module, Values values) {
  for (const Node* node : module.main()->placeholders()) {
    const TensorMeta* meta = node->tensor_meta();
    const bool is_tensor = !IsStructure(*node) && !NumberDType(node->annotation()).has_value();
    if (is_tensor && meta != nullptr && meta->has_shape) values.erase(std::string(node->target()));
  }
  return values;
}

class DataSizes {
 public:
  DataSizes(const Module& said, const Values& values, const FoundValues& found, Module* module)
      : module_(*module), values_(WithoutData(*module, values)), found_(found) {
    auto before = said.main()->nodes().begin();
    for (Node* node : module_.main()->nodes()) {
      metas_[node] = node->meta();
      const Node* const original = *before;
      ++before;
      if (original->meta() == nullptr) continue;
      said_.metas[node] = module_.CopyMeta(original->meta());
    }
  }

  void Run() {
    complete_ = Count(&roots_);
    if (roots_.empty() || sizes_.size() > kMaxSizes) return;
    FindWhatIsFixed();
    for (Node* node : module_.main()->nodes()) {
      const auto it = said_.metas.find(node);
      if (!node->is_placeholder()) node->set_meta(it == said_.metas.end() ? nullptr : it->second);
    }
    const std::vector<std::string> names = MakeSymbols();
    for (const Root& root : roots_) Say(root, names);
    ShapeRun run;
    run.recover_errors = true;
    const absl::Status status = InferShapesFrom(&module_, values_, said_, run).status();
    if ((!status.ok() && !absl::IsFailedPrecondition(status)) || !AgreesWithRun()) {
      for (Node* node : module_.main()->nodes()) node->set_meta(metas_.at(node));
    }
  }

 private:
  // A value that cannot be computed without data, or whose sizes cannot.
  struct Root {
    const Node* node;
    // Indices into sizes_, by dimension of its tensors, or by number.
    std::vector<size_t> sizes;
  };

  // Runs without data. Unless `roots` is null, collects the roots. Returns the number of values
  // that were found.
  size_t Count(std::vector<Root>* roots) {
    size_t count = 0;
    ShapeRun run;
    run.recover_errors = true;
    run.observer = [&](const Node&, const c10::IValue&) {
      ++count;
      return absl::OkStatus();
    };
    const Recover by_program = RecoverBy(module_, said_);
    run.recover = [&](const Node& node) -> std::optional<c10::IValue> {
      if (std::optional<c10::IValue> value = by_program(node)) return value;
      const auto it = found_.find(&node);
      if (it == found_.end()) return std::nullopt;
      if (roots != nullptr && sizes_.size() <= kMaxSizes) AddRoot(node, it->second);
      const auto root = root_of_.find(&node);
      if (root == root_of_.end()) return std::nullopt;
      return Make(it->second, roots_[root->second]);
    };
    RunForShapes(module_, values_, run).IgnoreError();
    return count;
  }

  void AddRoot(const Node& node, const c10::IValue& value) {
    std::vector<size_t> sizes;
    Budget budget(kMaxMetaParts);
    const std::optional<c10::IValue> same = MapSizes(
        value,
        [&](int64_t size) {
          sizes.push_back(sizes_.size());
          sizes_.push_back({size, size});
          return size;
        },
        &budget);
    if (!same.has_value()) return;
    root_of_[&node] = roots_.size();
    roots_.push_back({&node, std::move(sizes)});
  }

  // Returns the value with the sizes that are tried now.
  std::optional<c10::IValue> Make(const c10::IValue& value, const Root& root) const {
    auto size = root.sizes.begin();
    Budget budget(kMaxMetaParts);
    return MapSizes(
        value, [&](int64_t) { return sizes_[*size++].tried; }, &budget);
  }

  // Returns the value with tensors without data, and fn(x) in place of each of their sizes and each
  // int, in order; nullopt if it has too many parts.
  static std::optional<c10::IValue> MapSizes(const c10::IValue& value,
                                             absl::FunctionRef<int64_t(int64_t)> fn,
                                             Budget* budget) {
    if (!budget->Charge(1)) return std::nullopt;
    if (value.isInt()) return fn(value.toInt());
    if (value.isTensor() && value.toTensor().defined()) {
      std::vector<int64_t> sizes;
      for (const int64_t size : value.toTensor().sizes()) sizes.push_back(fn(size));
      return at::empty(sizes, value.toTensor().options().device(c10::kMeta));
    }
    if (value.isIntList()) {
      if (!budget->Charge(value.toIntVector().size())) return std::nullopt;
      std::vector<int64_t> numbers = value.toIntVector();
      for (int64_t& number : numbers) number = fn(number);
      return numbers;
    }
    if (!value.isTuple() && !value.isList()) return value;
    std::vector<c10::IValue> elements = Elements(value);
    for (c10::IValue& element : elements) {
      std::optional<c10::IValue> mapped = MapSizes(element, fn, budget);
      if (!mapped.has_value()) return std::nullopt;
      element = *std::move(mapped);
    }
    return interp::MakeSequence(std::move(elements), value.isTuple());
  }

  // Returns true if the graph runs as far as before with larger sizes in these places.
  bool MayGrow(const std::vector<size_t>& sizes) {
    for (const size_t i : sizes) ++sizes_[i].tried;
    const bool may = Count(nullptr) == complete_;
    for (const size_t i : sizes) --sizes_[i].tried;
    return may;
  }

  // A size that may change by itself gets a symbol of its own. Other sizes that are equal share one
  // if they may change together.
  void FindWhatIsFixed() {
    absl::btree_map<int64_t, std::vector<size_t>> bound;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      if (!MayGrow({i})) bound[sizes_[i].found].push_back(i);
    }
    for (const auto& [size, places] : bound) {
      const bool together = places.size() > 1 && MayGrow(places);
      for (const size_t i : places)
        sizes_[i].symbol = together ? static_cast<int>(places[0]) : kFixed;
    }
  }

  // Adds the symbols. Returns their names, by index in sizes_; empty for fixed sizes.
  std::vector<std::string> MakeSymbols() {
    std::vector<std::string> names(sizes_.size());
    int number = 0;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      if (sizes_[i].symbol == kFixed) continue;
      const size_t of = sizes_[i].symbol == kOwn ? i : static_cast<size_t>(sizes_[i].symbol);
      if (of != i) {
        names[i] = names[of];
      } else {
        do {
          names[i] = absl::StrCat("u", number++);
        } while (module_.FindSymbol(names[i]) != nullptr);
        module_.AddSymbol(names[i], sizes_[i].found);
      }
    }
    return names;
  }

  void Say(const Root& root, const std::vector<std::string>& names) {
    const c10::IValue& value = found_.at(root.node);
    const ValueMeta* meta = MetaOfValue(value, metas_.at(root.node), &module_);
    const bool is_number = value.isInt() || value.isIntList() || root.sizes.empty();
    if (meta == nullptr && !is_number) return;  // a tuple of tensors and numbers
    if (meta == nullptr) {
      SaidValues::Number& number = said_.numbers[root.node];
      number.value = value;
      for (const size_t size : root.sizes) number.symbols.push_back(names[size]);
      return;
    }
    std::vector<Dim> dims;
    AppendDims(*meta, &dims);
    for (size_t i = 0; i < dims.size(); ++i) {
      const std::string& name = names[root.sizes[i]];
      if (!name.empty()) dims[i] = Dim(module_.SymSymbol(name));
    }
    size_t next = 0;
    said_.metas[root.node] = WithDims(*meta, dims, &next, &module_);
  }

  // Returns true if the metas have the sizes that were found, for the examples of the symbols.
  bool AgreesWithRun() {
    for (const auto& [node, value] : found_) {
      const ValueMeta* const made = node->meta();
      const ValueMeta* const ran = MetaOfValue(value, nullptr, &module_);
      if (made == nullptr || ran == nullptr) continue;
      std::vector<Dim> a, b;
      AppendDims(*made, &a);
      AppendDims(*ran, &b);
      if (a.size() != b.size()) return false;
      for (size_t i = 0; i < a.size(); ++i) {
        const std::optional<int64_t> size =
            a[i].is_static() ? a[i].value : EvaluateWithExamples(module_, *a[i].expr);
        if (size.has_value() && *size != b[i].value) return false;
      }
    }
    return true;
  }

  static constexpr int kOwn = -1;
  static constexpr int kFixed = -2;
  struct Size {
    int64_t found;
    int64_t tried;
    int symbol = kOwn;  // or kFixed (no symbol), or the index of the size whose symbol it shares
  };

  Module& module_;
  const Values values_;
  const FoundValues& found_;
  absl::flat_hash_map<const Node*, const ValueMeta*> metas_;  // the metas before Run
  SaidValues said_;  // facts of the program, and later of the roots, too
  std::vector<Root> roots_;
  absl::flat_hash_map<const Node*, size_t> root_of_;
  std::vector<Size> sizes_;
  size_t complete_ = 0;
};

}  // namespace

void NameDataSizes(const Module& said, const std::map<std::string, TensorData>& values,
                   const FoundValues& found, Module* module) {
  DataSizes(said, values, found, module).Run();
}

void GiveExamples(const FoundValues& found, Module* module) {
  for (const Node* node : module->main()->nodes()) {
    const auto it = found.find(node);
    if (it == found.end() || node->meta() == nullptr) continue;
    const ValueMeta* const ran = MetaOfValue(it->second, nullptr, module);
    if (ran == nullptr) continue;
    std::vector<Dim> dims, sizes;
    AppendDims(*node->meta(), &dims);
    AppendDims(*ran, &sizes);
    for (size_t i = 0; i < dims.size() && dims.size() == sizes.size(); ++i) {
      if (dims[i].is_static() || dims[i].expr->kind != SymExpr::Kind::kSymbol) continue;
      const Symbol* const symbol = module->FindSymbol(dims[i].expr->name);
      if (symbol != nullptr && !symbol->example.has_value())
        module->AddSymbol(symbol->name, sizes[i].value);
    }
  }
}

}  // namespace graphnet
