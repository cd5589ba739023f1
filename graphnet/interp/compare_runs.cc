#include "graphnet/interp/compare_runs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/blind_outputs.h"
#include "graphnet/interp/dead_paths.h"
#include "graphnet/interp/measure_rounding.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/comparison.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/interp/torch/types.h"

namespace graphnet {
namespace {

PrepareOptions PreparationOf(const RunSide& side) {
  PrepareOptions prepare;
  prepare.parameters = side.parameters;
  prepare.max_bytes = AvailableMemoryBytes();
  return prepare;
}

// Returns the outputs of something else.
absl::StatusOr<std::vector<c10::IValue>> GivenOutputs(const RunSide& side) {
  std::vector<c10::IValue> outputs;
  for (size_t i = 0; i < side.values.size(); ++i) {
    const auto it = side.values.find(absl::StrCat("o", i));
    if (it == side.values.end())
      return absl::InvalidArgumentError(absl::StrCat("has no output o", i));
    ASSIGN_OR_RETURN(at::Tensor tensor, ToTensor(it->second, c10::Device(c10::kCPU)));
    outputs.emplace_back(std::move(tensor));
  }
  return outputs;
}

absl::StatusOr<std::vector<c10::IValue>> Run(const RunSide& side, uint64_t seed,
                                             const Observer& observer) {
  if (side.module == nullptr) return GivenOutputs(side);
  ASSIGN_OR_RETURN(PreparedRun prepared,
                   PrepareRun(*side.module, side.values, PreparationOf(side)));
  return prepared.executable->Run(std::move(prepared.inputs), {.seed = seed, .observer = observer});
}

std::string FormOf(const at::Tensor& tensor) {
  return absl::StrCat(DTypeShortName(DTypeOf(tensor.scalar_type())), "[",
                      tensor.is_nested() ? "nested" : absl::StrJoin(tensor.sizes(), ", "), "]");
}

bool IsReadableTensor(const c10::IValue& value) {
  return value.isTensor() && IsReadable(value.toTensor());
}

absl::StatusOr<OutputDifference> CompareOutput(const c10::IValue& a, const c10::IValue& b,
                                               const CompareOptions& options) {
  OutputDifference made;
  made.are_tensors = IsReadableTensor(a) && IsReadableTensor(b);
  if (!made.are_tensors) {
    const bool nan =
        a.isDouble() && b.isDouble() && std::isnan(a.toDouble()) && std::isnan(b.toDouble());
    made.equal = a.tagKind() == b.tagKind() && (a.isNone() || nan || a == b);
    if (!made.equal && a.isDouble() && b.isDouble()) {
      made.close = std::abs(a.toDouble() - b.toDouble()) <=
                   options.tolerance.atol + options.tolerance.rtol * std::abs(a.toDouble());
    }
    return made;
  }
  made.equal = DigestOf(a) == DigestOf(b);
  if (made.equal) return made;
  const at::Tensor& s = a.toTensor();
  const at::Tensor& t = b.toTensor();
  made.same_dtype = s.scalar_type() == t.scalar_type();
  made.same_shape = s.is_nested() == t.is_nested() &&
                    (s.is_nested() ? s.numel() == t.numel() : s.sizes() == t.sizes());
  made.form_a = FormOf(s);
  made.form_b = FormOf(t);
  made.elements = s.numel();
  if (made.same_shape) {
    ASSIGN_OR_RETURN(made.difference, DifferenceOf(s, t, options.tolerance));
    made.close = made.same_dtype && !options.is_exact() && made.difference.beyond == 0;
  }
  return made;
}

// A value that a node of one side had.
struct Value {
  const Node* node = nullptr;
  size_t digest = 0;  // of its elements in a row, whatever their shape
  std::vector<int64_t> sizes;
  bool is_tensor = false;
  int64_t elements = 0;
  c10::IValue kept;  // a copy, unless there is no memory for it
};

// The values of one side's main graph, in the order in which they were computed.
class RunValues {
 public:
  explicit RunValues(int64_t budget) : budget_(budget) {}

  void Add(const Node& node, const c10::IValue& value) {
    Value made;
    made.node = &node;
    if (IsReadableTensor(value)) {
      const at::Tensor plain = PlainTensor(value.toTensor());
      made.is_tensor = true;
      made.sizes = plain.sizes().vec();
      made.elements = plain.numel();
      made.digest = absl::HashOf(
          static_cast<int>(value.toTensor().scalar_type()), made.elements,
          absl::string_view(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes()));
      const auto bytes = static_cast<int64_t>(plain.nbytes());
      if (bytes <= budget_) {
        budget_ -= bytes;
        made.kept = OwnMemory(plain, value.toTensor());
      }
    } else if (const std::optional<size_t> digest = DigestOf(value)) {
      made.digest = *digest;
      made.kept = value;
    } else {
      return;
    }
    const auto [it, is_new] = of_.try_emplace(&node, all_.size());
    if (is_new) {
      all_.push_back(std::move(made));
    } else {
      all_[it->second] = std::move(made);  // a node of a body that runs again
    }
  }

  const std::vector<Value>& all() const { return all_; }
  const Value* Find(const Node* node) const {
    const auto it = of_.find(node);
    return it == of_.end() ? nullptr : &all_[it->second];
  }
  absl::flat_hash_set<size_t> Digests() const {
    absl::flat_hash_set<size_t> digests;
    for (const Value& value : all_) digests.insert(value.digest);
    return digests;
  }

 private:
  int64_t budget_;
  std::vector<Value> all_;
  absl::flat_hash_map<const Node*, size_t> of_;
};

// Finds which values of both sides belong together, and compares them.
class Comparison {
 public:
  Comparison(const RunValues& a, const RunValues& b, const CompareOptions& options)
      : a_(a), b_(b), options_(options), digests_of_a_(a.Digests()), digests_of_b_(b.Digests()) {}

  absl::Status Run(RunComparison* made) {
    for (const auto& [of_a, of_b] : options_.pairs)
      RETURN_IF_ERROR(Add(a_.Find(of_a), b_.Find(of_b), PairedBy::kComputation));
    RETURN_IF_ERROR(PairByModule());
    RETURN_IF_ERROR(PairByName());
    for (const Value& value : b_.all()) {
      const auto it = found_.find(value.node);
      if (it == found_.end()) {
        ++made->unpaired;
        continue;
      }
      ++made->paired[static_cast<size_t>(it->second.by)];
      made->different += it->second.equal ? 0 : 1;
      made->values.push_back(it->second);
    }
    return absl::OkStatus();
  }

 private:
  bool IsFree(const Value& value, bool of_b) const {
    return of_b ? !found_.contains(value.node) : !taken_.contains(value.node);
  }

  absl::Status Add(const Value* a, const Value* b, PairedBy by) {
    if (a == nullptr || b == nullptr || a->is_tensor != b->is_tensor) return absl::OkStatus();
    if (!IsFree(*a, false) || !IsFree(*b, true)) return absl::OkStatus();
    if (a->is_tensor && a->elements != b->elements) return absl::OkStatus();
    ComparedValue made = {.a = a->node, .b = b->node, .by = by, .equal = a->digest == b->digest};
    if (!made.equal) {
      // Exporters divide a module into other calls: what looks like a partner is none if the value
      // has its equal elsewhere.
      if (digests_of_b_.contains(a->digest) || digests_of_a_.contains(b->digest))
        return absl::OkStatus();
      if (a->is_tensor && a->kept.isTensor() && b->kept.isTensor()) {
        ASSIGN_OR_RETURN(made.difference,
                         DifferenceOf(a->kept.toTensor().flatten(), b->kept.toTensor().flatten(),
                                      options_.tolerance));
        made.equal = !options_.is_exact() && made.difference->beyond == 0;
      }
    }
    taken_.insert(a->node);
    found_.emplace(b->node, made);
    return absl::OkStatus();
  }

  // The values of a module and shape that have no partner yet. If their numbers differ, the last
  // ones belong together.
  absl::Status PairByModule() {
    using Key = std::pair<absl::string_view, std::vector<int64_t>>;
    std::map<Key, std::pair<std::vector<const Value*>, std::vector<const Value*>>> groups;
    for (const bool of_b : {false, true}) {
      for (const Value& value : (of_b ? b_ : a_).all()) {
        const absl::string_view module = value.node->module_path();
        if (module.empty() || !value.is_tensor || !IsFree(value, of_b)) continue;
        auto& group = groups[{module, value.sizes}];
        (of_b ? group.second : group.first).push_back(&value);
      }
    }
    for (const auto& [key, group] : groups) {
      const auto& [first, second] = group;
      if (first.empty() || second.empty()) continue;
      if (first.size() != second.size()) {
        RETURN_IF_ERROR(Add(first.back(), second.back(), PairedBy::kModule));
        continue;
      }
      for (size_t i = 0; i < first.size(); ++i)
        RETURN_IF_ERROR(Add(first[i], second[i], PairedBy::kModule));
    }
    return absl::OkStatus();
  }

  absl::Status PairByName() {
    absl::flat_hash_map<absl::string_view, const Value*> named;
    for (const Value& value : a_.all()) {
      if (IsFree(value, false)) named[value.node->name()] = &value;
    }
    for (const Value& value : b_.all()) {
      const auto it = named.find(value.node->name());
      if (it == named.end() || it->second->node->module_path() != value.node->module_path())
        continue;
      RETURN_IF_ERROR(Add(it->second, &value, PairedBy::kName));
    }
    return absl::OkStatus();
  }

  const RunValues& a_;
  const RunValues& b_;
  const CompareOptions& options_;
  const absl::flat_hash_set<size_t> digests_of_a_, digests_of_b_;
  absl::flat_hash_map<const Node*, ComparedValue> found_;  // by the node of b
  absl::flat_hash_set<const Node*> taken_;                 // nodes of a
};

// Sums up by how much random rounding moves the values of nodes.
class NodeSpreads {
 public:
  // Follows the nodes of `a` whose values differ from those of `b`.
  NodeSpreads(const RunComparison& compared, const RunValues& a) {
    for (const ComparedValue& value : compared.values) {
      if (value.equal || !value.difference.has_value()) continue;
      const Value* const found = a.Find(value.a);
      if (found == nullptr || !found->kept.isTensor()) continue;
      const at::Tensor& kept = found->kept.toTensor();
      if (kept.is_floating_point() || kept.is_complex()) sums_[value.a] = {kept, at::Tensor()};
    }
  }

  absl::Status See(int run, const Node& node, const c10::IValue& value) {
    const auto it = sums_.find(&node);
    if (run < 0 || it == sums_.end() || !IsReadableTensor(value)) return absl::OkStatus();
    runs_ = std::max(runs_, static_cast<size_t>(run) + 1);
    return Guarded([&]() -> absl::Status {
      auto& [kept, sum] = it->second;
      const at::Tensor plain = PlainTensor(value.toTensor());
      if (plain.numel() != kept.numel()) return absl::OkStatus();
      const at::Tensor distance = DoublesOf(plain).sub(DoublesOf(kept)).flatten();
      const at::Tensor square = distance.mul(distance).nan_to_num(0);
      sum = sum.defined() ? sum.add_(square) : square;
      return absl::OkStatus();
    });
  }

  // Judges the values that were followed.
  absl::Status Judge(const RunValues& b, RunComparison* made) {
    for (ComparedValue& value : made->values) {
      const auto it = sums_.find(value.a);
      if (it == sums_.end() || !it->second.second.defined()) continue;
      RETURN_IF_ERROR(Guarded([&]() -> absl::Status {
        const auto& [kept, sum] = it->second;
        ASSIGN_OR_RETURN(TensorData of_a, ToTensorData(kept.flatten()));
        ASSIGN_OR_RETURN(TensorData of_b, ToTensorData(b.Find(value.b)->kept.toTensor().flatten()));
        const at::Tensor whole =
            kept.is_complex() ? sum.view({-1, 2}).sum(1) : sum;  // of both parts of an element
        const std::vector<double> squares(whole.const_data_ptr<double>(),
                                          whole.const_data_ptr<double>() + whole.numel());
        value.explained = JudgeRounding(RoundingOfValue(of_a, squares, runs_), of_b);
        return absl::OkStatus();
      }));
    }
    return absl::OkStatus();
  }

 private:
  absl::flat_hash_map<const Node*, std::pair<at::Tensor, at::Tensor>> sums_;
  size_t runs_ = 0;
};

// Returns "%add_12 = torch.add (layer3.0.conv2)".
std::string DescribePlace(const Node& node) {
  std::string text = absl::StrCat("%", Printable(node.name()), " = ", Printable(node.target()));
  if (!node.module_path().empty()) absl::StrAppend(&text, " (", Printable(node.module_path()), ")");
  return text;
}

// Returns the names that NameOutputs gives the outputs; empty for None, which it leaves out.
std::vector<std::string> NamesOfOutputs(const std::vector<c10::IValue>& outputs) {
  std::vector<std::string> names;
  size_t next = 0;
  for (const c10::IValue& output : outputs)
    names.push_back(output.isNone() ? "" : absl::StrCat("o", next++));
  return names;
}

// Says of each output whether rounding explains its difference.
absl::Status Explain(const RunSide& a, const std::vector<c10::IValue>& of_a,
                     const std::vector<c10::IValue>& of_b, const RunValues& values_of_a,
                     const RunValues& values_of_b, const CompareOptions& options,
                     RunComparison* made) {
  const bool differs = made->different > 0 || absl::c_any_of(made->outputs, [](const auto& output) {
                         return !output.equal;
                       });
  const std::vector<std::string> names_of_a = NamesOfOutputs(of_a);
  if (!differs) {
    for (size_t i = 0; i < made->outputs.size(); ++i)
      if (!names_of_a[i].empty()) made->outputs[i].explained.emplace();
    return absl::OkStatus();
  }
  const std::vector<std::string> names_of_b = NamesOfOutputs(of_b);
  NodeSpreads spreads(*made, values_of_a);
  MeasureRoundingOptions measure;
  measure.seed = options.seed;
  measure.exact = options.exact;
  ASSIGN_OR_RETURN(const auto others, NameOutputs(of_b));
  measure.others = &others;
  measure.observer = [&](int number, const Node& node, const c10::IValue& value) {
    return spreads.See(number, node, value);
  };
  ASSIGN_OR_RETURN(const auto roundings,
                   MeasureRoundingOf(*a.module, a.values, PreparationOf(a), measure));
  RETURN_IF_ERROR(spreads.Judge(values_of_b, made));
  std::string first;
  for (const ComparedValue& value : made->values) {
    if (!value.explained.has_value() || value.explained->is_explained()) continue;
    first = DescribePlace(*value.b);
    break;
  }
  for (size_t i = 0; i < made->outputs.size(); ++i) {
    const auto rounding = roundings.find(names_of_a[i]);
    const auto other = others.find(names_of_b[i]);
    if (rounding == roundings.end() || other == others.end()) continue;
    RoundingFinding& finding =
        made->outputs[i].explained.emplace(JudgeRounding(rounding->second, other->second));
    if (finding.verdict == RoundingVerdict::kBeyond) finding.first = first;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorDifference> DifferenceOf(const TensorData& a, const TensorData& b) {
  ASSIGN_OR_RETURN(const at::Tensor s, ToTensor(a, c10::Device(c10::kCPU)));
  ASSIGN_OR_RETURN(const at::Tensor t, ToTensor(b, c10::Device(c10::kCPU)));
  return DifferenceOf(s, t);
}

absl::StatusOr<RunComparison> CompareRuns(const RunSide& a, const RunSide& b,
                                          const CompareOptions& options,
                                          const std::string& name_of_b) {
  RunComparison made;
  const int64_t budget = AvailableMemoryBytes() / 4;
  RunValues values_of_a(budget);
  RunValues values_of_b(budget);
  const auto keep = [](RunValues* values, const Node& node, const c10::IValue& value) {
    return Guarded([&]() -> absl::Status {
      if (node.is_call()) values->Add(node, value);
      return absl::OkStatus();
    });
  };
  ASSIGN_OR_RETURN(const std::vector<c10::IValue> of_a,
                   Run(a, options.seed, [&](const Node& node, const c10::IValue& value) {
                     return keep(&values_of_a, node, value);
                   }));
  DeadPaths dead(b.values);
  const absl::StatusOr<std::vector<c10::IValue>> of_b =
      Run(b, options.seed, [&](const Node& node, const c10::IValue& value) {
        dead.See(node, value);
        return keep(&values_of_b, node, value);
      });
  if (!of_b.ok()) return Annotate(of_b.status(), name_of_b);
  RETURN_IF_ERROR(
      Guarded([&] { return Comparison(values_of_a, values_of_b, options).Run(&made); }));
  made.dead_paths = dead.found();
  made.outputs_a = of_a.size();
  made.outputs_b = of_b->size();
  const auto tolerance = [&](DType) { return options.tolerance; };
  ASSIGN_OR_RETURN(const std::vector<WrongAnswer> blind,
                   BlindOutputs(of_a, *a.module, a.values, tolerance));
  for (size_t i = 0; i < std::min(of_a.size(), of_b->size()); ++i) {
    ASSIGN_OR_RETURN(made.outputs.emplace_back(),
                     Guarded([&] { return CompareOutput(of_a[i], (*of_b)[i], options); }));
    made.outputs.back().blind = blind[i].what;
  }
  if (options.explains)
    RETURN_IF_ERROR(Explain(a, of_a, *of_b, values_of_a, values_of_b, options, &made));
  return made;
}

}  // namespace graphnet
