// What `graphnet extract` says of a captured program, and of foretold breaks.
#ifndef GRAPHNET_EXTRACT_REPORT_H_
#define GRAPHNET_EXTRACT_REPORT_H_

#include <string>

#include "graphnet/base/report.h"
#include "graphnet/extract/foretold_break.h"
#include "graphnet/extract/manifest.h"

namespace graphnet {

// Returns the steps in order: subgraphs and the operations between them. `out` is the folder of the
// program. If `explains` is true, the text says why each subgraph ended and what would help.
Report ReportOf(const StitchManifest& manifest, const std::string& out, bool explains);
// Returns the breaks with the conditions under which they are reached.
Report ReportOf(const ForetoldBreaks& foretold);

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_REPORT_H_
