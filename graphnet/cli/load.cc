#include "graphnet/cli/load.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/mapped_file.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/shared_bytes.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/engine.h"
#include "graphnet/cli/foreign.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/formats/pir/reader.h"
#include "graphnet/formats/pt2/importer.h"
#include "graphnet/inputs/weights.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/proto/sample_proto.h"
#include "graphnet/text/parser.h"

namespace graphnet {
namespace {

constexpr size_t kHeadBytes = 4096;

// The start of a regular file: enough to recognise every format by.
absl::StatusOr<std::string> ReadHead(const std::string& path) {
  ASSIGN_OR_RETURN(const bool regular, IsRegularFile(path));
  if (!regular) {
    return absl::InvalidArgumentError(absl::StrCat(Printable(path, 1000), ": not a regular file"));
  }
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (file == nullptr) {
    return absl::PermissionDeniedError(absl::StrCat("cannot open ", Printable(path, 1000)));
  }
  std::string head(kHeadBytes, '\0');
  head.resize(std::fread(head.data(), 1, head.size(), file.get()));
  return head;
}

std::optional<Format> FormatOfHead(absl::string_view head) {
  if (absl::StartsWith(head, "PK\x03\x04")) return Format::kTorchScript;
  if (LooksLikeSample(head)) return Format::kProtobuf;
  if (LooksLikeText(head)) return Format::kText;
  if (pir::LooksLikePir(head)) return Format::kPir;
  return std::nullopt;
}

// A path, and the program that it names in an archive; none: "".
struct ProgramPath {
  std::string file;
  std::string program;
};

ProgramPath SplitProgram(const std::string& path) {
  const size_t at = path.rfind('#');
  if (at == std::string::npos || FileExists(path)) return {path, ""};
  return {path.substr(0, at), path.substr(at + 1)};
}

bool IsPt2File(const std::string& path) {
  const absl::StatusOr<MappedFile> file = MappedFile::Open(path, kMaxArchiveBytes);
  return file.ok() && LooksLikePt2(file->bytes());
}

// The programs of an archive of torch.export where there are several, else the file itself;
// nothing if it holds no program.
void AddArchive(const std::string& path, std::vector<std::string>* inputs) {
  const absl::StatusOr<MappedFile> file = MappedFile::Open(path, kMaxArchiveBytes);
  if (file.ok() && !DescribeForeignArchive(file->bytes()).empty()) return;
  if (file.ok() && LooksLikePt2(file->bytes())) {
    const auto programs = ListPt2Programs(file->bytes(), path);
    if (programs.ok() && programs->size() > 1) {
      for (const std::string& program : *programs) {
        inputs->push_back(absl::StrCat(path, "#", program));
      }
      return;
    }
  }
  inputs->push_back(path);
}

absl::Status FindIn(const std::string& folder, int depth, std::vector<std::string>* inputs) {
  if (depth > kMaxNesting) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(folder, 1000), ": folders nest too deep"));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
  for (const std::string& name : names) {
    if (absl::StartsWith(name, ".")) continue;
    const std::string path = JoinPath(folder, name);
    if (IsFolder(path)) {
      if (IsGraphNetFolder(path)) {
        inputs->push_back(path);
        continue;
      }
      // Links to samples are followed. Any other may lead anywhere, and around in circles.
      if (std::error_code ignored; std::filesystem::is_symlink(path, ignored)) continue;
      // The others go on where one cannot be listed.
      if (!FindIn(path, depth + 1, inputs).ok()) inputs->push_back(path);
      continue;
    }
    const absl::StatusOr<std::string> head = ReadHead(path);
    const std::optional<Format> format = head.ok() ? FormatOfHead(*head) : std::nullopt;
    if (format == Format::kTorchScript) {
      AddArchive(path, inputs);
    } else if (format.has_value()) {
      inputs->push_back(path);
    }
  }
  return absl::OkStatus();
}

// Text, a fragment too.
absl::StatusOr<Sample> LoadText(absl::string_view text, const std::string& name) {
  ASSIGN_OR_RETURN(Sample sample, ParseSample(text, name));
  if (sample.module == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(Printable(name, 1000), ": holds no module"));
  }
  RETURN_IF_ERROR(Annotate(Verify(*sample.module), name));
  return sample;
}

absl::StatusOr<Sample> LoadPir(absl::string_view text, const std::string& name) {
  Sample sample;
  ASSIGN_OR_RETURN(sample.module, pir::ReadPir(text, name));
  return sample;
}

absl::StatusOr<Sample> LoadTorchScript(const SharedBytes& bytes, const std::string& name,
                                       const LoadOptions& options) {
  const absl::StatusOr<const Engine*> engine = OpenEngine();
  if (!engine.ok()) return Annotate(engine.status(), Printable(name, 1000));
  ASSIGN_OR_RETURN(Sample sample, (*engine)->ImportTorchScript(bytes, name, options));
  RETURN_IF_ERROR(Annotate(Verify(*sample.module), name));
  return sample;
}

// The most that is read of a format that cannot be read in parts.
size_t MaxBytes(Format format) {
  if (format == Format::kText || format == Format::kPir) return kMaxTextFileBytes;
  if (format == Format::kProtobuf) return kMaxProtoBytes;
  return std::min<size_t>(kMaxArchiveBytes, static_cast<size_t>(AvailableMemoryBytes()) / 3);
}

// Marks errors of inputs that cannot be used.
constexpr char kUnusable[] = "graphnet.unusable";

absl::Status Unusable(absl::Status status) {
  if (!status.ok()) status.SetPayload(kUnusable, absl::Cord());
  return status;
}

absl::Status Foreign(const std::string& path, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(Printable(path, 1000), ": ", what));
}

// What a file that begins so holds, be it text that is a fragment; the error says what it is
// else.
absl::StatusOr<Format> FormatOfFile(absl::string_view head, const std::string& name) {
  if (const std::optional<Format> format = FormatOfHead(head)) return *format;
  // Found in a folder it may be anything; whoever names it means it.
  if (LooksLikeText(head, /*fragments=*/true)) return Format::kText;
  std::string known = DescribeForeignFile(head);
  if (known.empty()) {
    known =
        "neither a GraphNet folder, an archive of TorchScript or torch.export, a graphnet "
        "protobuf, graphnet text nor text of PIR";
  }
  return Foreign(name, known);
}

// A folder that is no sample.
absl::Status DescribeFolder(const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(path));
  // Not further down: this may be the root of a disk.
  const bool has_samples = absl::c_any_of(names, [&](const std::string& name) {
    const std::string below = JoinPath(path, name);
    if (IsFolder(below)) return IsGraphNetFolder(below);
    const absl::StatusOr<std::string> head = ReadHead(below);
    return head.ok() && FormatOfHead(*head).has_value();
  });
  if (has_samples) {
    return Foreign(path,
                   "a folder of samples, not one; stats, check, lint, find, hash, run, convert, "
                   "opt, decompose, validate and bench take folders");
  }
  if (const std::string known = DescribeForeignFolder(names); !known.empty())
    return Foreign(path, known);
  return Foreign(path, "not a sample: the folder has no graph_net.json");
}

absl::StatusOr<Format> Recognise(const std::string& path) {
  if (const ProgramPath named = SplitProgram(path); !named.program.empty()) {
    if (IsPt2File(named.file)) return Format::kPt2;
  }
  if (!FileExists(path)) {
    return absl::NotFoundError(absl::StrCat(Printable(path, 1000), ": no such file or folder"));
  }
  if (IsFolder(path)) {
    if (IsGraphNetFolder(path)) return Format::kGraphNetFolder;
    return DescribeFolder(path);
  }
  ASSIGN_OR_RETURN(const std::string head, ReadHead(path));
  ASSIGN_OR_RETURN(const Format format, FormatOfFile(head, path));
  if (format != Format::kTorchScript) return format;
  ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path, kMaxArchiveBytes));
  if (const std::string known = DescribeForeignArchive(file.bytes()); !known.empty())
    return Foreign(path, known);
  // Both are zip archives.
  return LooksLikePt2(file.bytes()) ? Format::kPt2 : format;
}

// The weights of a protobuf lie beside it, so that here it has none.
absl::StatusOr<Sample> LoadStandardInput(const LoadOptions& options) {
  RETURN_IF_ERROR(TakeStandardInput());
  const std::string name = "<stdin>";
  std::string bytes(kHeadBytes, '\0');
  size_t size = 0;
  while (size < kHeadBytes) {
    const ssize_t n = read(STDIN_FILENO, bytes.data() + size, kHeadBytes - size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    size += static_cast<size_t>(n);
  }
  bytes.resize(size);
  // Before more is read: it may have no end.
  const absl::StatusOr<Format> recognised = FormatOfFile(bytes, name);
  if (!recognised.ok()) return Unusable(recognised.status());
  const Format format = *recognised;
  ASSIGN_OR_RETURN(const std::string rest, ReadFile("-", MaxBytes(format)));
  bytes += rest;
  if (format == Format::kProtobuf) return DeserializeSample(bytes, name);
  if (format == Format::kText) return LoadText(bytes, name);
  if (format == Format::kPir) return LoadPir(bytes, name);
  if (const std::string known = DescribeForeignArchive(bytes); !known.empty())
    return Unusable(Foreign(name, known));
  absl::StatusOr<Sample> sample = LooksLikePt2(bytes)
                                      ? ImportPt2(bytes, name, {.weights = options.weights})
                                      : LoadTorchScript(SharedBytes(nullptr, bytes), name, options);
  if (sample.ok()) sample->name.clear();
  return sample;
}

}  // namespace

absl::StatusOr<Format> RecogniseFormat(const std::string& path) {
  absl::StatusOr<Format> format = Recognise(path);
  return format.ok() ? format : Unusable(format.status());
}

bool IsUnusable(const absl::Status& status) { return status.GetPayload(kUnusable).has_value(); }

absl::Status TakeStandardInput() {
  static std::atomic<bool> is_taken = false;
  if (!is_taken.exchange(true)) return absl::OkStatus();
  return absl::FailedPreconditionError("the standard input can be read only once");
}

namespace {

// Statistics aside.
absl::StatusOr<Sample> LoadFile(const std::string& path, Format format,
                                const LoadOptions& options) {
  switch (format) {
    case Format::kGraphNetFolder: return ReadGraphNetFolder(path);
    case Format::kProtobuf: return ReadSampleFile(path, options.weights);
    case Format::kText: {
      ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxTextFileBytes));
      ASSIGN_OR_RETURN(Sample sample, LoadText(text, path));
      if (sample.name.empty()) sample.name = BaseName(path);
      return sample;
    }
    case Format::kPir: {
      ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxTextFileBytes));
      ASSIGN_OR_RETURN(Sample sample, LoadPir(text, path));
      sample.name = BaseName(path);
      return sample;
    }
    case Format::kTorchScript: {
      ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path, kMaxArchiveBytes));
      return LoadTorchScript(std::make_shared<const MappedFile>(std::move(file)), path, options);
    }
    case Format::kPt2: {
      const ProgramPath named = SplitProgram(path);
      return ImportPt2File(named.file, {.program = named.program, .weights = options.weights});
    }
  }
  return absl::InternalError("unknown format");
}

bool HoldsWeights(Format format) {
  return format == Format::kProtobuf || format == Format::kTorchScript || format == Format::kPt2;
}

// An input whose shape is known may have the value that a program was saved with.
bool IsDescribed(const Module& module) {
  return absl::c_all_of(
             module.attributes(),
             [](const Attribute& attribute) { return attribute.draw_spec != nullptr; }) &&
         absl::c_all_of(module.main()->placeholders(), [](const Node* input) {
           return input->draw_spec() != nullptr || input->tensor_meta() == nullptr;
         });
}

}  // namespace

absl::StatusOr<Sample> LoadSample(const std::string& path, const LoadOptions& options) {
  LoadOptions load = options;
  load.weights |= options.values_if_there;
  if (path == "-") {
    load.weights |= options.statistics;  // it can be read once
    ASSIGN_OR_RETURN(Sample sample, LoadStandardInput(load));
    if (options.statistics) DescribeWeights(&sample);
    if (!options.weights && !options.values_if_there) sample.weights.clear();
    return sample;
  }
  ASSIGN_OR_RETURN(const Format format, RecogniseFormat(path));
  // The file beside a protobuf may be gone.
  const auto load_tolerantly = [&]() -> absl::StatusOr<Sample> {
    absl::StatusOr<Sample> sample = LoadFile(path, format, load);
    if (options.weights || !load.weights || !absl::IsNotFound(sample.status())) return sample;
    load.weights = false;
    return LoadFile(path, format, load);
  };
  ASSIGN_OR_RETURN(Sample sample, load_tolerantly());
  if (options.statistics && HoldsWeights(format) && !IsDescribed(*sample.module)) {
    if (!load.weights && !options.values_if_there) {
      load.weights = true;
      ASSIGN_OR_RETURN(sample, load_tolerantly());
    }
    DescribeWeights(&sample);
  }
  if (!options.weights && !options.values_if_there) sample.weights.clear();
  return sample;
}

absl::StatusOr<std::vector<std::string>> FindInputs(const std::vector<std::string>& paths) {
  std::vector<std::string> inputs;
  for (const std::string& path : paths) {
    if (IsFolderOfSamples(path)) {
      const size_t before = inputs.size();
      absl::Status status = FindIn(path, 0, &inputs);
      if (status.ok() && inputs.size() == before) {
        status =
            absl::NotFoundError(absl::StrCat(Printable(path, 1000), ": no samples in this folder"));
      }
      if (!status.ok() && paths.size() == 1) return Unusable(status);
      if (!status.ok()) inputs.push_back(path);
      continue;
    }
    if (path == "-") {
      inputs.push_back(path);
      continue;
    }
    const absl::StatusOr<Format> format = RecogniseFormat(path);
    if (!format.ok() && paths.size() == 1) return format.status();
    if (format.ok() && *format == Format::kPt2) {
      AddArchive(path, &inputs);
    } else {
      inputs.push_back(path);
    }
  }
  return inputs;
}

bool IsFolderOfSamples(const std::string& path) {
  return IsFolder(path) && !IsGraphNetFolder(path);
}

}  // namespace graphnet
