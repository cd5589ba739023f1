#include "graphnet/evaluate/remote_cache.h"

#include <filesystem>
#include <limits>
#include <map>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/digest.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/mapped_file.h"
#include "graphnet/base/status.h"
#include "graphnet/evaluate/compile_cache.h"
#include "graphnet/evaluate/fetch_text.h"

namespace graphnet {
namespace {

constexpr size_t kMaxIndexBytes = size_t{64} << 20;
constexpr size_t kAnySize = std::numeric_limits<size_t>::max();
constexpr int kVersion = 1;

bool IsDigest(absl::string_view text) {
  return text.size() == 64 && absl::c_all_of(text, [](char c) {
           return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

absl::StatusOr<std::unique_ptr<RemoteCache>> RemoteCache::Open(Options options) {
  if (!absl::StartsWith(options.url, "http://") && !absl::StartsWith(options.url, "https://")) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(options.url, 1000), ": expected a URL such as http://host/folder"));
  }
  options.url = std::string(absl::StripSuffix(options.url, "/"));
  if (!IsDigest(options.digest)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(options.digest, 200),
                     ": expected the SHA-256 of the cache's index, 64 hexadecimal digits"));
  }
  std::unique_ptr<RemoteCache> cache(new RemoteCache(std::move(options)));
  ASSIGN_OR_RETURN(cache->folder_, ScratchFolder::Make());
  const std::string& folder = cache->folder_->path();
  const std::string script = JoinPath(folder, "fetch.py");
  RETURN_IF_ERROR(WriteFileAtomic(script, FetchPy()));
  ASSIGN_OR_RETURN(
      cache->process_,
      WorkerProcess::Start(
          {.command = {cache->options_.python, script}, .environment = {}, .folder = folder}));
  const std::string path = JoinPath(folder, "index.json");
  const absl::Status fetched =
      cache->Download("index.json", path, static_cast<int64_t>(kMaxIndexBytes));
  if (!fetched.ok()) return cache;  // Download() has noted the error.
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxIndexBytes));
  RETURN_IF_ERROR(
      Annotate(cache->ReadIndex(text), absl::StrCat(Printable(cache->options_.url, 1000))));
  return cache;
}

absl::Status RemoteCache::ReadIndex(const std::string& text) {
  if (const std::string digest = Sha256(text); digest != options_.digest) {
    return absl::FailedPreconditionError(absl::StrCat(
        "its index is not the trusted one: the SHA-256 is ", digest, ", not ", options_.digest));
  }
  const Json index = Json::Parse(text);
  const Json* const entries = index.Find("entries");
  if (index.Get<int>("version") != kVersion || entries == nullptr || !entries->is_object())
    return absl::FailedPreconditionError("its index is not of this version of graphnet");
  for (const auto& [name, entry] : entries->members()) {
    const auto bytes = entry.Get<int64_t>("bytes");
    const auto digest = entry.Get<std::string>("sha256");
    if (bytes && digest) entries_[name] = {*bytes, *digest};
  }
  return absl::OkStatus();
}

absl::Status RemoteCache::Download(const std::string& name, const std::string& path,
                                   int64_t max_bytes) {
  if (process_ == nullptr) return absl::UnavailableError("the server has failed");
  const std::string url = absl::StrCat(options_.url, "/", name);
  const Json request = Json::Object({{"url", url}, {"path", path}, {"max_bytes", max_bytes}});
  const absl::StatusOr<std::string> answer =
      process_->Ask(request.Dump(/*indent=*/-1, /*is_ascii=*/true), options_.patience);
  std::string error;
  if (!answer.ok()) {
    error = std::string(answer.status().message());
  } else if (const Json json = Json::Parse(*answer); !json.is_object()) {
    error = "the program that fetches gave an invalid answer";
  } else if (json.Find("error") != nullptr) {
    error = json.Get<std::string>("error").value_or("?");
  }
  if (error.empty()) return absl::OkStatus();
  process_ = nullptr;
  if (options_.note) {
    options_.note(absl::StrCat(Printable(url, 1000), ": ", Printable(error, 300),
                               "; the cache behind this URL is not used any more"));
  }
  return absl::UnavailableError(error);
}

absl::Status RemoteCache::Fetch(const std::string& name, const std::string& path) {
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) return absl::NotFoundError("");
  RETURN_IF_ERROR(Download(absl::StrCat("entries/", name.substr(0, 2), "/", name, "/compiled"),
                           path, entry->second.bytes));
  ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path, kAnySize));
  if (static_cast<int64_t>(file.bytes().size()) == entry->second.bytes &&
      Sha256(file.bytes()) == entry->second.sha256) {
    return absl::OkStatus();
  }
  if (options_.note)
    options_.note(absl::StrCat(Printable(options_.url, 1000), ": entry ", name,
                               " is not what the index says; it is compiled here"));
  return absl::DataLossError("the bytes differ from the index");
}

absl::StatusOr<std::string> WriteCacheIndex(const std::string& folder) {
  const std::filesystem::path entries = std::filesystem::path(folder) / "entries";
  std::error_code error;
  if (!std::filesystem::is_directory(entries, error)) {
    return absl::NotFoundError(
        absl::StrCat(Printable(folder, 1000), ": not a cache; graphnet run --cache makes one"));
  }
  std::map<std::string, Json> found;
  for (const auto& part : std::filesystem::directory_iterator(entries, error)) {
    for (const auto& entry : std::filesystem::directory_iterator(part.path(), error)) {
      const std::string name = entry.path().filename().string();
      const absl::StatusOr<CacheEntry> described = DescribeCacheEntry(entry.path().string());
      if (!described.ok() || described->name != name) continue;
      found[name] = Json::Object({{"bytes", described->bytes}, {"sha256", described->sha256}});
    }
  }
  Json index = Json::Object({{"entries", Json::Object()}, {"version", kVersion}});
  for (auto& [name, entry] : found) index["entries"][name] = std::move(entry);
  const std::string text = absl::StrCat(index.Dump(1), "\n");
  RETURN_IF_ERROR(WriteFileAtomic(JoinPath(folder, "index.json"), text));
  return Sha256(text);
}

}  // namespace graphnet
