#include "graphnet/cli/progress.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "graphnet/cli/terminal.h"

namespace graphnet {
namespace {

constexpr char kEraseLine[] = "\r\x1b[K";
constexpr size_t kBarWidth = 40;

}  // namespace

Progress::Progress(std::string what) : Progress(std::move(what), 0) {}
Progress::Progress(size_t total) : Progress("", total) {}

Progress::Progress(std::string what, size_t total)
    : on_(IsTerminal(stderr)), total_(total), what_(std::move(what)) {
  if (on_) thread_ = std::thread([this] { Show(); });
}

void Progress::End() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void Progress::Say(std::string what) {
  if (!on_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  what_ = std::move(what);
}

void Progress::Step(size_t done, size_t failed) {
  if (!on_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  done_ = done;
  what_ = absl::StrCat(done, "/", total_);
  if (failed > 0) absl::StrAppend(&what_, ", ", failed, " failed");
}

void Progress::Print(const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (shown_) std::fputs(kEraseLine, stderr);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (shown_) std::fflush(stdout);
  shown_ = false;
}

void Progress::Show() {
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  auto wait = std::chrono::milliseconds(1000);
  while (!ended_.wait_for(lock, wait, [this] { return end_; })) {
    wait = std::chrono::milliseconds(200);
    std::string line;
    if (total_ > 0) {
      const size_t filled = kBarWidth * std::min(done_, total_) / total_;
      line =
          absl::StrCat("[", std::string(filled, '#'), std::string(kBarWidth - filled, ' '), "] ");
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    absl::StrAppend(&line, what_, ", ", absl::StrFormat("%.0f s", time.count()));
    if (done_ > 0) {
      const double rate = static_cast<double>(done_) / time.count();
      absl::StrAppend(&line, absl::StrFormat(", %.3g/s", rate));
      if (done_ < total_) {
        const double left = static_cast<double>(total_ - done_) / rate;
        const absl::Time end = absl::Now() + absl::Seconds(left);
        absl::StrAppend(&line, absl::StrFormat(", %.0f s left, until ", left),
                        absl::FormatTime("%H:%M", end, absl::LocalTimeZone()));
      }
    }
    // A line that is wrapped could not be erased.
    line.resize(std::min(line.size(), TerminalWidth(stderr) - 1));
    std::fprintf(stderr, "%s%s", kEraseLine, line.c_str());
    shown_ = true;
  }
  if (shown_) std::fputs(kEraseLine, stderr);
}

}  // namespace graphnet
