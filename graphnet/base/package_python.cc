#include "graphnet/base/package_python.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"

namespace graphnet {

std::string PackagePython::SearchPath(const std::string& path) const {
  if (package_folder.empty() || path.empty()) return package_folder + path;
  return absl::StrCat(package_folder, ":", path);
}

PackagePython FindPackagePython() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path packages = self.parent_path().parent_path().parent_path();
  const bool is_packed = !error && FileExists((packages / "graphnet_ir" / "corpus").string());
  PackagePython python = {"python3", is_packed ? packages.string() : ""};
  const std::filesystem::path beside =
      packages.parent_path().parent_path().parent_path() / "bin" / "python3";
  if (is_packed && FileExists(beside.string())) python.program = beside.string();
  if (const char* named = std::getenv("GRAPHNET_PYTHON"); named != nullptr && *named != '\0')
    python.program = named;
  return python;
}

}  // namespace graphnet
