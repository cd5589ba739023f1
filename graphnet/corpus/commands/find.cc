#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/report.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/command.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/options.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/text/json.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/passes/call_query.h"

namespace graphnet {
namespace {

constexpr size_t kMaxCallBytes = 400;

struct FindFlags {
  std::string query;
  InputList inputs;
  int jobs = 0;
  bool names = false;
  bool csv = false;
  bool trust = false;
};

// A sample's calls that match, in JSON, CSV and text.
struct Found {
  Json calls = Json::List();
  size_t count = 0;
  std::string csv;
  std::string text;  // as in graphnet show
};

absl::StatusOr<Found> FindCallsIn(const std::string& path, const CallQuery& query, bool trust) {
  ASSIGN_OR_RETURN(const Sample sample, Load(path, {.trust = trust}));
  ASSIGN_OR_RETURN(const std::vector<Node*> nodes, query.Find(sample.module.get()));
  Found found;
  found.count = nodes.size();
  for (const Node* node : nodes) {
    const std::string text = PrintNode(*node);
    Json call;
    call["node"] = node->name();
    call["target"] = node->target();
    call["text"] = text;
    SetArguments(*node, &call);
    const SourceLocation location = node->location();
    const bool has_place = location.line > 0;
    if (has_place) {
      call["line"] = location.line;
      call["column"] = location.column;
    }
    found.calls.push_back(std::move(call));
    found.csv += CsvLine({path, std::string(node->name()), std::string(node->target()), text,
                          has_place ? absl::StrCat(location.line) : "",
                          has_place ? absl::StrCat(location.column) : ""});
    absl::StrAppend(&found.text, Printable(path, 1000), ": ", Printable(text, kMaxCallBytes), "\n");
  }
  return found;
}

absl::StatusOr<CommandResult> Find(const FindFlags& options) {
  ASSIGN_OR_RETURN(const CallQuery query, CallQuery::Parse(options.query));
  ASSIGN_OR_RETURN(const std::vector<NamedInput> inputs, FindNamedInputs(options.inputs));
  if (options.csv) WriteOutput(CsvLine({"sample", "node", "target", "call", "line", "column"}));
  size_t calls = 0, samples = 0;
  BatchReport made = ReportBatch<Found>(
      inputs, options.jobs,
      [&](const NamedInput& input, Found* found) -> absl::Status {
        ASSIGN_OR_RETURN(*found, FindCallsIn(input.path, query, options.trust));
        return absl::OkStatus();
      },
      [&](size_t i, const absl::Status& status, Found& found, Report* sample) {
        if (!status.ok()) return;
        calls += found.count;
        samples += found.count == 0 ? 0 : 1;
        sample->Add("calls", std::move(found.calls));
        if (found.count == 0) return;
        const std::string lines = options.names
                                      ? absl::StrCat(Printable(inputs[i].path, 1000), "\n")
                                  : options.csv ? found.csv
                                                : found.text;
        sample->Say(absl::StripSuffix(lines, "\n"));
      });
  made.report.Add("num_calls", calls);
  if (!WantsJson()) {
    absl::StrAppend(&made.aside, calls, " calls in ", samples, " of ",
                    made.count.done - made.count.failed, " samples\n");
  }
  for (const std::string& doubt : query.Doubts(/*names=*/calls == 0)) made.aside += NoteLine(doubt);
  // These are the exit codes of grep.
  if (made.count.failed == 0 && calls == 0)
    return CommandResult(std::move(made.report), 1, made.aside);
  return std::move(made).Converted();
}

void DeclareFind(CommandLine& command) {
  auto options = std::make_shared<FindFlags>();
  command
      .AddOption(
          "CALL", &options->query,
          "Pattern of a call: a name and the arguments that it must have, as in relu, torch.cat(?, "
          "dim=-1), conv2d(groups>1) or relu(conv2d(%: f16)). % is a value, %x the same value "
          "everywhere, ? anything; = != < <= > >= and in [A, B] compare constants, and an omitted "
          "argument counts as its default; docs/datasets.md explains all")
      .Required();
  AddInputList(command, &options->inputs);
  const Option names = command.AddFlag("--names,-l", &options->names,
                                       "Print only the paths of the samples that have such calls");
  AddJobsOption(command, &options->jobs);
  AddTrustOption(command, &options->trust);
  const Option json =
      AddJsonOption(command,
                    "samples with path and calls, each with node, target, text, args, kwargs and "
                    "place");
  command.AddFlag("--csv", &options->csv, "Print CSV: sample, node, target, call, line, column")
      .Excludes(json)
      .Excludes(names);
  command.Run([options] { return Find(*options); });
}

const RegisteredCommand kFind(
    {.name = "find",
     .help = "List the calls that match a pattern: find 'conv2d(?, ?, groups=1)' samples",
     .group = CommandGroup::kLook,
     .declare = DeclareFind,
     .examples = {"graphnet find 'softmax(?, -1)' samples",
                  "graphnet find 'conv2d|_convolution' samples -l"}});

}  // namespace
}  // namespace graphnet
