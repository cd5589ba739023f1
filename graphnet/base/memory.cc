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

// Returns the number that is the content of a file. "max" and a missing file are unknown.
int64_t ReadNumber(const std::string& path) {
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

// Returns the bytes that `ulimit` leaves to this process: the least of resident (-m), virtual (-v)
// and data memory (-d). Linux itself does not enforce the first.
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

int64_t ControlGroupBytes(const std::string& root) {
  struct Files {
    const char* limit;
    const char* usage;
    const char* statistics;
    const char* prefix;  // of the figures that include the groups below this one
  };
  constexpr Files kVersions[] = {{"/memory.max", "/memory.current", "/memory.stat", ""},
                                 {"/memory/memory.limit_in_bytes", "/memory/memory.usage_in_bytes",
                                  "/memory/memory.stat", "total_"}};
  for (const Files& files : kVersions) {
    const int64_t limit = ReadNumber(root + files.limit);
    int64_t usage = ReadNumber(root + files.usage);
    if (limit == kUnknown || usage == kUnknown) continue;
    std::ifstream statistics(root + files.statistics);
    const std::string prefix = files.prefix;
    std::string key;
    for (int64_t bytes = 0; statistics >> key >> bytes;) {
      if (key == prefix + "inactive_file" || key == prefix + "active_file") usage -= bytes;
    }
    return std::max<int64_t>(limit - std::max<int64_t>(usage, 0), 0);
  }
  return kUnknown;
}

int64_t AvailableMemoryBytes() {
  return std::min({OfMachine(), ControlGroupBytes("/sys/fs/cgroup"), OfLimits()});
}

}  // namespace graphnet
