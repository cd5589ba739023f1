#include "graphnet/corpus/keys.h"

#include <array>
#include <charconv>
#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/base/utf8.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/call_meaning.h"

namespace graphnet::corpus_internal {
namespace {

constexpr size_t kMaxKeyBytes = 100;

std::string NumberText(double value) {
  if (value == 0) return "0";  // -0.0 equals it
  if (std::isnan(value)) return "nan";
  constexpr double kMaxExact = 9007199254740992;  // 2^53
  if (std::abs(value) < kMaxExact && value == std::trunc(value))
    return absl::StrCat(static_cast<int64_t>(value));
  std::array<char, 32> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), end};
}

// Returns the text of a constant without elements.
std::optional<std::string> ScalarText(const Argument& constant) {
  using Kind = Argument::Kind;
  switch (constant.kind()) {
    case Kind::kNone: return "None";
    case Kind::kEllipsis: return "...";
    case Kind::kBool: return NumberText(constant.boolean() ? 1 : 0);
    case Kind::kInt: return NumberText(static_cast<double>(constant.integer()));
    case Kind::kFloat: return NumberText(constant.real());
    case Kind::kString: {
      const absl::string_view text = constant.string();
      if (text.size() > kMaxKeyBytes) return std::nullopt;
      return absl::StrCat("\"", IsUtf8(text) ? absl::Utf8SafeCEscape(text) : absl::CEscape(text),
                          "\"");
    }
    case Kind::kDType: return std::string(DTypeName(constant.dtype()));
    case Kind::kDevice: return DeviceName(constant.device());
    case Kind::kLayout: return std::string(LayoutName(constant.layout()));
    case Kind::kMemoryFormat: return std::string(MemoryFormatName(constant.memory_format()));
    default: return std::nullopt;
  }
}

bool Take(uint64_t* work) {
  if (*work == 0) return false;
  --*work;
  return true;
}

// Returns the text of the elements if all are equal scalars.
std::optional<std::string> TextOfAll(absl::Span<const Argument> elements, uint64_t* work) {
  if (elements.empty() || elements[0].is_aggregate()) return std::nullopt;
  std::optional<std::string> first = ScalarText(elements[0]);
  if (!first.has_value()) return first;
  for (const Argument& element : elements.subspan(1)) {
    if (!Take(work)) return std::nullopt;
    const bool is_same =
        element == elements[0] || (!element.is_aggregate() && ScalarText(element) == first);
    if (!is_same) return std::nullopt;
  }
  return first;
}

std::optional<std::string> ListText(const Argument& list, int depth, uint64_t* work) {
  std::string text = "[";
  for (const Argument& element : list.elements()) {
    if (!Take(work)) return std::nullopt;
    std::optional<std::string> part;
    if (element.is_sequence()) {
      if (depth == 0) return std::nullopt;
      part = ListText(element, depth - 1, work);
    } else if (!element.is_aggregate()) {
      part = ScalarText(element);
    }
    if (!part.has_value()) return std::nullopt;
    absl::StrAppend(&text, text.size() == 1 ? "" : ",", *part);
    if (text.size() >= kMaxKeyBytes) return std::nullopt;
  }
  text.push_back(']');
  return text;
}

// All overloads of the tables by the meaning of their calls. Built once and never destroyed.
using Index = absl::flat_hash_map<std::string, std::vector<const Schema*>>;
const Index& AllByMeaning() {
  static const Index* const index = [] {
    auto* const made = new Index;
    for (const Schema& schema : AllSchemas()) {
      const std::string target = absl::StrCat("aten.", schema.name);
      (*made)[std::string(MeaningOf(Op::kCallFunction, target).name)].push_back(&schema);
    }
    for (const Schema& schema : AllFunctions()) {
      absl::string_view target = schema.name;
      const Op op = absl::ConsumePrefix(&target, "Tensor.") ? Op::kCallMethod : Op::kCallFunction;
      (*made)[std::string(MeaningOf(op, target).name)].push_back(&schema);
    }
    return made;
  }();
  return *index;
}

}  // namespace

uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15 + b + 0xd1b54a32d192ed03;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t StableHash(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return Mix(hash, text.size());
}

std::string NameKey(absl::string_view name) {
  if (name.size() <= kMaxKeyBytes && Printable(name, kMaxKeyBytes) == name)
    return std::string(name);
  return absl::StrCat(Printable(name, kMaxKeyBytes / 2), "#",
                      absl::Hex(StableHash(name), absl::kZeroPad16));
}

std::string ArgumentKey(absl::string_view meaning, absl::string_view parameter,
                        absl::string_view constant) {
  return absl::StrCat(meaning, ".", NameKey(parameter), "=", constant);
}

std::string EdgeKey(absl::string_view producer, absl::string_view consumer) {
  return absl::StrCat(producer, ">", consumer);
}

std::optional<std::string> ConstantKey(const Argument& constant, uint64_t* work) {
  if (!Take(work)) return std::nullopt;
  if (!constant.is_sequence()) {
    if (constant.is_aggregate()) return std::nullopt;
    return ScalarText(constant);
  }
  if (std::optional<std::string> text = TextOfAll(constant.elements(), work)) return text;
  return ListText(constant, /*depth=*/1, work);
}

absl::Span<const Schema* const> SchemasOf(absl::string_view meaning) {
  const auto it = AllByMeaning().find(meaning);
  if (it == AllByMeaning().end()) return {};
  return it->second;
}

bool IsDefault(absl::string_view meaning, absl::string_view parameter, const Argument& constant,
               absl::string_view text) {
  // Constants with one text must have one answer: 1, 1.0 and (1, 1).
  const bool is_list = constant.is_sequence() && !constant.elements().empty() && text[0] != '[';
  Argument one = is_list ? constant.elements()[0] : constant;
  if (int64_t integer; absl::SimpleAtoi(text, &integer)) one = Argument(integer);
  return absl::c_any_of(SchemasOf(meaning), [&](const Schema* schema) {
    const SchemaArgument* const argument = schema->FindArgument(parameter);
    if (argument == nullptr || !argument->has_default) return false;
    if (argument->IsDefault(one)) return true;
    uint64_t work = 1000;
    return ConstantKey(argument->default_value, &work) == text;
  });
}

}  // namespace graphnet::corpus_internal
