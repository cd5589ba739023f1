#include "graphnet/cli/load.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/foreign.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/formats/torchscript/importer.h"
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
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
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
  return std::nullopt;
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
      // A link may lead anywhere, and around in circles.
      if (std::error_code ignored; std::filesystem::is_symlink(path, ignored)) continue;
      if (IsGraphNetFolder(path)) {
        inputs->push_back(path);
      } else {
        RETURN_IF_ERROR(FindIn(path, depth + 1, inputs));
      }
      continue;
    }
    const absl::StatusOr<std::string> head = ReadHead(path);
    if (head.ok() && FormatOfHead(*head).has_value()) inputs->push_back(path);
  }
  return absl::OkStatus();
}

// Text, a fragment too.
absl::StatusOr<Sample> LoadText(const std::string& path) {
  const bool is_file = path != "-";
  const std::string name = is_file ? path : "<stdin>";
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxTextFileBytes));
  if (!is_file && !LooksLikeText(text, /*fragments=*/true)) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": not graphnet text"));
  }
  ASSIGN_OR_RETURN(Sample sample, ParseSample(text, name));
  if (sample.module == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(Printable(name, 1000), ": holds no module"));
  }
  if (sample.name.empty() && is_file) sample.name = BaseName(path);
  return sample;
}

// What an archive is that was refused, if it is none of TorchScript's.
absl::Status ToldBetter(const std::string& path, absl::Status refused) {
  const absl::StatusOr<std::string> bytes = ReadFile(path, kMaxArchiveBytes);
  const std::string known = bytes.ok() ? DescribeForeignArchive(*bytes) : "";
  if (known.empty()) return refused;
  return absl::InvalidArgumentError(absl::StrCat(Printable(path, 1000), ": ", known));
}

}  // namespace

const char* FormatName(Format format) {
  switch (format) {
    case Format::kGraphNetFolder: return "GraphNet folder";
    case Format::kProtobuf: return "protobuf";
    case Format::kText: return "text";
    case Format::kTorchScript: return "TorchScript";
  }
  return "unknown";
}

absl::StatusOr<Format> RecogniseFormat(const std::string& path) {
  if (path == "-") return Format::kText;
  if (!FileExists(path)) {
    return absl::NotFoundError(absl::StrCat(Printable(path, 1000), ": no such file or folder"));
  }
  if (IsFolder(path)) {
    if (IsGraphNetFolder(path)) return Format::kGraphNetFolder;
    std::vector<std::string> samples;
    if (FindIn(path, 0, &samples).ok() && !samples.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          Printable(path, 1000), ": a folder with ", samples.size(),
          " samples, not one; stats, check, opt, decompose, validate and lint take folders"));
    }
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(path, 1000), ": not a sample: the folder has no graph_net.json"));
  }
  ASSIGN_OR_RETURN(const std::string head, ReadHead(path));
  if (const std::optional<Format> format = FormatOfHead(head)) return *format;
  // Found in a folder it may be anything; whoever names it means it.
  if (LooksLikeText(head, /*fragments=*/true)) return Format::kText;
  if (const std::string known = DescribeForeignFile(head); !known.empty())
    return absl::InvalidArgumentError(absl::StrCat(Printable(path, 1000), ": ", known));
  return absl::InvalidArgumentError(
      absl::StrCat(Printable(path, 1000),
                   ": neither a GraphNet folder, a TorchScript archive, a "
                   "graphnet protobuf nor graphnet text"));
}

absl::StatusOr<Sample> LoadSample(const std::string& path, const LoadOptions& options) {
  ASSIGN_OR_RETURN(const Format format, RecogniseFormat(path));
  switch (format) {
    case Format::kGraphNetFolder: return ReadGraphNetFolder(path);
    case Format::kProtobuf: return ReadSampleFile(path, options.weights);
    case Format::kText: {
      ASSIGN_OR_RETURN(Sample sample, LoadText(path));
      RETURN_IF_ERROR(Annotate(Verify(*sample.module), path));
      return sample;
    }
    case Format::kTorchScript: {
      TorchScriptImportOptions import;
      import.trust = options.trust;
      import.weights = options.weights;
      absl::StatusOr<Sample> sample = ImportTorchScriptFile(path, import);
      if (!sample.ok()) return ToldBetter(path, sample.status());
      RETURN_IF_ERROR(Annotate(Verify(*sample->module), path));
      return sample;
    }
  }
  return absl::InternalError("unknown format");
}

absl::StatusOr<std::vector<std::string>> FindInputs(const std::vector<std::string>& paths) {
  std::vector<std::string> inputs;
  for (const std::string& path : paths) {
    if (IsFolderOfSamples(path)) {
      const size_t before = inputs.size();
      RETURN_IF_ERROR(FindIn(path, 0, &inputs));
      if (inputs.size() == before) {
        return absl::NotFoundError(
            absl::StrCat(Printable(path, 1000), ": no samples in this folder"));
      }
      continue;
    }
    RETURN_IF_ERROR(RecogniseFormat(path).status());
    inputs.push_back(path);
  }
  return inputs;
}

bool IsFolderOfSamples(const std::string& path) {
  return IsFolder(path) && !IsGraphNetFolder(path);
}

}  // namespace graphnet
