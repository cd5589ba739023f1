// What `graphnet decompose` says of pieces.
#ifndef GRAPHNET_DECOMPOSE_REPORT_H_
#define GRAPHNET_DECOMPOSE_REPORT_H_

#include "graphnet/base/report.h"
#include "graphnet/decompose/decomposer.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Returns the pieces, what each takes, and the bytes between them. `module` is that of the whole,
// with all known metas.
Report ReportOf(const Module& module, const Decomposition& made);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_REPORT_H_
