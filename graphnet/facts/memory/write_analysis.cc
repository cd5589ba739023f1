#include "graphnet/facts/memory/write_analysis.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/facts/shapes/functional_twin.h"
#include "graphnet/ir/text/printer.h"

namespace graphnet {
namespace {

void AppendStepKey(const Argument& argument, std::string* key) {
  if (argument.is_node()) {
    absl::StrAppend(key, "%", argument.node()->index());
  } else if (argument.is_aggregate()) {
    absl::StrAppend(key, static_cast<int>(argument.kind()), "(");
    for (const Argument& element : argument.elements()) {
      AppendStepKey(element, key);
      key->push_back(',');
    }
    key->push_back(')');
  } else {
    AppendArgument(argument, key);
  }
}

// Returns whether a result may be a tensor.
bool YieldsTensors(const Schema& schema) {
  return absl::c_any_of(schema.returns, [](const SchemaType& type) {
    return type.kind == SchemaType::Kind::kTensor || type.kind == SchemaType::Kind::kAny ||
           type.kind == SchemaType::Kind::kOther;
  });
}

// Returns whether a normalisation only reads its statistics.
bool OnlyReadsStatistics(const Node& call, const Schema& schema) {
  for (const absl::string_view flag : {"train", "training", "use_input_stats"}) {
    if (schema.FindArgument(flag) == nullptr) continue;
    return GivenOrDefault(call, schema, flag) == Argument(false);
  }
  return false;
}

// Returns whether the operator writes its operand unchanged.
bool IsFill(const Schema& schema) {
  return schema.name == "copy_" || schema.name == "fill_" || schema.name == "zero_";
}

bool IsNumberWritten(const Argument& a) {
  return a.is_bool() || a.is_int() || a.is_float() || a.kind() == Argument::Kind::kComplex ||
         a.kind() == Argument::Kind::kSymInt;
}

}  // namespace

WriteAnalysis::WriteAnalysis(const Graph& graph, bool is_main, bool keeps_final,
                             LoweredFacts* shared)
    : shared_(*shared),
      facts_(*shared->facts),
      is_main_(is_main),
      reader_(shared->facts, shared->arena),
      tensors_(*shared->lowered->module),
      write_of_(*shared->lowered->module),
      contiguous_(*shared->lowered->module),
      sequences_(*shared->lowered->module) {
  Walk(graph);
  for (size_t i = 0; i < memories_.size(); ++i) {
    memories_[i].group = GroupOf(static_cast<int>(i));  // the root comes first and is done, so O(1)
  }
  if (is_main && keeps_final) DropFinalCopies(graph);
  for (const Write& write : writes_) {
    if (write.node == nullptr) continue;
    for (const int view : {write.view, write.second}) {
      if (view < 0) continue;
      const int memory = views_[static_cast<size_t>(view)].memory;
      memories_[static_cast<size_t>(memory)].is_written = true;
      memories_[static_cast<size_t>(GroupOf(memory))].is_written = true;
    }
  }
  FindConflicts();
  any_blocked_ = !Blocked().empty();
}

// --- Memory ------------------------------------------------------------------

int WriteAnalysis::GroupOf(int memory) const {
  while (memories_[static_cast<size_t>(memory)].group != memory) {
    memory = memories_[static_cast<size_t>(memory)].group;
  }
  return memory;
}

void WriteAnalysis::Unite(int a, int b) {
  const auto find = [this](int m) {  // with path halving
    while (memories_[static_cast<size_t>(m)].group != m) {
      int& next = memories_[static_cast<size_t>(m)].group;
      next = memories_[static_cast<size_t>(next)].group;
      m = next;
    }
    return m;
  };
  a = find(a);
  b = find(b);
  if (a == b) return;
  if (a > b) std::swap(a, b);
  Memory& one = memories_[static_cast<size_t>(a)];
  const Memory& other = memories_[static_cast<size_t>(b)];
  if (one.blocked < 0) one.blocked = other.blocked;
  memories_[static_cast<size_t>(b)].group = a;
}

void WriteAnalysis::Block(int memory, absl::string_view why, const Node& call) {
  if (memory < 0) return;
  Memory& group = memories_[static_cast<size_t>(GroupOf(memory))];
  if (group.blocked >= 0) return;
  group.blocked = static_cast<int>(reasons_.size());
  reasons_.push_back({std::string(why), &call});
}

int WriteAnalysis::NewMemory(const Node* node, bool escapes) {
  const int memory = static_cast<int>(memories_.size());
  const int root = static_cast<int>(views_.size());
  memories_.push_back({.made_by = node,
                       .root = root,
                       .is_escaping = escapes,
                       .born = node->index(),
                       .last_use = node->index(),
                       .group = memory});
  views_.push_back({.memory = memory, .like = node});
  return memory;
}

void WriteAnalysis::NewTensor(const Node* node, int view) {
  first_view_.push_back(view);
  current_view_.push_back(view);
  tensors_[node] = static_cast<int>(first_view_.size());
  View& v = views_[static_cast<size_t>(view)];
  if (v.like == nullptr) v.like = node;
}

int WriteAnalysis::AddSteps(int parent, absl::Span<const ViewStep> steps, const Node* like) {
  for (const ViewStep& step : steps) {
    std::string key = absl::StrCat(parent, " ", step.target);
    for (const Argument& a : step.args) {
      key.push_back(',');
      AppendStepKey(a, &key);
    }
    const auto [it, is_new] = known_views_.emplace(std::move(key), views_.size());
    if (is_new) {
      const View& of = views_[static_cast<size_t>(parent)];
      views_.push_back(
          {.parent = parent, .memory = of.memory, .depth = of.depth + 1, .step = step});
    }
    parent = it->second;
  }
  if (like != nullptr && views_[static_cast<size_t>(parent)].like == nullptr)
    views_[static_cast<size_t>(parent)].like = like;
  return parent;
}

void WriteAnalysis::MarkUses(const Node& node) {
  // A getitem of one element does not read the other elements.
  const bool takes_element = node.is_call_function("operator.getitem") &&
                             node.args()[0].is_node() && node.args()[1].is_int() &&
                             sequences_[node.args()[0].node()] == Sequence::kValues;
  if (takes_element) return;
  node.ForEachOperand([&](const Node* operand) {
    const int memory = MemoryOf(operand);
    if (memory >= 0) memories_[static_cast<size_t>(memory)].last_use = node.index();
  });
}

// --- What calls do -------------------------------------------------------------

void WriteAnalysis::Walk(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    MarkUses(*node);
    switch (node->op()) {
      case Op::kPlaceholder:
        if (facts_.Of(node).kind != TensorFacts::Kind::kOther) {
          NewTensor(node, memory(NewMemory(node, /*escapes=*/true)).root);
        }
        break;
      case Op::kGetAttr: {
        const auto [it, is_new] = attributes_.try_emplace(node->target(), 0);
        if (is_new) it->second = NewMemory(node, /*escapes=*/true);
        NewTensor(node, memory(it->second).root);
        break;
      }
      case Op::kOutput: break;
      default: AddCall(*node);
    }
  }
}

void WriteAnalysis::AddCall(const Node& call) {
  if (shared_.refused->contains(shared_.lowered->origins[&call])) {
    return AddUnknown(call, "it is unknown what the call writes to");
  }
  if (call.HasBody()) {
    bool writes = false;
    call.ForEachArgument(
        [&](const Argument& a) { writes |= a.is_graph() && shared_.writes[a.graph()]; });
    if (writes) return AddUnknown(call, "one of its bodies writes to an operand");
    return AddFresh(call, /*shares=*/true);
  }
  const Callable callee = CalleeOf(call);
  switch (callee.kind) {
    case Callable::Kind::kPythonOperator:
      if (callee.name == "getitem") return AddGetItem(call);
      if (callee.name == "setitem") return AddSetItem(call);
      return;  // on numbers; on tensors it would be an operator of ATen
    case Callable::Kind::kOperator:
      if (!callee.names_overload) return AddUnknown(call, "it is unknown what the call writes to");
      return AddOperator(call, callee.overloads[0]);
    case Callable::Kind::kFunction:
      if (callee.bracket() == Schema::Bracket::kAutocastOpen) {
        const bool off = call.args().size() > 2 && call.args()[2] == Argument(false);
        autocasts_.push_back(!off);
      } else if (callee.bracket() == Schema::Bracket::kAutocastClose && !autocasts_.empty()) {
        autocasts_.pop_back();
      }
      // The remaining calls of getattr return sizes, dtypes and the like.
      if (YieldsTensors(callee.overloads[0]) && !callee.is_function("builtins.getattr")) {
        AddFresh(call, callee.overloads[0].may_alias);
      }
      return;
    case Callable::Kind::kForeign: {
      // TorchScript's own operators write to tensors only if their names say so.
      const absl::string_view target = call.target();
      const absl::string_view name = target.substr(0, target.find('.', target.find('.') + 1));
      const bool own = absl::StartsWith(target, "prim.") || absl::StartsWith(target, "aten.");
      if (own && call.kwarg("out") == nullptr &&
          (!absl::EndsWith(name, "_") || absl::EndsWith(name, "__"))) {
        return AddFresh(call, /*shares=*/true);
      }
      return AddUnknown(call, "it is unknown what the call writes to");
    }
    default: return AddUnknown(call, "it is unknown what the call writes to");
  }
}

void WriteAnalysis::AddUnknown(const Node& call, absl::string_view why) {
  unknown_writes_ = true;
  const bool has_out = shared_.lowered->origins[&call]->kwarg("out") != nullptr;
  call.ForEachOperand([&](const Node* operand) {
    Block(MemoryOf(operand), why, call);
    if (has_out && CurrentView(operand) >= 0)
      AddWrite({.node = &call, .view = CurrentView(operand)});
  });
  AddFresh(call, /*shares=*/true);
}

void WriteAnalysis::AddFresh(const Node& call, bool shares, const Schema* schema) {
  const int made = NewMemory(&call, /*escapes=*/false);
  NewTensor(&call, memory(made).root);
  if (schema == nullptr || schema->yields_tuple()) sequences_[&call] = Sequence::kValues;
  if (!shares) return;
  call.ForEachOperand([&](const Node* operand) {
    if (const int memory = MemoryOf(operand); memory >= 0) Unite(made, memory);
  });
}

void WriteAnalysis::AddOperator(const Node& call, const Schema& schema) {
  if (schema.mutates()) return AddWriter(call, schema);
  if (!YieldsTensors(schema)) return;
  if (schema.updates_statistics && !OnlyReadsStatistics(call, schema)) AddStatistics(call, schema);
  const Argument* self = schema.Given(call, size_t{0});
  int parent = self != nullptr && self->is_node() ? CurrentView(self->node()) : -1;
  const bool of_sequence = parent >= 0 && sequences_[self->node()] != Sequence::kNone;
  const bool shares = !reader_.IsCopy(call, schema) &&
                      (schema.may_alias || absl::c_any_of(schema.returns, [](const SchemaType& t) {
                         return t.is_alias;
                       }));
  const bool is_list = schema.returns.size() == 1 && schema.returns[0].is_list;
  // The values or the shape of a tensor operand may have changed when the view is made again.
  bool takes_tensors = false;
  for (size_t i = 1; i < schema.arguments.size(); ++i) {
    const Argument* given = schema.Given(call, i);
    takes_tensors |= given != nullptr && given->is_node() && CurrentView(given->node()) >= 0;
  }
  if (takes_tensors && !absl::EndsWith(schema.name, "_as") && schema.name != "to") parent = -1;
  if (parent >= 0 && !of_sequence && is_list &&
      (shares || absl::StartsWith(schema.name, "unsafe_"))) {
    const ViewStep step = reader_.Opaque(call, schema);
    NewTensor(&call, AddSteps(parent, absl::MakeConstSpan(&step, 1), &call));
    sequences_[&call] = Sequence::kViews;
    return;
  }
  if (parent >= 0 && !of_sequence) {
    const std::optional<ViewSteps> steps = reader_.Read(call, schema, contiguous_[self->node()]);
    if (steps.has_value() && steps->empty()) {
      tensors_[&call] = tensors_[self->node()];
      contiguous_[&call] = contiguous_[self->node()];
      return;
    }
    if (steps.has_value()) {
      NewTensor(&call, AddSteps(parent, *steps, &call));
      contiguous_[&call] = contiguous_[self->node()] && KeepsContiguous(call, schema);
      return;
    }
  }
  const int made = NewMemory(&call, /*escapes=*/false);
  NewTensor(&call, memory(made).root);
  if (schema.yields_tuple()) sequences_[&call] = Sequence::kValues;
  bool contiguous = true;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument* given = schema.Given(call, i);
    if (given == nullptr) continue;
    ForEachArgument(*given, [&](const Argument& a) {
      if (!a.is_node() || MemoryOf(a.node()) < 0) return;
      contiguous &= contiguous_[a.node()];
      if (shares && (schema.arguments[i].type.is_alias || schema.may_alias))
        Unite(made, MemoryOf(a.node()));
    });
  }
  contiguous_[&call] =
      MakesContiguous(call, schema) || (contiguous && KeepsContiguous(call, schema));
}

void WriteAnalysis::AddStatistics(const Node& call, const Schema& schema) {
  const Argument mean = GivenOrDefault(call, schema, "running_mean");
  const Argument var = GivenOrDefault(call, schema, "running_var");
  if (mean.is_none() && var.is_none()) return;
  const int a = mean.is_node() ? CurrentView(mean.node()) : -1;
  const int b = var.is_node() ? CurrentView(var.node()) : -1;
  if (schema.name == "batch_norm" && a >= 0 && b >= 0 &&
      GivenOrDefault(call, schema, "training") == Argument(true) &&
      MemoryOf(mean.node()) != MemoryOf(var.node())) {
    CheckWritable(a, call);
    CheckWritable(b, call);
    const Argument* input = schema.Given(call, size_t{0});
    const int read = input->is_node() ? MemoryOf(input->node()) : -1;
    for (const int memory : {MemoryOf(mean.node()), MemoryOf(var.node())}) {
      if (memory == read) Block(memory, "the call that writes to it also reads it", call);
    }
    return AddWrite({.node = &call, .form = Write::Form::kStatistics, .view = a, .second = b});
  }
  for (const Argument& statistic : {mean, var}) {
    if (!statistic.is_node() || CurrentView(statistic.node()) < 0) continue;
    Block(MemoryOf(statistic.node()),
          absl::StrCat("there is no functional form of ", schema.target), call);
    AddWrite({.node = &call, .view = CurrentView(statistic.node())});
  }
}

void WriteAnalysis::AddWriter(const Node& call, const Schema& schema) {
  // These only affect gradients.
  if (schema.name == "requires_grad_" || schema.name == "retain_grad") {
    if (const Argument* self = schema.Given(call, size_t{0}); self != nullptr && self->is_node())
      tensors_[&call] = tensors_[self->node()];
    return;
  }
  if (schema.name == "fill_diagonal_") {
    if (AddFillDiagonal(call, schema)) return;
  }
  const Schema* const twin = FunctionalTwin(schema);
  const Argument* const self = schema.Given(call, size_t{0});
  const int view = self != nullptr && self->is_node() ? CurrentView(self->node()) : -1;
  if (twin == nullptr || view < 0 || sequences_[self->node()] != Sequence::kNone) {
    const std::string why = absl::StrCat("there is no functional form of ", schema.target);
    unknown_writes_ = true;
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      const Argument* given = schema.Given(call, i);
      if (given == nullptr || !schema.arguments[i].type.is_mutated) continue;
      ForEachArgument(*given, [&](const Argument& a) {
        if (!a.is_node() || MemoryOf(a.node()) < 0) return;
        Block(MemoryOf(a.node()), why, call);
        AddWrite({.node = &call, .view = CurrentView(a.node())});
      });
    }
    if (view >= 0 && !schema.returns.empty() && schema.returns[0].is_alias &&
        sequences_[self->node()] == Sequence::kNone) {
      tensors_[&call] = tensors_[self->node()];
    } else {
      AddFresh(call, /*shares=*/true, &schema);
    }
    return;
  }
  tensors_[&call] = tensors_[self->node()];
  if (!IsView(*twin)) {
    CheckWritable(view, call);
    const bool same_is_fine =
        IsPointwise(schema) || schema.name == "copy_" || schema.name == "masked_fill_";
    const Write write = {.node = &call, .view = view, .twin = twin};
    CheckOperands(write, call, self, same_is_fine);
    if (shared_.out_copies.contains(shared_.lowered->origins[&call])) CheckOut(write);
    if (absl::c_linear_search(autocasts_, true) && !IsFill(schema)) {
      Block(views_[static_cast<size_t>(view)].memory,
            "autocast may compute its functional form in another dtype", call);
    }
    // Random numbers are drawn in the order of strides, which a new value may not share. Dropout
    // draws for a tensor with the strides of its operand.
    const View& root = views_[static_cast<size_t>(view)];
    const bool known = contiguous_[self->node()] || memory(root.memory).is_escaping ||
                       absl::StrContains(schema.name, "dropout");
    if (schema.is_random && (root.parent >= 0 || !known)) {
      Block(root.memory, "random numbers may be drawn in another order", call);
    }
    contiguous_[&call] = contiguous_[self->node()];
    return AddWrite(write);
  }
  // The tensor is another view from here on. The caller sees the shape of an input.
  const int memory = views_[static_cast<size_t>(view)].memory;
  const int tensor = tensors_[self->node()] - 1;
  const int first = first_view_[static_cast<size_t>(tensor)];
  std::optional<ViewSteps> steps = reader_.Read(call, *twin, contiguous_[self->node()]);
  if (!steps.has_value()) {
    Block(memory, absl::StrCat("it is unknown how ", schema.target, " views the memory"), call);
    steps = ViewSteps{};
  }
  const bool same_shape = absl::c_all_of(
      *steps, [](const ViewStep& step) { return step.inverse == ViewStep::Inverse::kSame; });
  if (!same_shape && views_[static_cast<size_t>(first)].parent < 0 &&
      this->memory(memory).is_escaping) {
    Block(memory, "the caller sees the shape of an input change", call);
  }
  const int made = AddSteps(view, *steps, &call);
  current_view_[static_cast<size_t>(tensor)] = made;
  AddWrite({.node = &call, .form = Write::Form::kShape, .view = made, .twin = twin});
}

bool WriteAnalysis::AddFillDiagonal(const Node& call, const Schema& schema) {
  const Node* const self = call.args()[0].node();
  if (CurrentView(self) < 0 || facts_.Of(self).rank() != 2 ||
      GivenOrDefault(call, schema, "wrap") != Argument(false)) {
    return false;
  }
  const ViewStep diagonal = reader_.Diagonal(0, 0, 1);
  const int view = AddSteps(CurrentView(self), absl::MakeConstSpan(&diagonal, 1), nullptr);
  CheckWritable(view, call);
  tensors_[&call] = tensors_[self];
  AddWrite({.node = &call,
            .form = Write::Form::kFill,
            .view = view,
            .value = GivenOrDefault(call, schema, "fill_value")});
  return true;
}

void WriteAnalysis::AddGetItem(const Node& call) {
  const Argument& self = call.args()[0];
  const Argument& index = call.args()[1];
  const int parent = self.is_node() ? CurrentView(self.node()) : -1;
  if (parent < 0) return;  // on numbers
  const Node* const from = self.node();
  if (sequences_[from] == Sequence::kViews) {
    const Schema& schema = *FindOverload(from->target());
    const int of = views_[static_cast<size_t>(parent)].parent;
    if (index.is_int()) {
      if (const auto steps = reader_.ReadElement(*from, schema, index.integer()))
        return NewTensor(&call, AddSteps(of, *steps, &call));
    }
    AddFresh(call, /*shares=*/true);
    if (index.is_int()) sequences_[&call] = Sequence::kNone;
    return;
  }
  if (sequences_[from] == Sequence::kValues && !facts_.Of(from).is_tensor()) {
    if (!index.is_int()) return AddFresh(call, /*shares=*/true);
    const auto [it, is_new] = elements_.try_emplace({from, index.integer()}, 0);
    if (is_new) {
      it->second = NewMemory(&call, /*escapes=*/false);
      Unite(it->second, MemoryOf(from));
    }
    return NewTensor(&call, memory(it->second).root);
  }
  const std::optional<Subscript> read = reader_.ReadSubscript(facts_.Of(from).rank(), index);
  if (read.has_value() && read->indices.empty()) {
    return NewTensor(&call, AddSteps(parent, read->steps, &call));
  }
  const int made = NewMemory(&call, /*escapes=*/false);
  NewTensor(&call, memory(made).root);
  if (!read.has_value() || read->may_be_view) Unite(made, MemoryOf(from));
}

void WriteAnalysis::AddSetItem(const Node& call) {
  const Argument& self = call.args()[0];
  const Argument& value = call.args()[2];
  const int parent = self.is_node() ? CurrentView(self.node()) : -1;
  if (parent < 0 || sequences_[self.node()] != Sequence::kNone) {
    if (parent >= 0) AddWrite({.node = &call, .view = parent});
    return AddUnknown(call, "the call may write to something other than a tensor");
  }
  const int rank = facts_.Of(self.node()).rank();
  const std::optional<Subscript> read = reader_.ReadSubscript(rank, call.args()[1]);
  if (!read.has_value() || read->may_be_switch) {
    CheckWritable(parent, call);
    Block(MemoryOf(self.node()), "too little is known of its index", call);
    return AddWrite({.node = &call, .view = parent});
  }
  // A write to the whole tensor needs no view.
  const bool whole = read->steps.size() == 1 && read->steps[0].inverse == ViewStep::Inverse::kSame;
  Write write = {.node = &call,
                 .form = Write::Form::kFill,
                 .view = whole ? parent : AddSteps(parent, read->steps, nullptr),
                 .value = value,
                 .indices = read->indices};
  CheckWritable(write.view, call);
  const TensorFacts facts = value.is_node() ? facts_.Of(value.node()) : TensorFacts();
  const bool is_number =
      value.is_node() ? CurrentView(value.node()) < 0 && facts.kind == TensorFacts::Kind::kOther
                      : IsNumberWritten(value);
  if (!is_number) {
    write.form = Write::Form::kCopy;
    // The surplus leading dimensions of a written tensor are dropped.
    if (!value.is_node() || !facts.is_tensor()) {
      Block(MemoryOf(self.node()), "the value written is not known to be a tensor or number", call);
    } else if (write.indices.empty() && facts.rank() != 0 &&
               CurrentView(value.node()) != write.view) {
      if (rank < 0 || facts.rank() < 0) {
        Block(MemoryOf(self.node()), "the number of dimensions written is unknown", call);
      } else {
        write.extra_dims = std::max(0, facts.rank() - (rank + read->rank_change));
      }
    }
  }
  if (!write.indices.empty()) {
    // Leading dimensions of size 1 are dropped in any case.
    if (!is_number && facts.rank() > 0) {
      const auto first = absl::c_find_if(*facts.sizes, [](int64_t size) { return size != 1; });
      write.extra_dims = static_cast<int>(first - facts.sizes->begin());
      const bool known = first == facts.sizes->end() || *first >= 0;
      if (!known && facts.rank() > 1) {
        Block(MemoryOf(self.node()), "the number of dimensions written is unknown", call);
      }
    } else if (!is_number && facts.rank() < 0) {
      Block(MemoryOf(self.node()), "the number of dimensions written is unknown", call);
    }
    write.form = Write::Form::kIndexPut;
  }
  CheckOperands(write, call, &self, /*same_is_fine=*/write.form == Write::Form::kCopy);
  AddWrite(std::move(write));
}

// --- Writes ----------------------------------------------------------------------

void WriteAnalysis::AddWrite(Write write) {
  writes_.push_back(std::move(write));
  write_of_[writes_.back().node] = static_cast<int>(writes_.size());
}

bool WriteAnalysis::IsRewritten(int memory) const {
  const Memory& group = memories_[static_cast<size_t>(GroupOf(memory))];
  return group.is_written && group.blocked < 0 && (is_main_ || !any_blocked_);
}

bool WriteAnalysis::any_rewritten() const {
  for (size_t i = 0; i < memories_.size(); ++i) {
    if (IsRewritten(static_cast<int>(i))) return true;
  }
  return false;
}

std::vector<WriteAnalysis::Reason> WriteAnalysis::Blocked() const {
  std::vector<Reason> blocked;
  for (size_t i = 0; i < memories_.size(); ++i) {
    const Memory& m = memories_[i];
    if (m.group == static_cast<int>(i) && m.is_written && m.blocked >= 0)
      blocked.push_back(reasons_[static_cast<size_t>(m.blocked)]);
  }
  return blocked;
}

}  // namespace graphnet
