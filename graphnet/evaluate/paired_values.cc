#include "graphnet/evaluate/paired_values.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/inputs/elements.h"
#include "graphnet/interp/inputs/example_input.h"
#include "graphnet/interp/inputs/weights.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/lift_attributes.h"
#include "graphnet/passes/rename_inputs.h"

namespace graphnet {
namespace {

using Values = PairedValues::Values;

// An input or attribute for which a sample takes a value.
struct Slot {
  std::string name;
  std::string key;  // its name before a renaming pass
  const TensorMeta* meta = nullptr;
  const DrawSpec* spec = nullptr;
  bool is_input = false;
  bool is_weight = false;
  bool is_parameter = false;  // a parameter when the sample runs
  bool holds_others = false;
  bool may_hold_others = false;  // its value decides
};

std::vector<Slot> SlotsOf(const Sample& sample) {
  std::vector<Slot> slots;
  for (const Node* node : sample.module->main()->placeholders()) {
    Slot& slot = slots.emplace_back();
    slot.name = std::string(node->target());
    slot.meta = node->tensor_meta();
    slot.spec = node->draw_spec();
    slot.is_input = true;
    slot.is_parameter = IsLiftedParameter(*node);
    slot.is_weight = IsWeight(*node);
    slot.holds_others =
        IsStructure(node->annotation()) || (node->meta() != nullptr && node->meta()->is_tuple);
    slot.may_hold_others = slot.holds_others || TakesSeveralKinds(node->annotation());
  }
  for (const Attribute& attribute : sample.module->attributes()) {
    Slot& slot = slots.emplace_back();
    slot.name = std::string(attribute.name);
    slot.meta = attribute.meta;
    slot.spec = attribute.draw_spec;
    slot.is_weight = true;
    slot.is_parameter = attribute.annotation == kParameterAnnotation;
  }
  for (Slot& slot : slots) {
    const bool renamed = slot.spec != nullptr && !slot.spec->original_name.empty();
    slot.key = renamed ? std::string(slot.spec->original_name) : slot.name;
    // An attribute that became an input still has a module path, its old name, or known values.
    slot.is_weight |= absl::StrContains(slot.key, '.') ||
                      (renamed && (slot.key == slot.name || sample.weights.contains(slot.name)));
  }
  return slots;
}

DType DTypeOf(const Slot& slot, const Sample& sample) {
  if (slot.meta != nullptr && slot.meta->dtype != DType::kUnknown) return slot.meta->dtype;
  const auto it = sample.weights.find(slot.name);
  return it == sample.weights.end() ? DType::kUnknown : it->second.dtype;
}

bool Contradict(DType a, DType b) { return a != DType::kUnknown && b != DType::kUnknown && a != b; }

// Returns whether values have the dtype and sizes that are known of a weight.
bool Fit(const TensorData& values, const TensorMeta* meta) {
  if (meta == nullptr) return true;
  if (Contradict(values.dtype, meta->dtype)) return false;
  if (!meta->has_shape) return true;
  if (values.shape.size() != meta->shape.size()) return false;
  for (size_t d = 0; d < values.shape.size(); ++d) {
    if (meta->shape[d].is_static() && meta->shape[d].value != values.shape[d]) return false;
  }
  return true;
}

// Returns whether both are drawn alike, or one has no draw spec.
bool AreDrawnAlike(const Slot& a, const Slot& b) {
  if (a.meta != nullptr && b.meta != nullptr) {
    if (Contradict(a.meta->dtype, b.meta->dtype)) return false;
    if (a.meta->has_shape && b.meta->has_shape && a.meta->shape != b.meta->shape) return false;
  }
  const auto says_nothing = [](const DrawSpec* spec) {
    return spec == nullptr || (!spec->has_mean && !spec->has_std && spec->min.is_none() &&
                               spec->max.is_none() && spec->data.is_none());
  };
  if (says_nothing(a.spec) || says_nothing(b.spec)) return true;
  DrawSpec x = *a.spec;
  DrawSpec y = *b.spec;
  x.original_name = y.original_name = "";
  x.in_input_meta = y.in_input_meta = false;
  return x == y;
}

class Pairing {
 public:
  Pairing(const InputOptions& options, WeightsOf weights, Sample* first, Sample* second)
      : options_(options), weights_(weights), first_(*first), second_(*second) {}

  absl::StatusOr<PairedValues> Run(const DrawOptions& draw) {
    RETURN_IF_ERROR(TakeOptions(draw.seed));
    Match();
    for (const auto& [a, b] : pairs_) {
      if (!a->is_weight && !b->is_weight) {
        ShareInput(*a, *b);
        made_.inputs.emplace_back(a->name, b->name);
        continue;
      }
      ShareWeight(*a, *b);
      made_.weights.emplace_back(a->name, b->name);
      if (a->is_parameter && b->is_input) made_.parameters_of_second.insert(b->name);
      if (b->is_parameter && a->is_input) made_.parameters_of_first.insert(a->name);
    }
    RETURN_IF_ERROR(CheckKnown(first_));
    ASSIGN_OR_RETURN(made_.first, DrawInputs(first_, draw));
    for (const auto& [a, b] : shared_) RETURN_IF_ERROR(Share(*a, *b));
    RETURN_IF_ERROR(Annotate(CheckKnown(second_), "the second sample"));
    absl::StatusOr<Values> second = DrawInputs(second_, draw);
    if (!second.ok()) return Annotate(second.status(), "the second sample");
    made_.second = *std::move(second);
    return std::move(made_);
  }

 private:
  absl::Status TakeOptions(uint64_t seed) {
    std::vector<std::string> names = NamesOfValues(first_);
    const std::vector<std::string> more = NamesOfValues(second_);
    names.insert(names.end(), more.begin(), more.end());
    ASSIGN_OR_RETURN(const Values given, ReadValues(options_.file, names));
    RETURN_IF_ERROR(DescribeInputs(options_.words, seed, &first_));
    for (const auto& [name, data] : given) {
      first_.weights[name] = second_.weights[name] = data;
      given_.insert(name);
    }
    if (options_.file == kRandomInputs) {
      ReplaceZeros(&first_);
      ReplaceZeros(&second_);
    }
    return absl::OkStatus();
  }

  void Match() {
    slots_of_first_ = SlotsOf(first_);
    slots_of_second_ = SlotsOf(second_);
    absl::flat_hash_map<absl::string_view, const Slot*> by_name;
    absl::flat_hash_map<absl::string_view, const Slot*> by_key;
    for (const Slot& slot : slots_of_first_) {
      by_name.try_emplace(slot.name, &slot);
      by_key.try_emplace(slot.key, &slot);
    }
    absl::flat_hash_set<const Slot*> taken;
    std::vector<const Slot*> rest;
    const auto pair = [&](const auto& slots, absl::string_view name, const Slot& slot) {
      const auto it = slots.find(name);
      if (it == slots.end() || !taken.insert(it->second).second) return false;
      pairs_.emplace_back(it->second, &slot);
      return true;
    };
    for (const Slot& slot : slots_of_second_) {
      if (!pair(by_name, slot.name, slot)) rest.push_back(&slot);
    }
    for (const Slot* slot : rest) {
      if (!pair(by_name, slot->key, *slot) && !pair(by_key, slot->key, *slot)) ++made_.unpaired;
    }
  }

  bool IsGiven(const Slot& slot) const {
    return !options_.words.empty() || given_.contains(slot.name);
  }

  void ShareInput(const Slot& a, const Slot& b) {
    if (a.may_hold_others || b.may_hold_others) TakeElements(a, b);
    if (a.holds_others || b.holds_others) {
      shared_.emplace_back(&a, &b);
      return;
    }
    if (!IsGiven(a) && Contradict(DTypeOf(a, first_), DTypeOf(b, second_))) return;
    const bool known_to_first = first_.weights.contains(a.name);
    const auto known_to_second = second_.weights.find(b.name);
    const bool described = IsGiven(a) && a.spec != nullptr;
    if (!known_to_first && !described && known_to_second != second_.weights.end())
      first_.weights[a.name] = known_to_second->second;
    shared_.emplace_back(&a, &b);
  }

  void TakeElements(const Slot& a, const Slot& b) {
    if (!ElementsOf(first_.weights, a.name).empty()) return;
    for (const auto& [name, data] : Elements(second_.weights, b.name))
      first_.weights[absl::StrCat(a.name, name)] = data;
  }

  // Returns the values of a structure with the rest of their names: ".0", ".key".
  static std::vector<std::pair<std::string, TensorData>> Elements(const Values& values,
                                                                  const std::string& input) {
    std::vector<std::pair<std::string, TensorData>> elements;
    for (const auto& [name, data] : ElementsOf(values, input))
      elements.emplace_back(name.substr(input.size()), data);
    return elements;
  }

  void ShareWeight(const Slot& a, const Slot& b) {
    const auto known_to_first = first_.weights.find(a.name);
    const auto known_to_second = second_.weights.find(b.name);
    const bool first_knows = known_to_first != first_.weights.end();
    const bool second_knows = known_to_second != second_.weights.end();
    const bool second_takes = first_knows && (!second_knows || weights_ == WeightsOf::kA);
    const bool first_takes = second_knows && (!first_knows || weights_ == WeightsOf::kB);
    if (second_takes && Fit(known_to_first->second, b.meta)) {
      second_.weights[b.name] = known_to_first->second;
      ++made_.taken_by_second;
    } else if (first_takes && Fit(known_to_second->second, a.meta)) {
      first_.weights[a.name] = known_to_second->second;
      ++made_.taken_by_first;
    } else if (!first_knows && !second_knows && AreDrawnAlike(a, b)) {
      shared_.emplace_back(&a, &b);
    }
  }

  // Gives the second sample the value of the first.
  absl::Status Share(const Slot& a, const Slot& b) {
    if (a.may_hold_others || b.may_hold_others) {
      for (const auto& [name, data] : Elements(made_.first, a.name))
        second_.weights[absl::StrCat(b.name, name)] = data;
    }
    if (a.holds_others || b.holds_others) return absl::OkStatus();
    const auto it = made_.first.find(a.name);
    if (it == made_.first.end()) return absl::OkStatus();
    TensorData value = it->second;
    const DType wanted = b.meta != nullptr ? b.meta->dtype : DType::kUnknown;
    if (Contradict(value.dtype, wanted) && IsFloatingPoint(value.dtype) &&
        IsFloatingPoint(wanted)) {
      ASSIGN_OR_RETURN(value, ConvertFloats(value, wanted));
    }
    second_.weights[b.name] = std::move(value);
    return absl::OkStatus();
  }

  const InputOptions& options_;
  const WeightsOf weights_;
  Sample& first_;
  Sample& second_;
  PairedValues made_;
  absl::flat_hash_set<std::string> given_;  // names in --inputs
  std::vector<Slot> slots_of_first_, slots_of_second_;
  std::vector<std::pair<const Slot*, const Slot*>> pairs_;
  std::vector<std::pair<const Slot*, const Slot*>>
      shared_;  // the second takes the value of the first
};

}  // namespace

absl::StatusOr<PairedValues> PairValues(const InputOptions& options, WeightsOf weights,
                                        const DrawOptions& draw, Sample* first, Sample* second) {
  return Pairing(options, weights, first, second).Run(draw);
}

}  // namespace graphnet
