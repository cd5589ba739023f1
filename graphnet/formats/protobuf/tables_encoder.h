// Builds the tables of a message Module. Entries are in the order of their first use, so that equal
// samples give equal bytes.
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
  // `module` is verified. It, `message` and all strings that are passed in must outlive this
  // object.
  TablesEncoder(const Module& module, proto::Module* message);

  // Returns the index of a string, counted from 1; 0 for the empty one.
  uint64_t StringId(absl::string_view text);
  // Like StringId, but makes status() an error if the string is longer than a name may be.
  uint64_t NameId(absl::string_view text);
  bool HasString(absl::string_view text) const {
    return text.empty() || string_ids_.contains(text);
  }
  size_t num_strings() const { return strings_.size() + 1; }
  void AddLabel(absl::string_view text);

  // Return the index of a meta, counted from 1; 0 for null.
  uint64_t MetaId(const ValueMeta* meta);
  uint64_t MetaId(const TensorMeta* meta);
  // Returns the index of an expression, counted from 0.
  uint64_t ExpressionId(const SymExpr* expr);

  // Appends an argument to `out` and adds the cost that it unfolds to to `cost`. It says where the
  // operands are, but not which nodes they are.
  void AppendArgument(const Argument& argument, std::vector<uint64_t>* out, uint64_t* cost);
  // Appends the form of a draw spec to `out`.
  void AppendDrawForm(const DrawSpec& spec, std::vector<uint64_t>* out);
  // Writes the parts of a draw spec that are not in its form.
  void AddDraw(const DrawSpec& spec);

  // Counts a cost that the reader's Budget will be charged.
  void Charge(uint64_t cost) { unfolded_ = AddCosts(unfolded_, cost); }
  void ChargeMeta(uint64_t id) {
    if (id > 0) Charge(meta_costs_[id - 1]);
  }

  // Writes symbols, relations and attributes.
  void EncodeModuleLists();
  // Writes the strings and labels.
  void Finish();

  // The first error, or OK.
  const absl::Status& status() const { return status_; }
  // The cost that the message unfolds to; complete after Finish.
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
  // The key is the kind and the operands, so that equal expressions are found.
  absl::flat_hash_map<std::array<uint64_t, 3>, uint64_t> expression_ids_;
  absl::flat_hash_map<const SymExpr*, uint64_t> expression_memo_;
  std::vector<uint64_t> expression_costs_;
  // The key is an entry with indices in place of distances.
  absl::flat_hash_map<std::vector<uint64_t>, uint64_t> meta_ids_;
  absl::flat_hash_map<const void*, uint64_t> meta_memo_;
  std::vector<uint64_t> meta_costs_;
  std::vector<double> floats_;  // scratch space
};

}  // namespace graphnet::proto_internal

#endif  // GRAPHNET_FORMATS_PROTOBUF_TABLES_ENCODER_H_
