#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/base/version.h"
#include "graphnet/run/engine.h"
#include "graphnet/run/libtorch_location.h"

namespace graphnet {
namespace {

// `scope` is RTLD_GLOBAL or RTLD_LOCAL.
void* Open(const std::string& path, int scope) { return dlopen(path.c_str(), RTLD_LAZY | scope); }

std::string WhyNot() {
  const char* error = dlerror();
  return Printable(error == nullptr ? "unknown" : error, 1000);
}

struct Library {
  std::string path;
  bool knows_libtorch = false;  // it has the path of the LibTorch that it was built with
};

// Finds the engine beside the program that Bazel built, beside Python's library, or in lib/graphnet
// of an installed program.
absl::StatusOr<Library> FindLibrary() {
  constexpr char kName[] = "libgraphnet_engine.so";
  const auto [own, is_program] = FindPlaceOfCode();
  const std::string installed = std::filesystem::path(own).parent_path() / "lib/graphnet";
  if (std::string path = JoinPath(own, kName); FileExists(path)) return Library{path, is_program};
  if (std::string path = JoinPath(installed, kName); FileExists(path)) return Library{path};
  return absl::FailedPreconditionError(
      absl::StrCat("the engine that runs operators is missing: there is no ", kName, " in ",
                   Printable(own, 1000), " or ", Printable(installed, 1000)));
}

absl::StatusOr<const Engine*> OpenOnce() {
  ASSIGN_OR_RETURN(const Library found, FindLibrary());
  const std::string& path = found.path;
  // Symbols are global, as for a library that a program is linked with: libraries of operators need
  // LibTorch's symbols. A process that has loaded LibTorch already, such as Python, has decided
  // this itself, and its other libraries must not see the symbols of this one.
  int scope = RTLD_GLOBAL;
  if (!found.knows_libtorch) {
    if (const std::string loaded = LoadedLibTorch(); !loaded.empty()) {
      scope = RTLD_LOCAL;
      RETURN_IF_ERROR(CheckLibTorchVersion(
          loaded, absl::StrCat("LibTorch as it is loaded, ", Printable(loaded, 1000), ",")));
    } else {
      ASSIGN_OR_RETURN(const std::string libtorch, FindLibTorch());
      if (Open(JoinPath(libtorch, "lib/libtorch.so"), scope) == nullptr)
        return absl::FailedPreconditionError(absl::StrCat("LibTorch cannot be loaded: ", WhyNot()));
    }
  }
  void* library = Open(path, scope);
  if (library == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("the engine that runs operators cannot be loaded: ", WhyNot()));
  }
  using Entry = const Engine*(const char* version);
  auto* const entry = reinterpret_cast<Entry*>(dlsym(library, "GraphnetEngine"));
  const Engine* engine = entry == nullptr ? nullptr : entry(kVersion);
  if (engine == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(Printable(path, 1000), " does not belong to graphnet ", kVersion));
  }
  return engine;
}

}  // namespace

absl::StatusOr<const Engine*> OpenEngine() {
  static const absl::StatusOr<const Engine*> engine = OpenOnce();
  return engine;
}

}  // namespace graphnet
