#include "graphnet/shard/join_ranks.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/ir/graph_copier.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/shard/call_rules.h"
#include "graphnet/shard/rank_programs.h"
#include "graphnet/shard/sharding.h"
#include "graphnet/shard/unroll.h"

namespace graphnet::spmd {
namespace {

// A parsed named call.
struct Collective {
  ReshardStep::Kind kind = ReshardStep::Kind::kSend;
  int64_t dim = 0;
  int64_t to_dim = 0;
  ReduceType reduce = ReduceType::kSum;
  std::vector<int> group;
};

// The arguments of a named call between the value and the group.
struct CollectiveForm {
  absl::string_view name;
  ReshardStep::Kind kind;
  int dims;
  bool has_reduce;
};
constexpr CollectiveForm kForms[] = {
    {"all_gather", ReshardStep::Kind::kAllGather, 1, false},
    {"all_reduce", ReshardStep::Kind::kAllReduce, 0, true},
    {"reduce_scatter", ReshardStep::Kind::kReduceScatter, 1, true},
    {"all_to_all", ReshardStep::Kind::kAllToAll, 2, false},
    {"keep_first", ReshardStep::Kind::kKeepFirst, 0, true},
};

constexpr absl::string_view kSend = "spmd.send.default";
constexpr absl::string_view kReceive = "spmd.recv.default";

bool IsCollective(const Node& node) {
  return node.is_call() && absl::StartsWith(node.target(), kNamedCallPrefix);
}

absl::StatusOr<Collective> ParseCollective(const Node& node, int rank) {
  absl::string_view name = node.target();
  absl::ConsumePrefix(&name, kNamedCallPrefix);
  absl::ConsumeSuffix(&name, ".default");
  const auto* const form =
      absl::c_find_if(kForms, [&](const CollectiveForm& f) { return f.name == name; });
  if (form == std::end(kForms)) return NodeError(node, "is not a call of ranks");
  const absl::Span<const Argument> args = node.args();
  const size_t count = 2 + static_cast<size_t>(form->dims) + (form->has_reduce ? 1 : 0);
  if (args.size() != count || !node.kwargs().empty() || !args[0].is_node())
    return NodeError(node, absl::StrCat("expected a value and ", count - 1, " constants"));
  Collective collective = {.kind = form->kind};
  size_t next = 1;
  for (int i = 0; i < form->dims; ++i, ++next) {
    if (!args[next].is_int()) return NodeError(node, "expected a dimension");
    (i == 0 ? collective.dim : collective.to_dim) = args[next].integer();
  }
  if (form->has_reduce) {
    const std::optional<ReduceType> reduce =
        args[next].is_string() ? ParseReduceType(args[next].string()) : std::nullopt;
    if (!reduce.has_value()) return NodeError(node, "has an unknown reduction");
    collective.reduce = *reduce;
    ++next;
  }
  if (!args[next].is_list() && !args[next].is_tuple()) return NodeError(node, "expected a group");
  for (const Argument& member : args[next].elements()) {
    if (!member.is_int()) return NodeError(node, "expected ranks in its group");
    collective.group.push_back(static_cast<int>(member.integer()));
  }
  if (!absl::c_linear_search(collective.group, rank))
    return NodeError(node, absl::StrCat("rank ", rank, " is not in its group"));
  return collective;
}

// Returns whether two calls are the same collective, apart from the value and the calling rank.
bool IsSameCollective(const Node& a, const Node& b) {
  return a.target() == b.target() && a.args().size() == b.args().size() &&
         absl::c_equal(a.args().subspan(1), b.args().subspan(1));
}

class Joiner {
 public:
  Joiner(absl::Span<const Module* const> programs, const Mesh& mesh)
      : joined_(std::make_unique<Module>()), graph_(joined_->AddGraph("forward")) {
    for (size_t i = 0; i < programs.size(); ++i)
      ranks_.push_back(std::make_unique<Rank>(*programs[i], mesh.ranks[i], joined_.get()));
  }

  absl::StatusOr<std::unique_ptr<Module>> Run() {
    for (const auto& rank : ranks_) by_rank_[rank->number] = rank.get();
    for (const auto& rank : ranks_) {
      for (; rank->at != nullptr && rank->at->is_placeholder(); rank->at = rank->at->next()) {
        Node* const input = graph_->Placeholder(JoinedInput(rank->number, rank->at->target()));
        input->set_meta(joined_->CopyMeta(rank->at->meta()));
        input->set_annotation(rank->at->annotation());
        if (rank->at->draw_spec() != nullptr) input->set_draw_spec(*rank->at->draw_spec());
        rank->values[rank->at] = input;
      }
    }
    while (!absl::c_all_of(ranks_, [](const auto& rank) { return rank->at->is_output(); })) {
      bool moves = false;
      for (const auto& rank : ranks_) {
        ASSIGN_OR_RETURN(const bool moved, Advance(rank.get()));
        moves |= moved;
      }
      if (!moves) return Stuck();
    }
    for (const auto& [pair, values] : sent_) {
      if (!values.empty())
        return absl::InvalidArgumentError(absl::StrCat("rank ", pair.second, " does not receive ",
                                                       Printable(values.front()->name()),
                                                       ", which rank ", pair.first, " sends"));
    }
    std::vector<Argument> outputs;
    for (const auto& rank : ranks_) {
      rank->at->ForEachArgument([&](const Argument& argument) {
        if (argument.is_aggregate() || argument.is_none()) return;
        outputs.push_back(argument.is_node() ? Argument(rank->values[argument.node()]) : argument);
      });
      rank->copier.Finish();
    }
    graph_->Output(Argument::Tuple(outputs));
    return std::move(joined_);
  }

 private:
  struct Rank {
    Rank(const Module& program, int rank, Module* joined)
        : number(rank),
          at(program.main()->first()),
          values(program),
          effects(program),
          copier(joined) {}

    int number;
    const Node* at;  // next node to run
    NodeTable<Node*> values;
    Effects effects;
    GraphCopier copier;
  };

  // Runs a rank as far as possible and returns whether it moved.
  absl::StatusOr<bool> Advance(Rank* rank) {
    for (bool moves = false;; moves = true) {
      const Node& node = *rank->at;
      if (node.is_output()) return moves;
      if (node.op() == Op::kGetAttr) return NodeError(node, "reads an attribute");
      if (node.is_placeholder()) return NodeError(node, "is an input after calls");
      bool done = true;  // true if all ranks that took part have moved on
      if (node.target() == kSend) {
        RETURN_IF_ERROR(Send(rank));
      } else if (node.target() == kReceive) {
        ASSIGN_OR_RETURN(done, TryReceive(rank));
      } else if (IsCollective(node)) {
        ASSIGN_OR_RETURN(done, TryCollective(rank));
      } else if (Draws(*rank, node)) {
        done = TryDraw();
      } else {
        Copy(rank);
        rank->at = node.next();
      }
      if (!done) return moves;
    }
  }

  static bool Draws(const Rank& rank, const Node& node) {
    return rank.effects.Of(node).is_random && !DrawsNothing(node);
  }

  void Copy(Rank* rank) {
    rank->values[rank->at] = graph_->CopyNodeFrom(
        *rank->at, [&](Node* x) { return rank->values[x]; },
        [&](Graph* body) { return rank->copier.CopyOf(body); });
  }

  // Runs a call that draws random numbers, if all ranks have reached it.
  bool TryDraw() {
    const Node& first = *ranks_[0]->at;
    for (const auto& rank : ranks_) {
      if (rank->at->target() != first.target() || !Draws(*rank, *rank->at)) return false;
    }
    Copy(ranks_[0].get());
    Node* const drawn = ranks_[0]->values[&first];
    for (const auto& rank : ranks_) {
      rank->values[rank->at] = drawn;
      rank->at = rank->at->next();
    }
    return true;
  }

  absl::StatusOr<int> OtherRank(const Node& node, const Rank& rank, const Argument& said) const {
    if (!said.is_int() || !by_rank_.contains(static_cast<int>(said.integer())) ||
        said.integer() == rank.number)
      return NodeError(node, "expected another rank of the meshes");
    return static_cast<int>(said.integer());
  }

  // A send does not wait for its receiver.
  absl::Status Send(Rank* rank) {
    const Node& node = *rank->at;
    if (node.args().size() != 2 || !node.args()[0].is_node())
      return NodeError(node, "expected a value and a rank");
    ASSIGN_OR_RETURN(const int to, OtherRank(node, *rank, node.args()[1]));
    sent_[{rank->number, to}].push_back(rank->values[node.args()[0].node()]);
    rank->at = node.next();
    return absl::OkStatus();
  }

  absl::StatusOr<bool> TryReceive(Rank* rank) {
    const Node& node = *rank->at;
    if (node.args().size() != 3 || !node.args()[0].is_sequence())
      return NodeError(node, "expected sizes, a dtype and a rank");
    ASSIGN_OR_RETURN(const int from, OtherRank(node, *rank, node.args()[2]));
    std::deque<Node*>& sent = sent_[{from, rank->number}];
    if (sent.empty()) return false;
    Node* const value = sent.front();
    sent.pop_front();
    const TensorMeta* const meta = value->tensor_meta();
    if (meta != nullptr && meta->has_shape && meta->is_static() &&
        !absl::c_equal(
            meta->shape, node.args()[0].elements(),
            [](const Dim& dim, const Argument& size) { return size == Argument(dim.value); }))
      return NodeError(node, absl::StrCat("receives ", Printable(value->name()), " from rank ",
                                          from, ", which has other sizes"));
    if (meta == nullptr) {
      // The run checks what is not known here.
      graph_
          ->CallFunction("aten._assert_tensor_metadata.default",
                         {value, node.args()[0], Argument(), node.args()[1]})
          ->set_location(node.location());
    }
    rank->values[&node] = value;
    rank->at = node.next();
    return true;
  }

  absl::StatusOr<bool> TryCollective(Rank* rank) {
    const Node& node = *rank->at;
    ASSIGN_OR_RETURN(const Collective collective, ParseCollective(node, rank->number));
    std::vector<Rank*> group;
    for (const int number : collective.group) {
      const auto member = by_rank_.find(number);
      if (member == by_rank_.end())
        return NodeError(node,
                         absl::StrCat("its group has rank ", number, ", which is not in the mesh"));
      group.push_back(member->second);
    }
    // keep_first needs no other rank, so it does not wait.
    if (collective.kind == ReshardStep::Kind::kKeepFirst) {
      Node* x = rank->values[node.args()[0].node()];
      if (collective.group[0] != rank->number)
        x = graph_->CallFunction(collective.reduce == ReduceType::kProduct
                                     ? "aten.ones_like.default"
                                     : "aten.zeros_like.default",
                                 {x});
      rank->values[&node] = x;
      rank->at = node.next();
      return true;
    }
    std::vector<Node*> parts;
    for (Rank* member : group) {
      if (!IsCollective(*member->at) || !IsSameCollective(*member->at, node)) return false;
      parts.push_back(member->values[member->at->args()[0].node()]);
    }
    const std::vector<Node*> made = Exchange(collective, parts);
    for (size_t i = 0; i < group.size(); ++i) {
      group[i]->values[group[i]->at] = made[i];
      group[i]->at = group[i]->at->next();
    }
    return true;
  }

  // Returns the values of the ranks of the group after a collective.
  std::vector<Node*> Exchange(const Collective& collective, absl::Span<Node* const> parts) {
    const auto n = static_cast<int64_t>(parts.size());
    const auto join = [&](absl::Span<Node* const> nodes, int64_t dim) {
      const std::vector<Argument> elements(nodes.begin(), nodes.end());
      return graph_->CallFunction("aten.cat.default", {Argument::List(elements), dim});
    };
    const auto cut = [&](Node* x, int64_t dim) {
      Node* const pieces = graph_->CallFunction("aten.chunk.default", {x, n, dim});
      std::vector<Node*> made;
      for (int64_t i = 0; i < n; ++i)
        made.push_back(graph_->CallFunction("operator.getitem", {pieces, i}));
      return made;
    };
    switch (collective.kind) {
      case ReshardStep::Kind::kAllGather:
        return std::vector<Node*>(parts.size(), join(parts, collective.dim));
      case ReshardStep::Kind::kAllReduce:
        return std::vector<Node*>(parts.size(), ReduceParts(parts, collective.reduce, graph_));
      case ReshardStep::Kind::kReduceScatter:
        return cut(ReduceParts(parts, collective.reduce, graph_), collective.dim);
      default: break;
    }
    // The rest is all-to-all.
    std::vector<std::vector<Node*>> cuts;
    for (Node* part : parts) cuts.push_back(cut(part, collective.to_dim));
    std::vector<Node*> made;
    for (size_t i = 0; i < parts.size(); ++i) {
      std::vector<Node*> received;
      for (const std::vector<Node*>& pieces : cuts) received.push_back(pieces[i]);
      made.push_back(join(received, collective.dim));
    }
    return made;
  }

  absl::Status Stuck() const {
    return absl::InvalidArgumentError(absl::StrCat(
        "ranks wait for each other: ",
        absl::StrJoin(ranks_, ", ", [](std::string* out, const std::unique_ptr<Rank>& rank) {
          absl::StrAppend(out, "rank ", rank->number, " at ",
                          rank->at->is_output() ? "its end" : Printable(rank->at->name()));
        })));
  }

  std::unique_ptr<Module> joined_;
  Graph* graph_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  absl::flat_hash_map<int, Rank*> by_rank_;
  std::map<std::pair<int, int>, std::deque<Node*>> sent_;  // by sender and receiver
};

}  // namespace

std::string JoinedInput(int rank, absl::string_view input) {
  return absl::StrCat("rank", rank, ".", input);
}

absl::StatusOr<std::unique_ptr<Module>> JoinRanks(absl::Span<const Module* const> programs,
                                                  const Mesh& mesh) {
  if (programs.size() != mesh.num_ranks())
    return absl::InvalidArgumentError(
        absl::StrCat(programs.size(), " programs for ", mesh.num_ranks(), " ranks"));
  for (const Module* program : programs) {
    if (program->main() == nullptr || program->main()->output() == nullptr)
      return absl::InvalidArgumentError("a program has no graph");
  }
  return Joiner(programs, mesh).Run();
}

}  // namespace graphnet::spmd
