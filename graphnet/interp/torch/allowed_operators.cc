#include "graphnet/interp/torch/allowed_operators.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "ATen/core/Tensor.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/limits.h"
#include "graphnet/interp/torch/operator_library.h"
#include "graphnet/interp/torch/packing.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

// The operands of an operator, by the names of its schema.
class Operands {
 public:
  Operands(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> values)
      : schema_(schema), values_(values) {}

  // Returns None if the operator has no such argument.
  const c10::IValue& operator[](const char* name) const {
    static const c10::IValue none;
    const std::optional<int> i = schema_.argumentIndexWithName(name);
    return i.has_value() ? values_[static_cast<size_t>(*i)] : none;
  }
  // Returns an undefined tensor if the operand is None, or if the operator has no such argument.
  at::Tensor Tensor(const char* name) const {
    const c10::IValue& value = (*this)[name];
    return value.isTensor() ? value.toTensor() : at::Tensor();
  }
  bool Has(const char* name) const { return schema_.argumentIndexWithName(name).has_value(); }
  bool IsTrue(const char* name, bool otherwise) const {
    const c10::IValue& value = (*this)[name];
    return value.isBool() ? value.toBool() : otherwise;
  }
  std::vector<int64_t> Ints(const char* name) const {
    const c10::IValue& value = (*this)[name];
    TORCH_CHECK(value.isIntList(), name, " must be a list of ints");
    return value.toIntVector();
  }
  int64_t Int(const char* name) const {
    const c10::IValue& value = (*this)[name];
    TORCH_CHECK(value.isInt(), name, " must be an int");
    return value.toInt();
  }
  // Kernels that need a guard support no other layout.
  void CheckStrided() const {
    for (const c10::IValue& value : values_) {
      if (!value.isTensor() || !value.toTensor().defined()) continue;
      TORCH_CHECK(value.toTensor().layout() == at::kStrided, "takes strided tensors only");
    }
  }

 private:
  const c10::FunctionSchema& schema_;
  c10::ArrayRef<c10::IValue> values_;
};

using Guard = void (*)(const Operands&);
using NumberGuard = void (*)(c10::ArrayRef<c10::IValue> operands);

// _weight_norm(v, g, dim): along the first and the last dimension, its kernel reads one element
// of g for each element of v.
void GuardWeightNorm(const Operands& operands) {
  const at::Tensor v = operands.Tensor("v");
  const at::Tensor g = operands.Tensor("g");
  const int64_t dim = operands.Int("dim");
  TORCH_CHECK(dim >= -1 && dim < v.dim(), "there is no dimension ", dim);
  if (dim != 0 && dim != v.dim() - 1) return;
  TORCH_CHECK(g.numel() == v.size(dim), "expected ", v.size(dim), " norms, not ", g.numel());
  TORCH_CHECK(g.scalar_type() == v.scalar_type(), "expected norms of type ", v.scalar_type());
}

// Kernels of batch norm read one element of each statistic and parameter for each channel. They
// need statistics if they do not compute them.
void GuardBatchNorm(const Operands& operands) {
  const at::Tensor input = operands.Tensor("input");
  TORCH_CHECK(input.defined() && input.dim() >= 2, "expected an input of 2 dimensions or more");
  const int64_t channels = input.size(1);
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    const at::Tensor tensor = operands.Tensor(name);
    if (!tensor.defined()) continue;
    TORCH_CHECK(tensor.dim() == 1 && tensor.numel() == channels, "expected ", channels,
                " elements in ", name, ", not ", tensor.numel());
  }
  const bool has_mean = operands.Tensor("running_mean").defined();
  const bool has_variance = operands.Tensor("running_var").defined();
  TORCH_CHECK(has_mean == has_variance, "running_mean and running_var must be given together");
  TORCH_CHECK(has_mean || operands.IsTrue("training", false),
              "running_mean and running_var are needed outside of training");
}

void CheckInRange(const at::Tensor& positions, int64_t size, const char* name) {
  if (positions.numel() == 0) return;
  TORCH_CHECK(positions.min().item<int64_t>() >= 0 && positions.max().item<int64_t>() < size, name,
              " is out of range: there are ", size);
}

void CheckNotDecreasing(const at::Tensor& offsets) {
  if (offsets.numel() < 2) return;
  const at::Tensor steps = at::sub(offsets.slice(0, 1), offsets.slice(0, 0, -1));
  TORCH_CHECK(steps.min().item<int64_t>() >= 0, "offsets decrease");
}

// Kernels of embedding bags do not check offsets, and not all of them check indices.
void GuardEmbeddingBag(const Operands& operands) {
  const at::Tensor weight = operands.Tensor("weight");
  const at::Tensor indices = operands.Tensor("indices");
  const at::Tensor offsets = operands.Tensor("offsets");
  TORCH_CHECK(weight.defined() && weight.dim() == 2, "expected a weight of 2 dimensions");
  for (const at::Tensor& tensor : {indices, offsets}) {
    TORCH_CHECK(tensor.defined() && tensor.dim() == 1 &&
                    (tensor.scalar_type() == at::kLong || tensor.scalar_type() == at::kInt),
                "indices and offsets must have one dimension and be int32 or int64");
  }
  const int64_t mode = operands.Int("mode");
  TORCH_CHECK(mode >= 0 && mode <= 2, "there is no mode ", mode);
  const at::Tensor weights = operands.Tensor("per_sample_weights");
  TORCH_CHECK(!weights.defined() || (weights.dim() == 1 && weights.numel() == indices.numel() &&
                                     weights.scalar_type() == weight.scalar_type()),
              "expected a per_sample_weight for each index");
  TORCH_CHECK(offsets.numel() > 0 || !operands.IsTrue("include_last_offset", false),
              "the last offset is missing");
  if (indices.is_meta() || offsets.is_meta()) return;
  CheckInRange(indices, weight.size(0), "an index");
  CheckInRange(offsets, indices.numel() + 1, "an offset");
  CheckNotDecreasing(offsets);
}

// Embedding bags of quantised tables check indices, but not offsets. The table is packed, or has
// rows of integers of `bits` bits, which end with a scale and a zero point.
template <int bits>
void GuardQuantisedBag(const Operands& operands) {
  const at::Tensor weight = operands.Tensor("weight");
  const int64_t parameters = bits == 8 ? 8 : 4;
  TORCH_CHECK(
      !weight.defined() ||
          (weight.dim() == 2 && weight.scalar_type() == at::kByte && weight.size(1) > parameters),
      "expected a table of type uint8 whose rows end with ", parameters, " bytes of parameters");
  const at::Tensor indices = operands.Tensor("indices");
  const at::Tensor offsets = operands.Tensor("offsets");
  TORCH_CHECK(
      indices.defined() && (indices.dim() == 2 || (indices.dim() == 1 && offsets.defined())),
      "expected bags as rows of indices, or indices and offsets");
  for (const at::Tensor& tensor : {indices, offsets}) {
    TORCH_CHECK(
        !tensor.defined() || tensor.scalar_type() == at::kLong || tensor.scalar_type() == at::kInt,
        "indices and offsets must be int32 or int64");
  }
  TORCH_CHECK(!operands.IsTrue("pruned_weights", false), "pruned tables are not run");
  const at::Tensor weights = operands.Tensor("per_sample_weights");
  TORCH_CHECK(!weights.defined() ||
                  (weights.numel() == indices.numel() && weights.scalar_type() == at::kFloat),
              "expected a per_sample_weight of type float32 for each index");
  if (weight.defined() && !weight.is_meta() && !indices.is_meta())
    CheckInRange(indices, weight.size(0), "an index");
  if (!offsets.defined()) return;
  TORCH_CHECK(indices.dim() == 1 && offsets.dim() == 1,
              "indices and offsets must have one dimension");
  TORCH_CHECK(offsets.numel() > 0 || !operands.IsTrue("include_last_offset", false),
              "the last offset is missing");
  if (offsets.is_meta()) return;
  CheckInRange(offsets, indices.numel() + 1, "an offset");
  CheckNotDecreasing(offsets);
}

// The transforms behind torch.fft do not check dimensions and sizes.
void GuardFft(const Operands& operands) {
  const at::Tensor self = operands.Tensor("self");
  const std::vector<int64_t> dims = operands.Ints("dim");
  std::vector<bool> is_taken(static_cast<size_t>(self.dim()), false);
  for (const int64_t dim : dims) {
    TORCH_CHECK(dim >= 0 && dim < self.dim(), "there is no dimension ", dim);
    TORCH_CHECK(!is_taken[static_cast<size_t>(dim)], "the dimension ", dim, " occurs twice");
    is_taken[static_cast<size_t>(dim)] = true;
    TORCH_CHECK(self.size(dim) > 0, "a transform needs at least one element");
  }
  const int64_t normalization = operands.Int("normalization");
  TORCH_CHECK(normalization >= 0 && normalization <= 2, "there is no normalization ",
              normalization);
  if (!operands["last_dim_size"].isInt()) return;
  TORCH_CHECK(!dims.empty(), "expected a dimension");
  const int64_t size = operands.Int("last_dim_size");
  TORCH_CHECK(size > 0 && size / 2 + 1 <= self.size(dims.back()), "expected ", size / 2 + 1,
              " elements for a size of ", size, ", not ", self.size(dims.back()));
}
void GuardRealFft(const Operands& operands) {
  TORCH_CHECK(!operands.Ints("dim").empty(), "expected a dimension");
  GuardFft(operands);
}

// Returns the size that PyTorch gives a sparse tensor of compressed indices without one.
std::vector<int64_t> SizeOfSparse(const at::Tensor& compressed, const at::Tensor& plain,
                                  const at::Tensor& values, at::Layout layout) {
  const int64_t batch = compressed.dim() - 1;
  const bool has_blocks = layout == at::kSparseBsr || layout == at::kSparseBsc;
  const bool by_rows = layout == at::kSparseCsr || layout == at::kSparseBsr;
  TORCH_CHECK(values.dim() > batch + (has_blocks ? 2 : 0), "the values have too few dimensions");
  const int64_t largest = plain.numel() == 0 ? -1 : plain.max().item<int64_t>();
  TORCH_CHECK(largest < std::numeric_limits<int32_t>::max(), "an index is too large");
  const int64_t outer = compressed.size(-1) - 1, inner = largest + 1;
  std::vector<int64_t> size = compressed.sizes().slice(0, static_cast<size_t>(batch)).vec();
  size.push_back((by_rows ? outer : inner) * (has_blocks ? values.size(batch + 1) : 1));
  size.push_back((by_rows ? inner : outer) * (has_blocks ? values.size(batch + 2) : 1));
  for (int64_t i = batch + (has_blocks ? 3 : 1); i < values.dim(); ++i)
    size.push_back(values.size(i));
  return size;
}

// Functions that make sparse tensors do not check indices, by which later calls read and write.
void GuardSparse(const Operands& operands) {
  if (!operands.Has("values")) return;  // It makes one without elements.
  const at::Tensor values = operands.Tensor("values");
  TORCH_CHECK(values.defined(), "the values are missing");
  const bool has_size = operands["size"].isIntList();
  if (const at::Tensor indices = operands.Tensor("indices"); indices.defined()) {
    TORCH_CHECK(!operands.Has("sparse_dim") ||
                    (indices.dim() == 2 && indices.size(0) == operands.Int("sparse_dim")),
                "expected a row of indices for each sparse dimension");
    // Without a size, the largest index is in range, and PyTorch refuses a negative one.
    if (!has_size) return;
    const c10::IValue& coalesced = operands["is_coalesced"];
    at::_validate_sparse_coo_tensor_args(
        indices, values, operands.Ints("size"),
        coalesced.isBool() ? std::optional<bool>(coalesced.toBool()) : std::nullopt, false);
    return;
  }
  at::Tensor compressed, plain;
  std::optional<at::Layout> layout;
  if (operands["layout"].isInt()) layout = operands["layout"].toLayout();
  const auto take = [&](const char* outer, const char* inner, bool by_rows) {
    if (!operands.Tensor(outer).defined()) return;
    compressed = operands.Tensor(outer);
    plain = operands.Tensor(inner);
    // The values of a layout of blocks have two dimensions more.
    if (layout.has_value()) return;
    const bool has_blocks = values.dim() > compressed.dim();
    layout = by_rows ? (has_blocks ? at::kSparseBsr : at::kSparseCsr)
                     : (has_blocks ? at::kSparseBsc : at::kSparseCsc);
  };
  take("crow_indices", "col_indices", true);
  take("ccol_indices", "row_indices", false);
  take("compressed_indices", "plain_indices", true);
  TORCH_CHECK(compressed.defined() && plain.defined() && values.defined() && layout.has_value(),
              "indices, values and a layout are needed");
  TORCH_CHECK(compressed.dim() > 0 && compressed.size(-1) > 0 && plain.dim() == compressed.dim() &&
                  values.dim() >= plain.dim(),
              "the indices and values are of different dimensions");
  const std::vector<int64_t> size =
      has_size ? operands.Ints("size") : SizeOfSparse(compressed, plain, values, *layout);
  at::_validate_sparse_compressed_tensor_args(compressed, plain, values, size, *layout, false);
}

// _jagged_to_padded_dense_forward(values, offsets, max_lengths): its kernel does not check offsets.
// The offsets of a level are places among the rows of the next one.
void GuardJagged(const Operands& operands) {
  const at::Tensor values = operands.Tensor("values");
  const std::vector<at::Tensor> offsets = operands["offsets"].toTensorVector();
  const std::vector<int64_t> lengths = operands.Ints("max_lengths");
  TORCH_CHECK(values.defined() && values.dim() > 0, "expected values with a dimension");
  TORCH_CHECK(!offsets.empty() && offsets.size() == lengths.size(),
              "expected a length for each level of offsets");
  for (size_t i = 0; i < offsets.size(); ++i) {
    TORCH_CHECK(lengths[i] >= 0, "a length is negative");
    const at::Tensor& level = offsets[i];
    TORCH_CHECK(level.defined() && level.dim() == 1 && level.numel() > 0 &&
                    (level.scalar_type() == at::kLong || level.scalar_type() == at::kInt),
                "offsets must have one dimension and be int32 or int64");
    if (level.is_meta() || values.is_meta()) continue;
    const bool is_last = i + 1 == offsets.size();
    CheckInRange(level, is_last ? values.size(0) + 1 : offsets[i + 1].numel(), "an offset");
    CheckNotDecreasing(level);
  }
}

std::atomic<bool> trusts_files{false};

// from_file(filename, shared, size): only regular files, as others may never end or may block, and
// no shared ones, as a program could write to these.
void GuardFile(const Operands& operands) {
  const std::string& name = operands["filename"].toStringRef();
  std::error_code error;
  TORCH_CHECK(std::filesystem::is_regular_file(name, error), "there is no file ", name);
  TORCH_CHECK(!operands.IsTrue("shared", false), "a shared file could be written to");
  const int64_t size = operands["size"].isInt() ? operands.Int("size") : 0;
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(name, error));
  const c10::ScalarType dtype = operands["dtype"].isInt() ? operands["dtype"].toScalarType()
                                                          : c10::get_default_dtype_as_scalartype();
  TORCH_CHECK(size >= 0 && size <= bytes / static_cast<int64_t>(c10::elementSize(dtype)), name,
              " has ", bytes, " bytes, too few for ", size, " elements");
}

// Functions that pack the parameters of quantised layers.
template <int dims, bool transposed>
void GuardConvPacking(const Operands& operands) {
  ConvPacking packing{.dims = dims,
                      .weight = operands.Tensor("weight"),
                      .bias = operands.Tensor("bias"),
                      .stride = operands.Ints("stride"),
                      .padding = operands.Ints("padding"),
                      .dilation = operands.Ints("dilation"),
                      .groups = operands.Int("groups"),
                      .transposed = transposed};
  if (transposed) packing.output_padding = operands.Ints("output_padding");
  CheckPacking(packing);
}
// quantized_lstm_cell_dynamic(input, hx, …) and its like, whose state is a list or a tensor.
void GuardQuantisedCell(const Operands& operands) {
  const at::Tensor input = operands.Tensor("input");
  TORCH_CHECK(input.defined() && input.dim() == 2 && input.scalar_type() == at::kFloat,
              "expected an input of type float32 and 2 dimensions");
  const c10::IValue& state = operands["hx"];
  TORCH_CHECK(!state.isTensorList() || state.toTensorVector().size() == 2,
              "expected two tensors of the state");
  for (const at::Tensor& tensor :
       state.isTensorList() ? state.toTensorVector() : std::vector{state.toTensor()}) {
    TORCH_CHECK(tensor.defined() && tensor.dim() == 2 && tensor.size(0) == input.size(0) &&
                    tensor.scalar_type() == at::kFloat,
                "expected a state of type float32 and ", input.size(0), " rows");
  }
}
void GuardLinearPacking(const Operands& operands) {
  CheckLinearPacking(operands.Tensor("W"), operands.Tensor("B"));
}
void GuardEmbeddingPacking(const Operands& operands) {
  CheckEmbeddingPacking(operands.Tensor("weight"));
}

// --- TorchScript's own operators on numbers and text, which do not check their operands ---

// A division of the ints a by b, whose quotient must fit an int64, too.
void GuardDivision(c10::ArrayRef<c10::IValue> operands) {
  if (!operands[0].isInt() || !operands[1].isInt()) return;
  const int64_t a = operands[0].toInt(), b = operands[1].toInt();
  TORCH_CHECK(b != 0, "division by zero");
  TORCH_CHECK(a != std::numeric_limits<int64_t>::min() || b != -1,
              "the quotient does not fit int64");
}
// gcd divides each operand by the other.
void GuardGreatestDivisor(c10::ArrayRef<c10::IValue> operands) {
  for (const c10::IValue& operand : operands) {
    TORCH_CHECK(operand.toInt() != std::numeric_limits<int64_t>::min(),
                "the least int64 has no greatest common divisor");
  }
}
void GuardFactorial(c10::ArrayRef<c10::IValue> operands) {
  TORCH_CHECK(operands[0].toInt() <= 20, "the factorial of ", operands[0].toInt(),
              " does not fit int64");
}

// matrix_power(tensor, n) negates a negative n.
void GuardPower(c10::ArrayRef<c10::IValue> operands) {
  TORCH_CHECK(operands[1].toInt() != std::numeric_limits<int64_t>::min(),
              "the least int64 has no absolute value");
}

// Elements of a list, or characters of a string, that an operator may make from few.
constexpr int64_t kMaxMade = 1'000'000;

// ljust(text, width, …), expandtabs(text, width)
void GuardWidth(c10::ArrayRef<c10::IValue> operands) {
  const int64_t width = operands[1].toInt();
  TORCH_CHECK(width <= kMaxMade && width >= -kMaxMade, "a text of ", width, " characters");
}
void GuardTabs(c10::ArrayRef<c10::IValue> operands) {
  GuardWidth(operands);
  const auto tabs =
      std::count(operands[0].toStringRef().begin(), operands[0].toStringRef().end(), '\t');
  TORCH_CHECK(operands[1].toInt() * tabs <= kMaxMade, "tabs of ", operands[1].toInt(),
              " characters");
}
// count(text, part, …), replace(text, part, …): searching for an empty part never ends.
void GuardPart(c10::ArrayRef<c10::IValue> operands) {
  TORCH_CHECK(!operands[1].toStringRef().empty(), "the text to look for is empty");
}
// Subtracts from `left` the characters that `value` may need when it is printed, and stops when
// none are left. An element counts at each of its places, since it is printed at each.
void CountCharacters(const c10::IValue& value, int depth, int64_t* left) {
  constexpr int64_t kPerValue = 32;
  *left -= kPerValue;
  if (value.isString()) *left -= static_cast<int64_t>(value.toStringRef().size());
  if (value.isTensor() && value.toTensor().defined() && !value.toTensor().is_nested())
    *left -= std::min(value.toTensor().numel(), kMaxMade) * kPerValue;
  if (depth == kMaxNesting) *left = -1;
  const auto all = [&](const auto& elements) {
    for (const c10::IValue& element : elements) {
      if (*left < 0) return;
      CountCharacters(element, depth + 1, left);
    }
  };
  if (value.isList()) all(value.toListRef());
  if (value.isTuple()) all(value.toTupleRef().elements());
  if (!value.isGenericDict()) return;
  for (const auto& entry : value.toGenericDict()) {
    if (*left < 0) return;
    CountCharacters(entry.key(), depth + 1, left);
    CountCharacters(entry.value(), depth + 1, left);
  }
}

// Operators that return a text: it may be made of its operands, so texts can double from call to
// call.
void GuardText(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> operands) {
  int64_t left = kMaxMade;
  for (const c10::IValue& operand : operands) CountCharacters(operand, 0, &left);
  // Each element may be joined by a whole text, and a whole text may take the place of each part.
  if (schema.name() == "aten::join")
    left -= static_cast<int64_t>(operands[0].toStringRef().size() * operands[1].toListRef().size());
  if (schema.name() == "aten::replace")
    left -=
        static_cast<int64_t>(operands[0].toStringRef().size() / operands[1].toStringRef().size() *
                             operands[2].toStringRef().size());
  TORCH_CHECK(left >= 0, "a text of more than ", kMaxMade, " characters");
}
bool MakesText(const c10::FunctionSchema& schema) {
  return schema.returns().size() == 1 &&
         schema.returns()[0].type()->kind() == c10::TypeKind::StringType;
}

// list * int, int * list
void GuardRepetition(c10::ArrayRef<c10::IValue> operands) {
  const bool is_left = operands[0].isList();
  const auto size = static_cast<int64_t>(operands[is_left ? 0 : 1].toListRef().size());
  const int64_t times = operands[is_left ? 1 : 0].toInt();
  TORCH_CHECK(size == 0 || times <= kMaxMade / size, "a list of ", size, " elements ", times,
              " times");
}

// list + list, list.extend(list): a list may be added to itself many times.
constexpr size_t kMaxElements = 10'000'000;
void GuardLength(c10::ArrayRef<c10::IValue> operands) {
  const size_t size = operands[0].toListRef().size() + operands[1].toListRef().size();
  TORCH_CHECK(size <= kMaxElements, "a list of ", size, " elements");
}

// to(tensor, dtype, …), to(tensor, device, dtype, …): an int that stands for a dtype.
void GuardDType(c10::ArrayRef<c10::IValue> operands) {
  for (const c10::IValue& operand : operands.slice(1)) {
    TORCH_CHECK(
        !operand.isInt() || (operand.toInt() >= 0 &&
                             operand.toInt() < static_cast<int64_t>(c10::ScalarType::Undefined)),
        operand.toInt(), " is not a valid dtype");
  }
}

// Parts that a tensor may be split into: each part is a tensor of its own, even if it is empty.
constexpr int64_t kMaxParts = 1 << 20;

void CheckParts(int64_t parts) { TORCH_CHECK(parts <= kMaxParts, "makes ", parts, " tensors"); }

// Returns the size of tensor operands[0] along dimension operands[i]; 0 if there is no such
// dimension, which the operator itself refuses.
int64_t SizeAlong(c10::ArrayRef<c10::IValue> operands, size_t i) {
  if (i >= operands.size() || !operands[0].isTensor() || !operands[i].isInt()) return 0;
  const at::Tensor& self = operands[0].toTensor();
  if (!self.defined() || self.is_nested()) return 0;
  const int64_t dim =
      operands[i].toInt() < 0 ? operands[i].toInt() + self.dim() : operands[i].toInt();
  return dim < 0 || dim >= self.dim() ? 0 : self.size(dim);
}

// split(self, split_size, dim)
void GuardSplit(c10::ArrayRef<c10::IValue> operands) {
  const int64_t size = SizeAlong(operands, 2);
  if (operands[1].isInt() && operands[1].toInt() > 0) CheckParts(size / operands[1].toInt());
}

// chunk(self, chunks, dim)
void GuardChunk(c10::ArrayRef<c10::IValue> operands) {
  if (operands[1].isInt()) CheckParts(std::min(operands[1].toInt(), SizeAlong(operands, 2)));
}

// tensor_split(self, sections, dim), hsplit(self, sections), which makes empty parts, too
void GuardSections(c10::ArrayRef<c10::IValue> operands) {
  if (operands[1].isInt()) CheckParts(operands[1].toInt());
}

// unbind(self, dim)
void GuardUnbind(c10::ArrayRef<c10::IValue> operands) { CheckParts(SizeAlong(operands, 1)); }

// adaptive_max_pool2d(self, output_size), adaptive_max_pool3d(…): the kernel visits all rows of
// an output, even if it has no columns and takes no memory.
void GuardEmptyOutput(c10::ArrayRef<c10::IValue> operands) {
  if (!operands[1].isIntList()) return;
  const std::vector<int64_t> sizes = operands[1].toIntVector();
  if (std::find(sizes.begin(), sizes.end(), 0) == sizes.end()) return;
  for (const int64_t size : sizes)
    TORCH_CHECK(size <= kMaxMade, "an output of ", size, " empty rows");
}

// The check that an operator needs; one of the two kinds is set.
// A sparse tensor shares the memory of the indices of which it is made, so that a write to them
// after the check would let it reach out of bounds. It gets its own.
void CopyIndices(const c10::FunctionSchema& schema, torch::jit::Stack* stack) {
  const size_t num_operands = schema.arguments().size();
  for (size_t i = 0; i < num_operands; ++i) {
    c10::IValue& value = torch::jit::peek(*stack, i, num_operands);
    if (absl::EndsWith(schema.arguments()[i].name(), "indices") && value.isTensor() &&
        value.toTensor().defined()) {
      value = value.toTensor().clone();
    }
  }
}

struct Guards {
  Guard kernel = nullptr;
  NumberGuard numbers = nullptr;
  explicit operator bool() const { return kernel != nullptr || numbers != nullptr; }
};

Guards FindGuard(const c10::FunctionSchema& schema) {
  static const auto* const numbers = new absl::flat_hash_map<absl::string_view, NumberGuard>{
      {"aten::remainder.", GuardDivision},
      {"aten::remainder.int", GuardDivision},
      {"aten::floordiv.", GuardDivision},
      {"aten::floordiv.int", GuardDivision},
      {"aten::divmod.int", GuardDivision},
      {"aten::__round_to_zero_floordiv.int", GuardDivision},
      {"aten::gcd.int", GuardGreatestDivisor},
      {"aten::factorial.int", GuardFactorial},
      {"aten::ljust.", GuardWidth},
      {"aten::rjust.", GuardWidth},
      {"aten::center.", GuardWidth},
      {"aten::zfill.", GuardWidth},
      {"aten::expandtabs.", GuardTabs},
      {"aten::count.", GuardPart},
      {"aten::replace.", GuardPart},
      {"aten::mul.left_t", GuardRepetition},
      {"aten::mul_.t", GuardRepetition},
      {"aten::add.t", GuardLength},
      {"aten::add_.t", GuardLength},
      {"aten::extend.t", GuardLength},
      {"aten::linalg_matrix_power.", GuardPower},
      {"aten::linalg_matrix_power.out", GuardPower},
      {"aten::matrix_power.", GuardPower},
      {"aten::matrix_power.out", GuardPower},
      {"aten::adaptive_max_pool2d.", GuardEmptyOutput},
      {"aten::adaptive_max_pool3d.", GuardEmptyOutput},
      {"aten::to.prim_dtype", GuardDType},
      {"aten::to.prim_Device", GuardDType},
      {"aten::mul.right_", GuardRepetition},
      {"aten::split.Tensor", GuardSplit},
      {"aten::split_copy.Tensor", GuardSplit},
      {"aten::unsafe_split.Tensor", GuardSplit},
      {"aten::chunk.", GuardChunk},
      {"aten::unsafe_chunk.", GuardChunk},
      {"aten::tensor_split.sections", GuardSections},
      {"aten::hsplit.int", GuardSections},
      {"aten::vsplit.int", GuardSections},
      {"aten::dsplit.int", GuardSections},
      {"aten::unbind.int", GuardUnbind},
      {"aten::unbind_copy.int", GuardUnbind},
  };
  static const auto* const kernels = new absl::flat_hash_map<absl::string_view, Guard>{
      {"aten::_batch_norm_no_update", GuardBatchNorm},
      {"aten::_embedding_bag", GuardEmbeddingBag},
      {"aten::_embedding_bag_forward_only", GuardEmbeddingBag},
      {"aten::_fft_c2c", GuardFft},
      {"aten::_fft_c2r", GuardFft},
      {"aten::_fft_r2c", GuardRealFft},
      {"aten::_jagged_to_padded_dense_forward", GuardJagged},
      {"aten::_native_batch_norm_legit", GuardBatchNorm},
      {"aten::_sparse_bsc_tensor_unsafe", GuardSparse},
      {"aten::_sparse_bsr_tensor_unsafe", GuardSparse},
      {"aten::_sparse_compressed_tensor_unsafe", GuardSparse},
      {"aten::_sparse_coo_tensor_unsafe", GuardSparse},
      {"aten::_sparse_coo_tensor_with_dims_and_tensors", GuardSparse},
      {"aten::_sparse_csc_tensor_unsafe", GuardSparse},
      {"aten::_sparse_csr_tensor_unsafe", GuardSparse},
      {"aten::_weight_norm", GuardWeightNorm},
      {"aten::embedding_bag", GuardEmbeddingBag},
      {"aten::from_file", GuardFile},
      {"aten::native_batch_norm", GuardBatchNorm},
      {"aten::sparse_bsc_tensor", GuardSparse},
      {"aten::sparse_bsr_tensor", GuardSparse},
      {"aten::sparse_compressed_tensor", GuardSparse},
      {"aten::sparse_coo_tensor", GuardSparse},
      {"aten::sparse_csc_tensor", GuardSparse},
      {"aten::sparse_csr_tensor", GuardSparse},
      {"quantized::conv1d_prepack", GuardConvPacking<1, false>},
      {"quantized::conv2d_prepack", GuardConvPacking<2, false>},
      {"quantized::conv3d_prepack", GuardConvPacking<3, false>},
      {"quantized::conv_prepack", GuardConvPacking<2, false>},
      {"quantized::conv_transpose1d_prepack", GuardConvPacking<1, true>},
      {"quantized::conv_transpose2d_prepack", GuardConvPacking<2, true>},
      {"quantized::conv_transpose3d_prepack", GuardConvPacking<3, true>},
      {"quantized::embedding_bag_2bit_rowwise_offsets", GuardQuantisedBag<2>},
      {"quantized::embedding_bag_4bit_rowwise_offsets", GuardQuantisedBag<4>},
      {"quantized::embedding_bag_byte", GuardQuantisedBag<8>},
      {"quantized::embedding_bag_byte_rowwise_offsets", GuardQuantisedBag<8>},
      {"quantized::embedding_bag_prepack", GuardEmbeddingPacking},
      {"quantized::linear_prepack", GuardLinearPacking},
      {"quantized::quantized_gru_cell_dynamic", GuardQuantisedCell},
      {"quantized::quantized_lstm_cell_dynamic", GuardQuantisedCell},
      {"quantized::quantized_rnn_relu_cell_dynamic", GuardQuantisedCell},
      {"quantized::quantized_rnn_tanh_cell_dynamic", GuardQuantisedCell},
  };
  Guards found;
  if (const auto it = numbers->find(absl::StrCat(schema.name(), ".", schema.overload_name()));
      it != numbers->end())
    found.numbers = it->second;
  // Overloads with out= have other kernels.
  if (schema.overload_name().find("out") != std::string::npos) return found;
  if (const auto it = kernels->find(schema.name()); it != kernels->end()) found.kernel = it->second;
  return found;
}

}  // namespace

bool ReadsFiles(const c10::FunctionSchema& schema) { return schema.name() == "aten::from_file"; }
void TrustFiles() { trusts_files = true; }

bool IsAllowed(const c10::FunctionSchema& schema) {
  if (ReadsFiles(schema)) return trusts_files && schema.overload_name().empty();
  return MayRun(schema.name(), schema.overload_name()) || NeedsGuard(schema) ||
         IsOfLibrary(schema.operator_name());
}

bool NeedsGuard(const c10::FunctionSchema& schema) { return static_cast<bool>(FindGuard(schema)); }

bool TakesSparseLayouts(const c10::FunctionSchema& schema) {
  return FindGuard(schema).kernel == GuardSparse;
}

torch::jit::Operation WithGuard(const c10::FunctionSchema& schema,
                                torch::jit::Operation operation) {
  const Guards guards = FindGuard(schema);
  const bool makes_text = MakesText(schema);
  if (!guards && !makes_text) return operation;
  return [guards, makes_text, operation = std::move(operation),
          schema](torch::jit::Stack& stack) mutable {
    // The last operand says how many others there are if their number varies.
    const size_t num_operands = schema.is_vararg() ? static_cast<size_t>(stack.back().toInt()) + 1
                                                   : schema.arguments().size();
    const auto values = torch::jit::last(stack, num_operands);
    if (guards.numbers != nullptr) guards.numbers(values);
    if (makes_text) GuardText(schema, values);
    if (guards.kernel == GuardSparse) CopyIndices(schema, &stack);
    if (guards.kernel != nullptr) {
      const Operands operands(schema, values);
      operands.CheckStrided();
      guards.kernel(operands);
    }
    operation(stack);
  };
}

}  // namespace graphnet
