#include "graphnet/formats/protobuf/sample_codec.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/unknown_field_set.h"
#include "graphnet/base/check.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/protobuf/budget.h"
#include "graphnet/formats/protobuf/graph_decoder.h"
#include "graphnet/formats/protobuf/graph_encoder.h"
#include "graphnet/formats/protobuf/tables_decoder.h"
#include "graphnet/formats/protobuf/tables_encoder.h"
#include "graphnet/ir/verifier.h"

namespace graphnet::proto_internal {
namespace {

bool IsHex(absl::string_view text) {
  if (text.empty() || text.size() % 2 != 0) return false;
  for (const char c : text) {
    if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f')) return false;
  }
  return true;
}

// Checks that a name leads to a file inside of the sample's folder.
absl::Status CheckFileName(absl::string_view name) {
  bool good = !name.empty() && name.size() <= kMaxNameBytes && !absl::StrContains(name, '\0');
  for (const absl::string_view part : absl::StrSplit(name, '/')) {
    good = good && !part.empty() && part != "." && part != "..";
  }
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("extra_files: ", Printable(name), " is not the name of a file in a folder"));
}

// Returns whether the message has only known fields. Protobuf keeps the others apart.
template <typename Message>
bool IsKnown(const Message& message) {
  return message.GetReflection()->GetUnknownFields(message).empty();
}

absl::Status CheckFields(const proto::Sample& message) {
  bool known = IsKnown(message) && IsKnown(message.module()) &&
               IsKnown(message.module().strings()) && IsKnown(message.module().labels()) &&
               IsKnown(message.weights());
  for (const proto::Graph& graph : message.module().graphs()) known = known && IsKnown(graph);
  for (const proto::ExtraFile& file : message.extra_files()) known = known && IsKnown(file);
  for (const proto::Provenance& origin : message.provenance()) known = known && IsKnown(origin);
  if (!known) return absl::InvalidArgumentError("a field that this version does not have");
  if (!message.magic().empty() || message.version() != 0 || message.size() != 0 ||
      message.checksum() != 0) {
    return absl::InvalidArgumentError("fields 1 to 4 come twice");
  }
  return absl::OkStatus();
}

absl::Status DecodeFields(const proto::Sample& message, Sample* sample) {
  sample->name = message.name();
  sample->graph_net_json = message.graph_net_json();
  sample->graph_hash = message.graph_hash_case() == proto::Sample::kGraphHashHex
                           ? absl::BytesToHexString(message.graph_hash_hex())
                           : message.graph_hash_text();
  sample->has_constraints = message.has_constraints();
  for (const proto::ExtraFile& file : message.extra_files()) {
    RETURN_IF_ERROR(CheckFileName(file.name()));
    if (!sample->extra_files.empty() && file.name() <= sample->extra_files.rbegin()->first) {
      return absl::InvalidArgumentError(
          absl::StrCat("extra_files: ", Printable(file.name()), " is not in ascending order"));
    }
    sample->extra_files.emplace_hint(sample->extra_files.end(), file.name(), file.content());
  }
  for (const proto::Provenance& origin : message.provenance()) {
    sample->provenance.push_back(
        {origin.parent(), origin.parent_hash(), origin.start(), origin.end()});
  }
  return absl::OkStatus();
}

absl::Status DecodeModule(const proto::Sample& message, Budget* budget, Sample* sample) {
  const proto::Module& source = message.module();
  Module* module = sample->module.get();
  TablesDecoder tables(source, module, budget);
  RETURN_IF_ERROR(tables.DecodeStrings());
  // Create all graphs first, since graphs refer to later ones.
  for (int i = 0; i < source.graphs_size(); ++i) {
    absl::string_view name;
    if (!tables.Name(source.graphs(i).name(), &name) || name.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("graph ", i, ": no such name"));
    }
    if (module->FindGraph(name) != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("graph ", i, ": a second one named ", Printable(name)));
    }
    if (!budget->Charge(name.size())) {
      return absl::InvalidArgumentError(absl::StrCat("graph ", i, ": its name is too long"));
    }
    module->AddGraph(name);
  }
  RETURN_IF_ERROR(tables.DecodeTables());
  RETURN_IF_ERROR(tables.DecodeAttributes());
  GraphDecoder graphs(*module, &tables, budget);
  uint64_t num_nodes = 0;
  for (int i = 0; i < source.graphs_size(); ++i) {
    RETURN_IF_ERROR(
        Annotate(graphs.Decode(source.graphs(i), module->graphs()[i]), absl::StrCat("graph ", i)));
    num_nodes += static_cast<uint64_t>(source.graphs(i).templates_size());
  }
  if (module->graphs().empty()) return absl::InvalidArgumentError("the module has no graph");
  RETURN_IF_ERROR(graphs.CheckReferences());
  if (num_nodes != source.num_nodes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_nodes is ", source.num_nodes(), ", but there are ", num_nodes));
  }
  for (uint32_t i = 0; i < message.num_constraint_order(); ++i) {
    absl::string_view name;
    if (!tables.NextLabel(&name)) {
      return absl::InvalidArgumentError("labels: no label is left for the order of constraints");
    }
    sample->constraint_order.emplace_back(name);
  }
  return tables.CheckUsedUp();
}

void EncodeOrigin(const Sample& sample, proto::Sample* message) {
  message->set_name(sample.name);
  message->set_graph_net_json(sample.graph_net_json);
  for (const Provenance& provenance : sample.provenance) {
    proto::Provenance* origin = message->add_provenance();
    origin->set_parent(provenance.parent);
    origin->set_parent_hash(provenance.parent_hash);
    origin->set_start(provenance.start);
    origin->set_end(provenance.end);
  }
}

absl::Status Encode(const Sample& sample, bool has_origin, proto::Sample* message,
                    uint64_t* unfolded) {
  if (sample.module == nullptr) return absl::InvalidArgumentError("the sample has no module");
  RETURN_IF_ERROR(Verify(*sample.module));
  if (has_origin) EncodeOrigin(sample, message);
  if (IsHex(sample.graph_hash)) {
    message->set_graph_hash_hex(absl::HexStringToBytes(sample.graph_hash));
  } else if (!sample.graph_hash.empty()) {
    message->set_graph_hash_text(sample.graph_hash);
  }
  message->set_has_constraints(sample.has_constraints);
  for (const auto& [name, content] : sample.extra_files) {
    RETURN_IF_ERROR(CheckFileName(name));
    proto::ExtraFile* file = message->add_extra_files();
    file->set_name(name);
    file->set_content(content);
  }

  proto::Module* module = message->mutable_module();
  module->set_num_nodes(sample.module->num_nodes());
  TablesEncoder tables(*sample.module, module);
  tables.EncodeModuleLists();
  GraphEncoder graphs(*sample.module, &tables, has_origin);
  graphs.EncodeTemplates(module);
  graphs.EncodeGraphs(module);
  for (const Graph* graph : sample.module->graphs()) tables.Charge(graph->name().size());
  message->set_num_constraint_order(static_cast<uint32_t>(sample.constraint_order.size()));
  for (const std::string& name : sample.constraint_order) tables.AddLabel(name);
  tables.Finish();
  *unfolded = tables.unfolded();
  return tables.status();
}

}  // namespace

absl::Status EncodeSample(const Sample& sample, proto::Sample* message, uint64_t* unfolded) {
  return Encode(sample, /*has_origin=*/true, message, unfolded);
}

absl::Status EncodeGraph(const Sample& sample, proto::Sample* message, uint64_t* unfolded) {
  return Encode(sample, /*has_origin=*/false, message, unfolded);
}

absl::StatusOr<Sample> DecodeSample(const proto::Sample& message, size_t bytes) {
  return DecodeSampleWithLimit(message, UnfoldLimit(bytes));
}

absl::StatusOr<Sample> DecodeSampleWithLimit(const proto::Sample& message, uint64_t limit) {
  RETURN_IF_ERROR(CheckFields(message));
  Sample sample;
  sample.module = std::make_unique<Module>();
  Budget budget(limit);
  RETURN_IF_ERROR(DecodeFields(message, &sample));
  RETURN_IF_ERROR(DecodeModule(message, &budget, &sample));
  // The decoders have checked each invariant; see tables_decoder.h.
  DCHECK(Verify(*sample.module).ok());
  return sample;
}

}  // namespace graphnet::proto_internal
