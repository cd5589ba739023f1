#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/batch.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/load.h"
#include "graphnet/cli/options.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/call_query.h"
#include "graphnet/text/printer.h"

namespace graphnet {
namespace {

constexpr size_t kMaxCallBytes = 400;

struct FindFlags {
  std::string query;
  std::vector<std::string> in;
  int jobs = 0;
  bool names = false;
  bool json = false;
  bool trust = false;
};

struct FoundCall {
  std::string name;
  std::string target;
  std::string text;  // as show has it
  SourceLocation location;
};

absl::StatusOr<std::vector<FoundCall>> FindCallsIn(const std::string& path, const CallQuery& query,
                                                   bool trust) {
  ASSIGN_OR_RETURN(const Sample sample, LoadSample(path, {.trust = trust}));
  ASSIGN_OR_RETURN(const std::vector<Node*> nodes, query.Find(sample.module.get()));
  std::vector<FoundCall> found;
  for (const Node* node : nodes) {
    found.push_back({std::string(node->name()), std::string(node->target()), PrintNode(*node),
                     node->location()});
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
    if (call.location.line > 0) {
      entry["line"] = call.location.line;
      entry["column"] = call.location.column;
    }
    calls.push_back(std::move(entry));
  }
  return sample;
}

absl::StatusOr<int> Find(const FindFlags& options) {
  ASSIGN_OR_RETURN(const CallQuery query, CallQuery::Parse(options.query));
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs, FindInputs(options.in));
  size_t calls = 0, samples = 0;
  std::vector<Json> documents(inputs.size());
  const BatchCount count = RunBatch<std::vector<FoundCall>>(
      inputs, options.jobs,
      [&](const std::string& path, std::vector<FoundCall>* found) -> absl::Status {
        ASSIGN_OR_RETURN(*found, FindCallsIn(path, query, options.trust));
        return absl::OkStatus();
      },
      [&](size_t i, const absl::Status& status, const std::vector<FoundCall>& found) {
        calls += found.size();
        samples += found.empty() ? 0 : 1;
        documents[i] = FoundJson(inputs[i], status, found);
        if (options.json) return std::string();
        if (!status.ok()) return FailLine(inputs[i], status);
        const std::string path = Printable(inputs[i], 1000);
        if (options.names) return found.empty() ? "" : path;
        std::string lines;
        for (const FoundCall& call : found) {
          absl::StrAppend(&lines, lines.empty() ? "" : "\n", path, ": ",
                          Printable(call.text, kMaxCallBytes));
        }
        return lines;
      });
  if (options.json) {
    Json document = SamplesJson(std::move(documents), count.failed);
    document["calls"] = calls;
    PrintJson(document);
  } else {
    std::fflush(stdout);  // Before what stands behind it.
    std::fprintf(stderr, "%zu calls in %zu of %zu samples\n", calls, samples,
                 count.done - count.failed);
  }
  return count.failed == 0 && calls == 0 ? 1 : count.ExitCode();
}

}  // namespace

void RegisterFind(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<FindFlags>();
  CLI::App* command = app.add_subcommand(
      "find", "List the calls that are like one: find 'conv2d(?, ?, groups=1)' samples");
  command
      ->add_option("CALL", options->query,
                   "relu, torch.cat(?, dim=-1), sdpa|scaled_dot_product_attention(attn_mask=%): a "
                   "name, and what it must have of arguments: % is a value, %x the same wherever "
                   "it stands, ? anything, also a call: relu(conv2d(%))")
      ->required();
  AddManySamplesOption(command, &options->in);
  command->add_flag("--names,-l", options->names, "Print the samples that have one only");
  AddJobsOption(command, &options->jobs);
  AddTrustOption(command, &options->trust);
  AddJsonOption(command, &options->json,
                "samples with path and calls, each with node, target, text and place");
  command->callback([options, run] { *run = [options] { return Find(*options); }; });
}

}  // namespace graphnet
