// Ranges as they are defined: each is cut out, and the piece is hashed.
#ifndef GRAPHNET_TESTS_CORPUS_SLOW_RANGES_H_
#define GRAPHNET_TESTS_CORPUS_SLOW_RANGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// The ranges of one sample, which must verify and outlive this.
class SlowRanges {
 public:
  explicit SlowRanges(const Sample& sample)
      : sample_(sample), index_(*sample.module->main()), regions_(index_) {}

  int64_t num_operators() const { return index_.num_operators(); }
  bool CanCut(int64_t position) const { return regions_.OpenAt(position) == nullptr; }
  // Returns the CanonicalHash with metas of the piece.
  absl::StatusOr<std::string> Hash(const Range& range) const;

 private:
  const Sample& sample_;
  const GraphIndex index_;
  const Regions regions_;
};

}  // namespace graphnet

#endif  // GRAPHNET_TESTS_CORPUS_SLOW_RANGES_H_
