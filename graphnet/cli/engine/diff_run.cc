#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/engine/commands.h"
#include "graphnet/cli/engine/dead_paths.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/load.h"
#include "graphnet/cli/picture.h"
#include "graphnet/cli/progress.h"
#include "graphnet/cli/terminal.h"
#include "graphnet/inputs/draw.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/torch/tensors.h"

namespace graphnet {
namespace {

// What a value is, in a number; 0 for what is no tensor.
absl::StatusOr<size_t> Digest(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return 0;
  ASSIGN_OR_RETURN(const TensorData data, ToTensorData(value.toTensor()));
  return absl::HashOf(data.dtype, data.shape, *data.bytes) | 1;
}

// Whether it is a batched value of a level of vmap that is open: it has no memory to
// compare.
bool IsBatched(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() && !value.toTensor().has_storage();
}

using Values = std::map<std::string, TensorData>;

absl::StatusOr<std::vector<c10::IValue>> RunOne(const Module& module, Values values, uint64_t seed,
                                                const Observer& observer) {
  ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(module, std::move(values)));
  return prepared.executable->Run(std::move(prepared.inputs), {.seed = seed, .observer = observer});
}

// How two outputs compare, as text and as JSON.
struct Compared {
  bool same = false;
  std::string text;
  Json json;
};

absl::StatusOr<Compared> CompareOutput(size_t i, const c10::IValue& a, const c10::IValue& b) {
  Compared made;
  made.json["name"] = absl::StrCat("o", i);
  const auto said = [&](bool same, const std::string& text) {
    made.same = same;
    made.json["equal"] = same;
    made.text =
        absl::StrFormat("o%-3d %s%s", i, same ? Green(text) : Red("DIFFERENT"), same ? "" : text);
    return made;
  };
  if (!a.isTensor() || !b.isTensor()) {
    const bool same = a.tagKind() == b.tagKind() && (a.isNone() || a == b);
    if (!same) made.json["difference"] = "not tensors";
    return said(same, same ? "equal" : ", not tensors");
  }
  ASSIGN_OR_RETURN(const size_t x, Digest(a));
  ASSIGN_OR_RETURN(const size_t y, Digest(b));
  const at::Tensor& s = a.toTensor();
  const at::Tensor& t = b.toTensor();
  if (x == y) return said(true, "bit-equal");
  if (s.sizes() != t.sizes() || s.scalar_type() != t.scalar_type()) {
    made.json["difference"] = "shape or dtype";
    return said(false, " in shape or dtype");
  }
  const at::Tensor difference = at::sub(s.to(at::kDouble), t.to(at::kDouble)).abs();
  const double largest = difference.max().item<double>();
  const double mean = difference.mean().item<double>();
  const auto different = s.ne(t).sum().item<int64_t>();
  made.json["difference"] = "values";
  made.json["max_difference"] = largest;
  made.json["mean_difference"] = mean;
  made.json["different_elements"] = different;
  made.json["elements"] = s.numel();
  return said(false, absl::StrFormat(": at most %.3g, on average %.3g, in %d of %d elements",
                                     largest, mean, different, s.numel()));
}

}  // namespace

absl::StatusOr<int> DiffRunGraphs(const DiffRunFlags& options) {
  SetNumThreads(options.threads);
  ASSIGN_OR_RETURN(Sample a, LoadSample(options.a, {.trust = options.trust, .weights = true}));
  ASSIGN_OR_RETURN(Sample b, LoadSample(options.b, {.trust = options.trust, .weights = true}));
  std::vector<std::string> names = NamesOfValues(a);
  const std::vector<std::string> more = NamesOfValues(b);
  names.insert(names.end(), more.begin(), more.end());
  ASSIGN_OR_RETURN(const Values given, ReadValues(options.inputs.file, names));
  for (auto& [name, data] : given) a.weights[name] = b.weights[name] = data;
  const bool random = options.inputs.file == kRandomInputs;
  DrawOptions draw;
  draw.seed = options.seed;
  ASSIGN_OR_RETURN(
      Values values_a,
      ReadInputs({.words = options.inputs.words, .file = random ? kRandomInputs : ""}, draw, &a));
  // Both get the same: what b has another value for only is drawn by its own metas.
  for (const auto& [name, data] : values_a) b.weights[name] = data;
  ASSIGN_OR_RETURN(Values values_b, DrawInputs(b, draw));

  absl::flat_hash_map<std::string, size_t> digests;
  const Observer remember = [&](const Node& node, const c10::IValue& value) -> absl::Status {
    if (IsBatched(value)) return absl::OkStatus();
    ASSIGN_OR_RETURN(digests[std::string(node.name())], Digest(value));
    return absl::OkStatus();
  };
  Progress progress("running the first");
  ASSIGN_OR_RETURN(const auto out_a,
                   RunOne(*a.module, std::move(values_a), options.seed, remember));
  size_t common = 0;
  size_t different = 0;
  std::string first;
  DrawingOptions drawing = options.drawing;
  drawing.part.title = absl::StrCat(BaseName(options.b), " against ", BaseName(options.a));
  DeadPaths dead(values_b);
  const Observer compare = [&](const Node& node, const c10::IValue& value) -> absl::Status {
    dead.See(node, value);
    const auto it = digests.find(std::string(node.name()));
    if (it == digests.end() || IsBatched(value)) return absl::OkStatus();
    ++common;
    ASSIGN_OR_RETURN(const size_t digest, Digest(value));
    const bool same = digest == it->second;
    drawing.part.marks[&node] = same ? Mark::kEqual : Mark::kDifferent;
    if (same) return absl::OkStatus();
    if (++different == 1) first = absl::StrCat(node.name(), " = ", node.target());
    return absl::OkStatus();
  };
  progress.Say("running the second");
  ASSIGN_OR_RETURN(const auto out_b, RunOne(*b.module, std::move(values_b), options.seed, compare));
  progress.End();
  bool same = out_a.size() == out_b.size();
  std::vector<Json> outputs;
  std::string lines;
  for (size_t i = 0; i < std::min(out_a.size(), out_b.size()); ++i) {
    ASSIGN_OR_RETURN(Compared compared, CompareOutput(i, out_a[i], out_b[i]));
    same = same && compared.same;
    absl::StrAppend(&lines, compared.text, "\n");
    outputs.push_back(std::move(compared.json));
  }
  if (!options.picture.empty()) {
    ASSIGN_OR_RETURN(
        const std::string drawn,
        DrawPicture(*b.module, PictureFormOf(options.picture).value_or(PictureForm::kSvg),
                    drawing));
    RETURN_IF_ERROR(WriteFileAtomic(options.picture, drawn));
  }
  std::vector<std::string> notes;
  if (same && different > 0) {
    notes.emplace_back(
        "values of one name differ inside, and no output shows it: with these values the outputs "
        "do not depend on them, or a name stands for something else in one of the graphs. Try "
        "--input, which draws values that reach further, --inputs random or --seed");
  }
  if (same && !dead.found().empty()) {
    const size_t more = dead.found().size() - 1;
    notes.push_back(absl::StrCat(
        dead.found().front(), more == 0 ? "" : absl::StrCat(", and ", more, " more like it"),
        ": what goes in there has no effect on the outputs with these values, so that they say "
        "nothing of it. Try --inputs random"));
  }
  if (options.json) {
    Json document;
    document["equal"] = same;
    document["notes"] = Json::List(notes);
    document["values"] = common;
    document["different_values"] = different;
    if (different > 0) document["first_difference"] = first;
    document["outputs"] = Json(std::move(outputs));
    document["num_outputs"] = Json::List(std::vector<size_t>{out_a.size(), out_b.size()});
    PrintJson(document);
    return same ? 0 : 1;
  }
  std::printf("%zu values of one name, %zu of them different\n", common, different);
  if (different > 0) std::printf("first difference: %s\n", first.c_str());
  if (out_a.size() != out_b.size())
    std::printf("%zu outputs and %zu\n", out_a.size(), out_b.size());
  std::fputs(lines.c_str(), stdout);
  for (const std::string& note : notes) std::printf("note: %s\n", note.c_str());
  return same ? 0 : 1;
}

}  // namespace graphnet
