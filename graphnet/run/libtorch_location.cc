#include "graphnet/run/libtorch_location.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/base/version.h"

namespace graphnet {
namespace {

constexpr size_t kMaxVersionBytes = 1 << 16;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool HasLibTorch(const std::string& folder) {
  return FileExists(JoinPath(folder, "lib/libtorch_cpu.so"));
}

// Returns the version from a Python package or from a download for C++; "" if there is neither.
std::string VersionOf(const std::string& folder) {
  if (const auto text = ReadFile(JoinPath(folder, "version.py"), kMaxVersionBytes); text.ok()) {
    for (absl::string_view line : absl::StrSplit(*text, '\n')) {
      if (absl::ConsumePrefix(&line, "__version__ = '"))
        return std::string(line.substr(0, line.find('\'')));
    }
  }
  const auto text = ReadFile(JoinPath(folder, "build-version"), kMaxVersionBytes);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

bool Fits(const std::string& version) {
  return absl::StartsWith(version, absl::StrCat(kLibTorchVersion, "."));
}

// Adds the folders of torch in a Python environment, for any version of Python.
void AddOfEnvironment(const std::string& environment, std::vector<std::string>* folders) {
  if (environment.empty()) return;
  const std::string lib = JoinPath(environment, "lib");
  const auto names = ListFolder(lib);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (absl::StartsWith(name, "python3"))
      folders->push_back(JoinPath(lib, absl::StrCat(name, "/site-packages/torch")));
  }
}

// Returns the torch that python3 finds. It is not imported, which would take seconds.
std::string OfPython3() {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      popen("exec python3 -c 'import importlib.util as u; s = u.find_spec(\"torch\"); "
            "print(*(s and s.submodule_search_locations or []))' 2>/dev/null",
            "re"),
      pclose);
  if (pipe == nullptr) return "";
  std::string folder(kMaxVersionBytes, '\0');
  folder.resize(std::fread(folder.data(), 1, folder.size(), pipe.get()));
  return std::string(absl::StripAsciiWhitespace(folder));
}

}  // namespace

std::string LoadedLibTorch() {
  void* const library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return "";
  const link_map* map = nullptr;
  const bool found = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0;
  const std::string path = found ? map->l_name : "";
  dlclose(library);
  return std::filesystem::path(path).parent_path().parent_path().string();  // the parent of lib/
}

absl::Status CheckLibTorchVersion(const std::string& folder, absl::string_view named) {
  const std::string version = VersionOf(folder);
  if (Fits(version)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(named, " has version ", version.empty() ? "unknown" : Printable(version),
                   ", but graphnet needs ", kLibTorchVersion));
}

PlaceOfCode FindPlaceOfCode() {
  Dl_info info;
  link_map* map = nullptr;
  if (dladdr1(reinterpret_cast<void*>(&FindPlaceOfCode), &info, reinterpret_cast<void**>(&map),
              RTLD_DL_LINKMAP) == 0)
    return {};
  const bool is_program = *map->l_name == '\0';  // The loader leaves that name out.
  std::error_code error;
  const std::filesystem::path file = is_program
                                         ? std::filesystem::read_symlink("/proc/self/exe", error)
                                         : std::filesystem::canonical(map->l_name, error);
  return {.folder = error ? "" : file.parent_path().string(), .is_program = is_program};
}

absl::StatusOr<std::string> FindLibTorch() {
  if (std::string folder = Environment("LIBTORCH"); !folder.empty()) {
    const std::string named = absl::StrCat("LIBTORCH=", Printable(folder, 1000));
    if (!HasLibTorch(folder))
      return absl::FailedPreconditionError(absl::StrCat(named, " has no lib/libtorch_cpu.so"));
    RETURN_IF_ERROR(CheckLibTorchVersion(folder, named));
    return folder;
  }
  std::vector<std::string> folders;
  if (const std::string own = FindPlaceOfCode().folder; !own.empty()) {
    for (const char* name : {"libtorch", "torch"})
      folders.push_back(std::filesystem::path(own).parent_path() / name);
  }
  AddOfEnvironment(Environment("VIRTUAL_ENV"), &folders);
  AddOfEnvironment(Environment("CONDA_PREFIX"), &folders);
  std::string other;
  const auto fits = [&other](const std::string& folder) {
    if (folder.empty() || !HasLibTorch(folder)) return false;
    const std::string version = VersionOf(folder);
    if (Fits(version)) return true;
    other = version;
    return false;
  };
  for (const std::string& folder : folders) {
    if (fits(folder)) return folder;
  }
  if (std::string folder = OfPython3(); fits(folder)) return folder;
  return absl::FailedPreconditionError(
      absl::StrCat("needs LibTorch ", kLibTorchVersion, ": pip install 'torch==", kLibTorchVersion,
                   ".*', or set LIBTORCH to its folder",
                   other.empty() ? "" : absl::StrCat(" (found ", Printable(other), ")")));
}

}  // namespace graphnet
