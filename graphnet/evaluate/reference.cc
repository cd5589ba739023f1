#include "graphnet/evaluate/reference.h"

#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graphnet/base/digest.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/mapped_file.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/safetensors/safetensors.h"

namespace graphnet {
namespace {

constexpr char kIndex[] = "reference.json";
constexpr char kFormat[] = "graphnet reference";
constexpr size_t kMaxIndexBytes = size_t{1} << 30;
constexpr size_t kAnyFileSize = std::numeric_limits<size_t>::max();

std::string OutputsFileOf(size_t index) { return absl::StrCat("outputs/", index, ".safetensors"); }

// Returns the size and the SHA-256 of a file.
absl::StatusOr<std::pair<uint64_t, std::string>> SizeAndDigest(const std::string& path) {
  ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path, kAnyFileSize));
  return std::pair<uint64_t, std::string>(file.bytes().size(), Sha256(file.bytes()));
}

absl::Status NotWhole(const std::string& folder, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(Printable(folder, 1000), ": the reference is not whole: ", why));
}

Json JsonOf(const ReferenceSample& sample) {
  Json json = Json::Object({{"path", sample.path},
                            {"name", sample.name},
                            {"graph", sample.digests.graph},
                            {"values", sample.digests.values}});
  if (sample.is_scaled) json["drawing"] = "fan_in";
  if (!sample.failure.empty()) json["failure"] = sample.failure;
  for (const auto& [backend, times] : sample.eager) {
    for (const auto& [measure, blocks] : times) json["eager"][backend][measure] = blocks;
  }
  return json;
}

std::optional<ReferenceSample> SampleOf(const Json& json) {
  ReferenceSample sample;
  const auto path = json.Get<std::string>("path");
  const auto name = json.Get<std::string>("name");
  const auto graph = json.Get<std::string>("graph");
  const auto values = json.Get<std::string>("values");
  if (!path || !name || !graph || !values) return std::nullopt;
  sample.path = *path;
  sample.name = *name;
  sample.digests = {*graph, *values};
  sample.is_scaled = json.Find("drawing") != nullptr;
  sample.failure = json.Get<std::string>("failure").value_or("");
  const Json* const eager = json.Find("eager");
  if (eager == nullptr) return sample;
  for (const auto& [backend, times] : eager->members()) {
    for (const auto& [measure, blocks] : times.members()) {
      auto ms = blocks.To<std::vector<std::vector<double>>>();
      if (!ms) return std::nullopt;
      sample.eager[backend].emplace_back(measure, *std::move(ms));
    }
  }
  return sample;
}

}  // namespace

absl::Status ReferenceWriter::AddFile(const std::string& name) {
  ASSIGN_OR_RETURN(files_[name], SizeAndDigest(JoinPath(folder_, name)));
  return absl::OkStatus();
}

absl::Status ReferenceWriter::Add(const ReferenceSample& sample, const Outputs& outputs) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const std::string name = OutputsFileOf(samples_.size());
  samples_.push_back(sample);
  if (!sample.failure.empty()) return absl::OkStatus();
  std::map<std::string, TensorData> named;
  for (size_t i = 0; i < outputs.size(); ++i) named[absl::StrCat(i)] = outputs[i];
  const std::string path = JoinPath(folder_, name);
  RETURN_IF_ERROR(MakeFoldersOf(path));
  RETURN_IF_ERROR(WriteSafetensorsFile(named, path));
  return AddFile(name);
}

absl::Status ReferenceWriter::Finish(const std::string& bench_folder,
                                     const std::vector<std::string>& backends,
                                     const ReferenceEnvironment& environment) {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::vector<std::string> copied = {"bench.json"};
  for (const std::string& backend : backends) {
    copied.push_back(absl::StrCat(backend, ".log"));
    copied.push_back(absl::StrCat(backend, ".jsonl"));
  }
  for (const std::string& name : copied) {
    RETURN_IF_ERROR(CopyFileAtomic(JoinPath(bench_folder, name), JoinPath(folder_, name)));
    RETURN_IF_ERROR(AddFile(name));
  }
  Json index = Json::Object({{"format", kFormat}, {"version", kReferenceVersion}});
  for (const auto& [key, value] : environment) index["environment"][key] = value;
  index["samples"] = Json::List();
  for (const ReferenceSample& sample : samples_) index["samples"].push_back(JsonOf(sample));
  for (const auto& [name, file] : files_)
    index["files"][name] = Json::Object({{"bytes", file.first}, {"sha256", file.second}});
  return WriteFileAtomic(JoinPath(folder_, kIndex), index.Dump() + "\n");
}

absl::StatusOr<Reference> Reference::Read(const std::string& folder) {
  Reference reference;
  reference.folder_ = folder;
  const std::string path = JoinPath(folder, kIndex);
  if (!FileExists(path)) {
    return absl::NotFoundError(
        absl::StrCat(Printable(folder, 1000), ": no reference, which has a ", kIndex));
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxIndexBytes));
  const absl::StatusOr<Json> index = Json::ParseObject(text, path);
  if (!index.ok()) return NotWhole(folder, index.status().message());
  const auto version = index->Get<int>("version");
  if (index->Get<std::string>("format") != kFormat || !version) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(path, 1000), ": not the index of a reference"));
  }
  if (*version > kReferenceVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(folder, 1000), ": the reference has format version ", *version,
                     ", and this graphnet reads up to ", kReferenceVersion));
  }
  if (const Json* const environment = index->Find("environment")) {
    for (const auto& [key, value] : environment->members())
      if (value.text() != nullptr) reference.environment_[key] = *value.text();
  }
  const Json* const samples = index->Find("samples");
  const Json* const files = index->Find("files");
  if (samples == nullptr || files == nullptr) return NotWhole(folder, "it lacks lists");
  for (const Json& json : samples->elements()) {
    std::optional<ReferenceSample> sample = SampleOf(json);
    if (!sample) return NotWhole(folder, "it has a sample that cannot be read");
    reference.samples_.push_back(*std::move(sample));
  }
  for (const auto& [name, file] : files->members()) {
    reference.files_[name] = {file.Get<uint64_t>("bytes").value_or(0),
                              file.Get<std::string>("sha256").value_or("")};
  }
  RETURN_IF_ERROR(reference.CheckFile("bench.json", true));
  for (size_t i = 0; i < reference.samples_.size(); ++i) {
    if (reference.samples_[i].failure.empty())
      RETURN_IF_ERROR(reference.CheckFile(OutputsFileOf(i), false));
  }
  return reference;
}

// Checks the size of a file, or its content as a whole.
absl::Status Reference::CheckFile(const std::string& name, bool whole) const {
  const auto it = files_.find(name);
  const std::string path = JoinPath(folder_, name);
  if (it == files_.end() || !FileExists(path))
    return NotWhole(folder_, absl::StrCat(name, " is missing"));
  ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  const auto& [bytes, sha256] = it->second;
  if (file.size() != bytes) {
    return NotWhole(folder_, absl::StrCat(name, " has ", file.size(), " bytes instead of ", bytes));
  }
  if (!whole) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto now, SizeAndDigest(path));
  if (now.second == sha256) return absl::OkStatus();
  return NotWhole(folder_, absl::StrCat(name, " has been changed"));
}

const ReferenceSample* Reference::Find(absl::string_view path, absl::string_view name) const {
  const ReferenceSample* found = nullptr;
  for (const ReferenceSample& sample : samples_) {
    if (sample.name != name) continue;
    if (sample.path == path) return &sample;
    if (found != nullptr) return nullptr;  // several, of which none is meant
    found = &sample;
  }
  return found;
}

std::string Reference::LogOf(const std::string& backend) const {
  const std::string name = absl::StrCat(backend, ".log");
  return files_.contains(name) ? JoinPath(folder_, name) : "";
}

absl::Status Reference::CheckSame(const ReferenceSample& sample, const SampleDigests& now) {
  if (sample.digests.graph != now.graph) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the reference is of another sample: its graph has the digest ",
        sample.digests.graph.substr(0, 12), ", and this one ", now.graph.substr(0, 12)));
  }
  if (sample.digests.values != now.values) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the reference is of other weights or inputs: they have the digest ",
        sample.digests.values.substr(0, 12), ", and these ", now.values.substr(0, 12)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Outputs> Reference::OutputsOf(const ReferenceSample& sample) const {
  const std::string name = OutputsFileOf(static_cast<size_t>(&sample - samples_.data()));
  RETURN_IF_ERROR(CheckFile(name, true));
  return ReadOutputs(JoinPath(folder_, name));
}

EagerTimes EagerTimesOf(const ReferenceSample& sample, const std::string& backend) {
  if (sample.eager.empty()) return {};
  const auto it = sample.eager.find(backend);
  return it != sample.eager.end() ? it->second : sample.eager.begin()->second;
}

}  // namespace graphnet
