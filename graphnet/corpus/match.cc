#include "graphnet/corpus/match.h"

#include <vector>

#include "graphnet/base/status.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

absl::StatusOr<size_t> CountMatches(const CallQuery& query, absl::string_view blob) {
  ASSIGN_OR_RETURN(const Sample sample, DeserializeSample(blob, "blob"));
  ASSIGN_OR_RETURN(const std::vector<Node*> calls, query.Find(sample.module.get()));
  return calls.size();
}

}  // namespace graphnet
