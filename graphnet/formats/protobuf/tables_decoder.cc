#include "graphnet/formats/protobuf/tables_decoder.h"

#include <algorithm>
#include <complex>
#include <limits>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/protobuf/decimal.h"
#include "graphnet/ir/verifier.h"

namespace graphnet::proto_internal {
namespace {

absl::Status Bad(absl::string_view what) { return absl::InvalidArgumentError(what); }

absl::Status Ended() { return Bad("ends too early"); }

absl::Status InEntry(const absl::Status& status, absl::string_view table, size_t i) {
  return status.ok() ? status : Annotate(status, absl::StrCat(table, ": entry ", i));
}

bool ToDevice(uint64_t type, int64_t index, Device* device) {
  if (type >= kNumDeviceTypes) return false;
  if (index < std::numeric_limits<int16_t>::min() || index > std::numeric_limits<int16_t>::max()) {
    return false;
  }
  *device = {static_cast<DeviceType>(type), static_cast<int16_t>(index)};
  return true;
}

}  // namespace

absl::Status TablesDecoder::DecodeStrings() {
  RETURN_IF_ERROR(
      Annotate(strings_.Decode(message_.strings(), budget_->left(), &arena_), "strings"));
  if (!budget_->Charge(strings_.total_bytes())) return Bad("strings: too long");
  RETURN_IF_ERROR(
      Annotate(labels_.Decode(message_.labels(), budget_->left(), &module_->arena()), "labels"));
  if (!budget_->Charge(labels_.total_bytes())) return Bad("labels: too long");
  for (size_t i = 0; i < labels_.size(); ++i) {
    if (labels_[i].size() > kMaxNameBytes)
      return Bad(absl::StrCat("labels: string ", i, ": too long"));
  }
  return absl::OkStatus();
}

absl::Status TablesDecoder::DecodeTables() {
  RETURN_IF_ERROR(DecodeSymbols());
  RETURN_IF_ERROR(DecodeExpressions());
  RETURN_IF_ERROR(DecodeRelations());
  RETURN_IF_ERROR(DecodeMetas());
  return DecodeTemplates();
}

// --- Symbols, expressions, relations -----------------------------------------

absl::Status TablesDecoder::DecodeSymbols() {
  is_symbol_.resize(num_strings());
  StreamReader in(message_.symbols());
  for (size_t i = 0; !in.AtEnd(); ++i) {
    const uint64_t head = in.Next();
    absl::string_view name;
    if (!Name(head >> 1, &name) || name.empty()) return InEntry(Bad("no name"), "symbols", i);
    std::optional<int64_t> example;
    if (head & 1) example = in.NextNumber();
    if (!in.ok()) return InEntry(Ended(), "symbols", i);
    module_->AddSymbol(name, example);
    if (module_->symbols().size() != i + 1) {
      return InEntry(Bad(absl::StrCat(Printable(name), " is declared twice")), "symbols", i);
    }
    is_symbol_[head >> 1] = true;
  }
  return absl::OkStatus();
}

absl::Status TablesDecoder::DecodeRelations() {
  for (int i = 0; i < message_.relations_size(); ++i) {
    const uint64_t id = message_.relations(i);
    if (id >= expressions_.size()) return InEntry(Bad("no such expression"), "relations", i);
    if (!expressions_[id].expr->is_relation()) {
      return InEntry(Bad("not a comparison"), "relations", i);
    }
    if (!budget_->Charge(expressions_[id].cost)) {
      return InEntry(Bad("too large for a file of this size"), "relations", i);
    }
    module_->AddRelation(expressions_[id].expr);
  }
  return absl::OkStatus();
}

absl::Status TablesDecoder::DecodeExpressions() {
  StreamReader in(message_.expressions());
  expressions_.reserve(in.left() / 2);
  while (!in.AtEnd()) {
    RETURN_IF_ERROR(InEntry(DecodeExpression(in), "expressions", expressions_.size()));
  }
  return absl::OkStatus();
}

absl::Status TablesDecoder::DecodeExpression(StreamReader& in) {
  const uint64_t kind_number = in.Next();
  if (kind_number >= kNumSymExprKinds) return Bad(absl::StrCat("unknown kind ", kind_number));
  const auto kind = static_cast<SymExpr::Kind>(kind_number);
  Expression made = {nullptr, kExpressionCost, 0};
  if (kind == SymExpr::Kind::kInt) {
    made.expr = module_->SymInt(in.NextNumber());
  } else if (kind == SymExpr::Kind::kSymbol) {
    const uint64_t id = in.Next();
    absl::string_view name;
    if (!Name(id, &name) || !is_symbol_[id]) return Bad("no such symbol");
    made.expr = module_->SymSymbol(name);
  } else {
    const SymExpr* operands[2] = {nullptr, nullptr};
    const int count = kind == SymExpr::Kind::kNeg ? 1 : 2;
    for (int i = 0; i < count; ++i) {
      const uint64_t distance = in.Next();
      if (distance == 0 || distance > expressions_.size()) return Bad("no such operand");
      const Expression& operand = expressions_[expressions_.size() - distance];
      if (operand.expr->is_relation()) return Bad("a comparison is an operand");
      operands[i] = operand.expr;
      made.cost = AddCosts(made.cost, operand.cost);
      made.height = std::max(made.height, operand.height + 1);
    }
    if (made.height > kMaxNesting) return Bad("nests too deep");
    made.expr = count == 1 ? module_->SymNeg(operands[0])
                           : module_->SymBinary(kind, operands[0], operands[1]);
  }
  if (!in.ok()) return Ended();
  expressions_.push_back(made);
  return absl::OkStatus();
}

// --- Metas -------------------------------------------------------------------

absl::Status TablesDecoder::DecodeMetas() {
  StreamReader in(message_.metas());
  metas_.reserve(in.left() / 4);
  while (!in.AtEnd()) {
    const uint64_t head = in.Next();
    absl::Status status;
    if (head == 0) {
      metas_.push_back({module_->arena().New<ValueMeta>(), kMetaCost, 0});
    } else if ((head & 3) == 1) {
      status = DecodeTensor(head >> 2, in);
    } else if ((head & 3) == 2) {
      status = DecodeTuple(head >> 2, in);
    } else {
      status = Bad("neither a tensor nor a tuple");
    }
    if (!status.ok()) return InEntry(status, "metas", metas_.size());
    // Charge each meta, even one that no node uses, because a tensor's expressions are copied.
    if (!budget_->Charge(metas_.back().cost)) {
      return InEntry(Bad("too large for a file of this size"), "metas", metas_.size() - 1);
    }
  }
  return absl::OkStatus();
}

absl::Status TablesDecoder::DecodeTensor(uint64_t head, StreamReader& in) {
  TensorMeta meta;
  meta.has_device = head & 1;
  meta.has_shape = head & 2;
  if ((head >> 2) >= kNumDTypes) return Bad(absl::StrCat("unknown dtype ", head >> 2));
  meta.dtype = static_cast<DType>(head >> 2);
  if (meta.has_device) {
    const uint64_t type = in.Next();
    if (!ToDevice(type, in.NextNumber(), &meta.device)) return Bad("no such device");
  }
  Value made = {nullptr, kMetaCost, 0};
  shape_.clear();
  if (meta.has_shape) {
    const uint64_t rank = in.Next();
    if (rank > kMaxRank) return Bad(absl::StrCat("too many dimensions: ", rank));
    made.cost += rank * kArgumentCost;
    int64_t elements = 1;
    for (uint64_t i = 0; i < rank; ++i) {
      const uint64_t dim = in.Next();
      if (dim & 1) {
        if ((dim >> 1) >= expressions_.size()) return Bad("no such expression");
        const Expression& expression = expressions_[dim >> 1];
        if (expression.expr->is_relation()) return Bad("a comparison is a dimension");
        shape_.push_back(expression.expr);
        made.cost = AddCosts(made.cost, expression.cost);
        continue;
      }
      const auto size = static_cast<int64_t>(dim >> 1);
      if (size > 0 &&
          (__builtin_mul_overflow(elements, size, &elements) || elements > kMaxTensorElements)) {
        return Bad("too many elements");
      }
      shape_.push_back(size);
    }
    meta.shape = shape_;
  }
  if (!in.ok()) return Ended();
  // Check the budget before the meta is copied.
  if (made.cost > budget_->left()) return Bad("too large for a file of this size");
  made.meta = module_->InternValueMeta(meta);
  metas_.push_back(made);
  return absl::OkStatus();
}

absl::Status TablesDecoder::DecodeTuple(uint64_t count, StreamReader& in) {
  if (count > in.left()) return Ended();
  std::vector<const ValueMeta*> elements;
  elements.reserve(count);
  Value made = {nullptr, kMetaCost, 0};
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t distance = in.Next();
    if (distance == 0 || distance > metas_.size()) return Bad("no such element");
    const Value& element = metas_[metas_.size() - distance];
    elements.push_back(element.meta);
    made.cost = AddCosts(made.cost, element.cost);
    made.height = std::max(made.height, element.height + 1);
  }
  if (made.height > kMaxNesting) return Bad("nests too deep");
  made.meta = module_->InternTupleMeta(elements);
  metas_.push_back(made);
  return absl::OkStatus();
}

// --- Templates and arguments -------------------------------------------------

absl::Status TablesDecoder::DecodeTemplates() {
  StreamReader in(message_.templates());
  while (!in.AtEnd()) {
    Template made;
    RETURN_IF_ERROR(InEntry(DecodeTemplate(in, &made), "templates", templates_.size()));
    templates_.push_back(made);
  }
  return absl::OkStatus();
}

namespace {

bool IsSmall(const Argument& a) {
  switch (a.kind()) {
    case Argument::Kind::kComplex:
    case Argument::Kind::kSymInt: return false;
    case Argument::Kind::kString: return a.string().size() <= 64;
    default: return true;
  }
}

}  // namespace

absl::Status TablesDecoder::DecodeTemplate(StreamReader& in, Template* out) {
  const uint64_t head = in.Next();
  if ((head & 7) > static_cast<uint64_t>(Op::kOutput) || head >> 5 != 0) {
    return Bad(absl::StrCat("unknown op ", head));
  }
  out->op = static_cast<Op>(head & 7);
  const uint64_t target = in.Next();
  if (!Name(target, &out->target)) return Bad("no such target");
  if (target != 0 && out->target.empty()) return Bad("its target is empty");
  out->target_id = static_cast<uint32_t>(target);
  if (head & 8 && !Name(in.Next(), &out->annotation)) return Bad("no such annotation");
  if (head & 16) RETURN_IF_ERROR(DecodeDrawForm(in, &out->draw));

  const uint64_t counts = in.Next();
  const uint64_t num_args = counts >> 1;
  const uint64_t num_kwargs = counts & 1 ? in.Next() : 0;
  // An argument takes at least one value, a keyword two.
  if (num_args > in.left() || num_kwargs > in.left() / 2) return Ended();
  if (num_kwargs > std::numeric_limits<uint16_t>::max()) return Bad("too many keywords");
  Argument* args = arena_.NewArray<Argument>(num_args);
  KwArg* kwargs = arena_.NewArray<KwArg>(num_kwargs);
  Gathered gathered;
  bool interned = target != 0;
  // Copies small arguments into the module once, so that they need not be copied for each node.
  // Large ones are copied for each node, and charged to the budget each time.
  const auto decode = [&](Argument* argument) -> absl::Status {
    const size_t operands = gathered.operands.size();
    RETURN_IF_ERROR(DecodeArgument(in, 0, gathered, argument));
    if (gathered.operands.size() > operands) return absl::OkStatus();
    bool small = true;
    ForEachArgument(*argument, [&](const Argument& a) { small = small && IsSmall(a); });
    if (small) *argument = module_->CopyArgument(*argument);
    interned = interned && small;
    return absl::OkStatus();
  };
  for (uint64_t i = 0; i < num_args; ++i) RETURN_IF_ERROR(decode(&args[i]));
  for (uint64_t i = 0; i < num_kwargs; ++i) {
    if (!Name(in.Next(), &kwargs[i].name)) return Bad("no such keyword");
    kwargs[i].name = module_->InternString(kwargs[i].name);
    RETURN_IF_ERROR(decode(&kwargs[i].value));
    gathered.cost = AddCosts(gathered.cost, kArgumentCost);
  }
  if (interned) out->interned_target = module_->InternTarget(out->target);
  if (!in.ok()) return Ended();
  out->args = {args, num_args};
  out->kwargs = {kwargs, num_kwargs};
  Argument** operands = arena_.NewArray<Argument*>(gathered.operands.size());
  std::copy(gathered.operands.begin(), gathered.operands.end(), operands);
  out->operands = {operands, gathered.operands.size()};
  const Graph** graphs = arena_.NewArray<const Graph*>(gathered.graphs.size());
  std::copy(gathered.graphs.begin(), gathered.graphs.end(), graphs);
  out->graphs = {graphs, gathered.graphs.size()};
  out->cost = gathered.cost;
  return CheckTemplate(*out);
}

absl::Status TablesDecoder::CheckTemplate(const Template& made) const {
  const bool takes_none = made.args.empty() && made.kwargs.empty();
  switch (made.op) {
    case Op::kPlaceholder:
      if (!takes_none) return Bad("a placeholder takes no arguments");
      break;
    case Op::kGetAttr:
      if (!takes_none) return Bad("a get_attr takes no arguments");
      break;
    case Op::kCallMethod:
      if (made.args.empty()) return Bad("a method without its object");
      break;
    case Op::kOutput:
      if (made.args.size() != 1 || !made.kwargs.empty()) return Bad("an output has one argument");
      break;
    default: break;
  }
  if (made.draw != nullptr && made.op != Op::kPlaceholder) {
    return Bad("only placeholders have draw specs");
  }
  absl::flat_hash_set<absl::string_view> keywords;
  for (const KwArg& kwarg : made.kwargs) {
    if (kwarg.name.empty()) return Bad("a keyword without a name");
    if (!keywords.insert(kwarg.name).second) {
      return Bad(absl::StrCat("keyword ", Printable(kwarg.name), " twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status TablesDecoder::DecodeArgument(StreamReader& in, int depth, Gathered& gathered,
                                           Argument* out) {
  using Kind = Argument::Kind;
  if (depth > kMaxNesting) return Bad("arguments nest too deep");
  gathered.cost = AddCosts(gathered.cost, kArgumentCost);
  const uint64_t value = in.Next();
  if (!in.ok()) return Ended();
  if ((value & 1) == 0) {
    *out = UnZigZag(value >> 1);
    return absl::OkStatus();
  }
  const uint64_t payload = value >> 5;
  switch (value >> 1 & 15) {
    case proto::TOKEN_CONSTANT:
      if (payload > 3) return Bad("no such constant");
      *out = payload == 0   ? Argument::None()
             : payload == 3 ? Argument::Ellipsis()
                            : Argument(payload == 2);
      return absl::OkStatus();
    case proto::TOKEN_OPERAND:
      if (payload != 0 || !gathered.allow_operands) return Bad("an operand where none is allowed");
      *out = Argument::None();
      gathered.operands.push_back(out);
      return absl::OkStatus();
    case proto::TOKEN_LIST: return DecodeElements(Kind::kList, payload, in, depth, gathered, out);
    case proto::TOKEN_TUPLE: return DecodeElements(Kind::kTuple, payload, in, depth, gathered, out);
    case proto::TOKEN_DICT:
      if (payload % 2 != 0) return Bad("a key without a value");
      return DecodeElements(Kind::kDict, payload, in, depth, gathered, out);
    case proto::TOKEN_SLICE:
      if (payload != 0) return Bad("a slice with a size");
      return DecodeElements(Kind::kSlice, 3, in, depth, gathered, out);
    case proto::TOKEN_STRING: {
      if (payload > strings_.size()) return Bad("no such string");
      const absl::string_view text = payload == 0 ? absl::string_view() : strings_[payload - 1];
      gathered.cost = AddCosts(gathered.cost, text.size());
      *out = text;
      return absl::OkStatus();
    }
    case proto::TOKEN_DTYPE:
      if (payload >= kNumDTypes) return Bad(absl::StrCat("unknown dtype ", payload));
      *out = static_cast<DType>(payload);
      return absl::OkStatus();
    case proto::TOKEN_DEVICE: {
      Device device;
      if (!ToDevice(payload, in.NextNumber(), &device)) return Bad("no such device");
      *out = device;
      return absl::OkStatus();
    }
    case proto::TOKEN_LAYOUT:
      if (payload >= kNumLayouts) return Bad(absl::StrCat("unknown layout ", payload));
      *out = static_cast<Layout>(payload);
      return absl::OkStatus();
    case proto::TOKEN_MEMORY_FORMAT:
      if (payload >= kNumMemoryFormats) return Bad(absl::StrCat("unknown memory format ", payload));
      *out = static_cast<MemoryFormat>(payload);
      return absl::OkStatus();
    case proto::TOKEN_GRAPH:
      if (payload >= module_->graphs().size()) return Bad(absl::StrCat("no graph ", payload));
      *out = module_->graphs()[payload];
      gathered.graphs.push_back(out->graph());
      return absl::OkStatus();
    case proto::TOKEN_EXPRESSION:
      if (payload >= expressions_.size()) return Bad("no such expression");
      if (expressions_[payload].expr->is_relation()) return Bad("a comparison is an argument");
      *out = expressions_[payload].expr;
      gathered.cost = AddCosts(gathered.cost, expressions_[payload].cost);
      return absl::OkStatus();
    case proto::TOKEN_DECIMAL: {
      double decimal = 0;
      if (payload > kMaxDecimalScale ||
          !DecodeDecimal(in.Next(), static_cast<int>(payload), &decimal)) {
        return Bad("not a decimal");
      }
      *out = decimal;
      return absl::OkStatus();
    }
    case proto::TOKEN_REAL:
      if (payload >= static_cast<uint64_t>(message_.reals_size())) return Bad("no such real");
      *out = message_.reals(static_cast<int>(payload));
      return absl::OkStatus();
    default: return DecodeWide(payload, in, out);
  }
}

absl::Status TablesDecoder::DecodeElements(Argument::Kind kind, uint64_t count, StreamReader& in,
                                           int depth, Gathered& gathered, Argument* out) {
  if (count > in.left()) return Ended();  // An element takes at least one value.
  Argument* elements = arena_.NewArray<Argument>(count);
  const bool allow_operands = gathered.allow_operands;
  for (uint64_t i = 0; i < count; ++i) {
    // Keys of a dict cannot be operands.
    gathered.allow_operands = allow_operands && (kind != Argument::Kind::kDict || i % 2 == 1);
    RETURN_IF_ERROR(DecodeArgument(in, depth + 1, gathered, &elements[i]));
  }
  gathered.allow_operands = allow_operands;
  *out = Argument::Aggregate(kind, absl::MakeConstSpan(elements, count));
  return absl::OkStatus();
}

absl::Status TablesDecoder::DecodeWide(uint64_t payload, StreamReader& in, Argument* out) {
  if (payload == 0) {
    *out = in.NextNumber();
    return in.ok() ? absl::OkStatus() : Ended();
  }
  if (payload != 1) return Bad("no such argument");
  const uint64_t real = in.Next();
  const uint64_t imaginary = in.Next();
  if (std::max(real, imaginary) >= static_cast<uint64_t>(message_.reals_size())) {
    return Bad("no such real");
  }
  *out = arena_.New<std::complex<double>>(message_.reals(static_cast<int>(real)),
                                          message_.reals(static_cast<int>(imaginary)));
  return absl::OkStatus();
}

// --- Draw specs --------------------------------------------------------------

absl::Status TablesDecoder::DecodeDrawForm(StreamReader& in, const DrawForm** form) {
  const uint64_t flags = in.Next();
  if (flags >> 5 != 0) return Bad("no such draw form");
  DrawForm* made = arena_.New<DrawForm>();
  made->has_mean = flags & 1;
  made->has_std = flags & 2;
  made->in_input_meta = flags & 4;
  made->has_original_name = flags & 8;
  made->has_data = flags & 16;
  const auto read_scale = [&in](int* scale) {
    const uint64_t value = in.Next();
    if (value > kMaxDecimalScale + 1) return false;
    *scale = static_cast<int>(value) - 1;
    return true;
  };
  if (made->has_mean && !read_scale(&made->mean_scale)) return Bad("no such scale");
  if (made->has_std && !read_scale(&made->std_scale)) return Bad("no such scale");
  RETURN_IF_ERROR(DecodeBound(in, &made->min));
  RETURN_IF_ERROR(DecodeBound(in, &made->max));
  *form = made;
  return in.ok() ? absl::OkStatus() : Ended();
}

absl::Status TablesDecoder::DecodeBound(StreamReader& in, Argument* out) {
  Gathered gathered;
  gathered.allow_operands = false;
  RETURN_IF_ERROR(DecodeArgument(in, 0, gathered, out));
  if (out->is_none() || out->is_int() || out->is_float()) return absl::OkStatus();
  return Bad("a bound is not a number");
}

bool TablesDecoder::NextMoment(int scale, double* value) {
  const uint64_t stored = draws_.Next();
  if (!draws_.ok()) return false;
  if (scale < 0) {
    if (stored >= static_cast<uint64_t>(message_.reals_size())) return false;
    *value = message_.reals(static_cast<int>(stored));
    return true;
  }
  return DecodeDecimal(stored, scale, value);
}

absl::Status TablesDecoder::NextDrawSpec(const DrawForm& form, DrawSpec* spec) {
  *spec = DrawSpec();
  spec->has_mean = form.has_mean;
  spec->has_std = form.has_std;
  spec->in_input_meta = form.in_input_meta;
  spec->min = form.min;
  spec->max = form.max;
  if (form.has_mean && !NextMoment(form.mean_scale, &spec->mean)) return Bad("draws: no mean");
  if (form.has_std && !NextMoment(form.std_scale, &spec->std)) return Bad("draws: no deviation");
  if (form.has_original_name && !NextLabel(&spec->original_name)) {
    return Bad("labels: no label is left for an original name");
  }
  if (form.has_data) RETURN_IF_ERROR(Annotate(NextData(&spec->data), "data"));
  return absl::OkStatus();
}

absl::Status TablesDecoder::NextData(Argument* out) {
  const uint64_t head = data_.Next();
  const uint64_t count = head >> 2;
  const uint64_t form = head & 3;
  const uint64_t scale = form == 1 ? data_.Next() : 0;
  if (!data_.ok()) return Ended();
  if (scale > kMaxDecimalScale) return Bad("no such scale");
  const uint64_t present = form == 2
                               ? static_cast<uint64_t>(message_.data_reals_size() - next_data_real_)
                               : data_.left();
  if (count > present) return Ended();
  data_values_.resize(count);
  for (Argument& value : data_values_) {
    if (form == 0) {
      value = data_.NextNumber();
    } else if (form == 1) {
      double decimal = 0;
      if (!DecodeDecimal(data_.Next(), static_cast<int>(scale), &decimal)) {
        return Bad("not a decimal");
      }
      value = decimal;
    } else if (form == 2) {
      value = message_.data_reals(next_data_real_++);
    } else {
      Gathered gathered;
      gathered.allow_operands = false;
      RETURN_IF_ERROR(DecodeArgument(data_, 1, gathered, &value));
      if (!value.is_bool() && !value.is_int() && !value.is_float()) return Bad("not a number");
    }
  }
  *out = Argument::List(data_values_);
  return absl::OkStatus();
}

absl::Status TablesDecoder::CheckDataSize(size_t count, const TensorMeta* meta) const {
  if (meta == nullptr || !meta->has_shape) return absl::OkStatus();
  int64_t elements = 1;
  for (const Dim& dim : meta->shape) {
    const std::optional<int64_t> size =
        dim.is_static() ? dim.value : EvaluateWithExamples(*module_, *dim.expr);
    // A size that is not known cannot be wrong.
    if (!size || __builtin_mul_overflow(elements, *size, &elements)) return absl::OkStatus();
  }
  if (elements == static_cast<int64_t>(count)) return absl::OkStatus();
  return Bad(absl::StrCat("literal data has ", count, " elements, the shape ", elements));
}

// --- Attributes --------------------------------------------------------------

absl::Status TablesDecoder::DecodeAttributes() {
  StreamReader in(message_.attributes());
  for (size_t i = 0; !in.AtEnd(); ++i) {
    RETURN_IF_ERROR(InEntry(DecodeAttribute(in), "attributes", i));
    if (module_->attributes().size() != i + 1) {
      return InEntry(Bad("its name is used twice"), "attributes", i);
    }
  }
  return absl::OkStatus();
}

absl::Status TablesDecoder::DecodeAttribute(StreamReader& in) {
  Attribute attribute;
  const ValueMeta* meta = nullptr;
  uint64_t cost = 0;
  if (!Meta(in.Next(), &meta, &cost)) return Bad("no such meta");
  if (meta != nullptr) {
    if (meta->tensor == nullptr) return Bad("its meta is not a tensor");
    attribute.meta = meta->tensor;
  }
  if (!budget_->Charge(cost)) return Bad("too large for a file of this size");
  const uint64_t head = in.Next();
  if (!in.ok()) return Ended();
  if (!Name(head >> 1, &attribute.annotation)) return Bad("no such annotation");
  if (!NextLabel(&attribute.name) || attribute.name.empty()) return Bad("it has no name");
  DrawSpec spec;
  if (head & 1) {
    const DrawForm* form = nullptr;
    RETURN_IF_ERROR(DecodeDrawForm(in, &form));
    RETURN_IF_ERROR(NextDrawSpec(*form, &spec));
    if (form->has_data) {
      RETURN_IF_ERROR(CheckDataSize(spec.data.elements().size(), attribute.meta));
    }
    attribute.draw_spec = &spec;
  }
  module_->AddAttribute(attribute);
  return absl::OkStatus();
}

absl::Status TablesDecoder::CheckUsedUp() const {
  if (next_label_ != labels_.size()) return Bad("labels: some are left");
  if (!draws_.AtEnd()) return Bad("draws: some are left");
  if (!data_.AtEnd()) return Bad("data: some is left");
  if (next_data_real_ != message_.data_reals_size()) return Bad("data_reals: some are left");
  return absl::OkStatus();
}

}  // namespace graphnet::proto_internal
