// Reads a graph from the columns of a message Graph.
#ifndef GRAPHNET_FORMATS_PROTOBUF_GRAPH_DECODER_H_
#define GRAPHNET_FORMATS_PROTOBUF_GRAPH_DECODER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/protobuf/budget.h"
#include "graphnet/formats/protobuf/column.h"
#include "graphnet/formats/protobuf/graphnet.pb.h"
#include "graphnet/formats/protobuf/tables_decoder.h"
#include "graphnet/ir/module.h"

namespace graphnet::proto_internal {

// Reads the graphs of a module, one after the other. It checks the invariants of the IR that
// TablesDecoder has not checked, so that the module verifies in the end.
class GraphDecoder {
 public:
  // All arguments must outlive this object. `tables` has read its tables and the attributes.
  GraphDecoder(const Module& module, TablesDecoder* tables, Budget* budget);

  // Reads a graph into `graph`, which must be empty.
  absl::Status Decode(const proto::Graph& message, Graph* graph);

  // Call it after the last graph. Returns an error unless every graph but the first is referred to
  // and no graph refers to itself, directly or through others.
  absl::Status CheckReferences() const;

 private:
  // The last suffix that a base of names had.
  struct Base {
    uint64_t suffix = 0;
    uint32_t graph = 0;  // number of the graph where it had it, from 1; 0 if it had none yet
  };

  // Returns what is wrong with a node at its place; empty if nothing is.
  absl::string_view CheckPlace(const Template& t, absl::string_view target, size_t index) const;
  absl::Status CheckTargets();
  bool PlaceOperands(const Template& t, size_t index, StreamReader& operands);
  // Sets `name_`. Returns false and sets `error_` if the code gives no name.
  bool DecodeName(uint64_t code, const Template& t, size_t template_index, absl::string_view target,
                  StreamReader& suffixes);

  const Module& module_;
  TablesDecoder& tables_;
  Budget& budget_;
  uint32_t graph_number_ = 0;
  std::vector<Base> bases_;                 // by string
  std::vector<uint32_t> base_of_template_;  // 0 if there is none yet
  std::vector<uint32_t> base_of_target_;    // by string; 0 if there is none yet
  // The nodes made so far. The first `num_placeholders_` are placeholders.
  std::vector<Node*> nodes_;
  absl::flat_hash_set<absl::string_view> names_;
  size_t num_placeholders_ = 0;
  size_t next_placeholder_ = 0;
  bool seen_output_ = false;
  // Pairs of a graph and a body that one of its nodes refers to.
  std::vector<std::pair<const Graph*, const Graph*>> references_;
  absl::string_view name_;
  std::string name_buffer_;
  std::string snake_buffer_;
  absl::string_view error_;
};

}  // namespace graphnet::proto_internal

#endif  // GRAPHNET_FORMATS_PROTOBUF_GRAPH_DECODER_H_
