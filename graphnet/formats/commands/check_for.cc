#include "graphnet/formats/commands/check_for.h"

#include <cstddef>
#include <map>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/evaluate/backend_table.h"
#include "graphnet/evaluate/input_values.h"
#include "graphnet/evaluate/onnx_operators.h"
#include "graphnet/formats/export_program.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/interp/inputs/elements.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/paddle/paddle_sample.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {
namespace {

// Counts the calls of a program that PyTorch's exporter of ONNX lacks, and with `runs` also those
// that ONNX Runtime lacks.
absl::Status CheckOnnx(const Sample& program, bool runs, MissingCalls* missing) {
  ASSIGN_OR_RETURN(const Pt2Archive archive,
                   ExportPt2Program(program, /*flat_calls=*/true, missing));
  ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, archive.ReadModule());
  *missing = MissingInOnnx(*module);
  if (runs) missing->merge(MissingInOnnxRuntime(*module));
  return absl::OkStatus();
}

absl::Status CheckPaddle(const Sample& sample, MissingCalls* missing) {
  ASSIGN_OR_RETURN(PaddleSample made, MakePaddleSample(sample));
  *missing = std::move(made.coverage.left);
  if (!missing->empty()) return absl::OkStatus();
  return GraphNetFiles(made.sample).status();
}

absl::Status CheckRun(const Sample& sample, MissingCalls* missing) {
  RefusedCalls refused;
  RETURN_IF_ERROR(LowerToAten(*sample.module, &refused).status());
  for (const auto& [node, status] : refused) AddMissing(status, missing);
  return absl::OkStatus();
}

// Returns the program that a benchmark passes to compilers.
absl::StatusOr<Sample> ProgramForCompilers(const Sample& sample) {
  Sample program = CopyOf(sample);
  RETURN_IF_ERROR(GiveInputs({}, /*seed=*/0, &program));
  for (const Node* input : program.module->main()->placeholders()) {
    if (IsText(input->annotation()) || IsStructure(input->annotation())) {
      return absl::UnimplementedError(
          absl::StrCat("input ", Printable(input->target()), " is neither a tensor nor a number"));
    }
  }
  ASSIGN_OR_RETURN(
      const Pipeline pipeline,
      ParsePipeline(absl::StrCat(kPassesBeforeCompilers, ",functionalize{outputs=true}")));
  RETURN_IF_ERROR(RunPipeline(pipeline, &program).status());
  return program;
}

absl::Status CheckBackend(const Backend& backend, const Sample& sample, MissingCalls* missing) {
  if (backend.reads == ProgramForm::kSample) return CheckRun(sample, missing);
  if (backend.reads == ProgramForm::kPaddle) return CheckPaddle(sample, missing);
  ASSIGN_OR_RETURN(const Sample program, ProgramForCompilers(sample));
  if (backend.name == "onnxruntime") return CheckOnnx(program, /*runs=*/true, missing);
  switch (backend.reads) {
    case ProgramForm::kTorchScript: return CheckTorchScriptProgram(program, missing);
    case ProgramForm::kMlir: return ExportMlirProgram(program, missing).status();
    default: return ExportPt2Program(program, /*flat_calls=*/true, missing).status();
  }
}

absl::Status CheckTarget(absl::string_view target, const Sample& sample, MissingCalls* missing) {
  std::vector<std::string> notes;
  if (target == "mlir") return ExportMlirProgram(sample, missing, &notes).status();
  if (target == "pt2") {
    return ExportPt2Program(sample, /*flat_calls=*/false, missing, nullptr, &notes).status();
  }
  if (target == "torchscript") return CheckTorchScriptProgram(sample, missing);
  if (target != "onnx") return CheckBackend(*FindBackend(target), sample, missing);
  ASSIGN_OR_RETURN(const Sample program, WithoutEffects(sample));
  return CheckOnnx(program, /*runs=*/false, missing);
}

// The missing calls of one sample, in the order of the targets.
using AllMissing = std::vector<MissingCalls>;

// Returns a table whose title is `title`. The rows are sorted by call, or the most frequent is first.
Table MissingTable(const MissingCalls& missing, const std::string& title, bool by_count) {
  std::vector<std::pair<MissingCalls::key_type, size_t>> rows(missing.begin(), missing.end());
  if (by_count)
    absl::c_stable_sort(rows, [](const auto& a, const auto& b) { return a.second > b.second; });
  Table table = {{"target", title}, {"count", "calls"}, {"reason", "reason"}};
  for (const auto& [call, count] : rows) {
    table.Add(
        {call.first.empty() ? Cell(Json()).As("(no call)") : Cell(call.first), count, call.second});
  }
  return table;
}

}  // namespace

std::vector<absl::string_view> NamesOfTargets() {
  std::vector<absl::string_view> names = {"onnx", "mlir", "pt2", "torchscript"};
  for (const Backend& backend : Backends()) {
    // Nothing is known about the user's own command.
    if (backend.kind != BackendKind::kCommand) names.push_back(backend.name);
  }
  return names;
}

absl::Status CheckTargetName(absl::string_view name) {
  const std::vector<absl::string_view> names = NamesOfTargets();
  if (absl::c_linear_search(names, name)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--for: there is no target ", Printable(name),
                                                 NearMissHint(name, names), "; there are ",
                                                 absl::StrJoin(names, ", ")));
}

MissingCalls MissingFor(absl::string_view target, const Sample& sample) {
  MissingCalls missing;
  const absl::Status status = CheckTarget(target, sample, &missing);
  if (!status.ok() && missing.empty()) AddMissing(status, &missing);
  return missing;
}

absl::StatusOr<CommandResult> CheckFor(const CheckForFlags& flags) {
  for (const std::string& target : flags.targets) RETURN_IF_ERROR(CheckTargetName(target));
  ASSIGN_OR_RETURN(const std::vector<NamedInput> inputs, FindNamedInputs(flags.inputs));
  Table table = {{"", "sample"}};
  for (const std::string& target : flags.targets) table.AddColumn({"", target});
  std::vector<std::vector<Cell>> rows(inputs.size());
  AllMissing all(flags.targets.size());
  bool is_any_missing = false;
  BatchReport made = ReportBatch<AllMissing>(
      inputs, flags.jobs,
      [&](const NamedInput& input, AllMissing* missing) {
        absl::StatusOr<Sample> sample = Load(input.path, {.trust = flags.trust, .weights = true});
        if (!sample.ok()) return sample.status();
        for (const std::string& target : flags.targets)
          missing->push_back(MissingFor(target, *sample));
        return absl::OkStatus();
      },
      [&](size_t i, const absl::Status& status, const AllMissing& missing, Report* sample) {
        if (!status.ok()) return;
        rows[i] = {inputs[i].path};
        Report targets;
        for (size_t t = 0; t < missing.size(); ++t) {
          Report target;
          target.Add("works", missing[t].empty());
          target.Add("missing", MissingTable(missing[t], "", /*by_count=*/false).ToJson());
          targets.Add(flags.targets[t], std::move(target));
          rows[i].push_back(missing[t].empty() ? Cell("ok") : Cell(missing[t].size()));
          for (const auto& [call, calls] : missing[t]) all[t][call] += calls;
          is_any_missing |= !missing[t].empty();
        }
        sample->Add("targets", std::move(targets));
      });
  for (std::vector<Cell>& row : rows) {
    if (!row.empty()) table.Add(std::move(row));
  }
  made.report.Add("", std::move(table));
  for (size_t t = 0; t < all.size(); ++t) {
    if (all[t].empty()) continue;
    made.report.Say("");
    made.report.Add(
        "", MissingTable(all[t], absl::StrCat(flags.targets[t], " lacks"), /*by_count=*/true));
  }
  if (made.count.failed == 0 && is_any_missing)
    return CommandResult(std::move(made.report), 1, std::move(made.aside));
  return std::move(made).Converted();
}

}  // namespace graphnet
