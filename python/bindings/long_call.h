// Calls that may take long: other Python threads run meanwhile, and Ctrl-C ends the wait for them.
// ShortCall is for short calls and saves the thread that this needs.
#ifndef GRAPHNET_PYTHON_BINDINGS_LONG_CALL_H_
#define GRAPHNET_PYTHON_BINDINGS_LONG_CALL_H_

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "nanobind/nanobind.h"
#include "python/bindings/objects.h"

namespace graphnet {

// Adds the function that waits, when the interpreter ends, for calls that Ctrl-C left behind.
void BindLongCalls(nb::module_& m);

// Runs `work` without the GIL and returns when it is done. Called in the main thread, where Python
// handles signals, it runs the work in another thread. If a signal raises, the work goes on until
// it ends, and `locks` keep its modules alive. Exceptions of the work are raised here.
void RunLongCall(std::function<void()> work, std::vector<ReadLock> locks);

// Runs `work` in the same way and returns its result, which must be movable. `work` must own
// everything that it refers to, except objects that the locks keep alive.
template <typename Work>
auto LongCall(std::vector<ReadLock> locks, Work work) -> decltype(work()) {
  auto result = std::make_shared<std::optional<decltype(work())>>();
  auto shared = std::make_shared<Work>(std::move(work));
  RunLongCall([result, shared] { result->emplace((*shared)()); }, std::move(locks));
  return *std::move(*result);
}

// Runs `work`, which must take milliseconds only, without the GIL in the calling thread. A signal
// is handled after it.
template <typename Work>
auto ShortCall(const Work& work) -> decltype(work()) {
  const nb::gil_scoped_release release;
  return work();
}

template <typename... Modules>
std::vector<ReadLock> Locks(Modules&... modules) {
  std::vector<ReadLock> locks;
  (locks.emplace_back(modules), ...);
  return locks;
}

}  // namespace graphnet

#endif  // GRAPHNET_PYTHON_BINDINGS_LONG_CALL_H_
