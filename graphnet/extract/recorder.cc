#include "graphnet/extract/recorder.h"

#include <complex>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/value_tree.h"
#include "graphnet/formats/torchscript/attributes.h"
#include "graphnet/interp/torch/types.h"
#include "graphnet/interp/torch/values.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/text/printer.h"

namespace graphnet::extract {
namespace {

using c10::IValue;

// Larger tensors do not count as known.
constexpr int64_t kMaxKnownElements = 4096;

const c10::StorageImpl* StorageOf(const at::Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

Node* TensorPlaceholder(Graph* graph, absl::string_view proposal, const ValueMeta* meta) {
  const std::string name = graph->UniqueName(proposal);
  Node* node = graph->Placeholder(name, name);
  node->set_annotation("torch.Tensor");
  node->set_meta(meta);
  return node;
}

}  // namespace

// --- Tensors -------------------------------------------------------------------

Recorder::Tracked* Recorder::Find(const at::Tensor& tensor) {
  const auto it = tracked_.find(tensor.unsafeGetTensorImpl());
  return it == tracked_.end() ? nullptr : &it->second;
}

Recorder::Tracked* Recorder::FindOrAdd(const at::Tensor& tensor) {
  if (Find(tensor) == nullptr) {
    // An operation that only handles values made it, so it does not depend on an input.
    Current();
    made_.push_back({tensor.unsafeGetTensorImpl(), graphs_.size() - 1, nullptr, {}});
    AddConstant(tensor);
  }
  return Find(tensor);
}

Recorder::Tracked& Recorder::Track(const at::Tensor& tensor) {
  if (Tracked* known = Find(tensor)) return *known;
  Tracked tracked{.tensor = c10::weak_intrusive_ptr<c10::TensorImpl>(tensor.getIntrusivePtr())};
  return tracked_.emplace(tensor.unsafeGetTensorImpl(), std::move(tracked)).first->second;
}

int64_t Recorder::AddValue(const at::Tensor& tensor, const std::string& name) {
  Tracked& tracked = Track(tensor);
  if (tracked.number < 0 && tracked.node == nullptr && tracked.attribute.empty()) {
    tracked.number = next_number_++;
    tracked.name = name;
    TensorGuard& guard = capture_.manifest.tensors[tracked.number] = GuardOf(tensor);
    if (sizes_.IsDynamic(tensor)) {
      for (const Dim& dim : sizes_.DimsOf(tensor))
        guard.symbolic.push_back(dim.is_static() ? "" : PrintSymExpr(*dim.expr));
    }
    return tracked.number;
  }
  return NumberOf(tensor);
}

void Recorder::AddAttribute(const at::Tensor& tensor, const std::string& name) {
  Tracked& tracked = Track(tensor);
  if (tracked.number >= 0 || tracked.node != nullptr || !tracked.attribute.empty()) return;
  std::string unique = name;
  for (int i = 1; attributes_.contains(unique); ++i) unique = absl::StrCat(name, "_", i);
  tracked.attribute = unique;
  attributes_[unique] = tensor;
  if (const auto* storage = StorageOf(tensor)) attribute_storages_.insert(storage);
}

void Recorder::AddConstant(const at::Tensor& tensor) {
  Tracked& tracked = Track(tensor);
  if (!tracked.attribute.empty() || tracked.node != nullptr || tracked.number >= 0) return;
  AddConstant(tensor, &tracked);
}

void Recorder::AddConstant(const at::Tensor& tensor, Tracked* tracked) {
  tracked->node = nullptr;
  tracked->attribute = absl::StrCat("_tensor_constant", num_constants_++);
  attributes_[tracked->attribute] = tensor;
  tracked->known = true;
  if (const auto* storage = StorageOf(tensor)) constant_storages_.insert(storage);
}

void Recorder::BeforeWrite(const at::Tensor& tensor) {
  const auto* storage = StorageOf(tensor);
  if (storage == nullptr || written_storages_.contains(storage)) return;
  const Tracked* tracked = FindOrAdd(tensor);
  const bool is_of_open_graph =
      is_open_ && tracked->node != nullptr && tracked->graph + 1 == graphs_.size();
  const bool is_constant = constant_storages_.contains(storage);
  if (is_of_open_graph && !is_constant) return;
  if (is_constant) KeepInitial(tensor);
  written_storages_.insert(storage);
  kept_.push_back(tensor.detach());
}

bool Recorder::IsKnown(const at::Tensor& tensor) const {
  const auto it = tracked_.find(tensor.unsafeGetTensorImpl());
  return it != tracked_.end() && it->second.known && !unknown_storages_.contains(StorageOf(tensor));
}

bool Recorder::HasUnknownSizes(const at::Tensor& tensor) const {
  const auto it = tracked_.find(tensor.unsafeGetTensorImpl());
  return it != tracked_.end() && it->second.unknown_sizes;
}

bool Recorder::IsOfAttribute(const at::Tensor& tensor) const {
  const auto* storage = StorageOf(tensor);
  return storage != nullptr && attribute_storages_.contains(storage);
}

void Recorder::CountAsAttribute(const at::Tensor& tensor) {
  if (const auto* storage = StorageOf(tensor)) attribute_storages_.insert(storage);
}

void Recorder::KeepInitial(const at::Tensor& tensor) {
  const auto* storage = StorageOf(tensor);
  for (const auto& [name, attribute] : attributes_) {
    if (StorageOf(attribute) == storage) capture_.initial.try_emplace(name, attribute.clone());
  }
}

void Recorder::Forget(const at::Tensor& tensor) {
  if (const auto* storage = StorageOf(tensor)) {
    if (unknown_storages_.insert(storage).second) kept_.push_back(tensor.detach());
  }
}

int64_t Recorder::NumberOf(const at::Tensor& tensor) {
  Tracked* tracked = FindOrAdd(tensor);
  if (tracked->number >= 0) return tracked->number;
  tracked->number = next_number_++;
  if (tracked->node != nullptr) {
    Growing& growing = graphs_[tracked->graph];
    tracked->node = Item(growing, tracked->node, tracked->path, tensor);
    tracked->path.clear();
    tracked->name = std::string(tracked->node->name());
    growing.outputs.emplace_back(tracked->number, tracked->node);
  } else {
    capture_.constants[tracked->number] = tensor;
    capture_.manifest.constants[tracked->number] = tracked->attribute;
  }
  return tracked->number;
}

int64_t Recorder::NumberOfObject(const IValue& object, const std::string* path) {
  const auto [it, inserted] =
      objects_.try_emplace(object.internalToPointer(), object, next_number_);
  if (!inserted) return it->second.second;
  const int64_t number = next_number_++;
  if (path == nullptr) return number;
  capture_.manifest.objects[number] = *path;
  capture_.objects[number] = object;
  try {
    capture_.initial_objects[number] = object.deepcopy();
  } catch (...) {
    // The object cannot be copied, because its class cannot be pickled.
  }
  return number;
}

// --- Graphs --------------------------------------------------------------------

Recorder::Growing& Recorder::Current() {
  if (!is_open_) {
    Growing& growing = graphs_.emplace_back();
    growing.module = std::make_unique<Module>();
    growing.graph = growing.module->AddGraph("forward");
    is_open_ = true;
  }
  return graphs_.back();
}

const ValueMeta* Recorder::MetaOf(Module& module, const at::Tensor& tensor) {
  TensorMeta meta;
  meta.dtype = DTypeOf(tensor.scalar_type());
  meta.has_device = true;
  meta.device = DeviceOf(tensor.device());
  meta.has_shape = true;
  const std::vector<Dim> shape = sizes_.DimsOf(tensor);
  meta.shape = shape;
  return module.InternValueMeta(meta);
}

void Recorder::Describe(const at::Tensor& tensor, Node* node) {
  if (!statistics_ || tensor.layout() != at::kStrided || tensor.is_meta() || tensor.is_quantized())
    return;
  DrawSpec spec;
  std::vector<Argument> data;
  torchscript::DescribeValues(tensor, &spec, &data);
  // Keep all bits, as the outputs may be compared bit by bit.
  if (!data.empty() && tensor.is_floating_point()) {
    const at::Tensor exact = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
    const absl::Span<const double> values(exact.const_data_ptr<double>(), data.size());
    data.assign(values.begin(), values.end());
    spec.data = Argument::List(data);
  }
  node->set_draw_spec(spec);
}

Node* Recorder::Placeholder(Growing* growing, int64_t number, const at::Tensor& tensor,
                            absl::string_view name) {
  Node*& node = growing->placeholders[number];
  if (node != nullptr) return node;
  const InsertionGuard guard(growing->graph, growing->last_placeholder != nullptr
                                                 ? growing->last_placeholder->next()
                                                 : growing->graph->first());
  node = growing->last_placeholder = TensorPlaceholder(
      growing->graph, name.empty() ? "input" : name, MetaOf(*growing->module, tensor));
  Describe(tensor, node);
  growing->inputs.push_back(number);
  return node;
}

Node* Recorder::NumberPlaceholder(const RunNumber& number) {
  Growing& growing = Current();
  Node*& node = growing.placeholders[number.id];
  if (node != nullptr) return node;
  const InsertionGuard guard(growing.graph, growing.last_placeholder != nullptr
                                                ? growing.last_placeholder->next()
                                                : growing.graph->first());
  const std::string name = growing.graph->UniqueName("number");
  node = growing.last_placeholder = growing.graph->Placeholder(name, name);
  const bool is_int = number.example.isInt();
  node->set_annotation(is_int ? "torch.SymInt" : "torch.SymFloat");
  const Argument data[] = {is_int ? Argument(number.example.toInt())
                                  : Argument(number.example.toDouble())};
  DrawSpec spec;
  spec.data = Argument::List(data);
  node->set_draw_spec(spec);
  growing.inputs.push_back(number.id);
  return node;
}

// A symbol is a placeholder, as in the samples of torch.compile; an expression of symbols is a call
// of Python's operators.
Argument Recorder::Size(const SymExpr& expr) {
  if (expr.kind == SymExpr::Kind::kInt) return expr.value;
  Growing& growing = Current();
  Graph* graph = in_body_ ? bodies_.back().graph : growing.graph;
  absl::flat_hash_map<std::string, Node*>& sizes = in_body_ ? bodies_.back().sizes : growing.sizes;
  const std::string key = PrintSymExpr(expr);
  if (const auto it = sizes.find(key); it != sizes.end()) return it->second;
  Node* node = nullptr;
  if (expr.kind == SymExpr::Kind::kSymbol) {
    const InsertionGuard guard(growing.graph, growing.symbols.empty()
                                                  ? growing.graph->first()
                                                  : growing.symbols.back()->next());
    node = growing.graph->Placeholder(expr.name, growing.graph->UniqueName(expr.name));
    node->set_annotation("torch.SymInt");
    if (growing.inputs.empty()) growing.last_placeholder = node;
    growing.symbols.push_back(node);
  } else {
    const auto target = [&]() -> absl::string_view {
      switch (expr.kind) {
        case SymExpr::Kind::kNeg: return "operator.neg";
        case SymExpr::Kind::kAdd: return "operator.add";
        case SymExpr::Kind::kSub: return "operator.sub";
        case SymExpr::Kind::kMul: return "operator.mul";
        case SymExpr::Kind::kFloorDiv: return "operator.floordiv";
        case SymExpr::Kind::kMod: return "operator.mod";
        case SymExpr::Kind::kPow: return "operator.pow";
        case SymExpr::Kind::kMin: return "torch.sym_min";
        default: return "torch.sym_max";
      }
    };
    std::vector<Argument> operands = {Size(*expr.lhs)};
    if (expr.rhs != nullptr) operands.push_back(Size(*expr.rhs));
    node = graph->CallFunction(target(), operands);
  }
  sizes[key] = node;
  return node;
}

Node* Recorder::GetAttr(Growing* growing, const std::string& name, const at::Tensor& tensor) {
  Node*& node = growing->get_attrs[name];
  if (node != nullptr) return node;
  const ValueMeta* meta = MetaOf(*growing->module, tensor);
  growing->module->AddAttribute({.name = name, .meta = meta->tensor, .annotation = "torch.Tensor"});
  growing->attributes[name] = tensor;
  node = growing->graph->GetAttr(name, name);
  node->set_meta(meta);
  return node;
}

Node* Recorder::Item(Growing& growing, Node* node, const std::vector<int>& path,
                     const at::Tensor& tensor) {
  for (size_t i = 0; i < path.size(); ++i) {
    Node*& item = growing.items[{node, path[i]}];
    if (item == nullptr) {
      // Insert it after the call and its existing elements.
      Node* after = node;
      while (after->next() != nullptr && after->next()->is_call_function("operator.getitem") &&
             after->next()->args()[0].is_node() && after->next()->args()[0].node() == node) {
        after = after->next();
      }
      Graph* graph = node->graph();
      const InsertionGuard guard(graph, after->next());
      item = graph->CallFunction("operator.getitem", {node, path[i]});
      item->set_location(node->location());
      item->set_module_path(node->module_path());
      if (i + 1 == path.size()) item->set_meta(MetaOf(*growing.module, tensor));
    }
    node = item;
  }
  return node;
}

Node* Recorder::NodeOf(const at::Tensor& tensor) {
  Node* node = OuterNodeOf(tensor);
  return in_body_ && node->graph() != bodies_.back().graph ? Captured(&bodies_.back(), node) : node;
}

// Returns the placeholder of `body` for an operand.
Node* Recorder::Captured(Body* body, Node* operand) {
  Node*& node = body->inner[operand];
  if (node != nullptr) return node;
  const InsertionGuard guard(body->graph, body->graph->first());
  node = TensorPlaceholder(body->graph, operand->name(), operand->meta());
  if (absl::c_find(operands_, operand) == operands_.end()) operands_.push_back(operand);
  return node;
}

Node* Recorder::OuterNodeOf(const at::Tensor& tensor) {
  Tracked* tracked = FindOrAdd(tensor);
  Growing& growing = Current();
  if (tracked->node != nullptr && tracked->graph + 1 == graphs_.size()) {
    tracked->node = Item(growing, tracked->node, tracked->path, tensor);
    tracked->path.clear();
    return tracked->node;
  }
  if (!tracked->attribute.empty()) return GetAttr(&growing, tracked->attribute, tensor);
  if (tracked->number < 0 && IsKnown(tensor) && !written_storages_.contains(StorageOf(tensor))) {
    // A known tensor that this graph did not compute becomes a constant.
    made_.push_back(
        {tensor.unsafeGetTensorImpl(), tracked->graph, tracked->node, std::move(tracked->path)});
    AddConstant(tensor, tracked);
    return GetAttr(&growing, tracked->attribute, tensor);
  }
  const int64_t number = NumberOf(tensor);
  return Placeholder(&growing, number, tensor, tracked->name);
}

absl::StatusOr<Argument> Recorder::Operand(const IValue& value) {
  if (value.isTensor()) {
    if (!value.toTensor().defined()) return Argument::None();
    if (value.toTensor().layout() != at::kStrided && Find(value.toTensor()) == nullptr) {
      return absl::UnimplementedError("a constant tensor that is not dense");
    }
    return Argument(NodeOf(value.toTensor()));
  }
  if (const RunNumber* number = RunNumberOf(value)) return Argument(NumberPlaceholder(*number));
  if (value.isSymInt()) return Size(ExprOf(value));
  std::complex<double> complex;
  if (const std::optional<Argument> argument = ArgumentOf(value, &complex)) {
    if (argument->kind() != Argument::Kind::kComplex) return *argument;
    return Argument(&complex_scratch_.emplace_back(complex));
  }
  if (value.isList() || value.isTuple()) {
    std::vector<Argument> elements;
    for (const IValue& element : Elements(value)) {
      ASSIGN_OR_RETURN(const Argument argument, Operand(element));
      elements.push_back(argument);
    }
    const std::vector<Argument>& kept = scratch_.emplace_back(std::move(elements));
    return value.isList() ? Argument::List(kept) : Argument::Tuple(kept);
  }
  return absl::UnimplementedError(absl::StrCat("an operand of kind ", value.tagKind()));
}

Node* Recorder::Call(const torchscript::CallForm& form, const std::string& name,
                     const torchscript::Place& place, const std::string& module_path) {
  ++num_calls_;
  Graph* graph = in_body_ ? bodies_.back().graph : Current().graph;
  Node* node = graph->CallFunction(form.target, form.args, form.kwargs, name);
  node->set_location(
      {place.file, static_cast<uint32_t>(place.line), static_cast<uint32_t>(place.column)});
  if (!module_path.empty()) node->set_module_path(module_path);
  return node;
}

void Recorder::SetResult(Node* node, const IValue& value, std::vector<int>* path,
                         const ResultFacts& facts) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return;
    Tracked& tracked = Track(tensor);
    tracked.graph = graphs_.size() - 1;
    tracked.node = node;
    tracked.path = *path;
    tracked.known = facts.known && tensor.numel() <= kMaxKnownElements;
    tracked.unknown_sizes = facts.unknown_sizes;
    if (path->empty()) node->set_meta(MetaOf(*graphs_.back().module, tensor));
    return;
  }
  if (!value.isList() && !value.isTuple()) return;
  path->push_back(0);
  for (const IValue& element : Elements(value)) {
    SetResult(node, element, path, facts);
    ++path->back();
  }
  path->pop_back();
}

void Recorder::SetResults(Node* node, const std::vector<IValue>& results,
                          const ResultFacts& facts) {
  std::vector<int> path;
  if (results.size() == 1) {
    SetResult(node, results[0], &path, facts);
  } else {
    for (size_t i = 0; i < results.size(); ++i) {
      path.assign(1, static_cast<int>(i));
      SetResult(node, results[i], &path, facts);
    }
  }
  Growing& growing = graphs_.back();
  if (facts.foldable && !facts.writes && !in_body_)
    growing.foldable.emplace_back(node, facts.known);
}

void Recorder::BeginBody(const std::string& name) {
  Growing& growing = Current();
  bodies_.push_back({growing.module->AddGraph(name), {}});
  in_body_ = true;
}

void Recorder::EndBody(const std::vector<at::Tensor>& outputs) {
  const Body& body = bodies_.back();
  std::vector<Argument> arguments;
  if (body.index != nullptr)
    arguments.emplace_back(body.graph->CallFunction("operator.add", {body.index, 1}));
  for (const at::Tensor& tensor : outputs) arguments.emplace_back(NodeOf(tensor));
  body.graph->Output(Argument::Tuple(arguments));
  in_body_ = false;
}

void Recorder::BeginTurn(const std::string& index, const std::vector<Carried>& carried) {
  Body& body = bodies_.back();
  body.index = body.sizes[index] = body.graph->Placeholder(index, index);
  body.index->set_annotation("int");
  for (const auto& [tensor, proposal] : carried) {
    Tracked& tracked = Track(tensor);
    tracked.graph = graphs_.size() - 1;
    tracked.node = TensorPlaceholder(body.graph, proposal.empty() ? "carried" : proposal,
                                     MetaOf(*graphs_.back().module, tensor));
  }
}

void Recorder::AbandonBodies() {
  for (const Body& body : bodies_) graphs_.back().module->EraseGraph(body.graph);
  bodies_.clear();
  operands_.clear();
  in_body_ = false;
}

// Operands come last, in one order for all bodies.
void Recorder::OrderOperands(Body* body) {
  Node* begin = body->graph->first();
  while (begin->op() == Op::kPlaceholder) begin = begin->next();
  for (Node* operand : operands_) body->graph->MoveBefore(Captured(body, operand), begin);
}

void Recorder::CallBodies(torchscript::CallForm form, const std::string& name,
                          std::vector<IValue> results, const torchscript::Place& place,
                          const std::string& module_path) {
  const std::vector<Argument> operands(operands_.begin(), operands_.end());
  form.args.push_back(Argument::Tuple(operands));
  Node* node = Call(form, name, place, module_path);
  bodies_.clear();
  operands_.clear();
  SetResults(node, {c10::ivalue::Tuple::create(std::move(results))}, {.foldable = false});
}

void Recorder::Cond(const at::Tensor& predicate, const std::vector<at::Tensor>& results,
                    const torchscript::Place& place, const std::string& module_path) {
  for (Body& body : bodies_) OrderOperands(&body);
  torchscript::CallForm form;
  form.target = "torch.cond";
  form.args = {NodeOf(predicate), bodies_[0].graph, bodies_[1].graph};
  CallBodies(std::move(form), "cond", {results.begin(), results.end()}, place, module_path);
}

void Recorder::WhileLoop(const std::string& name, int64_t trips,
                         const std::vector<at::Tensor>& initial,
                         const std::vector<at::Tensor>& results, const torchscript::Place& place,
                         const std::string& module_path) {
  Body& body = bodies_.back();
  OrderOperands(&body);
  Graph* test = graphs_.back().module->AddGraph(name);
  for (Node* node = body.graph->first(); node->op() == Op::kPlaceholder; node = node->next()) {
    Node* placeholder = test->Placeholder(node->target(), node->name());
    placeholder->set_annotation(node->annotation());
    placeholder->set_meta(node->meta());
  }
  test->Output(test->CallFunction("operator.lt", {test->first(), trips}));
  std::vector<Argument> carried = {0};
  for (const at::Tensor& tensor : initial) carried.emplace_back(NodeOf(tensor));
  torchscript::CallForm form;
  form.target = "torch.ops.higher_order.while_loop";
  form.args = {test, body.graph, Argument::Tuple(carried)};
  std::vector<IValue> elements = {trips};
  elements.insert(elements.end(), results.begin(), results.end());
  CallBodies(std::move(form), "while_loop", std::move(elements), place, module_path);
}

void Recorder::EndGraph() {
  if (!is_open_) return;
  is_open_ = false;
  Growing& growing = graphs_.back();
  growing.step = capture_.manifest.steps.size();
  capture_.manifest.steps.emplace_back();
}

void Recorder::HandOver(const Made& made) {
  Tracked& tracked = tracked_.at(made.tensor);
  const std::string& name = tracked.attribute;
  const at::Tensor tensor = attributes_.at(name);
  if (!written_storages_.contains(StorageOf(tensor))) return;
  // The run begins with these.
  const auto kept = capture_.initial.find(name);
  const at::Tensor initial = kept == capture_.initial.end() ? tensor : kept->second;
  if (tracked.number < 0) tracked.number = next_number_++;
  capture_.constants.erase(tracked.number);
  capture_.manifest.constants.erase(tracked.number);
  Growing& maker = graphs_[made.graph];
  Node* node = made.node;
  if (node != nullptr) {
    node = Item(maker, node, made.path, tensor);
  } else {
    // The constant stays, and each run writes to a copy.
    const InsertionGuard begin(maker.graph, maker.last_placeholder != nullptr
                                                ? maker.last_placeholder->next()
                                                : maker.graph->first());
    Node* constant = GetAttr(&maker, name, initial);
    maker.attributes[name] = initial;
    const InsertionGuard after(maker.graph, constant->next());
    node = maker.graph->CallFunction("aten.clone.default", {absl::string_view("self")});
    constant->ReplaceAllUsesWith(node);
    node->set_arg(0, constant);
    node->set_meta(constant->meta());
  }
  maker.outputs.emplace_back(tracked.number, node);
  for (Growing& growing : graphs_) {
    const auto it = growing.get_attrs.find(name);
    if (&growing == &maker || it == growing.get_attrs.end()) continue;
    Node* constant = it->second;
    constant->ReplaceAllUsesWith(Placeholder(&growing, tracked.number, initial, node->name()));
    growing.graph->EraseNode(constant);
    growing.module->EraseAttribute(name);
    growing.attributes.erase(name);
    growing.get_attrs.erase(it);
  }
}

void Recorder::Finish() {
  EndGraph();
  for (const Made& made : made_) HandOver(made);
  std::vector<bool> is_empty(capture_.manifest.steps.size());
  for (Growing& growing : graphs_) {
    // Outputs come first because they are uses.
    std::vector<Argument> outputs;
    StitchStep& step = capture_.manifest.steps[growing.step];
    for (const auto& [number, node] : growing.outputs) {
      outputs.emplace_back(node);
      step.outputs.push_back(number);
    }
    growing.graph->Output(Argument::Tuple(outputs));
    for (auto it = growing.foldable.rbegin(); it != growing.foldable.rend(); ++it) {
      const auto& [node, is_known] = *it;
      // A run that ended with an error may have used the call later.
      if (!is_known && !capture_.status.ok()) continue;
      for (Node* user : node->users()) {
        if (user->is_call_function("operator.getitem") && !user->has_uses())
          growing.graph->EraseNode(user);
      }
      if (node->has_uses()) continue;
      ++capture_.folded[std::string(node->target())];
      growing.graph->EraseNode(node);
    }
    // Remove sizes and constants that only removed calls used.
    absl::flat_hash_set<const Node*> sizes;
    for (const auto& [expr, node] : growing.sizes) sizes.insert(node);
    for (Node *node = growing.graph->last(), *before = nullptr; node != nullptr; node = before) {
      before = node->prev();
      if (!sizes.contains(node) || node->has_uses()) continue;
      std::erase(growing.symbols, node);
      growing.graph->EraseNode(node);
    }
    for (const Node* node : growing.symbols) step.symbols.push_back(std::string(node->target()));
    const bool is_dynamic = absl::c_any_of(growing.graph->nodes(), [](const Node* node) {
      return node->tensor_meta() != nullptr && !node->tensor_meta()->is_static();
    });
    if (is_dynamic || !growing.symbols.empty()) {
      for (const Symbol& symbol : sizes_.module().symbols())
        growing.module->AddSymbol(symbol.name, symbol.example);
      for (const SymExpr* relation : sizes_.module().relations())
        growing.module->AddRelation(growing.module->CopySym(relation));
    }
    for (const auto& [name, node] : growing.get_attrs) {
      if (node->has_uses()) continue;
      growing.graph->EraseNode(node);
      growing.module->EraseAttribute(name);
      growing.attributes.erase(name);
    }
    for (const int64_t number : growing.inputs) {
      Node* node = growing.placeholders[number];
      if (node->has_uses()) {
        step.inputs.push_back(number);
      } else {
        growing.graph->EraseNode(node);
      }
    }
    int64_t num_calls = 0;
    for (const Node* node : growing.graph->nodes())
      num_calls += node->is_call() && node->target() != "operator.getitem" ? 1 : 0;
    if (num_calls == 0) {
      is_empty[growing.step] = true;
      continue;
    }
    step.subgraph = static_cast<int>(capture_.subgraphs.size());
    StitchManifest::Subgraph info;
    info.name = absl::StrCat("subgraph_", step.subgraph);
    info.hash = CanonicalHash(*growing.module, {.metas = true});
    info.num_calls = num_calls;
    for (size_t i = 0; i < capture_.manifest.subgraphs.size() && info.duplicate_of < 0; ++i) {
      if (capture_.manifest.subgraphs[i].hash == info.hash)
        info.duplicate_of = static_cast<int64_t>(i);
    }
    capture_.manifest.subgraphs.push_back(std::move(info));
    capture_.subgraphs.push_back({std::move(growing.module), std::move(growing.attributes)});
  }
  std::vector<StitchStep> steps;
  for (size_t i = 0; i < capture_.manifest.steps.size(); ++i) {
    if (!is_empty[i]) steps.push_back(std::move(capture_.manifest.steps[i]));
  }
  capture_.manifest.steps = std::move(steps);
}

}  // namespace graphnet::extract
