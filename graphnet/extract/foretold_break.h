// Breaks of a program that is not run (foretell.h), as those who print them see them.
#ifndef GRAPHNET_EXTRACT_FORETOLD_BREAK_H_
#define GRAPHNET_EXTRACT_FORETOLD_BREAK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graphnet/extract/break_reason.h"

namespace graphnet {

// Where in the program that was scripted; lines and columns count from 1, 0: unknown.
struct SourcePlace {
  std::string file;
  int64_t line = 0;
  int64_t column = 0;
  std::string source;  // the line's text
};

// What must happen for a break to be reached.
struct BreakCondition {
  enum class Kind {
    kTrue,   // the `if` there takes its first branch
    kFalse,  // it takes its other branch
    kTurn,   // the loop there goes on
    kLong,   // it has more turns than are captured one by one (CaptureOptions::max_unroll)
    kData,   // what is read, or written to, there is such that it breaks the graph
  };
  Kind kind = Kind::kTrue;
  bool on_data = false;  // it depends on what tensors hold, not on sizes and numbers alone
  SourcePlace place;
};

struct ForetoldBreak {
  BreakReason reason = BreakReason::kNone;
  std::string op;  // "aten::Bool"
  SourcePlace place;
  // All of them must hold, the outermost first. None: each run that raises no error breaks here.
  std::vector<BreakCondition> conditions;
};

struct ForetoldBreaks {
  std::vector<ForetoldBreak> breaks;  // in the order of the program, one for a place and reason
  bool always_raises = false;         // no run gets to the end
};

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_FORETOLD_BREAK_H_
