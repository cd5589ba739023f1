#include "graphnet/command/progress.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/terminal.h"

namespace graphnet {
namespace {

constexpr char kEraseLine[] = "\r\x1b[K";
constexpr size_t kBarWidth = 40;

ProgressForm form_of_all = ProgressForm::kAuto;

ProgressForm FormNow() {
  if (form_of_all != ProgressForm::kAuto) return form_of_all;
  return IsTerminal(stderr) ? ProgressForm::kBar : ProgressForm::kLines;
}

}  // namespace

void SetProgressForm(ProgressForm form) { form_of_all = form; }

Progress::Progress(std::string what) : Progress(std::move(what), 0) {}
Progress::Progress(size_t total) : Progress("", total) {}

Progress::Progress(std::string what, size_t total)
    : form_(FormNow()),
      total_(total),
      what_(total > 0 ? absl::StrCat("0/", total) : std::move(what)) {
  const bool is_told = form_ == ProgressForm::kBar || (form_ == ProgressForm::kLines && total_ > 1);
  if (is_told) thread_ = std::thread([this] { Show(); });
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
  if (form_ == ProgressForm::kNone) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  what_ = std::move(what);
}

void Progress::Step(size_t done, size_t failed) {
  if (form_ == ProgressForm::kNone) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  done_ = done;
  what_ = absl::StrCat(done, "/", total_);
  if (failed > 0) absl::StrAppend(&what_, ", ", failed, " failed");
}

void Progress::Note(const std::string& line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (shown_) std::fputs(kEraseLine, stderr);
  std::fflush(stdout);  // The lines stay in order where both streams go to one place.
  WriteAside(absl::StrCat(line, "\n"));
  shown_ = false;
}

void Progress::Print(const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (shown_) std::fputs(kEraseLine, stderr);
  WriteOutput(text);
  if (shown_) std::fflush(stdout);
  shown_ = false;
}

std::string Progress::Status(double seconds) const {
  std::string text = absl::StrCat(what_, ", ", absl::StrFormat("%.0f s", seconds));
  if (done_ == 0) return text;
  const double rate = static_cast<double>(done_) / seconds;
  absl::StrAppend(&text, absl::StrFormat(", %.3g/s", rate));
  if (done_ >= total_) return text;
  const double left = static_cast<double>(total_ - done_) / rate;
  const absl::Time end = absl::Now() + absl::Seconds(left);
  absl::StrAppend(&text, absl::StrFormat(", %.0f s left, until ", left),
                  absl::FormatTime("%H:%M", end, absl::LocalTimeZone()));
  return text;
}

void Progress::Show() {
  const auto begin = std::chrono::steady_clock::now();
  const bool is_bar = form_ == ProgressForm::kBar;
  std::unique_lock<std::mutex> lock(mutex_);
  std::chrono::milliseconds wait = is_bar ? std::chrono::seconds(1) : std::chrono::minutes(1);
  while (!ended_.wait_for(lock, wait, [this] { return end_; })) {
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    std::string line = Status(time.count());
    if (!is_bar) {
      std::fprintf(stderr, "%s\n", line.c_str());
      continue;
    }
    wait = std::chrono::milliseconds(200);
    if (total_ > 0) {
      const size_t filled = kBarWidth * std::min(done_, total_) / total_;
      line = absl::StrCat("[", std::string(filled, '#'), std::string(kBarWidth - filled, ' '), "] ",
                          line);
    }
    // A wrapped line could not be erased.
    line.resize(std::min(line.size(), std::max<size_t>(TerminalWidth(stderr), 1) - 1));
    std::fprintf(stderr, "%s%s", kEraseLine, line.c_str());
    shown_ = true;
  }
  if (shown_) std::fputs(kEraseLine, stderr);
}

}  // namespace graphnet
