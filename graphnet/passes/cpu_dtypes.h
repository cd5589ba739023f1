// Internal: the text of cpu_dtypes.txt, which make_cpu_dtypes.py writes.
#ifndef GRAPHNET_PASSES_CPU_DTYPES_H_
#define GRAPHNET_PASSES_CPU_DTYPES_H_

#include "absl/strings/string_view.h"

namespace graphnet {

absl::string_view CpuDTypesText();

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_CPU_DTYPES_H_
