#include "graphnet/cli/check_for.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/batch.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/table.h"
#include "graphnet/evaluate/backend_table.h"
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
  if (target == "paddle") return CheckPaddle(sample, missing);
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

Json MissingJson(const MissingCalls& missing) {
  Json json = Json::Object();
  json["works"] = missing.empty();
  Json& list = json["missing"] = Json::List();
  for (const auto& [call, count] : missing) {
    Json row;
    row["target"] = call.first.empty() ? Json() : Json(call.first);
    row["count"] = count;
    row["reason"] = call.second;
    list.push_back(std::move(row));
  }
  return json;
}

// Prints the missing calls of all samples, the most frequent first.
void PrintMissing(absl::string_view target, const MissingCalls& missing) {
  if (missing.empty()) return;
  std::vector<std::pair<MissingCalls::key_type, size_t>> rows(missing.begin(), missing.end());
  absl::c_stable_sort(rows, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::printf("\n%s lacks\n", std::string(target).c_str());
  std::vector<TableRow> table;
  for (const auto& [call, count] : rows) {
    table.push_back({call.first.empty() ? "(no call)" : Printable(call.first), absl::StrCat(count),
                     Printable(call.second, 1000)});
  }
  PrintTable(table, /*last_is_text=*/true);
}

}  // namespace

std::vector<absl::string_view> NamesOfTargets() {
  std::vector<absl::string_view> names = {"onnx", "mlir", "paddle", "pt2", "torchscript"};
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

absl::StatusOr<int> CheckFor(const CheckForFlags& flags) {
  for (const std::string& target : flags.targets) RETURN_IF_ERROR(CheckTargetName(target));
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs, FindInputs(flags.in));
  std::vector<Json> samples(inputs.size());
  std::vector<TableRow> table(inputs.size());
  AllMissing all(flags.targets.size());
  bool is_any_missing = false;
  const BatchCount count = RunBatch<AllMissing>(
      inputs, flags.jobs,
      [&](const std::string& path, AllMissing* missing) {
        absl::StatusOr<Sample> sample = Load(path, {.trust = flags.trust, .weights = true});
        if (!sample.ok()) return sample.status();
        for (const std::string& target : flags.targets)
          missing->push_back(MissingFor(target, *sample));
        return absl::OkStatus();
      },
      [&](size_t i, const absl::Status& status, const AllMissing& missing) {
        samples[i] = SampleJson(inputs[i], status);
        if (!status.ok()) return flags.json ? "" : FailLine(inputs[i], status);
        table[i] = {Printable(inputs[i], 1000)};
        Json& targets = samples[i]["targets"] = Json::Object();
        for (size_t t = 0; t < missing.size(); ++t) {
          targets[flags.targets[t]] = MissingJson(missing[t]);
          table[i].push_back(missing[t].empty() ? "ok" : absl::StrCat(missing[t].size()));
          for (const auto& [call, calls] : missing[t]) all[t][call] += calls;
          is_any_missing |= !missing[t].empty();
        }
        return std::string();
      });
  const int exit_code = count.failed > 0 ? count.ExitCode() : static_cast<int>(is_any_missing);
  if (flags.json) {
    PrintJson(SamplesJson(std::move(samples), count.failed));
    return exit_code;
  }
  table.erase(std::remove(table.begin(), table.end(), TableRow()), table.end());
  table.insert(table.begin(), {"sample"});
  for (const std::string& target : flags.targets) table[0].push_back(target);
  PrintTable(table);
  for (size_t t = 0; t < all.size(); ++t) PrintMissing(flags.targets[t], all[t]);
  return exit_code;
}

}  // namespace graphnet
