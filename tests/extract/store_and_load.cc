#include "tests/extract/store_and_load.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"

namespace graphnet {

absl::StatusOr<LoadedProgram> StoreAndLoad(const ExtractedProgram& samples, ExtractFormat format,
                                           bool trust) {
  const char* scratch = std::getenv("TEST_TMPDIR");
  const std::string folder =
      absl::StrCat(scratch != nullptr ? scratch : "/tmp", "/extracted_", getpid());
  std::filesystem::remove_all(folder);
  const absl::Cleanup remove = [&folder] { std::filesystem::remove_all(folder); };
  RETURN_IF_ERROR(WriteExtracted(samples, folder, format));
  ASSIGN_OR_RETURN(ExtractedProgram stored, ReadExtracted(folder));
  return LoadProgram(std::move(stored), trust);
}

}  // namespace graphnet
