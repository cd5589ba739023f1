#include "graphnet/extract/example_input.h"

#include <optional>
#include <utility>
#include <vector>

#include "ATen/core/jit_type.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/inputs/draw.h"
#include "graphnet/torch/tensors.h"

namespace graphnet {

namespace {

constexpr char kForms[] =
    "expected a dtype and sizes, such as f32[1,3,224,224], or int=3, float=0.5, bool=true, "
    "str=abc, None, list(…,…), tuple(…,…), dict(key=…,…)";

bool Fits(const c10::IValue& value, const c10::Type& type) {
  return c10::unshapedType(value.type())->isSubtypeOf(type);
}

// The parts between commas that are in no brackets; nullopt if brackets do not match.
std::optional<std::vector<absl::string_view>> Elements(absl::string_view text) {
  std::vector<absl::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' || text[i] == '[' ? 1 : 0;
    depth -= text[i] == ')' || text[i] == ']' ? 1 : 0;
    if (depth < 0) return std::nullopt;
    if (text[i] != ',' || depth > 0) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  if (depth != 0) return std::nullopt;
  if (!text.empty()) parts.push_back(text.substr(begin));
  return parts;
}

class Parser {
 public:
  Parser(const std::string& text, uint64_t seed) : text_(text), seed_(seed) {}

  absl::StatusOr<c10::IValue> Parse(absl::string_view rest, const std::string& name,
                                    c10::TypePtr type, int depth = 0) {
    if (depth > kMaxNesting) return Error("nests too deep");
    if (type != nullptr && type->kind() == c10::TypeKind::OptionalType)
      type = type->expectRef<c10::OptionalType>().getElementType();
    if (rest == "None") return c10::IValue();
    if (absl::ConsumePrefix(&rest, "str=")) return c10::IValue(std::string(rest));
    if (absl::ConsumePrefix(&rest, "int=")) {
      int64_t value = 0;
      if (!absl::SimpleAtoi(rest, &value)) return Error("no integer");
      return c10::IValue(value);
    }
    if (absl::ConsumePrefix(&rest, "float=")) {
      double value = 0;
      if (!absl::SimpleAtod(rest, &value)) return Error("no number");
      return c10::IValue(value);
    }
    if (absl::ConsumePrefix(&rest, "bool=")) {
      bool value = false;
      if (!absl::SimpleAtob(rest, &value)) return Error("neither true nor false");
      return c10::IValue(value);
    }
    for (const absl::string_view form : {"list(", "tuple(", "dict("}) {
      absl::string_view inner = rest;
      if (!absl::ConsumePrefix(&inner, form)) continue;
      const bool closed = absl::ConsumeSuffix(&inner, ")");
      const auto elements = Elements(inner);
      if (!closed || !elements) return Error("brackets do not match");
      if (form == "list(") return List(*elements, name, type, depth);
      if (form == "dict(") return Dict(*elements, name, type, depth);
      return Tuple(*elements, name, type, depth);
    }
    return Tensor(rest, name);
  }

 private:
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("--input ", Printable(text_), ": ", what));
  }

  absl::StatusOr<c10::IValue> List(const std::vector<absl::string_view>& texts,
                                   const std::string& name, const c10::TypePtr& type, int depth) {
    c10::TypePtr inner;
    if (type != nullptr && type->kind() == c10::TypeKind::ListType) inner = type->containedType(0);
    std::vector<c10::IValue> values;
    for (const absl::string_view text : texts) {
      ASSIGN_OR_RETURN(c10::IValue value,
                       Parse(text, absl::StrCat(name, ".", values.size()), inner, depth + 1));
      values.push_back(std::move(value));
    }
    if (inner == nullptr) {
      if (values.empty()) return Error("nothing says what the list holds");
      inner = c10::unshapedType(values[0].type());
    }
    c10::impl::GenericList list(inner);
    for (c10::IValue& value : values) {
      if (!Fits(value, *inner)) return Error("elements of different types");
      list.push_back(std::move(value));
    }
    return c10::IValue(list);
  }

  absl::StatusOr<c10::IValue> Tuple(const std::vector<absl::string_view>& texts,
                                    const std::string& name, const c10::TypePtr& type, int depth) {
    const bool known = type != nullptr && type->kind() == c10::TypeKind::TupleType &&
                       type->containedTypes().size() == texts.size();
    std::vector<c10::IValue> values;
    for (const absl::string_view text : texts) {
      const size_t i = values.size();
      ASSIGN_OR_RETURN(c10::IValue value,
                       Parse(text, absl::StrCat(name, ".", i),
                             known ? type->containedType(i) : nullptr, depth + 1));
      values.push_back(std::move(value));
    }
    return c10::IValue(c10::ivalue::Tuple::create(std::move(values)));
  }

  absl::StatusOr<c10::IValue> Dict(const std::vector<absl::string_view>& texts,
                                   const std::string& name, const c10::TypePtr& type, int depth) {
    c10::TypePtr inner;
    if (type != nullptr && type->kind() == c10::TypeKind::DictType) inner = type->containedType(1);
    std::vector<std::pair<std::string, c10::IValue>> entries;
    for (const absl::string_view text : texts) {
      const size_t equal = text.find('=');
      if (equal == absl::string_view::npos) return Error("expected key=…");
      const std::string key(text.substr(0, equal));
      ASSIGN_OR_RETURN(c10::IValue value, Parse(text.substr(equal + 1),
                                                absl::StrCat(name, ".", key), inner, depth + 1));
      entries.emplace_back(key, std::move(value));
    }
    if (inner == nullptr) {
      if (entries.empty()) return Error("nothing says what the dict holds");
      inner = c10::unshapedType(entries[0].second.type());
    }
    c10::impl::GenericDict dict(c10::StringType::get(), inner);
    for (auto& [key, value] : entries) {
      if (!Fits(value, *inner)) return Error("values of different types");
      if (!dict.insert(key, std::move(value)).second) return Error("a key is there twice");
    }
    return c10::IValue(dict);
  }

  absl::StatusOr<c10::IValue> Tensor(absl::string_view rest, const std::string& name) const {
    const size_t open = rest.find('[');
    const size_t close = rest.find(']');
    if (open == absl::string_view::npos || close == absl::string_view::npos || close < open) {
      return Error(kForms);
    }
    TensorMeta meta;
    const std::optional<DType> dtype = ParseDTypeShortName(rest.substr(0, open));
    if (!dtype) return Error("there is no such dtype");
    meta.dtype = *dtype;
    meta.has_shape = true;
    std::vector<Dim> shape;
    const absl::string_view sizes = rest.substr(open + 1, close - open - 1);
    for (const absl::string_view size : absl::StrSplit(sizes, ',', absl::SkipWhitespace())) {
      int64_t value = 0;
      if (!absl::SimpleAtoi(size, &value) || value < 0) return Error("a size is no number");
      shape.push_back(value);
    }
    meta.shape = shape;
    DrawSpec spec;
    spec.has_mean = spec.has_std = true;
    spec.std = 5;  // Of which a fifth is taken.
    rest.remove_prefix(close + 1);
    if (!rest.empty()) {
      const std::vector<absl::string_view> bounds = absl::StrSplit(rest.substr(1), "..");
      int64_t low = 0, high = 0;
      if (rest[0] != ':' || bounds.size() != 2 || !absl::SimpleAtoi(bounds[0], &low) ||
          !absl::SimpleAtoi(bounds[1], &high) || low > high) {
        return Error("expected bounds, such as :0..900, after the sizes");
      }
      spec.min = low;
      spec.max = high;
    } else if (absl::StartsWith(DTypeShortName(*dtype), "i") ||
               absl::StartsWith(DTypeShortName(*dtype), "u")) {
      spec.min = int64_t{0};
      spec.max = int64_t{9};
    }
    DrawOptions draw;
    draw.seed = seed_;
    draw.max_bytes = AvailableMemoryBytes();
    ASSIGN_OR_RETURN(const TensorData data, DrawTensor(meta, &spec, name, draw));
    ASSIGN_OR_RETURN(at::Tensor tensor, ToTensor(data, c10::Device(c10::kCPU)));
    return c10::IValue(std::move(tensor));
  }

  const std::string& text_;
  const uint64_t seed_;
};

}  // namespace

absl::StatusOr<c10::IValue> ParseExampleInput(const std::string& text, const std::string& name,
                                              uint64_t seed, const c10::TypePtr& type) {
  return Parser(text, seed).Parse(text, name, type);
}

}  // namespace graphnet
