#include "graphnet/run/commands/run_cached.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "graphnet/base/file.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/progress.h"
#include "graphnet/evaluate/backend_options.h"
#include "graphnet/evaluate/compare_outputs.h"
#include "graphnet/evaluate/compile_cache.h"
#include "graphnet/evaluate/compiled_sample.h"
#include "graphnet/evaluate/environment.h"
#include "graphnet/evaluate/remote_cache.h"
#include "graphnet/evaluate/sample_result.h"
#include "graphnet/formats/formats.h"
#include "graphnet/run/commands/run_outputs.h"
#include "graphnet/run/worker_host.h"

namespace graphnet {
namespace {

constexpr absl::Duration kWorkerTime = absl::Minutes(10);  // limit for each request

// A backend with the objects that it needs while the program lives.
struct Opened {
  std::unique_ptr<const Backend> row;
  RunBackend backend;
  std::unique_ptr<RemoteCache> remote;  // null: none
  std::unique_ptr<CompileCache> cache;
  std::shared_ptr<SampleCompiler> compiler;  // null: the backend runs in this process
};

absl::StatusOr<Opened> Open(const CachedRunFlags& options) {
  ASSIGN_OR_RETURN(Backend row, BackendOfText(options.backend));
  Opened opened;
  opened.row = std::make_unique<const Backend>(std::move(row));
  const Backend* const backend = opened.row.get();
  opened.backend.name = std::string(backend->shown());
  if (backend->kind == BackendKind::kTool) {
    if (options.cache.empty()) return opened;
    return absl::InvalidArgumentError(
        absl::StrCat("--cache: ", backend->name, " compiles in memory and has nothing to keep"));
  }
  if (backend->kind == BackendKind::kCommand)
    return absl::InvalidArgumentError("--backend exec is for bench, which has --exec");
  if (!options.cache.empty()) {
    CompileCache::Options cache = {.folder = options.cache, .max_bytes = options.cache_mib << 20};
    if (!options.cache_url.empty()) {
      const std::string python = JoinPath(EnvironmentFolder(*backend), "bin/python");
      const auto note = [](const std::string& line) { PrintNote(line); };
      ASSIGN_OR_RETURN(opened.remote,
                       RemoteCache::Open({.url = options.cache_url,
                                          .digest = options.cache_digest,
                                          .python = FileExists(python) ? python : "python3",
                                          .note = note}));
      cache.fetch = [remote = opened.remote.get()](const std::string& name,
                                                   const std::string& path) {
        return remote->Fetch(name, path);
      };
    }
    ASSIGN_OR_RETURN(opened.cache, CompileCache::Open(std::move(cache)));
  }
  ASSIGN_OR_RETURN(opened.compiler,
                   SampleCompiler::Start(backend, HostOfTool(),
                                         {.time = kWorkerTime, .memory = AvailableMemoryBytes()},
                                         opened.cache.get()));
  opened.backend.compile = [compiler = opened.compiler, seed = options.seed](
                               const Sample& sample) -> absl::StatusOr<SubgraphFunction> {
    ASSIGN_OR_RETURN(std::shared_ptr<CompiledSample> compiled, compiler->Compile(sample));
    return [compiled, seed](const TensorValues& inputs) { return compiled->Run(inputs, seed); };
  };
  return opened;
}

std::vector<TensorData> InOrder(const TensorValues& named) {
  std::vector<TensorData> outputs;
  for (const std::string& name : NamesInOrder(named)) outputs.push_back(named.at(name));
  return outputs;
}

// The difference between the results of a call and LibTorch's.
struct Comparison {
  bool is_right = false;
  double largest = 0;
  std::string reason;  // set if they cannot be compared
};

Comparison Compare(const TensorValues& expected, const TensorValues& found) {
  const std::vector<TensorData> outputs = InOrder(expected);
  const OutputsVerdict verdict = CompareOutputs(outputs, InOrder(found));
  Comparison comparison{verdict.status == Outcome::kCorrect, 0, verdict.reason};
  const std::vector<std::string> dtypes = DTypesOf(outputs);
  for (size_t i = 0; i < verdict.outputs.size(); ++i) {
    const OutputComparison& output = verdict.outputs[i];
    comparison.is_right &= output.IsRight(kCustomaryToleranceLevel, ToleranceClassOf(dtypes.at(i)));
    comparison.largest = std::max(comparison.largest, output.max_diff);
  }
  return comparison;
}

struct Called {
  CachedProgram::CallReport report;
  int64_t cached = 0;  // number of compiled subgraphs that came from the cache
  Comparison comparison;
};

std::string CheckText(const Comparison& comparison) {
  if (!comparison.reason.empty()) return comparison.reason;
  return absl::StrFormat("%s, off by %.3g", comparison.is_right ? "right" : "WRONG",
                         comparison.largest);
}

Table CallsTable(const std::vector<Called>& calls, bool has_cache, bool check) {
  Table table = {{"", "call"},
                 {"hit", "was"},
                 {"guard_failures", "guards failed"},
                 {"compiled", "compiled"},
                 {"from_cache", has_cache ? "from cache" : ""},
                 {"compile_ms", "compile ms"},
                 {"run_ms", "run ms"},
                 {"right", check ? "beside LibTorch" : ""},
                 {"largest_difference"},
                 {"reason"}};
  for (size_t i = 0; i < calls.size(); ++i) {
    const CachedProgram::CallReport& report = calls[i].report;
    std::vector<Cell> row = {i + 1,
                             Cell(report.is_hit).As(report.is_hit ? "a hit" : "captured"),
                             report.guard_failures,
                             report.compilations - calls[i].cached,
                             calls[i].cached,
                             Cell::Ms(report.compile_ms),
                             Cell::Ms(report.run_ms)};
    if (const Comparison& found = calls[i].comparison; check) {
      row.insert(row.end(), {Cell(found.is_right).As(CheckText(found)), found.largest});
      if (!found.reason.empty()) row.emplace_back(found.reason);
    }
    table.Add(std::move(row));
  }
  return table;
}

Report CaptureReport(size_t number, const CachedProgram::Capture& capture,
                     const std::string& backend) {
  Report report;
  report.Say(absl::StrCat("capture ", number, ": ", capture.subgraphs, " subgraphs, ",
                          capture.operations, " operations between them"));
  report.Add("subgraphs", capture.subgraphs);
  report.Add("operations", capture.operations);
  Table interpreted = {{"subgraph"}, {"why"}};
  for (const auto& [subgraph, why] : capture.interpreted) {
    interpreted.Add({subgraph, why});
    report.Say(absl::StrCat("  the interpreter runs ", subgraph, ", not ", backend, ": ", why));
  }
  report.Add("interpreted", std::move(interpreted));
  return report;
}

// Returns why a run says nothing about its backend: it computed no part of the program. Empty if it
// computed some.
std::string NothingCompiled(const std::string& backend,
                            const std::vector<CachedProgram::Capture>& captures) {
  if (backend == "nope") return "";  // the interpreter itself
  size_t subgraphs = 0;
  size_t interpreted = 0;
  for (const CachedProgram::Capture& capture : captures) {
    subgraphs += capture.subgraphs;
    interpreted += capture.interpreted.size();
  }
  if (interpreted < subgraphs) return "";
  return absl::StrCat(backend, " compiled nothing: the interpreter ran the whole program");
}

}  // namespace

absl::StatusOr<CommandResult> RunCached(const CachedRunFlags& options, const Engine& engine) {
  ASSIGN_OR_RETURN(const Format* format, Recognise(options.in));
  if (format->name != "torchscript") {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(options.in, 1000),
                     ": --backend calls a TorchScript archive; graphnet bench runs samples by "
                     "backends"));
  }
  ASSIGN_OR_RETURN(const Opened backend, Open(options));
  ASSIGN_OR_RETURN(const std::unique_ptr<TorchScriptProgram> opened,
                   engine.OpenTorchScript(options.in, options.trust));
  ASSIGN_OR_RETURN(const TensorValues given,
                   ReadValues(options.inputs.file, opened->names_of_inputs()));
  RETURN_IF_ERROR(opened->SetInputs(given, options.inputs.words, options.seed));
  Progress progress("capturing");
  const bool speaks = !WantsJson() && options.outputs != "-";
  CaptureOptions how;
  how.print = [&](const std::string& text) {
    if (speaks) {
      progress.Print(text);
    } else {
      WriteAside(text);
    }
  };
  ASSIGN_OR_RETURN(const std::unique_ptr<CachedProgram> program,
                   opened->Cache(how, backend.backend));
  std::vector<Called> calls;
  bool all_right = true;
  TensorValues outputs;
  for (int i = 0; i < options.repeat; ++i) {
    if (i > 0) progress.Say(absl::StrCat("calling ", i + 1, "/", options.repeat));
    Called& called = calls.emplace_back();
    const int64_t cached = backend.compiler == nullptr ? 0 : backend.compiler->num_cached();
    absl::StatusOr<CachedProgram::CallReport> report = program->Call();
    if (!report.ok()) return Annotate(report.status(), Printable(options.in, 1000));
    called.report = *report;
    if (backend.compiler != nullptr) called.cached = backend.compiler->num_cached() - cached;
    ASSIGN_OR_RETURN(outputs, program->Outputs());
    if (!options.check) continue;
    ASSIGN_OR_RETURN(const TensorValues expected, program->CallByLibTorch());
    called.comparison = Compare(expected, outputs);
    all_right &= called.comparison.is_right;
  }
  progress.End();
  RETURN_IF_ERROR(WriteOutputs(outputs, options.outputs));
  const std::string nothing = NothingCompiled(backend.backend.name, program->captures());
  Report sample;
  sample.Add("backend", backend.backend.name);
  sample.Add("calls", CallsTable(calls, !options.cache.empty(), options.check));
  std::vector<Report> captures;
  for (const CachedProgram::Capture& capture : program->captures())
    captures.push_back(CaptureReport(captures.size() + 1, capture, backend.backend.name));
  sample.Add("captures", std::move(captures));
  sample.Append(OutputsReport(outputs));
  if (!nothing.empty()) sample.Add("nothing_compiled", nothing);
  return CommandResult(SamplesReport(options.in, std::move(sample)),
                       all_right && nothing.empty() ? 0 : 1,
                       nothing.empty() ? "" : ErrorLine(nothing));
}

}  // namespace graphnet
