// Source: the input that a format reads from. It is a file, a folder, bytes in memory or the
// standard input. Files are read only when a function needs their bytes.
#ifndef GRAPHNET_FORMATS_SOURCE_H_
#define GRAPHNET_FORMATS_SOURCE_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/shared_bytes.h"

namespace graphnet {

// Claims the standard input, which can be read only once. FailedPrecondition from the second call
// on.
absl::Status TakeStandardInput();

// A file, a folder, bytes in memory or the standard input.
class Source {
 public:
  // A file or a folder. "m.pt2#encoder" is the part `encoder` of m.pt2, unless a file has that
  // whole name. Of a corpus c, "c/GRAPH" is the part "/GRAPH", "c#v1" the part "#v1", and
  // "c#v1/GRAPH" the part "#v1/GRAPH". `is_named` is true if a user named the path, false if it was
  // found in a folder.
  static Source OfPath(const std::string& path, bool is_named);
  // Bytes that errors call `name`. They must outlive the source and everything read from it.
  static Source OfBytes(absl::string_view bytes, const std::string& name);
  // Claims the standard input and reads its head. Errors call it "<stdin>".
  static absl::StatusOr<Source> OfStandardInput();

  // The name of the source in errors.
  const std::string& name() const { return name_; }
  // The path without the part; empty if the source is neither a file nor a folder.
  const std::string& path() const { return path_; }
  const std::string& part() const { return part_; }
  bool is_folder() const { return is_folder_; }
  // Returns whether it is a corpus or one of its tags or views, not a graph.
  bool is_corpus() const { return is_corpus_ && !absl::StrContains(part_, '/'); }
  // Returns whether it is a graph of a corpus.
  bool is_corpus_graph() const { return is_corpus_ && absl::StrContains(part_, '/'); }
  bool is_named() const { return is_named_; }

  // Returns the first 4 KiB, or all bytes if there are fewer. Empty for a folder. NotFound if the
  // path leads to nothing, InvalidArgument if it is not a regular file.
  absl::StatusOr<absl::string_view> head();
  // Returns all bytes; a file is mapped into memory. ResourceExhausted if there are more than
  // `max_bytes`.
  absl::StatusOr<SharedBytes> bytes(size_t max_bytes);
  // Like bytes(), but returns a string; a file is read.
  absl::StatusOr<std::string> text(size_t max_bytes);
  // Returns all bytes of an archive, which cannot be read in parts. ResourceExhausted beyond
  // kMaxArchiveBytes, and for the standard input, which stays in memory, also beyond a third of the
  // memory that is available.
  absl::StatusOr<SharedBytes> archive();
  // Returns whether the source begins like a zip archive.
  bool is_zip();

 private:
  std::string name_;
  std::string path_;
  std::string part_;
  bool is_folder_ = false;
  bool is_corpus_ = false;
  bool is_named_ = true;
  bool is_stdin_ = false;
  std::optional<std::string> head_;
  std::optional<SharedBytes> bytes_;
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_SOURCE_H_
