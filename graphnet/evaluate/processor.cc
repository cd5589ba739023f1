#include "graphnet/evaluate/processor.h"

#include <fstream>
#include <initializer_list>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace graphnet {
namespace {

// Returns the value of the first line that begins with one of the names.
std::string FieldOf(std::initializer_list<absl::string_view> names) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    for (const absl::string_view name : names) {
      if (absl::StartsWith(line, name))
        return std::string(absl::StripAsciiWhitespace(line.substr(line.find(':') + 1)));
    }
  }
  return "unknown";
}

}  // namespace

std::string ProcessorName() { return FieldOf({"model name"}); }

std::string ProcessorFeatures() { return FieldOf({"flags", "Features"}); }

}  // namespace graphnet
