// Reads the tables of a message Module: strings, symbols, expressions, metas,
// templates, draw specs and attributes.
//
// It checks every index and the invariants of the IR that concern the tables (numbers 8 to 14 of
// ir/verifier.h). An entry is checked once, not for each node that uses it. So a module that was
// read need not be verified again.
#ifndef GRAPHNET_FORMATS_PROTOBUF_TABLES_DECODER_H_
#define GRAPHNET_FORMATS_PROTOBUF_TABLES_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/limits.h"
#include "graphnet/formats/protobuf/budget.h"
#include "graphnet/formats/protobuf/column.h"
#include "graphnet/formats/protobuf/graphnet.pb.h"
#include "graphnet/formats/protobuf/string_table.h"
#include "graphnet/ir/module.h"

namespace graphnet::proto_internal {

// The part of a draw spec that many draw specs share.
struct DrawForm {
  bool has_mean = false;
  bool has_std = false;
  bool in_input_meta = false;
  bool has_original_name = false;
  bool has_data = false;
  int mean_scale = -1;  // -1 if the mean is an index into the reals
  int std_scale = -1;
  Argument min;
  Argument max;
};

// The things that nodes have in common.
struct Template {
  Op op = Op::kPlaceholder;
  uint32_t target_id = 0;  // 0 if the target is a label
  absl::string_view target;
  // The module's copy of the target, if the module also owns all arguments but operands; else null.
  const absl::string_view* interned_target = nullptr;
  absl::string_view annotation;
  absl::Span<const Argument> args;
  absl::Span<const KwArg> kwargs;
  // The places of the operands in `args` and `kwargs`.
  absl::Span<Argument* const> operands;
  // The graphs that the arguments refer to.
  absl::Span<const Graph* const> graphs;
  const DrawForm* draw = nullptr;
  uint64_t cost = 0;  // cost of a node that uses the template
};

class TablesDecoder {
 public:
  // All arguments must outlive this object.
  TablesDecoder(const proto::Module& message, Module* module, Budget* budget)
      : message_(message),
        module_(module),
        budget_(budget),
        draws_(message.draws()),
        data_(message.data()) {}

  // Call these in this order. The module must have all its graphs, still without nodes, before
  // DecodeTables; their names come from DecodeStrings.
  absl::Status DecodeStrings();
  absl::Status DecodeTables();
  absl::Status DecodeAttributes();

  absl::Span<const Template> templates() const { return templates_; }
  size_t num_strings() const { return strings_.size() + 1; }

  // Sets `name` to string `id`; 0 is the empty string. Returns false if there is none, or if it is
  // longer than a name may be.
  bool Name(uint64_t id, absl::string_view* name) const {
    if (id == 0) {
      *name = {};
      return true;
    }
    if (id > strings_.size()) return false;
    *name = strings_[id - 1];
    return name->size() <= kMaxNameBytes;
  }
  // Returns the next label, which lies in the module's arena; null if none is left.
  const absl::string_view* NextLabel() {
    return next_label_ < labels_.size() ? &labels_[next_label_++] : nullptr;
  }
  bool NextLabel(absl::string_view* label) {
    const absl::string_view* next = NextLabel();
    if (next != nullptr) *label = *next;
    return next != nullptr;
  }

  // Sets `meta` and `cost` to entry `id`, counted from 1; 0 gives null. Returns false if there is
  // none.
  bool Meta(uint64_t id, const ValueMeta** meta, uint64_t* cost) const {
    if (id == 0) {
      *meta = nullptr;
      *cost = 0;
      return true;
    }
    if (id > metas_.size()) return false;
    *meta = metas_[id - 1].meta;
    *cost = metas_[id - 1].cost;
    return true;
  }

  // Reads a draw form, which lives as long as this object.
  absl::Status DecodeDrawForm(StreamReader& in, const DrawForm** form);
  // Reads the next draw spec. Its `data` is valid until the next call.
  absl::Status NextDrawSpec(const DrawForm& form, DrawSpec* spec);

  // Returns an error if literal data of `count` elements does not fit a value with this meta.
  absl::Status CheckDataSize(size_t count, const TensorMeta* meta) const;

  // Returns an error if anything is left that no node has used. Call it last.
  absl::Status CheckUsedUp() const;

 private:
  struct Expression {
    const SymExpr* expr;
    uint64_t cost;
    int height;
  };
  struct Value {
    const ValueMeta* meta;
    uint64_t cost;
    int height;
  };
  // Facts that are gathered while the arguments of one template are read.
  struct Gathered {
    bool allow_operands = true;
    uint64_t cost = 0;
    std::vector<Argument*> operands;
    std::vector<const Graph*> graphs;
  };

  absl::Status DecodeSymbols();
  absl::Status DecodeRelations();
  absl::Status DecodeAttribute(StreamReader& in);
  absl::Status DecodeExpressions();
  absl::Status DecodeExpression(StreamReader& in);
  absl::Status DecodeMetas();
  absl::Status DecodeTensor(uint64_t head, StreamReader& in);
  absl::Status DecodeTuple(uint64_t count, StreamReader& in);
  absl::Status DecodeTemplates();
  absl::Status DecodeTemplate(StreamReader& in, Template* out);
  absl::Status CheckTemplate(const Template& made) const;
  absl::Status DecodeArgument(StreamReader& in, int depth, Gathered& gathered, Argument* out);
  absl::Status DecodeElements(Argument::Kind kind, uint64_t count, StreamReader& in, int depth,
                              Gathered& gathered, Argument* out);
  absl::Status DecodeWide(uint64_t payload, StreamReader& in, Argument* out);
  absl::Status DecodeBound(StreamReader& in, Argument* out);
  bool NextMoment(int scale, double* value);
  absl::Status NextData(Argument* out);

  const proto::Module& message_;
  Module* const module_;
  Budget* const budget_;
  Arena arena_;  // owns templates and their parts
  StringTable strings_;
  StringTable labels_;
  size_t next_label_ = 0;
  std::vector<bool> is_symbol_;  // by string
  std::vector<Expression> expressions_;
  std::vector<Value> metas_;
  std::vector<Template> templates_;
  StreamReader draws_;
  StreamReader data_;
  int next_data_real_ = 0;
  std::vector<Argument> data_values_;  // data of the last draw spec
  std::vector<Dim> shape_;             // shape of the last tensor
};

}  // namespace graphnet::proto_internal

#endif  // GRAPHNET_FORMATS_PROTOBUF_TABLES_DECODER_H_
