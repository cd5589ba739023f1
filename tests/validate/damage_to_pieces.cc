// Damage to whole pieces, and to their weights and records.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "tests/validate/damage.h"

namespace graphnet {

std::vector<MutationKind> PieceDamage() {
  std::vector<MutationKind> kinds;
  const auto add = [&](MutationKind kind) { kinds.push_back(std::move(kind)); };
  add(OnPieces("piece dropped, others renumbered",
               [](Random& random, const Decomposition&, Decomposition* made) -> Damage {
                 const size_t i = Below(random, made->pieces.size());
                 Erase(&made->pieces, i);
                 return {absl::StrCat("dropped piece ", i), -1};
               }));
  add(OnPieces("piece dropped, configuration too",
               [](Random& random, const Decomposition&, Decomposition* made) -> Damage {
                 if (made->pieces.size() < 2) return {};
                 const size_t i = Below(random, made->pieces.size());
                 Erase(&made->pieces, i);
                 Erase(&made->config.subgraphs, i);
                 for (size_t k = 0; k < made->config.subgraphs.size(); ++k)
                   made->config.subgraphs[k].name = absl::StrCat("subgraph_", k);
                 return {absl::StrCat("dropped piece ", i), -1};
               }));
  add({"piece deleted", nullptr, [](Random& random, const std::string& folder) -> Damage {
         std::vector<std::string> pieces;
         for (const auto& entry : std::filesystem::directory_iterator(folder)) {
           const std::string name = entry.path().filename().string();
           if (absl::StartsWith(name, "subgraph_") && !absl::EndsWith(name, ".safetensors"))
             pieces.push_back(entry.path());
         }
         std::sort(pieces.begin(), pieces.end());
         const std::string path = Any(random, pieces);
         std::filesystem::remove_all(path);
         return {absl::StrCat("deleted ", BaseName(path)), -1};
       }});
  add(OnPieces("two pieces swapped",
               [](Random& random, const Decomposition&, Decomposition* made) -> Damage {
                 if (made->pieces.size() < 2) return {};
                 const size_t i = Below(random, made->pieces.size() - 1);
                 std::swap(made->pieces[i], made->pieces[i + 1]);
                 return {absl::StrCat("swapped ", i, " and ", i + 1), static_cast<int>(i)};
               }));
  add(OnPieces("two pieces swapped, no provenance, configuration too",
               [](Random& random, const Decomposition&, Decomposition* made) -> Damage {
                 if (made->pieces.size() < 2) return {};
                 const size_t i = Below(random, made->pieces.size() - 1);
                 std::swap(made->pieces[i], made->pieces[i + 1]);
                 std::swap(made->config.subgraphs[i], made->config.subgraphs[i + 1]);
                 for (size_t k = 0; k < made->pieces.size(); ++k) {
                   made->pieces[k].provenance.clear();
                   made->config.subgraphs[k].name = absl::StrCat("subgraph_", k);
                 }
                 return {absl::StrCat("swapped ", i, " and ", i + 1), static_cast<int>(i)};
               }));
  add(OnPieces("piece doubled",
               [](Random& random, const Decomposition&, Decomposition* made) -> Damage {
                 const size_t i = Below(random, made->pieces.size());
                 made->pieces.insert(made->pieces.begin() + static_cast<ptrdiff_t>(i),
                                     CopySample(made->pieces[i]));
                 return {absl::StrCat("doubled piece ", i), -1};
               }));
  add(OnPieces("surplus piece at the end",
               [](Random& random, const Decomposition&, Decomposition* made) -> Damage {
                 const size_t i = Below(random, made->pieces.size());
                 made->pieces.push_back(CopySample(made->pieces[i]));
                 return {absl::StrCat("piece ", i, " again at the end"), -1};
               }));
  add(OnPieces("piece of another model",
               [](Random& random, const Decomposition& other, Decomposition* made) -> Damage {
                 if (other.pieces.empty()) return {};
                 const size_t i = Below(random, made->pieces.size());
                 made->pieces[i] = CopySample(Any(random, other.pieces));
                 return {absl::StrCat("piece ", i, " of another model"), static_cast<int>(i)};
               }));
  return kinds;
}

std::vector<MutationKind> RecordDamage() {
  std::vector<MutationKind> kinds;
  const auto add = [&](MutationKind kind) { kinds.push_back(std::move(kind)); };
  add(OnPieces("weights changed", [](Random&, const Decomposition&, Decomposition* made) -> Damage {
    for (size_t i = 0; i < made->pieces.size(); ++i) {
      for (auto& [name, data] : made->pieces[i].weights) {
        if (data.bytes == nullptr || data.bytes->empty()) continue;
        std::string bytes(*data.bytes);
        bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
        data.bytes = std::make_shared<const std::string>(std::move(bytes));
        return {absl::StrCat("changed ", name), static_cast<int>(i)};
      }
    }
    return {};
  }));
  add(OnPieces("weights dropped", [](Random&, const Decomposition&, Decomposition* made) -> Damage {
    for (size_t i = 0; i < made->pieces.size(); ++i) {
      if (made->pieces[i].weights.empty()) continue;
      made->pieces[i].weights.erase(made->pieces[i].weights.begin());
      return {"dropped weights", -1};
    }
    return {};
  }));
  add(OnPieces("graph_net.json changed",
               [](Random& random, const Decomposition&, Decomposition* made) -> Damage {
                 const size_t i = Below(random, made->pieces.size());
                 if (made->pieces[i].graph_net_json.empty()) return {};
                 made->pieces[i].graph_net_json = "{\"framework\": \"other\"}";
                 return {absl::StrCat("changed graph_net.json of piece ", i), static_cast<int>(i)};
               }));
  add(OnPieces("provenance changed",
               [](Random& random, const Decomposition&, Decomposition* made) -> Damage {
                 const size_t i = Below(random, made->pieces.size());
                 Provenance& from = made->pieces[i].provenance[0];
                 ++(Below(random, 2) == 0 ? from.start : from.end);
                 return {absl::StrCat("changed the range of piece ", i), static_cast<int>(i)};
               }));
  return kinds;
}

}  // namespace graphnet
