#include "graphnet/ir/graph.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/check.h"
#include "graphnet/ir/module.h"

namespace graphnet {
namespace {

// The order keys of appended nodes are this far apart, which leaves room for 2^31 nodes and for
// many insertions between two of them.
constexpr uint64_t kOrderStep = uint64_t{1} << 32;

// "torch.nn.functional.relu" -> "relu", "aten.conv2d.default" -> "conv2d".
absl::string_view BaseOfTarget(absl::string_view target) {
  absl::ConsumePrefix(&target, "torch.ops.");
  const size_t dot = target.rfind('.');
  if (dot == absl::string_view::npos) return target;
  const absl::string_view head = target.substr(0, dot);
  const size_t before = head.rfind('.');
  // The target is a namespace, an operator and its overload; the operator names the value.
  if (before != absl::string_view::npos && head.find('.') == before &&
      head.substr(0, before) != "torch") {
    return head.substr(before + 1);
  }
  return target.substr(dot + 1);
}

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool IsLegalInIdentifier(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Makes an identifier as torch.fx does: a run of characters that an identifier cannot hold becomes
// one "_".
std::string Identifier(absl::string_view candidate) {
  if (candidate.empty()) return "_unnamed";
  std::string out;
  const auto illegal = absl::c_find_if(candidate, [](char c) { return !IsLegalInIdentifier(c); });
  out.append(candidate.begin(), illegal);
  bool in_run = false;
  for (const char c : candidate.substr(out.size())) {
    const bool legal = IsLegalInIdentifier(c);
    if (legal || !in_run) out += legal ? c : '_';
    in_run = !legal;
  }
  if (IsDigit(out[0])) out.insert(out.begin(), '_');
  return out;
}

}  // namespace

std::vector<Node*> Graph::placeholders() const {
  std::vector<Node*> out;
  for (Node* node : nodes()) {
    if (node->is_placeholder()) out.push_back(node);
  }
  return out;
}

Node* Graph::output() const {
  for (Node* node = last_; node != nullptr; node = node->prev()) {
    if (node->is_output()) return node;
  }
  return nullptr;
}

void Graph::BuildNameIndex() const {
  if (has_name_index_.load(std::memory_order_relaxed)) return;
  by_name_.reserve(num_nodes_);
  for (Node* node : nodes()) {
    if (!node->name().empty()) by_name_[node->name()] = node;
  }
  has_name_index_.store(true, std::memory_order_release);
}

void Graph::IndexName(Node* node) {
  // Nameless nodes are about to be named.
  if (!has_name_index_ || node->name().empty()) return;
  if (!by_name_.try_emplace(node->name(), node).second) {
    // Another node has the name, and the caller is about to rename that node. The index is built
    // again when it is next needed.
    has_name_index_ = false;
    by_name_.clear();
  }
}

Node* Graph::FindNode(absl::string_view name) const {
  if (!has_name_index_.load(std::memory_order_acquire)) {
    // Several threads may be readers.
    const absl::MutexLock lock(&name_index_mutex_);
    BuildNameIndex();
  }
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

std::string Graph::UniqueName(absl::string_view candidate) {
  BuildNameIndex();
  std::string wanted = Identifier(candidate);
  // "relu_3" and "relu" share the suffixes of the base "relu".
  absl::string_view base = wanted;
  int suffix = 0;
  if (const size_t bar = IsDigit(base.back()) ? base.rfind('_') : 0;
      bar != absl::string_view::npos && bar > 0) {
    const absl::string_view digits = base.substr(bar + 1);
    if (digits.size() < 9 && absl::c_all_of(digits, [](char c) { return IsDigit(c); })) {
      CHECK(absl::SimpleAtoi(digits, &suffix));
      base = base.substr(0, bar);
    }
  }
  const bool taken = by_name_.contains(wanted);
  if (!taken && suffix == 0) return wanted;
  int& next = next_suffix_[base];
  next = std::max(next, suffix + 1);
  if (!taken) return wanted;
  std::string name;
  do {
    name = absl::StrCat(base, "_", next++);
  } while (by_name_.contains(name));
  return name;
}

// Order keys follow the list-labelling scheme of Bender et al. ("Two simplified algorithms for
// maintaining order in a list"). If no key is left between two neighbours, the nodes in the
// smallest aligned range of keys around them that is sparse enough are spread out evenly. An
// insertion takes O(log n) amortised.
void Graph::AssignOrder(Node* node) {
  const Node* const after = node->next_;
  if (after == nullptr) {
    node->order_ = node->prev_ ? node->prev_->order_ + kOrderStep : kOrderStep;
    return;
  }
  const uint64_t low = node->prev_ ? node->prev_->order_ : 0;
  if (after->order_ - low >= 2) {
    node->order_ = low + (after->order_ - low) / 2;
    return;
  }
  node->order_ = low;  // It is made unique below.
  Node* first = node;
  Node* last = node;
  uint64_t count = 1;
  double capacity = 1;
  for (int bits = 1; bits < 64; ++bits) {
    const uint64_t mask = (uint64_t{1} << bits) - 1;
    const uint64_t begin = low & ~mask;
    const uint64_t end = begin + mask;
    while (first->prev_ != nullptr && first->prev_->order_ >= begin && first->prev_->order_ > 0) {
      first = first->prev_;
      ++count;
    }
    while (last->next_ != nullptr && last->next_->order_ <= end) {
      last = last->next_;
      ++count;
    }
    capacity *= 2 / 1.3;
    if (static_cast<double>(count) < capacity && mask / (count + 1) >= 2) {
      const uint64_t step = mask / (count + 1);
      uint64_t order = begin;
      for (Node* n = first;; n = n->next_) {
        n->order_ = order += step;
        if (n == last) return;
      }
    }
  }
  CHECK(false);  // 2^63 keys are enough for any graph that fits in memory.
}

void Graph::LinkBefore(Node* node, Node* before) {
  Node* const after = before;
  Node* const ahead = before ? before->prev_ : last_;
  node->prev_ = ahead;
  node->next_ = after;
  (ahead ? ahead->next_ : first_) = node;
  (after ? after->prev_ : last_) = node;
  AssignOrder(node);
  ++num_nodes_;
}

Node* Graph::NewNode(Op op, const absl::string_view* target, absl::string_view name) {
  Node* node = module_->arena_.New<Node>();
  node->graph_ = this;
  node->op_ = op;
  node->target_ = target;
  node->name_ = name.data();
  node->name_size_ = static_cast<uint32_t>(name.size());
  node->index_ = module_->num_indices_++;
  return node;
}

absl::string_view Graph::CopyName(Op op, absl::string_view target, absl::string_view name) {
  return op == Op::kPlaceholder && name == target ? target : module_->arena_.Copy(name);
}

void Graph::AllocateArguments(Node* node, size_t num_args, size_t num_kwargs) {
  node->num_args_ = static_cast<uint32_t>(num_args);
  node->num_kwargs_ = static_cast<uint32_t>(num_kwargs);
  const size_t bytes = num_args * sizeof(Argument) + num_kwargs * sizeof(KwArg);
  if (bytes > 0) node->args_ = static_cast<Argument*>(module_->arena_.Allocate(bytes));
}

Node* Graph::MakeNode(Op op, absl::string_view target, absl::Span<const Argument> args,
                      absl::Span<const KwArg> kwargs, absl::string_view name) {
  // The targets of placeholders hardly recur, so they are not interned.
  Arena& arena = module_->arena_;
  const absl::string_view* const kept = op == Op::kPlaceholder
                                            ? arena.New<absl::string_view>(arena.Copy(target))
                                            : module_->InternTarget(target);
  Node* node = NewNode(op, kept, CopyName(op, *kept, name));
  AllocateArguments(node, args.size(), kwargs.size());
  bool has_node = false;
  for (size_t i = 0; i < args.size(); ++i) {
    new (&node->args_[i]) Argument(module_->CopyArgumentInternal(args[i], &has_node));
  }
  for (size_t i = 0; i < kwargs.size(); ++i) {
    new (&node->kwarg_array()[i]) KwArg{module_->InternString(kwargs[i].name),
                                        module_->CopyArgumentInternal(kwargs[i].value, &has_node)};
  }
  if (has_node) node->LinkOperands();
  LinkBefore(node, insertion_point_);
  IndexName(node);
  return node;
}

void Graph::SetName(Node* node, absl::string_view name) {
  CHECK(node->graph_ == this && !node->erased_);
  ForgetName(node);
  const absl::string_view copy = module_->arena_.Copy(name);
  node->name_ = copy.data();
  node->name_size_ = static_cast<uint32_t>(copy.size());
  IndexName(node);
}

Node* Graph::CreateNode(Op op, absl::string_view target, absl::Span<const Argument> args,
                        absl::Span<const KwArg> kwargs, absl::string_view name) {
  return MakeNode(op, target, args, kwargs, UniqueName(name.empty() ? BaseOfTarget(target) : name));
}

Node* Graph::Placeholder(absl::string_view target, absl::string_view name) {
  return CreateNode(Op::kPlaceholder, target, {}, {}, name.empty() ? target : name);
}
Node* Graph::GetAttr(absl::string_view target, absl::string_view name) {
  return CreateNode(Op::kGetAttr, target, {}, {}, name.empty() ? target : name);
}
Node* Graph::CallFunction(absl::string_view target, absl::Span<const Argument> args,
                          absl::Span<const KwArg> kwargs, absl::string_view name) {
  return CreateNode(Op::kCallFunction, target, args, kwargs, name);
}
Node* Graph::CallMethod(absl::string_view target, absl::Span<const Argument> args,
                        absl::Span<const KwArg> kwargs, absl::string_view name) {
  return CreateNode(Op::kCallMethod, target, args, kwargs, name);
}
Node* Graph::CallModule(absl::string_view target, absl::Span<const Argument> args,
                        absl::Span<const KwArg> kwargs, absl::string_view name) {
  return CreateNode(Op::kCallModule, target, args, kwargs, name.empty() ? target : name);
}
Node* Graph::Output(const Argument& value) {
  return CreateNode(Op::kOutput, "output", absl::MakeConstSpan(&value, 1), {}, "output");
}

Node* Graph::CallLike(const Node& origin, absl::string_view target, absl::Span<const Argument> args,
                      absl::Span<const KwArg> kwargs) {
  const Op op = absl::ConsumePrefix(&target, ".") ? Op::kCallMethod : Op::kCallFunction;
  Node* made = CreateNode(op, target, args, kwargs, origin.name());
  made->set_location(origin.location());
  made->set_module_path(origin.module_path());
  if (origin.is_call()) made->set_annotation(origin.annotation());
  made->set_meta(origin.meta());
  if (origin.graph_ != this || origin.erased_) return made;
  bool is_behind = origin.is_placeholder();
  made->ForEachOperand([&](const Node* operand) { is_behind |= operand == &origin; });
  Node* before = const_cast<Node*>(&origin);
  while (is_behind && (before = before->next()) != nullptr) is_behind = before->is_placeholder();
  MoveBefore(made, before);
  return made;
}

Node* Graph::CopyNodeFrom(const Node& node, absl::FunctionRef<Node*(Node*)> map) {
  return CopyNodeFrom(node, map, [](Graph* graph) { return graph; });
}

Node* Graph::CopyNodeFrom(const Node& node, absl::FunctionRef<Node*(Node*)> map,
                          absl::FunctionRef<Graph*(Graph*)> map_graph) {
  // A free name is kept as it is, even if it is not an identifier.
  BuildNameIndex();
  return CopyNode(node, !by_name_.contains(node.name()), map, map_graph);
}

Argument Graph::CopySharedArgument(const Argument& argument, absl::FunctionRef<Node*(Node*)> map,
                                   absl::FunctionRef<Graph*(Graph*)> map_graph, bool* has_node) {
  if (argument.is_node()) {
    *has_node = true;
    return map(argument.node());
  }
  if (argument.is_graph()) {
    return module_->CheckedBody(map_graph(argument.graph()));
  }
  if (!argument.is_aggregate()) return argument;
  bool changes = false;
  ForEachArgument(argument, [&](const Argument& a) { changes |= a.is_node() || a.is_graph(); });
  if (!changes) return argument;
  const absl::Span<const Argument> elements = argument.elements();
  Argument* copies = module_->arena_.NewArray<Argument>(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    new (&copies[i]) Argument(CopySharedArgument(elements[i], map, map_graph, has_node));
  }
  return Argument(argument.kind(), copies, static_cast<uint32_t>(elements.size()));
}

Node* Graph::CopySharedNode(const Node& node, bool unique_name, absl::FunctionRef<Node*(Node*)> map,
                            absl::FunctionRef<Graph*(Graph*)> map_graph) {
  Node* copy = NewNode(node.op_, node.target_, node.name());
  AllocateArguments(copy, node.num_args_, node.num_kwargs_);
  bool has_node = false;
  for (size_t i = 0; i < node.num_args_; ++i) {
    new (&copy->args_[i]) Argument(CopySharedArgument(node.args_[i], map, map_graph, &has_node));
  }
  for (size_t i = 0; i < node.num_kwargs_; ++i) {
    const KwArg& kwarg = node.kwargs()[i];
    new (&copy->kwarg_array()[i])
        KwArg{kwarg.name, CopySharedArgument(kwarg.value, map, map_graph, &has_node)};
  }
  if (!unique_name) {  // After the arguments, for which `map` may make nodes.
    const absl::string_view name = module_->arena_.Copy(UniqueName(node.name()));
    copy->name_ = name.data();
    copy->name_size_ = static_cast<uint32_t>(name.size());
  }
  copy->file_ = module_->InternFile(node.location().file);
  copy->line_ = node.line_;
  copy->column_ = node.column_;
  if (node.rare_ != nullptr) copy->rare_ = module_->arena_.New<Node::Rare>(*node.rare_);
  copy->meta_ = node.meta_;
  if (has_node) copy->LinkOperands();
  LinkBefore(copy, insertion_point_);
  IndexName(copy);
  return copy;
}

Node* Graph::CopyNode(const Node& node, bool unique_name, absl::FunctionRef<Node*(Node*)> map,
                      absl::FunctionRef<Graph*(Graph*)> map_graph) {
  if (module_->SharesWith(*node.graph_->module_)) {
    return CopySharedNode(node, unique_name, map, map_graph);
  }
  Arena arena;  // Holds the arguments until they are copied to the module.
  const auto map_argument = [&](const Argument& argument) {
    return MapArgument(argument, &arena, [&](const Argument& a) {
      return a.is_node() ? Argument(map(a.node())) : a.is_graph() ? map_graph(a.graph()) : a;
    });
  };
  std::vector<Argument> args;
  std::vector<KwArg> kwargs;
  for (const Argument& arg : node.args()) args.push_back(map_argument(arg));
  for (const KwArg& kwarg : node.kwargs()) {
    kwargs.push_back({kwarg.name, map_argument(kwarg.value)});
  }
  Node* copy = unique_name ? MakeNode(node.op(), node.target(), args, kwargs, node.name())
                           : CreateNode(node.op(), node.target(), args, kwargs, node.name());
  copy->set_location(node.location());
  if (node.rare_ != nullptr) {
    copy->set_module_path(node.module_path());
    copy->set_annotation(node.annotation());
    if (node.draw_spec()) copy->set_draw_spec(*node.draw_spec());
  }
  copy->meta_ = module_->CopyMeta(node.meta_);
  return copy;
}

void Graph::ForgetName(const Node* node) {
  if (!has_name_index_) return;
  const auto it = by_name_.find(node->name());
  if (it != by_name_.end() && it->second == node) by_name_.erase(it);
}

void Graph::EraseNode(Node* node) {
  CHECK(node->graph_ == this && !node->erased_);
  CHECK(!node->has_uses());
  node->UnlinkOperands();
  ForgetName(node);
  (node->prev_ ? node->prev_->next_ : first_) = node->next_;
  (node->next_ ? node->next_->prev_ : last_) = node->prev_;
  if (insertion_point_ == node) insertion_point_ = node->next_;
  node->erased_ = true;  // The links stay, so that iterators can go on.
  --num_nodes_;
}

void Graph::MoveBefore(Node* node, Node* before) {
  CHECK(node->graph_ == this && !node->erased_);
  CHECK(before == nullptr || (before->graph_ == this && !before->erased_));
  if (node == before || node->next_ == before) return;
  (node->prev_ ? node->prev_->next_ : first_) = node->next_;
  (node->next_ ? node->next_->prev_ : last_) = node->prev_;
  --num_nodes_;
  LinkBefore(node, before);
}

size_t Graph::EliminateDeadCode(absl::FunctionRef<bool(const Node&)> is_pure) {
  size_t erased = 0;
  // The walk goes backwards, so that an operand is seen after the users that may be erased.
  for (Node* node = last_; node != nullptr;) {
    Node* const before = node->prev_;
    if (!node->has_uses() && !node->is_placeholder() && !node->is_output() &&
        (node->op() == Op::kGetAttr || is_pure(*node))) {
      EraseNode(node);
      ++erased;
    }
    node = before;
  }
  return erased;
}

}  // namespace graphnet
