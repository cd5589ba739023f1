#include "graphnet/formats/graphnet_folder/named_values.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "graphnet/base/check.h"
#include "graphnet/base/limits.h"

namespace graphnet {
namespace {

// Values that are no larger and nest no deeper are always written out.
constexpr uint64_t kSmall = 64;
constexpr int kShallow = 8;

absl::string_view ConstructorOf(Argument::Kind kind) {
  switch (kind) {
    case Argument::Kind::kList: return "prim.ListConstruct";
    case Argument::Kind::kTuple: return "prim.TupleConstruct";
    case Argument::Kind::kDict: return "prim.DictConstruct";
    default: return "builtins.slice";
  }
}

// Returns the type in TorchScript's spelling.
absl::string_view TypeOf(Argument::Kind kind) {
  switch (kind) {
    case Argument::Kind::kList: return "List[Any]";
    case Argument::Kind::kDict: return "Dict[str, Any]";
    default: return "";
  }
}

}  // namespace

NamedValues::Kept* NamedValues::Find(const Argument& value) {
  if (!value.is_aggregate() || value.elements().empty()) return nullptr;
  const auto it = kept_.find(value.elements().data());
  return it == kept_.end() ? nullptr : &it->second;
}

// The recursion is as deep as the brackets of one statement, which the scanner bounds.
Argument NamedValues::Keep(const Argument& value) {
  if (!value.is_aggregate()) return module_.CopyArgument(value);
  if (value.elements().empty() || Find(value) != nullptr) return value;
  Kept kept;
  std::vector<Argument> elements;
  elements.reserve(value.elements().size());
  kept.all.size = value.elements().size();
  for (const Argument& element : value.elements()) {
    elements.push_back(Keep(element));
    kept.has_node |= element.is_node();
    if (const Kept* const part = Find(elements.back())) {
      kept.has_node |= part->has_node;
      kept.all.size = AddSizes(kept.all.size, part->all.size);
      kept.all.height = std::max(kept.all.height, part->all.height + 1);
    }
  }
  kept.value = Argument::Aggregate(value.kind(), arena_.Copy(absl::MakeConstSpan(elements)));
  const Argument result = kept.value;
  kept_[result.elements().data()] = kept;
  return result;
}

bool NamedValues::HasNode(const Argument& value) const {
  if (!value.is_aggregate()) return value.is_node();
  if (const Kept* const kept = Find(value)) return kept->has_node;
  return absl::c_any_of(value.elements(), [this](const Argument& a) { return HasNode(a); });
}

Expansion NamedValues::ExpansionOf(const Argument& value, bool* has_kept) const {
  if (const Kept* const kept = Find(value)) {
    *has_kept = true;
    return kept->all;
  }
  Expansion all;
  if (!value.is_aggregate()) return all;
  all.size = value.elements().size();
  for (const Argument& element : value.elements()) {
    if (!element.is_aggregate()) continue;
    const Expansion part = ExpansionOf(element, has_kept);
    all.size = AddSizes(all.size, part.size);
    all.height = std::max(all.height, part.height + 1);
  }
  return all;
}

bool NamedValues::IsLarge(const Kept& kept) const {
  return kept.all.size > kSmall || kept.all.height > kShallow;
}

Argument NamedValues::WrittenOut(const Argument& value, const Graph* graph, MakeNode make) {
  if (kept_.empty() || !value.is_aggregate()) return value;
  bool has_kept = false;
  const Expansion all = ExpansionOf(value, &has_kept);
  if (!has_kept || (all.height < kMaxNesting && budget_.Charge(all.size))) return value;
  // Its large values become nodes, parts before wholes.
  std::vector<Argument> pending = {value};
  while (!pending.empty()) {
    const Argument next = pending.back();
    pending.pop_back();
    if (Kept* const kept = Find(next)) {
      if (IsLarge(*kept)) NodeOf(kept, graph, make);
    } else if (next.is_aggregate()) {
      pending.insert(pending.end(), next.elements().begin(), next.elements().end());
    }
  }
  return Shortened(value, graph);
}

Argument NamedValues::Shortened(const Argument& value, const Graph* graph) {
  if (!value.is_aggregate()) return value;
  if (const Kept* const kept = Find(value)) {
    return kept->graph == graph ? Argument(kept->node) : value;
  }
  std::vector<Argument> elements;
  elements.reserve(value.elements().size());
  for (const Argument& element : value.elements()) elements.push_back(Shortened(element, graph));
  arguments_.push_back(std::move(elements));
  return Argument::Aggregate(value.kind(), arguments_.back());
}

Node* NamedValues::NodeOf(Kept* kept, const Graph* graph, MakeNode make) {
  SharedWalk<Kept*> walk;
  const bool is_finite = walk.Run(
      kept,
      [&](const Kept* whole, auto&& add) {
        if (whole->graph == graph) return;
        for (const Argument& element : whole->value.elements()) {
          Kept* const part = Find(element);
          if (part != nullptr && IsLarge(*part)) add(part);
        }
      },
      [&](Kept* whole) {
        if (whole->graph == graph) return;
        std::vector<Argument> args;
        args.reserve(whole->value.elements().size());
        for (const Argument& element : whole->value.elements()) {
          args.push_back(Shortened(element, graph));
        }
        whole->node = make(ConstructorOf(whole->value.kind()), args);
        whole->node->set_annotation(TypeOf(whole->value.kind()));
        whole->graph = graph;
      });
  CHECK(is_finite);
  return kept->node;
}

}  // namespace graphnet
