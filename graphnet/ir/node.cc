#include "graphnet/ir/node.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/module.h"

namespace graphnet {

absl::string_view OpName(Op op) {
  switch (op) {
    case Op::kPlaceholder: return "placeholder";
    case Op::kGetAttr: return "get_attr";
    case Op::kCallFunction: return "call_function";
    case Op::kCallMethod: return "call_method";
    case Op::kCallModule: return "call_module";
    case Op::kOutput: return "output";
  }
  return "unknown";
}

const Argument* Node::kwarg(absl::string_view name) const {
  for (const KwArg& kwarg : kwargs()) {
    if (kwarg.name == name) return &kwarg.value;
  }
  return nullptr;
}

void Node::FreeUseArray() {
  if (use_capacity_log2_ == 0) return;
  void*& free = graph_->module()->free_use_arrays_[use_capacity_log2_];
  std::memcpy(static_cast<void*>(uses_), &free, sizeof free);
  free = uses_;
}

void Node::AddUse(Node* user, Argument* slot) {
  if (num_uses_ == use_capacity()) {
    Module* module = graph_->module();
    const uint32_t capacity = use_capacity() * 2;
    void*& free = module->free_use_arrays_[use_capacity_log2_ + 1];
    UseEntry* grown;
    if (free == nullptr) {
      grown = module->arena_.NewArray<UseEntry>(capacity);
    } else {
      grown = static_cast<UseEntry*>(free);
      std::memcpy(&free, grown, sizeof free);
    }
    std::copy_n(use_array(), num_uses_, grown);
    FreeUseArray();
    uses_ = grown;
    ++use_capacity_log2_;
  }
  slot->size_ = num_uses_;
  use_array()[num_uses_++] = {user, slot};
}

void Node::RemoveUse(Argument* slot) {
  UseEntry* array = use_array();
  const uint32_t i = slot->size_;
  DCHECK(i < num_uses_ && array[i].slot == slot);
  array[i] = array[--num_uses_];
  array[i].slot->size_ = i;
  if (num_uses_ == 0 && use_capacity_log2_ > 0) {
    FreeUseArray();
    use_capacity_log2_ = 0;
    inline_use_ = {nullptr, nullptr};
  }
}

void Node::Relink(UseEntry use, Node* value) {
  use.slot->u_.node->RemoveUse(use.slot);
  use.slot->u_.node = value;
  value->AddUse(use.user, use.slot);
}

void Node::RefuseOperand(const Node* operand) const {
  const char* const what = operand == nullptr ? "is null"
                           : operand->erased_ ? "is erased"
                                              : "belongs to another graph";
  const std::string given = operand == nullptr ? "" : absl::StrCat(" %", operand->name());
  CHECK_SAYS(false, "an operand%s of %%%s (%s) %s", given.c_str(), std::string(name()).c_str(),
             std::string(target()).c_str(), what);
}

void Node::LinkArgument(Argument& arg) {
  if (arg.is_node()) {
    CheckOperand(arg.u_.node);
    arg.u_.node->AddUse(this, &arg);
  } else if (arg.is_aggregate()) {
    // Aggregates without nodes are shared and never written. Aggregates with nodes belong to this
    // node alone.
    for (const Argument& element : arg.elements()) LinkArgument(const_cast<Argument&>(element));
  }
}

void Node::UnlinkArgument(Argument& arg) {
  if (arg.is_node()) {
    arg.u_.node->RemoveUse(&arg);
  } else if (arg.is_aggregate()) {
    for (const Argument& element : arg.elements()) UnlinkArgument(const_cast<Argument&>(element));
  }
}

void Node::LinkOperands() {
  for (uint32_t i = 0; i < num_args_; ++i) LinkArgument(args_[i]);
  for (uint32_t i = 0; i < num_kwargs_; ++i) LinkArgument(kwarg_array()[i].value);
}

void Node::UnlinkOperands() {
  for (uint32_t i = 0; i < num_args_; ++i) UnlinkArgument(args_[i]);
  for (uint32_t i = 0; i < num_kwargs_; ++i) UnlinkArgument(kwarg_array()[i].value);
}

void Node::StoreArguments(absl::Span<const Argument> args, absl::Span<const KwArg> kwargs) {
  UnlinkOperands();
  const size_t had = num_args_ * sizeof(Argument) + num_kwargs_ * sizeof(KwArg);
  const size_t needed = args.size() * sizeof(Argument) + kwargs.size() * sizeof(KwArg);
  if (needed > had) args_ = static_cast<Argument*>(graph_->module()->arena_.Allocate(needed));
  num_args_ = static_cast<uint32_t>(args.size());
  num_kwargs_ = static_cast<uint32_t>(kwargs.size());
  std::uninitialized_copy(args.begin(), args.end(), args_);
  std::uninitialized_copy(kwargs.begin(), kwargs.end(), kwarg_array());
  LinkOperands();
}

void Node::set_args(absl::Span<const Argument> args) {
  CHECK(!erased_);
  // The arguments are copied first, since `args` may view those that are replaced.
  absl::InlinedVector<Argument, 8> copies;
  copies.reserve(args.size());
  for (const Argument& arg : args) copies.push_back(graph_->module()->CopyArgument(arg));
  const absl::InlinedVector<KwArg, 4> kept(kwargs().begin(), kwargs().end());
  StoreArguments(copies, kept);
}

void Node::set_kwargs(absl::Span<const KwArg> kwargs) {
  CHECK(!erased_);
  Module* module = graph_->module();
  absl::InlinedVector<KwArg, 4> copies;
  copies.reserve(kwargs.size());
  for (const KwArg& kwarg : kwargs) {
    copies.push_back({module->InternString(kwarg.name), module->CopyArgument(kwarg.value)});
  }
  const absl::InlinedVector<Argument, 8> kept(args().begin(), args().end());
  StoreArguments(kept, copies);
}

void Node::StoreArgument(Argument* slot, const Argument& value) {
  CHECK(!erased_);
  const Argument copy = graph_->module()->CopyArgument(value);
  UnlinkArgument(*slot);
  *slot = copy;
  LinkArgument(*slot);
}

void Node::set_arg(size_t i, const Argument& value) {
  CHECK(i < num_args_);
  StoreArgument(&args_[i], value);
}

void Node::set_kwarg(absl::string_view name, const Argument& value) {
  if (const Argument* found = kwarg(name))
    return StoreArgument(const_cast<Argument*>(found), value);
  absl::InlinedVector<KwArg, 4> longer(kwargs().begin(), kwargs().end());
  longer.push_back({name, value});
  set_kwargs(longer);
}

bool Node::MapArguments(absl::FunctionRef<Argument(const Argument&)> fn) {
  Arena arena;  // Holds the new arguments until they are copied to the module.
  bool any_changed = false;
  const auto map = [&](Argument& slot) {
    bool changed = false;
    const Argument mapped = MapArgument(slot, &arena, [&](const Argument& from) {
      const Argument to = fn(from);
      changed |= to != from;
      return to;
    });
    if (changed) StoreArgument(&slot, mapped);
    any_changed |= changed;
  };
  for (uint32_t i = 0; i < num_args_; ++i) map(args_[i]);
  for (uint32_t i = 0; i < num_kwargs_; ++i) map(kwarg_array()[i].value);
  return any_changed;
}

bool Node::HasBody() const {
  bool found = false;
  ForEachArgument([&](const Argument& argument) { found |= argument.is_graph(); });
  return found;
}

void Node::set_target(absl::string_view target) {
  target_ = graph_->module()->InternTarget(target);
}

void Node::set_name(absl::string_view name) {
  if (name == this->name()) return;
  CHECK(!erased_);
  graph_->BuildNameIndex();
  graph_->ForgetName(this);  // The node may keep its own name.
  graph_->SetName(this, graph_->UniqueName(name));
}

std::vector<Node*> Node::operands() const {
  std::vector<Node*> out;
  ForEachOperand([&](Node* operand) { out.push_back(operand); });
  return out;
}

namespace {

// Calls fn(const Argument&) on the operands of `node`, in order.
template <typename Fn>
void ForEachOperandSlot(const Node& node, Fn&& fn) {
  node.ForEachArgument([&fn](const Argument& a) {
    if (a.is_node()) fn(a);
  });
}

}  // namespace

void Node::SetOperand(int i, Node* value) {
  CHECK(i >= 0 && !erased_);
  const Argument* slot = nullptr;
  ForEachOperandSlot(*this, [&](const Argument& a) {
    if (i-- == 0) slot = &a;
  });
  CHECK(slot != nullptr);
  CheckOperand(value);
  Relink({this, const_cast<Argument*>(slot)}, value);
}

void Node::ReplaceInput(Node* from, Node* to) {
  CHECK(!erased_);
  CheckOperand(to);
  if (from == to) return;
  std::vector<Argument*> slots;
  ForEachOperandSlot(*this, [&](const Argument& a) {
    if (a.u_.node == from) slots.push_back(const_cast<Argument*>(&a));
  });
  for (Argument* slot : slots) Relink({this, slot}, to);
}

Node::Uses Node::uses() const {
  Uses out(num_uses_);
  // The operands of each user are counted once, however many of them are uses of this node.
  for (uint32_t i = 0; i < num_uses_; ++i) out[i] = {use_array()[i].user, -1};
  for (uint32_t i = 0; i < num_uses_; ++i) {
    if (out[i].operand >= 0) continue;
    int operand = 0;
    ForEachOperandSlot(*out[i].user, [&](const Argument& slot) {
      // Each operand stores its position among the uses.
      if (slot.u_.node == this) out[slot.size_].operand = operand;
      ++operand;
    });
  }
  return out;
}

Node::Users Node::users() const {
  Users out;
  out.reserve(num_uses_);
  for (uint32_t i = 0; i < num_uses_; ++i) out.push_back(use_array()[i].user);
  if (num_uses_ < 2) return out;
  std::sort(out.begin(), out.end(), [](const Node* a, const Node* b) { return a->IsBefore(b); });
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void Node::ReplaceAllUsesWith(Node* value) {
  CheckOperand(value);
  if (value == this) return;
  while (num_uses_ > 0) Relink(use_array()[num_uses_ - 1], value);
}

Node* Node::prev() const {
  Node* n = prev_;
  while (n != nullptr && n->erased_) n = n->prev_;
  return n;
}

SourceLocation Node::location() const {
  SourceLocation location;
  if (file_ > 0) location.file = graph_->module()->files_[file_ - 1];
  location.line = line_;
  location.column = column_;
  return location;
}

void Node::set_location(const SourceLocation& location) {
  file_ = graph_->module()->InternFile(location.file);
  line_ = location.line;
  column_ = static_cast<uint16_t>(std::min<uint32_t>(location.column, UINT16_MAX));
}

Node::Rare& Node::rare() {
  if (rare_ == nullptr) rare_ = graph_->module()->arena_.New<Rare>();
  return *rare_;
}

void Node::set_module_path(absl::string_view path) {
  if (path == module_path()) return;
  rare().module_path = graph_->module()->InternTarget(path);
}

void Node::set_annotation(absl::string_view annotation) {
  if (annotation == this->annotation()) return;
  rare().annotation = graph_->module()->InternTarget(annotation);
}

void Node::set_meta(const ValueMeta* meta) { meta_ = graph_->module()->CopyMeta(meta); }

void Node::set_draw_spec(const DrawSpec& spec) {
  rare().draw_spec = graph_->module()->CopyDrawSpec(spec);
}

}  // namespace graphnet
