#include "graphnet/facts/shapes/tensor_facts.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graphnet/base/check.h"
#include "graphnet/facts/shapes/call_facts.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

using Kind = TensorFacts::Kind;

// PyTorch's categories of dtypes.
enum class Reach : uint8_t { kNone, kBool, kInt, kFloat, kComplex, kUnknown };

Reach ReachOf(DType dtype) {
  switch (dtype) {
    case DType::kBool: return Reach::kBool;
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64: return Reach::kInt;
    case DType::kComplex32:
    case DType::kComplex64:
    case DType::kComplex128: return Reach::kComplex;
    default: return IsFloatingPoint(dtype) ? Reach::kFloat : Reach::kUnknown;
  }
}
Reach ReachOf(const Argument& number) {
  if (number.is_none()) return Reach::kNone;
  if (number.is_bool()) return Reach::kBool;
  if (number.is_int()) return Reach::kInt;
  if (number.is_float()) return Reach::kFloat;
  const Schema* schema = number.is_node() ? FindOverload(number.node()->target()) : nullptr;
  const bool is_int = schema != nullptr && schema->returns.size() == 1 &&
                      schema->returns[0].kind == SchemaType::Kind::kInt;
  return is_int ? Reach::kInt : Reach::kUnknown;
}

// Returns the dtype to which two tensors promote that both have or both lack dimensions.
DType Promoted(DType a, DType b) {
  if (ReachOf(a) < ReachOf(b)) std::swap(a, b);
  const auto is = [&](DType x) { return a == x || b == x; };
  if (ReachOf(a) == Reach::kComplex && is(DType::kFloat64)) return DType::kComplex128;
  if (a == b || ReachOf(b) < std::min(ReachOf(a), Reach::kFloat)) return a;
  for (const DType wide : {DType::kComplex128, DType::kComplex64, DType::kFloat64, DType::kFloat32,
                           DType::kInt64, DType::kInt32, DType::kInt16}) {
    if (is(wide)) return wide;
  }
  if (is(DType::kFloat16) && is(DType::kBFloat16)) return DType::kFloat32;
  return is(DType::kUInt8) && is(DType::kInt8) ? DType::kInt16 : DType::kUnknown;
}

// Collects the tensor operands and returns the highest category of the numbers.
Reach TakeArguments(CallFacts* call) {
  Reach number = Reach::kNone;
  for (const SchemaArgument& parameter : call->schema.arguments) {
    const bool is_number =
        parameter.type.kind == SchemaType::Kind::kScalar && parameter.name != "alpha";
    if (!is_number && parameter.type.kind != SchemaType::Kind::kTensor) continue;
    const Argument value = (*call)[parameter.name];
    if (value.is_none()) continue;
    if (value.is_sequence()) {
      for (const Argument& element : value.elements()) {
        if (element.is_node()) call->tensors.push_back(call->of(element));
      }
      continue;
    }
    TensorFacts facts = is_number ? TensorFacts::Other() : call->of(value);
    if (facts.kind == Kind::kOther) {
      number = std::max(number, ReachOf(value));
    } else if (parameter.name == "value") {
      continue;  // a tensor that holds one number
    } else if (parameter.name == "condition") {
      call->condition = std::move(facts);
    } else {
      call->tensors.push_back(std::move(facts));
    }
  }
  return number;
}

// Promotes like PyTorch: numbers count only if their category is higher than that of the tensors.
DType Common(const CallFacts& call, Reach number) {
  const DType made = CommonDType(call.tensors);
  const Reach reach = ReachOf(made);
  if (number <= reach) return made;
  // A computed number is never complex.
  if (number == Reach::kUnknown && reach == Reach::kFloat) return made;
  return reach == Reach::kUnknown  ? DType::kUnknown
         : number == Reach::kInt   ? DType::kInt64
         : number == Reach::kFloat ? DType::kFloat32
                                   : DType::kUnknown;
}

DType TypeOfResult(const CallFacts& call, Reach number) {
  // A written tensor keeps its dtype.
  if (!call.schema.arguments.empty() && call.schema.arguments[0].type.is_mutated)
    return call.tensor(0).dtype;
  if (const Argument given = call["dtype"]; !given.is_none())
    return given.kind() == Argument::Kind::kDType ? given.dtype() : DType::kUnknown;
  if (const Argument wide = call["half_to_float"]; wide.is_bool() && wide.boolean())
    return DType::kFloat32;
  absl::string_view type = call.rule.type;
  if (IsPointwise(call.schema)) {
    if (type == "-" && call.rule.sizes != "broadcast") type = "float";
    if (type == "picked") type = "common";  // max(x, y)
  }
  const DType first = call.tensor(0).dtype;
  if (type == "-") return DType::kUnknown;
  if (type == "bool")
    return call.rule.sizes == "reduce" && first == DType::kUInt8 ? first : DType::kBool;
  if (type == "i64") return DType::kInt64;
  if (type == "f32") return DType::kFloat32;
  if (type == "first" || type == "picked") return first;
  if (type == "second") return call.tensor(1).dtype;
  if (type == "to") return call["other"].is_none() ? first : call.tensor(1).dtype;
  if (type == "sum") return ReachOf(first) <= Reach::kInt ? DType::kInt64 : first;
  if (type == "alike") {
    // A weight tells the dtype of an input whose dtype is unknown.
    DType alike = DType::kUnknown;
    for (const TensorFacts& tensor : call.tensors) {
      if (alike == DType::kUnknown) alike = tensor.dtype;
      if (tensor.dtype != DType::kUnknown && tensor.dtype != alike) return DType::kUnknown;
    }
    return alike;
  }
  if (type == "given") {
    Reach reach = Reach::kNone;
    for (const absl::string_view part : {"start", "end", "step", "fill_value"})
      reach = std::max(reach, ReachOf(call[part]));
    return reach == Reach::kBool    ? DType::kBool
           : reach == Reach::kInt   ? DType::kInt64
           : reach == Reach::kFloat ? DType::kFloat32
                                    : DType::kUnknown;
  }
  const bool is_quotient = type == "quotient";
  // A test checks all rows.
  CHECK(type == "common" || type == "float" || is_quotient || type == "real");
  const DType common = Common(call, type == "float" || is_quotient ? Reach::kNone : number);
  const Reach reach = ReachOf(common);
  if (reach == Reach::kFloat) return common;
  const bool is_exact = call["rounding_mode"].is_none();
  if (is_quotient && is_exact && (reach == Reach::kInt || reach == Reach::kBool))
    return DType::kFloat32;
  if (type == "float" || is_quotient || (type == "real" && reach == Reach::kComplex))
    return DType::kUnknown;
  return common;
}

// All operands are on one device, except those without dimensions.
std::optional<Device> DeviceOfResult(const CallFacts& call) {
  const Argument given = call["device"];
  if (given.kind() == Argument::Kind::kDevice) return given.device();
  for (const TensorFacts& tensor : call.tensors) {
    if (tensor.device.has_value() && tensor.rank() != 0) return tensor.device;
  }
  // A new tensor is on the CPU by default.
  if (call.tensors.empty() && call.has("device")) return Device{DeviceType::kCpu, -1};
  return std::nullopt;
}

}  // namespace

DType CommonDType(absl::Span<const TensorFacts> tensors) {
  if (tensors.empty()) return DType::kUnknown;
  DType made = tensors[0].dtype;
  DType without = DType::kUnknown;
  if (absl::c_all_of(tensors, [&](const TensorFacts& t) { return t.dtype == made; })) return made;
  made = DType::kUnknown;
  for (const TensorFacts& tensor : tensors) {
    if (tensor.dtype == DType::kUnknown || tensor.rank() < 0) return DType::kUnknown;
    DType& into = tensor.rank() == 0 ? without : made;
    into = into == DType::kUnknown ? tensor.dtype : Promoted(into, tensor.dtype);
    if (into == DType::kUnknown) return into;
  }
  if (made == DType::kUnknown || (without != DType::kUnknown && ReachOf(without) > ReachOf(made))) {
    if (ReachOf(made) == Reach::kFloat)
      return DType::kUnknown;  // a complex dtype of the same width
    made = without;
  }
  return made;
}

TensorFacts TensorFacts::Tensor(int rank, DType dtype) {
  TensorFacts facts{Kind::kTensor, dtype, {}, {}};
  facts.set_rank(rank);
  return facts;
}

void TensorFacts::set_rank(int rank) {
  sizes.reset();
  if (rank >= 0) sizes.emplace(static_cast<size_t>(rank), -1);
}

bool TensorFacts::is_static() const {
  return sizes.has_value() && absl::c_all_of(*sizes, [](int64_t size) { return size >= 0; });
}

TensorFacts FactsOfMeta(const TensorMeta* meta) {
  if (meta == nullptr) return {};
  TensorFacts facts{Kind::kTensor, meta->dtype, {}, {}};
  if (meta->has_device) facts.device = meta->device;
  if (meta->has_shape) {
    facts.sizes.emplace();
    for (const Dim& dim : meta->shape) facts.sizes->push_back(dim.is_static() ? dim.value : -1);
  }
  return facts;
}

TensorFacts FactsOfCall(const Node& node, const Schema& schema, FactsOfArgument of,
                        std::vector<TensorFacts>* elements) {
  const bool yields_tensors =
      !schema.returns.empty() && absl::c_all_of(schema.returns, [](const SchemaType& type) {
        return type.kind == SchemaType::Kind::kTensor;
      });
  if (!yields_tensors) return TensorFacts::Other();
  CallFacts call{node, schema, ResultRuleOf(schema.name), of, {}, {}};
  const Reach number = TakeArguments(&call);
  TensorFacts facts;
  facts.kind = schema.yields_tuple() ? Kind::kList : Kind::kTensor;
  facts.dtype = TypeOfResult(call, number);
  facts.device = DeviceOfResult(call);
  facts.sizes = SizesOfResult(call);
  if (facts.is_tensor()) return facts;
  TensorFacts one = facts;
  one.kind = Kind::kTensor;
  if (schema.returns.size() == 1) {
    if (elements == nullptr || !facts.sizes.has_value()) return facts;
    for (Sizes& sizes : SizesOfPieces(call, *facts.sizes)) {
      elements->push_back(one);
      elements->back().sizes = std::move(sizes);
    }
    return facts;
  }
  // If results differ, only the first one is known for most operators.
  const bool is_picked = call.rule.type == "picked";
  const bool are_alike = is_picked || call.rule.sizes == "reduce";
  std::vector<TensorFacts> made(schema.returns.size(),
                                are_alike ? one : TensorFacts{Kind::kTensor});
  made[0] = one;
  if (is_picked) made[1].dtype = DType::kInt64;
  if (elements != nullptr) *elements = made;
  if (made[0].dtype != made[1].dtype) facts.dtype = DType::kUnknown;
  if (!are_alike) facts.sizes.reset();
  return facts;
}

Argument ArgumentOf(const Node& call, const Schema& schema, absl::string_view parameter) {
  const int i = schema.IndexOf(parameter);
  if (i < 0) return Argument();
  const Argument* given = schema.Given(call, static_cast<size_t>(i));
  return given != nullptr ? *given : schema.arguments[static_cast<size_t>(i)].default_value;
}

std::optional<Sizes> NumbersOf(const Argument& list) {
  if (!list.is_sequence()) return std::nullopt;
  Sizes numbers;
  for (const Argument& element : list.elements()) {
    if (!element.is_int()) return std::nullopt;
    numbers.push_back(element.integer());
  }
  return numbers;
}

std::optional<std::vector<size_t>> DimsOf(const Argument& dims, int rank) {
  std::vector<size_t> made;
  if (dims.is_none()) return made;
  for (const Argument& dim : dims.is_sequence() ? dims.elements() : absl::MakeConstSpan(&dims, 1)) {
    if (!dim.is_int()) return std::nullopt;
    const int64_t at = dim.integer() < 0 ? dim.integer() + rank : dim.integer();
    if (at < 0 || at >= rank) return std::nullopt;
    made.push_back(static_cast<size_t>(at));
  }
  return made;
}

std::string OutputOfEinsum(absl::string_view equation) {
  std::string text(equation);
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  if (const size_t arrow = text.find("->"); arrow != std::string::npos)
    return text.substr(arrow + 2);
  std::string letters;
  for (const char c : text) {
    if (absl::ascii_isalpha(static_cast<unsigned char>(c)) && absl::c_count(text, c) == 1)
      letters += c;
  }
  absl::c_sort(letters);
  return absl::StrCat(absl::StrContains(text, "...") ? "..." : "", letters);
}

}  // namespace graphnet
