#include "graphnet/command/copies.h"

#include <atomic>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/output_folder.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/progress.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/graphnet_folder/writer.h"

namespace graphnet {
namespace {

namespace fs = std::filesystem;

constexpr char kCache[] = "__pycache__";

absl::Status FailedAt(const std::string& path, const std::error_code& error) {
  return absl::InternalError(absl::StrCat(Printable(path, 1000), ": ", error.message()));
}

bool IsPlainFile(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(fs::status(path, error));
}

// Copies the regular files of a folder, and those of its folders.
absl::Status CopyFolder(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to, error);
  if (error) return FailedAt(to.string(), error);
  for (fs::directory_iterator it(from, error), end; !error && it != end; it.increment(error)) {
    const fs::file_status status = it->symlink_status(error);
    if (error) break;
    const fs::path target = to / it->path().filename();
    if (fs::is_directory(status) && it->path().filename() != kCache) {
      RETURN_IF_ERROR(CopyFolder(it->path(), target));
    } else if (fs::is_regular_file(status)) {
      fs::copy_file(it->path(), target, error);
      if (error) return FailedAt(target.string(), error);
    }
  }
  return error ? FailedAt(from.string(), error) : absl::OkStatus();
}

std::string WeightsBeside(const std::string& path) {
  return absl::StrCat(WithoutEnding(path), ".safetensors");
}

std::string EndingOf(const std::string& path) { return path.substr(WithoutEnding(path).size()); }

absl::Status MakeCopy(const NamedInput& input, const std::string& to,
                      const std::string& beside_name, const std::string& beside, bool trust) {
  if (IsFolder(input.path)) {
    return WriteFolderAtomic(to, /*replace=*/false, [&](const std::string& folder) -> absl::Status {
      RETURN_IF_ERROR(CopyFolder(input.path, folder));
      if (beside.empty()) return absl::OkStatus();
      return WriteFileAtomic(JoinPath(folder, beside_name), beside);
    });
  }
  if (!beside.empty()) {
    RETURN_IF_ERROR(WriteFileAtomic(PathBeside(to, beside_name), beside));
  } else if (const std::string old = PathBeside(input.path, beside_name); IsPlainFile(old)) {
    RETURN_IF_ERROR(CopyFileAtomic(old, PathBeside(to, beside_name)));
  }
  if (!IsPlainFile(input.path)) {
    ASSIGN_OR_RETURN(const Sample sample,
                     Load(input.path, {.trust = trust, .values_if_there = true}));
    return Save(sample, to, {.format = "protobuf"});
  }
  if (const std::string weights = WeightsBeside(input.path); IsPlainFile(weights))
    RETURN_IF_ERROR(CopyFileAtomic(weights, WeightsBeside(to)));
  return CopyFileAtomic(input.path, to);
}

}  // namespace

std::string PathBeside(const std::string& sample, absl::string_view file) {
  return IsFolder(sample) ? JoinPath(sample, file) : absl::StrCat(WithoutEnding(sample), ".", file);
}

std::string CopyPath(const NamedInput& input, const std::string& folder) {
  const std::string ending = IsFolder(input.path)      ? ""
                             : IsPlainFile(input.path) ? EndingOf(input.path)
                                                       : ".pb";
  return JoinPath(folder, absl::StrCat(input.name, ending));
}

absl::Status CopySample(const NamedInput& input, const std::string& folder,
                        const std::string& beside_name, const std::string& beside, bool trust) {
  const std::string to = CopyPath(input, folder);
  if (fs::exists(fs::symlink_status(to))) {
    return absl::AlreadyExistsError(
        absl::StrCat(Printable(to, 1000), " is another sample of this name"));
  }
  return MakeCopy(input, to, beside_name, beside, trust);
}

absl::Status CopySamples(const std::vector<SampleCopy>& copies, const std::string& folder,
                         bool adds, const std::string& beside_name, bool trust, int jobs) {
  ReservedPaths reserved;
  const bool is_there = IsFolder(folder);
  if (is_there && !adds) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
    if (!names.empty()) {
      return absl::AlreadyExistsError(
          absl::StrCat(Printable(folder, 1000), " has files already; name a new folder"));
    }
  }
  for (const SampleCopy& copy : copies) {
    const std::string to = CopyPath(copy.input, folder);
    RETURN_IF_ERROR(ReservePath(to, copy.input.path, &reserved));
    if (IsPlainFile(copy.input.path) && IsPlainFile(WeightsBeside(copy.input.path)))
      RETURN_IF_ERROR(ReservePath(WeightsBeside(to), copy.input.path, &reserved));
    if (is_there && adds && fs::exists(fs::symlink_status(to))) {
      return absl::AlreadyExistsError(absl::StrCat(Printable(copy.input.path, 1000), ": ",
                                                   Printable(to, 1000),
                                                   " is another sample of this name"));
    }
  }
  const auto fill = [&](const std::string& to) -> absl::Status {
    absl::Status first;
    Progress progress(copies.size());
    size_t done = 0, failed = 0;
    ParallelFor(
        copies.size(), jobs > 0 ? jobs : NumCpus(),
        [&](size_t i) {
          return CopySample(copies[i].input, to, beside_name, copies[i].beside, trust);
        },
        [&](size_t, const absl::Status& status) {
          failed += status.ok() ? 0 : 1;
          first.Update(status);
          progress.Step(++done, failed);
        });
    return first;
  };
  if (is_there && adds) return fill(folder);
  return WriteFolderAtomic(folder, /*replace=*/is_there, fill);
}

absl::Status RemoveSample(const std::string& path, const std::string& beside_name,
                          bool keeps_weights) {
  std::error_code error;
  if (IsFolder(path)) {
    if (fs::is_symlink(fs::symlink_status(path))) {
      return absl::FailedPreconditionError("it is a link and is not removed");
    }
    const absl::Status own = CheckReplaceable(path, [&](absl::string_view entry, bool is_folder) {
      return IsSampleEntry(entry, is_folder) || (!is_folder && entry == beside_name);
    });
    if (!own.ok()) {
      return absl::FailedPreconditionError(
          absl::StrReplaceAll(own.message(), {{"not replaced", "not removed"}}));
    }
    fs::remove_all(path, error);
    return error ? FailedAt(path, error) : absl::OkStatus();
  }
  if (!IsPlainFile(path)) {
    return absl::FailedPreconditionError("it is not a file or folder of its own");
  }
  // The file beside it goes first: if this ends in between, the sample is still found and goes the
  // next time. A sample is never there without its weights.
  fs::remove(PathBeside(path, beside_name), error);
  if (!error) fs::remove(path, error);
  if (!keeps_weights && !error) fs::remove(WeightsBeside(path), error);
  return error ? FailedAt(path, error) : absl::OkStatus();
}

}  // namespace graphnet
