#include "graphnet/formats/torchscript/exporter_graph.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/missing_values.h"
#include "graphnet/formats/torchscript/program.h"
#include "graphnet/interp/inputs/elements.h"
#include "graphnet/interp/structured_input.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/interp/torch/values.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/missing_calls.h"

namespace graphnet::torchscript {

namespace jit = torch::jit;
namespace prim = c10::prim;
namespace aten = c10::aten;

namespace {

// A graph is built again if a type was too narrow, which can happen a few times for
// each attribute and each carried value.
constexpr int kMaxPasses = 100;

// Python's operators on numbers, strings and lists, and functions that TorchScript has as
// operators. `pow` is left out: TorchScript's returns a float where Python's returns an int. The
// same holds for the minimum of an int and a float.
const char* SymbolOfOperator(absl::string_view target) {
  static constexpr std::pair<absl::string_view, const char*> kSymbols[] = {
      {"operator.add", "aten::add"},
      {"operator.sub", "aten::sub"},
      {"operator.mul", "aten::mul"},
      {"operator.truediv", "aten::div"},
      {"operator.floordiv", "aten::floordiv"},
      {"operator.mod", "aten::remainder"},
      {"operator.neg", "aten::neg"},
      {"operator.eq", "aten::eq"},
      {"operator.ne", "aten::ne"},
      {"operator.lt", "aten::lt"},
      {"operator.le", "aten::le"},
      {"operator.gt", "aten::gt"},
      {"operator.ge", "aten::ge"},
      {"operator.and_", "aten::__and__"},
      {"operator.or_", "aten::__or__"},
      {"operator.xor", "aten::__xor__"},
      {"operator.not_", "aten::__not__"},
      {"operator.lshift", "aten::__lshift__"},
      {"operator.rshift", "aten::__rshift__"},
      {"operator.contains", "aten::__contains__"},
      {"operator.setitem", "aten::_set_item"},
      {"builtins.bool", "aten::Bool"},
      {"builtins.float", "aten::Float"},
      {"builtins.int", "aten::Int"},
      {"builtins.len", "aten::len"},
      {"math.ceil", "aten::ceil"},
      {"math.floor", "aten::floor"},
      {"math.trunc", "aten::Int"},
      {"torch.is_floating_point", "aten::is_floating_point"},
      {"torch.numel", "aten::numel"},
      {"torch.sym_float", "aten::Float"},
      {"torch.sym_int", "aten::Int"},
      {"torch.sym_not", "aten::__not__"}};
  const auto it =
      absl::c_find_if(kSymbols, [&](const auto& symbol) { return symbol.first == target; });
  return it == std::end(kSymbols) ? nullptr : it->second;
}

// Returns operand `i` of `node`. Keyword arguments come after the positional ones.
const Argument& OperandOf(const Node& node, size_t i) {
  return i < node.args().size() ? node.args()[i] : node.kwargs()[i - node.args().size()].value;
}

// Returns the type that `formal`, the type of `argument`, implies for `node`, which is
// the argument or one of its elements; null if it implies none.
c10::TypePtr WantedOf(const Argument& argument, const c10::TypePtr& formal, const Node* node) {
  const auto is_node = [&](const Argument& a) { return a.is_node() && a.node() == node; };
  if (is_node(argument)) return formal;
  if (!argument.is_list() && !argument.is_tuple()) return nullptr;
  const auto* list = WithoutOptional(formal)->castRaw<c10::ListType>();
  if (list == nullptr || absl::c_none_of(argument.elements(), is_node)) return nullptr;
  return list->getElementType();
}

// Returns the schema's formal argument for operand `i` of `node`; null if there is none.
const c10::Argument* FormalOf(const c10::FunctionSchema* schema, const Node& node, size_t i) {
  if (schema == nullptr) return nullptr;
  const std::vector<c10::Argument>& formals = schema->arguments();
  if (i < node.args().size()) return i < formals.size() ? &formals[i] : nullptr;
  const std::string name(node.kwargs()[i - node.args().size()].name);
  const auto it =
      absl::c_find_if(formals, [&](const auto& formal) { return formal.name() == name; });
  return it == formals.end() ? nullptr : &*it;
}

// Returns the defaults of the arguments that `node` leaves out.
std::vector<jit::NamedValue> DefaultsOf(const c10::FunctionSchema& schema, const Node& node) {
  std::vector<jit::NamedValue> defaults;
  for (size_t i = node.args().size(); i < schema.arguments().size(); ++i) {
    const c10::Argument& formal = schema.arguments()[i];
    if (formal.default_value() && node.kwarg(formal.name()) == nullptr)
      defaults.emplace_back(formal.name(), *formal.default_value());
  }
  return defaults;
}

bool IsNumber(const jit::Value& value) {
  return value.type()->isSubtypeOf(*c10::NumberType::get()) ||
         value.type()->kind() == c10::TypeKind::BoolType;
}

// Returns whether a schema takes a number where a tensor is given.
bool TurnsTensors(const c10::FunctionSchema& schema, const Node& node,
                  const std::vector<jit::Value*>& operands) {
  for (size_t i = 0; i < operands.size(); ++i) {
    const c10::Argument* const formal = FormalOf(&schema, node, i);
    if (formal == nullptr || !operands[i]->type()->isSubtypeOf(*c10::TensorType::get())) continue;
    if (WithoutOptional(formal->type())->isSubtypeOf(*c10::NumberType::get())) return true;
  }
  return false;
}

}  // namespace

GraphExporter::GraphExporter(const Sample* sample, const jit::Module& root, MissingCalls* missing)
    : sample_(*sample),
      module_(*sample->module),
      root_(root),
      types_(root._ivalue()->compilation_unit()),
      attributes_(root),
      missing_(missing) {}

absl::Status GraphExporter::ErrorOf(const Node& node, absl::string_view what) const {
  const SourceLocation location = node.location();
  const std::string message = absl::StrCat("cannot export %", Printable(node.name()), " = ",
                                           node.op() == Op::kPlaceholder ? "placeholder " : "",
                                           Printable(node.target()), ": ", what);
  return WithNode(location.file.empty()
                      ? absl::InvalidArgumentError(message)
                      : ErrorAt(location.file, location.line, location.column, message),
                  node, what);
}

absl::Status GraphExporter::Error(absl::string_view what) const {
  return current_ == nullptr ? absl::InvalidArgumentError(std::string(what))
                             : ErrorOf(*current_, what);
}

// --- The method --------------------------------------------------------------

absl::Status GraphExporter::Run() {
  try {
    ReserveNames();
    RETURN_IF_ERROR(FindState());
    RETURN_IF_ERROR(AddAttributes());
    NameInputs();
    absl::Status status;
    for (int pass = 0; pass == 0 || (again_ && pass < kMaxPasses); ++pass) {
      again_ = false;
      status = ExportMain();
    }
    types_.FillEmptyClasses();
    if (missing_ != nullptr && missing_->empty() && !status.ok()) AddMissing(status, missing_);
    return status;
  } catch (...) {
    const absl::Status status = CurrentExceptionStatus();
    return status.code() == absl::StatusCode::kInvalidArgument ? Error(status.message()) : status;
  }
}

// Each input and attribute whose name can be written keeps it. The others get names that differ
// from these.
void GraphExporter::ReserveNames() {
  for (const Node* node : module_.main()->placeholders()) attributes_.Reserve(node->target());
  for (const Attribute& attribute : module_.attributes())
    attributes_.Reserve(attribute.name.substr(0, attribute.name.find('.')));
}

// An input of which TorchScript garbles the name gets one that no attribute has: our importer would
// give that attribute another one.
void GraphExporter::NameInputs() {
  UniqueNames taken;
  const std::vector<Node*> inputs = module_.main()->placeholders();
  for (const Node* input : inputs) {
    if (Identifier(input->target()) == input->target()) taken.Insert(input->target());
  }
  for (const Node* input : inputs) {
    const std::string name = Identifier(input->target());
    input_names_[input] =
        name == input->target() ? name : taken.Reserve(name, [&](absl::string_view candidate) {
          return !root_.hasattr(std::string(candidate));
        });
  }
}

std::vector<std::string> GraphExporter::Renamed() const {
  std::vector<std::string> renamed;
  const auto add = [&](absl::string_view what, absl::string_view name, const std::string& now) {
    if (name != now)
      renamed.push_back(absl::StrCat(what, " ", Printable(name), " is ", Printable(now)));
  };
  for (const Node* input : module_.main()->placeholders())
    add("input", input->target(), input_names_.at(input));
  for (const Attribute& attribute : module_.attributes()) {
    const AttributeTree::Place* const place = attributes_.Find(attribute.name);
    if (place == nullptr) continue;
    std::vector<std::string> path = place->modules;
    path.push_back(place->name);
    add("weight", attribute.name, absl::StrJoin(path, "."));
  }
  return renamed;
}

absl::Status GraphExporter::AddAttributes() {
  current_ = nullptr;
  for (const Attribute& attribute : module_.attributes()) {
    const auto data = sample_.weights.find(std::string(attribute.name));
    if (data == sample_.weights.end()) continue;  // A read of it is an error.
    absl::StatusOr<at::Tensor> tensor = ToTensor(data->second, c10::kCPU);
    if (!tensor.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cannot export attribute ", Printable(attribute.name), ": ", tensor.status().message()));
    }
    const bool parameter = attribute.annotation == kParameterAnnotation;
    if (parameter && (tensor->is_floating_point() || tensor->is_complex())) {
      tensor->set_requires_grad(true);
    }
    attributes_.Add(attribute.name, c10::TensorType::get(), *tensor,
                    parameter ? AttributeTree::Kind::kParameter : AttributeTree::Kind::kBuffer);
  }
  return absl::OkStatus();
}

absl::Status GraphExporter::ExportMain() {
  graph_ = std::make_shared<jit::Graph>();
  bound_.clear();
  ints_.clear();
  submodules_.clear();
  reads_.clear();
  reads_of_.clear();
  starts_.clear();
  inputs_ = {c10::Argument("self", root_.type())};
  depth_ = 0;
  num_calls_ = 0;
  if (missing_ != nullptr) missing_->clear();
  stand_ins_.clear();
  missed_ = absl::OkStatus();
  graph_->addInput("self")->setType(root_.type());
  const Graph& main = *module_.main();
  for (const Node* node : main.nodes()) {
    if (node->is_placeholder()) RETURN_IF_ERROR(AddInput(*node));
    const absl::Status status = ExportNode(*node);
    if (missing_ == nullptr) RETURN_IF_ERROR(status);
    if (!status.ok()) StandIn(*node, status);
  }
  RETURN_IF_ERROR(missed_);
  current_ = main.output();
  ASSIGN_OR_RETURN(jit::Value* const result, ValueOf(main.output()->args()[0]));
  graph_->registerOutput(result);
  EraseUnusedReads();
  current_ = nullptr;
  AddMethod(result->type());
  return absl::OkStatus();
}

// Replaces the node's result by an uninitialized tensor so that later calls are checked too. Errors
// of known operators that take such a tensor are not counted: its type may be the cause.
void GraphExporter::StandIn(const Node& node, const absl::Status& status) {
  if (missed_.ok()) missed_ = status;
  const bool takes_one = absl::c_any_of(
      node.operands(), [&](const Node* operand) { return stand_ins_.contains(operand); });
  const bool is_known = FindHandler(node.target()) != nullptr ||
                        SymbolOfOperator(node.target()) != nullptr ||
                        FindOperator(node.target()).ok();
  if (!takes_one || !is_known) AddMissing(status, missing_);
  stand_ins_.insert(&node);
  Bind(node, graph_->insertNode(graph_->createUninitialized(c10::TensorType::get()))->output());
}

// Also removes attributes that are read only for the initial value of another one,
// because that value holds them.
void GraphExporter::EraseUnusedReads() {
  for (const auto& [read, place] : reads_of_) {
    if (read->hasUses()) starts_.erase(place);
  }
  for (const auto& [path, type] : states_) starts_.erase(attributes_.Find(path));
  for (const AttributeTree::Place* place : starts_) {
    place->owner._ivalue()->unsafeRemoveAttr(place->name);
    place->owner.type()->unsafeRemoveAttribute(place->name);
  }
  for (auto it = reads_.rbegin(); it != reads_.rend(); ++it) {
    if (!(*it)->hasUses()) (*it)->destroy();
  }
}

void GraphExporter::AddMethod(const c10::TypePtr& result) {
  const auto unit = root_._ivalue()->compilation_unit();
  jit::Function* const method =
      unit->create_function(c10::QualifiedName(*root_.type()->name(), "forward"), graph_);
  root_.type()->addMethod(method);
  // Only trailing inputs may have a default.
  bool is_last = true;
  for (size_t i = inputs_.size(); i-- > 1;) {
    is_last = is_last && inputs_[i].default_value().has_value();
    if (!is_last) inputs_[i] = c10::Argument(inputs_[i].name(), inputs_[i].type());
  }
  method->setSchema(c10::FunctionSchema("forward", "", inputs_, {c10::Argument("", result)}));
}

absl::StatusOr<c10::TypePtr> GraphExporter::TypeOfInput(const Node& placeholder) {
  ASSIGN_OR_RETURN(c10::TypePtr found, AnnotatedType(placeholder, nullptr));
  if (found != nullptr) return found;
  if (placeholder.tensor_meta() != nullptr) return c10::TensorType::get();
  // Take the type that its users expect; a tensor if one of them expects that.
  for (const Node* user : placeholder.users()) {
    if (user->op() != Op::kCallFunction || FindHandler(user->target()) != nullptr) continue;
    const absl::StatusOr<const Operator*> op = FindOperator(user->target());
    if (!op.ok() || (*op)->overload == nullptr) continue;
    for (size_t i = 0; i < user->args().size() + user->kwargs().size(); ++i) {
      const c10::Argument* const formal = FormalOf(&(*op)->overload->schema(), *user, i);
      if (formal == nullptr) continue;
      const c10::TypePtr type = WantedOf(OperandOf(*user, i), formal->type(), &placeholder);
      if (type == nullptr || type->hasFreeVariables()) continue;
      if (found == nullptr || type->kind() == c10::TypeKind::TensorType) found = type;
    }
  }
  return found == nullptr ? c10::TensorType::get() : found;
}

std::optional<c10::IValue> GraphExporter::DefaultOf(const Node& placeholder,
                                                    const c10::TypePtr& type) const {
  if (!IsStructure(placeholder)) return std::nullopt;
  const std::string name(placeholder.target());
  if (!sample_.weights.contains(name) && ElementsOf(sample_.weights, name).empty())
    return std::nullopt;
  const absl::StatusOr<c10::IValue> value =
      MakeStructure(type, name, sample_.weights, [](const std::string&, const TensorData& data) {
        return ToTensor(data, c10::Device(c10::kCPU));
      });
  if (!value.ok()) return std::nullopt;
  // Tensors may be examples that somebody gave.
  bool may_be_default = true;
  value->visit([&](const c10::IValue& part) {
    may_be_default = may_be_default && !part.isTensor() && !IsGarbled(part);
    return !may_be_default;
  });
  return may_be_default ? std::optional<c10::IValue>(*value) : std::nullopt;
}

absl::Status GraphExporter::AddInput(const Node& placeholder) {
  ASSIGN_OR_RETURN(const c10::TypePtr type, TypeOfInput(placeholder));
  const std::string& name = input_names_.at(&placeholder);
  jit::Value* const value = graph_->addInput(name)->setType(type);
  bound_[&placeholder] = {.values = {value}};
  // The importer stores the defaults of numbers and texts in the draw spec, and others as values.
  std::optional<c10::IValue> initial;
  const DrawSpec* const spec = placeholder.draw_spec();
  if (spec != nullptr && spec->data.is_list() && spec->data.elements().size() == 1) {
    initial = ConstantOf(spec->data.elements()[0]);
    if (initial && (*initial->type() != *WithoutOptional(type) || IsGarbled(*initial)))
      initial.reset();
  }
  if (spec != nullptr && spec->data.is_list() && IsText(placeholder.annotation())) {
    std::string text;
    for (const Argument& byte : spec->data.elements()) {
      if (byte.is_int()) text.push_back(static_cast<char>(byte.integer()));
    }
    initial = c10::IValue(std::move(text));
  }
  if (!initial) initial = DefaultOf(placeholder, type);
  if (!initial && type->kind() == c10::TypeKind::OptionalType) initial = c10::IValue();
  inputs_.push_back(c10::Argument(name, type, std::nullopt, initial));
  return absl::OkStatus();
}

// --- Nodes -------------------------------------------------------------------

GraphExporter::Handler GraphExporter::FindHandler(absl::string_view target) const {
  static const auto* const kHandlers = new absl::flat_hash_map<absl::string_view, Handler>{
      {"operator.getitem", &GraphExporter::ExportGetItem},
      {"operator.setitem", &GraphExporter::ExportSetItem},
      {"torch.cond", &GraphExporter::ExportCond},
      {"torch.ops.higher_order.cond", &GraphExporter::ExportCond},
      {"torch.while_loop", &GraphExporter::ExportWhileLoop},
      {"torch.ops.higher_order.while_loop", &GraphExporter::ExportWhileLoop},
      {"builtins.getattr", &GraphExporter::ExportProperty},
      {"torch.tensor", &GraphExporter::ExportTensor},
      {"torch.sym_sum", &GraphExporter::ExportSymSum},
      {"prim.ListConstruct", &GraphExporter::ExportList},
      {"prim.DictConstruct", &GraphExporter::ExportDict},
      {"prim.tolist", &GraphExporter::ExportToList},
      {"prim.isinstance", &GraphExporter::ExportIsInstance},
      {"prim.CreateObject", &GraphExporter::ExportCreateObject},
      {"prim.GetAttr", &GraphExporter::ExportGetAttr},
      {"prim.SetAttr", &GraphExporter::ExportSetAttr},
  };
  const auto it = kHandlers->find(target);
  return it == kHandlers->end() ? nullptr : it->second;
}

absl::Status GraphExporter::ExportNode(const Node& node) {
  current_ = &node;
  switch (node.op()) {
    case Op::kPlaceholder:
    case Op::kOutput: return absl::OkStatus();
    case Op::kGetAttr: {
      const AttributeTree::Place* place = attributes_.Find(node.target());
      if (place == nullptr) {
        return Error(absl::StrCat("the value of the attribute is not known", kValueHint));
      }
      Bind(node, InsertRead(*place));
      return absl::OkStatus();
    }
    case Op::kCallFunction:
      if (++num_calls_ > kMaxInlinedNodes) {
        return Error(absl::StrCat("the program has more than ", kMaxInlinedNodes,
                                  " operations with its bodies inlined"));
      }
      return ExportCall(node);
    default: return Error(kNothing);
  }
}

absl::Status GraphExporter::ExportCall(const Node& node) {
  if (const Handler handler = FindHandler(node.target())) return (this->*handler)(node);
  if (const char* symbol = SymbolOfOperator(node.target())) {
    ASSIGN_OR_RETURN(const Operator* op, FindAnyOverload(symbol));
    return ExportOperator(node, *op);
  }
  const absl::StatusOr<const Operator*> op = FindOperator(node.target());
  if (!op.ok()) return Error(op.status().message());
  return ExportOperator(node, **op);
}

// --- Operators ---------------------------------------------------------------

absl::StatusOr<const GraphExporter::Operator*> GraphExporter::FindAnyOverload(const char* symbol) {
  const auto [it, inserted] = operators_.try_emplace(symbol);
  if (inserted) {
    it->second.symbol = c10::Symbol::fromQualString(symbol);
    it->second.all = jit::getAllOperatorsFor(it->second.symbol);
  }
  return &it->second;
}

absl::StatusOr<const GraphExporter::Operator*> GraphExporter::FindOperator(
    absl::string_view target) {
  if (const auto it = operators_.find(target); it != operators_.end()) return &it->second;
  absl::string_view path = target;
  const bool is_op = absl::ConsumePrefix(&path, "torch.ops.");
  const std::vector<std::string> parts = absl::StrSplit(path, '.');
  const bool words = absl::c_all_of(parts, [](const std::string& part) {
    return !part.empty() &&
           absl::c_all_of(part, [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
  });
  static const auto* const kPython = new absl::flat_hash_set<absl::string_view>{
      "torch", "operator", "builtins", "math", "_operator"};
  if (!words || parts.size() < 2 || parts.size() > 3 || (!is_op && kPython->contains(parts[0]))) {
    return absl::InvalidArgumentError(absl::StrCat("no ATen overload; ", kNothing));
  }
  Operator op;
  const std::string name = absl::StrCat(parts[0], "::", parts[1]);
  op.symbol = c10::Symbol::fromQualString(name);
  op.all = jit::getAllOperatorsFor(op.symbol);
  if (op.all.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("LibTorch has no operator ", name));
  }
  if (parts.size() == 3) {
    const std::string overload = parts[2] == "default" ? "" : parts[2];
    for (const auto& candidate : op.all) {
      if (candidate->schema().overload_name() == overload) op.overload = candidate;
    }
    if (op.overload == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("LibTorch's ", name, " has no overload ", parts[2]));
    }
  }
  // These mean nothing without the attributes that LibTorch's passes add.
  if (absl::c_any_of(op.all, [](const auto& o) { return o->schema().is_varret(); })) {
    return absl::InvalidArgumentError("an operation that only LibTorch itself makes");
  }
  return &operators_.try_emplace(target, std::move(op)).first->second;
}

bool GraphExporter::MayRaise() {
  if (!may_raise_.has_value()) {
    may_raise_ = absl::c_any_of(sample_.module->graphs(), [](const Graph* graph) {
      return absl::c_any_of(graph->nodes(), [](const Node* node) {
        return absl::StartsWith(node->target(), "prim.RaiseException");
      });
    });
  }
  return *may_raise_;
}

// Structures come last, because the other operands determine the schema's type
// variables.
absl::StatusOr<std::vector<jit::Value*>> GraphExporter::Operands(
    const Node& node, const c10::FunctionSchema* schema) {
  std::vector<jit::Value*> values(node.args().size() + node.kwargs().size());
  c10::TypeEnv variables;
  for (const bool structures : {false, true}) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (OperandOf(node, i).is_aggregate() != structures) continue;
      const c10::Argument* const formal = FormalOf(schema, node, i);
      c10::TypePtr wanted = formal == nullptr ? nullptr : formal->type();
      if (wanted != nullptr && wanted->hasFreeVariables()) {
        const c10::TypePtr known = c10::tryEvalTypeVariables(wanted, variables);
        // A bare type variable accepts anything, even None.
        if (known != nullptr || wanted->kind() == c10::TypeKind::VarType) wanted = known;
        if (OperandOf(node, i).is_list() && schema->name() == "aten::tensor") {
          wanted = TypeOfData(OperandOf(node, i));
        }
      }
      ASSIGN_OR_RETURN(values[i], ValueOf(OperandOf(node, i), wanted));
      // Behind a test for None that raises, the program holds None where it never arrives.
      if (wanted != nullptr && MayRaise() && values[i]->type()->kind() == c10::TypeKind::NoneType &&
          !values[i]->type()->isSubtypeOf(*wanted)) {
        // A list of any type will do where the elements have a type variable.
        const bool is_open = wanted->hasFreeVariables();
        if (!is_open || wanted->kind() == c10::TypeKind::ListType) {
          values[i] = graph_
                          ->insertNode(graph_->createUninitialized(
                              is_open ? c10::TypePtr(c10::ListType::ofInts()) : wanted))
                          ->output();
        }
      }
      if (formal != nullptr) c10::matchTypeVariables(formal->type(), values[i]->type(), variables);
    }
  }
  return values;
}

// A file does not name overloads. LibTorch chooses them by the operands' types when
// it loads the file, in its own order. This makes the same choice, and fails if it
// is not the overload in the graph.
absl::Status GraphExporter::ExportOperator(const Node& node, const Operator& op) {
  const c10::FunctionSchema* const asked =
      op.overload == nullptr ? nullptr : &op.overload->schema();
  ASSIGN_OR_RETURN(std::vector<jit::Value*> operands, Operands(node, asked));
  jit::Node* const before = graph_->insertPoint()->prev();
  std::vector<const c10::FunctionSchema*> schemas;
  for (const auto& candidate : op.all) schemas.push_back(&candidate->schema());
  std::optional<jit::MatchedSchema> match;
  std::string why;
  std::vector<jit::NamedValue> defaults;  // defaults that are passed explicitly
  // Returns the first schema in `from` that accepts the operands; null if there is none.
  const auto choose =
      [&](const std::vector<const c10::FunctionSchema*>& from) -> const c10::FunctionSchema* {
    std::vector<jit::NamedValue> args(
        operands.begin(), operands.begin() + static_cast<ptrdiff_t>(node.args().size()));
    std::vector<jit::NamedValue> kwargs;
    for (const KwArg& kwarg : node.kwargs()) {
      kwargs.emplace_back(std::string(kwarg.name), operands[args.size() + kwargs.size()]);
    }
    kwargs.insert(kwargs.end(), defaults.begin(), defaults.end());
    try {
      auto found = jit::matchSchemas(from, jit::SourceRange(), *graph_, args, kwargs);
      match = std::move(found.second);
      return from[found.first];
    } catch (...) {
      why = std::string(CurrentExceptionStatus().message());
      return nullptr;
    }
  };
  // TorchScript has no dtypes, only ints: x.view(torch.int32) would take a shape.
  if (asked != nullptr && jit::isBlockListedSchema(*asked)) {
    return Error("TorchScript never takes this overload");
  }
  const c10::FunctionSchema* found = choose(schemas);
  if (asked != nullptr && found != asked) {
    bool number_for_tensor = false;
    // TorchScript turns tensors into numbers to fit an overload; no program of Python does.
    const bool turns_tensors = found != nullptr && TurnsTensors(*found, node, operands);
    std::vector<jit::Value*> wide = operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      const c10::Argument* const formal = FormalOf(asked, node, i);
      if (formal == nullptr || formal->type()->hasFreeVariables()) continue;
      const c10::TypePtr& type = operands[i]->type();
      number_for_tensor |= IsNumber(*operands[i]) &&
                           WithoutOptional(formal->type())->kind() == c10::TypeKind::TensorType;
      // Cast to a wider type, which fewer overloads accept.
      if (type->isSubtypeOf(*formal->type()) && *type != *formal->type()) {
        wide[i] = graph_->insertUncheckedCast(operands[i], formal->type());
      }
    }
    // Python calls aten.add.Tensor for torch.add(x, 2) and makes a tensor of the
    // number. TorchScript calls aten.add.Scalar, with the same result. Where it has no such
    // overload, the tensor is made here; and where the result goes to a given tensor, as
    // aten.add.Scalar_out takes only tensors of the result's dtype.
    const bool writes_out = absl::c_any_of(
        asked->arguments(), [](const c10::Argument& argument) { return argument.is_out(); });
    if (number_for_tensor && (found == nullptr || turns_tensors || writes_out)) {
      for (size_t i = 0; i < operands.size(); ++i) {
        const c10::Argument* const formal = FormalOf(asked, node, i);
        if (formal == nullptr ||
            WithoutOptional(formal->type())->kind() != c10::TypeKind::TensorType ||
            !IsNumber(*operands[i])) {
          continue;
        }
        if (operands[i]->type()->kind() == c10::TypeKind::BoolType) {
          operands[i] = graph_->insert(aten::tensor, {operands[i]});
          continue;
        }
        const auto like = absl::c_find_if(operands, [](const jit::Value* value) {
          return value->type()->isSubtypeOf(*c10::TensorType::get());
        });
        if (like == operands.end()) return Error("it takes numbers where it needs a tensor");
        jit::Value* const dtype = graph_->insert(aten::result_type, {*like, operands[i]});
        jit::Value* const sizes =
            graph_->insertNode(graph_->createList(c10::IntType::get(), {}))->output();
        operands[i] =
            graph_->insert(aten::new_full, {*like, sizes, operands[i]}, {{"dtype", dtype}});
      }
      found = choose(schemas);
      if (found != asked) return Error(found == nullptr ? why : std::string(kNothing));
    } else if (!number_for_tensor || found == nullptr) {
      if (choose({asked}) == nullptr) return Error(why);
      operands = wide;
      const c10::FunctionSchema* const instead = found;
      found = choose(schemas);
      if (found != asked) {
        // arange(0, 7, step=1) and arange(0, 7) call different overloads.
        defaults = DefaultsOf(*asked, node);
        found = choose(schemas);
      }
      if (found != asked) {
        return Error(absl::StrCat("with these operands TorchScript takes ",
                                  c10::toString((found ? found : instead)->operator_name())));
      }
    }
  }
  if (found == nullptr) return Error(why);

  jit::Node* const call = graph_->insertNode(graph_->create(op.symbol, match->inputs, 0));
  for (const c10::TypePtr& type : match->return_types) call->addOutput()->setType(type);
  // Failed attempts leave unused constants behind.
  for (jit::Node* unused = call->prev(); unused != before;) {
    jit::Node* const previous = unused->prev();
    if (!unused->hasUses()) unused->destroy();
    unused = previous;
  }
  if (call->outputs().size() == 1) {
    Bind(node, call->output());
  } else {
    bound_[&node] = {.values = call->outputs().vec(), .is_tuple = !call->outputs().empty()};
  }
  return absl::OkStatus();
}

// Exports getattr(tensor, "dtype") and getattr(tensor, "shape").
absl::Status GraphExporter::ExportProperty(const Node& node) {
  if (node.args().size() != 2 || !node.args()[1].is_string()) return Error("it takes a name");
  const absl::string_view name = node.args()[1].string();
  const c10::Symbol property = name == "shape"  ? aten::size
                               : name == "ndim" ? aten::dim
                                                : c10::Symbol::prim(std::string(name));
  if (jit::getAllOperatorsFor(property).empty())
    return Error("TorchScript does not have this property");
  ASSIGN_OR_RETURN(jit::Value* const tensor, ValueOf(node.args()[0]));
  Bind(node, graph_->insert(property, {tensor}));
  return absl::OkStatus();
}

// Exports torch.tensor(data, dtype=…, device=…), which lowering makes.
absl::Status GraphExporter::ExportTensor(const Node& node) {
  if (node.args().size() != 1) return Error("it takes one operand");
  const auto keyword = [&node](absl::string_view name) {
    const Argument* argument = node.kwarg(name);
    return argument == nullptr ? Argument() : *argument;
  };
  ASSIGN_OR_RETURN(jit::Value* const data, ValueOf(node.args()[0], TypeOfData(node.args()[0])));
  ASSIGN_OR_RETURN(jit::Value* const dtype, ValueOf(keyword("dtype")));
  ASSIGN_OR_RETURN(jit::Value* const device, ValueOf(keyword("device")));
  Bind(node, graph_->insert(aten::tensor, {data}, {{"dtype", dtype}, {"device", device}}));
  return absl::OkStatus();
}

// Exports torch.sym_sum((a, b, …)).
absl::Status GraphExporter::ExportSymSum(const Node& node) {
  if (node.args().size() != 1 || !(node.args()[0].is_tuple() || node.args()[0].is_list())) {
    return Error("it takes a list of numbers");
  }
  jit::Value* sum = graph_->insertConstant(0);
  for (const Argument& term : node.args()[0].elements()) {
    ASSIGN_OR_RETURN(jit::Value* const value, Fit(term, c10::IntType::get()));
    sum = graph_->insert(aten::add, {sum, value});
  }
  Bind(node, sum);
  return absl::OkStatus();
}

}  // namespace graphnet::torchscript
