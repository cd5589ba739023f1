#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/engine.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/messages.h"
#include "graphnet/cli/options.h"
#include "graphnet/cli/paired_values.h"
#include "graphnet/cli/picture.h"
#include "graphnet/cli/progress.h"
#include "graphnet/cli/terminal.h"
#include "graphnet/formats/formats.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/text/equality.h"

namespace graphnet {
namespace {

struct DiffRunFlags {
  std::string a;
  std::string b;
  InputOptions inputs;
  WeightsOf weights = WeightsOf::kOwn;
  std::string picture;  // empty: none
  DrawingOptions drawing;
  uint64_t seed = 0;
  int threads = 0;
  bool trust = false;
  bool json = false;
};

// Counts of differences in the weights or inputs that both graphs have.
struct ComparedValues {
  size_t common = 0;
  size_t different = 0;
  size_t reshaped = 0;  // with different sizes
  double largest = 0;
  std::map<std::pair<absl::string_view, absl::string_view>, size_t>
      dtypes;  // pairs of different dtypes
};

absl::StatusOr<ComparedValues> CompareValues(const PairedValues::Names& names,
                                             const PairedValues& values, const Engine& engine) {
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
    ASSIGN_OR_RETURN(const TensorDifference difference, engine.DifferenceOf(x, y));
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

// The comparison of two outputs, as text and as JSON.
struct Compared {
  std::string text;
  Json json;
};

Compared Describe(size_t i, const OutputDifference& output) {
  Compared made;
  made.json["name"] = absl::StrCat("o", i);
  made.json["equal"] = output.equal;
  const auto said = [&](const std::string& text) {
    made.text = absl::StrFormat("o%-3d %s%s", i, output.equal ? Green(text) : Red("DIFFERENT"),
                                output.equal ? "" : text);
    return made;
  };
  if (output.equal) return said(output.are_tensors ? "bit-equal" : "equal");
  if (!output.are_tensors) {
    made.json["difference"] = "not tensors";
    return said(", not tensors");
  }
  std::string text;
  if (output.same_dtype && output.same_shape) {
    made.json["difference"] = "values";
  } else {
    const char* const what = output.same_shape   ? "dtype"
                             : output.same_dtype ? "shape"
                                                 : "shape and dtype";
    made.json["difference"] = what;
    made.json["forms"] = Json::List(std::vector<std::string>{output.form_a, output.form_b});
    text = absl::StrCat(" in ", what, ", ", output.form_a, " and ", output.form_b);
    if (!output.same_shape) return said(text);
  }
  const TensorDifference& difference = output.difference;
  made.json["max_difference"] = difference.largest;
  made.json["mean_difference"] = difference.mean;
  made.json["different_elements"] = difference.elements;
  made.json["elements"] = output.elements;
  if (difference.elements == 0)
    return said(absl::StrCat(text, ": in no number", output.same_dtype ? ", in bits alone" : ""));
  return said(absl::StrFormat("%s: at most %.3g, on average %.3g, in %d of %d elements", text,
                              difference.largest, difference.mean, difference.elements,
                              output.elements));
}

absl::StatusOr<int> DiffRunGraphs(const DiffRunFlags& options) {
  ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
  engine->SetNumThreads(options.threads);
  ASSIGN_OR_RETURN(Sample a, Load(options.a, {.trust = options.trust, .weights = true}));
  ASSIGN_OR_RETURN(Sample b, Load(options.b, {.trust = options.trust, .weights = true}));
  DrawOptions draw;
  draw.seed = options.seed;
  ASSIGN_OR_RETURN(PairedValues values, PairValues(options.inputs, options.weights, draw, &a, &b));
  ASSIGN_OR_RETURN(const ComparedValues weights, CompareValues(values.weights, values, *engine));
  ASSIGN_OR_RETURN(const ComparedValues inputs, CompareValues(values.inputs, values, *engine));

  Progress progress("running both");
  ASSIGN_OR_RETURN(
      const RunComparison compared,
      engine->CompareRuns(
          {a.module.get(), std::move(values.first), std::move(values.parameters_of_first)},
          {b.module.get(), std::move(values.second), std::move(values.parameters_of_second)},
          options.seed, Printable(options.b, 1000)));
  progress.End();
  const bool same = compared.same();
  std::vector<Json> outputs;
  std::string lines;
  for (size_t i = 0; i < compared.outputs.size(); ++i) {
    Compared output = Describe(i, compared.outputs[i]);
    absl::StrAppend(&lines, output.text, "\n");
    outputs.push_back(std::move(output.json));
  }
  if (!options.picture.empty()) {
    DrawingOptions drawing = options.drawing;
    drawing.part.title = absl::StrCat(BaseName(options.b), " against ", BaseName(options.a));
    for (const auto& [node, equal] : compared.equal)
      drawing.part.marks[node] = equal ? Mark::kEqual : Mark::kDifferent;
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
    notes.push_back(absl::StrCat(
        values.unpaired,
        " inputs or weights of B have other names than those of A, and so have their own values"));
  }
  if (same && compared.different > 0) {
    notes.emplace_back(
        "values of the same name differ inside, but no output shows it: the outputs do not depend "
        "on them for these inputs, or the name has another meaning in one of the graphs. Try other "
        "inputs with --input, --inputs random or --seed");
  }
  if (same && !compared.dead_paths.empty()) {
    const size_t more = compared.dead_paths.size() - 1;
    notes.push_back(absl::StrCat(compared.dead_paths.front(),
                                 more == 0 ? "" : absl::StrCat(", and ", more, " more like it"),
                                 ": its operands have no effect on the outputs for these values, "
                                 "so the comparison does not cover them. Try --inputs random"));
  }
  if (options.json) {
    Json document;
    document["equal"] = same;
    document["weights"] = JsonOf(weights);
    document["inputs"] = JsonOf(inputs);
    document["notes"] = Json::List(notes);
    document["values"] = compared.values;
    document["different_values"] = compared.different;
    if (compared.different > 0) document["first_difference"] = compared.first_difference;
    document["outputs"] = Json(std::move(outputs));
    document["num_outputs"] =
        Json::List(std::vector<size_t>{compared.outputs_a, compared.outputs_b});
    PrintJson(document);
    return same ? 0 : 1;
  }
  if (weights.different > 0) std::printf("%s\n", TextOf(weights, "weights").c_str());
  if (inputs.different > 0) std::printf("%s\n", TextOf(inputs, "inputs").c_str());
  std::printf("%zu values of one name, %zu of them different\n", compared.values,
              compared.different);
  if (compared.different > 0)
    std::printf("first difference: %s\n", compared.first_difference.c_str());
  if (compared.outputs_a != compared.outputs_b)
    std::printf("%zu outputs and %zu\n", compared.outputs_a, compared.outputs_b);
  std::fputs(lines.c_str(), stdout);
  for (const std::string& note : notes) PrintNote(note, stdout);
  return same ? 0 : 1;
}

}  // namespace

void RegisterDiffRun(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<DiffRunFlags>();
  CLI::App* command = app.add_subcommand(
      "diff-run", "Run two graphs on the same inputs, each with its own weights, and compare");
  command->add_option("A", options->a, "First sample; - is the standard input")->required();
  command->add_option("B", options->b, "Second sample")->required();
  AddInputOption(command, &options->inputs.words);
  AddInputsOption(command, &options->inputs.file);
  const std::map<std::string, WeightsOf> weights = {
      {"own", WeightsOf::kOwn}, {"a", WeightsOf::kA}, {"b", WeightsOf::kB}};
  AddChoiceOption(command, "--weights", &options->weights, weights,
                  "Weights for both samples: own (default): each its own; a, b: those of A or B if "
                  "names, dtypes and shapes agree");
  AddPictureOption(command, &options->picture,
                   "Draw B, with values that differ in red and equal ones in green");
  AddDrawingOptions(command, &options->drawing);
  AddSeedOption(command, &options->seed);
  AddThreadsOption(command, &options->threads);
  AddTrustOption(command, &options->trust);
  AddJsonOption(command, &options->json,
                "equal, weights and inputs (compared, different, max_difference, different_dtype, "
                "different_shape), values, different_values, first_difference, and outputs with "
                "their differences");
  command->callback([options, run] { *run = [options] { return DiffRunGraphs(*options); }; });
}

}  // namespace graphnet
