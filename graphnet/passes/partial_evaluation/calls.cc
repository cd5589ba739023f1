// Computes and writes calls; see evaluator.h.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/tensor_size.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/facts/shapes/infer_meta.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/partial_evaluation/containers.h"
#include "graphnet/passes/partial_evaluation/evaluator.h"
#include "graphnet/passes/partial_evaluation/numbers.h"
#include "graphnet/passes/partial_evaluation/texts.h"

namespace graphnet::evaluation {
namespace {

// Returns whether a user of a value takes one element of it.
bool IsElement(const Node& user) {
  return user.is_call_function("operator.getitem") && user.args().size() == 2 &&
         user.args()[1].is_int();
}

// Returns the name of the first node that takes an element of a value, or one of its own.
std::string ElementName(const Node& whole, size_t index, size_t size) {
  for (const Node* user : whole.users()) {
    if (IsElement(*user) && IndexOf({user->args()[1]}, size) == index)
      return std::string(user->name());
  }
  return absl::StrCat(whole.name(), "_", index);
}

// Returns whether the meta of a list describes it here: no call so far may have changed it.
bool HasAllElements(const Node& list) {
  if (list.meta() == nullptr || !list.meta()->is_tuple || list.is_placeholder()) return false;
  return absl::c_all_of(list.users(), [&](const Node* user) {
    return user->target() == "aten.len.t" || user->target() == "aten.__getitem__.t" ||
           !absl::c_linear_search(MemoryUseOf(*user).written, &list);
  });
}

// Returns whether a value is known not to be None, unless it is.
bool IsNoneOrNot(const Value& value) {
  if (value.is_constant() || value.is_container()) return true;
  if (!value.argument.is_node()) return false;
  const Node& node = *value.argument.node();
  if (node.tensor_meta() != nullptr) return true;
  const Schema* const schema = CalleeOf(node).named_operator();
  return schema != nullptr && schema->returns.size() == 1 && !schema->returns[0].optional;
}

// Evaluates isinstance for a value that is known to be a tensor.
std::optional<Value> IsInstance(const Node& tensor, const Argument& types) {
  if (tensor.tensor_meta() == nullptr || !types.is_aggregate()) return std::nullopt;
  for (const Argument& type : types.elements()) {
    if (!type.is_string()) return std::nullopt;
    if (type.string() == "Tensor") return Value{true};
    const bool is_other = type.string() == "list" || type.string() == "tuple" ||
                          type.string() == "int" || type.string() == "float" ||
                          type.string() == "bool" || type.string() == "str";
    if (!is_other) return std::nullopt;
  }
  return Value{false};
}

// Returns whether a call takes a number in a tensor for a plain one.
bool TakesNumber(const Node& node, const Schema* schema, size_t position) {
  const absl::string_view target = node.target();
  if (target == "operator.getitem" || target == "operator.setitem") return position > 0;
  if (target == "torch.tensor" || absl::StartsWith(target, "aten.tensor.")) return true;
  if (schema == nullptr || position >= schema->arguments.size()) return false;
  const SchemaType::Kind kind = schema->arguments[position].type.kind;
  return kind == SchemaType::Kind::kInt || kind == SchemaType::Kind::kFloat ||
         kind == SchemaType::Kind::kScalar;
}

// Returns whether a call yields all sizes of a tensor.
bool ReadsAllSizes(const Node& node, absl::Span<const Value> args) {
  const bool is_shape = node.target() == "builtins.getattr" && args.size() == 2 &&
                        args[1].is_string() && args[1].argument.string() == "shape";
  const absl::string_view name = NameOf(node.target());
  return is_shape || (args.size() == 1 && !absl::EndsWith(node.target(), ".int") &&
                      (name == "size" || name == "sym_size"));
}

}  // namespace

Node* Evaluator::Make(const Node& origin, absl::string_view target, absl::Span<const Argument> args,
                      absl::Span<const KwArg> kwargs) {
  Node* made = graph_->CreateNode(origin.op(), target, args, kwargs, origin.name());
  made->set_location(origin.location());
  made->set_module_path(origin.module_path());
  made->set_annotation(origin.annotation());
  if (origin.meta() != nullptr) made->set_meta(origin.meta());
  if (!changed_sizes_) InferMeta(made);
  return made;
}

std::optional<Value> Evaluator::Known(const Node& node, absl::Span<const Value> args) {
  if (!node.kwargs().empty()) return std::nullopt;
  if (std::optional<Value> value = KnownObject(node, args)) return value;
  if (args.empty()) return KnownIdentity(node, args);
  if (std::optional<Value> value = KnownShape(node, args)) return value;
  if (std::optional<Value> value = KnownIdentity(node, args)) return value;
  return KnownNumber(node.target(), args, /*exact=*/!options_.of_call);
}

// Lists, tuples, dicts and texts.
std::optional<Value> Evaluator::KnownObject(const Node& node, absl::Span<const Value> args) {
  absl::string_view name = NameOf(node.target());
  const Node* const maker = options_.with_lists && !kept_.contains(&node) ? &node : nullptr;
  const std::vector<Value> elements(args.begin(), args.end());
  if (node.target() == "prim.TupleConstruct" && options_.with_lists) return values_.Tuple(elements);
  if (node.target() == "prim.ListConstruct" && maker != nullptr)
    return values_.List(elements, maker);
  if (node.target() == "prim.DictConstruct") return MakeDict(args, maker, &values_);
  if (args.empty()) return std::nullopt;
  if (node.target() == "operator.getitem") name = "__getitem__";
  if (node.target() == "builtins.len") name = "len";
  if (name.empty()) return std::nullopt;
  if (std::optional<Value> value = KnownContainer(name, args, maker, &values_)) return value;
  return KnownText(name, args, &values_);
}

std::optional<Value> Evaluator::KnownShape(const Node& node, absl::Span<const Value> args) {
  if (args[0].is_container() || !args[0].argument.is_node() || changed_sizes_) return std::nullopt;
  Node& tensor = *args[0].argument.node();
  const absl::string_view target = node.target(), name = NameOf(target);
  if (target == "prim.isinstance" && args.size() == 2)
    return IsInstance(tensor, Materialise(args[1]));
  const TensorMeta* const meta = tensor.tensor_meta();
  if (meta == nullptr) return std::nullopt;
  if (target == "builtins.getattr" && args.size() == 2 && args[1].is_string() && options_.of_call) {
    if (auto value = KnownProperty(args[1].argument.string(), tensor)) return value;
  }
  if (absl::StartsWith(target, "prim.") && args.size() == 1) {
    if (auto value = KnownProperty(name, tensor)) return value;
  }
  if (name == "is_floating_point" && meta->dtype != DType::kUnknown)
    return Value{IsFloatingPoint(meta->dtype)};
  if (!meta->has_shape) return std::nullopt;
  const size_t rank = meta->shape.size();
  if (name == "dim" && args.size() == 1) return Value{rank};
  const bool is_of_run = sizes_of_run_.Has(node);
  if (ReadsAllSizes(node, args)) {
    if (kept_.contains(&node) || (!options_.of_call && (is_of_run || !meta->is_static())))
      return std::nullopt;
    std::vector<Value> sizes;
    for (size_t i = 0; i < rank; ++i) {
      if (meta->shape[i].is_static() && !is_of_run) {
        sizes.push_back({meta->shape[i].value});
        continue;
      }
      const Argument of[] = {&tensor, Argument(i)};
      Node* const size =
          graph_->CallFunction("aten.sym_size.int", of, {}, ElementName(node, i, rank));
      size->set_location(node.location());
      size->set_module_path(node.module_path());
      sizes.push_back({size});
    }
    return values_.List(std::move(sizes), &node);
  }
  if (is_of_run) return std::nullopt;
  const bool reads_size = (name == "size" || name == "sym_size") && args.size() == 2;
  if (reads_size || (name == "len" && args.size() == 1)) {
    const std::optional<size_t> i = IndexOf(name == "len" ? Value{0} : args[1], rank);
    if (!i || !meta->shape[*i].is_static()) return std::nullopt;
    return Value{meta->shape[*i].value};
  }
  if ((name == "numel" || name == "sym_numel") && meta->is_static()) {
    const std::optional<int64_t> count = NumElements(*SizesOf(args[0].argument));
    if (count.has_value()) return Value{*count};
  }
  return std::nullopt;
}

std::optional<Value> Evaluator::KnownProperty(absl::string_view name, const Node& tensor) {
  const TensorMeta& meta = *tensor.tensor_meta();
  if (name == "dtype" && meta.dtype != DType::kUnknown) return Value{meta.dtype};
  // Programs are written for the CPU where a device is not known.
  if (name == "device" && (meta.has_device || options_.of_call)) return Value{meta.device};
  if (!options_.of_call) return std::nullopt;
  if (name == "layout") return Value{Layout::kStrided};
  if (name == "is_cuda") return Value{meta.device.type == DeviceType::kCuda};
  // A meta only describes dense tensors.
  if (name == "is_nested" || name == "is_sparse" || name == "is_sparse_csr" ||
      name == "is_mkldnn" || name == "is_quantized")
    return Value{false};
  if (name == "ndim" && meta.has_shape) return Value{meta.shape.size()};
  return std::nullopt;
}

// Questions whose answers follow from what values are, and calls that return an operand.
std::optional<Value> Evaluator::KnownIdentity(const Node& node, absl::Span<const Value> args) {
  const absl::string_view target = node.target(), name = NameOf(target);
  // Programs are written as they run under no_grad, outside of autocast.
  if (options_.of_call && (name == "is_grad_enabled" || name == "is_autocast_enabled" ||
                           name == "is_autocast_cpu_enabled"))
    return Value{false};
  const bool is = name == "__is__" || target == "operator.is_";
  if ((is || name == "__isnot__" || target == "operator.is_not") && args.size() == 2) {
    if ((args[0].is_none() || args[1].is_none()) && IsNoneOrNot(args[0]) && IsNoneOrNot(args[1]))
      return Value{(args[0].is_none() && args[1].is_none()) == is};
    return std::nullopt;
  }
  if (name == "unchecked_cast" && args.size() == 1) return args[0];
  // Dropout outside of training returns its operand.
  if ((name == "dropout" || name == "dropout_" || name == "feature_dropout" ||
       name == "alpha_dropout") &&
      args.size() == 3 && args[2].argument.is_bool() && !args[2].argument.boolean() &&
      args[0].argument.is_node())
    return args[0];
  return std::nullopt;
}

void Evaluator::ConstantsAsNumbers(absl::string_view aten, std::vector<Value>* args) {
  if (absl::c_none_of(*args, [](const Value& v) { return v.is_number_tensor; })) return;
  if (IntegerOperator(aten).empty()) return;
  for (Value& value : *args) {
    if (value.is_container() || !value.argument.is_node()) continue;
    if (written_.contains(value.argument.node()->target())) continue;
    const std::optional<Argument> constant = ConstantOf(*value.argument.node());
    if (constant.has_value() && constant->is_int()) value = {*constant, nullptr, true};
  }
}

absl::StatusOr<Value> Evaluator::Write(const Node& node, absl::Span<const Value> values) {
  const Schema* schema = node.op() == Op::kCallFunction ? FindOverload(node.target()) : nullptr;
  // Drop messages, and checks of facts that are known already.
  if (!options_.of_call && schema != nullptr && schema->returns.empty() && !schema->mutates() &&
      (absl::StartsWith(schema->name, "_assert") ||
       absl::StartsWith(schema->name, "sym_constrain"))) {
    return Value{};
  }
  if (NameOf(node.target()) == "warn") return Value{};
  // The call may change a list, or hold it.
  for (const Node* list : MemoryUseOf(node).written) Lose(env_[list]);
  std::vector<Argument> args;
  std::vector<KwArg> kwargs;
  for (const Value& value : values)
    args.push_back(Materialise(value, /*as_numbers=*/TakesNumber(node, schema, args.size())));
  absl::string_view target = node.target();
  if (target == "aten.__getitem__.t" && args.size() == 2 && args[0].is_node() && args[1].is_int() &&
      HasAllElements(*args[0].node())) {
    target = "operator.getitem";
    const auto size = static_cast<int64_t>(args[0].node()->meta()->elements.size());
    if (args[1].integer() < 0) args[1] = Argument(args[1].integer() + size);
  }
  for (const KwArg& kwarg : node.kwargs())
    kwargs.push_back({kwarg.name, Materialise(ValueOf(kwarg.value))});
  changed_sizes_ |= ChangesSizes(node);
  Node* const made = Make(node, target, args, kwargs);
  // Lists that ATen makes, of which the program does more than take elements, are followed, too.
  const bool is_list = schema != nullptr && schema->returns.size() == 1 &&
                       schema->returns[0].is_list && made->meta() != nullptr &&
                       made->meta()->is_tuple && !sizes_of_run_.Has(node);
  if (!is_list || !options_.with_lists || kept_.contains(&node) ||
      absl::c_all_of(node.users(), [](const Node* user) { return IsElement(*user); }))
    return Value{made};
  const size_t size = made->meta()->elements.size();
  if (!values_.Charge(size)) return Value{made};
  std::vector<Value> elements;
  for (size_t i = 0; i < size; ++i) {
    const Argument of[] = {made, Argument(i)};
    Node* const element =
        graph_->CallFunction("operator.getitem", of, {}, ElementName(node, i, size));
    InferMeta(element);
    elements.push_back({element});
  }
  return values_.List(std::move(elements), &node);
}

}  // namespace graphnet::evaluation
