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

constexpr char kExpected[] =
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
    static constexpr std::pair<absl::string_view, c10::TypeKind> kForms[] = {
        {"list(", c10::TypeKind::ListType},
        {"tuple(", c10::TypeKind::TupleType},
        {"dict(", c10::TypeKind::DictType}};
    for (const auto& [form, kind] : kForms) {
      absl::string_view inner = rest;
      if (!absl::ConsumePrefix(&inner, form)) continue;
      const bool closed = absl::ConsumeSuffix(&inner, ")");
      const auto elements = Elements(inner);
      if (!closed || !elements) return Error("brackets do not match");
      return Structure(kind, *elements, name, type, depth);
    }
    return Tensor(rest, name);
  }

 private:
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("--input ", Printable(text_), ": ", what));
  }

  // The list, tuple or dict, by `kind`, of these elements.
  absl::StatusOr<c10::IValue> Structure(c10::TypeKind kind,
                                        const std::vector<absl::string_view>& texts,
                                        const std::string& name, const c10::TypePtr& type,
                                        int depth) {
    const bool is_tuple = kind == c10::TypeKind::TupleType;
    const bool is_dict = kind == c10::TypeKind::DictType;
    const bool known = type != nullptr && type->kind() == kind &&
                       (!is_tuple || type->containedTypes().size() == texts.size());
    std::vector<std::string> keys;
    std::vector<c10::IValue> values;
    for (absl::string_view text : texts) {
      const size_t i = values.size();
      keys.push_back(absl::StrCat(i));
      if (is_dict) {
        const size_t equal = text.find('=');
        if (equal == absl::string_view::npos) return Error("expected key=…");
        keys.back() = std::string(text.substr(0, equal));
        text.remove_prefix(equal + 1);
      }
      const c10::TypePtr inner = known ? type->containedType(is_tuple ? i : is_dict) : nullptr;
      ASSIGN_OR_RETURN(values.emplace_back(),
                       Parse(text, absl::StrCat(name, ".", keys.back()), inner, depth + 1));
    }
    if (is_tuple) return c10::IValue(c10::ivalue::Tuple::create(std::move(values)));
    c10::TypePtr inner = known ? type->containedType(is_dict) : nullptr;
    if (inner == nullptr) {
      if (values.empty())
        return Error(absl::StrCat("nothing says what the ", is_dict ? "dict" : "list", " holds"));
      inner = c10::unshapedType(values[0].type());
    }
    c10::impl::GenericList list(inner);
    c10::impl::GenericDict dict(c10::StringType::get(), inner);
    for (size_t i = 0; i < values.size(); ++i) {
      if (!Fits(values[i], *inner))
        return Error(absl::StrCat(is_dict ? "values" : "elements", " of different types"));
      if (!is_dict) {
        list.push_back(std::move(values[i]));
      } else if (!dict.insert(keys[i], std::move(values[i])).second) {
        return Error("a key is there twice");
      }
    }
    return is_dict ? c10::IValue(dict) : c10::IValue(list);
  }

  absl::StatusOr<c10::IValue> Tensor(absl::string_view rest, const std::string& name) const {
    const size_t open = rest.find('[');
    const size_t close = rest.find(']');
    if (open == absl::string_view::npos || close == absl::string_view::npos || close < open) {
      return Error(kExpected);
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
