#include "graphnet/evaluate/worker_library.h"

#include <dlfcn.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"

namespace graphnet {

absl::StatusOr<std::shared_ptr<WorkerLibrary>> WorkerLibrary::Load(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const error = dlerror();
    return absl::FailedPreconditionError(
        absl::StrCat("cannot load ", Printable(error != nullptr ? error : path.c_str(), 1000)));
  }
  std::shared_ptr<WorkerLibrary> made(new WorkerLibrary);
  made->answer_ =
      reinterpret_cast<decltype(made->answer_)>(dlsym(library, "graphnet_worker_answer"));
  made->run_ = reinterpret_cast<decltype(made->run_)>(dlsym(library, "graphnet_worker_run"));
  if (made->answer_ == nullptr || made->run_ == nullptr) {
    dlclose(library);
    return absl::FailedPreconditionError(
        absl::StrCat(Printable(path, 1000), " is not the library of a worker"));
  }
  return made;
}

absl::StatusOr<std::string> WorkerLibrary::Ask(absl::string_view line, absl::Duration) {
  return std::string(answer_(std::string(line).c_str()));
}

absl::StatusOr<std::string> WorkerLibrary::Run(int slot, absl::string_view inputs) {
  std::string yielded;
  const int code = run_(slot, inputs.data(), inputs.size(), &yielded,
                        [](void* into, const char* text, size_t size) {
                          static_cast<std::string*>(into)->append(text, size);
                        });
  if (code == 0) return yielded;
  return absl::UnavailableError(yielded.empty() ? "the worker failed without giving a reason"
                                                : Printable(yielded, 1000));
}

}  // namespace graphnet
