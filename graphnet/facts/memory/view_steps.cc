#include "graphnet/facts/memory/view_steps.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"

namespace graphnet {
namespace {

using Inverse = ViewStep::Inverse;

// The kinds of views that operators make.
enum class ViewKind : uint8_t {
  kAlias,     // the same sizes
  kItself,    // its own inverse with the same arguments
  kSizes,     // other sizes, the same order of elements
  kMaySizes,  // like kSizes for a contiguous tensor; may be a copy of another one
  kMove,      // the inverse swaps source and destination
  kPermute,
  kUnsqueeze,
  kSlice,
  kNarrow,
  kSelect,
  kDiagonal,
  kExpand,
  kUnfold,
  kConjugate,
  kAdjoint,
  kComplexPart,
  kViewAsReal,
  kViewAsComplex,
};

std::optional<ViewKind> ViewKindOf(absl::string_view name) {
  static const auto* const table = new absl::flat_hash_map<absl::string_view, ViewKind>{
      {"alias", ViewKind::kAlias},
      {"detach", ViewKind::kAlias},
      {"lift_fresh", ViewKind::kAlias},
      {"t", ViewKind::kItself},
      {"transpose", ViewKind::kItself},
      {"swapaxes", ViewKind::kItself},
      {"swapdims", ViewKind::kItself},
      {"numpy_T", ViewKind::kItself},
      {"mT", ViewKind::kItself},
      {"mH", ViewKind::kAdjoint},
      {"matrix_H", ViewKind::kAdjoint},
      {"adjoint", ViewKind::kAdjoint},
      {"conj", ViewKind::kConjugate},
      {"_conj", ViewKind::kConjugate},
      {"resolve_conj", ViewKind::kConjugate},
      {"view", ViewKind::kSizes},
      {"_unsafe_view", ViewKind::kSizes},
      {"unflatten", ViewKind::kSizes},
      {"squeeze", ViewKind::kSizes},
      {"reshape", ViewKind::kMaySizes},
      {"_reshape_alias", ViewKind::kMaySizes},
      {"flatten", ViewKind::kMaySizes},
      {"ravel", ViewKind::kMaySizes},
      {"movedim", ViewKind::kMove},
      {"moveaxis", ViewKind::kMove},
      {"permute", ViewKind::kPermute},
      {"unsqueeze", ViewKind::kUnsqueeze},
      {"slice", ViewKind::kSlice},
      {"narrow", ViewKind::kNarrow},
      {"select", ViewKind::kSelect},
      {"diagonal", ViewKind::kDiagonal},
      {"linalg_diagonal", ViewKind::kDiagonal},
      {"expand", ViewKind::kExpand},
      {"broadcast_to", ViewKind::kExpand},
      {"unfold", ViewKind::kUnfold},
      {"real", ViewKind::kComplexPart},
      {"imag", ViewKind::kComplexPart},
      {"view_as_real", ViewKind::kViewAsReal},
      {"view_as_complex", ViewKind::kViewAsComplex},
  };
  const auto it = table->find(name);
  if (it == table->end()) return std::nullopt;
  return it->second;
}

bool IsComplex(DType dtype) {
  return dtype == DType::kComplex32 || dtype == DType::kComplex64 || dtype == DType::kComplex128;
}

// Returns the number of elements; -1 if it is unknown.
int64_t NumElements(const TensorFacts& facts) {
  if (!facts.sizes.has_value()) return -1;
  int64_t n = 1;
  for (const int64_t size : *facts.sizes) {
    if (size < 0 || __builtin_mul_overflow(n, size, &n)) return -1;
  }
  return n;
}

// Returns a dimension counted from 0; -1 if it or the rank is unknown, or if it is out of range.
int WrappedDim(const Argument& dim, int rank) {
  if (!dim.is_int() || rank < 0) return -1;
  const int64_t at = dim.integer() < 0 ? dim.integer() + rank : dim.integer();
  return at < 0 || at >= rank ? -1 : static_cast<int>(at);
}

// Like WrappedDim, as an argument; returns `dim` unchanged if it is unknown.
Argument Counted(const Argument& dim, int rank) {
  const int at = WrappedDim(dim, rank);
  return at < 0 ? dim : Argument(at);
}

int64_t SizeAt(const TensorFacts& facts, const Argument& dim) {
  const int at = WrappedDim(dim, facts.rank());
  return at < 0 ? -1 : (*facts.sizes)[static_cast<size_t>(at)];
}

TensorFacts FactsOfNode(const FactsTable& facts, const Argument* argument) {
  return argument != nullptr && argument->is_node() ? facts.Of(argument->node()) : TensorFacts();
}
TensorFacts FactsOfSelf(const FactsTable& facts, const Node& call, const Schema& schema) {
  return FactsOfNode(facts, schema.Given(call, size_t{0}));
}

// Whether a call that converts a tensor (to, type_as, to_dense, contiguous) really changes it.
enum class Conversion { kUnknown, kNone, kSome };

Conversion ConversionOf(const FactsTable& facts, const Node& call, const Schema& schema) {
  const TensorFacts self = FactsOfSelf(facts, call, schema);
  if (GivenOrDefault(call, schema, "copy") == Argument(true)) return Conversion::kSome;
  const bool is_like_other = schema.FindArgument("other") != nullptr;
  const TensorFacts other =
      is_like_other ? FactsOfNode(facts, schema.Given(call, "other")) : TensorFacts();
  DType dtype = self.dtype;
  const Argument to = GivenOrDefault(call, schema, "dtype");
  if (is_like_other) {
    dtype = other.dtype;
  } else if (!to.is_none()) {
    dtype = to.kind() == Argument::Kind::kDType ? to.dtype() : DType::kUnknown;
  }
  const bool keeps_dtype = to.is_none() && !is_like_other;
  if (!keeps_dtype && self.dtype != DType::kUnknown && dtype != DType::kUnknown &&
      dtype != self.dtype) {
    return Conversion::kSome;
  }
  if (!keeps_dtype && (dtype == DType::kUnknown || dtype != self.dtype))
    return Conversion::kUnknown;
  const Argument device = GivenOrDefault(call, schema, "device");
  if (is_like_other || !device.is_none()) {
    std::optional<Device> there = other.device;
    if (device.kind() == Argument::Kind::kDevice) there = device.device();
    // A device without an index is the current device.
    const bool is_known = there.has_value() && self.device.has_value() &&
                          (there->type == DeviceType::kCpu || there->index >= 0);
    if (is_known && there->type != self.device->type) return Conversion::kSome;
    const bool same = is_known && (there->type == DeviceType::kCpu || *there == *self.device);
    if (!same) return Conversion::kUnknown;
  }
  // A given layout must be the tensor's own, or PyTorch refuses the call.
  return GivenOrDefault(call, schema, "pin_memory") == Argument(true) ? Conversion::kUnknown
                                                                      : Conversion::kNone;
}

bool Converts(const Schema& schema) {
  return schema.name == "to" || schema.name == "type_as" || schema.name == "to_dense" ||
         schema.name == "contiguous";
}

// Returns whether dropout returns its operand; nullopt if that is unknown.
std::optional<bool> DropsNothingOf(const Node& call, const Schema& schema) {
  const Argument train = GivenOrDefault(call, schema, "train");
  const Argument p = GivenOrDefault(call, schema, "p");
  if (train == Argument(false) || p == Argument(0.0) || p == Argument(0)) return true;
  if (train == Argument(true) && (p.is_float() || p.is_int())) return false;
  return std::nullopt;
}

// Returns the number of tensors in a call's list; -1 if it is unknown.
int64_t NumTensors(const Node& call, const Schema& schema) {
  for (const SchemaArgument& parameter : schema.arguments) {
    if (parameter.type.kind != SchemaType::Kind::kTensor || !parameter.type.is_list) continue;
    const Argument* given = schema.Given(call, parameter.name);
    if (given == nullptr || (!given->is_list() && !given->is_tuple())) return -1;
    return static_cast<int64_t>(given->elements().size());
  }
  return -1;
}

// Returns whether an einsum equation sums elements of its only tensor.
bool Sums(absl::string_view equation, const TensorFacts& tensor) {
  const std::string out = OutputOfEinsum(equation);
  std::string letters;
  for (const char c : equation.substr(0, equation.find("->"))) {
    if (c != ' ') letters.push_back(c);
  }
  if (!tensor.sizes.has_value() || letters.size() != tensor.sizes->size()) return false;
  for (size_t i = 0; i < letters.size(); ++i) {
    // A letter that occurs twice means a diagonal.
    const bool is_summed = !absl::StrContains(out, letters[i]) &&
                           letters.find(letters[i]) == letters.rfind(letters[i]);
    if (is_summed && letters[i] != '.' && (*tensor.sizes)[i] > 1) return true;
  }
  return false;
}

// For an operator that may return its operand although its schema does not say so: returns whether
// it does, as far as facts tell; nullopt if it may return the operand or a part of it.
std::optional<bool> HandsOn(const FactsTable& facts, const Node& call, const Schema& schema) {
  const absl::string_view name = schema.name;
  const TensorFacts self = FactsOfSelf(facts, call, schema);
  if (absl::EndsWith(name, "dropout") && schema.returns.size() == 1)
    return DropsNothingOf(call, schema);
  if (name == "conj_physical") {
    if (self.dtype == DType::kUnknown) return std::nullopt;
    return !IsComplex(self.dtype);
  }
  for (const auto& [function, rank] :
       {std::pair("atleast_1d", 1), std::pair("atleast_2d", 2), std::pair("atleast_3d", 3)}) {
    if (name == function && self.rank() >= rank) return true;
  }
  if (name == "sum_to_size") {
    const std::optional<Sizes> size = NumbersOf(GivenOrDefault(call, schema, "size"));
    if (size.has_value() && self.is_static()) return *self.sizes == *size;
  }
  // These make a new tensor if they take several.
  if (name == "chain_matmul" || name == "cartesian_prod" || name == "einsum") {
    if (NumTensors(call, schema) > 1) return false;
  }
  if (name == "einsum" && NumTensors(call, schema) == 1) {
    const Argument equation = GivenOrDefault(call, schema, "equation");
    const Argument& tensor = schema.Given(call, "tensors")->elements()[0];
    if (equation.is_string() && Sums(equation.string(), FactsOfNode(facts, &tensor))) return false;
  }
  return std::nullopt;
}

}  // namespace

Argument GivenOrDefault(const Node& call, const Schema& schema, absl::string_view name) {
  if (const Argument* given = schema.Given(call, name)) return *given;
  const SchemaArgument* parameter = schema.FindArgument(name);
  return parameter == nullptr ? Argument() : parameter->default_value;
}

ViewStep ViewReader::Slice(int rank, const Argument& dim, const Argument& start,
                           const Argument& end, const Argument& step) const {
  constexpr Argument::Kind kInt = Argument::Kind::kInt;
  const bool to_end = end.kind() == kInt && end.integer() == std::numeric_limits<int64_t>::max();
  std::vector<Argument> args = {Counted(dim, rank), start.is_none() ? Argument(0) : start,
                                to_end ? Argument() : end};
  if (step != Argument(1)) args.push_back(step);
  const absl::Span<const Argument> kept = Keep(args);
  return {"aten.slice.Tensor", kept, Inverse::kScatter, "aten.slice_scatter.default", kept};
}

ViewStep ViewReader::Select(int rank, const Argument& dim, const Argument& index) const {
  const absl::Span<const Argument> args = Keep({Counted(dim, rank), index});
  return {"aten.select.int", args, Inverse::kScatter, "aten.select_scatter.default", args};
}

ViewStep ViewReader::Diagonal(const Argument& offset, const Argument& dim1,
                              const Argument& dim2) const {
  const absl::Span<const Argument> args = Keep({offset, dim1, dim2});
  return {"aten.diagonal.default", args, Inverse::kScatter, "aten.diagonal_scatter.default", args};
}

ViewStep ViewReader::Unsqueeze(int64_t dim) const {
  const absl::Span<const Argument> args = Keep({Argument(dim)});
  return {"aten.unsqueeze.default", args, Inverse::kCall, "aten.squeeze.dim", args};
}

ViewStep ViewReader::Opaque(const Node& call, const Schema& schema) const {
  std::vector<Argument> args;
  size_t needed = 0;
  for (size_t i = 1; i < schema.arguments.size(); ++i) {
    const SchemaArgument& parameter = schema.arguments[i];
    if (parameter.keyword_only) break;
    const Argument* given = schema.Given(call, i);
    args.push_back(given != nullptr ? *given : parameter.default_value);
    if (given != nullptr) needed = args.size();
  }
  args.resize(needed);
  return {schema.target, Keep(args), Inverse::kNone, {}, {}};
}

std::optional<ViewSteps> ViewReader::ReadPermute(const Node& call, const Schema& schema) const {
  const Argument dims = GivenOrDefault(call, schema, "dims");
  if (!dims.is_list() && !dims.is_tuple()) return std::nullopt;
  const int rank = static_cast<int>(dims.elements().size());
  std::vector<Argument> inverse(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) {
    const int from = WrappedDim(dims.elements()[static_cast<size_t>(i)], rank);
    if (from < 0) return std::nullopt;
    inverse[static_cast<size_t>(from)] = Argument(i);
  }
  ViewStep step = Opaque(call, schema);
  step.inverse = Inverse::kCall;
  step.inverse_target = step.target;
  step.inverse_args = Keep({Argument::List(Keep(inverse))});
  return ViewSteps{step};
}

// Windows that do not overlap are slices of dimensions. Otherwise an element is in several windows.
std::optional<ViewSteps> ViewReader::ReadUnfold(const Node& call, const Schema& schema) const {
  const TensorFacts self = FactsOfSelf(facts_, call, schema);
  const int dim = WrappedDim(GivenOrDefault(call, schema, "dimension"), self.rank());
  const Argument size = GivenOrDefault(call, schema, "size");
  const Argument step = GivenOrDefault(call, schema, "step");
  const int64_t length = SizeAt(self, GivenOrDefault(call, schema, "dimension"));
  if (dim < 0 || length < 0 || !size.is_int() || !step.is_int() || size.integer() < 1 ||
      step.integer() < size.integer() || size.integer() > length) {
    return ViewSteps{Opaque(call, schema)};
  }
  const int64_t windows = (length - size.integer()) / step.integer() + 1;
  const int64_t covered = windows * step.integer();
  if (covered > length) return ViewSteps{Opaque(call, schema)};
  ViewSteps steps;
  if (covered != length) steps.push_back(Slice(self.rank(), dim, 0, covered));
  steps.push_back({"aten.unflatten.int",
                   Keep({dim, Argument::List(Keep({windows, step.integer()}))}),
                   Inverse::kReshape,
                   {},
                   {}});
  if (step != size) steps.push_back(Slice(self.rank() + 1, dim + 1, 0, size));
  steps.push_back({"aten.movedim.int", Keep({dim + 1, -1}), Inverse::kCall, "aten.movedim.int",
                   Keep({-1, dim + 1})});
  return steps;
}

std::optional<ViewSteps> ViewReader::ReadComplexPart(const Node& call, const Schema& schema) const {
  const DType dtype = FactsOfSelf(facts_, call, schema).dtype;
  if (dtype == DType::kUnknown) return std::nullopt;
  if (!IsComplex(dtype)) return ViewSteps{};
  return ViewSteps{
      {"aten.view_as_real.default", {}, Inverse::kDense, "aten.view_as_complex.default", {}},
      Select(-1, -1, schema.name == "real" ? 0 : 1)};
}

// A view of the same bits as another dtype.
std::optional<ViewSteps> ViewReader::ReadDType(const Node& call, const Schema& schema) const {
  const DType from = FactsOfSelf(facts_, call, schema).dtype;
  const Argument to = GivenOrDefault(call, schema, "dtype");
  ViewStep step = Opaque(call, schema);
  // Bytes other than 0 and 1 do not survive as bools.
  if (from != DType::kUnknown && from != DType::kBool && to.kind() == Argument::Kind::kDType &&
      to.dtype() != DType::kBool) {
    step.inverse = Inverse::kCall;
    step.inverse_target = step.target;
    step.inverse_args = Keep({Argument(from)});
  }
  return ViewSteps{step};
}

// An expand that only adds leading dimensions of size 1 repeats nothing.
std::optional<ViewSteps> ViewReader::ReadExpand(const Node& call, const Schema& schema) const {
  const int64_t from = NumElements(FactsOfSelf(facts_, call, schema));
  ViewStep step = Opaque(call, schema);
  if (from >= 0 && from == NumElements(facts_.Of(&call))) step.inverse = Inverse::kReshape;
  return ViewSteps{step};
}

// The sizes must be known, because those of the other tensor may have changed when the view is made
// again.
std::optional<ViewSteps> ViewReader::ReadAs(const Node& call, const Schema& schema,
                                            bool is_contiguous) const {
  const TensorFacts facts = facts_.Of(&call);
  const bool is_expand = schema.name == "expand_as";
  if (NumElements(facts) < 0 ||
      !(is_expand || schema.name == "view_as" || (schema.name == "reshape_as" && is_contiguous))) {
    return std::nullopt;
  }
  const std::vector<Argument> sizes(facts.sizes->begin(), facts.sizes->end());
  ViewStep step = {is_expand ? "aten.expand.default" : "aten.view.default",
                   Keep({Argument::List(Keep(sizes))}),
                   Inverse::kReshape,
                   {},
                   {}};
  if (is_expand && NumElements(FactsOfSelf(facts_, call, schema)) != NumElements(facts))
    step.inverse = Inverse::kNone;
  return ViewSteps{step};
}

std::optional<ViewSteps> ViewReader::Read(const Node& call, const Schema& schema,
                                          bool is_contiguous) const {
  const absl::string_view name = schema.name;
  const auto given = [&](absl::string_view parameter) {
    return GivenOrDefault(call, schema, parameter);
  };
  const TensorFacts self = FactsOfSelf(facts_, call, schema);
  if (name == "positive" || (schema.may_alias && HandsOn(facts_, call, schema) == true))
    return ViewSteps{};
  // A tensor with fewer than two dimensions is returned itself.
  if (name == "flatten" && self.rank() < 2) return std::nullopt;
  if (Converts(schema)) {
    // The call returns the tensor itself if there is nothing to convert.
    const Argument format = given("memory_format");
    const bool keeps_strides = format.is_none() || format == Argument(MemoryFormat::kPreserve);
    const bool same_strides = is_contiguous
                                  ? keeps_strides || format == Argument(MemoryFormat::kContiguous)
                                  : name != "contiguous" && keeps_strides;
    // to_dense copies a sparse tensor, and no fact tells which tensors are sparse.
    if (name == "to_dense") return std::nullopt;
    if (same_strides && ConversionOf(facts_, call, schema) == Conversion::kNone) return ViewSteps{};
    return std::nullopt;
  }
  if (absl::EndsWith(name, "_as")) return ReadAs(call, schema, is_contiguous);
  const std::optional<ViewKind> kind = ViewKindOf(name);
  if (!kind.has_value() || schema.returns.size() != 1 || schema.returns[0].is_list) {
    return std::nullopt;
  }
  if (name == "view" && schema.overload == "dtype") return ReadDType(call, schema);
  ViewStep step = Opaque(call, schema);
  switch (*kind) {
    case ViewKind::kAlias: step.inverse = Inverse::kSame; break;
    case ViewKind::kAdjoint:
    case ViewKind::kConjugate:
      // Complex numbers are conjugated only when they are read.
      if (self.dtype == DType::kUnknown || IsComplex(self.dtype)) return std::nullopt;
      if (*kind == ViewKind::kConjugate) return ViewSteps{};
      [[fallthrough]];
    case ViewKind::kItself:
      step.inverse = Inverse::kCall;
      step.inverse_target = step.target;
      step.inverse_args = step.args;
      break;
    case ViewKind::kMaySizes:
      if (!is_contiguous) return std::nullopt;
      [[fallthrough]];
    case ViewKind::kSizes: step.inverse = Inverse::kReshape; break;
    case ViewKind::kMove:
      step.inverse = Inverse::kCall;
      step.inverse_target = step.target;
      step.inverse_args = Keep({given("destination"), given("source")});
      break;
    case ViewKind::kPermute: return ReadPermute(call, schema);
    case ViewKind::kUnsqueeze:
      if (!given("dim").is_int()) return std::nullopt;
      step = Unsqueeze(given("dim").integer());
      break;
    case ViewKind::kSlice:
      step = Slice(self.rank(), given("dim"), given("start"), given("end"), given("step"));
      break;
    case ViewKind::kNarrow:
      if (schema.overload == "default" && given("start").is_int() && given("length").is_int() &&
          given("start").integer() >= 0) {
        step = Slice(self.rank(), given("dim"), given("start"),
                     given("start").integer() + given("length").integer());
      }
      break;
    case ViewKind::kSelect: step = Select(self.rank(), given("dim"), given("index")); break;
    case ViewKind::kDiagonal: step = Diagonal(given("offset"), given("dim1"), given("dim2")); break;
    case ViewKind::kExpand: return ReadExpand(call, schema);
    case ViewKind::kUnfold: return ReadUnfold(call, schema);
    case ViewKind::kComplexPart: return ReadComplexPart(call, schema);
    case ViewKind::kViewAsReal:
      step.inverse = Inverse::kDense;
      step.inverse_target = "aten.view_as_complex.default";
      break;
    case ViewKind::kViewAsComplex:
      step.inverse = Inverse::kCall;
      step.inverse_target = "aten.view_as_real.default";
      break;
  }
  return ViewSteps{step};
}

bool ViewReader::IsCopy(const Node& call, const Schema& schema) const {
  if (Converts(schema)) return ConversionOf(facts_, call, schema) == Conversion::kSome;
  return schema.may_alias && HandsOn(facts_, call, schema) == false;
}

std::optional<ViewSteps> ViewReader::ReadElement(const Node& list, const Schema& schema,
                                                 int64_t i) const {
  const absl::string_view name = schema.name;
  const TensorFacts self = FactsOfSelf(facts_, list, schema);
  const Argument dim = GivenOrDefault(list, schema, "dim");
  const int64_t length = SizeAt(self, dim);
  if (name == "unbind") return ViewSteps{Select(self.rank(), dim, i)};
  if (i < 0) return std::nullopt;
  const auto part = [&](int64_t start, int64_t end) {
    return ViewSteps{Slice(self.rank(), dim, start, end)};
  };
  const Argument parts = schema.arguments.size() > 1
                             ? GivenOrDefault(list, schema, schema.arguments[1].name)
                             : Argument();
  int64_t start = 0, end = 0;
  if (parts.is_list() || parts.is_tuple()) {
    const absl::Span<const Argument> numbers = parts.elements();
    if (!absl::c_all_of(numbers, [](const Argument& a) { return a.is_int() && a.integer() >= 0; }))
      return std::nullopt;
    const auto at = static_cast<size_t>(i);
    if (name == "split" || name == "split_with_sizes" || name == "unsafe_split_with_sizes") {
      if (at >= numbers.size()) return std::nullopt;
      for (size_t k = 0; k < at; ++k) {
        if (__builtin_add_overflow(start, numbers[k].integer(), &start)) return std::nullopt;
      }
      if (__builtin_add_overflow(start, numbers[at].integer(), &end)) return std::nullopt;
      return part(start, end);
    }
    if (name != "tensor_split" || at > numbers.size()) return std::nullopt;
    if (at > 0) start = numbers[at - 1].integer();
    end = at < numbers.size() ? numbers[at].integer() : std::numeric_limits<int64_t>::max();
    return part(start, std::max(start, end));
  }
  if (!parts.is_int() || parts.integer() < 1) return std::nullopt;
  int64_t size = parts.integer();
  if (name == "chunk" || name == "unsafe_chunk") {
    if (length < 0) return std::nullopt;
    size = std::max<int64_t>(1, (length + size - 1) / size);
  } else if (name == "tensor_split") {
    if (length < 0) return std::nullopt;
    const int64_t least = length / size, more = length % size;
    start = i * least + std::min(i, more);
    return part(start, start + least + (i < more ? 1 : 0));
  } else if (name != "split" && name != "unsafe_split") {
    return std::nullopt;
  }
  if (__builtin_mul_overflow(i, size, &start) || __builtin_add_overflow(start, size, &end))
    return std::nullopt;
  return part(start, end);
}

namespace {

// The elements start, start + step, … below end along one dimension.
struct Part {
  int64_t start = 0;
  int64_t end = 0;
  int64_t step = 1;
};

std::optional<Part> PartOf(const ViewStep& view, int64_t size) {
  const auto number = [size](const Argument& a, int64_t otherwise) -> std::optional<int64_t> {
    if (a.is_none()) return otherwise;
    if (!a.is_int()) return std::nullopt;
    if (a.integer() >= 0) return a.integer();
    if (size < 0) return std::nullopt;
    return std::max<int64_t>(0, a.integer() + size);
  };
  if (view.target == "aten.select.int") {
    const auto at = number(view.args[1], 0);
    if (!at.has_value()) return std::nullopt;
    return Part{*at, *at + 1, 1};
  }
  const auto start = number(view.args[1], 0);
  const auto end = number(view.args[2], std::numeric_limits<int64_t>::max());
  const Argument step = view.args.size() > 3 ? view.args[3] : Argument(1);
  if (!start.has_value() || !end.has_value() || !step.is_int() || step.integer() < 1)
    return std::nullopt;
  return Part{*start, *end, step.integer()};
}

}  // namespace

bool AreDisjoint(const ViewStep& a, const ViewStep& b, absl::Span<const int64_t> sizes) {
  const auto is_part = [](const ViewStep& step) {
    return step.target == "aten.select.int" || step.target == "aten.slice.Tensor";
  };
  if (!is_part(a) || !is_part(b)) return false;
  const int rank = sizes.empty() ? -1 : static_cast<int>(sizes.size());
  int64_t size = -1;
  if (const int dim = WrappedDim(a.args[0], rank); dim >= 0) {
    if (dim != WrappedDim(b.args[0], rank)) return false;
    size = sizes[static_cast<size_t>(dim)];
  } else if (!a.args[0].is_int() || a.args[0] != b.args[0]) {
    return false;
  }
  const std::optional<Part> x = PartOf(a, size), y = PartOf(b, size);
  if (!x.has_value() || !y.has_value()) return false;
  if (x->end <= y->start || y->end <= x->start) return true;
  return x->step == y->step && (x->start - y->start) % x->step != 0;
}

bool MakesContiguous(const Node& call, const Schema& schema) {
  static const auto* const makers = new absl::flat_hash_set<absl::string_view>{
      "addmm",  "arange",   "bmm",   "contiguous", "embedding",     "empty",    "eye",       "full",
      "linear", "linspace", "mm",    "new_empty",  "new_full",      "new_ones", "new_zeros", "ones",
      "rand",   "randint",  "randn", "randperm",   "scalar_tensor", "tensor",   "zeros"};
  if (!makers->contains(schema.name)) return false;
  const Argument format = GivenOrDefault(call, schema, "memory_format");
  return format.is_none() || format == Argument(MemoryFormat::kContiguous);
}

bool KeepsContiguous(const Node& call, const Schema& schema) {
  static const auto* const keepers = new absl::flat_hash_set<absl::string_view>{
      "alias",      "clone",     "detach",    "empty_like", "full_like",
      "lift_fresh", "ones_like", "rand_like", "randn_like", "reshape",
      "unflatten",  "unsqueeze", "view",      "zeros_like", "_to_copy"};
  if (schema.name == "view" && schema.overload == "dtype") return false;
  if (!keepers->contains(schema.name) && !schema.is_pointwise) return false;
  const Argument format = GivenOrDefault(call, schema, "memory_format");
  return format.is_none() || format == Argument(MemoryFormat::kContiguous) ||
         format == Argument(MemoryFormat::kPreserve);
}

}  // namespace graphnet
