// Writes graphs as messages Graph, and the templates that their nodes share.
#ifndef GRAPHNET_FORMATS_PROTOBUF_GRAPH_ENCODER_H_
#define GRAPHNET_FORMATS_PROTOBUF_GRAPH_ENCODER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/protobuf/graphnet.pb.h"
#include "graphnet/formats/protobuf/tables_encoder.h"
#include "graphnet/ir/module.h"

namespace graphnet::proto_internal {

class GraphEncoder {
 public:
  // Without `has_locations`, nodes are written as if nobody knew where they come from.
  GraphEncoder(const Module& module, TablesEncoder* tables, bool has_locations = true);

  // Finds the templates of all nodes and writes them. Call EncodeGraphs afterwards.
  void EncodeTemplates(proto::Module* message);
  void EncodeGraphs(proto::Module* message);

 private:
  // The way in which a name will be encoded.
  struct NameUse {
    proto::Name name = proto::NAME_EXPECTED;  // NAME_BASE for a base and a suffix
    absl::string_view base;
    uint64_t suffix = 0;
  };
  struct TemplateUse {
    uint64_t count = 0;
    uint64_t cost = 0;
    uint32_t rank = 0;
    uint64_t target_id = 0;
    uint64_t last_base = 0;
  };
  struct Base {
    uint64_t suffix = 0;
    uint32_t graph = 0;
  };

  uint32_t FindTemplate(const Node& node);
  NameUse UseOfName(const Node& node);
  uint64_t EncodeName(const Node& node, TemplateUse& use, const NameUse& name,
                      proto::Graph* message);
  void EncodeGraph(const Graph& graph, proto::Graph* message);
  void EncodeOperands(const Node& node, uint64_t index, proto::Graph* message);

  const Module& module_;
  TablesEncoder& tables_;
  const bool has_locations_;
  absl::flat_hash_map<std::vector<uint64_t>, uint32_t> template_ids_;
  std::vector<TemplateUse> templates_;
  // One element for each node of all graphs, in order.
  std::vector<uint32_t> template_of_node_;
  std::vector<NameUse> name_of_node_;
  // Number of names with a base.
  absl::flat_hash_map<absl::string_view, uint32_t> base_count_;

  uint32_t graph_number_ = 0;
  std::vector<Base> bases_;               // by string
  std::vector<uint64_t> base_of_target_;  // by string
  size_t node_number_ = 0;                // over all graphs
  absl::flat_hash_map<const Node*, uint64_t> node_index_;
  uint64_t num_placeholders_ = 0;
  uint64_t next_placeholder_ = 0;
  std::vector<uint64_t> scratch_;
  std::string text_;
};

}  // namespace graphnet::proto_internal

#endif  // GRAPHNET_FORMATS_PROTOBUF_GRAPH_ENCODER_H_
