#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/file.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/engine/commands.h"
#include "graphnet/cli/engine/dead_paths.h"
#include "graphnet/cli/engine/paired_values.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/picture.h"
#include "graphnet/cli/progress.h"
#include "graphnet/cli/terminal.h"
#include "graphnet/formats/formats.h"
#include "graphnet/inputs/draw.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/comparison.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/interp/torch/types.h"
#include "graphnet/text/equality.h"

namespace graphnet {
namespace {

using Values = PairedValues::Values;

absl::StatusOr<std::vector<c10::IValue>> RunOne(const Module& module, Values values,
                                                absl::flat_hash_set<std::string> parameters,
                                                uint64_t seed, const Observer& observer) {
  PrepareOptions prepare;
  prepare.parameters = std::move(parameters);
  prepare.max_bytes = AvailableMemoryBytes();
  ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(module, std::move(values), prepare));
  return prepared.executable->Run(std::move(prepared.inputs), {.seed = seed, .observer = observer});
}

// How the weights or inputs compare that both graphs have.
struct ComparedValues {
  size_t common = 0;
  size_t different = 0;
  size_t reshaped = 0;  // of other sizes
  double largest = 0;
  std::map<std::pair<absl::string_view, absl::string_view>, size_t> dtypes;  // that differ
};

absl::StatusOr<ComparedValues> CompareValues(const PairedValues::Names& names,
                                             const PairedValues& values) {
  ComparedValues made;
  for (const auto& [of_first, of_second] : names) {
    const auto a = values.first.find(of_first);
    const auto b = values.second.find(of_second);
    if (a == values.first.end() || b == values.second.end()) continue;
    ++made.common;
    const TensorData& x = a->second;
    const TensorData& y = b->second;
    if (SameData(x, y)) continue;
    ++made.different;
    if (x.dtype != y.dtype) ++made.dtypes[{DTypeShortName(x.dtype), DTypeShortName(y.dtype)}];
    if (x.shape != y.shape) {
      ++made.reshaped;
      continue;
    }
    ASSIGN_OR_RETURN(const at::Tensor s, ToTensor(x, c10::Device(c10::kCPU)));
    ASSIGN_OR_RETURN(const at::Tensor t, ToTensor(y, c10::Device(c10::kCPU)));
    ASSIGN_OR_RETURN(const TensorDifference difference, DifferenceOf(s, t));
    made.largest = std::max(made.largest, difference.largest);
  }
  return made;
}

std::string TextOf(const ComparedValues& values, absl::string_view what) {
  std::string text = absl::StrFormat("%d of %d %s differ", values.different, values.common, what);
  if (values.different > values.reshaped)
    absl::StrAppendFormat(&text, ", by at most %.3g", values.largest);
  for (const auto& [dtypes, times] : values.dtypes) {
    absl::StrAppend(&text, ", ", times == values.different ? "" : absl::StrCat(times, " "),
                    dtypes.first, " in A and ", dtypes.second, " in B");
  }
  if (values.reshaped > 0) absl::StrAppend(&text, ", ", values.reshaped, " in shape");
  return text;
}

Json JsonOf(const ComparedValues& values) {
  Json json;
  json["compared"] = values.common;
  json["different"] = values.different;
  json["max_difference"] = values.largest;
  json["different_dtype"] = [&] {
    size_t sum = 0;
    for (const auto& [dtypes, times] : values.dtypes) sum += times;
    return sum;
  }();
  json["different_shape"] = values.reshaped;
  return json;
}

// How two outputs compare, as text and as JSON.
struct Compared {
  bool same = false;
  std::string text;
  Json json;
};

std::string FormOf(const at::Tensor& tensor) {
  return absl::StrCat(DTypeShortName(DTypeOf(tensor.scalar_type())), "[",
                      tensor.is_nested() ? "nested" : absl::StrJoin(tensor.sizes(), ", "), "]");
}

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
  const auto is_tensor = [](const c10::IValue& value) {
    return value.isTensor() && IsReadable(value.toTensor());
  };
  if (!is_tensor(a) || !is_tensor(b)) {
    const bool nan =
        a.isDouble() && b.isDouble() && std::isnan(a.toDouble()) && std::isnan(b.toDouble());
    const bool same = a.tagKind() == b.tagKind() && (a.isNone() || nan || a == b);
    if (!same) made.json["difference"] = "not tensors";
    return said(same, same ? "equal" : ", not tensors");
  }
  if (DigestOf(a) == DigestOf(b)) return said(true, "bit-equal");
  const at::Tensor& s = a.toTensor();
  const at::Tensor& t = b.toTensor();
  const bool same_dtype = s.scalar_type() == t.scalar_type();
  const bool same_shape = s.is_nested() == t.is_nested() &&
                          (s.is_nested() ? s.numel() == t.numel() : s.sizes() == t.sizes());
  std::string text;
  if (!same_dtype || !same_shape) {
    made.json["difference"] = same_shape ? "dtype" : same_dtype ? "shape" : "shape and dtype";
    made.json["forms"] = Json::List(std::vector<std::string>{FormOf(s), FormOf(t)});
    text = absl::StrCat(" in ",
                        same_shape   ? "dtype"
                        : same_dtype ? "shape"
                                     : "shape and dtype",
                        ", ", FormOf(s), " and ", FormOf(t));
    if (!same_shape) return said(false, text);
  } else {
    made.json["difference"] = "values";
  }
  ASSIGN_OR_RETURN(const TensorDifference difference, DifferenceOf(s, t));
  made.json["max_difference"] = difference.largest;
  made.json["mean_difference"] = difference.mean;
  made.json["different_elements"] = difference.elements;
  made.json["elements"] = s.numel();
  if (difference.elements == 0)
    return said(false, absl::StrCat(text, ": in no number", same_dtype ? ", in bits alone" : ""));
  return said(false,
              absl::StrFormat("%s: at most %.3g, on average %.3g, in %d of %d elements", text,
                              difference.largest, difference.mean, difference.elements, s.numel()));
}

}  // namespace

absl::StatusOr<int> DiffRunGraphs(const DiffRunFlags& options) {
  SetNumThreads(options.threads);
  ASSIGN_OR_RETURN(Sample a, Load(options.a, {.trust = options.trust, .weights = true}));
  ASSIGN_OR_RETURN(Sample b, Load(options.b, {.trust = options.trust, .weights = true}));
  DrawOptions draw;
  draw.seed = options.seed;
  ASSIGN_OR_RETURN(PairedValues values, PairValues(options.inputs, options.weights, draw, &a, &b));
  ASSIGN_OR_RETURN(const ComparedValues weights, CompareValues(values.weights, values));
  ASSIGN_OR_RETURN(const ComparedValues inputs, CompareValues(values.inputs, values));

  absl::flat_hash_map<std::string, size_t> digests;
  const Observer remember = [&](const Node& node, const c10::IValue& value) -> absl::Status {
    return Guarded([&]() -> absl::Status {
      if (const std::optional<size_t> digest = DigestOf(value))
        digests[std::string(node.name())] = *digest;
      return absl::OkStatus();
    });
  };
  Progress progress("running the first");
  ASSIGN_OR_RETURN(const auto out_a,
                   RunOne(*a.module, std::move(values.first), std::move(values.parameters_of_first),
                          options.seed, remember));
  size_t common = 0;
  size_t different = 0;
  std::string first;
  DrawingOptions drawing = options.drawing;
  drawing.part.title = absl::StrCat(BaseName(options.b), " against ", BaseName(options.a));
  DeadPaths dead(values.second);
  const Observer compare = [&](const Node& node, const c10::IValue& value) -> absl::Status {
    dead.See(node, value);
    const auto it = digests.find(std::string(node.name()));
    if (it == digests.end()) return absl::OkStatus();
    return Guarded([&]() -> absl::Status {
      const std::optional<size_t> digest = DigestOf(value);
      if (!digest.has_value()) return absl::OkStatus();
      ++common;
      const bool same = *digest == it->second;
      drawing.part.marks[&node] = same ? Mark::kEqual : Mark::kDifferent;
      if (!same && ++different == 1) first = absl::StrCat(node.name(), " = ", node.target());
      return absl::OkStatus();
    });
  };
  progress.Say("running the second");
  const absl::StatusOr<std::vector<c10::IValue>> run_b =
      RunOne(*b.module, std::move(values.second), std::move(values.parameters_of_second),
             options.seed, compare);
  if (!run_b.ok()) return Annotate(run_b.status(), Printable(options.b, 1000));
  const std::vector<c10::IValue>& out_b = *run_b;
  progress.End();
  bool same = out_a.size() == out_b.size();
  std::vector<Json> outputs;
  std::string lines;
  for (size_t i = 0; i < std::min(out_a.size(), out_b.size()); ++i) {
    ASSIGN_OR_RETURN(Compared compared,
                     Guarded([&] { return CompareOutput(i, out_a[i], out_b[i]); }));
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
  for (const auto& [side, count] :
       {std::pair{"AB", values.taken_by_first}, std::pair{"BA", values.taken_by_second}}) {
    if (count == 0) continue;
    notes.push_back(
        options.weights == WeightsOf::kOwn
            ? absl::StrFormat("%c has no values for %d of its weights, and ran with those of %c",
                              side[0], count, side[1])
            : absl::StrFormat("%c ran with the values of %c for %d of its weights", side[0],
                              side[1], count));
  }
  if (!same && values.unpaired > 0) {
    notes.push_back(
        absl::StrCat(values.unpaired,
                     " inputs or weights of B are called otherwise than those of A, and "
                     "have values of their own"));
  }
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
    document["weights"] = JsonOf(weights);
    document["inputs"] = JsonOf(inputs);
    document["notes"] = Json::List(notes);
    document["values"] = common;
    document["different_values"] = different;
    if (different > 0) document["first_difference"] = first;
    document["outputs"] = Json(std::move(outputs));
    document["num_outputs"] = Json::List(std::vector<size_t>{out_a.size(), out_b.size()});
    PrintJson(document);
    return same ? 0 : 1;
  }
  if (weights.different > 0) std::printf("%s\n", TextOf(weights, "weights").c_str());
  if (inputs.different > 0) std::printf("%s\n", TextOf(inputs, "inputs").c_str());
  std::printf("%zu values of one name, %zu of them different\n", common, different);
  if (different > 0) std::printf("first difference: %s\n", first.c_str());
  if (out_a.size() != out_b.size())
    std::printf("%zu outputs and %zu\n", out_a.size(), out_b.size());
  std::fputs(lines.c_str(), stdout);
  for (const std::string& note : notes) std::printf("note: %s\n", note.c_str());
  return same ? 0 : 1;
}

}  // namespace graphnet
