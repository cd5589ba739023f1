// A source is what a format reads from: a file, a folder, bytes in memory or the standard input.
// Nothing is read before it is asked for.
#ifndef GRAPHNET_FORMATS_SOURCE_H_
#define GRAPHNET_FORMATS_SOURCE_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/shared_bytes.h"

namespace graphnet {

// FailedPrecondition if the standard input, which can be read once, has been asked for before.
absl::Status TakeStandardInput();

class Source {
 public:
  // A file or a folder. "m.pt2#encoder" is the part `encoder` of m.pt2 if no file is called so.
  // With `is_named`, somebody said that it is a sample: it was not found in a folder.
  static Source OfPath(const std::string& path, bool is_named);
  // `name` is what errors call it. The bytes must outlive the source and all that is read from it.
  static Source OfBytes(absl::string_view bytes, const std::string& name);
  // The standard input, read as far as the head. Errors call it "<stdin>".
  static absl::StatusOr<Source> OfStandardInput();

  // The name that errors give it.
  const std::string& name() const { return name_; }
  // Without the part; empty if it is neither a file nor a folder.
  const std::string& path() const { return path_; }
  const std::string& part() const { return part_; }
  bool is_folder() const { return is_folder_; }
  bool is_named() const { return is_named_; }

  // The first 4 KiB, or all if it is shorter. Empty for a folder. NotFound if there is nothing at
  // the path, InvalidArgument for what is no regular file.
  absl::StatusOr<absl::string_view> head();
  // All of it, a file mapped into memory. ResourceExhausted if that is more than `max_bytes`.
  absl::StatusOr<SharedBytes> bytes(size_t max_bytes);
  // The same as a string, a file read.
  absl::StatusOr<std::string> text(size_t max_bytes);
  // All of an archive, which cannot be read in parts: of the standard input at most a third of the
  // memory that there is, as no file is behind it.
  absl::StatusOr<SharedBytes> archive();
  // Whether it begins as every zip archive does.
  bool is_zip();

 private:
  std::string name_;
  std::string path_;
  std::string part_;
  bool is_folder_ = false;
  bool is_named_ = true;
  bool is_stdin_ = false;
  std::optional<std::string> head_;
  std::optional<SharedBytes> bytes_;
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_SOURCE_H_
