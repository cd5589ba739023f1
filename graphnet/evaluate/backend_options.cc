#include "graphnet/evaluate/backend_options.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

bool Takes(const BackendOption& option, absl::string_view value) {
  int32_t number = 0;
  return option.values.empty() ? absl::SimpleAtoi(value, &number) && number > 0
                               : absl::c_linear_search(option.values, value);
}

absl::Status AddOption(absl::string_view text, Backend* backend) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  const absl::string_view name = absl::StripAsciiWhitespace(parts.first);
  const absl::string_view value = absl::StripAsciiWhitespace(parts.second);
  const auto option = absl::c_find_if(
      backend->options, [&](const BackendOption& known) { return known.name == name; });
  if (option == backend->options.end()) {
    std::vector<absl::string_view> names;
    for (const BackendOption& known : backend->options) names.push_back(known.name);
    return absl::InvalidArgumentError(absl::StrCat(
        "backend ", backend->name, " has no option ", Printable(name),
        names.empty() ? "; it takes none" : absl::StrCat("; it has ", absl::StrJoin(names, ", "))));
  }
  if (!Takes(*option, value)) {
    return absl::InvalidArgumentError(absl::StrCat("backend ", backend->name, ": ", name,
                                                   " is not ", Printable(value), " but ",
                                                   ValuesText(*option)));
  }
  const bool is_second =
      absl::c_any_of(backend->given, [&](const auto& given) { return given.first == name; });
  if (is_second) {
    return absl::InvalidArgumentError(
        absl::StrCat("backend ", backend->name, ": ", name, " is given twice"));
  }
  backend->given.emplace_back(name, value);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Backend> BackendOfText(absl::string_view text) {
  const size_t brace = text.find('{');
  const absl::string_view name = text.substr(0, brace);
  const Backend* const known = FindBackend(name);
  if (known == nullptr) {
    const std::string hint = NearMissHint(name, BackendNames());
    return absl::InvalidArgumentError(
        absl::StrCat("there is no backend ", Printable(name),
                     hint.empty() ? "; graphnet backends lists them" : hint));
  }
  Backend backend = *known;
  if (brace == absl::string_view::npos) return backend;
  if (text.back() != '}') {
    return absl::InvalidArgumentError(
        absl::StrCat("backend ", Printable(text), ": a } ends its options"));
  }
  const absl::string_view options = text.substr(brace + 1, text.size() - brace - 2);
  for (const absl::string_view option : absl::StrSplit(options, ';', absl::SkipWhitespace()))
    RETURN_IF_ERROR(AddOption(option, &backend));
  if (!backend.given.empty()) backend.label = text;
  return backend;
}

std::string OptionsText(const Backend& backend) {
  return absl::StrJoin(backend.given, ";", absl::PairFormatter("="));
}

std::string ValuesText(const BackendOption& option) {
  return option.values.empty() ? "a whole number from 1 on" : absl::StrJoin(option.values, "|");
}

}  // namespace graphnet
