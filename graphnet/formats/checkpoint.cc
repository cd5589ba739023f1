#include "graphnet/formats/checkpoint.h"

#include <cstdint>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/pt2/payloads.h"
#include "graphnet/formats/pt2/pickled_tensors.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/formats/source.h"
#include "graphnet/ir/annotation.h"

namespace graphnet {
namespace {

using Tensors = std::map<std::string, TensorData>;

bool IsThere(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// Reads the archive of a state_dict.
absl::Status ReadSaved(Source& source, Checkpoint* checkpoint) {
  ASSIGN_OR_RETURN(const SharedBytes archive, source.archive());
  pt2::Payloads payloads;
  ASSIGN_OR_RETURN(checkpoint->num_others, ReadPickledTables(archive, &payloads));
  uint64_t spare = pt2::kMaxExpandedBytes;
  for (const auto& [name, payload] : payloads) {
    absl::StatusOr<TensorData> data = ReadStorage(payload.tensor, payload.storage, &spare);
    if (!data.ok()) return Annotate(data.status(), Printable(name));
    checkpoint->tensors[name] = *std::move(data);
  }
  return absl::OkStatus();
}

// Reads the files that an index names, which lie beside it: {"weight_map": {"fc.bias": FILE, …}}.
absl::Status ReadIndexed(const std::string& path, Checkpoint* checkpoint) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxTextFileBytes));
  ASSIGN_OR_RETURN(const Json index, Json::ParseObject(text, path));
  const Json* const map = index.Find("weight_map");
  if (map == nullptr || !map->is_object())
    return absl::InvalidArgumentError("an index of a checkpoint has a weight_map");
  std::set<std::string> files;
  for (const auto& [name, file] : map->members()) {
    if (file.text() == nullptr || absl::StrContains(*file.text(), '/') ||
        !absl::EndsWith(*file.text(), ".safetensors"))
      return absl::InvalidArgumentError(
          "its weight_map names .safetensors files that lie beside it");
    files.insert(*file.text());
  }
  for (const std::string& file : files) {
    const std::string part = JoinPath(std::filesystem::path(path).parent_path().string(), file);
    ASSIGN_OR_RETURN(Tensors read, ReadSafetensorsFile(part));
    checkpoint->tensors.merge(read);
  }
  return absl::OkStatus();
}

absl::Status Read(const std::string& path, Checkpoint* checkpoint) {
  Source source = Source::OfPath(path, /*is_named=*/true);
  ASSIGN_OR_RETURN(const absl::string_view head, source.head());
  if (absl::EndsWith(path, ".index.json")) return ReadIndexed(path, checkpoint);
  // The header of safetensors is an object, behind its size.
  if (!source.is_zip() && head.size() > 8 && head[8] == '{' && !absl::StartsWith(head, "{")) {
    ASSIGN_OR_RETURN(checkpoint->tensors, ReadSafetensorsFile(path));
    return absl::OkStatus();
  }
  const absl::StatusOr<const Format*> format = Recognise(path);
  if (format.ok()) {
    ASSIGN_OR_RETURN(Sample sample, Load(path, {.weights = true}));
    // The other values are example inputs.
    for (const Attribute& attribute : sample.module->attributes())
      checkpoint->tensors.insert(sample.weights.extract(std::string(attribute.name)));
    for (const Node* input : sample.module->main()->placeholders()) {
      if (input->annotation() == kParameterAnnotation)
        checkpoint->tensors.insert(sample.weights.extract(std::string(input->target())));
    }
    return absl::OkStatus();
  }
  if (source.is_zip()) return ReadSaved(source, checkpoint);
  if (absl::StartsWith(head, "\x80") && head.size() > 1 && head[1] <= 5) {
    return absl::InvalidArgumentError(
        "a pickle, which is never executed; torch.save(torch.load(FILE, weights_only=True), NEW) "
        "writes a state_dict as an archive, which is read");
  }
  return absl::InvalidArgumentError(
      "not a checkpoint: neither safetensors, their index, an archive of torch.save, nor a program "
      "with values");
}

}  // namespace

absl::StatusOr<Checkpoint> ReadCheckpoint(const std::string& path) {
  std::string file = path;
  std::string below;
  if (const size_t mark = path.rfind('#'); mark != std::string::npos && !IsThere(path)) {
    file = path.substr(0, mark);
    below = absl::StrCat(path.substr(mark + 1), absl::EndsWith(path, ".") ? "" : ".");
  }
  Checkpoint checkpoint = {.file = path};
  if (absl::Status status = Read(file, &checkpoint); !status.ok()) {
    const std::string shown = Printable(file, 1000);
    return absl::StartsWith(status.message(), shown) ? status : Annotate(status, shown);
  }
  if (!below.empty()) {
    Tensors kept;
    for (auto& [name, data] : checkpoint.tensors) {
      absl::string_view rest = name;
      if (absl::ConsumePrefix(&rest, below)) kept[std::string(rest)] = std::move(data);
    }
    checkpoint.tensors = std::move(kept);
  }
  if (checkpoint.tensors.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(path, 1000), ": there are no tensors in this checkpoint"));
  }
  return checkpoint;
}

}  // namespace graphnet
