#include "graphnet/interp/torch/operator_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <unordered_set>

#include "ATen/core/dispatch/Dispatcher.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/ops/foreign_operators.h"
#include "torch/version.h"

namespace graphnet {
namespace {

// Loads the library in another process and returns whether that survives: a library that
// registers existing operators throws out of the loader, which ends the process.
bool CanBeLoaded(const std::string& path) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return true;
  const pid_t child = fork();
  if (child == 0) {
    // The parent reports why it cannot be loaded.
    if (std::freopen("/dev/null", "w", stderr) != nullptr)
      dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    const bool told = write(ends[1], "", 1) == 1;
    _exit(told ? 0 : 1);
  }
  close(ends[1]);
  char byte = 0;
  const bool survived = child < 0 || read(ends[0], &byte, 1) == 1;
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return survived;
}

absl::Status Load(const std::string& path) {
  const std::string file = Printable(path, 500);
  ASSIGN_OR_RETURN(const bool is_file, IsRegularFile(path));
  if (!is_file) return absl::InvalidArgumentError(absl::StrCat(file, ": is not a regular file"));
  const std::vector<c10::OperatorName> before = c10::Dispatcher::singleton().getAllOpNames();
  // The linker would search for a relative path elsewhere.
  const std::string full = std::filesystem::absolute(path);
  if (!CanBeLoaded(full)) {
    return absl::InvalidArgumentError(absl::StrCat(
        file,
        ": loading it would end the program, for example because its operators exist already"));
  }
  // The library stays loaded, as its operators do.
  if (dlopen(full.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    const char* error = dlerror();
    const std::string text = Printable(error == nullptr ? "" : error, 500);
    // Extensions for Python may have operators, too, which run without Python.
    if (absl::StrContains(text, "undefined symbol: Py") ||
        absl::StrContains(text, "undefined symbol: _Py"))
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": needs Python: load libpython3 before it: ", text));
    if (absl::StrContains(text, "undefined symbol"))
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": not built for LibTorch ", TORCH_VERSION, ": ", text));
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": cannot be loaded as a library: ", text));
  }
  const std::unordered_set<c10::OperatorName> known(before.begin(), before.end());
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (known.count(name) > 0) continue;
    if (const auto handle = c10::Dispatcher::singleton().findSchema(name))
      AddForeignOperator(toString(handle->schema()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadOperatorLibrary(const std::string& path) {
  return Guarded([&] { return Load(path); });
}

bool IsOfLibrary(const c10::OperatorName& name) {
  return IsForeignOperator(
      absl::StrCat(absl::StrReplaceAll(name.name, {{"::", "."}}), ".",
                   name.overload_name.empty() ? "default" : name.overload_name));
}

}  // namespace graphnet
