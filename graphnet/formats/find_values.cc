#include "graphnet/formats/find_values.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/lift_attributes.h"

namespace graphnet {
namespace {

std::atomic<MissingValues>& Least() {
  static std::atomic<MissingValues> least = MissingValues::kRefused;
  return least;
}

struct Lacking {
  std::string name;
  const TensorMeta* meta = nullptr;  // null if it is unknown
  const DrawSpec* spec = nullptr;    // null if there is none
  bool is_rounded = false;           // its values are known from a record of rounded numbers
};

// Returns the weights whose values are not known.
std::vector<Lacking> LackingIn(const Sample& sample) {
  std::vector<Lacking> lacking;
  const auto add = [&](absl::string_view name, const TensorMeta* meta, const DrawSpec* spec) {
    const bool is_rounded = spec != nullptr && !spec->data.is_none();
    if (!sample.weights.contains(std::string(name)))
      lacking.push_back({std::string(name), meta, spec, is_rounded});
  };
  for (const Attribute& attribute : sample.module->attributes())
    add(attribute.name, attribute.meta, attribute.draw_spec);
  if (sample.module->main() == nullptr) return lacking;
  for (const Node* input : sample.module->main()->placeholders()) {
    if (IsLiftedParameter(*input)) add(input->target(), input->tensor_meta(), input->draw_spec());
  }
  return lacking;
}

std::string FormOf(DType dtype, absl::Span<const int64_t> shape) {
  return absl::StrCat(DTypeShortName(dtype), "[", absl::StrJoin(shape, ", "), "]");
}

// Returns how a value is another one than the sample describes; empty if it is not.
std::string Contradiction(const TensorMeta* meta, const TensorData& data) {
  if (meta == nullptr) return "";
  bool fits = meta->dtype == DType::kUnknown || meta->dtype == data.dtype;
  std::vector<int64_t> shape;
  if (meta->has_shape) {
    fits &= meta->shape.size() == data.shape.size();
    for (const Dim& dim : meta->shape) shape.push_back(dim.is_static() ? dim.value : -1);
    for (size_t i = 0; i < shape.size() && fits; ++i)
      fits = shape[i] < 0 || shape[i] == data.shape[i];
  }
  if (fits) return "";
  return absl::StrCat("is ", FormOf(data.dtype, data.shape), " there, not ",
                      FormOf(meta->dtype, shape));
}

}  // namespace

void DrawMissingValues(bool draws) {
  Least() = draws ? MissingValues::kDrawn : MissingValues::kRefused;
}

MissingValues AllowedToMiss(MissingValues asked) { return std::max(asked, Least().load()); }

absl::Status AddValuesBeside(const std::string& beside, MissingValues allowed, Sample* sample) {
  const std::vector<Lacking> lacking = LackingIn(*sample);
  if (lacking.empty() || !FileExists(beside)) return absl::OkStatus();
  const bool is_tolerant = allowed == MissingValues::kDrawn;
  absl::StatusOr<std::map<std::string, TensorData>> found = ReadSafetensorsFile(beside);
  if (!found.ok()) return is_tolerant ? absl::OkStatus() : found.status();
  if (absl::c_none_of(lacking, [&](const Lacking& one) { return found->contains(one.name); })) {
    if (is_tolerant) return absl::OkStatus();
    NoteOnInput(beside,
                "not read, as it has no weight of the sample beside it by its name; --weights "
                "FILE finds names with other prefixes");
    return absl::OkStatus();
  }
  for (const Lacking& one : lacking) {
    const auto it = found->find(one.name);
    const std::string wrong =
        it == found->end() ? "is not there" : Contradiction(one.meta, it->second);
    if (wrong.empty()) {
      sample->weights[one.name] = std::move(it->second);
    } else if (!is_tolerant && !one.is_rounded) {
      return absl::InvalidArgumentError(absl::StrCat(
          Printable(beside, 1000), ": these are not the values that the sample beside it lacks: ",
          Printable(one.name), " ", wrong, "; --draw-weights draws what it lacks"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> DrawLacking(Sample* sample) {
  size_t drawn = 0;
  if (AllowedToMiss(MissingValues::kRefused) != MissingValues::kDrawn) return drawn;
  for (const Lacking& one : LackingIn(*sample)) {
    if (one.meta == nullptr) continue;
    ASSIGN_OR_RETURN(sample->weights[one.name], DrawTensor(*one.meta, one.spec, one.name, {}));
    ++drawn;
  }
  return drawn;
}

std::optional<Sample> WithExampleInputs(const Sample& sample, uint64_t seed, size_t* drawn) {
  *drawn = 0;
  const Module& module = *sample.module;
  if (module.main() == nullptr) return std::nullopt;
  const bool are_known = absl::c_all_of(module.main()->placeholders(), [&](const Node* input) {
    return sample.weights.contains(std::string(input->target()));
  });
  if (are_known) return std::nullopt;
  absl::StatusOr<std::map<std::string, TensorData>> values =
      DrawInputs(sample, {.seed = seed, .max_bytes = kMaxDrawnExampleBytes});
  if (!values.ok()) return std::nullopt;
  for (auto it = values->begin(); it != values->end();) {
    const bool is_new =
        module.FindAttribute(it->first) == nullptr && !sample.weights.contains(it->first);
    *drawn += is_new ? 1 : 0;
    it = is_new ? std::next(it) : values->erase(it);
  }
  if (*drawn == 0) return std::nullopt;
  Sample filled;
  filled.name = sample.name;
  filled.module = module.Clone();
  filled.graph_net_json = sample.graph_net_json;
  filled.graph_hash = sample.graph_hash;
  filled.has_constraints = sample.has_constraints;
  filled.constraint_order = sample.constraint_order;
  filled.extra_files = sample.extra_files;
  filled.provenance = sample.provenance;
  filled.weights = sample.weights;
  filled.weights.merge(*values);
  return filled;
}

}  // namespace graphnet
