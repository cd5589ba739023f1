// Reads any bytes as a benchmark log. They are refused with one line, or scored. Reading in parts
// gives the same result as reading at once, and the result can be written and read back unchanged.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/base/check.h"
#include "graphnet/evaluate/curve.h"
#include "graphnet/evaluate/log.h"
#include "graphnet/evaluate/log_reader.h"
#include "graphnet/evaluate/log_writer.h"
#include "graphnet/evaluate/report_page.h"

namespace graphnet {
namespace {

std::vector<std::string> WrittenAgain(absl::string_view bytes) {
  std::vector<std::string> written;
  LogWarnings warnings;
  (void)ReadLogLines(bytes, {.file = "fuzz"}, &warnings, [&](size_t, const SampleResult& sample) {
    written.push_back(WriteLog(sample));
    return absl::OkStatus();
  });
  return written;
}

}  // namespace
}  // namespace graphnet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphnet;  // NOLINT
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::vector<size_t> begins = DivideLog(bytes, 3);
  size_t samples = 0;
  for (size_t i = 0; i < begins.size(); ++i) {
    const size_t end = i + 1 < begins.size() ? begins[i + 1] : size;
    CHECK(begins[i] <= end);
    samples += WrittenAgain(bytes.substr(begins[i], end - begins[i])).size();
  }
  const std::vector<std::string> written = WrittenAgain(bytes);
  CHECK(samples == written.size());
  for (const std::string& sample : written) {
    const std::vector<std::string> again = WrittenAgain(sample);
    CHECK(again.size() == 1);
    CHECK(WrittenAgain(again[0])[0] == again[0]);
  }
  auto log = ParseLog(bytes, "fuzz");
  if (!log.ok()) {
    CHECK(log.status().message().find('\n') == absl::string_view::npos);
    return 0;
  }
  if (size % 16 != 0) return 0;  // Intervals and pages take most of the time.
  const std::vector<Curve> curves = {*MakeCurve(*std::move(log), {})};
  CHECK(!WriteReportPage(curves, {}).empty());
  return 0;
}
