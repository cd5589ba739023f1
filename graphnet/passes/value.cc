#include "graphnet/passes/value.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/check.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/ir/types.h"
#include "graphnet/ops/lowering.h"

namespace graphnet {
namespace {

// The meta of a node, or of the attribute that it reads.
const ValueMeta* KnownOf(const Node* node) {
  if (node->meta() != nullptr || node->op() != Op::kGetAttr) return node->meta();
  Module* const module = node->graph()->module();
  const Attribute* const attribute = module->FindAttribute(node->target());
  return attribute == nullptr || attribute->meta == nullptr
             ? nullptr
             : module->InternValueMeta(*attribute->meta);
}

// Sets the meta of a call from the facts of its lowered form, computed in a separate module with
// the operands as placeholders.
void SetMeta(Node* call) {
  Module alone;
  Graph* const graph = alone.AddGraph("call");
  absl::flat_hash_map<const Node*, Node*> operands;
  call->ForEachArgument([&](const Argument& argument) {
    if (!argument.is_node() || operands.contains(argument.node())) return;
    Node* const operand = graph->Placeholder(argument.node()->name());
    operand->set_meta(alone.CopyMeta(KnownOf(argument.node())));
    operand->set_annotation(argument.node()->annotation());
    operands[argument.node()] = operand;
  });
  Node* const copy = graph->CopyNodeFrom(
      *call, [&](Node* node) { return operands.at(node); }, [](Graph* body) { return body; });
  graph->Output(copy);
  RefusedCalls refused;
  const absl::StatusOr<LoweredModule> lowered = LowerToAten(alone, &refused);
  if (!lowered.ok() || !lowered->values[copy].is_node()) return;
  const TensorFacts facts = FactsTable(*lowered, refused).Of(lowered->values[copy].node());
  if (!facts.is_tensor() || (facts.dtype == DType::kUnknown && !facts.is_static())) return;
  TensorMeta meta{.dtype = facts.dtype, .has_shape = facts.is_static()};
  meta.has_device = facts.device.has_value();
  if (meta.has_device) meta.device = *facts.device;
  std::vector<Dim> shape;
  if (meta.has_shape) shape.assign(facts.sizes->begin(), facts.sizes->end());
  meta.shape = shape;
  call->set_meta(call->graph()->module()->InternValueMeta(meta));
}

Value CallFunction(Graph* graph, absl::string_view target, absl::Span<const Argument> args,
                   absl::Span<const KwArg> kwargs, Promotion promotion) {
  Node* const node = graph->CallFunction(target, args, kwargs);
  SetMeta(node);
  return Value(node, promotion);
}

bool IsWhole(DType dtype) {
  constexpr DType kWhole[] = {DType::kBool,   DType::kUInt8,  DType::kUInt16,
                              DType::kUInt32, DType::kUInt64, DType::kInt8,
                              DType::kInt16,  DType::kInt32,  DType::kInt64};
  return absl::c_linear_search(kWhole, dtype);
}

double ToDouble(const Argument& number) {
  return number.is_float() ? number.real() : static_cast<double>(number.integer());
}

// Combines a tensor with a number as Paddle does. `reflected`: the number is on the left.
Value WithNumber(absl::string_view name, Value x, Argument number, bool reflected) {
  const bool divides = name == "truediv";
  if (IsWhole(x.dtype()) && (number.is_float() || divides)) x = x.To(DType::kFloat32);
  if (number.is_bool()) number = number.boolean() ? 1 : 0;
  const auto negative = [](const Argument& n) -> Argument {
    return n.is_int() ? Argument(-n.integer()) : Argument(-n.real());
  };
  const auto scale = [&](const Argument& factor, const Argument& bias) {
    return x.Call("paddle.scale", {}, {{"scale", factor}, {"bias", bias}});
  };
  if (name == "add") return scale(1, number);
  if (name == "sub") return reflected ? scale(-1, number) : scale(1, negative(number));
  if (name == "mul") return scale(number, 0);
  if (divides && !reflected && ToDouble(number) != 0) return scale(1.0 / ToDouble(number), 0);
  std::vector<KwArg> kwargs;
  if (x.dtype() != DType::kUnknown) kwargs.push_back({"dtype", x.dtype()});
  Graph* const graph = x.node()->graph();
  const Value constant =
      CallFunction(graph, "torch.full", {Argument::Tuple({}), number}, kwargs, x.promotion());
  return reflected ? CallOperator(name, constant, x, x.promotion())
                   : CallOperator(name, x, constant, x.promotion());
}

}  // namespace

DType Value::dtype() const {
  const TensorMeta* meta = node_->tensor_meta();
  return meta == nullptr ? DType::kUnknown : meta->dtype;
}

int Value::dim() const {
  const TensorMeta* meta = node_->tensor_meta();
  return meta == nullptr || !meta->has_shape ? -1 : static_cast<int>(meta->shape.size());
}

Value Value::Call(absl::string_view target, absl::Span<const Argument> args,
                  absl::Span<const KwArg> kwargs) const {
  std::vector<Argument> all = {node_};
  all.insert(all.end(), args.begin(), args.end());
  Graph* const graph = node_->graph();
  if (absl::StrContains(target, '.')) return CallFunction(graph, target, all, kwargs, promotion_);
  Node* const node = graph->CallMethod(target, all, kwargs);
  SetMeta(node);
  return Value(node, promotion_);
}

Value CallOperator(absl::string_view name, const Argument& a, const Argument& b,
                   Promotion promotion) {
  CHECK_SAYS(a.is_node() || b.is_node(), "no operand of operator.%.*s is a node",
             static_cast<int>(name.size()), name.data());
  Argument left = a, right = b;
  if (promotion == Promotion::kPaddle) {
    const bool reflected = !a.is_node();
    const Argument& other = reflected ? a : b;
    if (other.is_int() || other.is_float() || other.is_bool()) {
      return WithNumber(name, Value((reflected ? b : a).node(), promotion), other, reflected);
    }
    if (a.is_node() && b.is_node()) {
      Value x(a.node(), promotion), y(b.node(), promotion);
      if (name == "truediv" && IsWhole(x.dtype()) && IsWhole(y.dtype())) x = x.To(DType::kFloat32);
      const bool differ = x.dtype() != DType::kUnknown && y.dtype() != DType::kUnknown;
      if (differ && x.dtype() != y.dtype()) y = y.To(x.dtype());
      left = x;
      right = y;
    }
  }
  Graph* const graph = (a.is_node() ? a : b).node()->graph();
  return CallFunction(graph, absl::StrCat("operator.", name), {left, right}, {}, promotion);
}

Value Value::operator-() const { return Call("operator.neg"); }
Value Value::operator+() const { return Call("operator.pos"); }
Value Value::operator~() const { return Call("operator.invert"); }
Value Value::Abs() const { return Call("abs"); }
Value Value::FloorDivide(const Argument& other) const {
  return CallOperator("floordiv", *this, other, promotion_);
}
Value Value::Pow(const Argument& other) const {
  return CallOperator("pow", *this, other, promotion_);
}
Value Value::MatMul(const Argument& other) const {
  return CallOperator("matmul", *this, other, promotion_);
}
Value Value::operator[](const Argument& index) const { return Call("operator.getitem", {index}); }
void Value::Set(const Argument& index, const Argument& value) const {
  node_->graph()->CallFunction("operator.setitem", {node_, index, value});
}

Value Value::Reshape(absl::Span<const Argument> sizes) const {
  return Call("reshape", {Argument::Tuple(sizes)});
}
Value Value::Permute(absl::Span<const Argument> dims) const {
  return Call("permute", {Argument::Tuple(dims)});
}
Value Value::Transpose(int64_t a, int64_t b) const { return Call("transpose", {a, b}); }
Value Value::T() const { return Call("builtins.getattr", {"T"}); }
Value Value::To(DType dtype) const { return Call("to", {dtype}); }
Value Value::Clone() const { return Call("clone"); }
Value Value::Size(int64_t dim) const { return Call("size", {dim}); }
Value Value::Item() const { return Call("item"); }

}  // namespace graphnet
