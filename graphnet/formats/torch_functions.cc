#include "graphnet/formats/torch_functions.h"

#include <atomic>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace graphnet {
namespace {

std::atomic<TorchOpener>& Opener() {
  static std::atomic<TorchOpener> opener = nullptr;
  return opener;
}

struct MethodName {
  absl::Mutex mutex;
  std::string name ABSL_GUARDED_BY(mutex) = "forward";
};

MethodName& Method() {
  static auto* const method = new MethodName;
  return *method;
}

}  // namespace

void SetTorchScriptMethod(const std::string& method) {
  const absl::MutexLock lock(&Method().mutex);
  Method().name = method;
}

std::string TorchScriptMethod() {
  const absl::MutexLock lock(&Method().mutex);
  return Method().name;
}

void SetTorchFunctions(TorchOpener opener) { Opener() = opener; }

absl::StatusOr<const TorchFunctions*> OpenTorchFunctions() {
  if (const TorchOpener opener = Opener()) return opener();
  return absl::FailedPreconditionError(
      "this needs LibTorch: link @graphnet//:torch and call graphnet::UseLibTorch()");
}

}  // namespace graphnet
