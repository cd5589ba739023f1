#include "graphnet/evaluate/compile_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <system_error>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "graphnet/base/digest.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/mapped_file.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

constexpr int kVersion = 1;
constexpr size_t kMaxEntryJson = size_t{1} << 20;
constexpr size_t kAnySize = std::numeric_limits<size_t>::max();
constexpr char kEntry[] = "entry.json";
constexpr char kCompiled[] = "compiled";

std::string TextOf(const CompileKey& key) {
  std::map<std::string, Json> parts = {{"version", kVersion}};
  for (const auto& [name, value] : key) parts[name] = value;
  Json json;
  for (const auto& [name, value] : parts) json[name] = value;
  return json.Dump(/*indent=*/-1, /*is_ascii=*/true);
}

// Returns whether a file or folder is the user's own and no other user may write to it.
bool IsOwn(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && info.st_uid == geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0 && !S_ISLNK(info.st_mode);
}

// Takes from others the right to write, which the umask of a group that shares files gives them:
// IsOwn would refuse the entry.
absl::Status MakePrivate(const std::string& folder) {
  std::error_code error;
  for (const std::string& path : {folder, JoinPath(folder, kEntry), JoinPath(folder, kCompiled)}) {
    std::filesystem::permissions(
        path, std::filesystem::perms::group_write | std::filesystem::perms::others_write,
        std::filesystem::perm_options::remove, error);
    if (error)
      return absl::InternalError(absl::StrCat("cannot change the permissions of ",
                                              Printable(path, 1000), ": ", error.message()));
  }
  return absl::OkStatus();
}

// A lock on a file, which the system releases at the latest when the process ends.
class FileLock {
 public:
  static absl::StatusOr<FileLock> Take(const std::string& path, absl::Duration patience) {
    FileLock lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (lock.fd_ < 0)
      return absl::UnavailableError(absl::StrCat("cannot open ", Printable(path, 1000)));
    const absl::Time end = absl::Now() + patience;
    while (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
      if (absl::Now() > end) return absl::DeadlineExceededError("another process has it");
      absl::SleepFor(absl::Milliseconds(10));
    }
    return lock;
  }
  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~FileLock() {
    if (fd_ >= 0) close(fd_);
  }

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

// Removes unfinished versions of this entry, whose lock is held, that interrupted processes left.
void RemoveUnfinished(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path path(folder);
  std::vector<std::filesystem::path> found;
  for (const auto& file : std::filesystem::directory_iterator(path.parent_path(), error)) {
    const std::string name = file.path().filename().string();
    if (name != path.filename() && absl::StrContains(name, path.filename().string()))
      found.push_back(file.path());
  }
  for (const std::filesystem::path& file : found) std::filesystem::remove_all(file, error);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CompileCache>> CompileCache::Open(Options options) {
  std::error_code error;
  options.folder = std::filesystem::absolute(options.folder).string();
  const bool is_new = !FileExists(options.folder) && !IsFolder(options.folder);
  for (const char* part : {"entries", "locks"})
    std::filesystem::create_directories(JoinPath(options.folder, part), error);
  if (is_new && !error) {
    std::filesystem::permissions(options.folder, std::filesystem::perms::owner_all, error);
  }
  if (error) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot create the cache ", Printable(options.folder, 1000), ": ", error.message()));
  }
  if (!IsOwn(std::filesystem::canonical(options.folder, error).string())) {
    return absl::PermissionDeniedError(
        absl::StrCat("the cache ", Printable(options.folder, 1000),
                     " belongs to another user, or others may write to it"));
  }
  return std::unique_ptr<CompileCache>(new CompileCache(std::move(options)));
}

absl::StatusOr<CacheEntry> DescribeCacheEntry(const std::string& folder) {
  const std::string entry = JoinPath(folder, kEntry);
  const std::string compiled = JoinPath(folder, kCompiled);
  if (!IsOwn(folder) || !IsOwn(entry) || !IsOwn(compiled)) return absl::NotFoundError("");
  ASSIGN_OR_RETURN(const std::string read, ReadFile(entry, kMaxEntryJson));
  const Json json = Json::Parse(read);
  ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(compiled, kAnySize));
  CacheEntry out{.bytes = static_cast<int64_t>(file.bytes().size()),
                 .sha256 = Sha256(file.bytes())};
  const auto made_of = json.Get<std::string>("made_of");
  if (!made_of || json.Get<int64_t>("bytes") != out.bytes ||
      json.Get<std::string>("sha256") != out.sha256) {
    return absl::NotFoundError("");
  }
  out.name = Sha256(*made_of);
  return out;
}

absl::StatusOr<std::string> CompileCache::Find(const std::string& text,
                                               const std::string& folder) const {
  ASSIGN_OR_RETURN(const CacheEntry entry, DescribeCacheEntry(folder));
  if (entry.name != Sha256(text)) return absl::NotFoundError("");
  // Set the time of the last use.
  utimensat(AT_FDCWD, JoinPath(folder, kEntry).c_str(), nullptr, 0);
  return JoinPath(folder, kCompiled);
}

absl::Status CompileCache::Store(const std::string& text, const std::string& folder,
                                 absl::FunctionRef<absl::Status(const std::string& path)> make) {
  bool is_made = false;
  absl::Status made;
  const absl::Status stored =
      WriteFolderAtomic(folder, /*replace=*/true, [&](const std::string& dir) -> absl::Status {
        const std::string path = JoinPath(dir, kCompiled);
        made = make(path);
        is_made = true;
        RETURN_IF_ERROR(made);
        ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path, kAnySize));
        const Json json = Json::Object(
            {{"made_of", text}, {"bytes", file.bytes().size()}, {"sha256", Sha256(file.bytes())}});
        RETURN_IF_ERROR(WriteFileAtomic(JoinPath(dir, kEntry), json.Dump(-1)));
        return MakePrivate(dir);
      });
  // If the cache cannot be written to, compile without it.
  if (!is_made) return make("");
  if (stored.ok()) Evict(folder);
  return made;
}

void CompileCache::Evict(const std::string& but) const {
  struct Entry {
    std::filesystem::file_time_type used;
    std::string folder;
    int64_t bytes;
  };
  std::vector<Entry> entries;
  int64_t all = 0;
  std::error_code error;
  for (const auto& part :
       std::filesystem::directory_iterator(JoinPath(options_.folder, "entries"), error)) {
    for (const auto& folder : std::filesystem::directory_iterator(part.path(), error)) {
      const std::string entry = JoinPath(folder.path().string(), kEntry);
      const auto used = std::filesystem::last_write_time(entry, error);
      if (error) continue;
      const auto bytes = std::filesystem::file_size(folder.path() / kCompiled, error);
      if (error) continue;
      entries.push_back({used, folder.path().string(), static_cast<int64_t>(bytes)});
      all += entries.back().bytes;
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.used, a.folder) < std::tie(b.used, b.folder);
  });
  for (const Entry& entry : entries) {
    if (all <= options_.max_bytes) return;
    if (entry.folder == but) continue;
    std::filesystem::remove_all(entry.folder, error);
    all -= entry.bytes;
  }
}

absl::StatusOr<bool> CompileCache::LoadOrMake(
    const CompileKey& key, absl::FunctionRef<absl::Status(const std::string& path)> load,
    absl::FunctionRef<absl::Status(const std::string& path)> make) {
  const std::string text = TextOf(key);
  const std::string name = Sha256(text);
  const std::string folder =
      JoinPath(options_.folder, absl::StrCat("entries/", name.substr(0, 2), "/", name));
  const auto is_loaded = [&] {
    const absl::StatusOr<std::string> path = Find(text, folder);
    return path.ok() && load(*path).ok();
  };
  if (is_loaded()) return true;
  const std::string lock_path =
      JoinPath(options_.folder, absl::StrCat("locks/", name.substr(0, 2)));
  const absl::StatusOr<FileLock> lock = FileLock::Take(lock_path, options_.patience);
  if (!lock.ok()) {
    RETURN_IF_ERROR(make(""));
    return false;
  }
  // Another process may have made the entry in the meantime.
  if (is_loaded()) return true;
  RemoveUnfinished(folder);
  if (options_.fetch) {
    const auto fetch = [&](const std::string& path) {
      return path.empty() ? absl::UnavailableError("") : options_.fetch(name, path);
    };
    if (Store(text, folder, fetch).ok() && is_loaded()) return true;
  }
  RETURN_IF_ERROR(Store(text, folder, make));
  return false;
}

}  // namespace graphnet
