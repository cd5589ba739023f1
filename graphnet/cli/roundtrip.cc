#include "graphnet/cli/roundtrip.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/load.h"
#include "graphnet/cli/options.h"
#include "graphnet/cli/table.h"
#include "graphnet/decompose/compose.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/proto/sample_proto.h"
#include "graphnet/text/equality.h"
#include "graphnet/validate/structure.h"

namespace graphnet {
namespace {

constexpr char kOriginal[] = "original.pb";
constexpr int kMaxPieces = 1000000;

struct Options {
  std::string in;
  std::string out;
  int pieces = 4;
  bool trust = false;
};

std::string PieceFile(size_t i) { return absl::StrCat("subgraph_", i, ".pb"); }

// Whether a file of that name is one that this command writes.
bool IsOurs(absl::string_view name) {
  if (!absl::ConsumeSuffix(&name, ".pb") && !absl::ConsumeSuffix(&name, ".safetensors"))
    return false;
  if (name == "original") return true;
  return absl::ConsumePrefix(&name, "subgraph_") && !name.empty() &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return absl::ascii_isdigit(c); });
}

// A folder that holds anything else is not written over.
absl::Status CheckTarget(const std::string& folder) {
  if (!IsFolder(folder)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
  for (const std::string& name : names) {
    if (IsOurs(name)) continue;
    return absl::AlreadyExistsError(
        absl::StrCat(Printable(folder, 1000), ": not replaced, as it holds ", Printable(name)));
  }
  return absl::OkStatus();
}

// Milliseconds by step, in order.
class Stopwatch {
 public:
  // The time since the last step.
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

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::vector<std::pair<std::string, double>> steps_;
};

absl::Status WriteAll(const Sample& original, const std::vector<Sample>& pieces,
                      const std::string& folder) {
  return WriteFolderAtomic(folder, /*replace=*/true, [&](const std::string& dir) -> absl::Status {
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

// Of the first graph: how many values it takes and returns.
TableRow MakeRow(std::string name, int64_t operators, const Sample& sample,
                 const std::string& folder, const std::string& file) {
  const std::string path = JoinPath(folder, file);
  size_t outputs = 0;
  sample.module->main()->output()->ForEachOperand([&](Node*) { ++outputs; });
  return {std::move(name),
          absl::StrCat(operators),
          absl::StrCat(sample.module->main()->placeholders().size()),
          absl::StrCat(outputs),
          absl::StrCat(FileBytes(path) + FileBytes(WeightsPath(path))),
          file};
}

void PrintReport(const Sample& original, const std::vector<Sample>& pieces,
                 const ValidationReport& report, const std::string& folder) {
  std::vector<TableRow> rows = {{"piece", "operators", "inputs", "outputs", "bytes", "file"}};
  rows.push_back(MakeRow("original", report.original_operators, original, folder, kOriginal));
  for (size_t i = 0; i < pieces.size() && i < report.piece_operators.size(); ++i) {
    rows.push_back(
        MakeRow(absl::StrCat(i), report.piece_operators[i], pieces[i], folder, PieceFile(i)));
  }
  PrintTable(rows, /*last_is_text=*/true);
}

// Why there are fewer pieces than asked for, if so.
void PrintNote(int asked, size_t made, int64_t operators) {
  if (made == static_cast<size_t>(asked)) return;
  if (asked > operators) {
    std::printf(
        "note: %d pieces asked for, but there are only %lld operators and no piece has less than "
        "one\n",
        asked, static_cast<long long>(operators));
  }
  if (static_cast<int64_t>(made) < std::min<int64_t>(asked, std::max<int64_t>(operators, 1))) {
    std::printf("note: %zu pieces, as cuts inside a vmap or autocast region are moved to its end\n",
                made);
  }
}

absl::Status CheckPieces(const std::vector<Sample>& pieces) {
  for (const Sample& piece : pieces) RETURN_IF_ERROR(Annotate(Verify(*piece.module), piece.name));
  return absl::OkStatus();
}

absl::StatusOr<int> Failed(const absl::Status& status, absl::string_view step) {
  std::printf("FAILED: %s: %s\n", std::string(step).c_str(), std::string(status.message()).c_str());
  return 1;
}

absl::StatusOr<int> Roundtrip(const Options& options) {
  RETURN_IF_ERROR(CheckTarget(options.out));
  Stopwatch watch;
  LoadOptions load;
  load.trust = options.trust;
  load.weights = true;
  ASSIGN_OR_RETURN(const Sample original, LoadSample(options.in, load));
  watch.Step("import");

  std::vector<Sample> pieces;
  ASSIGN_OR_RETURN(pieces,
                   DecomposeChain(original, EqualCuts(*original.module->main(), options.pieces)));
  if (const absl::Status status = CheckPieces(pieces); !status.ok())
    return Failed(status, "decompose");
  watch.Step("decompose");

  RETURN_IF_ERROR(WriteAll(original, pieces, options.out));
  watch.Step("write");

  // From here on, what was read back.
  const absl::StatusOr<Sample> original_back =
      ReadSampleFile(JoinPath(options.out, kOriginal), true);
  if (!original_back.ok()) return Failed(original_back.status(), "read");
  for (size_t i = 0; i < pieces.size(); ++i) {
    absl::StatusOr<Sample> piece = ReadSampleFile(JoinPath(options.out, PieceFile(i)), true);
    if (!piece.ok()) return Failed(piece.status(), "read");
    pieces[i] = *std::move(piece);
  }
  if (const absl::Status status = CheckEqual(original, *original_back, kExact); !status.ok()) {
    return Failed(status, "read");
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

  PrintReport(*original_back, pieces, report, options.out);
  PrintNote(options.pieces, pieces.size(), report.original_operators);
  std::printf("%s\n", watch.Text().c_str());
  for (const Finding& finding : report.findings) std::printf("%s\n", finding.Text().c_str());
  if (!equal.ok()) return Failed(equal, "compose");
  if (!report.ok()) return Failed(report.status(), "validate");
  std::printf("OK: %zu %s composed to the original graph, all %zu nodes; operators: %s\n",
              pieces.size(), pieces.size() == 1 ? "piece" : "pieces", (*composed)->num_nodes(),
              report.Counts().c_str());
  return 0;
}

}  // namespace

void RegisterRoundtrip(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("roundtrip",
                                         "Import, cut into a chain of pieces, write them as "
                                         "protobuf, read them back, compose and compare");
  command->add_option("IN", options->in, "Input, in any format")->required();
  AddPathOption(command, &options->out, "Folder for original.pb, subgraph_0.pb, …")->required();
  command
      ->add_option("--pieces,-k", options->pieces, "How many pieces, if there are operators enough")
      ->check(CLI::Range(1, kMaxPieces))
      ->capture_default_str();
  AddTrustOption(command, &options->trust);
  command->callback([options, run] { *run = [options] { return Roundtrip(*options); }; });
}

}  // namespace graphnet
