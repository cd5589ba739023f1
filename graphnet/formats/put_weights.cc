#include "graphnet/formats/put_weights.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graphnet/base/json.h"
#include "graphnet/base/listed_names.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/inputs/weights.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/graph.h"

namespace graphnet {
namespace {

// --- Names -------------------------------------------------------------------------

// Returns the name without the component that torch.compile adds to it.
std::string WithoutOrigMod(absl::string_view name) {
  return absl::StrReplaceAll(name, {{"_orig_mod.", ""}});
}

// Returns a component of a name as Dynamo spells it in an identifier.
std::string AsIdentifier(absl::string_view component) {
  std::string spelled;
  for (const char c : component) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      spelled += c;
    } else if (!spelled.empty() && spelled.back() != '_') {
      spelled += '_';
    }
  }
  return std::string(absl::StripSuffix(spelled, "_"));
}

// Returns the name with the components as Dynamo spells them: "layer1.0.conv_1" for
// "layer1.0._conv__1".
std::string DynamoKey(absl::string_view name) {
  std::vector<std::string> components;
  for (const absl::string_view component : absl::StrSplit(name, '.'))
    components.push_back(AsIdentifier(component));
  return absl::StrJoin(components, ".");
}

// Returns the key of a parameter or buffer that has such a name, L_self_modules_X_parameters_Y_;
// empty for any other name.
std::string KeyOfDynamoName(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "L_")) return "";
  size_t kind = name.rfind("_parameters_");
  size_t length = sizeof("_parameters_") - 1;
  if (const size_t buffers = name.rfind("_buffers_");
      buffers != absl::string_view::npos && (kind == absl::string_view::npos || buffers > kind)) {
    kind = buffers;
    length = sizeof("_buffers_") - 1;
  }
  if (kind == absl::string_view::npos) return "";
  const absl::string_view leaf = absl::StripSuffix(name.substr(kind + length), "_");
  const absl::string_view path = name.substr(0, kind);
  std::vector<absl::string_view> components = absl::StrSplit(path, "_modules_");
  components.erase(components.begin());  // self, or what the caller named the module
  components.push_back(leaf);
  return absl::StrJoin(components, ".");
}

// --- The weights of a sample -------------------------------------------------------

struct Weight {
  std::string name;                 // in Sample::weights
  std::set<std::string> spellings;  // names by which a checkpoint may know it
  std::string key;                  // as DynamoKey makes it; empty if Dynamo did not name it
  const TensorMeta* meta = nullptr;
  const DrawSpec* spec = nullptr;
  bool is_parameter = false;
};

std::vector<Weight> WeightsOf(const Sample& sample) {
  std::vector<Weight> weights;
  const auto add = [&](absl::string_view name, const TensorMeta* meta, const DrawSpec* spec,
                       bool is_parameter) {
    Weight weight = {.name = std::string(name),
                     .spellings = {WithoutOrigMod(name)},
                     .key = KeyOfDynamoName(name),
                     .meta = meta,
                     .spec = spec,
                     .is_parameter = is_parameter};
    if (spec != nullptr && !spec->original_name.empty()) {
      weight.spellings.insert(WithoutOrigMod(spec->original_name));
      if (weight.key.empty()) weight.key = KeyOfDynamoName(spec->original_name);
    }
    weights.push_back(std::move(weight));
  };
  for (const Attribute& attribute : sample.module->attributes()) {
    if (attribute.annotation == "torch.ScriptObject") continue;
    add(attribute.name, attribute.meta, attribute.draw_spec,
        attribute.annotation == kParameterAnnotation);
  }
  if (sample.module->main() == nullptr) return weights;
  for (const Node* input : sample.module->main()->placeholders()) {
    const bool is_parameter = input->annotation() == kParameterAnnotation;
    const DrawSpec* const spec = input->draw_spec();
    const bool is_named = !KeyOfDynamoName(input->target()).empty() ||
                          (spec != nullptr && !KeyOfDynamoName(spec->original_name).empty());
    // The key of a number such as …_modules_bn_eps has neither "parameters" nor "buffers".
    if (is_parameter || is_named) add(input->target(), input->tensor_meta(), spec, is_parameter);
  }
  return weights;
}

// --- The names of a checkpoint that fit --------------------------------------------

// A change to all names of a checkpoint.
struct Renaming {
  std::string removed;
  std::string added;
  auto operator<=>(const Renaming&) const = default;

  std::string Text() const {
    if (!removed.empty()) return absl::StrCat(Printable(removed), " is taken off");
    return absl::StrCat(Printable(added), " is put before them");
  }
};

// Names of models have fewer. A name of nothing but dots would take quadratic time.
constexpr size_t kMaxPrefixes = 64;

// Calls see(prefix, rest) for the first places at which the name has a dot.
template <typename See>
void ForEachPrefix(const std::string& name, See see) {
  size_t dot = name.find('.');
  for (size_t i = 0; i < kMaxPrefixes && dot != std::string::npos;
       ++i, dot = name.find('.', dot + 1))
    see(name.substr(0, dot + 1), name.substr(dot + 1));
}

class Matcher {
 public:
  Matcher(const std::vector<Weight>& weights, const Checkpoint& checkpoint) : weights_(weights) {
    for (size_t i = 0; i < weights.size(); ++i) {
      for (const std::string& spelling : weights[i].spellings) by_name_[spelling].push_back(i);
      if (!weights[i].key.empty()) by_key_[weights[i].key].push_back(i);
    }
    for (const auto& [name, data] : checkpoint.tensors) {
      const std::string plain = WithoutOrigMod(name);
      names_.emplace_back(plain, name);
      plain_.insert(plain);
      if (!by_key_.empty()) keys_.insert(DynamoKey(plain));
    }
  }

  // Returns the weights of a name of the checkpoint, after it was renamed.
  const std::vector<size_t>* Find(const std::string& name) const {
    if (const auto it = by_name_.find(name); it != by_name_.end()) return &it->second;
    if (by_key_.empty()) return nullptr;
    const auto it = by_key_.find(DynamoKey(name));
    return it == by_key_.end() ? nullptr : &it->second;
  }

  // Returns the renaming under which most weights get a value.
  absl::StatusOr<Renaming> Choose() const {
    std::map<Renaming, size_t> counts;
    size_t as_they_are = 0;
    for (const auto& [plain, name] : names_) {
      as_they_are += Find(plain) != nullptr ? 1 : 0;
      ForEachPrefix(plain, [&](std::string prefix, const std::string& rest) {
        if (Find(rest) != nullptr) ++counts[{.removed = std::move(prefix)}];
      });
    }
    for (const Weight& weight : weights_) {
      std::set<std::string> prefixes;
      for (const std::string& spelling : weight.spellings) {
        ForEachPrefix(spelling, [&](std::string prefix, const std::string& rest) {
          if (plain_.contains(rest)) prefixes.insert(std::move(prefix));
        });
      }
      ForEachPrefix(weight.key, [&](std::string prefix, const std::string& rest) {
        if (keys_.contains(rest)) prefixes.insert(std::move(prefix));
      });
      for (const std::string& prefix : prefixes) ++counts[{.added = prefix}];
    }
    std::vector<std::pair<size_t, Renaming>> best;
    for (const auto& [renaming, count] : counts) {
      if (count <= as_they_are) continue;
      if (!best.empty() && count > best[0].first) best.clear();
      if (best.empty() || count == best[0].first) best.emplace_back(count, renaming);
    }
    if (best.empty()) return Renaming();
    if (best.size() == 1) return best[0].second;
    return absl::InvalidArgumentError(absl::StrCat(
        "names are ambiguous: ", best[0].first, " weights get a value if ", best[0].second.Text(),
        ", and as many if ", best[1].second.Text(), "; FILE#NAME takes what is below NAME alone"));
  }

  // Returns a name of the checkpoint for each weight, or an empty one.
  absl::StatusOr<std::vector<std::string>> Match(const Renaming& renaming) const {
    std::vector<std::string> matched(weights_.size());
    for (const auto& [plain, name] : names_) {
      absl::string_view rest = plain;
      if (!absl::ConsumePrefix(&rest, renaming.removed)) continue;
      const std::vector<size_t>* const found = Find(absl::StrCat(renaming.added, rest));
      if (found == nullptr) continue;
      const bool is_exact = by_name_.contains(absl::StrCat(renaming.added, rest));
      if (!is_exact && found->size() > 1) {
        return absl::InvalidArgumentError(absl::StrCat(
            Printable(name), " is ambiguous: it may be ", Printable(weights_[(*found)[0]].name),
            " or ", Printable(weights_[(*found)[1]].name)));
      }
      for (const size_t i : *found) {
        if (!matched[i].empty()) {
          return absl::InvalidArgumentError(
              absl::StrCat(Printable(weights_[i].name), " is ambiguous: it may be ",
                           Printable(matched[i]), " or ", Printable(name), " of the checkpoint"));
        }
        matched[i] = name;
      }
    }
    return matched;
  }

 private:
  using Places = absl::flat_hash_map<std::string, std::vector<size_t>>;

  const std::vector<Weight>& weights_;
  Places by_name_, by_key_;
  std::vector<std::pair<std::string, std::string>> names_;  // without _orig_mod, and as they are
  std::set<std::string> plain_, keys_;
};

// --- Forms -------------------------------------------------------------------------

std::string FormOf(DType dtype, const std::vector<std::string>& sizes) {
  return absl::StrCat(DTypeShortName(dtype), "[", absl::StrJoin(sizes, ", "), "]");
}

std::string FormOf(const TensorData& data) {
  std::vector<std::string> sizes;
  for (const int64_t size : data.shape) sizes.push_back(absl::StrCat(size));
  return FormOf(data.dtype, sizes);
}

std::string FormOf(const TensorMeta& meta) {
  std::vector<std::string> sizes;
  for (const Dim& dim : meta.shape)
    sizes.push_back(dim.is_static() ? absl::StrCat(dim.value) : "?");
  return FormOf(meta.dtype, sizes);
}

bool HasShapeOf(const TensorData& data, const TensorMeta* meta) {
  if (meta == nullptr || !meta->has_shape) return true;
  return std::equal(
      data.shape.begin(), data.shape.end(), meta->shape.begin(), meta->shape.end(),
      [](int64_t size, const Dim& dim) { return !dim.is_static() || dim.value == size; });
}

// Returns "3 missing (a, b, c)" or an empty text.
std::string Listed(const std::vector<std::string>& names, absl::string_view what) {
  if (names.empty()) return "";
  std::vector<std::string> printable;
  for (const std::string& name : names) printable.push_back(Printable(name));
  return absl::StrCat(names.size(), " ", what, " (", ListedNames(printable), ")");
}

std::vector<std::string> Texts(const std::vector<PutWeights::Other>& others) {
  std::vector<std::string> texts;
  for (const PutWeights::Other& other : others)
    texts.push_back(absl::StrCat(other.name, ": ", other.in_file, " for ", other.in_program));
  return texts;
}

Table TableOf(const std::vector<PutWeights::Other>& others) {
  Table table = {{"name"}, {"in_file"}, {"in_program"}};
  for (const PutWeights::Other& other : others)
    table.Add({other.name, other.in_file, other.in_program});
  return table;
}

// Makes the draw specs of the weights that got values describe these.
void Describe(const std::set<std::string>& put, Sample* sample) {
  std::vector<Argument> elements;
  const auto described = [&](absl::string_view name, const DrawSpec& said) {
    DrawSpec spec;
    spec.original_name = said.original_name;
    spec.in_input_meta = said.in_input_meta;
    elements.clear();
    DescribeValues(sample->weights.at(std::string(name)), &spec, &elements);
    return spec;
  };
  Module* const module = sample->module.get();
  const std::vector<Attribute> attributes(module->attributes().begin(), module->attributes().end());
  for (Attribute attribute : attributes) {
    if (attribute.draw_spec == nullptr || !put.contains(std::string(attribute.name))) continue;
    const DrawSpec spec = described(attribute.name, *attribute.draw_spec);
    attribute.draw_spec = &spec;
    module->AddAttribute(attribute);
  }
  if (module->main() == nullptr) return;
  for (Node* input : module->main()->placeholders()) {
    if (input->draw_spec() != nullptr && put.contains(std::string(input->target())))
      input->set_draw_spec(described(input->target(), *input->draw_spec()));
  }
}

}  // namespace

std::string PutWeights::Refusal() const {
  std::vector<std::string> reasons;
  const auto add = [&](std::string reason) {
    if (!reason.empty()) reasons.push_back(std::move(reason));
  };
  if (!is_partial) {
    add(Listed(missing, "missing"));
    add(Listed(Texts(of_other_shape), "of another shape"));
  }
  std::string hint = reasons.empty() ? "" : "; --partial takes what fits";
  add(Listed(Texts(of_other_dtype), "of another dtype"));
  if (!of_other_dtype.empty()) absl::StrAppend(&hint, "; --cast-weights converts floats");
  if (reasons.empty()) return "";
  return absl::StrCat(Printable(file, 1000), ": ", absl::StrJoin(reasons, ", "), hint);
}

Report PutWeights::AsReport() const {
  Report report;
  report.Add("file", file);
  report.Add("num_put", num_put);
  report.Add("num_cast", num_cast);
  if (!prefix_removed.empty()) report.Add("prefix_removed", prefix_removed);
  if (!prefix_added.empty()) report.Add("prefix_added", prefix_added);
  report.Add("missing", Json::List(missing));
  report.Add("kept", Json::List(kept));
  report.Add("unused", Json::List(unused));
  report.Add("other_shape", TableOf(of_other_shape));
  report.Add("other_dtype", TableOf(of_other_dtype));
  if (!Refusal().empty()) return report;
  std::string line = absl::StrCat("weights: ", num_put, " of ", Printable(file, 1000));
  const Renaming renaming = {prefix_removed, prefix_added};
  if (renaming != Renaming()) absl::StrAppend(&line, "; ", renaming.Text());
  if (num_cast > 0)
    absl::StrAppend(&line, "; ", num_cast, " converted to the dtype of the program");
  for (const std::string& part :
       {Listed(kept, "as in the program"), Listed(unused, "of the file unused"),
        Listed(missing, "missing"), Listed(Texts(of_other_shape), "of another shape")}) {
    if (!part.empty()) absl::StrAppend(&line, "; ", part);
  }
  report.Say(line);
  return report;
}

absl::StatusOr<PutWeights> PutInto(const Checkpoint& checkpoint, const PutOptions& options,
                                   Sample* sample) {
  const std::string file = Printable(checkpoint.file, 1000);
  const std::vector<Weight> weights = WeightsOf(*sample);
  if (weights.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": the program has no parameters or buffers to put it into"));
  }
  const Matcher matcher(weights, checkpoint);
  const absl::StatusOr<Renaming> renaming = matcher.Choose();
  RETURN_IF_ERROR(Annotate(renaming.status(), file));
  const absl::StatusOr<std::vector<std::string>> matched = matcher.Match(*renaming);
  RETURN_IF_ERROR(Annotate(matched.status(), file));
  PutWeights put = {.file = checkpoint.file,
                    .prefix_removed = renaming->removed,
                    .prefix_added = renaming->added,
                    .is_partial = options.is_partial};
  std::set<std::string> used;
  std::map<std::string, TensorData> values;
  for (size_t i = 0; i < weights.size(); ++i) {
    const Weight& weight = weights[i];
    if ((*matched)[i].empty()) {
      const bool is_known = sample->weights.contains(weight.name) && !weight.is_parameter;
      (is_known ? put.kept : put.missing).push_back(weight.name);
      continue;
    }
    used.insert((*matched)[i]);
    TensorData data = checkpoint.tensors.at((*matched)[i]);
    const auto other = [&] {
      return PutWeights::Other{weight.name, FormOf(data), FormOf(*weight.meta)};
    };
    if (!HasShapeOf(data, weight.meta)) {
      put.of_other_shape.push_back(other());
      continue;
    }
    const DType dtype = weight.meta == nullptr ? DType::kUnknown : weight.meta->dtype;
    if (dtype != DType::kUnknown && dtype != data.dtype) {
      absl::StatusOr<TensorData> cast = ConvertFloats(data, dtype);
      if (!options.casts || !cast.ok()) {
        put.of_other_dtype.push_back(other());
        continue;
      }
      data = *std::move(cast);
      ++put.num_cast;
    }
    const auto old = sample->weights.find(weight.name);
    data.strides = old == sample->weights.end() ? std::vector<int64_t>() : old->second.strides;
    values[weight.name] = std::move(data);
  }
  for (const auto& [name, data] : checkpoint.tensors) {
    if (!used.contains(name)) put.unused.push_back(name);
  }
  if (used.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": none of its ", checkpoint.tensors.size(),
        " names is one of the program's: it has ", Printable(checkpoint.tensors.begin()->first),
        ", and the program ", Printable(weights[0].name)));
  }
  put.num_put = values.size();
  if (!put.Refusal().empty()) return put;
  std::set<std::string> names;
  for (auto& [name, data] : values) {
    names.insert(name);
    sample->weights[name] = std::move(data);
  }
  Describe(names, sample);
  return put;
}

}  // namespace graphnet
