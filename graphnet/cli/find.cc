#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/report.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/batch.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/messages.h"
#include "graphnet/cli/options.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/passes/call_query.h"

namespace graphnet {
namespace {

constexpr size_t kMaxCallBytes = 400;

struct FindFlags {
  std::string query;
  std::vector<std::string> in;
  int jobs = 0;
  bool names = false;
  bool json = false;
  bool csv = false;
  bool trust = false;
};

struct FoundCall {
  std::string name;
  std::string target;
  std::string text;  // as in graphnet show
  Json arguments;
  SourceLocation location;
};

absl::StatusOr<std::vector<FoundCall>> FindCallsIn(const std::string& path, const CallQuery& query,
                                                   bool trust, bool with_arguments) {
  ASSIGN_OR_RETURN(const Sample sample, Load(path, {.trust = trust}));
  ASSIGN_OR_RETURN(const std::vector<Node*> nodes, query.Find(sample.module.get()));
  std::vector<FoundCall> found;
  for (const Node* node : nodes) {
    FoundCall& call = found.emplace_back();
    call.name = std::string(node->name());
    call.target = std::string(node->target());
    call.text = PrintNode(*node);
    if (with_arguments) SetArguments(*node, &call.arguments);
    call.location = node->location();
  }
  return found;
}

Json FoundJson(const std::string& path, const absl::Status& status,
               const std::vector<FoundCall>& found) {
  Json sample = SampleJson(path, status);
  if (!status.ok()) return sample;
  Json& calls = sample["calls"] = Json::List();
  for (const FoundCall& call : found) {
    Json entry;
    entry["node"] = call.name;
    entry["target"] = call.target;
    entry["text"] = call.text;
    entry.Merge(call.arguments);
    if (call.location.line > 0) {
      entry["line"] = call.location.line;
      entry["column"] = call.location.column;
    }
    calls.push_back(std::move(entry));
  }
  return sample;
}

// Returns lines of CSV without the last newline.
std::string CsvLines(const std::string& path, const std::vector<FoundCall>& found) {
  std::string lines;
  for (const FoundCall& call : found) {
    const bool has_place = call.location.line > 0;
    lines += CsvLine({path, call.name, call.target, call.text,
                      has_place ? absl::StrCat(call.location.line) : "",
                      has_place ? absl::StrCat(call.location.column) : ""});
  }
  if (!lines.empty()) lines.pop_back();
  return lines;
}

absl::StatusOr<int> Find(const FindFlags& options) {
  ASSIGN_OR_RETURN(const CallQuery query, CallQuery::Parse(options.query));
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs, FindInputs(options.in));
  if (options.csv)
    std::fputs(CsvLine({"sample", "node", "target", "call", "line", "column"}).c_str(), stdout);
  size_t calls = 0, samples = 0;
  std::vector<Json> documents(inputs.size());
  const BatchCount count = RunBatch<std::vector<FoundCall>>(
      inputs, options.jobs,
      [&](const std::string& path, std::vector<FoundCall>* found) -> absl::Status {
        ASSIGN_OR_RETURN(*found, FindCallsIn(path, query, options.trust, options.json));
        return absl::OkStatus();
      },
      [&](size_t i, const absl::Status& status, const std::vector<FoundCall>& found) {
        calls += found.size();
        samples += found.empty() ? 0 : 1;
        if (options.json) {
          documents[i] = FoundJson(inputs[i], status, found);
          return std::string();
        }
        if (!status.ok()) {
          // Standard output is a list that other programs read.
          std::fprintf(stderr, "%s\n", FailLine(inputs[i], status).c_str());
          return std::string();
        }
        const std::string path = Printable(inputs[i], 1000);
        if (options.names) return found.empty() ? "" : path;
        if (options.csv) return CsvLines(inputs[i], found);
        std::string lines;
        for (const FoundCall& call : found) {
          absl::StrAppend(&lines, lines.empty() ? "" : "\n", path, ": ",
                          Printable(call.text, kMaxCallBytes));
        }
        return lines;
      });
  if (options.json) {
    Json document = SamplesJson(std::move(documents), count.failed);
    document["num_calls"] = calls;
    PrintJson(document);
  } else {
    PrintSummary(
        absl::StrCat(calls, " calls in ", samples, " of ", count.done - count.failed, " samples"));
  }
  for (const std::string& doubt : query.Doubts(/*names=*/calls == 0)) PrintNote(doubt);
  // These are the exit codes of grep.
  if (const int code = count.ExitCode(); code != 0) return code;
  return calls == 0 ? 1 : 0;
}

}  // namespace

void RegisterFind(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<FindFlags>();
  CLI::App* command = app.add_subcommand(
      "find", "List the calls that match a pattern: find 'conv2d(?, ?, groups=1)' samples");
  command
      ->add_option(
          "CALL", options->query,
          "Pattern of a call: a name and the arguments that it must have, as in relu, torch.cat(?, "
          "dim=-1), conv2d(groups>1) or relu(conv2d(%: f16)). % is a value, %x the same value "
          "everywhere, ? anything; = != < <= > >= and in [A, B] compare constants, and an omitted "
          "argument counts as its default; docs/datasets.md explains all")
      ->required();
  AddManySamplesOption(command, &options->in);
  CLI::Option* names = command->add_flag(
      "--names,-l", options->names, "Print only the paths of the samples that have such calls");
  AddJobsOption(command, &options->jobs);
  AddTrustOption(command, &options->trust);
  CLI::Option* json =
      AddJsonOption(command, &options->json,
                    "samples with path and calls, each with node, target, text, args, kwargs and "
                    "place");
  command->add_flag("--csv", options->csv, "Print CSV: sample, node, target, call, line, column")
      ->excludes(json)
      ->excludes(names);
  command->callback([options, run] { *run = [options] { return Find(*options); }; });
}

}  // namespace graphnet
