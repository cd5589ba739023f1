// Reads the tables of a message Module: strings, symbols, expressions, metas,
// templates, draw specs and attributes.
//
// Every index is checked, and so are the invariants of the IR as far as they
// concern the tables (numbers 8 to 14 of ir/verifier.h): once for an entry and
// not for each node that uses it, which is why a module that was read need not
// be verified again.
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

// The part of a draw spec that recurs.
struct DrawForm {
  bool has_mean = false;
  bool has_std = false;
  bool in_input_meta = false;
  bool has_original_name = false;
  bool has_data = false;
  int mean_scale = -1;  // -1: an index into the reals
  int std_scale = -1;
  Argument min;
  Argument max;
};

// What nodes have in common.
struct Template {
  Op op = Op::kPlaceholder;
  uint32_t target_id = 0;  // 0: the target is a label
  absl::string_view target;
  // The target in the module, if all but the operands is there; else null.
  const absl::string_view* interned_target = nullptr;
  absl::string_view annotation;
  absl::Span<const Argument> args;
  absl::Span<const KwArg> kwargs;
  // The places in `args` and `kwargs` where the operands go.
  absl::Span<Argument* const> operands;
  // The graphs that the arguments refer to.
  absl::Span<const Graph* const> graphs;
  const DrawForm* draw = nullptr;
  uint64_t cost = 0;  // of a node that uses it
};

class TablesDecoder {
 public:
  // The module has all its graphs, still without nodes. `message` and `module`
  // must outlive this object.
  TablesDecoder(const proto::Module& message, Module* module, Budget* budget)
      : message_(message),
        module_(module),
        budget_(budget),
        draws_(message.draws()),
        data_(message.data()) {}

  // In this order; the graphs are made after DecodeStrings, for which their
  // names are needed.
  absl::Status DecodeStrings();
  absl::Status DecodeTables();
  absl::Status DecodeAttributes();

  absl::Span<const Template> templates() const { return templates_; }
  size_t num_strings() const { return strings_.size() + 1; }

  // String `id`, 0 the empty one, where names are; false if there is none or it
  // is longer than names may be.
  bool Name(uint64_t id, absl::string_view* name) const {
    if (id == 0) {
      *name = {};
      return true;
    }
    if (id > strings_.size()) return false;
    *name = strings_[id - 1];
    return name->size() <= kMaxNameBytes;
  }
  // The next label, which is in the module's arena; null if there is none left.
  const absl::string_view* NextLabel() {
    return next_label_ < labels_.size() ? &labels_[next_label_++] : nullptr;
  }
  bool NextLabel(absl::string_view* label) {
    const absl::string_view* next = NextLabel();
    if (next != nullptr) *label = *next;
    return next != nullptr;
  }

  // By index counted from 1; false if there is none. 0 gives null.
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

  // Reads a draw form; it lives as long as this object.
  absl::Status DecodeDrawForm(StreamReader& in, const DrawForm** form);
  // The next draw spec. What it points to is valid until the next call.
  absl::Status NextDrawSpec(const DrawForm& form, DrawSpec* spec);

  // Whether literal data of `count` elements suits a value of this meta.
  absl::Status CheckDataSize(size_t count, const TensorMeta* meta) const;

  // Whether all has been used up, as it must be in the end.
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
  // What is gathered while the arguments of one template are read.
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
  Arena arena_;  // Templates and what they hold.
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
  std::vector<Argument> data_values_;  // Of the draw spec read last.
  std::vector<Dim> shape_;             // Of the tensor read last.
};

}  // namespace graphnet::proto_internal

#endif  // GRAPHNET_FORMATS_PROTOBUF_TABLES_DECODER_H_
