#include "graphnet/shard/stages.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/ir/module_path.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/shard/call_rules.h"
#include "graphnet/shard/name_pattern.h"

namespace graphnet::spmd {
namespace {

constexpr absl::string_view kRange = "..";
constexpr int kNone = -1;

struct Stage {
  std::vector<std::string> places;
  size_t mesh = 0;
};

absl::Status StageError(absl::string_view stage, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("--stage ", Printable(stage, 200), ": ", what));
}

std::string PathOf(const Node& call) {
  if (!call.module_path().empty()) return std::string(call.module_path());
  for (const Node* operand : call.operands()) {
    if (!operand->is_placeholder() && operand->op() != Op::kGetAttr) continue;
    std::string path = ModulePathOfParameter(operand->target());
    if (!path.empty()) return path;
  }
  return "";
}

std::string NameOf(const Node& call, absl::string_view path) {
  return absl::StrCat("operator ", Printable(call.name()),
                      path.empty() ? "" : absl::StrCat(" (module ", Printable(path), ")"));
}

class Assignment {
 public:
  Assignment(Stages* stages, const Module& module) : result_(*stages), at_(module) {
    for (const Node* node : module.main()->nodes()) {
      if (node->is_call()) calls_.push_back(node);
    }
    for (const Node* call : calls_) {
      at_[call] = kNone;
      paths_.push_back(PathOf(*call));
    }
  }

  absl::Status Run() {
    for (const std::string& text : result_.said) RETURN_IF_ERROR(ReadStage(text));
    for (size_t mesh = 0; mesh < result_.meshes.size(); ++mesh) {
      if (absl::c_none_of(stages_, [&](const Stage& s) { return s.mesh == mesh; }))
        return absl::InvalidArgumentError(absl::StrCat("mesh ",
                                                       Printable(result_.meshes[mesh].name),
                                                       " has no stage; give it one with --stage"));
    }
    for (size_t i = 0; i < stages_.size(); ++i) RETURN_IF_ERROR(NameCalls(static_cast<int>(i)));
    RETURN_IF_ERROR(PlaceOthers());
    RETURN_IF_ERROR(CheckRings());
    for (const Node* call : calls_)
      result_.mesh_of_call[call->name()] = stages_[static_cast<size_t>(at_[call])].mesh;
    return absl::OkStatus();
  }

 private:
  absl::Status ReadStage(const std::string& text) {
    const size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == text.size())
      return StageError(text, "expected PLACE,PLACE:MESH, as in layers.0-3:mesh0");
    const std::string name = text.substr(colon + 1);
    const auto mesh =
        absl::c_find_if(result_.meshes, [&](const NamedMesh& m) { return m.name == name; });
    if (mesh == result_.meshes.end()) {
      std::vector<absl::string_view> names;
      for (const NamedMesh& m : result_.meshes) names.push_back(m.name);
      return StageError(text, absl::StrCat("no mesh is called ", Printable(name), ", there are ",
                                           absl::StrJoin(names, ", ")));
    }
    stages_.push_back({absl::StrSplit(text.substr(0, colon), ','),
                       static_cast<size_t>(mesh - result_.meshes.begin())});
    return absl::OkStatus();
  }

  absl::StatusOr<size_t> Find(absl::string_view text, absl::string_view name,
                              size_t otherwise) const {
    if (name.empty()) return otherwise;
    const auto call = absl::c_find_if(calls_, [&](const Node* c) { return c->name() == name; });
    if (call != calls_.end()) return static_cast<size_t>(call - calls_.begin());
    std::vector<absl::string_view> names;
    for (const Node* c : calls_) names.push_back(c->name());
    return StageError(
        text, absl::StrCat("no operator is called ", Printable(name), NearMissHint(name, names)));
  }

  absl::Status NameCalls(int stage) {
    const std::string& text = result_.said[static_cast<size_t>(stage)];
    for (const std::string& place : stages_[static_cast<size_t>(stage)].places) {
      bool fits = false;
      const auto name = [&](size_t i) -> absl::Status {
        fits = true;
        int& at = at_[calls_[i]];
        if (at != kNone && at != stage)
          return StageError(
              text, absl::StrCat(NameOf(*calls_[i], paths_[i]), " is in stage ",
                                 Printable(result_.said[static_cast<size_t>(at)], 200), ", too"));
        at = stage;
        return absl::OkStatus();
      };
      if (absl::StrContains(place, kRange)) {
        has_range_ = true;
        const std::pair<std::string, std::string> ends =
            absl::StrSplit(place, absl::MaxSplits(kRange, 1));
        ASSIGN_OR_RETURN(const size_t first, Find(text, ends.first, 0));
        ASSIGN_OR_RETURN(const size_t end, Find(text, ends.second, calls_.size()));
        for (size_t i = first; i < end; ++i) RETURN_IF_ERROR(name(i));
      } else {
        for (size_t i = 0; i < calls_.size(); ++i) {
          if (FitsModulePath(place, paths_[i])) RETURN_IF_ERROR(name(i));
        }
      }
      if (!fits) return StageError(text, absl::StrCat(Printable(place), " names no operator"));
    }
    return absl::OkStatus();
  }

  absl::Status PlaceOthers() {
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (at_[calls_[i]] != kNone || (paths_[i].empty() && !has_range_)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("--stage: ", NameOf(*calls_[i], paths_[i]), " is in no stage"));
    }
    // A call goes with the last stage from which it takes a value …
    for (const Node* call : calls_) {
      const bool is_element = call->target() == "operator.getitem" && call->args().size() == 2 &&
                              call->args()[0].is_node() && call->args()[0].node()->is_call();
      if (is_element && call->args()[1].is_int() && YieldsSeveral(*call->args()[0].node()))
        at_[call] = at_[call->args()[0].node()];
      if (at_[call] != kNone) continue;
      for (const Node* operand : call->operands()) {
        if (operand->is_call()) at_[call] = std::max(at_[call], at_[operand]);
      }
    }
    // … or else with the first stage that takes its value.
    for (auto it = calls_.rbegin(); it != calls_.rend(); ++it) {
      int& at = at_[*it];
      if (at != kNone) continue;
      for (const Node* user : (*it)->users()) {
        if (user->is_call() && at_[user] != kNone && (at == kNone || at_[user] < at))
          at = at_[user];
      }
      if (at == kNone) at = 0;
    }
    return absl::OkStatus();
  }

  static bool YieldsSeveral(const Node& call) {
    return absl::c_all_of(call.users(), [](const Node* user) {
      return user->target() == "operator.getitem" && user->args().size() == 2 &&
             user->args()[1].is_int();
    });
  }

  // Refuses cycles of stages.
  absl::Status CheckRings() const {
    const size_t count = stages_.size();
    std::vector<std::vector<const Node*>> goes(count * count);  // values from one stage to another
    for (const Node* call : calls_) {
      for (const Node* operand : call->operands()) {
        if (!operand->is_call() || at_[operand] == at_[call]) continue;
        goes[static_cast<size_t>(at_[operand]) * count + static_cast<size_t>(at_[call])].push_back(
            operand);
      }
    }
    // Remove stages that take no values from remaining ones, until none is left or a cycle remains.
    std::vector<size_t> left(count);
    std::iota(left.begin(), left.end(), size_t{0});
    const auto taken_of = [&](size_t stage) {
      return absl::c_find_if(left, [&](size_t s) { return !goes[s * count + stage].empty(); });
    };
    for (bool moves = true; moves;) {
      const auto done = absl::c_find_if(left, [&](size_t s) { return taken_of(s) == left.end(); });
      moves = done != left.end();
      if (moves) left.erase(done);
    }
    if (left.empty()) return absl::OkStatus();
    // Walk back from a remaining stage until one repeats.
    std::vector<size_t> way = {left[0]};
    while (true) {
      const size_t before = *taken_of(way.back());
      const auto again = absl::c_find(way, before) - way.begin();
      const bool is_ring = again < static_cast<ptrdiff_t>(way.size());
      way.push_back(before);
      if (!is_ring) continue;
      way.erase(way.begin(), way.begin() + again);
      break;
    }
    std::reverse(way.begin(), way.end());
    std::string ring = Printable(result_.said[way[0]], 100);
    for (size_t i = 1; i < way.size(); ++i)
      absl::StrAppend(&ring, " gives ", Printable(goes[way[i - 1] * count + way[i]][0]->name()),
                      " to ", Printable(result_.said[way[i]], 100), i + 1 < way.size() ? "," : "");
    return absl::InvalidArgumentError(absl::StrCat("--stage: stages form a cycle: ", ring));
  }

  Stages& result_;
  std::vector<Stage> stages_;
  std::vector<const Node*> calls_;
  std::vector<std::string> paths_;
  NodeTable<int> at_;
  bool has_range_ = false;
};

}  // namespace

absl::StatusOr<std::vector<NamedMesh>> ParseMeshes(absl::Span<const std::string> said) {
  std::vector<NamedMesh> meshes;
  std::vector<int> ranks;
  for (const std::string& text : said) {
    const size_t equals = text.find('=');
    NamedMesh named;
    named.name = equals == std::string::npos ? "mesh" : text.substr(0, equals);
    if (equals == std::string::npos && said.size() > 1)
      return absl::InvalidArgumentError(absl::StrCat(
          "--mesh ", Printable(text), ": each of several meshes needs a name, as in mesh0=2x2"));
    if (named.name.empty() || absl::StrContains(named.name, ':'))
      return absl::InvalidArgumentError(
          absl::StrCat("--mesh ", Printable(text), ": expected NAME=2x2"));
    if (absl::c_any_of(meshes, [&](const NamedMesh& m) { return m.name == named.name; }))
      return absl::InvalidArgumentError(
          absl::StrCat("--mesh: mesh ", Printable(named.name), " is given twice"));
    const std::string shape = equals == std::string::npos ? text : text.substr(equals + 1);
    ASSIGN_OR_RETURN(named.mesh, ParseMesh(shape));
    if (!absl::StrContains(shape, '{')) {
      const int first = ranks.empty() ? 0 : *absl::c_max_element(ranks) + 1;
      for (int& rank : named.mesh.ranks) rank += first;
    }
    ranks.insert(ranks.end(), named.mesh.ranks.begin(), named.mesh.ranks.end());
    meshes.push_back(std::move(named));
  }
  absl::c_sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] != static_cast<int>(i))
      return absl::InvalidArgumentError(absl::StrCat("--mesh: no mesh has rank ", i));
  }
  if (ranks.size() > static_cast<size_t>(kMaxRanks))
    return absl::InvalidArgumentError(
        absl::StrCat("--mesh: all have more than ", kMaxRanks, " ranks"));
  return meshes;
}

size_t Stages::MeshOf(const Node& node) const {
  const auto found = mesh_of_call.find(node.name());
  return found == mesh_of_call.end() ? 0 : found->second;
}

std::vector<size_t> Stages::MeshesOfInput(const Node& input) const {
  std::vector<size_t> used;
  for (const Node* user : input.users()) used.push_back(MeshOf(*user));
  if (used.empty()) used.push_back(0);
  absl::c_sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

absl::StatusOr<Stages> AssignStages(std::vector<NamedMesh> meshes, std::vector<std::string> said,
                                    const Module& module) {
  Stages stages;
  stages.meshes = std::move(meshes);
  stages.said = std::move(said);
  if (stages.meshes.size() == 1 && stages.said.empty()) return stages;
  const Effects effects(module);
  for (const Node* node : module.main()->nodes()) {
    if (node->is_call() && effects.Of(*node).is_random && !DrawsNothing(*node))
      return absl::InvalidArgumentError(absl::StrCat(
          "--stage: operator ", Printable(node->name()),
          " draws random numbers, which would differ between the ranks of several meshes"));
  }
  RETURN_IF_ERROR(Assignment(&stages, module).Run());
  return stages;
}

}  // namespace graphnet::spmd
