// The matches of a query in the blobs of a corpus, which are not trusted.
#ifndef GRAPHNET_CORPUS_MATCH_H_
#define GRAPHNET_CORPUS_MATCH_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/passes/call_query.h"

namespace graphnet {

// Returns how many calls of the graph in a blob match. Its errors are those of DeserializeSample.
absl::StatusOr<size_t> CountMatches(const CallQuery& query, absl::string_view blob);

}  // namespace graphnet

#endif  // GRAPHNET_CORPUS_MATCH_H_
