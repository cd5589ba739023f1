// The module graphnet_ir._core.
#include <nanobind/nanobind.h>

#include "graphnet/base/version.h"

NB_MODULE(_core, module) {
  module.def("version", [] { return graphnet::kVersion; });
}
