// Damage to the configuration of a decomposition.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/validate/damage.h"

namespace graphnet {

namespace {

using ConfigChange = std::function<std::string(Random& random, DecomposeConfig* config)>;

MutationKind OnConfig(const std::string& name, const ConfigChange& change) {
  return {name,
          [change](Random& random, const Decomposition&, Decomposition* made) -> Damage {
            return {change(random, &made->config), -1};
          },
          nullptr};
}

}  // namespace

std::vector<MutationKind> ConfigurationDamage() {
  std::vector<MutationKind> kinds;
  const auto add = [&](MutationKind kind) { kinds.push_back(std::move(kind)); };
  add(OnConfig("configuration: number of operators",
               [](Random&, DecomposeConfig* config) -> std::string {
                 ++config->num_ops;
                 return "num_ops";
               }));
  add(OnConfig("configuration: a range",
               [](Random& random, DecomposeConfig* config) -> std::string {
                 Range& range = config->subgraphs[Below(random, config->subgraphs.size())].range;
                 ++(Below(random, 2) == 0 ? range.start : range.end);
                 return "a range";
               }));
  add(OnConfig("configuration: a piece less", [](Random&, DecomposeConfig* config) -> std::string {
    if (config->subgraphs.size() < 2) return "";
    config->subgraphs.pop_back();
    return "a piece less";
  }));
  add(OnConfig("configuration: a piece more", [](Random&, DecomposeConfig* config) -> std::string {
    config->subgraphs.push_back(config->subgraphs.back());
    config->subgraphs.back().name = absl::StrCat("subgraph_", config->subgraphs.size() - 1);
    return "a piece more";
  }));
  add(OnConfig("configuration: port names",
               [](Random& random, DecomposeConfig* config) -> std::string {
                 for (SubgraphConfig& subgraph : config->subgraphs) {
                   const std::vector<std::vector<std::string>*> all = {
                       &subgraph.inputs, &subgraph.outputs, &subgraph.drops, &subgraph.adds};
                   std::vector<std::string>& names = *Any(random, all);
                   if (names.size() < 2 || names[0] == names.back()) continue;
                   std::swap(names[0], names.back());
                   return "port names";
                 }
                 return "";
               }));
  add(OnConfig("configuration: a port less", [](Random&, DecomposeConfig* config) -> std::string {
    for (SubgraphConfig& subgraph : config->subgraphs) {
      if (subgraph.inputs.empty()) continue;
      subgraph.inputs.pop_back();
      return "a port less";
    }
    return "";
  }));
  add(OnPieces(kStyleKind, [](Random&, const Decomposition&, Decomposition* made) -> Damage {
    Style& style = made->config.cut.style;
    style = style == Style::kDag ? Style::kChain : Style::kDag;
    return {"style", -1};
  }));
  add(OnConfig("configuration: hash", [](Random&, DecomposeConfig* config) -> std::string {
    char& c = config->parent_hash[0];
    c = c == 'a' ? 'b' : 'a';
    return "hash";
  }));
  add(OnConfig("configuration: scheme's number",
               [](Random&, DecomposeConfig* config) -> std::string {
                 // The number is a maximum: with fewer pieces than there are, the cut must be
                 // another one.
                 if (config->mode != DecomposeMode::kEqual || config->subgraphs.size() < 2)
                   return "";
                 config->number = static_cast<int64_t>(config->subgraphs.size()) - 1;
                 return "scheme's number";
               }));
  add(OnConfig("configuration: model's name", [](Random&, DecomposeConfig* config) -> std::string {
    config->model_name += "_2";
    return "model's name";
  }));
  return kinds;
}

}  // namespace graphnet
