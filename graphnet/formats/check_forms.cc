#include "graphnet/formats/check_forms.h"

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/verify_metas.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/formats/pt2/exporter.h"
#include "graphnet/formats/pt2/importer.h"
#include "graphnet/formats/pt2/input_structure.h"
#include "graphnet/interp/inputs/weights.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/verify_calls.h"

namespace graphnet {
namespace {

absl::Status CheckText(const Sample& sample, const std::string& path) {
  const std::string text = PrintSample(sample);
  ParseOptions options;
  options.max_bytes = text.size();  // Our own text is trusted.
  ASSIGN_OR_RETURN(const Sample back, ParseSample(text, path, options));
  RETURN_IF_ERROR(Verify(*back.module));
  RETURN_IF_ERROR(CheckEqual(sample, back, kExact));
  if (PrintSample(back) != text)
    return absl::FailedPreconditionError("printing twice gives different texts");
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

// `na` receives the reason if a folder cannot hold the sample.
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
  options.locations = false;  // The locations are those in the new model.py.
  RETURN_IF_ERROR(CheckEqual(*form->module, *back.module, options));
  // If there are no attributes to lift, only names and metas may have changed.
  if (sample.module->attributes().empty()) {
    RETURN_IF_ERROR(CheckEqual(*sample.module, *back.module,
                               {.names = false, .metas = false, .attribute_names = false}));
  }
  return absl::OkStatus();
}

bool HasClasses(const pt2::TreeSpec& spec) {
  return spec.kind == pt2::TreeSpec::Kind::kOther || absl::c_any_of(spec.children, HasClasses);
}

// Returns whether the written program holds the inputs that it was saved with: all are known, and
// none is in an instance of a class, which cannot be made here.
bool KeepsInputs(const Sample& sample) {
  const absl::StatusOr<pt2::InputStructure> structure = pt2::ReadInputStructure(sample);
  return structure.ok() && !HasClasses(structure->spec) &&
         absl::c_all_of(structure->inputs, [&](const std::string& name) {
           return name.empty() || sample.weights.contains(name);
         });
}

// Reads an archive, which messages call `path`. A large one goes through a temporary file, so that
// its weights are in memory one at a time.
absl::StatusOr<Sample> ReadBack(const Pt2Archive& archive, const std::string& path) {
  constexpr uint64_t kLarge = uint64_t{64} << 20;
  if (archive.weight_bytes() <= kLarge) return ImportPt2(archive.ToString(), path);
  std::error_code error;
  const std::string folder = std::filesystem::temp_directory_path(error).string();
  if (error)
    return absl::FailedPreconditionError(
        absl::StrCat("no folder for temporary files: ", error.message()));
  ASSIGN_OR_RETURN(const StagedFile copy,
                   StagedFile::Write(JoinPath(folder, "graphnet-check.pt2"),
                                     [&](const ByteSink& sink) { return archive.WriteTo(sink); }));
  return ImportPt2File(copy.temporary(), path, {});
}

// Checks that a program of torch.export stays the same if it is written and read.
absl::Status CheckPt2(const Sample& sample, const std::string& path) {
  ASSIGN_OR_RETURN(const Pt2Archive archive, PreparePt2(sample));
  ASSIGN_OR_RETURN(Sample back, ReadBack(archive, path));
  back.name = sample.name;
  RETURN_IF_ERROR(CheckEqual(sample, back, kExact));
  const bool keeps_inputs = KeepsInputs(sample);
  for (const auto& [name, data] : sample.weights) {
    if (!keeps_inputs && sample.module->FindAttribute(name) == nullptr) continue;
    const auto it = back.weights.find(name);
    if (it == back.weights.end() || !SameData(it->second, data)) {
      return absl::FailedPreconditionError(absl::StrCat(Printable(name), " has another value"));
    }
    it->second.bytes.Release();
    data.bytes.Release();
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckForms(const std::string& path, bool trust, bool calls, FormsOutcome* outcome) {
  LoadOptions load;
  load.trust = trust;
  load.weights = true;
  load.missing = MissingValues::kIfStated;
  ASSIGN_OR_RETURN(Sample sample, Load(path, load));
  outcome->nodes = sample.module->num_nodes();
  RETURN_IF_ERROR(Annotate(Verify(*sample.module), "verify"));
  RETURN_IF_ERROR(CheckWeights(sample));
  if (const auto format = Recognise(path); format.ok() && (*format)->name == "pt2") {
    RETURN_IF_ERROR(Annotate(VerifyMetas(*sample.module), "metas"));
    // A program that was made on meta has no values to write.
    const bool has_values =
        absl::c_all_of(sample.module->attributes(), [&](const Attribute& attribute) {
          return sample.weights.contains(std::string(attribute.name));
        });
    if (has_values && sample.extra_files.contains(std::string(kProgramWeightsFile))) {
      RETURN_IF_ERROR(Annotate(CheckPt2(sample, path), "torch.export"));
    }
  }
  sample.weights.clear();  // The forms below have no weights.
  if (calls) RETURN_IF_ERROR(Annotate(VerifyCalls(*sample.module), "calls"));
  RETURN_IF_ERROR(Annotate(CheckText(sample, path), "text"));
  RETURN_IF_ERROR(Annotate(CheckProtobuf(sample, path), "protobuf"));
  return Annotate(CheckFolder(sample, path, &outcome->folder_na), "GraphNet folder");
}

}  // namespace graphnet
