#include "graphnet/command/messages.h"

#include <cstddef>
#include <cstdio>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/command/terminal.h"

namespace graphnet {
namespace {

constexpr size_t kMaxBytes = 4000;

// The text that was collected for each of the two streams.
struct Collected {
  std::mutex mutex;
  bool is_on = false;
  std::string output, aside;
};
Collected& TheCollected() {
  static auto* const collected = new Collected;
  return *collected;
}

void Write(absl::string_view text, FILE* out, std::string Collected::*part) {
  Collected& collected = TheCollected();
  const std::lock_guard<std::mutex> lock(collected.mutex);
  if (collected.is_on) {
    absl::StrAppend(&(collected.*part), text);
  } else {
    std::fwrite(text.data(), 1, text.size(), out);
  }
}

std::string Take(std::string Collected::*part) {
  Collected& collected = TheCollected();
  const std::lock_guard<std::mutex> lock(collected.mutex);
  return std::exchange(collected.*part, "");
}

void Collect(bool is_on) {
  Collected& collected = TheCollected();
  const std::lock_guard<std::mutex> lock(collected.mutex);
  collected.is_on = is_on;
  collected.output.clear();
  collected.aside.clear();
}

void PrintLine(absl::string_view line) {
  std::fflush(stdout);
  WriteAside(line);
}

}  // namespace

void WriteOutput(absl::string_view text) { Write(text, stdout, &Collected::output); }
void WriteAside(absl::string_view text) { Write(text, stderr, &Collected::aside); }

CollectedOutput::CollectedOutput() {
  Collect(true);
  AllowColours(false);
}
CollectedOutput::~CollectedOutput() {
  Collect(false);
  AllowColours(true);
}
std::string CollectedOutput::TakeOutput() { return Take(&Collected::output); }
std::string CollectedOutput::TakeAside() { return Take(&Collected::aside); }

void PrintError(absl::string_view message) { PrintLine(ErrorLine(message)); }

std::string ErrorLine(absl::string_view message) {
  return absl::StrCat(Red("graphnet:", stderr), " ", message, "\n");
}

void PrintWarning(absl::string_view text) {
  PrintLine(absl::StrCat("warning: ", Printable(text, kMaxBytes), "\n"));
}

void PrintNote(absl::string_view text) { PrintLine(NoteLine(text)); }

std::string NoteLine(absl::string_view text) {
  return absl::StrCat("note: ", Printable(text, kMaxBytes), "\n");
}

}  // namespace graphnet
