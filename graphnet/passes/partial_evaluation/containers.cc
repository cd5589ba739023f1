#include "graphnet/passes/partial_evaluation/containers.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "graphnet/passes/partial_evaluation/numbers.h"

namespace graphnet::evaluation {
namespace {

using Result = std::optional<Value>;
using Args = absl::Span<const Value>;
using Kind = Argument::Kind;

// Entries of a dict, whose keys are compared one by one.
constexpr size_t kMaxEntries = 1000;

// Returns whether an operator changes its list or dict. A constant is no object, so none does that
// to it.
bool Changes(absl::string_view name) {
  static const auto* const kNames = new absl::flat_hash_set<absl::string_view>{
      "append", "insert",  "extend", "add_", "_set_item", "remove",     "pop",
      "Delete", "reverse", "clear",  "sort", "update",    "setdefault", "popitem"};
  return kNames->contains(name);
}

// Returns whether two values are equal; nullopt if unknown. Each pair of lists is compared once.
std::optional<bool> AreEqual(const Value& a, const Value& b, Values* values) {
  absl::flat_hash_set<std::pair<const Container*, const Container*>> seen;
  std::vector<std::pair<Value, Value>> pending = {{a, b}};
  while (!pending.empty()) {
    const auto [x, y] = pending.back();
    pending.pop_back();
    if (!values->Charge(1) || x.is_number_tensor || y.is_number_tensor) return std::nullopt;
    const Container* const list = values->ContainerOf(x);
    const Container* const other = values->ContainerOf(y);
    bool equal = false;
    if (const auto order = Compare(x, y)) {
      equal = std::is_eq(*order);
    } else if (list != nullptr && other != nullptr && !list->is_dict() && !other->is_dict()) {
      equal = list->elements.size() == other->elements.size();
      if (equal && seen.emplace(list, other).second) {
        // The first comes next.
        for (size_t i = list->elements.size(); i-- > 0;)
          pending.emplace_back(list->elements[i], other->elements[i]);
      }
    } else if (list == nullptr && other == nullptr && x.is_constant() && y.is_constant()) {
      equal = x.argument == y.argument;
    } else {
      return std::nullopt;
    }
    if (!equal) return false;
  }
  return true;
}

// Returns the first index of `value`, the number of elements if it is absent, nullopt if unknown.
std::optional<size_t> Find(const std::vector<Value>& elements, const Value& value, size_t step,
                           Values* values) {
  for (size_t i = 0; i < elements.size(); i += step) {
    const std::optional<bool> equal = AreEqual(elements[i], value, values);
    if (!equal) return std::nullopt;
    if (*equal) return i;
  }
  return elements.size();
}

// --- Lists ---------------------------------------------------------------------------

Result Insert(Container& list, Args args, Values* values) {
  const auto size = static_cast<int64_t>(list.elements.size());
  if (!args[1].is_int() || values->Holds(args[2], list)) return std::nullopt;
  const int64_t i = args[1].argument.integer();
  list.elements.insert(list.elements.begin() + std::clamp<int64_t>(i < 0 ? i + size : i, 0, size),
                       args[2]);
  return Value();
}

Result Erase(Container& list, Args args, bool yields) {
  const std::optional<size_t> at =
      IndexOf(args.size() == 1 ? Value{-1} : args[1], list.elements.size());
  if (!at) return std::nullopt;
  const auto place = list.elements.begin() + static_cast<ptrdiff_t>(*at);
  const Value taken = *place;
  list.elements.erase(place);
  return yields ? taken : Value();
}

Result Extend(Container& list, Args args, Values* values) {
  const std::optional<std::vector<Value>> more = values->ElementsOf(args[1]);
  if (!more) return std::nullopt;
  for (const Value& value : *more) {
    if (values->Holds(value, list)) return std::nullopt;
  }
  list.elements.insert(list.elements.end(), more->begin(), more->end());
  return Value();
}

Result Repeat(const Container& list, const Value& times, const Node* maker, Values* values) {
  if (!times.is_int() || maker == nullptr) return std::nullopt;
  const auto count = static_cast<uint64_t>(std::max<int64_t>(times.argument.integer(), 0));
  const uint64_t size = list.elements.size();
  if (size > 0 && (count > kMaxExpansion / size || !values->Charge(count * size)))
    return std::nullopt;
  std::vector<Value> all;
  for (uint64_t i = 0; i < count && size > 0; ++i)
    all.insert(all.end(), list.elements.begin(), list.elements.end());
  return values->List(std::move(all), maker);
}

// Sorts numbers without NaN, or texts.
Result Sort(Container& list, Args args, const Node* maker, bool in_place, Values* values) {
  const bool has_order = args.size() > 1;
  if (has_order && !(args[1].is_constant() && args[1].argument.is_bool())) return std::nullopt;
  const bool reverse = has_order && args[1].argument.boolean();
  std::vector<Value> sorted = list.elements;
  for (const Value& value : sorted) {
    const auto order = Compare(sorted[0], value);
    if (!order || *order == std::partial_ordering::unordered) return std::nullopt;
  }
  absl::c_stable_sort(sorted, [reverse](const Value& a, const Value& b) {
    return reverse ? std::is_gt(*Compare(a, b)) : std::is_lt(*Compare(a, b));
  });
  if (in_place) {
    list.elements = std::move(sorted);
    return Value();
  }
  return maker == nullptr ? std::nullopt : Result(values->List(std::move(sorted), maker));
}

// sum, max, min, any and all of numbers.
Result Reduced(absl::string_view name, const Container& list) {
  if (!absl::c_all_of(list.elements, [](const Value& v) { return v.is_number(); }))
    return std::nullopt;
  if (name == "any" || name == "all") {
    bool any = false, all = true;
    for (const Value& value : list.elements) {
      const Result truth = KnownNumber("builtins.bool", {value}, /*exact=*/true);
      any |= truth->argument.boolean();
      all &= truth->argument.boolean();
    }
    return Value{name == "any" ? any : all};
  }
  if (list.elements.empty()) return std::nullopt;  // Its type is not known.
  Result all = list.elements[0];
  const absl::string_view function = name == "sum"   ? "operator.add"
                                     : name == "max" ? "torch.sym_max"
                                                     : "torch.sym_min";
  if (name == "sum" && all->argument.is_bool()) all = Value{all->argument.boolean() ? 1 : 0};
  for (size_t i = 1; i < list.elements.size() && all; ++i)
    all = KnownNumber(function, {*all, list.elements[i]}, /*exact=*/true);
  return all;
}

// Operators that take a list or tuple and nothing else.
Result OfList(absl::string_view name, Container& list, const Node* maker, Values* values) {
  if (name == "len") return Value{list.elements.size()};
  if (name == "pop" && list.is_list()) return Erase(list, {Value()}, /*yields=*/true);
  if (name == "sum" || name == "max" || name == "min" || name == "any" || name == "all")
    return Reduced(name, list);
  if ((name == "copy" || name == "list") && maker != nullptr &&
      values->Charge(list.elements.size()))
    return values->List(list.elements, maker);
  if (name == "dict" && list.is_list()) {
    std::vector<Value> entries;
    for (const Value& item : list.elements) {
      const std::optional<std::vector<Value>> pair = values->ElementsOf(item);
      if (!pair || pair->size() != 2) return std::nullopt;
      entries.insert(entries.end(), pair->begin(), pair->end());
    }
    return MakeDict(entries, maker, values);
  }
  if (name == "reverse" && list.is_list()) {
    absl::c_reverse(list.elements);
    return Value();
  }
  if (name == "clear" && list.is_list()) {
    list.elements.clear();
    return Value();
  }
  return std::nullopt;
}

Result KnownList(absl::string_view name, Container& list, Args args, const Node* maker,
                 Values* values) {
  const size_t n = args.size();
  if (name == "slice") {
    const std::optional<std::vector<size_t>> places = SlicePlaces(args, list.elements.size());
    if (!places || maker == nullptr || !values->Charge(places->size())) return std::nullopt;
    std::vector<Value> part;
    for (const size_t i : *places) part.push_back(list.elements[i]);
    return values->Make(list.kind, std::move(part), maker);
  }
  if ((name == "sort" || name == "sorted") && n <= 2 && list.is_list())
    return Sort(list, args, maker, name == "sort", values);
  if (n == 1) return OfList(name, list, maker, values);
  if (n == 2 && name == "__getitem__") {
    const std::optional<size_t> at = IndexOf(args[1], list.elements.size());
    return at ? Result(list.elements[*at]) : std::nullopt;
  }
  if (n == 2 && (name == "__contains__" || name == "index" || name == "count")) {
    if (name == "count") {
      int64_t count = 0;
      for (const Value& value : list.elements) {
        const std::optional<bool> equal = AreEqual(value, args[1], values);
        if (!equal) return std::nullopt;
        count += *equal ? 1 : 0;
      }
      return Value{count};
    }
    const std::optional<size_t> at = Find(list.elements, args[1], 1, values);
    if (!at) return std::nullopt;
    const bool is_there = *at < list.elements.size();
    if (name == "__contains__") return Value{is_there};
    return is_there ? Result(Value{*at}) : std::nullopt;
  }
  if (n == 2 && (name == "eq" || name == "ne")) {
    const std::optional<bool> equal = AreEqual(args[0], args[1], values);
    return equal ? Result(Value{*equal == (name == "eq")}) : std::nullopt;
  }
  if (n == 2 && name == "add") {
    const std::optional<std::vector<Value>> more = values->ElementsOf(args[1]);
    if (!more || maker == nullptr || !values->Charge(list.elements.size())) return std::nullopt;
    std::vector<Value> all = list.elements;
    all.insert(all.end(), more->begin(), more->end());
    return values->Make(list.kind, std::move(all), maker);
  }
  if (!list.is_list()) return std::nullopt;
  if (n == 2 && name == "mul") return Repeat(list, args[1], maker, values);
  if (n == 3 && name == "insert") return Insert(list, args, values);
  if (n == 2 && (name == "pop" || name == "Delete")) return Erase(list, args, name == "pop");
  if (n == 2 && (name == "extend" || name == "add_")) {
    const Result extended = Extend(list, args, values);
    return extended && name == "add_" ? args[0] : extended;
  }
  if (n == 2 && name == "append" && !values->Holds(args[1], list)) {
    list.elements.push_back(args[1]);
    return args[0];
  }
  if (n == 3 && name == "_set_item") {
    const std::optional<size_t> at = IndexOf(args[1], list.elements.size());
    if (!at || values->Holds(args[2], list)) return std::nullopt;
    list.elements[*at] = args[2];
    return args[0];
  }
  if (n == 2 && name == "remove") {
    const std::optional<size_t> at = Find(list.elements, args[1], 1, values);
    if (!at || *at == list.elements.size()) return std::nullopt;
    list.elements.erase(list.elements.begin() + static_cast<ptrdiff_t>(*at));
    return Value();
  }
  return std::nullopt;
}

// --- Dicts ---------------------------------------------------------------------------

// False if it cannot be done.
bool Set(Container& dict, const Value& key, const Value& value, Values* values) {
  const std::optional<size_t> at = Find(dict.elements, key, 2, values);
  if (!at || values->Holds(value, dict)) return false;
  if (*at < dict.elements.size()) {
    dict.elements[*at + 1] = value;
    return true;
  }
  // A key that is a container or a tensor is compared with no other.
  if (!key.is_number() && !key.is_string()) return false;
  if (dict.elements.size() >= 2 * kMaxEntries) return false;
  dict.elements.push_back(key);
  dict.elements.push_back(value);
  return true;
}

// Operators that take a dict and nothing else.
Result OfDict(absl::string_view name, Container& dict, const Node* maker, Values* values) {
  std::vector<Value>& entries = dict.elements;
  if (name == "len") return Value{entries.size() / 2};
  if (name == "clear") {
    entries.clear();
    return Value();
  }
  if (name == "popitem" && !entries.empty()) {
    const Value item = values->Tuple({*(entries.end() - 2), entries.back()});
    entries.resize(entries.size() - 2);
    return item;
  }
  if (maker == nullptr || !values->Charge(entries.size())) return std::nullopt;
  if (name == "copy" || name == "dict") return values->Make(Kind::kDict, entries, maker);
  std::vector<Value> made;
  if (name == "keys" || name == "values") {
    for (size_t i = name == "keys" ? 0 : 1; i < entries.size(); i += 2) made.push_back(entries[i]);
  } else if (name == "items") {
    for (size_t i = 0; i + 1 < entries.size(); i += 2)
      made.push_back(values->Tuple({entries[i], entries[i + 1]}));
  } else {
    return std::nullopt;
  }
  return values->List(std::move(made), maker);
}

Result KnownDict(absl::string_view name, Container& dict, Args args, const Node* maker,
                 Values* values) {
  std::vector<Value>& entries = dict.elements;
  const size_t n = args.size();
  if (n == 1) return OfDict(name, dict, maker, values);
  if (name == "_set_item" && n == 3)
    return Set(dict, args[1], args[2], values) ? Result(Value()) : std::nullopt;
  if (name == "update" && n == 2) {
    const Container* const other = values->ContainerOf(args[1]);
    if (other == nullptr || !other->is_dict()) return std::nullopt;
    const std::vector<Value> more = other->elements;
    for (size_t i = 0; i + 1 < more.size(); i += 2) {
      if (!Set(dict, more[i], more[i + 1], values)) return std::nullopt;
    }
    return Value();
  }
  const bool reads = name == "get" || name == "setdefault" || name == "pop" || name == "Delete" ||
                     name == "__getitem__" || name == "__contains__";
  if (!reads || n > 3) return std::nullopt;
  const std::optional<size_t> at = Find(entries, args[1], 2, values);
  if (!at) return std::nullopt;
  const bool is_there = *at < entries.size();
  if (name == "__contains__") return Value{is_there};
  if (!is_there) {
    if (name == "setdefault" && n == 3)
      return Set(dict, args[1], args[2], values) ? Result(args[2]) : std::nullopt;
    if (name == "get") return n == 3 ? args[2] : Value();
    return name == "pop" && n == 3 ? Result(args[2]) : std::nullopt;
  }
  const Value value = entries[*at + 1];
  if (name == "pop" || name == "Delete") {
    const auto place = entries.begin() + static_cast<ptrdiff_t>(*at);
    entries.erase(place, place + 2);
  }
  return name == "Delete" ? Value() : value;
}

}  // namespace

std::optional<size_t> IndexOf(const Value& index, size_t size) {
  if (!index.is_int()) return std::nullopt;
  const auto n = static_cast<int64_t>(size);
  const int64_t i = index.argument.integer();
  if (i < -n || i >= n) return std::nullopt;
  return static_cast<size_t>(i < 0 ? i + n : i);
}

std::optional<std::vector<size_t>> SlicePlaces(Args args, size_t size) {
  const auto n = static_cast<int64_t>(size);
  int64_t bounds[3] = {0, n, 1};
  for (size_t i = 1; i < args.size() && i < 4; ++i) {
    if (args[i].is_none()) continue;
    if (!args[i].is_int()) return std::nullopt;
    bounds[i - 1] = args[i].argument.integer();
  }
  if (bounds[2] < 1) return std::nullopt;
  for (int64_t* const bound : {&bounds[0], &bounds[1]})
    *bound = std::clamp<int64_t>(*bound < 0 ? *bound + n : *bound, 0, n);
  std::vector<size_t> places;
  for (int64_t i = bounds[0]; i < bounds[1];) {
    places.push_back(static_cast<size_t>(i));
    if (bounds[2] >= bounds[1] - i) break;  // The step may be any number.
    i += bounds[2];
  }
  return places;
}

Result MakeDict(Args entries, const Node* maker, Values* values) {
  if (maker == nullptr) return std::nullopt;
  const Value dict = values->Make(Kind::kDict, {}, maker);
  for (size_t i = 0; i + 1 < entries.size(); i += 2) {
    if (!Set(*dict.container, entries[i], entries[i + 1], values)) return std::nullopt;
  }
  return dict;
}

Result KnownContainer(absl::string_view name, Args args, const Node* maker, Values* values) {
  if (name == "mul" && args.size() == 2 && args[0].is_int()) {
    const Container* const list = values->ContainerOf(args[1]);
    if (list != nullptr && list->is_list()) return Repeat(*list, args[0], maker, values);
  }
  Container* const first = values->ContainerOf(args[0]);
  if (first == nullptr || (Changes(name) && first->is_literal)) return std::nullopt;
  return first->is_dict() ? KnownDict(name, *first, args, maker, values)
                          : KnownList(name, *first, args, maker, values);
}

}  // namespace graphnet::evaluation
