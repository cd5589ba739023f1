#include "graphnet/evaluate/remote_cache.h"

#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/digest.h"
#include "graphnet/base/file.h"
#include "graphnet/base/mapped_file.h"
#include "graphnet/base/status.h"
#include "graphnet/evaluate/compile_cache.h"
#include "graphnet/evaluate/fetch_text.h"
#include "nlohmann/json.hpp"

namespace graphnet {
namespace {

using JsonValue = nlohmann::json;

constexpr size_t kMaxIndexBytes = size_t{64} << 20;
constexpr size_t kAnySize = std::numeric_limits<size_t>::max();
constexpr int kVersion = 1;

bool IsDigest(absl::string_view text) {
  return text.size() == 64 && absl::c_all_of(text, [](char c) {
           return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
         });
}

JsonValue Parsed(const std::string& text) {
  return JsonValue::parse(text, nullptr, /*allow_exceptions=*/false);
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
  const JsonValue index = Parsed(text);
  const JsonValue none;
  const auto get = [&none](const JsonValue& value, const char* key) -> const JsonValue& {
    if (!value.is_object()) return none;
    const auto it = value.find(key);
    return it == value.end() ? none : *it;
  };
  if (get(index, "version") != kVersion || !get(index, "entries").is_object())
    return absl::FailedPreconditionError("its index is not of this version of graphnet");
  for (const auto& [name, entry] : get(index, "entries").items()) {
    const JsonValue &bytes = get(entry, "bytes"), &digest = get(entry, "sha256");
    if (!bytes.is_number_integer() || !digest.is_string()) continue;
    entries_[name] = {bytes.get<int64_t>(), digest.get<std::string>()};
  }
  return absl::OkStatus();
}

absl::Status RemoteCache::Download(const std::string& name, const std::string& path,
                                   int64_t max_bytes) {
  if (process_ == nullptr) return absl::UnavailableError("the server has failed");
  const std::string url = absl::StrCat(options_.url, "/", name);
  const JsonValue request = {{"url", url}, {"path", path}, {"max_bytes", max_bytes}};
  const absl::StatusOr<std::string> answer = process_->Ask(
      request.dump(-1, ' ', /*ensure_ascii=*/true, JsonValue::error_handler_t::replace),
      options_.patience);
  std::string error;
  if (!answer.ok()) {
    error = std::string(answer.status().message());
  } else if (const JsonValue json = Parsed(*answer); !json.is_object()) {
    error = "the program that fetches gave an invalid answer";
  } else if (json.contains("error")) {
    error = json["error"].is_string() ? json["error"].get<std::string>() : "?";
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
  JsonValue index = {{"version", kVersion}, {"entries", JsonValue::object()}};
  for (const auto& part : std::filesystem::directory_iterator(entries, error)) {
    for (const auto& entry : std::filesystem::directory_iterator(part.path(), error)) {
      const std::string name = entry.path().filename().string();
      const absl::StatusOr<CacheEntry> described = DescribeCacheEntry(entry.path().string());
      if (!described.ok() || described->name != name) continue;
      index["entries"][name] = {{"bytes", described->bytes}, {"sha256", described->sha256}};
    }
  }
  const std::string text = absl::StrCat(index.dump(1), "\n");
  RETURN_IF_ERROR(WriteFileAtomic(JoinPath(folder, "index.json"), text));
  return Sha256(text);
}

}  // namespace graphnet
