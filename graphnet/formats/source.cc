#include "graphnet/formats/source.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/mapped_file.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/corpus/corpus_reader.h"

namespace graphnet {
namespace {

constexpr size_t kHeadBytes = 4096;

// Returns the start of a regular file.
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

// Returns where the part begins in the path of a part of a corpus, such as "c/GRAPH"; else npos.
size_t EndOfCorpus(const std::string& path) {
  size_t at = path.find_last_of("#/");
  while (at != std::string::npos && at > 0 && !IsCorpusFolder(path.substr(0, at)))
    at = path.find_last_of("#/", at - 1);
  return at == 0 ? std::string::npos : at;
}

}  // namespace

absl::Status TakeStandardInput() {
  static std::atomic<bool> is_taken = false;
  if (!is_taken.exchange(true)) return absl::OkStatus();
  return absl::FailedPreconditionError("the standard input can be read only once");
}

Source Source::OfPath(const std::string& path, bool is_named) {
  Source source;
  source.name_ = source.path_ = path;
  source.is_named_ = is_named;
  if (const size_t at = path.rfind('#'); at != std::string::npos && !FileExists(path)) {
    if (std::string file = path.substr(0, at); FileExists(file) && !IsFolder(file)) {
      source.path_ = std::move(file);
      source.part_ = path.substr(at + 1);
    }
  }
  if (!FileExists(source.path_)) {
    if (const size_t at = EndOfCorpus(path); at != std::string::npos) {
      source.path_ = path.substr(0, at);
      source.part_ = path.substr(at);
    }
  }
  source.is_folder_ = IsFolder(source.path_);
  source.is_corpus_ = source.is_folder_ && IsCorpusFolder(source.path_);
  return source;
}

Source Source::OfBytes(absl::string_view bytes, const std::string& name) {
  Source source;
  source.name_ = name;
  source.head_ = std::string(bytes.substr(0, kHeadBytes));
  source.bytes_ = SharedBytes(nullptr, bytes);
  return source;
}

absl::StatusOr<Source> Source::OfStandardInput() {
  RETURN_IF_ERROR(TakeStandardInput());
  Source source;
  source.name_ = "<stdin>";
  source.is_stdin_ = true;
  std::string head(kHeadBytes, '\0');
  size_t size = 0;
  while (size < kHeadBytes) {
    const ssize_t n = read(STDIN_FILENO, head.data() + size, kHeadBytes - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, "cannot read the standard input");
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  head.resize(size);
  source.head_ = std::move(head);
  return source;
}

absl::StatusOr<absl::string_view> Source::head() {
  if (is_folder_) return absl::string_view();
  if (!head_.has_value()) {
    if (!FileExists(path_))
      return absl::NotFoundError(absl::StrCat(Printable(name_, 1000), ": no such file or folder"));
    ASSIGN_OR_RETURN(head_, ReadHead(path_));
  }
  return absl::string_view(*head_);
}

absl::StatusOr<SharedBytes> Source::bytes(size_t max_bytes) {
  if (is_stdin_ && !bytes_.has_value()) {
    ASSIGN_OR_RETURN(const std::string rest, ReadFile("-", max_bytes));
    bytes_ = SharedBytes(std::make_shared<const std::string>(absl::StrCat(*head_, rest)));
  } else if (!bytes_.has_value()) {
    ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path_, max_bytes));
    bytes_ = SharedBytes(std::make_shared<const MappedFile>(std::move(file)));
  }
  if ((*bytes_)->size() > max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(Printable(name_, 1000), ": ",
                                                     (*bytes_)->size(),
                                                     " bytes, more than the limit of ", max_bytes));
  }
  return *bytes_;
}

absl::StatusOr<std::string> Source::text(size_t max_bytes) {
  if (!path_.empty()) return ReadFile(path_, max_bytes);
  ASSIGN_OR_RETURN(const SharedBytes all, bytes(max_bytes));
  return std::string(*all);
}

absl::StatusOr<SharedBytes> Source::archive() {
  if (!is_stdin_) return bytes(kMaxArchiveBytes);
  return bytes(std::min<size_t>(kMaxArchiveBytes, static_cast<size_t>(AvailableMemoryBytes()) / 3));
}

bool Source::is_zip() {
  const absl::StatusOr<absl::string_view> start = head();
  return start.ok() && absl::StartsWith(*start, "PK\x03\x04");
}

}  // namespace graphnet
