#include "graphnet/passes/partial_evaluation/texts.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/passes/partial_evaluation/containers.h"
#include "graphnet/passes/partial_evaluation/numbers.h"

namespace graphnet::evaluation {
namespace {

using Result = std::optional<Value>;
using Args = absl::Span<const Value>;

constexpr absl::string_view kBlanks = " \t\n\r\f\v";

// True if all bytes are below 128: for those, TorchScript and this code agree.
bool IsAscii(absl::string_view text) {
  return absl::c_all_of(text, [](char c) { return static_cast<unsigned char>(c) < 128; });
}

std::string Stripped(absl::string_view text, absl::string_view chars, bool left, bool right) {
  const size_t npos = absl::string_view::npos;
  const size_t begin = left ? text.find_first_not_of(chars) : 0;
  if (begin == npos) return "";
  const size_t end = right ? text.find_last_not_of(chars) : text.size() - 1;
  return std::string(end == npos ? "" : text.substr(begin, end - begin + 1));
}

// Appends a value as TorchScript prints it; false for one whose form is not known.
bool AppendPrinted(const Value& value, std::string* text) {
  const Argument& argument = value.argument;
  if (!value.is_constant() || value.is_number_tensor) return false;
  if (argument.is_string()) {
    absl::StrAppend(text, argument.string());
  } else if (argument.is_int()) {
    absl::StrAppend(text, argument.integer());
  } else if (argument.is_bool() || argument.is_none()) {
    absl::StrAppend(text, argument.is_none() ? "None" : argument.boolean() ? "True" : "False");
  } else if (argument.kind() == Argument::Kind::kDevice) {
    absl::StrAppend(text, DeviceName(argument.device()));
  } else {
    return false;
  }
  return text->size() <= Values::kMaxTextBytes;
}

// "{} and {}".format(…)
Result Format(Args args, Values* values) {
  std::string text;
  size_t next = 1;
  for (absl::string_view form = args[0].argument.string(); !form.empty();) {
    if (absl::ConsumePrefix(&form, "{}")) {
      if (next < args.size() && !AppendPrinted(args[next++], &text)) return std::nullopt;
      continue;
    }
    text.push_back(form[0]);
    form.remove_prefix(1);
  }
  return values->Text(text);
}

std::optional<bool> Question(absl::string_view name, absl::string_view text) {
  using Is = bool (*)(unsigned char);
  const auto all = [text](Is is) {
    return !text.empty() &&
           absl::c_all_of(text, [is](char c) { return is(static_cast<unsigned char>(c)); });
  };
  const auto any = [text](Is is) {
    return absl::c_any_of(text, [is](char c) { return is(static_cast<unsigned char>(c)); });
  };
  if (name == "isdigit" || name == "isdecimal" || name == "isnumeric")
    return all(absl::ascii_isdigit);
  if (name == "isalpha") return all(absl::ascii_isalpha);
  if (name == "isalnum") return all(absl::ascii_isalnum);
  if (name == "isspace") return all(absl::ascii_isspace);
  if (name == "islower") return any(absl::ascii_islower) && !any(absl::ascii_isupper);
  if (name == "isupper") return any(absl::ascii_isupper) && !any(absl::ascii_islower);
  return std::nullopt;
}

// text[start:end:step]
Result SliceText(Args args, Values* values) {
  const absl::string_view text = args[0].argument.string();
  const std::optional<std::vector<size_t>> places = SlicePlaces(args, text.size());
  if (!places) return std::nullopt;
  std::string part;
  for (const size_t i : *places) part.push_back(text[i]);
  return values->Text(part);
}

Result Join(absl::string_view between, const Container& parts, Values* values) {
  std::vector<absl::string_view> texts;
  size_t bytes = 0;
  for (const Value& part : parts.elements) {
    if (!part.is_string()) return std::nullopt;
    texts.push_back(part.argument.string());
    bytes += texts.back().size() + between.size();
  }
  if (bytes > Values::kMaxTextBytes + between.size()) return std::nullopt;
  return values->Text(absl::StrJoin(texts, between));
}

Result Split(absl::string_view text, const Value& by, Values* values) {
  std::vector<absl::string_view> found;
  if (by.is_none()) {
    found = absl::StrSplit(text, absl::ByAnyChar(kBlanks), absl::SkipEmpty());
  } else {
    if (by.argument.string().empty()) return std::nullopt;
    found = absl::StrSplit(text, by.argument.string());
  }
  if (!values->Charge(found.size())) return std::nullopt;
  std::vector<Value> parts;
  for (const absl::string_view one : found) parts.push_back({values->arena()->Copy(one)});
  return values->List(std::move(parts));
}

// Returns `given` with the defaults of the arguments left out.
std::vector<Value> WithDefaults(absl::string_view name, Args given) {
  std::vector<Value> args(given.begin(), given.end());
  const auto add = [&](size_t size, const Argument& value) {
    if (args.size() == size) args.push_back({value});
  };
  if (name == "strip" || name == "lstrip" || name == "rstrip") add(1, " \n\t\f\v");
  if (name == "split") add(1, Argument()), add(2, -1);
  if (name == "replace") add(3, -1);
  if (name == "find" || name == "rfind" || name == "count" || name == "startswith" ||
      name == "endswith") {
    add(2, 0), add(3, -1);
  }
  return args;
}

Result OfOne(absl::string_view name, absl::string_view text, Values* values) {
  if (name == "len") return Value{text.size()};
  if (name == "lower") return values->Text(absl::AsciiStrToLower(text));
  if (name == "upper") return values->Text(absl::AsciiStrToUpper(text));
  if (name == "ord" && text.size() == 1) return Value{int64_t{text[0]}};
  if (int64_t number = 0; name == "Int" && absl::SimpleAtoi(text, &number)) return Value{number};
  if (const std::optional<bool> answer = Question(name, text)) return Value{*answer};
  return std::nullopt;
}

// Two texts, and what else the operator takes.
Result OfTwo(absl::string_view name, absl::string_view text, absl::string_view part, Args args,
             Values* values) {
  if (args.size() == 2) {
    if (name == "__contains__") return Value{absl::StrContains(text, part)};
    const std::partial_ordering order = text.compare(part) <=> 0;
    if (name == "lt") return Value{std::is_lt(order)};
    if (name == "le") return Value{std::is_lteq(order)};
    if (name == "gt") return Value{std::is_gt(order)};
    if (name == "ge") return Value{std::is_gteq(order)};
    if (name == "eq") return Value{std::is_eq(order)};
    if (name == "ne") return Value{std::is_neq(order)};
    const bool both = name == "strip";
    if (both || name == "lstrip" || name == "rstrip")
      return values->Text(Stripped(text, part, both || name == "lstrip", both || name == "rstrip"));
    return std::nullopt;
  }
  // The range must be the whole text.
  const auto is = [&](size_t i, int64_t number) {
    return args.size() > i && args[i].is_int() && args[i].argument.integer() == number;
  };
  if (args.size() != 4 || !is(3, -1) || part.empty()) return std::nullopt;
  if (name == "replace" && args[2].is_string()) {
    const absl::string_view by = args[2].argument.string();
    if (text.size() / part.size() * by.size() > Values::kMaxTextBytes) return std::nullopt;
    return values->Text(absl::StrReplaceAll(text, {{part, by}}));
  }
  if (!is(2, 0)) return std::nullopt;
  if (name == "startswith") return Value{absl::StartsWith(text, part)};
  if (name == "endswith") return Value{absl::EndsWith(text, part)};
  const auto place = [](size_t at) {
    return Value{at == absl::string_view::npos ? -1 : static_cast<int64_t>(at)};
  };
  if (name == "find") return place(text.find(part));
  if (name == "rfind") return place(text.rfind(part));
  if (name == "count") {
    int64_t count = 0;
    for (size_t at = text.find(part); at != absl::string_view::npos;
         at = text.find(part, at + part.size())) {
      ++count;
    }
    return Value{count};
  }
  return std::nullopt;
}

}  // namespace

Result KnownText(absl::string_view name, Args given, Values* values) {
  const Value& first = given[0];
  if (name == "str" && given.size() == 1) {
    std::string text;
    return AppendPrinted(first, &text) ? values->Text(text) : std::nullopt;
  }
  if (name == "type" && given.size() == 1 && first.is_constant() &&
      first.argument.kind() == Argument::Kind::kDevice)
    return Value{DeviceTypeName(first.argument.device().type)};
  if (name == "chr" && given.size() == 1 && first.is_int() && first.argument.integer() >= 0 &&
      first.argument.integer() < 128) {
    const char c = static_cast<char>(first.argument.integer());
    return values->Text(absl::string_view(&c, 1));
  }
  if (!first.is_string()) return std::nullopt;
  if (name == "format") return Format(given, values);
  const absl::string_view text = first.argument.string();
  if (name == "add" && given.size() == 2 && given[1].is_string())
    return values->Text(absl::StrCat(text, given[1].argument.string()));
  if (!IsAscii(text)) return std::nullopt;
  const std::vector<Value> args = WithDefaults(name, given);
  if (name == "slice") return SliceText(args, values);
  if (args.size() == 1) return OfOne(name, text, values);
  if (name == "join" && args.size() == 2) {
    const Container* const parts = values->ContainerOf(args[1]);
    return parts == nullptr || parts->is_dict() ? std::nullopt : Join(text, *parts, values);
  }
  if (name == "__getitem__" && args.size() == 2) {
    const std::optional<size_t> at = IndexOf(args[1], text.size());
    return at ? values->Text(text.substr(*at, 1)) : std::nullopt;
  }
  if (name == "split" && args.size() == 3 && (args[1].is_none() || args[1].is_string()) &&
      args[2].is_int() && args[2].argument.integer() < 0)
    return Split(text, args[1], values);
  if (!args[1].is_string() || !IsAscii(args[1].argument.string())) return std::nullopt;
  return OfTwo(name, text, args[1].argument.string(), args, values);
}

}  // namespace graphnet::evaluation
