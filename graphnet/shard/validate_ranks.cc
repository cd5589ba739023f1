#include "graphnet/shard/validate_ranks.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "ATen/Functions.h"
#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/base/tolerance.h"
#include "graphnet/interp/blind_outputs.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/measure_rounding.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/rounding.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/lift_attributes.h"
#include "graphnet/ir/types.h"
#include "graphnet/shard/join_ranks.h"
#include "graphnet/shard/shard_plan.h"
#include "graphnet/shard/tensor_pieces.h"

namespace graphnet {
namespace {

using Values = std::map<std::string, TensorData>;
using State = RankOutput::State;

absl::StatusOr<std::vector<c10::IValue>> RunOne(const Module& module, Values values, uint64_t seed,
                                                const PrepareOptions& prepare = {}) {
  ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(module, std::move(values), prepare));
  return prepared.executable->Run(std::move(prepared.inputs), {.seed = seed});
}

// Returns the inputs of all ranks, by their names in the joined graph.
absl::StatusOr<Values> ValuesOfAll(const spmd::ShardedSample& shards, const Values& whole) {
  Values all;
  for (size_t i = 0; i < shards.ranks.size(); ++i) {
    const auto rank = static_cast<int>(i);
    ASSIGN_OR_RETURN(Values held, spmd::ValuesOfRank(shards.plan, whole, rank));
    if (i < shards.values.size()) {
      for (const auto& [argument, value] : shards.values[i]) held[argument] = value;
    }
    for (auto& [argument, value] : held) all[spmd::JoinedInput(rank, argument)] = std::move(value);
  }
  return all;
}

// Returns the inputs of the joined graph that stand for parameters of the sample. Both sides must
// run with the same parameters: a product rounds otherwise if one of its operands requires
// gradients.
absl::flat_hash_set<std::string> ParametersOfAll(const Module& original,
                                                 const spmd::ShardedSample& shards) {
  absl::flat_hash_set<absl::string_view> parameters;
  for (const Attribute& attribute : original.attributes()) {
    if (attribute.annotation == kParameterAnnotation) parameters.insert(attribute.name);
  }
  for (const Node* node : original.main()->placeholders()) {
    if (IsLiftedParameter(*node)) parameters.insert(node->target());
  }
  absl::flat_hash_set<std::string> all;
  for (size_t i = 0; i < shards.ranks.size(); ++i) {
    for (const Node* node : shards.ranks[i].module->main()->placeholders()) {
      // The folder of a rank may call it otherwise.
      const DrawSpec* const spec = node->draw_spec();
      const bool is_renamed = spec != nullptr && !spec->original_name.empty();
      if (parameters.contains(is_renamed ? spec->original_name : node->target()))
        all.insert(spmd::JoinedInput(static_cast<int>(i), node->target()));
    }
  }
  return all;
}

// `rounding` is what rounding can do to `expected`; null if that could not be measured. Then the
// customary tolerance decides.
void Compare(const TensorData& expected, const TensorData& actual, bool is_exact,
             const OutputRounding* rounding, RankOutput* output) {
  output->max_difference = std::numeric_limits<double>::infinity();
  if (expected.dtype != actual.dtype || expected.shape != actual.shape) {
    output->how = "in shape or dtype";
    return;
  }
  if (*expected.bytes == *actual.bytes) {
    output->state = State::kBitEqual;
    output->max_difference = 0;
    return;
  }
  const absl::Status status = Guarded([&]() -> absl::Status {
    ASSIGN_OR_RETURN(const at::Tensor a, ToTensor(expected, c10::Device(c10::kCPU)));
    ASSIGN_OR_RETURN(const at::Tensor b, ToTensor(actual, c10::Device(c10::kCPU)));
    const at::ScalarType wide = a.is_complex() ? at::kComplexDouble : at::kDouble;
    const at::Tensor x = a.to(wide);
    const at::Tensor y = b.to(wide);
    const Tolerance tolerance =
        ToleranceAt(kCustomaryToleranceLevel, ToleranceClassOf(DTypeName(expected.dtype)));
    if (rounding != nullptr) output->rounding = JudgeRounding(*rounding, actual);
    const bool is_close =
        output->rounding.has_value()
            ? output->rounding->is_explained()
            : at::allclose(y, x, tolerance.rtol, tolerance.atol, /*equal_nan=*/true);
    if (is_close && !is_exact) output->state = State::kClose;
    const at::Tensor both = x.ne(y).logical_and(x.eq(x).logical_or(y.eq(y)));
    const at::Tensor difference = at::sub(x, y).abs().masked_select(both);
    if (difference.numel() == 0) {  // nans with different bits
      output->state = State::kClose;
      output->max_difference = 0;
      return absl::OkStatus();
    }
    output->max_difference = difference.max().item<double>();
    output->how = absl::StrFormat("by at most %.3g, in %d of %d elements", output->max_difference,
                                  difference.numel(), x.numel());
    return absl::OkStatus();
  });
  if (!status.ok()) output->how = absl::StrCat("and cannot be compared: ", status.message());
}

// Returns elements as PyTorch writes numbers, with as few digits as identify them.
absl::StatusOr<std::vector<std::string>> ElementsAsText(const TensorData& data) {
  std::vector<std::string> elements;
  absl::Status status = Guarded([&]() -> absl::Status {
    ASSIGN_OR_RETURN(const at::Tensor tensor, ToTensor(data, c10::Device(c10::kCPU)));
    const at::Tensor flat = tensor.contiguous().view({-1});
    for (int64_t i = 0; i < flat.numel(); ++i) {
      const c10::Scalar element = flat[i].item();
      if (element.isBoolean()) {
        elements.emplace_back(element.toBool() ? "True" : "False");
      } else if (element.isIntegral(/*includeBool=*/false)) {
        elements.push_back(absl::StrCat(element.toLong()));
      } else if (element.isComplex()) {
        const auto number = element.toComplexDouble();
        elements.push_back(absl::StrFormat("%g%+gj", number.real(), number.imag()));
      } else if (flat.scalar_type() == at::kDouble) {
        elements.push_back(absl::StrFormat("%.17g", element.toDouble()));
      } else {
        elements.push_back(absl::StrFormat("%.9g", element.toDouble()));
      }
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return elements;
}

class Validation {
 public:
  // Says, for each output of the sample by name, what rounding can do to it.
  using Roundings = std::map<std::string, OutputRounding>;

  // `measure` is called once, if an output differs. If it fails, nothing is known of rounding.
  Validation(const spmd::ShardedSample& shards,
             absl::FunctionRef<absl::StatusOr<Roundings>()> measure)
      : shards_(shards), measure_(measure) {}

  absl::StatusOr<std::vector<RankOutput>> Run(const std::vector<c10::IValue>& expected,
                                              const std::vector<c10::IValue>& joined) {
    const size_t count = expected.size();
    // next_[rank] is the position where the rank's results begin.
    size_t all = 0;
    for (size_t rank = 0; rank < shards_.ranks.size(); ++rank) {
      next_.push_back(all);
      all += static_cast<size_t>(absl::c_count_if(shards_.plan.outputs, [&](const auto& output) {
        return shards_.plan.PositionOf(static_cast<int>(rank), output).has_value();
      }));
    }
    if (joined.size() != all || shards_.plan.outputs.size() != count)
      return absl::FailedPreconditionError(absl::StrCat(
          shards_.ranks.size(), " ranks return ", joined.size(), " values, the plan has ",
          shards_.plan.outputs.size(), ", the sample returns ", count));
    std::vector<RankOutput> outputs;
    for (size_t i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(RankOutput output, CheckOutput(i, expected[i], joined));
      outputs.push_back(std::move(output));
    }
    return outputs;
  }

 private:
  absl::StatusOr<RankOutput> CheckOutput(size_t i, const c10::IValue& expected,
                                         const std::vector<c10::IValue>& joined) {
    const spmd::LaidOutTensor& planned = shards_.plan.outputs[i];
    RankOutput output;
    output.name = planned.gathered.empty() ? planned.name : planned.gathered;
    output.max_difference = std::numeric_limits<double>::infinity();
    std::vector<TensorData> parts;
    std::vector<const c10::IValue*> own;
    for (const int rank : shards_.plan.MeshOf(planned).ranks)
      own.push_back(&joined[next_[static_cast<size_t>(rank)]++]);
    for (const c10::IValue* value : own) {
      const c10::IValue& part = *value;
      if (!expected.isTensor()) {
        if (part.tagKind() != expected.tagKind() || part != expected) {
          output.how = "and not a tensor";
          return output;
        }
        continue;
      }
      if (!part.isTensor()) {
        output.how = "as it is not a tensor";
        return output;
      }
      ASSIGN_OR_RETURN(TensorData data, ToTensorData(part.toTensor()));
      parts.push_back(std::move(data));
    }
    if (parts.empty()) {
      output.state = State::kBitEqual;
      output.max_difference = 0;
      return output;
    }
    const absl::StatusOr<TensorData> whole =
        spmd::WholeOf(parts, planned.sharding, shards_.plan.MeshOf(planned), planned.sizes);
    if (!whole.ok()) {
      output.how = absl::StrCat("as it ", whole.status().message());
      return output;
    }
    ASSIGN_OR_RETURN(const TensorData wanted, ToTensorData(expected.toTensor()));
    const bool differs = wanted.dtype == whole->dtype && wanted.shape == whole->shape &&
                         *wanted.bytes != *whole->bytes;
    Compare(wanted, *whole, planned.is_exact, differs ? RoundingOf(i) : nullptr, &output);
    if (!planned.gathered.empty()) {
      ASSIGN_OR_RETURN(output.elements, ElementsAsText(*whole));
      output.shape = whole->shape;
    }
    return output;
  }

  const OutputRounding* RoundingOf(size_t i) {
    if (!roundings_.has_value()) {
      absl::StatusOr<Roundings> measured = measure_();
      roundings_ = measured.ok() ? *std::move(measured) : Roundings();
    }
    const auto it = roundings_->find(absl::StrCat("o", i));
    return it == roundings_->end() ? nullptr : &it->second;
  }

  const spmd::ShardedSample& shards_;
  const absl::FunctionRef<absl::StatusOr<Roundings>()> measure_;
  std::optional<Roundings> roundings_;
  std::vector<size_t> next_;  // by rank: position of its next result among those of all
};

}  // namespace

absl::StatusOr<std::vector<RankOutput>> ValidateRanks(const Sample& original,
                                                      const spmd::ShardedSample& shards,
                                                      const RankOptions& options) {
  std::vector<const Module*> programs;
  for (const Sample& rank : shards.ranks) programs.push_back(rank.module.get());
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Module> joined,
      spmd::JoinRanks(programs, spmd::Mesh::Of({static_cast<int64_t>(shards.plan.num_ranks())})));
  DrawOptions draw;
  draw.seed = options.seed;
  draw.max_bytes = options.max_bytes.value_or(AvailableMemoryBytes() / 2);
  ASSIGN_OR_RETURN(Values values, DrawInputs(original, draw));
  ASSIGN_OR_RETURN(Values of_ranks, ValuesOfAll(shards, values));
  ASSIGN_OR_RETURN(std::vector<c10::IValue> expected,
                   RunOne(*original.module, values, options.seed));
  std::erase_if(expected, [](const c10::IValue& value) { return value.isNone(); });
  absl::StatusOr<std::vector<c10::IValue>> found =
      RunOne(*joined, std::move(of_ranks), options.seed,
             PrepareOptions{.parameters = ParametersOfAll(*original.module, shards)});
  if (!found.ok()) return Annotate(found.status(), "the ranks");
  MeasureRoundingOptions measure;
  measure.seed = options.seed;
  const auto roundings = [&] { return MeasureRoundingOf(*original.module, values, {}, measure); };
  ASSIGN_OR_RETURN(std::vector<RankOutput> outputs,
                   Validation(shards, roundings).Run(expected, *found));
  // Each output is judged within the tolerance in which it is equal.
  ASSIGN_OR_RETURN(const std::vector<WrongAnswer> exact,
                   BlindOutputs(expected, *original.module, values, ExactTolerance));
  ASSIGN_OR_RETURN(const std::vector<WrongAnswer> close,
                   BlindOutputs(expected, *original.module, values, CustomaryTolerance));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].state == State::kBitEqual) outputs[i].blind = exact[i].what;
    if (outputs[i].state == State::kClose) outputs[i].blind = close[i].what;
  }
  return outputs;
}

}  // namespace graphnet
