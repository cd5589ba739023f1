#include "graphnet/passes/pass.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/status.h"

namespace graphnet {

absl::string_view PassRun::option(absl::string_view name, absl::string_view otherwise) const {
  const auto it = options_.find(std::string(name));
  return it == options_.end() ? otherwise : it->second;
}

std::vector<std::string> PassRun::list(absl::string_view name) const {
  const absl::string_view text = option(name);
  if (text.empty()) return {};
  return absl::StrSplit(text, '+');
}

absl::StatusOr<bool> PassRun::flag(absl::string_view name, bool otherwise) const {
  const absl::string_view text = option(name, otherwise ? "true" : "false");
  if (text == "true") return true;
  if (text == "false") return false;
  return absl::InvalidArgumentError(
      absl::StrCat(Printable(name), " is true or false, not ", Printable(text)));
}

}  // namespace graphnet
