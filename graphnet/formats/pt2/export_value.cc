#include "graphnet/formats/pt2/export_value.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/check.h"
#include "graphnet/base/python_numbers.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/pt2/export_containers.h"

namespace graphnet::pt2 {
namespace {

using Kind = ExportValue::Kind;
using Result = absl::StatusOr<std::optional<ExportValue>>;

// Maps TorchScript's operators on numbers to Python's functions.
absl::string_view PythonFunction(absl::string_view name) {
  static const auto* const kFunctions =
      new absl::flat_hash_map<absl::string_view, absl::string_view>{
          {"add", "operator.add"},
          {"sub", "operator.sub"},
          {"mul", "operator.mul"},
          {"div", "operator.truediv"},
          {"floordiv", "operator.floordiv"},
          {"floor_divide", "operator.floordiv"},
          {"remainder", "operator.mod"},
          {"neg", "operator.neg"},
          {"pow", "operator.pow"},
          {"eq", "operator.eq"},
          {"ne", "operator.ne"},
          {"lt", "operator.lt"},
          {"le", "operator.le"},
          {"gt", "operator.gt"},
          {"ge", "operator.ge"},
          {"ceil", "math.ceil"},
          {"floor", "math.floor"},
          {"sqrt", "math.sqrt"},
          {"__not__", "operator.not_"},
          {"__and__", "operator.and_"},
          {"__or__", "operator.or_"},
          {"__xor__", "operator.xor"},
          {"__lshift__", "operator.lshift"},
          {"__rshift__", "operator.rshift"},
          {"Bool", "builtins.bool"},
          {"Int", "builtins.int"},
          {"Float", "builtins.float"},
          {"round", "builtins.round"},
          {"abs", "builtins.abs"},
          {"sym_max", "torch.sym_max"},
          {"sym_min", "torch.sym_min"},
          {"max", "torch.sym_max"},
          {"min", "torch.sym_min"},
      };
  const auto it = kFunctions->find(name);
  return it == kFunctions->end() ? "" : it->second;
}

python::Number NumberOf(const ExportValue& value) {
  if (value.literal.is_bool()) return value.literal.boolean();
  if (value.literal.is_int()) return value.literal.integer();
  return value.literal.real();
}

ExportValue ValueOf(const python::Number& number) {
  return std::visit([](auto n) { return ExportValue(Argument(n)); }, number);
}

ExportValue ScalarOf(int64_t number) {
  ExportValue value{Argument(number)};
  value.kind = Kind::kScalar;
  return value;
}

Result Call(absl::string_view function, absl::Span<const ExportValue> args) {
  const python::Function* const found = python::FindFunction(function);
  if (found == nullptr || static_cast<int>(args.size()) < found->min_args ||
      static_cast<int>(args.size()) > found->max_args) {
    return std::nullopt;
  }
  std::vector<python::Number> numbers;
  for (const ExportValue& arg : args) numbers.push_back(NumberOf(arg));
  ASSIGN_OR_RETURN(const python::Number number, found->call(numbers));
  return ValueOf(number);
}

std::optional<size_t> IndexOf(const ExportValue& index, size_t size) {
  if (!index.is_int()) return std::nullopt;
  const int64_t n = static_cast<int64_t>(size);
  const int64_t i =
      index.literal.integer() < 0 ? index.literal.integer() + n : index.literal.integer();
  if (i < 0 || i >= n) return std::nullopt;
  return static_cast<size_t>(i);
}

// Returns whether two values are equal; nullopt if unknown. Each pair of lists is compared once.
std::optional<bool> AreEqual(const ExportValue& a, const ExportValue& b) {
  using Elements = ExportValue::Elements;
  absl::flat_hash_set<std::pair<const Elements*, const Elements*>> seen;
  std::vector<std::pair<const ExportValue*, const ExportValue*>> pending = {{&a, &b}};
  while (!pending.empty()) {
    const auto [x, y] = pending.back();
    pending.pop_back();
    bool equal = false;
    if (x->is_number() && y->is_number()) {
      equal = python::Compare(NumberOf(*x), NumberOf(*y)) == std::partial_ordering::equivalent;
    } else if (x->is_literal() && y->is_literal()) {
      equal = x->literal == y->literal;
    } else if (x->is_sequence() && y->is_sequence()) {
      equal = x->elements->size() == y->elements->size();
      if (equal && seen.emplace(x->elements.get(), y->elements.get()).second) {
        // The first comes next.
        for (size_t i = x->elements->size(); i-- > 0;) {
          pending.emplace_back(&(*x->elements)[i], &(*y->elements)[i]);
        }
      }
    } else {
      return std::nullopt;
    }
    if (!equal) return false;
  }
  return true;
}

const TensorMeta* MetaOf(const ExportValue& value) {
  return value.kind == Kind::kTensor ? value.meta : nullptr;
}

Result Size(const ExportValue& tensor, const ExportValue& index) {
  const TensorMeta* const meta = MetaOf(tensor);
  if (meta == nullptr || !meta->has_shape) return std::nullopt;
  const std::optional<size_t> i = IndexOf(index, meta->shape.size());
  if (!i || !meta->shape[*i].is_static()) return std::nullopt;
  return ExportValue(Argument(meta->shape[*i].value));
}

absl::Status Charge(uint64_t elements, Budget* budget) {
  if (budget->Charge(elements)) return absl::OkStatus();
  return absl::InvalidArgumentError("its lists and texts are too large");
}

// list[start:end:step]
Result Slice(absl::Span<const ExportValue> args, Budget* budget) {
  const std::vector<ExportValue>& from = *args[0].elements;
  const int64_t n = static_cast<int64_t>(from.size());
  int64_t bounds[3] = {0, n, 1};
  for (size_t i = 1; i < args.size() && i < 4; ++i) {
    if (args[i].is_none()) continue;
    if (!args[i].is_int()) return std::nullopt;
    bounds[i - 1] = args[i].literal.integer();
  }
  if (bounds[2] < 1) return std::nullopt;
  for (int64_t* const bound : {&bounds[0], &bounds[1]}) {
    *bound = std::clamp<int64_t>(*bound < 0 ? *bound + n : *bound, 0, n);
  }
  RETURN_IF_ERROR(Charge(from.size(), budget));
  std::vector<ExportValue> part;
  for (int64_t i = bounds[0]; i < bounds[1];) {
    part.push_back(from[static_cast<size_t>(i)]);
    if (bounds[2] >= bounds[1] - i) break;  // The step may be any number.
    i += bounds[2];
  }
  return ExportValue::Sequence(args[0].kind, std::move(part));
}

Result GetItem(const ExportValue& container, const ExportValue& index) {
  if (container.is_sequence()) {
    const std::optional<size_t> i = IndexOf(index, container.elements->size());
    if (i) return (*container.elements)[*i];
    if (!index.is_int()) return std::nullopt;
    return absl::InvalidArgumentError(
        absl::StrCat("the sequence has no element ", index.literal.integer()));
  }
  if (container.kind == Kind::kDict) {
    for (size_t i = 0; i + 1 < container.elements->size(); i += 2) {
      const std::optional<bool> equal = AreEqual((*container.elements)[i], index);
      if (!equal) return std::nullopt;
      if (*equal) return (*container.elements)[i + 1];
    }
  }
  return std::nullopt;
}

// Call before `list` takes `value`: InvalidArgument if the list would then hold itself.
absl::Status CheckElement(const ExportValue& list, const ExportValue& value, Budget* budget) {
  using Elements = ExportValue::Elements;
  if (value.elements == nullptr) return absl::OkStatus();
  absl::Status status;
  SharedWalk<const Elements*> walk;
  const bool is_finite = walk.Run(
      value.elements.get(),
      [&](const Elements* whole, auto&& add) {
        if (whole == list.elements.get())
          status.Update(absl::InvalidArgumentError("a list would hold itself"));
        if (status.ok()) status = Charge(whole->size(), budget);
        if (!status.ok()) return;
        for (const ExportValue& element : *whole) {
          if (element.elements != nullptr) add(element.elements.get());
        }
      },
      [](const Elements*) {});
  CHECK(is_finite);
  return status;
}

// Computes operators on zero-dimensional int tensors; traced programs compute sizes with them.
Result ComputeScalars(absl::string_view name, absl::Span<const ExportValue> args) {
  if (args.empty()) return std::nullopt;
  for (const ExportValue& arg : args.subspan(0, std::min<size_t>(args.size(), 2))) {
    if (arg.kind != Kind::kScalar && !arg.is_int()) return std::nullopt;
  }
  const int64_t a = args[0].literal.integer();
  if (args.size() == 1) {
    if (name == "Int" || name == "IntImplicit" || name == "ScalarImplicit" || name == "item" ||
        name == "_local_scalar_dense") {
      return ExportValue(Argument(a));
    }
    if (name == "Float") return ExportValue(Argument(static_cast<double>(a)));
    if (name == "Bool") return ExportValue(Argument(a != 0));
    if (name == "detach" || name == "clone") return args[0];
    if (name == "neg") return ScalarOf(-a);
    return std::nullopt;
  }
  if (!args[1].literal.is_int()) return std::nullopt;
  const int64_t b = args[1].literal.integer();
  const int64_t alpha = args.size() > 2 && args[2].is_int() ? args[2].literal.integer() : 1;
  std::optional<int64_t> result;
  if (name == "mul") result = python::Multiply(a, b);
  if (name == "add") result = python::Add(a, alpha * b);
  if (name == "sub") result = python::Subtract(a, alpha * b);
  if (name == "rsub") result = python::Subtract(b, alpha * a);
  if (name == "remainder") result = python::Modulo(a, b);
  if (name == "floor_divide") result = python::FloorDivide(a, b);
  if (name == "div" && args.size() > 2 && args[2].is_string() &&
      args[2].literal.string() == "floor") {
    result = python::FloorDivide(a, b);
  }
  if (!result) return std::nullopt;
  return ScalarOf(*result);
}

Result ComputeLists(absl::string_view name, absl::Span<const ExportValue> args, Budget* budget) {
  const std::vector<ExportValue>& list = *args[0].elements;
  if (name == "len" && args.size() == 1) {
    const size_t size = args[0].kind == Kind::kDict ? list.size() / 2 : list.size();
    return ExportValue(Argument(size));
  }
  if (name == "__getitem__" && args.size() == 2) return GetItem(args[0], args[1]);
  if (args[0].kind == Kind::kDict) {
    if (name == "__contains__" && args.size() == 2) {
      for (size_t i = 0; i + 1 < list.size(); i += 2) {
        const std::optional<bool> equal = AreEqual(list[i], args[1]);
        if (!equal) return std::nullopt;
        if (*equal) return ExportValue(Argument(true));
      }
      return ExportValue(Argument(false));
    }
    return std::nullopt;
  }
  if (name == "slice") return Slice(args, budget);
  if (name == "append" && args.size() == 2) {
    RETURN_IF_ERROR(CheckElement(args[0], args[1], budget));
    args[0].elements->push_back(args[1]);
    return args[0];
  }
  if (name == "_set_item" && args.size() == 3) {
    const std::optional<size_t> i = IndexOf(args[1], list.size());
    if (!i) return std::nullopt;
    RETURN_IF_ERROR(CheckElement(args[0], args[2], budget));
    (*args[0].elements)[*i] = args[2];
    return args[0];
  }
  if ((name == "copy" || name == "list") && args.size() == 1) {
    RETURN_IF_ERROR(Charge(list.size(), budget));
    return ExportValue::Sequence(Kind::kList, list);
  }
  if (name == "add" && args.size() == 2 && args[1].is_sequence()) {
    RETURN_IF_ERROR(Charge(list.size() + args[1].elements->size(), budget));
    std::vector<ExportValue> all = list;
    all.insert(all.end(), args[1].elements->begin(), args[1].elements->end());
    return ExportValue::Sequence(args[0].kind, std::move(all));
  }
  if (name == "__contains__" && args.size() == 2) {
    for (const ExportValue& element : list) {
      const std::optional<bool> equal = AreEqual(element, args[1]);
      if (!equal) return std::nullopt;
      if (*equal) return ExportValue(Argument(true));
    }
    return ExportValue(Argument(false));
  }
  if ((name == "eq" || name == "ne") && args.size() == 2) {
    const std::optional<bool> equal = AreEqual(args[0], args[1]);
    if (!equal) return std::nullopt;
    return ExportValue(Argument(*equal == (name == "eq")));
  }
  const bool numbers = std::all_of(list.begin(), list.end(),
                                   [](const ExportValue& value) { return value.is_number(); });
  if (args.size() == 1 && numbers && !list.empty()) {
    const absl::string_view function = name == "sum"   ? "operator.add"
                                       : name == "max" ? "torch.sym_max"
                                       : name == "min" ? "torch.sym_min"
                                                       : "";
    if (function.empty()) return std::nullopt;
    ExportValue all = list[0];
    for (size_t i = 1; i < list.size(); ++i) {
      ASSIGN_OR_RETURN(const std::optional<ExportValue> next, Call(function, {all, list[i]}));
      if (!next) return std::nullopt;
      all = *next;
    }
    return all;
  }
  return std::nullopt;
}

// "{} and {}".format(…) of values that print alike everywhere. A text may be made of others, so texts
// can double from call to call: their bytes are charged.
Result Format(absl::Span<const ExportValue> args, Arena* arena, Budget* budget) {
  if (!args[0].is_string()) return std::nullopt;
  std::string text;
  absl::string_view rest = args[0].literal.string();
  for (const ExportValue& arg : args.subspan(1)) {
    const size_t at = rest.find("{}");
    if (at == absl::string_view::npos) break;
    absl::StrAppend(&text, rest.substr(0, at));
    if (arg.is_int()) {
      absl::StrAppend(&text, arg.literal.integer());
    } else if (arg.is_string()) {
      RETURN_IF_ERROR(Charge(arg.literal.string().size(), budget));
      absl::StrAppend(&text, arg.literal.string());
    } else {
      return std::nullopt;
    }
    rest.remove_prefix(at + 2);
  }
  RETURN_IF_ERROR(Charge(rest.size(), budget));
  absl::StrAppend(&text, rest);
  return ExportValue(Argument(arena->Copy(absl::string_view(text))));
}

Result ComputeProperty(absl::string_view name, const ExportValue& tensor) {
  const TensorMeta* const meta = MetaOf(tensor);
  if (meta == nullptr) return std::nullopt;
  if (name == "dtype" && meta->dtype != DType::kUnknown) {
    return ExportValue(Argument(meta->dtype));
  }
  // An unknown device is taken for the CPU, as it is written.
  if (name == "device") return ExportValue(Argument(meta->device));
  if (name == "layout") return ExportValue(Argument(Layout::kStrided));
  if (name == "is_cuda") {
    return ExportValue(Argument(meta->device.type == DeviceType::kCuda));
  }
  // A meta only describes dense tensors.
  if (name == "is_nested" || name == "is_sparse" || name == "is_sparse_csr" ||
      name == "is_mkldnn" || name == "is_quantized") {
    return ExportValue(Argument(false));
  }
  if (!meta->has_shape) return std::nullopt;
  if (name == "ndim") return ExportValue(Argument(meta->shape.size()));
  return std::nullopt;
}

}  // namespace

ExportValue ExportValue::Sequence(Kind kind, Elements elements) {
  // Lists may nest deeper than the stack allows, so they are released one after the other.
  const auto release = [](Elements* last) {
    static thread_local std::vector<std::unique_ptr<Elements>>* waiting = nullptr;
    std::unique_ptr<Elements> next(last);
    if (waiting != nullptr) return waiting->push_back(std::move(next));
    std::vector<std::unique_ptr<Elements>> all;
    waiting = &all;
    for (; next != nullptr;) {
      next.reset();  // Lists that only this one holds join `waiting`.
      if (all.empty()) break;
      next = std::move(all.back());
      all.pop_back();
    }
    waiting = nullptr;
  };
  ExportValue value;
  value.kind = kind;
  value.elements = std::shared_ptr<Elements>(new Elements(std::move(elements)), release);
  return value;
}

std::optional<Expansion> ExpansionOf(const ExportValue& value) {
  if (value.elements == nullptr) return Expansion{.size = 1};
  Expansions<const ExportValue::Elements*> expansions;
  return expansions.Of(value.elements.get(),
                       [](const ExportValue::Elements* whole, auto&& add) -> uint64_t {
                         for (const ExportValue& element : *whole) {
                           if (element.elements != nullptr) add(element.elements.get());
                         }
                         return whole->size();
                       });
}

Result ComputeCall(absl::string_view target, absl::Span<const ExportValue> args, Arena* arena,
                   Budget* budget) {
  const bool all_numbers =
      !args.empty() && std::all_of(args.begin(), args.end(),
                                   [](const ExportValue& value) { return value.is_number(); });
  if (target == "operator.getitem" && args.size() == 2) return GetItem(args[0], args[1]);
  if (target == "builtins.getattr" && args.size() == 2 && args[1].is_string()) {
    return ComputeProperty(args[1].literal.string(), args[0]);
  }
  if (target == "operator.is_" && args.size() == 2 && args[1].is_none() &&
      (args[0].is_literal() || args[0].is_tensor())) {
    return ExportValue(Argument(args[0].is_none()));
  }
  if (all_numbers && python::FindFunction(target) != nullptr) return Call(target, args);

  absl::string_view name = target;
  const bool is_prim = absl::ConsumePrefix(&name, "prim.");
  if (!is_prim && !absl::ConsumePrefix(&name, "aten.")) return std::nullopt;
  name = name.substr(0, name.find('.'));
  if (name == "ListConstruct") {
    return ExportValue::Sequence(Kind::kList, {args.begin(), args.end()});
  }
  if (name == "TupleConstruct") {
    return ExportValue::Sequence(Kind::kTuple, {args.begin(), args.end()});
  }
  ASSIGN_OR_RETURN(std::optional<ExportValue> contained, ComputeContainer(name, args, arena));
  if (contained) return *std::move(contained);
  // Programs are written as they run under no_grad, outside of autocast.
  if (name == "is_grad_enabled" || name == "is_autocast_enabled" ||
      name == "is_autocast_cpu_enabled") {
    return ExportValue(Argument(false));
  }
  if (args.empty()) return std::nullopt;
  const ExportValue& first = args[0];
  if (name == "warn") return ExportValue();
  if (name == "format") return Format(args, arena, budget);
  if (target == "prim.isinstance" && args.size() == 2 && first.is_tensor() &&
      args[1].is_sequence()) {
    bool is_tensor = false;
    for (const ExportValue& type : *args[1].elements) {
      if (!type.is_string()) return std::nullopt;
      is_tensor = is_tensor || type.literal.string() == "Tensor";
    }
    return ExportValue(Argument(is_tensor));
  }
  if (name == "str" && args.size() == 1 && first.is_literal() &&
      first.literal.kind() == Argument::Kind::kDevice) {
    const std::string text = DeviceName(first.literal.device());
    return ExportValue(Argument(arena->Copy(absl::string_view(text))));
  }
  if (target == "prim.type.default" && args.size() == 1 && first.is_literal() &&
      first.literal.kind() == Argument::Kind::kDevice) {
    return ExportValue(Argument(DeviceTypeName(first.literal.device().type)));
  }
  if (is_prim) {
    if (name == "NumToTensor" && first.is_int()) return ScalarOf(first.literal.integer());
    if (name == "unchecked_cast" && args.size() == 1) return first;
    if (args.size() == 1 && first.kind == Kind::kTensor) {
      Result property = ComputeProperty(name, first);
      if (!property.ok() || *property) return property;
    }
  }
  if ((name == "__is__" || name == "__isnot__") && args.size() == 2 &&
      (first.is_none() || args[1].is_none())) {
    const ExportValue& other = first.is_none() ? args[1] : first;
    return ExportValue(Argument(other.is_none() == (name == "__is__")));
  }
  if (first.kind == Kind::kTensor) {
    if ((name == "size" || name == "sym_size") && args.size() == 2) return Size(first, args[1]);
    if ((name == "dim" || name == "len" || name == "sym_numel" || name == "numel") &&
        args.size() == 1) {
      const TensorMeta* const meta = MetaOf(first);
      if (meta == nullptr || !meta->has_shape) return std::nullopt;
      if (name == "dim") return ExportValue(Argument(meta->shape.size()));
      if (name == "len") return Size(first, Argument(0));
      if (!meta->is_static()) return std::nullopt;
      int64_t count = 1;
      for (const Dim& dim : meta->shape) count *= dim.value;
      return ExportValue(Argument(count));
    }
    return std::nullopt;
  }
  const bool has_scalar = std::any_of(args.begin(), args.end(), [](const ExportValue& value) {
    return value.kind == Kind::kScalar;
  });
  if (has_scalar) return ComputeScalars(name, args);
  if (first.elements != nullptr) return ComputeLists(name, args, budget);
  if (all_numbers) {
    const absl::string_view function = PythonFunction(name);
    if (function.empty()) return std::nullopt;
    ASSIGN_OR_RETURN(std::optional<ExportValue> value, Call(function, args));
    // TorchScript rounds to floats, and its powers of ints are floats as a rule.
    const bool is_float = (name == "round" && target != "aten.round.Scalar") ||
                          (name == "pow" && target != "aten.pow.int_to_int");
    if (value && is_float && value->is_int()) return Call("builtins.float", {*value});
    return value;
  }
  if (args.size() == 2 && first.is_literal() && args[1].is_literal()) {
    if (name == "eq" || name == "ne") {
      return ExportValue(Argument((first.literal == args[1].literal) == (name == "eq")));
    }
    if (name == "add" && first.is_string() && args[1].is_string()) {
      const std::string text = absl::StrCat(first.literal.string(), args[1].literal.string());
      return ExportValue(Argument(arena->Copy(absl::string_view(text))));
    }
  }
  return std::nullopt;
}

}  // namespace graphnet::pt2
