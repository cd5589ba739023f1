#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/output_folder.h"
#include "graphnet/base/status.h"
#include "graphnet/command/command.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/options.h"
#include "graphnet/command/progress.h"
#include "graphnet/command/terminal.h"
#include "graphnet/decompose/compose.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/validate/structure.h"

namespace graphnet {
namespace {

constexpr char kOriginal[] = "original.pb";
constexpr int kMaxPieces = 1000000;

struct RoundtripFlags {
  std::string in;
  std::string out;
  int pieces = 4;
  bool trust = false;
};

std::string PieceFile(size_t i) { return absl::StrCat("subgraph_", i, ".pb"); }

// Returns whether this command writes such an entry.
bool IsOurs(absl::string_view name, bool is_folder) {
  if (is_folder) return false;
  if (!absl::ConsumeSuffix(&name, ".pb") && !absl::ConsumeSuffix(&name, ".safetensors"))
    return false;
  if (name == "original") return true;
  return absl::ConsumePrefix(&name, "subgraph_") && !name.empty() &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return absl::ascii_isdigit(c); });
}

// Measures the milliseconds of each step.
class Stopwatch {
 public:
  // Records the time since the last step.
  void Step(std::string name) {
    const auto now = std::chrono::steady_clock::now();
    steps_.push_back(
        {std::move(name), std::chrono::duration<double, std::milli>(now - last_).count()});
    last_ = now;
  }
  std::string Text() const {
    std::string text;
    double sum = 0;
    for (const auto& [name, ms] : steps_) {
      absl::StrAppendFormat(&text, "%s %.1f, ", name, ms);
      sum += ms;
    }
    return absl::StrFormat("ms: %sall %.1f", text, sum);
  }
  Json AsJson() const {
    Json json = Json::Object();
    for (const auto& [name, ms] : steps_) json[name] = ms;
    return json;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::vector<std::pair<std::string, double>> steps_;
};

absl::Status WriteAll(const Sample& original, const std::vector<Sample>& pieces,
                      const std::string& folder) {
  return ReplaceFolder(folder, IsOurs, [&](const std::string& dir) -> absl::Status {
    RETURN_IF_ERROR(WriteSampleFile(original, JoinPath(dir, kOriginal)));
    for (size_t i = 0; i < pieces.size(); ++i) {
      RETURN_IF_ERROR(WriteSampleFile(pieces[i], JoinPath(dir, PieceFile(i))));
    }
    return absl::OkStatus();
  });
}

uint64_t FileBytes(const std::string& path) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

// Makes a row with the numbers of inputs and outputs of the first graph.
std::vector<Cell> MakeRow(Cell name, int64_t operators, const Sample& sample,
                          const std::string& folder, const std::string& file) {
  const std::string path = JoinPath(folder, file);
  size_t outputs = 0;
  sample.module->main()->output()->ForEachOperand([&](Node*) { ++outputs; });
  return {std::move(name),
          operators,
          sample.module->main()->placeholders().size(),
          outputs,
          FileBytes(path) + FileBytes(WeightsPath(path)),
          file};
}

Table FilesTable(const Sample& original, const std::vector<Sample>& pieces,
                 const ValidationReport& report, const std::string& folder) {
  Table table = {{"piece", "piece"},       {"num_operators", "operators"},
                 {"num_inputs", "inputs"}, {"num_outputs", "outputs"},
                 {"bytes", "bytes"},       {"file", "file"}};
  table.Add(MakeRow("original", report.original_operators, original, folder, kOriginal));
  for (size_t i = 0; i < pieces.size() && i < report.piece_operators.size(); ++i)
    table.Add(MakeRow(i, report.piece_operators[i], pieces[i], folder, PieceFile(i)));
  return table;
}

// Explains why there are fewer pieces than requested.
std::vector<std::string> Notes(int asked, size_t made, int64_t operators) {
  std::vector<std::string> notes;
  if (made == static_cast<size_t>(asked)) return notes;
  if (asked > operators) {
    notes.push_back(absl::StrCat(asked, " pieces requested, but there are only ", operators,
                                 " operators, and each piece needs one"));
  }
  if (static_cast<int64_t>(made) < std::min<int64_t>(asked, std::max<int64_t>(operators, 1))) {
    notes.push_back(absl::StrCat(
        made, " pieces, because cuts inside a vmap or autocast region are moved to its end"));
  }
  return notes;
}

absl::Status CheckPieces(const std::vector<Sample>& pieces) {
  for (const Sample& piece : pieces) RETURN_IF_ERROR(Annotate(Verify(*piece.module), piece.name));
  return absl::OkStatus();
}

// Reports on the failed step and its error.
Report FailedReport(const absl::Status& status, absl::string_view step) {
  const absl::Status error = Annotate(status, step);
  Report report;
  report.Add("equal", false);
  report.Add("error", ErrorJson(error));
  report.Say(absl::StrCat(Red("FAILED"), ": ", error.message()));
  return report;
}

absl::StatusOr<CommandResult> Roundtrip(const RoundtripFlags& options) {
  RETURN_IF_ERROR(CheckReplaceable(options.out, IsOurs));
  Progress progress("importing");
  const auto failed = [&](const absl::Status& status, absl::string_view step) {
    progress.End();
    return CommandResult(FailedReport(status, step), 1);
  };
  Stopwatch watch;
  LoadOptions load;
  load.trust = options.trust;
  load.weights = true;
  ASSIGN_OR_RETURN(const Sample original, Load(options.in, load));
  watch.Step("import");

  std::vector<Sample> pieces;
  ASSIGN_OR_RETURN(pieces,
                   DecomposeChain(original, EqualCuts(*original.module->main(), options.pieces)));
  if (const absl::Status status = CheckPieces(pieces); !status.ok())
    return failed(status, "decompose");
  watch.Step("decompose");

  RETURN_IF_ERROR(WriteAll(original, pieces, options.out));
  watch.Step("write");

  // From here on, the samples are those that were read back.
  const absl::StatusOr<Sample> original_back =
      ReadSampleFile(JoinPath(options.out, kOriginal), true);
  if (!original_back.ok()) return failed(original_back.status(), "read");
  for (size_t i = 0; i < pieces.size(); ++i) {
    absl::StatusOr<Sample> piece = ReadSampleFile(JoinPath(options.out, PieceFile(i)), true);
    if (!piece.ok()) return failed(piece.status(), "read");
    pieces[i] = *std::move(piece);
  }
  if (const absl::Status status = CheckEqual(original, *original_back, kExact); !status.ok()) {
    return failed(status, "read");
  }
  watch.Step("read");

  const absl::StatusOr<std::unique_ptr<Module>> composed =
      ComposeChain(pieces, original.module.get());
  absl::Status equal = composed.status();
  if (equal.ok()) equal = CheckEqual(*original.module, **composed, kExact);
  watch.Step("compose");

  const ValidationReport report =
      ValidateStructure(*original_back, pieces, {.cut = {.style = Style::kChain}});
  watch.Step("validate");

  progress.End();
  Report made;
  made.Add("equal", true);
  made.Add("num_nodes", original.module->num_nodes());
  made.Add("files", FilesTable(*original_back, pieces, report, options.out));
  made.AddNotes(Notes(options.pieces, pieces.size(), report.original_operators));
  made.Add("ms", watch.AsJson());
  made.Say(watch.Text());
  for (const Finding& finding : report.findings) made.Say(finding.Text());
  if (!equal.ok() || !report.ok()) {
    Report failure;
    failure.Add("", std::move(made));
    failure.Append(equal.ok() ? FailedReport(report.status(), "validate")
                              : FailedReport(equal, "compose"));
    return CommandResult(std::move(failure), 1);
  }
  made.Say(absl::StrCat(Green("OK"), ": ", pieces.size(), pieces.size() == 1 ? " piece" : " pieces",
                        " composed to the original graph, all ", (*composed)->num_nodes(),
                        " nodes; operators: ", report.Counts()));
  return made;
}

void DeclareRoundtrip(CommandLine& command) {
  auto options = std::make_shared<RoundtripFlags>();
  AddSampleOption(command, &options->in);
  AddFolderOption(command, &options->out, "Folder for original.pb, subgraph_0.pb, …").Required();
  command
      .AddOption("--pieces,-k", &options->pieces, "Number of pieces, if there are enough operators")
      .Range(1, kMaxPieces)
      .ShowDefault();
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  AddJsonOption(command, "equal, num_nodes, notes, ms of each step, and files; or error");
  command.Run([options] { return Roundtrip(*options); });
}

const RegisteredCommand kRoundtrip(
    {.name = "roundtrip",
     .help = "Import a sample, cut it into a chain of pieces, write these as protobuf, "
             "read them back, join them and compare",
     .group = CommandGroup::kCut,
     .declare = DeclareRoundtrip,
     .examples = {"graphnet roundtrip samples/gpt.pb --pieces 3 -o round"}});

}  // namespace
}  // namespace graphnet
