#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Context.h"
#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/file.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/engine/commands.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/progress.h"
#include "graphnet/cli/table.h"
#include "graphnet/cli/terminal.h"
#include "graphnet/extract/capture.h"
#include "graphnet/extract/example_value.h"
#include "graphnet/extract/folder.h"
#include "graphnet/extract/reference.h"
#include "graphnet/extract/samples.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "graphnet/inputs/elements.h"
#include "graphnet/interp/structured_input.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"

namespace graphnet {
namespace {

// `said`: what the archive says of its inputs, which counts if the options say nothing.
absl::StatusOr<std::vector<c10::IValue>> MakeInputs(const ExtractFlags& options,
                                                    const std::vector<std::string>& said,
                                                    const torch::jit::Module& module) {
  const auto method = module.find_method("forward");
  if (!method) return absl::NotFoundError("the module has no method forward");
  const auto& formals = method->function().getSchema().arguments();
  std::vector<std::string> names;
  std::vector<absl::string_view> parameters;
  for (size_t i = 1; i < formals.size(); ++i) {
    const auto kind = formals[i].type()->kind();
    const bool holds_others =
        kind != c10::TypeKind::OptionalType && !formals[i].type()->containedTypes().empty();
    names.push_back(absl::StrCat(formals[i].name(), holds_others ? "." : ""));
    parameters.push_back(formals[i].name());
  }
  ASSIGN_OR_RETURN(const auto given, ReadValues(options.inputs.file, names));
  std::map<absl::string_view, ExampleInput> named;
  std::vector<std::pair<absl::string_view, ExampleInput>> unnamed;
  for (const std::string& word : options.inputs.words.empty() ? said : options.inputs.words) {
    ASSIGN_OR_RETURN(ExampleInput input, ParseExampleInput(word));
    if (input.name.empty()) {
      unnamed.emplace_back(word, std::move(input));
      continue;
    }
    const auto it = absl::c_find(parameters, input.name);
    if (it == parameters.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--input ", Printable(word), ": there is no parameter ",
                       Printable(input.name), NearMissHint(input.name, parameters)));
    }
    named[*it] = std::move(input);
  }
  const auto to_tensor = [](const std::string&, const TensorData& data) {
    return ToTensor(data, c10::Device(c10::kCPU));
  };
  std::vector<c10::IValue> inputs;
  size_t next = 0;
  for (size_t i = 1; i < formals.size(); ++i) {
    const std::string& name = formals[i].name();
    const auto word = named.find(name);
    if (given.contains(name) || !ElementsOf(given, name).empty()) {
      ASSIGN_OR_RETURN(inputs.emplace_back(),
                       MakeStructure(formals[i].type(), name, given, to_tensor));
    } else if (word != named.end() || next < unnamed.size()) {
      ASSIGN_OR_RETURN(c10::IValue value,
                       MakeExampleValue(word != named.end() ? word->second : unnamed[next++].second,
                                        name, options.seed, formals[i].type()));
      inputs.push_back(std::move(value));
    } else if (!formals[i].default_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no --input for parameter ", Printable(name), ": ",
                       Printable(formals[i].type()->annotation_str())));
    } else {
      inputs.push_back(*formals[i].default_value());
    }
  }
  if (next < unnamed.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--input ", Printable(unnamed[next].first), ": there is no parameter for it"));
  }
  return inputs;
}

// "0:1=batch": dimension 1 of the first input.
absl::StatusOr<CaptureOptions::DynamicSize> ParseDynamic(const std::string& text) {
  CaptureOptions::DynamicSize size;
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  const std::pair<std::string, std::string> place =
      absl::StrSplit(parts.first, absl::MaxSplits(':', 1));
  size.name = parts.second;
  if (!absl::SimpleAtoi(place.first, &size.input) || !absl::SimpleAtoi(place.second, &size.dim) ||
      size.name.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--dynamic ", Printable(text), ": expected input, dimension and name, such as 0:0=batch"));
  }
  return size;
}

void PrintSymbols(const StitchManifest& manifest) {
  for (const auto& symbol : manifest.symbols) {
    std::printf("dynamic %s: %lld in the example\n", Printable(symbol.name).c_str(),
                static_cast<long long>(symbol.example));
  }
  for (const auto& relation : manifest.relations) {
    std::string place;
    if (relation.line > 0)
      place = absl::StrCat("  ", Printable(relation.file, 100), ":", relation.line);
    std::printf("  requires %s%s%s\n", Printable(relation.text).c_str(),
                absl::StrContains(relation.text, " == ") ? " (specialised)" : "", place.c_str());
  }
}

std::string PlaceOf(const StitchStep& step) {
  return step.line == 0 ? "" : absl::StrCat(Printable(step.file, 100), ":", step.line);
}

void PrintSubgraphs(const StitchManifest& manifest) {
  std::vector<TableRow> rows = {{"subgraph", "calls", "inputs", "outputs", "ended by"}};
  for (size_t i = 0; i < manifest.steps.size(); ++i) {
    const StitchStep& step = manifest.steps[i];
    if (step.subgraph < 0) continue;
    const StitchManifest::Subgraph& subgraph =
        manifest.subgraphs[static_cast<size_t>(step.subgraph)];
    std::string end(TextOf(BreakReason::kNone).name);
    if (i + 1 < manifest.steps.size()) {
      const StitchStep& next = manifest.steps[i + 1];
      end = absl::StrCat(TextOf(next.reason).name, " (", next.op, ") ", PlaceOf(next));
    }
    if (subgraph.duplicate_of >= 0)
      absl::StrAppend(&end, ", the same as subgraph_", subgraph.duplicate_of);
    rows.push_back({subgraph.name, absl::StrCat(subgraph.num_calls),
                    absl::StrCat(step.inputs.size()), absl::StrCat(step.outputs.size()), end});
  }
  PrintTable(rows, /*last_is_text=*/true);
}

void Explain(const StitchManifest& manifest) {
  int64_t before = 0;
  for (size_t i = 0; i < manifest.steps.size(); ++i) {
    const StitchStep& step = manifest.steps[i];
    if (step.subgraph >= 0) {
      before = manifest.subgraphs[static_cast<size_t>(step.subgraph)].num_calls;
      continue;
    }
    const BreakReasonText& text = TextOf(step.reason);
    std::string operands;
    for (const ValueTree& operand : step.operands) {
      absl::StrAppend(&operands, operands.empty() ? "" : ", ", PrintValueTree(operand));
    }
    std::printf("\n%s: %s(%s)\n", std::string(text.name).c_str(), Printable(step.op).c_str(),
                Printable(operands, 300).c_str());
    if (step.line > 0)
      std::printf("  at %s:%lld:%lld\n", Printable(step.file, 300).c_str(),
                  static_cast<long long>(step.line), static_cast<long long>(step.column));
    if (!step.source.empty()) std::printf("  > %s\n", Printable(step.source).c_str());
    std::printf("  why: %s\n  hint: %s\n", std::string(text.explanation).c_str(),
                std::string(text.hint).c_str());
    int64_t after = 0;
    for (size_t k = i + 1; k < manifest.steps.size() && after == 0; ++k) {
      if (manifest.steps[k].subgraph >= 0) {
        after = manifest.subgraphs[static_cast<size_t>(manifest.steps[k].subgraph)].num_calls;
      }
    }
    if (before > 0 && after > 0) {
      std::printf("  without it: one subgraph of %lld calls instead of %lld and %lld\n",
                  static_cast<long long>(before + after), static_cast<long long>(before),
                  static_cast<long long>(after));
    }
  }
}

Json StepJson(const StitchStep& step) {
  const BreakReasonText& text = TextOf(step.reason);
  Json json;
  json["reason"] = text.name;
  json["op"] = step.op;
  json["why"] = text.explanation;
  json["hint"] = text.hint;
  if (step.line > 0) {
    json["file"] = step.file;
    json["line"] = step.line;
    json["column"] = step.column;
  }
  if (!step.source.empty()) json["source"] = step.source;
  return json;
}

// The steps in order: subgraphs, and what is between them.
Json ExtractedJson(const StitchManifest& manifest, const std::string& out) {
  Json document;
  document["out"] = out;
  Json& steps = document["steps"] = Json::List();
  for (const StitchStep& step : manifest.steps) {
    if (step.subgraph < 0) {
      steps.push_back(StepJson(step));
      continue;
    }
    const StitchManifest::Subgraph& subgraph =
        manifest.subgraphs[static_cast<size_t>(step.subgraph)];
    Json json;
    json["subgraph"] = subgraph.name;
    json["num_calls"] = subgraph.num_calls;
    json["num_inputs"] = step.inputs.size();
    json["num_outputs"] = step.outputs.size();
    json["hash"] = subgraph.hash;
    if (subgraph.duplicate_of >= 0)
      json["duplicate_of"] = absl::StrCat("subgraph_", subgraph.duplicate_of);
    steps.push_back(std::move(json));
  }
  Json& symbols = document["symbols"] = Json::List();
  for (const auto& symbol : manifest.symbols) {
    Json json;
    json["name"] = symbol.name;
    json["example"] = symbol.example;
    symbols.push_back(std::move(json));
  }
  Json& relations = document["relations"] = Json::List();
  for (const auto& relation : manifest.relations) {
    Json json;
    json["requires"] = relation.text;
    if (relation.line > 0) {
      json["file"] = relation.file;
      json["line"] = relation.line;
    }
    relations.push_back(std::move(json));
  }
  return document;
}

void PrintTotals(const StitchManifest& manifest) {
  size_t operations = 0;
  size_t duplicates = 0;
  int64_t calls = 0;
  for (const StitchStep& step : manifest.steps) operations += step.subgraph < 0 ? 1 : 0;
  for (const auto& subgraph : manifest.subgraphs) {
    duplicates += subgraph.duplicate_of >= 0 ? 1 : 0;
    calls += subgraph.num_calls;
  }
  std::printf("%zu subgraphs of %lld calls, %zu of them duplicates; %zu operations between them\n",
              manifest.subgraphs.size(), static_cast<long long>(calls), duplicates, operations);
}

std::vector<c10::IValue> Copies(const std::vector<c10::IValue>& inputs) {
  std::vector<c10::IValue> copies;
  for (const c10::IValue& input : inputs) copies.push_back(input.deepcopy());
  return copies;
}

// What differs between what was written, run from the folder, and the archive, run by
// LibTorch; empty: nothing.
absl::StatusOr<std::string> Check(const ExtractFlags& options,
                                  const CaptureOptions& capture_options,
                                  const std::vector<c10::IValue>& inputs) {
  ASSIGN_OR_RETURN(ExtractedProgram stored, ReadExtracted(options.out));
  ASSIGN_OR_RETURN(const LoadedProgram loaded, LoadProgram(std::move(stored), options.trust));
  StitchedProgram::RunOptions run;
  run.print = [](const std::string&) {};
  run.custom_operators = options.trust;
  std::vector<c10::IValue> found = Copies(inputs), expected = Copies(inputs);
  at::manual_seed(options.seed);
  ASSIGN_OR_RETURN(c10::IValue result, loaded.program->Run(found, run));
  // The run that was captured has changed its module.
  ASSIGN_OR_RETURN(const torch::jit::Module module,
                   LoadTorchScriptModule(options.in, options.trust));
  at::manual_seed(options.seed);
  ASSIGN_OR_RETURN(c10::IValue reference, RunByLibTorch(module, expected, capture_options));
  // Of what the program writes to its inputs, too.
  found.insert(found.begin(), std::move(result));
  expected.insert(expected.begin(), std::move(reference));
  return DifferenceOf(c10::ivalue::Tuple::create(std::move(expected)),
                      c10::ivalue::Tuple::create(std::move(found)));
}

std::string Stem(const std::string& path) {
  std::string name = BaseName(path);
  if (const size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0) name.resize(dot);
  return name;
}

absl::StatusOr<int> Run(const ExtractFlags& options) {
  SetNumThreads(options.threads);
  ASSIGN_OR_RETURN(const Format* format, Recognise(options.in));
  if (format->name != "torchscript") {
    return absl::InvalidArgumentError(absl::StrCat(
        Printable(options.in, 1000), ": ",
        format->name == "pt2" ? "a program of torch.export" : "a sample",
        " is one graph already, with nothing between that breaks it: run, convert, decompose and "
        "the others take it as it is"));
  }
  std::vector<std::string> said;
  ASSIGN_OR_RETURN(const torch::jit::Module module,
                   LoadTorchScriptModule(options.in, options.trust, &said));
  ASSIGN_OR_RETURN(std::vector<c10::IValue> inputs, MakeInputs(options, said, module));
  const std::vector<c10::IValue> copies =
      options.check ? Copies(inputs) : std::vector<c10::IValue>();
  CaptureOptions capture_options;
  capture_options.break_on = options.break_on;
  capture_options.cond = options.cond;
  capture_options.custom_operators = options.trust;
  capture_options.max_unroll = options.max_unroll;
  capture_options.max_steps = options.max_steps;
  for (const std::string& text : options.dynamic) {
    ASSIGN_OR_RETURN(capture_options.dynamic.emplace_back(), ParseDynamic(text));
  }
  Progress progress("capturing");
  capture_options.print = [&](const std::string& text) {
    if (options.json) {
      std::fputs(text.c_str(), stderr);
    } else {
      progress.Print(text);
    }
  };
  capture_options.progress = [&](size_t graphs, size_t calls) {
    progress.Say(absl::StrCat("capturing: ", graphs, " subgraphs, ", calls, " calls"));
  };
  at::manual_seed(options.seed);
  absl::StatusOr<Capture> captured = CaptureProgram(module, std::move(inputs), capture_options);
  progress.End();
  if (!captured.ok()) return Annotate(captured.status(), Printable(options.in, 1000));
  const Capture& capture = *captured;
  for (const auto& size : capture_options.dynamic) {
    if (absl::c_any_of(capture.manifest.symbols,
                       [&](const auto& s) { return s.name == size.name; }))
      continue;
    return absl::InvalidArgumentError(absl::StrCat("--dynamic: ", Printable(size.name),
                                                   " needs examples of one size, neither 0 nor 1"));
  }
  // Such as an input that the program does not take.
  if (!capture.status.ok() && capture.subgraphs.empty())
    return Annotate(capture.status, Printable(options.in, 1000));
  absl::StatusOr<ExtractedProgram> program = ToSamples(capture, Stem(options.in));
  if (!program.ok()) return Annotate(program.status(), Printable(options.in, 1000));
  program->manifest.archive = BaseName(options.in);
  RETURN_IF_ERROR(WriteExtracted(*program, options.out, options.format, capture.status.ok()));
  Json document;
  if (options.json) {
    document = ExtractedJson(program->manifest, options.out);
  } else {
    PrintSubgraphs(program->manifest);
    PrintSymbols(program->manifest);
    if (options.explain) Explain(program->manifest);
    PrintTotals(program->manifest);
  }
  if (!capture.status.ok()) return Annotate(capture.status, Printable(options.in, 1000));
  std::string difference;
  if (options.check) {
    const Progress checking("checking");
    ASSIGN_OR_RETURN(difference, Check(options, capture_options, copies));
  }
  if (options.json) {
    if (options.check) document["same_bits"] = difference.empty();
    if (!difference.empty()) document["difference"] = difference;
    PrintJson(document);
  } else if (!difference.empty()) {
    std::printf("the stitched program yields %s: %s\n", Red("SOMETHING ELSE").c_str(),
                difference.c_str());
  } else if (options.check) {
    std::printf("the stitched program yields the same bits as LibTorch\n");
  }
  return difference.empty() ? 0 : 1;
}

}  // namespace

absl::StatusOr<int> ExtractProgram(const ExtractFlags& options) {
  return Guarded([&] { return Run(options); });
}

}  // namespace graphnet
