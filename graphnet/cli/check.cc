#include "graphnet/cli/check.h"

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/load.h"
#include "graphnet/cli/options.h"
#include "graphnet/cli/progress.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/verify_calls.h"
#include "graphnet/proto/sample_proto.h"
#include "graphnet/text/equality.h"
#include "graphnet/text/parser.h"
#include "graphnet/text/printer.h"
#include "nlohmann/json.hpp"

namespace graphnet {
namespace {

struct Options {
  std::vector<std::string> in;
  int jobs = 0;
  bool json = false;
  bool calls = false;
  bool trust = false;
};

struct Outcome {
  absl::Status status;
  // Why the folder form cannot hold the sample; empty if it can.
  std::string folder_na;
  size_t nodes = 0;
  double seconds = 0;
};

absl::Status CheckText(const Sample& sample, const std::string& path) {
  const std::string text = PrintSample(sample);
  ParseOptions options;
  options.max_bytes = text.size();  // Our own text is no threat.
  ASSIGN_OR_RETURN(const Sample back, ParseSample(text, path, options));
  RETURN_IF_ERROR(Verify(*back.module));
  RETURN_IF_ERROR(CheckEqual(sample, back, kExact));
  if (PrintSample(back) != text)
    return absl::FailedPreconditionError("printing twice gives two texts");
  return absl::OkStatus();
}

absl::Status CheckProtobuf(const Sample& sample, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, SerializeSample(sample));
  ASSIGN_OR_RETURN(const Sample back, DeserializeSample(bytes, path));
  RETURN_IF_ERROR(Verify(*back.module));
  RETURN_IF_ERROR(CheckEqual(sample, back, kExact));
  ASSIGN_OR_RETURN(const std::string again, SerializeSample(back));
  if (again != bytes)
    return absl::FailedPreconditionError("serialising twice gives different bytes");
  return absl::OkStatus();
}

// `na` takes the reason if a folder cannot hold the sample.
absl::Status CheckFolder(const Sample& sample, const std::string& path, std::string* na) {
  const absl::StatusOr<Sample> form = FolderFormOfSample(sample);
  if (absl::IsUnimplemented(form.status())) {
    *na = std::string(form.status().message());
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(form.status());
  RETURN_IF_ERROR(Verify(*form->module));
  ASSIGN_OR_RETURN(const GraphNetFileMap files, GraphNetFiles(sample));
  ASSIGN_OR_RETURN(const Sample back, ParseGraphNetFiles(files, path));
  EqualityOptions options = kExact;
  options.locations = false;  // They are those of the new model.py.
  RETURN_IF_ERROR(CheckEqual(*form->module, *back.module, options));
  // Without attributes to lift nothing but names and metas may have changed.
  if (sample.module->attributes().empty()) {
    RETURN_IF_ERROR(CheckEqual(*sample.module, *back.module,
                               {.names = false, .metas = false, .attribute_names = false}));
  }
  return absl::OkStatus();
}

Outcome CheckOne(const std::string& path, const Options& options) {
  Outcome outcome;
  const auto begin = std::chrono::steady_clock::now();
  LoadOptions load;
  load.trust = options.trust;
  const absl::StatusOr<Sample> sample = LoadSample(path, load);
  outcome.status = sample.status();
  if (sample.ok()) {
    outcome.nodes = sample->module->num_nodes();
    outcome.status = Annotate(Verify(*sample->module), "verify");
    if (options.calls) outcome.status.Update(Annotate(VerifyCalls(*sample->module), "calls"));
    outcome.status.Update(Annotate(CheckText(*sample, path), "text"));
    outcome.status.Update(Annotate(CheckProtobuf(*sample, path), "protobuf"));
    outcome.status.Update(
        Annotate(CheckFolder(*sample, path, &outcome.folder_na), "GraphNet folder"));
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

void PrintOutcome(const std::string& path, const Outcome& outcome, bool json) {
  if (!json) {
    if (!outcome.status.ok()) {
      std::printf("FAIL %s: %s\n", Printable(path, 1000).c_str(),
                  std::string(outcome.status.message()).c_str());
    }
    return;
  }
  nlohmann::ordered_json line;
  line["path"] = path;
  line["passed"] = outcome.status.ok();
  line["nodes"] = outcome.nodes;
  line["seconds"] = outcome.seconds;
  if (!outcome.status.ok()) line["reason"] = std::string(outcome.status.message());
  if (!outcome.folder_na.empty()) line["folder"] = absl::StrCat("n/a: ", outcome.folder_na);
  std::printf("%s\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

absl::StatusOr<int> Check(const Options& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs, FindInputs(options.in));
  Progress progress(inputs.size());
  std::mutex mutex;
  size_t done = 0;
  size_t failed = 0;
  std::map<std::string, size_t> not_applicable;
  ParallelFor(inputs.size(), options.jobs > 0 ? options.jobs : NumCpus(), [&](size_t i) {
    const Outcome outcome = CheckOne(inputs[i], options);
    const std::lock_guard<std::mutex> lock(mutex);
    ++done;
    failed += outcome.status.ok() ? 0 : 1;
    // Reasons are counted without the node they name first.
    if (!outcome.folder_na.empty()) {
      ++not_applicable[outcome.folder_na.substr(outcome.folder_na.rfind(": ") == std::string::npos
                                                    ? 0
                                                    : outcome.folder_na.rfind(": ") + 2)];
    }
    if (options.json || !outcome.status.ok()) {
      progress.Clear();
      PrintOutcome(inputs[i], outcome, options.json);
    }
    progress.Step(done, failed);
  });
  progress.Clear();
  for (const auto& [reason, count] : not_applicable) {
    std::fprintf(options.json ? stderr : stdout, "folder form n/a for %zu: %s\n", count,
                 reason.c_str());
  }
  std::printf("%zu passed, %zu failed\n", done - failed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace

void RegisterCheck(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("check",
                                         "Import and verify each input, and take it through text, "
                                         "protobuf and GraphNet folder and back");
  command->add_option("IN", options->in, "Inputs, or folders to look for them in")->required();
  AddJobsOption(command, &options->jobs);
  command->add_flag("--calls", options->calls,
                    "Also that PyTorch has every call, with these arguments");
  command->add_flag("--json", options->json, "One JSON object a line and input");
  AddTrustOption(command, &options->trust);
  command->callback([options, run] { *run = [options] { return Check(*options); }; });
}

}  // namespace graphnet
