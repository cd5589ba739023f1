#include "graphnet/formats/pt2/export_containers.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/python_numbers.h"
#include "graphnet/base/status.h"

namespace graphnet::pt2 {
namespace {

using Kind = ExportValue::Kind;
using Result = absl::StatusOr<std::optional<ExportValue>>;
using Args = absl::Span<const ExportValue>;

// Most elements of a list or dict, or characters of a text, that one call may make.
constexpr int64_t kMaxMade = 100'000;
// Entries of a dict, whose keys are compared one by one.
constexpr size_t kMaxEntries = 1000;

absl::Status Raises(absl::string_view what) { return absl::InvalidArgumentError(what); }

int64_t SizeOf(const ExportValue& list) { return static_cast<int64_t>(list.elements->size()); }

// Resolves TorchScript's index: a negative one counts from the end.
std::optional<int64_t> IndexIn(const ExportValue& index, int64_t size) {
  if (!index.is_int()) return std::nullopt;
  const int64_t i = index.literal.integer();
  return i < 0 ? i + size : i;
}

// --- Comparisons -------------------------------------------------------------------

std::optional<python::Number> NumberOf(const ExportValue& value) {
  if (!value.is_number()) return std::nullopt;
  if (value.literal.is_bool()) return value.literal.boolean();
  if (value.literal.is_int()) return value.literal.integer();
  return value.literal.real();
}

// Compares two numbers or two texts; nullopt for other values.
std::optional<std::partial_ordering> Compare(const ExportValue& a, const ExportValue& b) {
  const auto x = NumberOf(a), y = NumberOf(b);
  if (x && y) return python::Compare(*x, *y);
  if (a.is_string() && b.is_string()) return a.literal.string().compare(b.literal.string()) <=> 0;
  return std::nullopt;
}

// Returns the first index of `value`, the list's size if it is absent, nullopt if unknown.
std::optional<size_t> Find(absl::Span<const ExportValue> list, const ExportValue& value,
                           size_t step = 1) {
  for (size_t i = 0; i < list.size(); i += step) {
    const auto order = Compare(list[i], value);
    if (!order) return std::nullopt;
    if (std::is_eq(*order)) return i;
  }
  return list.size();
}

// False if `value` is the container, or might hold it deeper within.
bool MayBeHeld(const ExportValue& value, const ExportValue& container) {
  return value.elements == nullptr || (value.elements != container.elements &&
                                       absl::c_all_of(*value.elements, [](const ExportValue& e) {
                                         return e.elements == nullptr;
                                       }));
}

// --- Lists ---------------------------------------------------------------------------

Result Insert(Args args) {
  const std::optional<int64_t> at = IndexIn(args[1], SizeOf(args[0]));
  if (!at || !MayBeHeld(args[2], args[0])) return std::nullopt;
  args[0].elements->insert(args[0].elements->begin() + std::clamp<int64_t>(*at, 0, SizeOf(args[0])),
                           args[2]);
  return ExportValue();
}

Result Erase(Args args, bool yields) {
  const int64_t size = SizeOf(args[0]);
  const std::optional<int64_t> at = args.size() == 1 ? size - 1 : IndexIn(args[1], size);
  if (!at) return std::nullopt;
  if (*at < 0 || *at >= size) return Raises("the index is out of range for the list");
  const auto place = args[0].elements->begin() + *at;
  const ExportValue taken = std::move(*place);
  args[0].elements->erase(place);
  return yields ? taken : ExportValue();
}

Result Extend(Args args) {
  if (!args[1].is_sequence()) return std::nullopt;
  const std::vector<ExportValue> more = *args[1].elements;
  if (SizeOf(args[0]) + SizeOf(args[1]) > kMaxMade) return Raises("the list would be too long");
  for (const ExportValue& value : more) {
    if (!MayBeHeld(value, args[0])) return std::nullopt;
  }
  args[0].elements->insert(args[0].elements->end(), more.begin(), more.end());
  return ExportValue();
}

Result Repeat(const ExportValue& list, const ExportValue& times) {
  if (!times.is_int()) return std::nullopt;
  const int64_t count = std::max<int64_t>(times.literal.integer(), 0);
  if (SizeOf(list) > 0 && count > kMaxMade / SizeOf(list))
    return Raises("the list would be too long");
  std::vector<ExportValue> all;
  for (int64_t i = 0; i < count && SizeOf(list) > 0; ++i) {
    all.insert(all.end(), list.elements->begin(), list.elements->end());
  }
  return ExportValue::Sequence(Kind::kList, std::move(all));
}

// Sorts numbers without NaN, or texts.
Result Sort(Args args, bool in_place) {
  if (args.size() > 1 && !(args[1].is_literal() && args[1].literal.is_bool())) return std::nullopt;
  const bool reverse = args.size() > 1 && args[1].literal.boolean();
  std::vector<ExportValue> sorted = *args[0].elements;
  for (const ExportValue& value : sorted) {
    const auto order = Compare(sorted[0], value);
    if (!order || *order == std::partial_ordering::unordered) return std::nullopt;
  }
  absl::c_stable_sort(sorted, [reverse](const ExportValue& a, const ExportValue& b) {
    return reverse ? std::is_gt(*Compare(a, b)) : std::is_lt(*Compare(a, b));
  });
  if (!in_place) return ExportValue::Sequence(Kind::kList, std::move(sorted));
  *args[0].elements = std::move(sorted);
  return ExportValue();
}

Result ComputeList(absl::string_view name, Args args) {
  std::vector<ExportValue>& list = *args[0].elements;
  const size_t n = args.size();
  if (name == "insert" && n == 3) return Insert(args);
  if (name == "pop" && n <= 2) return Erase(args, /*yields=*/true);
  if (name == "Delete" && n == 2) return Erase(args, /*yields=*/false);
  if (name == "extend" && n == 2) return Extend(args);
  if (name == "mul" && n == 2) return Repeat(args[0], args[1]);
  if ((name == "sort" || name == "sorted") && n <= 2) return Sort(args, name == "sort");
  if ((name == "any" || name == "all") && n == 1) {
    bool any = false, all = true;
    for (const ExportValue& value : list) {
      const auto number = NumberOf(value);
      if (!number) return std::nullopt;
      any |= python::Truth(*number);
      all &= python::Truth(*number);
    }
    return ExportValue(Argument(name == "any" ? any : all));
  }
  if (name == "reverse" && n == 1) {
    absl::c_reverse(list);
    return ExportValue();
  }
  if (name == "clear" && n == 1) {
    list.clear();
    return ExportValue();
  }
  if ((name == "remove" || name == "index") && n == 2) {
    const std::optional<size_t> at = Find(list, args[1]);
    if (!at) return std::nullopt;
    if (*at == list.size()) return Raises("the value is not in the list");
    if (name == "index") return ExportValue(Argument(*at));
    list.erase(list.begin() + static_cast<ptrdiff_t>(*at));
    return ExportValue();
  }
  if (name == "count" && n == 2) {
    int64_t count = 0;
    for (const ExportValue& value : list) {
      const auto order = Compare(value, args[1]);
      if (!order) return std::nullopt;
      count += std::is_eq(*order) ? 1 : 0;
    }
    return ExportValue(Argument(count));
  }
  return std::nullopt;
}

// --- Dicts ---------------------------------------------------------------------------

absl::Status Set(const ExportValue& dict, const ExportValue& key, const ExportValue& value,
                 bool* known) {
  const std::optional<size_t> at = Find(*dict.elements, key, 2);
  *known = at.has_value() && MayBeHeld(value, dict);
  if (!*known) return absl::OkStatus();
  if (*at < dict.elements->size()) {
    (*dict.elements)[*at + 1] = value;
    return absl::OkStatus();
  }
  if (dict.elements->size() >= 2 * kMaxEntries) return Raises("the dict would be too large");
  dict.elements->push_back(key);
  dict.elements->push_back(value);
  return absl::OkStatus();
}

// Makes a dict of alternating keys and values.
Result MakeDict(absl::Span<const ExportValue> entries) {
  ExportValue dict = ExportValue::Sequence(Kind::kDict, {});
  for (size_t i = 0; i + 1 < entries.size(); i += 2) {
    bool known = false;
    RETURN_IF_ERROR(Set(dict, entries[i], entries[i + 1], &known));
    if (!known) return std::nullopt;
  }
  return dict;
}

// Returns every second element of the dict, from `first` on.
ExportValue Half(const ExportValue& dict, size_t first) {
  std::vector<ExportValue> half;
  for (size_t i = first; i < dict.elements->size(); i += 2) half.push_back((*dict.elements)[i]);
  return ExportValue::Sequence(Kind::kList, std::move(half));
}

Result ComputeDict(absl::string_view name, Args args) {
  std::vector<ExportValue>& entries = *args[0].elements;
  const size_t n = args.size();
  bool known = false;
  if (n == 1) {
    if (name == "keys") return Half(args[0], 0);
    if (name == "values") return Half(args[0], 1);
    if (name == "copy" || name == "dict") return ExportValue::Sequence(Kind::kDict, entries);
    if (name == "items") {
      std::vector<ExportValue> items;
      for (size_t i = 0; i + 1 < entries.size(); i += 2) {
        items.push_back(ExportValue::Sequence(Kind::kTuple, {entries[i], entries[i + 1]}));
      }
      return ExportValue::Sequence(Kind::kList, std::move(items));
    }
    if (name == "clear") {
      entries.clear();
      return ExportValue();
    }
    if (name == "popitem") {
      if (entries.empty()) return Raises("the dict is empty");
      ExportValue item =
          ExportValue::Sequence(Kind::kTuple, {*(entries.end() - 2), entries.back()});
      entries.resize(entries.size() - 2);
      return item;
    }
    return std::nullopt;
  }
  if (name == "_set_item" && n == 3) {
    RETURN_IF_ERROR(Set(args[0], args[1], args[2], &known));
    return known ? Result(ExportValue()) : std::nullopt;
  }
  if (name == "update" && n == 2 && args[1].kind == Kind::kDict) {
    const std::vector<ExportValue> more = *args[1].elements;
    for (size_t i = 0; i + 1 < more.size(); i += 2) {
      RETURN_IF_ERROR(Set(args[0], more[i], more[i + 1], &known));
      if (!known) return std::nullopt;
    }
    return ExportValue();
  }
  const bool reads = name == "get" || name == "setdefault" || name == "pop" || name == "Delete" ||
                     name == "__getitem__";
  if (!reads || n > 3) return std::nullopt;
  const std::optional<size_t> at = Find(entries, args[1], 2);
  if (!at) return std::nullopt;
  if (*at == entries.size()) {
    if (name == "setdefault" && n == 3) {
      RETURN_IF_ERROR(Set(args[0], args[1], args[2], &known));
      return known ? Result(args[2]) : std::nullopt;
    }
    if (name == "get") return n == 3 ? args[2] : ExportValue();
    if (name == "pop" && n == 3) return args[2];
    return Raises("the key is not in the dict");
  }
  const ExportValue value = entries[*at + 1];
  if (name == "pop" || name == "Delete") {
    const auto place = entries.begin() + static_cast<ptrdiff_t>(*at);
    entries.erase(place, place + 2);
  }
  return name == "Delete" ? ExportValue() : value;
}

// --- Texts ---------------------------------------------------------------------------

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

Result TextOf(const ExportValue& value, Arena* arena) {
  if (value.is_string()) return value;
  if (!value.is_number() || value.literal.is_float()) return std::nullopt;
  const std::string text = value.literal.is_bool() ? (value.literal.boolean() ? "True" : "False")
                                                   : absl::StrCat(value.literal.integer());
  return ExportValue(Argument(arena->Copy(absl::string_view(text))));
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
Result SliceText(Args args, Arena* arena) {
  const absl::string_view text = args[0].literal.string();
  const auto size = static_cast<int64_t>(text.size());
  int64_t bounds[3] = {0, size, 1};
  for (size_t i = 1; i < args.size() && i < 4; ++i) {
    if (args[i].is_none()) continue;
    if (!args[i].is_int()) return std::nullopt;
    bounds[i - 1] = args[i].literal.integer();
  }
  if (bounds[2] < 1) return std::nullopt;
  for (int64_t* const bound : {&bounds[0], &bounds[1]}) {
    *bound = std::clamp<int64_t>(*bound < 0 ? *bound + size : *bound, 0, size);
  }
  std::string part;
  for (int64_t i = bounds[0]; i < bounds[1];) {
    part.push_back(text[static_cast<size_t>(i)]);
    if (bounds[2] >= bounds[1] - i) break;
    i += bounds[2];
  }
  return ExportValue(Argument(arena->Copy(absl::string_view(part))));
}

Result Join(absl::string_view between, const ExportValue& parts, Arena* arena) {
  std::vector<absl::string_view> texts;
  size_t bytes = 0;
  for (const ExportValue& part : *parts.elements) {
    if (!part.is_string()) return std::nullopt;
    texts.push_back(part.literal.string());
    bytes += texts.back().size() + between.size();
  }
  if (bytes > static_cast<size_t>(kMaxMade)) return Raises("the string would be too long");
  const std::string text = absl::StrJoin(texts, between);
  return ExportValue(Argument(arena->Copy(absl::string_view(text))));
}

// Returns `given` with the defaults of the arguments left out.
std::vector<ExportValue> WithDefaults(absl::string_view name, Args given) {
  std::vector<ExportValue> args(given.begin(), given.end());
  const auto add = [&](size_t size, const Argument& value) {
    if (args.size() == size) args.emplace_back(value);
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

Result ComputeText(absl::string_view name, Args given, Arena* arena) {
  const std::vector<ExportValue> args = WithDefaults(name, given);
  const absl::string_view text = args[0].literal.string();
  const auto made = [arena](absl::string_view made_text) {
    return ExportValue(Argument(arena->Copy(made_text)));
  };
  if (!IsAscii(text)) return std::nullopt;
  if (name == "slice") return SliceText(args, arena);
  if (name == "join" && args.size() == 2 && args[1].is_sequence())
    return Join(text, args[1], arena);
  if (name == "__getitem__" && args.size() == 2) {
    const std::optional<int64_t> at = IndexIn(args[1], static_cast<int64_t>(text.size()));
    if (!at) return std::nullopt;
    if (*at < 0 || *at >= static_cast<int64_t>(text.size()))
      return Raises("the index is out of range for the string");
    return made(text.substr(static_cast<size_t>(*at), 1));
  }
  if (args.size() == 1) {
    if (name == "len") return ExportValue(Argument(text.size()));
    if (name == "lower") return made(absl::AsciiStrToLower(text));
    if (name == "upper") return made(absl::AsciiStrToUpper(text));
    if (name == "ord" && text.size() == 1) return ExportValue(Argument(int64_t{text[0]}));
    if (int64_t number = 0; name == "Int" && absl::SimpleAtoi(text, &number))
      return ExportValue(Argument(number));
    if (const std::optional<bool> answer = Question(name, text))
      return ExportValue(Argument(*answer));
    return std::nullopt;
  }
  if (!args[1].is_literal() || (!args[1].is_string() && !args[1].is_none())) return std::nullopt;
  const bool by_spaces = args[1].is_none();
  const absl::string_view part = by_spaces ? " \t\n\r\f\v" : args[1].literal.string();
  if (!IsAscii(part)) return std::nullopt;
  const bool both = name == "strip";
  if ((both || name == "lstrip" || name == "rstrip") && args.size() == 2) {
    return made(Stripped(text, part, both || name == "lstrip", both || name == "rstrip"));
  }
  if (name == "split" && args.size() == 3 && args[2].is_int() && args[2].literal.integer() < 0 &&
      (by_spaces || !part.empty())) {
    std::vector<ExportValue> parts;
    const std::vector<absl::string_view> found =
        by_spaces ? std::vector<absl::string_view>(
                        absl::StrSplit(text, absl::ByAnyChar(part), absl::SkipEmpty()))
                  : std::vector<absl::string_view>(absl::StrSplit(text, part));
    for (const absl::string_view one : found) parts.push_back(made(one));
    return ExportValue::Sequence(Kind::kList, std::move(parts));
  }
  if (by_spaces) return std::nullopt;
  if (args.size() == 2) {
    if (name == "__contains__") return ExportValue(Argument(absl::StrContains(text, part)));
    const std::partial_ordering order = text.compare(part) <=> 0;
    if (name == "lt") return ExportValue(Argument(std::is_lt(order)));
    if (name == "le") return ExportValue(Argument(std::is_lteq(order)));
    if (name == "gt") return ExportValue(Argument(std::is_gt(order)));
    if (name == "ge") return ExportValue(Argument(std::is_gteq(order)));
    return std::nullopt;
  }
  // The range must be the whole text.
  const auto is = [&](size_t i, int64_t number) {
    return args.size() > i && args[i].is_int() && args[i].literal.integer() == number;
  };
  if (name == "replace" && args.size() == 4 && args[2].is_string() && is(3, -1) && !part.empty()) {
    const std::string replaced = absl::StrReplaceAll(text, {{part, args[2].literal.string()}});
    if (replaced.size() > static_cast<size_t>(kMaxMade))
      return Raises("the string would be too long");
    return made(replaced);
  }
  if (args.size() != 4 || !is(2, 0) || !is(3, -1) || part.empty()) return std::nullopt;
  if (name == "startswith") return ExportValue(Argument(absl::StartsWith(text, part)));
  if (name == "endswith") return ExportValue(Argument(absl::EndsWith(text, part)));
  const auto place = [](size_t at) {
    return ExportValue(Argument(at == absl::string_view::npos ? -1 : static_cast<int64_t>(at)));
  };
  if (name == "find") return place(text.find(part));
  if (name == "rfind") return place(text.rfind(part));
  if (name == "count") {
    int64_t count = 0;
    for (size_t at = text.find(part); at != absl::string_view::npos;
         at = text.find(part, at + part.size())) {
      ++count;
    }
    return ExportValue(Argument(count));
  }
  return std::nullopt;
}

}  // namespace

Result ComputeContainer(absl::string_view name, Args args, Arena* arena) {
  if (name == "DictConstruct") return MakeDict(args);
  if (args.empty()) return std::nullopt;
  const ExportValue& first = args[0];
  if (name == "str" && args.size() == 1) return TextOf(first, arena);
  if (name == "chr" && args.size() == 1 && first.is_int() && first.literal.integer() >= 0 &&
      first.literal.integer() < 128) {
    const char c = static_cast<char>(first.literal.integer());
    return ExportValue(Argument(arena->Copy(absl::string_view(&c, 1))));
  }
  if (first.is_string()) return ComputeText(name, args, arena);
  if (name == "mul" && args.size() == 2 && args[1].kind == Kind::kList) {
    return Repeat(args[1], first);
  }
  if (name == "dict" && args.size() == 1 && first.kind == Kind::kList) {
    std::vector<ExportValue> entries;
    for (const ExportValue& item : *first.elements) {
      if (item.kind != Kind::kTuple || item.elements->size() != 2) return std::nullopt;
      entries.insert(entries.end(), item.elements->begin(), item.elements->end());
    }
    return MakeDict(entries);
  }
  if (first.kind == Kind::kDict) return ComputeDict(name, args);
  if (first.kind == Kind::kList) return ComputeList(name, args);
  return std::nullopt;
}

}  // namespace graphnet::pt2
