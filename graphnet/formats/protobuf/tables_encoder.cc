#include "graphnet/formats/protobuf/tables_encoder.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "graphnet/base/check.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/protobuf/column.h"
#include "graphnet/formats/protobuf/decimal.h"
#include "graphnet/formats/protobuf/string_table.h"

namespace graphnet::proto_internal {
namespace {

// GraphNet prints moments with three decimals. Using this scale for all of them, even those that
// need fewer, keeps the number of draw forms small.
constexpr int kUsualScale = 3;

uint64_t TokenValue(proto::Token token, uint64_t payload) {
  return ((payload << 4 | static_cast<uint64_t>(token)) << 1) | 1;
}

bool IsWide(int64_t value) {
  constexpr int64_t kLimit = int64_t{1} << 62;
  return value >= kLimit || value < -kLimit;
}

}  // namespace

TablesEncoder::TablesEncoder(const Module& module, proto::Module* message)
    : module_(module), message_(message) {
  for (const Graph* graph : module.graphs()) graph_ids_.emplace(graph, graph_ids_.size());
}

// --- Strings -----------------------------------------------------------------

uint64_t TablesEncoder::StringId(absl::string_view text) {
  if (text.empty()) return 0;
  const auto [it, inserted] = string_ids_.try_emplace(text, strings_.size() + 1);
  if (inserted) strings_.push_back(text);
  return it->second;
}

uint64_t TablesEncoder::NameId(absl::string_view text) {
  if (text.size() > kMaxNameBytes && status_.ok()) {
    status_ = absl::InvalidArgumentError(
        absl::StrCat("a name of ", text.size(), " bytes is too long: ", Printable(text)));
  }
  return StringId(text);
}

void TablesEncoder::AddLabel(absl::string_view text) {
  if (text.size() > kMaxNameBytes) NameId(text);
  labels_.push_back(text);
}

void TablesEncoder::Finish() {
  EncodeStrings(strings_, message_->mutable_strings());
  EncodeStrings(labels_, message_->mutable_labels());
  for (const absl::string_view text : strings_) Charge(text.size());
  for (const absl::string_view text : labels_) Charge(text.size());
}

// --- Expressions and metas ---------------------------------------------------

uint64_t TablesEncoder::RealId(double value) {
  const auto [it, inserted] =
      real_ids_.try_emplace(std::bit_cast<uint64_t>(value), real_ids_.size());
  if (inserted) message_->add_reals(value);
  return it->second;
}

uint64_t TablesEncoder::ExpressionId(const SymExpr* expr) {
  if (const auto it = expression_memo_.find(expr); it != expression_memo_.end()) return it->second;
  std::array<uint64_t, 3> key = {static_cast<uint64_t>(expr->kind), 0, 0};
  uint64_t cost = kExpressionCost;
  if (expr->kind == SymExpr::Kind::kInt) {
    key[1] = ZigZag(expr->value);
  } else if (expr->kind == SymExpr::Kind::kSymbol) {
    key[1] = NameId(expr->name);
  } else {
    key[1] = ExpressionId(expr->lhs);
    cost = AddCosts(cost, expression_costs_[key[1]]);
    if (expr->kind != SymExpr::Kind::kNeg) {
      key[2] = ExpressionId(expr->rhs);
      cost = AddCosts(cost, expression_costs_[key[2]]);
    }
  }
  const uint64_t next = expression_costs_.size();
  const auto [it, inserted] = expression_ids_.try_emplace(key, next);
  if (inserted) {
    expression_costs_.push_back(cost);
    message_->add_expressions(key[0]);
    if (expr->kind <= SymExpr::Kind::kSymbol) {
      message_->add_expressions(key[1]);
    } else {
      message_->add_expressions(next - key[1]);
      if (expr->kind != SymExpr::Kind::kNeg) message_->add_expressions(next - key[2]);
    }
  }
  const uint64_t id = it->second;
  expression_memo_.emplace(expr, id);
  return id;
}

uint64_t TablesEncoder::MetaId(const TensorMeta* meta) {
  if (meta == nullptr) return 0;
  if (const auto it = meta_memo_.find(meta); it != meta_memo_.end()) return it->second;
  std::vector<uint64_t> key = {1 | uint64_t{meta->has_device} << 2 |
                               uint64_t{meta->has_shape} << 3 |
                               static_cast<uint64_t>(meta->dtype) << 4};
  if (meta->has_device) {
    key.push_back(static_cast<uint64_t>(meta->device.type));
    key.push_back(ZigZag(meta->device.index));
  }
  uint64_t cost = kMetaCost;
  if (meta->has_shape) {
    key.push_back(meta->shape.size());
    cost += meta->shape.size() * kArgumentCost;
    for (const Dim& dim : meta->shape) {
      if (dim.is_static()) {
        key.push_back(static_cast<uint64_t>(dim.value) << 1);
      } else {
        const uint64_t id = ExpressionId(dim.expr);
        key.push_back(id << 1 | 1);
        cost = AddCosts(cost, expression_costs_[id]);
      }
    }
  }
  const uint64_t next = meta_costs_.size() + 1;
  const auto [it, inserted] = meta_ids_.try_emplace(key, next);
  if (inserted) {
    for (const uint64_t value : key) message_->add_metas(value);
    meta_costs_.push_back(cost);
    Charge(cost);
  }
  meta_memo_.emplace(meta, it->second);
  return it->second;
}

uint64_t TablesEncoder::MetaId(const ValueMeta* meta) {
  if (meta == nullptr) return 0;
  if (meta->tensor != nullptr) return MetaId(meta->tensor);
  if (const auto it = meta_memo_.find(meta); it != meta_memo_.end()) return it->second;
  std::vector<uint64_t> key = {meta->is_tuple ? 2 | meta->elements.size() << 2 : 0};
  uint64_t cost = kMetaCost;
  for (const ValueMeta* element : meta->elements) {
    if (element == nullptr) {
      if (status_.ok()) status_ = absl::InvalidArgumentError("a tuple's meta lacks an element");
      return 0;
    }
    const uint64_t id = MetaId(element);
    if (id == 0) return 0;  // An element of it lacks a meta.
    key.push_back(id);
    cost = AddCosts(cost, meta_costs_[id - 1]);
  }
  const uint64_t next = meta_costs_.size() + 1;
  const auto [it, inserted] = meta_ids_.try_emplace(key, next);
  if (inserted) {
    message_->add_metas(key[0]);
    for (size_t i = 1; i < key.size(); ++i) message_->add_metas(next - key[i]);
    meta_costs_.push_back(cost);
    Charge(cost);
  }
  const uint64_t id = it->second;
  meta_memo_.emplace(meta, id);
  return id;
}

// --- Arguments ---------------------------------------------------------------

void TablesEncoder::AppendFloat(double value, std::vector<uint64_t>* out) {
  uint64_t code = 0;
  const int scale = CommonDecimalScale({&value, 1});
  if (scale >= 0 && EncodeDecimal(value, scale, &code)) {
    out->push_back(TokenValue(proto::TOKEN_DECIMAL, static_cast<uint64_t>(scale)));
    out->push_back(code);
  } else {
    out->push_back(TokenValue(proto::TOKEN_REAL, RealId(value)));
  }
}

void TablesEncoder::AppendElements(const Argument& argument, std::vector<uint64_t>* out,
                                   uint64_t* cost) {
  for (const Argument& element : argument.elements()) AppendArgument(element, out, cost);
}

void TablesEncoder::AppendArgument(const Argument& argument, std::vector<uint64_t>* out,
                                   uint64_t* cost) {
  using Kind = Argument::Kind;
  *cost = AddCosts(*cost, kArgumentCost);
  const auto add = [out](proto::Token token, uint64_t payload) {
    out->push_back(TokenValue(token, payload));
  };
  switch (argument.kind()) {
    case Kind::kNone: return add(proto::TOKEN_CONSTANT, 0);
    case Kind::kBool: return add(proto::TOKEN_CONSTANT, argument.boolean() ? 2 : 1);
    case Kind::kEllipsis: return add(proto::TOKEN_CONSTANT, 3);
    case Kind::kNode: return add(proto::TOKEN_OPERAND, 0);
    case Kind::kInt:
      if (!IsWide(argument.integer())) {
        out->push_back(ZigZag(argument.integer()) << 1);
        return;
      }
      add(proto::TOKEN_WIDE, 0);
      out->push_back(ZigZag(argument.integer()));
      return;
    case Kind::kFloat: return AppendFloat(argument.real(), out);
    case Kind::kComplex: {
      const std::complex<double> value = argument.complex();
      add(proto::TOKEN_WIDE, 1);
      out->push_back(RealId(value.real()));
      out->push_back(RealId(value.imag()));
      return;
    }
    case Kind::kString:
      *cost = AddCosts(*cost, argument.string().size());
      return add(proto::TOKEN_STRING, StringId(argument.string()));
    case Kind::kDType: return add(proto::TOKEN_DTYPE, static_cast<uint64_t>(argument.dtype()));
    case Kind::kDevice:
      add(proto::TOKEN_DEVICE, static_cast<uint64_t>(argument.device().type));
      out->push_back(ZigZag(argument.device().index));
      return;
    case Kind::kLayout: return add(proto::TOKEN_LAYOUT, static_cast<uint64_t>(argument.layout()));
    case Kind::kMemoryFormat:
      return add(proto::TOKEN_MEMORY_FORMAT, static_cast<uint64_t>(argument.memory_format()));
    case Kind::kList:
      add(proto::TOKEN_LIST, argument.elements().size());
      return AppendElements(argument, out, cost);
    case Kind::kTuple:
      add(proto::TOKEN_TUPLE, argument.elements().size());
      return AppendElements(argument, out, cost);
    case Kind::kDict:
      add(proto::TOKEN_DICT, argument.elements().size());
      return AppendElements(argument, out, cost);
    case Kind::kSlice: add(proto::TOKEN_SLICE, 0); return AppendElements(argument, out, cost);
    case Kind::kGraph: return add(proto::TOKEN_GRAPH, graph_ids_.at(argument.graph()));
    case Kind::kSymInt: {
      const uint64_t id = ExpressionId(argument.sym());
      *cost = AddCosts(*cost, expression_costs_[id]);
      return add(proto::TOKEN_EXPRESSION, id);
    }
  }
  CHECK(false);
}

// --- Draw specs --------------------------------------------------------------

void TablesEncoder::AppendDrawForm(const DrawSpec& spec, std::vector<uint64_t>* out) {
  out->push_back(uint64_t{spec.has_mean} | uint64_t{spec.has_std} << 1 |
                 uint64_t{spec.in_input_meta} << 2 | uint64_t{!spec.original_name.empty()} << 3 |
                 uint64_t{!spec.data.is_none()} << 4);
  const auto scale = [](double value) {
    return static_cast<uint64_t>(CommonDecimalScale({&value, 1}, kUsualScale) + 1);
  };
  if (spec.has_mean) out->push_back(scale(spec.mean));
  if (spec.has_std) out->push_back(scale(spec.std));
  uint64_t cost = 0;
  AppendArgument(spec.min, out, &cost);
  AppendArgument(spec.max, out, &cost);
}

void TablesEncoder::AddDraw(const DrawSpec& spec) {
  const auto add = [this](double value) {
    uint64_t code = 0;
    const int scale = CommonDecimalScale({&value, 1}, kUsualScale);
    if (scale >= 0 && EncodeDecimal(value, scale, &code)) {
      message_->add_draws(code);
    } else {
      message_->add_draws(RealId(value));
    }
  };
  if (spec.has_mean) add(spec.mean);
  if (spec.has_std) add(spec.std);
  if (!spec.original_name.empty()) AddLabel(spec.original_name);
  if (!spec.data.is_none()) AddData(spec.data.elements());
}

void TablesEncoder::AddData(absl::Span<const Argument> values) {
  const auto all = [&values](Argument::Kind kind) {
    return std::all_of(values.begin(), values.end(),
                       [kind](const Argument& value) { return value.kind() == kind; });
  };
  const uint64_t count = values.size() << 2;
  if (all(Argument::Kind::kInt)) {
    message_->add_data(count | 0);
    for (const Argument& value : values) message_->add_data(ZigZag(value.integer()));
    return;
  }
  if (!all(Argument::Kind::kFloat)) {
    message_->add_data(count | 3);
    std::vector<uint64_t> out;
    uint64_t cost = 0;
    for (const Argument& value : values) AppendArgument(value, &out, &cost);
    for (const uint64_t value : out) message_->add_data(value);
    return;
  }
  floats_.clear();
  for (const Argument& value : values) floats_.push_back(value.real());
  const int scale = CommonDecimalScale(floats_);
  if (scale < 0) {
    message_->add_data(count | 2);
    for (const double value : floats_) message_->add_data_reals(value);
    return;
  }
  message_->add_data(count | 1);
  message_->add_data(static_cast<uint64_t>(scale));
  uint64_t code = 0;
  for (const double value : floats_) {
    CHECK(EncodeDecimal(value, scale, &code));
    message_->add_data(code);
  }
}

// --- The module's lists ------------------------------------------------------

void TablesEncoder::EncodeModuleLists() {
  for (const Symbol& symbol : module_.symbols()) {
    message_->add_symbols(NameId(symbol.name) << 1 | uint64_t{symbol.example.has_value()});
    if (symbol.example) message_->add_symbols(ZigZag(*symbol.example));
  }
  for (const SymExpr* relation : module_.relations()) {
    const uint64_t id = ExpressionId(relation);
    message_->add_relations(id);
    Charge(expression_costs_[id]);
  }
  std::vector<uint64_t> form;
  for (const Attribute& attribute : module_.attributes()) {
    const uint64_t meta = MetaId(attribute.meta);
    ChargeMeta(meta);
    message_->add_attributes(meta);
    message_->add_attributes(NameId(attribute.annotation) << 1 |
                             uint64_t{attribute.draw_spec != nullptr});
    AddLabel(attribute.name);
    if (attribute.draw_spec == nullptr) continue;
    form.clear();
    AppendDrawForm(*attribute.draw_spec, &form);
    for (const uint64_t value : form) message_->add_attributes(value);
    AddDraw(*attribute.draw_spec);
  }
}

}  // namespace graphnet::proto_internal
