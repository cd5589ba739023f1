// Foretold breaks (foretell.h) in a form that can be printed.
#ifndef GRAPHNET_EXTRACT_FORETOLD_BREAK_H_
#define GRAPHNET_EXTRACT_FORETOLD_BREAK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graphnet/extract/break_reason.h"

namespace graphnet {

// A place in the scripted program. Lines and columns count from 1; 0 is unknown.
struct SourcePlace {
  std::string file;
  int64_t line = 0;
  int64_t column = 0;
  std::string source;  // the line's text
};

// A condition under which a break is reached.
struct BreakCondition {
  enum class Kind {
    kTrue,   // the `if` there takes its first branch
    kFalse,  // it takes its other branch
    kTurn,   // the loop there has another iteration
    kLong,   // the loop has more iterations than CaptureOptions::max_unroll
    kData,   // the value that is read or written there breaks the graph, which not all values do
  };
  Kind kind = Kind::kTrue;
  bool on_data = false;  // it depends on the data of tensors, not on sizes and numbers alone
  SourcePlace place;
};

struct ForetoldBreak {
  BreakReason reason = BreakReason::kNone;
  std::string op;  // "aten::Bool"
  SourcePlace place;
  // All of them must hold, the outermost first. If there are none, each run that raises no error
  // breaks here.
  std::vector<BreakCondition> conditions;
};

struct ForetoldBreaks {
  std::vector<ForetoldBreak> breaks;  // in program order, one for a place and reason
  bool always_raises = false;         // no run reaches the end
};

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_FORETOLD_BREAK_H_
