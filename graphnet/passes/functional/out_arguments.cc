#include "graphnet/passes/functional/out_arguments.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "graphnet/ops/out_overload.h"

namespace graphnet {
namespace {

// Calls with more tensors for their results stay as they are, since the check of each copy looks at
// all others of its call.
constexpr size_t kMaxOuts = 64;

bool IsAten(absl::string_view target) {
  return absl::StartsWith(absl::StripPrefix(target, "torch.ops."), "aten.");
}

// Returns "aten.add" for "torch.ops.aten.add.out", and other targets than those of ATen as they are.
absl::string_view WithoutOverload(absl::string_view target) {
  if (!IsAten(target)) return target;
  const absl::string_view name = absl::StripPrefix(target, "torch.ops.");
  return name.substr(0, name.find('.', absl::string_view("aten.").size()));
}

// Finds the tensors that a call is given for its results, and the keywords that name them. Returns
// none if it is given none, or something else than tensors.
std::vector<Node*> FindOuts(const Node& node, OutCall* of) {
  std::vector<Node*> outs;
  const auto add = [&](const Argument& value) {
    if (value.is_node()) outs.push_back(value.node());
    return value.is_node();
  };
  const absl::Span<const KwArg> kwargs = node.kwargs();
  const auto place = [&](absl::string_view name) {
    const auto it = absl::c_find_if(kwargs, [&](const KwArg& kwarg) { return kwarg.name == name; });
    of->keywords.push_back({std::string(name), static_cast<size_t>(it - kwargs.begin())});
  };
  if (const Argument* out = node.kwarg("out")) {
    place("out");
    of->is_list = out->is_list();
    if (!out->is_sequence()) return add(*out) ? outs : std::vector<Node*>();
    return absl::c_all_of(out->elements(), add) && outs.size() > 1 ? outs : std::vector<Node*>();
  }
  const std::optional<Schema> schema = OutOverload(node);
  if (!schema.has_value()) return {};
  for (size_t i = schema->arguments.size() - schema->returns.size(); i < schema->arguments.size();
       ++i) {
    place(schema->arguments[i].name);
    add(*node.kwarg(schema->arguments[i].name));
  }
  return outs;
}

// Returns the calls that take one result of a call, by the result; nullopt if something else reads
// them.
std::optional<std::vector<std::vector<Node*>>> UsersOfResults(const Node& node, size_t count) {
  std::vector<std::vector<Node*>> users(count);
  for (Node* user : node.users()) {
    if (!user->is_call_function("operator.getitem") || user->args().size() != 2 ||
        !user->args()[1].is_int()) {
      return std::nullopt;
    }
    int64_t index = user->args()[1].integer();
    if (index < 0) index += static_cast<int64_t>(count);
    if (index < 0 || index >= static_cast<int64_t>(count)) return std::nullopt;
    users[static_cast<size_t>(index)].push_back(user);
  }
  return users;
}

void CopyPlace(const Node& from, const ValueMeta* meta, Node* to) {
  to->set_location(from.location());
  to->set_module_path(from.module_path());
  to->set_meta(meta);
}

// Returns the meta of one of several results; null if it is not known.
const ValueMeta* MetaOfResult(const Node& node, size_t i) {
  const ValueMeta* const meta = node.meta();
  return meta != nullptr && i < meta->elements.size() ? meta->elements[i] : nullptr;
}

}  // namespace

std::vector<OutCall> SplitOutCalls(Module* module) {
  std::vector<OutCall> calls;
  for (Graph* graph : module->graphs()) {
    for (Node* node : graph->nodes()) {
      if (!node->is_call()) continue;
      OutCall made = {.call = node, .target = std::string(node->target())};
      const std::vector<Node*> outs = FindOuts(*node, &made);
      if (outs.empty() || outs.size() > kMaxOuts) continue;
      std::optional<std::vector<std::vector<Node*>>> users;
      if (outs.size() > 1) {
        users = UsersOfResults(*node, outs.size());
        if (!users.has_value()) continue;
      }
      std::vector<KwArg> kwargs(node->kwargs().begin(), node->kwargs().end());
      std::erase_if(kwargs, [&](const KwArg& kwarg) {
        return absl::c_any_of(made.keywords, [&](const auto& k) { return k.name == kwarg.name; });
      });
      // Without the tensors, the arguments determine the overload.
      if (IsAten(made.target)) {
        node->set_target(made.target.substr(0, made.target.rfind('.')));
      }
      node->set_kwargs(kwargs);
      const InsertionGuard guard(graph, node->next());
      if (!users.has_value()) {
        Node* const copy =
            graph->CallFunction("aten.copy_.default", {outs[0], node}, {}, node->name());
        CopyPlace(*node, node->meta(), copy);
        node->ReplaceUsesWithIf(copy, [&](const Node* user) { return user != copy; });
        made.copies = {copy};
      } else {
        for (size_t i = 0; i < outs.size(); ++i) {
          Node* const item = graph->CallFunction("operator.getitem",
                                                 {node, static_cast<int64_t>(i)}, {}, node->name());
          CopyPlace(*node, MetaOfResult(*node, i), item);
          made.items.push_back({item, (*users)[i]});
        }
        for (size_t i = 0; i < outs.size(); ++i) {
          const OutCall::Item& item = made.items[i];
          Node* const copy =
              graph->CallFunction("aten.copy_.default", {outs[i], item.made}, {}, node->name());
          CopyPlace(*node, item.made->meta(), copy);
          for (Node* other : item.others) other->ReplaceAllUsesWith(copy);
          made.copies.push_back(copy);
        }
      }
      calls.push_back(made);
    }
  }
  return calls;
}

void JoinOutCalls(const std::vector<OutCall>& calls) {
  for (const OutCall& of : calls) {
    if (absl::c_any_of(of.copies, [](const Node* copy) { return copy->is_erased(); })) {
      for (const OutCall::Item& item : of.items) {
        for (Node* other : item.others) {
          if (!other->is_erased() && other->users().empty()) other->graph()->EraseNode(other);
        }
      }
      continue;
    }
    const bool is_one = of.items.empty();
    Node* call = of.call;
    if (call->is_erased()) {  // It was made anew with other operands.
      const Argument& value = of.copies[0]->args()[1];
      if (!is_one || !value.is_node() || !value.node()->is_call() ||
          value.node()->users().size() != 1 ||
          WithoutOverload(value.node()->target()) != WithoutOverload(of.target)) {
        continue;
      }
      call = value.node();
    }
    std::vector<Argument> outs;
    for (const Node* copy : of.copies) outs.push_back(copy->args()[0]);
    const bool are_together = of.keywords.size() == 1 && !is_one;
    std::vector<std::pair<size_t, KwArg>> given;  // by place
    for (size_t i = 0; i < of.keywords.size(); ++i) {
      const Argument value = !are_together ? outs[i]
                             : of.is_list  ? Argument::List(outs)
                                           : Argument::Tuple(outs);
      given.push_back({of.keywords[i].place, {of.keywords[i].name, value}});
    }
    absl::c_sort(given, [](const auto& a, const auto& b) { return a.first < b.first; });
    call->set_target(of.target);
    std::vector<KwArg> kwargs(call->kwargs().begin(), call->kwargs().end());
    for (const auto& [place, keyword] : given) {
      kwargs.insert(kwargs.begin() + static_cast<std::ptrdiff_t>(std::min(place, kwargs.size())),
                    keyword);
    }
    call->set_kwargs(kwargs);
    for (size_t i = 0; i < of.copies.size(); ++i) {
      Node* const copy = of.copies[i];
      Graph* const graph = copy->graph();
      if (is_one) {
        copy->ReplaceAllUsesWith(call);
        graph->EraseNode(copy);
        continue;
      }
      const OutCall::Item& item = of.items[i];
      Node* const read = item.others.empty() ? item.made : item.others[0];
      copy->ReplaceAllUsesWith(read);
      graph->EraseNode(copy);
      if (item.made->users().empty()) graph->EraseNode(item.made);
    }
  }
}

}  // namespace graphnet
