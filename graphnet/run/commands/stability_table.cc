#include "graphnet/run/commands/stability_table.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graphnet/command/messages.h"

namespace graphnet {
namespace {

Cell Digits(double digits) { return Cell(digits).As(absl::StrFormat("%.1f", digits)); }

}  // namespace

Table StabilityTable(const Stability& stability, CallKey by) {
  Table table = {{KeyName(by), KeyName(by)}};
  const bool by_node = by == CallKey::kNode;
  if (by_node) {
    for (const char* key : {"target", "module", "dtype"})
      table.AddColumn({key, std::string(key) == "module" ? "" : key});
  } else {
    table.AddColumn({"num_values", "values"});
  }
  table.AddColumn({"digits", "digits"});
  table.AddColumn({"lost", "lost"});
  table.AddColumn({"lost_here", "lost here"});
  if (by_node) {
    for (const StableValue& value : stability.values) {
      const Node& node = *value.node;
      table.Add({node.name(), node.target(), ModuleNameOf(node), DTypeShortName(value.dtype),
                 Digits(value.digits), Digits(value.lost), Digits(value.lost_here)});
    }
    return table;
  }
  struct Group {
    std::string name;
    size_t values = 0;
    StableValue all;
  };
  std::vector<Group> groups;
  std::map<std::string, size_t> places;
  for (const StableValue& value : stability.values) {
    std::string name = GroupOf(by, *value.node);
    const auto [it, is_new] = places.emplace(name, groups.size());
    if (is_new) groups.push_back({std::move(name), 0, value});
    Group& group = groups[it->second];
    ++group.values;
    group.all.digits = std::min(group.all.digits, value.digits);
    group.all.lost = std::max(group.all.lost, value.lost);
    group.all.lost_here = std::max(group.all.lost_here, value.lost_here);
  }
  for (const auto& [name, values, all] : groups)
    table.Add({name, values, Digits(all.digits), Digits(all.lost), Digits(all.lost_here)});
  return table;
}

void AddStability(const Stability& stability, CallKey by, Report* report) {
  report->Add("stability", StabilityTable(stability, by));
  if (const StableValue* const worst = MostSensitive(stability); worst != nullptr) {
    const Node& node = *worst->node;
    report->Add("most_sensitive", std::string(node.name()));
    const std::string module =
        node.module_path().empty() ? "" : absl::StrCat(" (", Printable(node.module_path()), ")");
    report->Say(absl::StrFormat("%%%s = %s%s loses most digits itself: %.1f, and has %.1f of %.1f",
                                Printable(node.name()), Printable(node.target()), module,
                                worst->lost_here, worst->digits, worst->digits + worst->lost));
  } else {
    report->Say("no value loses digits");
  }
  if (stability.left_out > 0) {
    report->Add("left_out", stability.left_out);
    report->Say(absl::StrCat("left out for lack of memory: ", stability.left_out, " values"));
  }
}

}  // namespace graphnet
