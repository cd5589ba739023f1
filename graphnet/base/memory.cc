#include "graphnet/base/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace graphnet {
namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

// The number in a file of one; "max" and a missing file are unknown.
int64_t ReadNumber(const char* path) {
  std::ifstream file(path);
  int64_t number = 0;
  return file >> number ? number : kUnknown;
}

int64_t OfMachine() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  int64_t kib = 0;
  while (file >> key >> kib && std::getline(file, unit)) {
    if (key == "MemAvailable:") return kib * 1024;
  }
  return kUnknown;
}

// Of control group version 2, then 1, as containers see it.
int64_t OfControlGroup() {
  for (const auto& [limit_path, usage_path] :
       {std::pair{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
        std::pair{"/sys/fs/cgroup/memory/memory.limit_in_bytes",
                  "/sys/fs/cgroup/memory/memory.usage_in_bytes"}}) {
    const int64_t limit = ReadNumber(limit_path), usage = ReadNumber(usage_path);
    if (limit != kUnknown && usage != kUnknown) return std::max<int64_t>(limit - usage, 0);
  }
  return kUnknown;
}

}  // namespace

int64_t AvailableMemoryBytes() { return std::min(OfMachine(), OfControlGroup()); }

}  // namespace graphnet
