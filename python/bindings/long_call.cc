#include "python/bindings/long_call.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace graphnet {
namespace {

struct Call {
  std::function<void()> work;
  std::vector<ReadLock> locks;
  std::exception_ptr error;
  bool is_done = false;       // guarded by the mutex
  bool is_abandoned = false;  // guarded by the mutex
};

std::mutex mutex;
std::condition_variable ended;
int abandoned = 0;  // guarded by the mutex

unsigned long main_thread = 0;

void Work(const std::shared_ptr<Call>& call) {
  try {
    call->work();
  } catch (...) {
    call->error = std::current_exception();
  }
  std::unique_lock lock(mutex);
  call->is_done = true;
  if (call->is_abandoned) {
    lock.unlock();
    {
      const nb::gil_scoped_acquire gil;
      call->locks.clear();
      call->work = nullptr;
    }
    lock.lock();
    --abandoned;
  }
  ended.notify_all();
}

}  // namespace

void BindLongCalls(nb::module_& m) {
  main_thread = nb::cast<unsigned long>(
      nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  m.def(
      "_wait_for_abandoned_calls",
      [] {
        const nb::gil_scoped_release release;
        std::unique_lock lock(mutex);
        ended.wait(lock, [] { return abandoned == 0; });
      },
      "Waits for long calls that a signal has left behind.");
  nb::module_::import_("atexit").attr("register")(m.attr("_wait_for_abandoned_calls"));
}

void RunLongCall(std::function<void()> work, std::vector<ReadLock> locks) {
  auto call = std::make_shared<Call>();
  call->work = std::move(work);
  call->locks = std::move(locks);
  if (PyThread_get_thread_ident() != main_thread) {
    const nb::gil_scoped_release release;
    call->work();
    return;
  }
  std::thread([call] { Work(call); }).detach();
  // This thread may be the last owner of the call, and it does not hold the GIL.
  const auto release_all = [&call] {
    call->locks.clear();
    call->work = nullptr;
  };
  while (true) {
    {
      const nb::gil_scoped_release release;
      std::unique_lock lock(mutex);
      if (ended.wait_for(lock, std::chrono::milliseconds(50), [&] { return call->is_done; })) break;
    }
    if (PyErr_CheckSignals() == 0) continue;
    {
      const std::unique_lock lock(mutex);
      if (!call->is_done) {
        call->is_abandoned = true;
        ++abandoned;
        throw nb::python_error();
      }
    }
    release_all();
    throw nb::python_error();
  }
  release_all();
  if (call->error != nullptr) std::rethrow_exception(call->error);
}

}  // namespace graphnet
