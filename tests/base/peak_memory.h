// Measures the peak memory of some code.
#ifndef TESTS_BASE_PEAK_MEMORY_H_
#define TESTS_BASE_PEAK_MEMORY_H_

#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

namespace graphnet {

// Returns the value of a line of /proc/self/status, such as "VmHWM:"; 0 if there is no such line.
inline int64_t StatusBytes(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    if (int64_t kib = 0; word == name && file >> kib) return kib << 10;
  }
  return 0;
}

// Returns by how many bytes the memory of the process grows during `run`, including mapped files.
// Returns nullopt if the system does not say, or if a sanitizer uses memory itself.
inline std::optional<int64_t> PeakGrowth(const std::function<void()>& run) {
#ifdef __SANITIZE_ADDRESS__
  run();
  return std::nullopt;
#else
  const bool is_reset =
      static_cast<bool>(std::ofstream("/proc/self/clear_refs") << 5 << std::flush);
  const int64_t before = StatusBytes("VmRSS:");
  run();
  const int64_t peak = StatusBytes("VmHWM:");
  if (!is_reset || before == 0 || peak == 0) return std::nullopt;
  return peak - before;
#endif
}

}  // namespace graphnet

#endif  // TESTS_BASE_PEAK_MEMORY_H_
