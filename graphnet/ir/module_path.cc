#include "graphnet/ir/module_path.h"

#include "absl/strings/str_replace.h"

namespace graphnet {
namespace {

constexpr absl::string_view kModules = "_modules_";
// The text before the name of the parameter itself.
constexpr absl::string_view kLeaves[] = {"_parameters_", "_buffers_"};

}  // namespace

std::string ModulePathOfParameter(absl::string_view name) {
  for (const absl::string_view leaf : kLeaves) {
    const size_t end = name.rfind(leaf);
    size_t begin = name.find(kModules);
    if (end == absl::string_view::npos || begin == absl::string_view::npos || begin >= end)
      continue;
    begin += kModules.size();
    return absl::StrReplaceAll(name.substr(begin, end - begin), {{kModules, "."}});
  }
  const size_t dot = name.rfind('.');
  return dot == absl::string_view::npos ? "" : std::string(name.substr(0, dot));
}

}  // namespace graphnet
