// Builds the tables of a message Module. Entries get their place in order of
// first use, so that equal samples give equal bytes.
#ifndef GRAPHNET_FORMATS_PROTOBUF_TABLES_ENCODER_H_
#define GRAPHNET_FORMATS_PROTOBUF_TABLES_ENCODER_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/protobuf/budget.h"
#include "graphnet/formats/protobuf/graphnet.pb.h"
#include "graphnet/ir/module.h"

namespace graphnet::proto_internal {

class TablesEncoder {
 public:
  // `module` is verified and must outlive this object, as must the strings that
  // are handed over.
  TablesEncoder(const Module& module, proto::Module* message);

  // The index of a string counted from 1; 0 for the empty one.
  uint64_t StringId(absl::string_view text);
  // Ditto, for what must not be longer than names may be; see status().
  uint64_t NameId(absl::string_view text);
  bool HasString(absl::string_view text) const {
    return text.empty() || string_ids_.contains(text);
  }
  size_t num_strings() const { return strings_.size() + 1; }
  void AddLabel(absl::string_view text);

  // Counted from 1; 0 for null.
  uint64_t MetaId(const ValueMeta* meta);
  uint64_t MetaId(const TensorMeta* meta);
  uint64_t ExpressionId(const SymExpr* expr);

  // Appends an argument to `out`, and what it unfolds to to `cost`. Which nodes
  // it refers to is not told here.
  void AppendArgument(const Argument& argument, std::vector<uint64_t>* out, uint64_t* cost);
  // Appends the form of a draw spec to `out`.
  void AppendDrawForm(const DrawSpec& spec, std::vector<uint64_t>* out);
  // Adds what a draw spec holds beside its form.
  void AddDraw(const DrawSpec& spec);

  // Counts what the reader's Budget will be charged with.
  void Charge(uint64_t cost) { unfolded_ = AddCosts(unfolded_, cost); }
  void ChargeMeta(uint64_t id) {
    if (id > 0) Charge(meta_costs_[id - 1]);
  }

  // Symbols, relations and attributes.
  void EncodeModuleLists();
  // Writes the strings and labels.
  void Finish();

  // Whether all could be written.
  const absl::Status& status() const { return status_; }
  // What the message unfolds to; complete after Finish.
  uint64_t unfolded() const { return unfolded_; }

 private:
  uint64_t RealId(double value);
  uint64_t AddMeta(const std::vector<uint64_t>& key, uint64_t cost);
  void AppendFloat(double value, std::vector<uint64_t>* out);
  void AppendElements(const Argument& argument, std::vector<uint64_t>* out, uint64_t* cost);
  void AddData(absl::Span<const Argument> values);

  const Module& module_;
  proto::Module* const message_;
  absl::Status status_;
  uint64_t unfolded_ = 0;
  absl::flat_hash_map<const Graph*, uint64_t> graph_ids_;
  std::vector<absl::string_view> strings_;
  absl::flat_hash_map<absl::string_view, uint64_t> string_ids_;
  std::vector<absl::string_view> labels_;
  absl::flat_hash_map<uint64_t, uint64_t> real_ids_;  // by bits
  // Kind and operands, by which equal expressions are found.
  absl::flat_hash_map<std::array<uint64_t, 3>, uint64_t> expression_ids_;
  absl::flat_hash_map<const SymExpr*, uint64_t> expression_memo_;
  std::vector<uint64_t> expression_costs_;
  // An entry, with indices instead of distances.
  absl::flat_hash_map<std::vector<uint64_t>, uint64_t> meta_ids_;
  absl::flat_hash_map<const void*, uint64_t> meta_memo_;
  std::vector<uint64_t> meta_costs_;
  std::vector<double> floats_;  // Scratch.
};

}  // namespace graphnet::proto_internal

#endif  // GRAPHNET_FORMATS_PROTOBUF_TABLES_ENCODER_H_
