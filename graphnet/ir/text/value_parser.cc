#include "graphnet/ir/text/value_parser.h"

#include <complex>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/ir/text/literal.h"

namespace graphnet::text_internal {
namespace {

using literal_internal::Is;
using literal_internal::kDigit;
using literal_internal::kName;

constexpr size_t kMaxKeywords = 65535;  // The most keyword arguments of one node.
constexpr size_t kManyKeywords = 16;    // If there are more, they are looked up in a table.

}  // namespace

bool ValueParser::FailTooDeep(const char* where) {
  return in_.FailAt(where, absl::StrCat("nested deeper than ", kMaxNesting));
}

// --- Arguments ---------------------------------------------------------------

bool ValueParser::ParseValue(int depth, Argument* out) {
  const char c = in_.Peek();
  if (depth > kMaxNesting) return FailTooDeep(in_.Here());
  switch (c) {
    case '%': return ParseNodeRef(out);
    case '@': return ParseGraphRef(out);
    case '"': {
      absl::string_view text;
      if (!in_.ReadString("a value", &text)) return false;
      *out = text;
      return true;
    }
    case '[': {
      absl::Span<const Argument> elements;
      in_.TryChar('[');
      if (!ParseElements(']', depth + 1, &elements)) return false;
      *out = Argument::List(elements);
      return true;
    }
    case '(': return ParseTuple(depth, out);
    case '{': return ParseDict(depth, out);
    case '.':
      if (!in_.TryText("...")) return in_.Fail("a value");
      *out = Argument::Ellipsis();
      return true;
    default:
      if (Is(c, kDigit)) {
        int64_t value = 0;
        if (!in_.TryInteger(&value)) return in_.ReadNumber("a value", out);
        *out = value;
        return true;
      }
      if (c == '-') return in_.ReadNumber("a value", out);
      return ParseWordValue(depth, out);
  }
}

bool ValueParser::ParseWordValue(int depth, Argument* out) {
  const absl::string_view word = in_.PeekWord();
  const auto take = [&](const Argument& value) {
    in_.MoveTo(word.data() + word.size());
    *out = value;
    return true;
  };
  if (absl::StartsWith(word, "torch.")) return ParseTorchValue(word, out);
  if (word == "None") return take(Argument::None());
  if (word == "True") return take(true);
  if (word == "False") return take(false);
  if (word == "inf" || word == "nan") return in_.ReadNumber("a value", out);
  if (word == "complex") return ParseComplex(out);
  if (word == "device") return ParseDeviceValue(out);
  if (word == "slice") {
    take({});
    absl::Span<const Argument> elements;
    if (!in_.Expect('(') || !ParseElements(')', depth + 1, &elements)) return false;
    if (elements.size() != 3) {
      return in_.FailAt(word.data(), absl::StrCat("expected slice(start, stop, step), found ",
                                                  elements.size(), " values"));
    }
    *out = Argument::Slice(elements);
    return true;
  }
  if (word == "sym") {
    take({});
    const SymExpr* expr = nullptr;
    if (!in_.Expect('(') || !expressions_.ParseSumOrComparison(&expr) || !in_.Expect(')')) {
      return false;
    }
    *out = expr;
    return true;
  }
  return in_.Fail("a value");
}

bool ValueParser::ParseTorchValue(absl::string_view word, Argument* out) {
  const absl::string_view name = word.substr(6);
  if (const std::optional<DType> dtype = ParseDType(name)) {
    *out = *dtype;
  } else if (const std::optional<Layout> layout = ParseLayout(name)) {
    *out = *layout;
  } else if (const std::optional<MemoryFormat> format = ParseMemoryFormat(name)) {
    *out = *format;
  } else if (name == DTypeName(DType::kUnknown)) {
    *out = DType::kUnknown;
  } else {
    return in_.Fail("a dtype, layout or memory format of torch");
  }
  in_.MoveTo(word.data() + word.size());
  return true;
}

bool ValueParser::ParseComplex(Argument* out) {
  in_.TryWord("complex");
  double real = 0;
  double imag = 0;
  if (!in_.Expect('(') || !in_.ReadFloat("a number", &real) || !in_.Expect(',') ||
      !in_.ReadFloat("a number", &imag) || !in_.Expect(')')) {
    return false;
  }
  *out = new (scratch_.NewArray<std::complex<double>>(1)) std::complex<double>(real, imag);
  return true;
}

bool ValueParser::ParseDeviceValue(Argument* out) {
  in_.TryWord("device");
  Device device;
  if (!in_.Expect('(') || !in_.TryChar('"')) return in_.Fail("a device in quotes");
  if (!ParseDevice(&device) || !in_.Expect('"') || !in_.Expect(')')) return false;
  *out = device;
  return true;
}

bool ValueParser::ParseNodeRef(Argument* out) {
  const char* const where = in_.Here();
  absl::string_view name;
  in_.TryChar('%');
  if (!in_.ReadName("the name of a node", &name)) return false;
  if (rereading_) {
    *out = operands_[next_operand_++];
    return true;
  }
  // Most operands were defined or used a few lines above.
  Node*& recent = recent_nodes_[RecentSlot(name, kRecentNodes)];
  if (recent != nullptr && recent->graph() == graph_ && recent->name() == name) {
    *out = recent;
    return true;
  }
  const auto it = nodes_.find(name);
  if (it == nodes_.end() || it->second == nullptr) {
    return in_.FailAt(where, absl::StrCat("%", name,
                                          it == nodes_.end() ? " is not defined before its use"
                                                             : " is used in its own definition"));
  }
  *out = recent = it->second;
  return true;
}

void ValueParser::StartGraph(Graph* graph) {
  graph_ = graph;
  nodes_.clear();
}

bool ValueParser::ReserveNode(absl::string_view name, Node*** slot) {
  bool is_new = false;
  const auto it = nodes_.lazy_emplace(name, [&](const auto& make) {
    is_new = true;
    make(in_.Owns(name) ? name : module_.arena().Copy(name), nullptr);
  });
  *slot = &it->second;
  return is_new;
}

bool ValueParser::ParseGraphRef(Argument* out) {
  const char* const where = in_.Here();
  absl::string_view name;
  in_.TryChar('@');
  if (!in_.ReadName("the name of a graph", &name)) return false;
  const auto it = graphs_.find(name);
  if (it != graphs_.end()) {
    *out = it->second;
    return true;
  }
  if (rereading_) return in_.FailAt(where, absl::StrCat("there is no graph @", name));
  found_unknown_graph_ = true;
  *out = Argument::None();
  return true;
}

absl::Span<const Argument> ValueParser::TakeFrom(size_t base) {
  const size_t n = stack_.size() - base;
  Argument* elements = scratch_.NewArray<Argument>(n);
  std::uninitialized_copy(stack_.begin() + static_cast<ptrdiff_t>(base), stack_.end(), elements);
  stack_.resize(base);
  return {elements, n};
}

bool ValueParser::ParseElements(char close, int depth, absl::Span<const Argument>* out) {
  const size_t base = stack_.size();
  while (!in_.TryChar(close)) {
    Argument value;
    if (!ParseValue(depth, &value)) return false;
    stack_.push_back(value);
    if (in_.TryChar(',')) continue;
    if (in_.TryChar(close)) break;
    return in_.Fail(absl::StrCat("',' or '", absl::string_view(&close, 1), "'"));
  }
  *out = TakeFrom(base);
  return true;
}

bool ValueParser::ParseTuple(int depth, Argument* out) {
  const char* const where = in_.Here();
  in_.TryChar('(');
  const size_t base = stack_.size();
  bool comma = false;
  while (!in_.TryChar(')')) {
    Argument value;
    if (!ParseValue(depth + 1, &value)) return false;
    stack_.push_back(value);
    comma = in_.TryChar(',');
    if (comma) continue;
    if (in_.TryChar(')')) break;
    return in_.Fail("',' or ')'");
  }
  if (stack_.size() == base + 1 && !comma) {
    return in_.FailAt(where, "a tuple of one element needs a comma: (x,)");
  }
  *out = Argument::Tuple(TakeFrom(base));
  return true;
}

bool ValueParser::ParseDict(int depth, Argument* out) {
  in_.TryChar('{');
  const size_t base = stack_.size();
  while (!in_.TryChar('}')) {
    Argument key;
    Argument value;
    if (!ParseValue(depth + 1, &key)) return false;
    if (!in_.Expect(':') || !ParseValue(depth + 1, &value)) return false;
    stack_.push_back(key);
    stack_.push_back(value);
    if (in_.TryChar(',')) continue;
    if (in_.TryChar('}')) break;
    return in_.Fail("',' or '}'");
  }
  *out = Argument::Dict(TakeFrom(base));
  return true;
}

bool ValueParser::TryKeyword(absl::string_view* out) {
  const char* const start = in_.Here();
  const char c = in_.Peek();
  if (c == '"') {
    if (!in_.ReadString("a value", out)) return false;
  } else if (Is(c, kName) && !Is(c, kDigit) && c != '.') {
    *out = in_.PeekWord();
    in_.MoveTo(start + out->size());
  } else {
    return false;
  }
  if (in_.TryChar('=')) return true;
  in_.MoveTo(start);
  return false;
}

bool ValueParser::AddKeyword(absl::string_view name, const char* where) {
  if (name.size() > kMaxNameBytes) {
    return in_.FailAt(
        where, absl::StrCat("the name has ", name.size(), " bytes; the limit is ", kMaxNameBytes));
  }
  bool known = false;
  if (kwargs_.size() < kManyKeywords) {
    for (const KwArg& kwarg : kwargs_) known = known || kwarg.name == name;
  } else {
    if (kwargs_.size() == kManyKeywords) {
      keywords_.clear();
      for (const KwArg& kwarg : kwargs_) keywords_.insert(kwarg.name);
    }
    known = !keywords_.insert(name).second;
  }
  if (known) return in_.FailAt(where, absl::StrCat("keyword argument '", name, "' is given twice"));
  if (kwargs_.size() == kMaxKeywords) {
    return in_.FailAt(where, absl::StrCat("more than ", kMaxKeywords, " keyword arguments"));
  }
  kwargs_.push_back({name, Argument()});
  return true;
}

bool ValueParser::ParseCall() {
  args_.clear();
  kwargs_.clear();
  stack_.clear();
  if (!in_.Expect('(')) return false;
  while (!in_.TryChar(')')) {
    const char* const where = in_.Here();
    absl::string_view keyword;
    Argument value;
    if (TryKeyword(&keyword)) {
      if (!AddKeyword(keyword, where) || !ParseValue(0, &value)) return false;
      kwargs_.back().value = value;
    } else {
      if (!ParseValue(0, &value)) return false;
      if (!kwargs_.empty())
        return in_.FailAt(where, "a positional argument follows a keyword argument");
      args_.push_back(value);
    }
    if (in_.TryChar(',')) continue;
    if (in_.TryChar(')')) break;
    return in_.Fail("',' or ')'");
  }
  return true;
}

bool ValueParser::ParseSingleArg() {
  args_.clear();
  kwargs_.clear();
  stack_.clear();
  Argument value;
  if (!ParseValue(0, &value)) return false;
  args_.push_back(value);
  return true;
}

void ValueParser::Reread(const Node& node) {
  rereading_ = true;
  operands_ = node.operands();
  next_operand_ = 0;
}

// --- Metas -------------------------------------------------------------------

bool ValueParser::ParseMeta(int depth, const ValueMeta** out) {
  const char* const where = in_.Here();
  if (depth > kMaxNesting) return FailTooDeep(where);
  if (in_.Peek() != '(') {
    if (in_.TryWord("_")) {
      if (unknown_ == nullptr) unknown_ = module_.arena().New<ValueMeta>();
      *out = unknown_;
      return true;
    }
    return ParseTensorValueMeta(out);
  }
  in_.TryChar('(');
  const size_t base = metas_.size();
  bool comma = false;
  while (!in_.TryChar(')')) {
    const ValueMeta* element = nullptr;
    if (!ParseMeta(depth + 1, &element)) return false;
    metas_.push_back(element);
    comma = in_.TryChar(',');
    if (comma) continue;
    if (in_.TryChar(')')) break;
    return in_.Fail("',' or ')'");
  }
  if (metas_.size() == base + 1 && !comma) {
    return in_.FailAt(where, "a tuple of one element needs a comma: (x,)");
  }
  *out = module_.InternTupleMeta(absl::MakeConstSpan(metas_).subspan(base));
  metas_.resize(base);
  return true;
}

// Metas recur often, so a small table from their texts to the metas saves most of the work.
bool ValueParser::ParseTensorValueMeta(const ValueMeta** out) {
  const char* const start = in_.Here();
  const absl::string_view text = in_.PeekMetaText();
  RecentMeta& recent = recent_metas_[RecentSlot(text, kRecentMetas)];
  if (!text.empty() && recent.text == text) {
    in_.MoveTo(start + text.size());
    const char c = in_.Peek();
    if (c != '[' && c != '@' && c != ':') {
      *out = recent.meta;
      return true;
    }
    in_.MoveTo(start);
  }
  TensorMeta tensor;
  if (!ParseTensorMeta(&tensor)) return false;
  *out = module_.InternValueMeta(tensor);
  if (in_.Position() == start + text.size()) recent = {text, *out};
  return true;
}

bool ValueParser::ParseTensorMeta(TensorMeta* out) {
  if (!in_.TryChar('?')) {
    const absl::string_view word = in_.PeekWord();
    const std::optional<DType> dtype = ParseDTypeShortName(word);
    if (!dtype) return in_.Fail("a dtype, such as f32");
    in_.MoveTo(word.data() + word.size());
    out->dtype = *dtype;
  }
  if (in_.TryChar('[')) {
    out->has_shape = true;
    dims_.clear();
    while (!in_.TryChar(']')) {
      const char* const where = in_.Here();
      Dim dim;
      if (!ParseDim(&dim)) return false;
      if (dims_.size() == kMaxRank) {
        return in_.FailAt(where, absl::StrCat("more than ", kMaxRank, " dimensions"));
      }
      dims_.push_back(dim);
      if (in_.TryChar(',')) continue;
      if (in_.TryChar(']')) break;
      return in_.Fail("',' or ']'");
    }
    out->shape = dims_;
  }
  if (in_.TryChar('@')) {
    out->has_device = true;
    return ParseDevice(&out->device);
  }
  return true;
}

bool ValueParser::ParseDim(Dim* out) {
  // A plain number is by far the most frequent.
  const char* const start = in_.Here();
  if (Is(in_.Peek(), kDigit)) {
    if (!in_.ReadInteger("a size", &out->value)) return false;
    const char c = in_.Peek();
    if (c == ',' || c == ']') return true;
    in_.MoveTo(start);
  }
  const SymExpr* expr = nullptr;
  if (in_.TryWord("sym")) {
    if (!in_.Expect('(') || !expressions_.ParseSumOrComparison(&expr) || !in_.Expect(')')) {
      return false;
    }
  } else {
    if (!expressions_.ParseSum(&expr)) return false;
    if (expr->kind == SymExpr::Kind::kInt) {
      *out = Dim(expr->value);
      return true;
    }
  }
  *out = Dim(expr);
  return true;
}

bool ValueParser::ParseDevice(Device* out) {
  const absl::string_view word = in_.PeekWord();
  const std::optional<DeviceType> type = ParseDeviceType(word);
  if (!type) return in_.Fail("a device, such as cpu or cuda:0");
  in_.MoveTo(word.data() + word.size());
  *out = Device{*type, -1};
  if (!in_.TryChar(':')) return true;
  uint64_t index = 0;
  if (!in_.ReadCount("the index of a device", std::numeric_limits<int16_t>::max(), &index)) {
    return false;
  }
  out->index = static_cast<int16_t>(index);
  return true;
}

bool ValueParser::ParseNumberList(Argument* out) {
  const char* where = in_.Here();
  if (!in_.TryChar('[')) return in_.Fail("a list of numbers");
  stack_.clear();
  absl::Span<const Argument> elements;
  if (!ParseElements(']', 1, &elements)) return false;
  for (const Argument& element : elements) {
    if (!element.is_bool() && !element.is_int() && !element.is_float()) {
      return in_.FailAt(where, "the data may hold only True, False, integers and floats");
    }
  }
  *out = Argument::List(elements);
  return true;
}

bool ValueParser::ParseDrawSpec(DrawSpec* out) {
  if (!in_.Expect('{')) return false;
  while (!in_.TryChar('}')) {
    const char* const where = in_.Here();
    const absl::string_view key = in_.PeekWord();
    in_.MoveTo(key.data() + key.size());
    bool repeated = false;
    bool ok = key == "input_meta" || in_.Expect('=');
    if (key == "mean") {
      repeated = out->has_mean;
      out->has_mean = true;
      ok = ok && in_.ReadFloat("a number", &out->mean);
    } else if (key == "std") {
      repeated = out->has_std;
      out->has_std = true;
      ok = ok && in_.ReadFloat("a number", &out->std);
    } else if (key == "min") {
      repeated = !out->min.is_none();
      ok = ok && in_.ReadNumber("a number", &out->min);
    } else if (key == "max") {
      repeated = !out->max.is_none();
      ok = ok && in_.ReadNumber("a number", &out->max);
    } else if (key == "data") {
      repeated = !out->data.is_none();
      ok = ok && ParseNumberList(&out->data);
    } else if (key == "original_name") {
      repeated = !out->original_name.empty();
      ok = ok && in_.ReadNonemptyName("a name", &out->original_name);
    } else if (key == "input_meta") {
      repeated = out->in_input_meta;
      out->in_input_meta = true;
    } else {
      in_.MoveTo(where);
      return in_.Fail("mean, std, min, max, data, original_name, input_meta or '}'");
    }
    if (!ok) return false;
    if (repeated) return in_.FailAt(where, absl::StrCat("'", key, "' is given twice"));
    if (in_.TryChar(',')) continue;
    if (in_.TryChar('}')) break;
    return in_.Fail("',' or '}'");
  }
  return true;
}

}  // namespace graphnet::text_internal
