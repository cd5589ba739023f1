// UniqueNames keeps the names that are taken and makes new ones.
#ifndef GRAPHNET_BASE_UNIQUE_NAMES_H_
#define GRAPHNET_BASE_UNIQUE_NAMES_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace graphnet {

class UniqueNames {
 public:
  bool Contains(absl::string_view name) const { return taken_.contains(name); }
  // Takes a name. Returns false if it was taken before.
  bool Insert(absl::string_view name) { return taken_.emplace(name).second; }

  // Takes and returns `base`, or else the first of base_1, base_2, … that is free and allowed. O(1)
  // amortised, because counting continues where it stopped for this base.
  std::string Reserve(absl::string_view base) {
    return Reserve(base, [](absl::string_view) { return true; });
  }
  template <typename Allowed>
  std::string Reserve(absl::string_view base, Allowed&& allowed) {
    std::string name(base);
    if (!allowed(name) || !Insert(name)) {
      int& count = count_[base];
      do {
        name = absl::StrCat(base, "_", ++count);
      } while (!allowed(name) || !Insert(name));
    }
    return name;
  }

 private:
  absl::flat_hash_set<std::string> taken_;
  absl::flat_hash_map<std::string, int> count_;
};

}  // namespace graphnet

#endif  // GRAPHNET_BASE_UNIQUE_NAMES_H_
