#include "graphnet/base/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

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

// What `ulimit` leaves to this process: of resident (-m), virtual (-v) and data memory (-d). Linux
// itself does not enforce the first.
int64_t OfLimits() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0, shared = 0, text = 0, lib = 0, data = 0;
  if (!(file >> all >> resident >> shared >> text >> lib >> data)) return kUnknown;
  const int64_t page = sysconf(_SC_PAGESIZE);
  int64_t left = kUnknown;
  for (const auto& [resource, used] :
       {std::pair{RLIMIT_RSS, resident}, std::pair{RLIMIT_AS, all}, std::pair{RLIMIT_DATA, data}}) {
    rlimit limit;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    const auto bytes = static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, kUnknown));
    left = std::min(left, std::max<int64_t>(bytes - used * page, 0));
  }
  return left;
}

}  // namespace

int64_t AvailableMemoryBytes() { return std::min({OfMachine(), OfControlGroup(), OfLimits()}); }

}  // namespace graphnet
