#include "graphnet/passes/resize/resize_plan.h"

#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/resize/size_follower.h"
#include "graphnet/passes/resize/sized_meta.h"

namespace graphnet {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 40;
// Of literal data, which takes 16 bytes an element.
constexpr int64_t kMaxLiterals = int64_t{1} << 22;

}  // namespace

struct ResizePlan::Change {
  Node* node = nullptr;
  std::map<size_t, Size> numbers;  // by the index of the argument among all that are no aggregates
};

struct ResizePlan::Input {
  Node* node = nullptr;
  const ValueMeta* symbolic = nullptr;
  std::optional<DrawSpec> spec;  // with a list of literal data
  std::vector<Size> dims;
  bool is_table = false;
};

struct ResizePlan::Meta {
  Node* node = nullptr;
  const ValueMeta* recorded = nullptr;
  Extent extent;
};

ResizePlan::ResizePlan(Sample* sample, std::vector<std::vector<int64_t>> rows)
    : sample_(*sample), rows_(std::move(rows)) {}
ResizePlan::~ResizePlan() = default;

absl::StatusOr<std::unique_ptr<ResizePlan>> ResizePlan::Make(
    Sample* sample, const std::vector<std::vector<int64_t>>& rows, const InferSizes& infer) {
  const Module& module = *sample->module;
  if (module.main() == nullptr) return absl::InvalidArgumentError("the module has no graph");
  for (const Symbol& symbol : module.symbols()) {
    if (!symbol.example.has_value() || *symbol.example < 1) {
      return absl::FailedPreconditionError(
          absl::StrCat("symbol ", Printable(symbol.name), " has no example above 0"));
    }
  }
  for (const std::vector<int64_t>& row : rows) {
    if (row.size() != module.symbols().size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a row has ", row.size(), " sizes, and there are ", module.symbols().size(), " symbols"));
    }
    if (absl::c_any_of(row, [](int64_t size) { return size < 1; }))
      return absl::InvalidArgumentError("a size is not above 0");
  }
  auto plan = std::unique_ptr<ResizePlan>(new ResizePlan(sample, rows));
  RETURN_IF_ERROR(plan->Plan(infer));
  return plan;
}

absl::Status ResizePlan::Plan(const InferSizes& infer) {
  Module& module = *sample_.module;
  const size_t num_symbols = module.symbols().size();
  std::vector<int64_t> recorded;
  for (const Symbol& symbol : module.symbols()) recorded.push_back(*symbol.example);
  // The points: what was recorded, the rows, and some more that tell symbols apart.
  std::vector<std::vector<int64_t>> points = {recorded};
  points.insert(points.end(), rows_.begin(), rows_.end());
  for (size_t i = 0; i < num_symbols; ++i) {
    points.push_back(recorded);
    points.back()[i] *= 2;
  }
  std::vector<Node*> placeholders;
  for (Node* node : module.main()->placeholders()) placeholders.push_back(node);
  std::vector<bool> holds;
  const SizesOfInputs sizes = SymbolicInputs(&module, points, &holds);
  if (sizes.empty()) return absl::FailedPreconditionError("no input has a symbol");
  std::vector<Size> symbols;
  for (size_t i = 0; i < num_symbols; ++i) {
    std::vector<int64_t> values;
    for (const auto& point : points) values.push_back(point[i]);
    symbols.emplace_back(std::move(values));
  }
  // The sizes of all values as they were recorded.
  std::vector<const ValueMeta*> symbolic;
  for (Node* node : placeholders) {
    symbolic.push_back(node->meta());
    const auto it = sizes.find(node);
    if (it == sizes.end() || node->tensor_meta() == nullptr || node->tensor_meta()->is_static())
      continue;
    TensorMeta meta = *node->tensor_meta();
    std::vector<Dim> dims;
    for (const Size& size : it->second) dims.emplace_back(size.base());
    meta.shape = dims;
    node->set_meta(module.InternValueMeta(meta));
  }
  const absl::Status inferred = infer(&module);
  for (size_t i = 0; i < placeholders.size(); ++i) {
    inputs_.push_back({placeholders[i], symbolic[i], std::nullopt, {}, false});
  }
  const auto restore = [&] {
    for (const Input& input : inputs_) input.node->set_meta(input.symbolic);
  };
  if (!inferred.ok()) {
    restore();
    return absl::FailedPreconditionError(
        absl::StrCat("the recorded sizes do not fit: ", inferred.message()));
  }
  follower_ = std::make_unique<SizeFollower>(&module, points.size(), sizes, symbols, infer,
                                             SizeFollower::MayGrow::kTables);
  absl::Status followed = follower_->Run();
  if (!followed.ok()) {
    restore();
    return followed;
  }
  for (size_t p = 1; p < points.size(); ++p) {
    if (!holds[p] && follower_->status[p].ok()) {
      follower_->status[p] =
          absl::FailedPreconditionError("the sizes contradict a relation of the symbols");
    }
  }
  for (const auto& [node, edits] : follower_->edits)
    changes_.push_back({node, follower_->EditsOf(node)});
  std::vector<Input> changing;
  for (Input& input : inputs_) {
    const Extent& extent = follower_->ValueOf(input.node);
    if (!extent.varies()) {
      input.node->set_meta(input.symbolic);
      continue;
    }
    input.dims = extent.dims;
    input.is_table = follower_->grown.contains(input.node);
    if (input.is_table && sample_.weights.contains(std::string(input.node->target()))) {
      restore();
      return absl::FailedPreconditionError(
          absl::StrCat("the table ", Printable(input.node->target()),
                       " would need more rows, and its values are known"));
    }
    const DrawSpec* spec = input.node->draw_spec();
    if (spec != nullptr && spec->data.is_list() && !spec->data.elements().empty())
      input.spec = *spec;
    changing.push_back(std::move(input));
  }
  inputs_ = std::move(changing);
  for (Node* node : module.main()->nodes()) {
    if (node->is_call() && node->meta() != nullptr && follower_->ValueOf(node).varies())
      metas_.push_back({node, node->meta(), follower_->ValueOf(node)});
  }
  InsertExpansions();
  for (Node* node : follower_->reshapes) {
    const bool is_method = node->op() == Op::kCallMethod;
    node->set_target(is_method ? "reshape" : "aten.reshape.default");
  }
  return absl::OkStatus();
}

void ResizePlan::InsertExpansions() {
  Module& module = *sample_.module;
  for (const auto& [node, operands] : follower_->expands) {
    for (const auto& [operand, dims] : operands) {
      std::vector<Argument> args = {operand};
      Extent extent = follower_->ValueOf(operand);
      Change change;
      for (size_t i = 0; i < extent.rank(); ++i) {
        args.emplace_back(dims.contains(i) ? 1 : -1);
        if (dims.contains(i)) {
          extent.dims[i] = dims.at(i);
          change.numbers[i + 1] = dims.at(i);
        }
      }
      {
        const InsertionGuard guard(module.main(), node);
        change.node = module.main()->CallMethod("expand", args);
      }
      change.node->set_location(node->location());
      change.node->set_module_path(node->module_path());
      if (operand->meta() != nullptr) {
        change.node->set_meta(operand->meta());
        metas_.push_back({change.node, operand->meta(), extent});
      }
      node->ReplaceInput(operand, change.node);
      changes_.push_back(std::move(change));
    }
  }
}

const absl::Status& ResizePlan::status(size_t row) const { return follower_->status[row + 1]; }

const ValueMeta* ResizePlan::MetaAt(const ValueMeta& meta, const Extent& extent, size_t point) {
  return SizedMeta(sample_.module.get(), meta, extent,
                   [&](const Size& size, const Dim&) { return Dim(size.at(point)); });
}

absl::Status ResizePlan::Apply(size_t row) {
  Module& module = *sample_.module;
  const size_t point = row + 1;
  RETURN_IF_ERROR(status(row));
  for (const Input& input : inputs_) {
    double elements = 1;
    for (const Size& dim : input.dims) elements *= static_cast<double>(dim.at(point));
    const auto refuse = [&](absl::string_view what) {
      return absl::ResourceExhaustedError(
          absl::StrCat("input ", Printable(input.node->target()), " would have more than ", what));
    };
    if (elements > static_cast<double>(kMaxElements)) return refuse("2^40 elements");
    if (input.spec.has_value() && elements > static_cast<double>(kMaxLiterals))
      return refuse("2^22 elements of literal data");
  }
  for (size_t i = 0; i < rows_[row].size(); ++i)
    module.AddSymbol(std::string(module.symbols()[i].name), rows_[row][i]);
  for (const Change& change : changes_) {
    size_t place = 0;
    change.node->MapArguments([&](const Argument& argument) -> Argument {
      const auto it = change.numbers.find(place++);
      return it == change.numbers.end() ? argument : Argument(it->second.at(point));
    });
  }
  for (const Input& input : inputs_) {
    if (input.is_table && input.node->tensor_meta() != nullptr) {
      TensorMeta meta = *input.node->tensor_meta();
      std::vector<Dim> shape;
      for (const Size& dim : input.dims) shape.emplace_back(dim.at(point));
      meta.shape = shape;
      input.node->set_meta(module.InternValueMeta(meta));
    } else {
      input.node->set_meta(input.symbolic);
    }
    sample_.weights.erase(std::string(input.node->target()));
    if (!input.spec.has_value()) continue;
    // As GraphNet does: the literal data begins again where it ends.
    int64_t elements = 1;
    for (const Size& dim : input.dims) elements *= dim.at(point);
    if (NumberDType(input.node->annotation()).has_value()) elements = 1;
    const absl::Span<const Argument> known = input.spec->data.elements();
    std::vector<Argument> data;
    data.reserve(static_cast<size_t>(elements));
    for (int64_t i = 0; i < elements; ++i)
      data.push_back(known[static_cast<size_t>(i) % known.size()]);
    DrawSpec spec = *input.spec;
    spec.data = Argument::List(data);
    input.node->set_draw_spec(spec);
  }
  for (const Meta& meta : metas_) meta.node->set_meta(MetaAt(*meta.recorded, meta.extent, point));
  return absl::OkStatus();
}

absl::Status ResizePlan::Check(size_t row, const InferSizes& infer) {
  Module& module = *sample_.module;
  const size_t point = row + 1;
  for (const Input& input : inputs_) {
    if (input.symbolic != nullptr)
      input.node->set_meta(
          MetaAt(*input.symbolic, {.kind = Extent::Kind::kTensor, .dims = input.dims}, point));
  }
  const absl::Status inferred = infer(&module);
  absl::Status status;
  if (!inferred.ok()) status = absl::FailedPreconditionError(inferred.message());
  for (const Meta& meta : metas_) {
    const ValueMeta* followed = MetaAt(*meta.recorded, meta.extent, point);
    if (status.ok() && meta.node->meta() != nullptr &&
        !HaveSameSizes(*meta.node->meta(), *followed))
      status = absl::FailedPreconditionError(
          NodeError(*meta.node, "has other sizes than those that were followed").message());
    meta.node->set_meta(followed);
  }
  for (const Input& input : inputs_) {
    if (!input.is_table) input.node->set_meta(input.symbolic);
  }
  return status;
}

size_t ResizePlan::num_numbers() const {
  size_t count = 0;
  for (const Change& change : changes_) count += change.numbers.size();
  return count;
}

size_t ResizePlan::num_tables() const { return follower_->grown.size(); }

}  // namespace graphnet
