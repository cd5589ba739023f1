// Calls that may take long: other Python threads run meanwhile, and Ctrl-C ends the wait for them.
// A short call goes without the thread that this needs.
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

// Runs `work` without the GIL and returns when it is done. In the main thread, where Python takes
// signals, the work has a thread of its own; a signal that raises leaves it to end by itself, with
// what `locks` keep alive. Exceptions of the work are raised here.
void RunLongCall(std::function<void()> work, std::vector<ReadLock> locks);

// The same with a result, which must be movable. `work` must own all it refers to, but for what
// the locks keep.
template <typename Work>
auto LongCall(std::vector<ReadLock> locks, Work work) -> decltype(work()) {
  auto result = std::make_shared<std::optional<decltype(work())>>();
  auto shared = std::make_shared<Work>(std::move(work));
  RunLongCall([result, shared] { result->emplace((*shared)()); }, std::move(locks));
  return *std::move(*result);
}

// Runs `work`, which takes milliseconds, without the GIL in the thread that calls: a signal waits.
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
