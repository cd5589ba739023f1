// Reads the columns of a message Graph into a graph.
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

// One object reads the graphs of a module, one after the other. It checks what
// is left of the IR's invariants, so that the module verifies in the end.
class GraphDecoder {
 public:
  // All must outlive this object; `tables` and the module's attributes have been
  // read.
  GraphDecoder(const Module& module, TablesDecoder* tables, Budget* budget);

  // `graph` is empty.
  absl::Status Decode(const proto::Graph& message, Graph* graph);

  // After the last graph: whether all graphs but the first are referred to, and
  // none by way of others by itself.
  absl::Status CheckReferences() const;

 private:
  // What is known of a base of names: the last suffix it had in a graph.
  struct Base {
    uint64_t suffix = 0;
    uint32_t graph = 0;  // Which graph that was, counted from 1; 0: none.
  };

  // What is wrong with a node at its place; empty if nothing is.
  absl::string_view CheckPlace(const Template& t, absl::string_view target, size_t index) const;
  absl::Status CheckTargets();
  bool PlaceOperands(const Template& t, size_t index, StreamReader& operands);
  // Sets `name_`; false and a message in `error_` if there is none.
  bool DecodeName(uint64_t code, const Template& t, size_t template_index, absl::string_view target,
                  StreamReader& suffixes);

  const Module& module_;
  TablesDecoder& tables_;
  Budget& budget_;
  uint32_t graph_number_ = 0;
  std::vector<Base> bases_;                 // by string
  std::vector<uint32_t> base_of_template_;  // 0: none yet
  std::vector<uint32_t> base_of_target_;    // by string; 0: none yet
  // The nodes made so far, and how many placeholders they begin with.
  std::vector<Node*> nodes_;
  absl::flat_hash_set<absl::string_view> names_;
  size_t num_placeholders_ = 0;
  size_t next_placeholder_ = 0;
  bool seen_output_ = false;
  // Who refers to whom.
  std::vector<std::pair<const Graph*, const Graph*>> references_;
  absl::string_view name_;
  std::string name_buffer_;
  std::string snake_buffer_;
  absl::string_view error_;
};

}  // namespace graphnet::proto_internal

#endif  // GRAPHNET_FORMATS_PROTOBUF_GRAPH_DECODER_H_
