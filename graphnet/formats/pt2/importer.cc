#include "graphnet/formats/pt2/importer.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/mapped_file.h"
#include "graphnet/base/status.h"
#include "graphnet/base/version.h"
#include "graphnet/formats/archive/stored_archive.h"
#include "graphnet/formats/archive/zip_reader.h"
#include "graphnet/formats/pt2/extra_files.h"
#include "graphnet/formats/pt2/graph_importer.h"
#include "graphnet/formats/pt2/json.h"
#include "graphnet/formats/pt2/payloads.h"
#include "graphnet/formats/pt2/pickled_tensors.h"
#include "graphnet/formats/pt2/upgrade.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

using pt2::Json;
using pt2::JsonDocument;

constexpr int64_t kArchiveVersion = 0;
constexpr absl::string_view kModels = "models/";
constexpr absl::string_view kWeights = "data/weights/";
constexpr absl::string_view kConstants = "data/constants/";
constexpr absl::string_view kExamples = "data/sample_inputs/";
constexpr absl::string_view kExtra = "extra/";
// The layout before torch 2.8: a program with its tensors, each table as torch.save writes it.
constexpr absl::string_view kFlatProgram = "serialized_exported_program.json";
constexpr absl::string_view kFlatExamples = "serialized_example_inputs.pt";
constexpr absl::string_view kFlatExtra = "extra_files/";
// Up to torch 2.2 the names of the tables end as those of JSON do, though torch.save writes them.
constexpr const char* kFlatTables[] = {"serialized_state_dict.pt", "serialized_state_dict.json",
                                       "serialized_constants.pt", "serialized_constants.json"};

std::string Stem(const std::string& path) {
  std::string name = BaseName(path);
  if (const size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0) name.resize(dot);
  return name;
}

// Returns the text before a program's name in the flat layout; nullopt in the other layout.
std::optional<absl::string_view> FlatRootOf(const ZipReader& zip) {
  for (const ZipEntry& entry : zip.entries()) {
    absl::string_view root = entry.name;
    if (absl::ConsumeSuffix(&root, kFlatProgram) && (root.empty() || absl::EndsWith(root, "/")))
      return root;
  }
  return std::nullopt;
}

// Returns the folder at the root of an archive; its name is free.
absl::string_view FolderOf(const ZipReader& zip) {
  if (zip.entries().empty()) return {};
  const absl::string_view first = zip.entries()[0].name;
  return first.substr(0, first.find('/') + 1);
}

// Returns the name in "root/models/NAME.json"; empty for other entries.
absl::string_view ProgramOf(absl::string_view entry, absl::string_view root) {
  if (!absl::ConsumePrefix(&entry, root) || !absl::ConsumePrefix(&entry, kModels) ||
      !absl::ConsumeSuffix(&entry, ".json")) {
    return {};
  }
  return entry;
}

// An archive that holds programs.
class Archive {
 public:
  static absl::StatusOr<Archive> Open(const SharedBytes& packed, const std::string& name) {
    ASSIGN_OR_RETURN(const SharedBytes bytes, StoredArchive(packed, Printable(name, 1000)));
    ASSIGN_OR_RETURN(ZipReader zip, ZipReader::Open(*bytes, Printable(name, 1000)));
    Archive archive(std::move(zip), bytes, name);
    RETURN_IF_ERROR(Annotate(archive.CheckVersion(), archive.name_));
    return archive;
  }

  const ZipReader& zip() const { return zip_; }
  absl::string_view root() const { return root_; }
  const std::string& name() const { return name_; }

  bool is_flat() const { return is_flat_; }

  std::vector<std::string> programs() const {
    if (is_flat_) return {"model"};
    std::vector<std::string> names;
    for (const ZipEntry& entry : zip_.entries()) {
      const absl::string_view program = ProgramOf(entry.name, root_);
      if (!program.empty()) names.emplace_back(program);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  // Returns the content of a record, kept alive by the owner if there is one. Its pages are read on
  // first use, so its checksum is not checked; PyTorch does not check it either.
  absl::StatusOr<SharedBytes> Storage(const ZipEntry& record) const {
    ASSIGN_OR_RETURN(const absl::string_view bytes,
                     bytes_.owner() != nullptr ? zip_.ViewUnchecked(record) : zip_.View(record));
    return bytes_.Part(static_cast<size_t>(bytes.data() - bytes_->data()), bytes.size());
  }

  // Returns the text of a record below the root.
  absl::StatusOr<std::string> ReadText(absl::string_view record, size_t max_bytes) const {
    const ZipEntry* const entry = zip_.Find(absl::StrCat(root_, record));
    if (entry == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(name_, ": has no record ", Printable(record)));
    }
    if (entry->size > max_bytes) {
      return absl::InvalidArgumentError(absl::StrCat(name_, ": ", Printable(record), ": ",
                                                     entry->size, " bytes, over the limit of ",
                                                     max_bytes));
    }
    return zip_.Read(*entry);
  }

 private:
  Archive(ZipReader zip, SharedBytes bytes, const std::string& name)
      : zip_(std::move(zip)), bytes_(std::move(bytes)), name_(Printable(name, 1000)) {
    const std::optional<absl::string_view> flat = FlatRootOf(zip_);
    is_flat_ = flat.has_value();
    root_ = is_flat_ ? *flat : FolderOf(zip_);
  }

  absl::Status CheckVersion() const {
    if (is_flat_) return absl::OkStatus();  // Its schema has a version, too.
    const ZipEntry* const format = zip_.Find(absl::StrCat(root_, "archive_format"));
    const ZipEntry* const version = zip_.Find(absl::StrCat(root_, "archive_version"));
    if (format == nullptr || version == nullptr || format->size > 16 || version->size > 16) {
      return absl::InvalidArgumentError("not an archive of torch.export: it lacks its version");
    }
    ASSIGN_OR_RETURN(const std::string format_text, zip_.Read(*format));
    ASSIGN_OR_RETURN(const std::string version_text, zip_.Read(*version));
    if (format_text != "pt2" || version_text != absl::StrCat(kArchiveVersion)) {
      return absl::InvalidArgumentError(
          absl::StrCat("unsupported archive format ", Printable(format_text), ", version ",
                       Printable(version_text), "; expected pt2, version ", kArchiveVersion));
    }
    const ZipEntry* const order = zip_.Find(absl::StrCat(root_, "byteorder"));
    if (order == nullptr) return absl::OkStatus();
    if (order->size > 16) return absl::InvalidArgumentError("byteorder: too long");
    ASSIGN_OR_RETURN(const std::string order_text, zip_.Read(*order));
    if (order_text == "little") return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("its byte order is ", Printable(order_text), ", not little"));
  }

  ZipReader zip_;
  SharedBytes bytes_;
  bool is_flat_ = false;
  absl::string_view root_;
  std::string name_;
};

absl::Status CheckSchemaVersion(Json version) {
  Json major_field, minor_field;
  RETURN_IF_ERROR(ReadFields(version, {{"major", &major_field}, {"minor", &minor_field}}));
  ASSIGN_OR_RETURN(const int64_t major, major_field.Int());
  ASSIGN_OR_RETURN(const int64_t minor, minor_field.Int());
  if (major == kPt2SchemaMajor || major == kPt2OldSchemaMajor) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("unsupported schema ", major, ".", minor,
                                                 "; this version reads schemas 1 to ",
                                                 kPt2SchemaMajor));
}

// Checks that the archive has the values of the attributes, as far as `allowed` wants them.
absl::Status CheckValues(const Archive& archive,
                         const std::vector<pt2::ImportedAttribute>& attributes,
                         MissingValues allowed) {
  if (allowed == MissingValues::kDrawn) return absl::OkStatus();
  size_t missing = 0;
  const pt2::ImportedAttribute* first = nullptr;
  bool are_stated = true;  // The archive says that it has none.
  for (const pt2::ImportedAttribute& imported : attributes) {
    if (imported.is_object) continue;
    const bool is_missing = imported.payload == nullptr;
    if (!is_missing && !imported.payload->lacks_values()) continue;
    are_stated = are_stated && !is_missing;
    if (missing++ == 0) first = &imported;
  }
  if (missing == 0 || (are_stated && allowed == MissingValues::kIfStated)) return absl::OkStatus();
  const std::string values = missing == 1
                                 ? absl::StrCat("the value of ", Printable(first->attribute))
                                 : absl::StrCat("the values of ", missing, " attributes, such as ",
                                                Printable(first->attribute));
  return absl::InvalidArgumentError(
      absl::StrCat(archive.name(), ": the archive lacks ", values,
                   are_stated ? ", because the program was made on meta or of fake tensors" : "",
                   "; --draw-weights draws what it lacks"));
}

// Reads a program's values of the attributes that were imported.
absl::Status ReadWeights(const Archive& archive,
                         const std::vector<pt2::ImportedAttribute>& attributes,
                         MissingValues allowed, Sample* sample) {
  RETURN_IF_ERROR(CheckValues(archive, attributes, allowed));
  uint64_t spare = pt2::kMaxExpandedBytes;
  for (const pt2::ImportedAttribute& imported : attributes) {
    if (imported.payload == nullptr) continue;
    const pt2::Payload& payload = *imported.payload;
    const auto fail = [&](const absl::Status& status) {
      return Annotate(status, absl::StrCat(archive.name(), ": ", Printable(payload.record_name),
                                           ", the tensor ", Printable(imported.attribute)));
    };
    if (!payload.is_tensor || payload.lacks_values()) continue;
    if (payload.record == nullptr && payload.storage == nullptr) {
      if (allowed == MissingValues::kDrawn) continue;
      return fail(absl::InvalidArgumentError(
          "the archive lacks this record; --draw-weights draws what it lacks"));
    }
    if (payload.is_pickled) {
      ASSIGN_OR_RETURN(const absl::string_view bytes, archive.zip().View(*payload.record));
      absl::StatusOr<TensorData> data = pt2::ReadPickledTensor(bytes);
      if (!data.ok()) return fail(data.status());
      sample->weights[imported.attribute] = *std::move(data);
      continue;
    }
    SharedBytes storage = payload.storage;
    if (payload.record != nullptr) {
      ASSIGN_OR_RETURN(storage, archive.Storage(*payload.record));
    }
    pt2::StoredTensor tensor = payload.tensor;
    if (imported.is_storage) {
      tensor.sizes = {static_cast<int64_t>(storage->size()) / DTypeBytes(tensor.dtype)};
      tensor.strides = {1};
      tensor.offset = 0;
    }
    absl::StatusOr<TensorData> data = ReadStorage(tensor, storage, &spare);
    if (!data.ok()) return fail(data.status());
    sample->weights[imported.attribute] = *std::move(data);
  }
  return absl::OkStatus();
}

// Reads the inputs that the program was saved with. An input that is neither a tensor nor a
// number is drawn later, as is one of a class of its own.
void ReadExampleInputs(const Archive& archive, const std::string& program,
                       const pt2::GraphImporter& importer, Sample* sample) {
  const ZipEntry* const record = archive.zip().Find(
      absl::StrCat(archive.root(), archive.is_flat() ? std::string(kFlatExamples)
                                                     : absl::StrCat(kExamples, program, ".pt")));
  if (record == nullptr || importer.in_spec() == nullptr) return;
  const absl::StatusOr<absl::string_view> bytes = archive.zip().View(*record);
  if (!bytes.ok()) return;
  auto values = pt2::ReadPickledLeaves(*bytes, *importer.in_spec());
  const std::vector<std::string>& names = importer.user_inputs();
  if (!values.ok() || values->size() != names.size()) return;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty() && (*values)[i]) sample->weights[names[i]] = *std::move((*values)[i]);
  }
}

// Reads the configuration of a program's tensors and keeps it in the sample.
absl::Status ReadConfig(const Archive& archive, absl::string_view folder, const std::string& record,
                        absl::string_view kept_as, pt2::Payloads* payloads, Sample* sample) {
  if (archive.zip().Find(absl::StrCat(archive.root(), record)) == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::string text, archive.ReadText(record, kMaxProgramBytes));
  RETURN_IF_ERROR(
      Annotate(ReadPayloadConfig(&archive.zip(), archive.root(), folder, text, payloads),
               absl::StrCat(archive.name(), ": ", Printable(record))));
  sample->extra_files.emplace(kept_as, std::move(text));
  return absl::OkStatus();
}

// Reads the files that a user added and keeps them as one file.
absl::Status ReadExtraFiles(const Archive& archive, Sample* sample) {
  const std::string folder = absl::StrCat(archive.root(), archive.is_flat() ? kFlatExtra : kExtra);
  std::map<std::string, std::string> files;
  size_t bytes = 0;
  for (const ZipEntry& entry : archive.zip().entries()) {
    absl::string_view name = entry.name;
    if (!absl::ConsumePrefix(&name, folder) || name.empty() || entry.is_folder()) continue;
    if (entry.size > kMaxTextFileBytes || (bytes += entry.size) > kMaxTextFileBytes) {
      return absl::InvalidArgumentError(absl::StrCat(archive.name(), ": ", Printable(entry.name),
                                                     ": the added files have over ",
                                                     kMaxTextFileBytes, " bytes together"));
    }
    ASSIGN_OR_RETURN(files[std::string(name)], archive.zip().Read(entry));
  }
  if (!files.empty()) sample->extra_files.emplace(kProgramExtraFiles, pt2::PackExtraFiles(files));
  return absl::OkStatus();
}

// Reads the tensors that a graph of torch 2.1 holds itself, in base 64.
absl::Status ReadOldConstants(Json program, pt2::Payloads* payloads) {
  Json graph_module, graph, constants;
  RETURN_IF_ERROR(ReadFields(program, {{"graph_module", &graph_module}}));
  RETURN_IF_ERROR(ReadFields(graph_module, {{"graph", &graph}}));
  RETURN_IF_ERROR(ReadFields(graph, {{"constants", &constants, false}}));
  if (constants.is_null() || constants.kind() != Json::Kind::kObject) return absl::OkStatus();
  return constants.ForEachMember([&](absl::string_view name, Json value) -> absl::Status {
    const std::string place = absl::StrCat("constants/", name);
    ASSIGN_OR_RETURN(const absl::string_view text, value.String());
    auto saved = std::make_shared<std::string>();
    if (!absl::Base64Unescape(text, saved.get())) saved->clear();  // no archive either
    const SharedBytes bytes(std::move(saved));
    return Annotate(pt2::ReadPickledEntry(bytes, place, name, payloads), Printable(place));
  });
}

absl::StatusOr<Sample> ImportProgram(const Archive& archive, const std::string& program,
                                     const Pt2ImportOptions& options) {
  Sample sample;
  sample.module = std::make_unique<Module>();
  pt2::Payloads payloads;
  // torch 2.8 writes the tables beside the records of its own layout.
  std::vector<std::string> tables = {absl::StrCat(kWeights, program, ".pt"),
                                     absl::StrCat(kConstants, program, ".pt")};
  if (archive.is_flat()) tables.assign(std::begin(kFlatTables), std::end(kFlatTables));
  for (const std::string& table : tables) {
    const ZipEntry* const entry = archive.zip().Find(absl::StrCat(archive.root(), table));
    if (entry == nullptr || entry->size == 0) continue;
    ASSIGN_OR_RETURN(const SharedBytes saved, archive.Storage(*entry));
    RETURN_IF_ERROR(Annotate(pt2::ReadPickledTable(saved, table, &payloads),
                             absl::StrCat(archive.name(), ": ", table)));
  }
  RETURN_IF_ERROR(ReadConfig(archive, kWeights,
                             absl::StrCat(kWeights, program, "_weights_config.json"),
                             kProgramWeightsFile, &payloads, &sample));
  RETURN_IF_ERROR(ReadConfig(archive, kConstants,
                             absl::StrCat(kConstants, program, "_constants_config.json"),
                             kProgramConstantsFile, &payloads, &sample));
  const std::string record =
      archive.is_flat() ? std::string(kFlatProgram) : absl::StrCat(kModels, program, ".json");
  ASSIGN_OR_RETURN(std::string text, archive.ReadText(record, kMaxProgramBytes));
  pt2::GraphImporter importer(payloads, sample.module.get());
  const auto import = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(JsonDocument document, JsonDocument::Parse(text));
    ASSIGN_OR_RETURN(std::optional<std::string> upgraded, pt2::UpgradeProgram(document.root()));
    if (upgraded) {
      RETURN_IF_ERROR(ReadOldConstants(document.root(), &payloads));
      text = *std::move(upgraded);
      ASSIGN_OR_RETURN(document, JsonDocument::Parse(text));
    }
    Json graph_module, ranges, version;
    RETURN_IF_ERROR(ReadFields(document.root(), {{"graph_module", &graph_module},
                                                 {"range_constraints", &ranges},
                                                 {"schema_version", &version}}));
    RETURN_IF_ERROR(CheckSchemaVersion(version));
    RETURN_IF_ERROR(importer.Run(graph_module));
    RETURN_IF_ERROR(importer.AddRanges(ranges));
    return Verify(*sample.module);
  };
  if (const absl::Status status = import(); !status.ok()) {
    return Annotate(status, absl::StrCat(archive.name(), ": ", Printable(record)));
  }
  sample.extra_files.emplace(kProgramFile, std::move(text));
  RETURN_IF_ERROR(ReadExtraFiles(archive, &sample));
  if (options.weights) {
    RETURN_IF_ERROR(ReadWeights(archive, importer.attributes(), options.missing, &sample));
    ReadExampleInputs(archive, program, importer, &sample);
  }
  return sample;
}

// Imports an archive; if it has an owner, values are views of it.
absl::StatusOr<Sample> Import(const SharedBytes& bytes, const std::string& name,
                              const Pt2ImportOptions& options) {
  ASSIGN_OR_RETURN(const Archive archive, Archive::Open(bytes, name));
  const std::vector<std::string> programs = archive.programs();
  std::string program = options.program;
  if (program.empty() && programs.size() == 1) program = programs[0];
  if (std::find(programs.begin(), programs.end(), program) == programs.end()) {
    const std::string held = absl::StrJoin(programs, ", ");
    return absl::InvalidArgumentError(absl::StrCat(
        archive.name(), ": ",
        programs.empty()  ? "holds no program"
        : program.empty() ? absl::StrCat("holds several programs: ", Printable(held, 1000))
                          : absl::StrCat("holds no program ", Printable(program), "; it holds ",
                                         Printable(held, 1000))));
  }
  ASSIGN_OR_RETURN(Sample sample, ImportProgram(archive, program, options));
  sample.name = Stem(name);
  if (programs.size() > 1) absl::StrAppend(&sample.name, "_", program);
  bytes.Release();
  return sample;
}

}  // namespace

absl::StatusOr<Sample> ImportPt2(absl::string_view bytes, const std::string& name,
                                 const Pt2ImportOptions& options) {
  return Import(SharedBytes(nullptr, bytes), name, options);
}

absl::StatusOr<Sample> ImportPt2File(const std::string& path, const std::string& name,
                                     const Pt2ImportOptions& options) {
  ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path, kMaxArchiveBytes));
  return Import(std::make_shared<const MappedFile>(std::move(file)), name, options);
}

absl::StatusOr<Sample> ImportPt2File(const std::string& path, const Pt2ImportOptions& options) {
  return ImportPt2File(path, path, options);
}

absl::StatusOr<std::vector<std::string>> ListPt2Programs(absl::string_view bytes,
                                                         const std::string& name) {
  ASSIGN_OR_RETURN(const Archive archive, Archive::Open(SharedBytes(nullptr, bytes), name));
  return archive.programs();
}

bool LooksLikePt2(absl::string_view bytes) {
  if (!absl::StartsWith(bytes, "PK\x03\x04")) return false;
  const absl::StatusOr<ZipReader> zip = ZipReader::Open(bytes, "");
  if (!zip.ok()) return false;
  if (FlatRootOf(*zip)) return true;
  const absl::string_view root = FolderOf(*zip);
  return std::any_of(zip->entries().begin(), zip->entries().end(), [&](const ZipEntry& entry) {
    return entry.name == absl::StrCat(root, "archive_format") ||
           !ProgramOf(entry.name, root).empty();
  });
}

}  // namespace graphnet
