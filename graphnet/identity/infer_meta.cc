#include "graphnet/identity/infer_meta.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

using Sizes = std::vector<int64_t>;

struct Facts {
  DType dtype = DType::kUnknown;
  std::optional<Device> device = std::nullopt;
  std::optional<Sizes> sizes;
};

const TensorMeta* MetaOf(const Argument& value) {
  return value.is_node() ? value.node()->tensor_meta() : nullptr;
}

// The numbers of a list; one number counts as a list of `length`.
std::optional<Sizes> NumbersOf(const Argument& value, size_t length = 1) {
  if (value.is_int()) return Sizes(length, value.integer());
  if (!value.is_list() && !value.is_tuple()) return std::nullopt;
  Sizes numbers;
  for (const Argument& element : value.elements()) {
    if (!element.is_int()) return std::nullopt;
    numbers.push_back(element.integer());
  }
  if (numbers.size() == 1 && length > 1) numbers.resize(length, numbers[0]);
  return numbers;
}

std::optional<int64_t> Wrapped(const Argument& dim, int64_t rank) {
  if (!dim.is_int()) return std::nullopt;
  const int64_t at = dim.integer() < 0 ? dim.integer() + rank : dim.integer();
  return at >= 0 && at < rank ? std::optional(at) : std::nullopt;
}

std::optional<Sizes> Broadcast(const std::vector<Sizes>& all) {
  Sizes made;
  for (const Sizes& sizes : all) {
    if (sizes.size() > made.size()) made.insert(made.begin(), sizes.size() - made.size(), 1);
    for (size_t i = 0; i < sizes.size(); ++i) {
      int64_t& to = made[made.size() - sizes.size() + i];
      if (to != sizes[i] && to != 1 && sizes[i] != 1) return std::nullopt;
      if (to == 1) to = sizes[i];
    }
  }
  return made;
}

int64_t Product(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

bool IsInteger(DType dtype) {
  return dtype == DType::kInt64 || dtype == DType::kInt32 || dtype == DType::kInt16 ||
         dtype == DType::kInt8 || dtype == DType::kUInt8;
}

// The inference for one call.
class Inference {
 public:
  Inference(const Node& node, const Schema& schema)
      : node_(node), schema_(schema), name_(AtenName(node)) {
    if (!absl::EndsWith(name_, "__")) absl::ConsumeSuffix(&name_, "_");
    for (const SchemaArgument& argument : schema.arguments) {
      if (argument.type.kind != SchemaType::Kind::kTensor) continue;
      const Argument value = Get(argument.name);
      if (value.is_node()) {
        tensors_.push_back(value);
      } else if (value.is_aggregate()) {
        for (const Argument& element : value.elements()) {
          if (element.is_node()) tensors_.push_back(element);
        }
      } else if (value.is_float()) {
        has_float_ = true;
      }
    }
    for (const SchemaArgument& argument : schema.arguments) {
      if (argument.type.kind == SchemaType::Kind::kScalar && Get(argument.name).is_float())
        has_float_ = true;
    }
  }

  // One, or as many as the call yields.
  std::optional<std::vector<Facts>> Run() {
    if (schema_.returns.size() == 1 && schema_.returns[0].is_list) return Pieces();
    std::vector<Facts> made(schema_.returns.size());
    for (const SchemaType& type : schema_.returns) {
      if (type.kind != SchemaType::Kind::kTensor) return std::nullopt;
    }
    if (made.empty()) return std::nullopt;
    made[0].dtype = DTypeOfResult();
    made[0].device = DeviceOfResult();
    made[0].sizes = SizesOfResult();
    return made;
  }

 private:
  Argument Get(absl::string_view parameter) const {
    return AtenArgument(node_, schema_, parameter);
  }
  bool Is(std::initializer_list<absl::string_view> names) const {
    return absl::c_linear_search(names, name_);
  }
  Argument first() const { return tensors_.empty() ? Argument() : tensors_[0]; }

  DType DTypeOfResult() const {
    const Argument given = Get("dtype");
    if (given.kind() == Argument::Kind::kDType) return given.dtype();
    if (Is({"eq", "ne", "lt", "le", "gt", "ge", "logical_not", "logical_and", "logical_or",
            "logical_xor", "isnan", "isinf", "isfinite", "all", "any"})) {
      return DType::kBool;
    }
    if (Is({"argmax", "argmin"})) return DType::kInt64;
    if (Is({"zeros", "ones", "rand", "randn", "empty"})) return DType::kFloat32;
    if (Is({"full", "scalar_tensor"})) {
      const Argument value = Get(name_ == "full" ? "fill_value" : "s");
      return value.is_float()  ? DType::kFloat32
             : value.is_int()  ? (name_ == "full" ? DType::kInt64 : DType::kFloat32)
             : value.is_bool() ? (name_ == "full" ? DType::kBool : DType::kFloat32)
                               : DType::kUnknown;
    }
    if (name_ == "arange") {
      for (const absl::string_view part : {"start", "end", "step"}) {
        const Argument value = Get(part);
        if (value.is_float()) return DType::kFloat32;
        if (!value.is_int() && !value.is_none()) return DType::kUnknown;
      }
      return DType::kInt64;
    }
    if (name_ == "type_as") return tensors_.size() == 2 ? DTypeOf(tensors_[1]) : DType::kUnknown;
    if (name_ == "to" && schema_.overload == "other") {
      return tensors_.size() == 2 ? DTypeOf(tensors_[1]) : DType::kUnknown;
    }
    // Of other operands than values: indices, masks.
    if (Is({"embedding",
            "index",
            "index_select",
            "gather",
            "masked_fill",
            "index_put",
            "copy",
            "fill",
            "lift_fresh_copy",
            "conv1d",
            "conv2d",
            "conv3d",
            "convolution",
            "_convolution",
            "linear",
            "layer_norm",
            "batch_norm",
            "group_norm",
            "native_layer_norm",
            "native_batch_norm",
            "_native_batch_norm_legit_no_training",
            "scaled_dot_product_attention",
            "matmul",
            "mm",
            "bmm",
            "addmm",
            "conv_transpose2d",
            "reshape_as",
            "view_as",
            "expand_as"})) {
      // A weight says it of an input of which nothing is known: these take one dtype.
      for (const Argument& tensor : tensors_) {
        const DType dtype = DTypeOf(tensor);
        if (dtype != DType::kUnknown) return dtype;
        if (!absl::StrContains(name_, "conv") && name_ != "linear") break;
      }
      return DType::kUnknown;
    }
    std::vector<Argument> values = tensors_;
    if (name_ == "where" && !values.empty()) values.erase(values.begin());
    if (values.empty()) return DType::kUnknown;
    DType common = DTypeOf(values[0]);
    for (const Argument& value : values) {
      const DType dtype = DTypeOf(value);
      if (dtype == common) continue;
      // A tensor without dimensions gives way to one of the same sort or a lesser.
      const int rank = RankOf(value), other = RankOf(values[0]);
      if (rank < 0 || other < 0) return DType::kUnknown;
      const bool is_lesser = IsFloatingPoint(common) && (IsInteger(dtype) || dtype == DType::kBool);
      const bool is_greater =
          IsFloatingPoint(dtype) && (IsInteger(common) || common == DType::kBool);
      if (is_lesser && (rank == 0 || other > 0)) continue;
      if (is_lesser) continue;
      if (is_greater) {
        common = dtype;
        continue;
      }
      if (dtype != DType::kUnknown && rank == 0 && other > 0 && IsFloatingPoint(common) &&
          IsFloatingPoint(dtype)) {
        continue;
      }
      return DType::kUnknown;
    }
    if (IsFloatingPoint(common)) return common;
    if (name_ == "pow" && has_float_ && IsInteger(common)) return DType::kFloat32;
    const bool keeps =
        !has_float_ &&
        (IsMove() ||
         Is({"add",       "sub",         "mul",        "neg",         "abs",         "floor_divide",
             "remainder", "bitwise_and", "bitwise_or", "bitwise_not", "bitwise_xor", "__and__",
             "__or__",    "clamp",       "clamp_min",  "clamp_max",   "minimum",     "maximum",
             "where",     "relu",        "max",        "min",         "rsub"}));
    if (keeps && IsInteger(common)) return common;
    if (common == DType::kBool &&
        (IsMove() || Is({"bitwise_and", "bitwise_or", "bitwise_not", "__and__", "__or__"}))) {
      return common;
    }
    if (Is({"cumsum", "sum", "prod", "cumprod"}) && (IsInteger(common) || common == DType::kBool))
      return DType::kInt64;
    return DType::kUnknown;
  }

  // Operands stand on one device, those without dimensions aside.
  std::optional<Device> DeviceOfResult() const {
    const Argument given = Get("device");
    if (given.kind() == Argument::Kind::kDevice) return given.device();
    for (const Argument& tensor : tensors_) {
      const TensorMeta* meta = MetaOf(tensor);
      if (meta != nullptr && meta->has_device && !(meta->has_shape && meta->shape.empty()))
        return meta->device;
    }
    // What is made of nothing is made on the CPU.
    if (tensors_.empty() && schema_.FindArgument("device") != nullptr)
      return Device{DeviceType::kCpu, -1};
    return std::nullopt;
  }

  // Moves elements and changes none.
  bool IsMove() const {
    return Is({"view",
               "reshape",
               "_unsafe_view",
               "flatten",
               "unflatten",
               "squeeze",
               "unsqueeze",
               "transpose",
               "t",
               "permute",
               "expand",
               "contiguous",
               "clone",
               "alias",
               "detach",
               "lift_fresh",
               "lift_fresh_copy",
               "slice",
               "select",
               "narrow",
               "cat",
               "stack",
               "roll",
               "flip",
               "pad",
               "constant_pad_nd",
               "repeat",
               "movedim",
               "swapaxes",
               "chunk",
               "split",
               "split_with_sizes",
               "unbind",
               "to",
               "_to_copy",
               "new_zeros",
               "new_ones",
               "new_empty",
               "new_full",
               "zeros_like",
               "ones_like",
               "empty_like",
               "full_like",
               "index_select",
               "gather",
               "dropout",
               "masked_fill",
               "pixel_shuffle",
               "tensor_split",
               "max_pool2d",
               "diff"});
  }

  std::optional<Sizes> SizesOfResult() const {
    std::optional<Sizes> x = SizesOf(first());
    if (schema_.is_pointwise ||
        Is({"gelu", "silu", "hardswish", "hardsigmoid", "hardtanh", "relu", "relu6", "leaky_relu",
            "elu", "softplus", "mish", "where", "bitwise_and", "masked_fill", "clamp_min",
            "clamp_max", "clamp", "__and__", "rsub"})) {
      std::vector<Sizes> all;
      for (const Argument& tensor : tensors_) {
        std::optional<Sizes> sizes = SizesOf(tensor);
        if (!sizes.has_value()) return std::nullopt;
        all.push_back(*std::move(sizes));
      }
      return all.empty() ? std::nullopt : Broadcast(all);
    }
    if (Is({"zeros", "ones", "full", "empty", "rand", "randn", "new_zeros", "new_ones", "new_full",
            "new_empty"})) {
      return NumbersOf(Get("size"));
    }
    if (name_ == "arange") return Arange();
    if (Is({"convolution", "_convolution"})) {
      const Argument transposed = Get("transposed");
      if (!transposed.is_bool() || transposed.boolean()) return std::nullopt;
      return Convolution();
    }
    if (Is({"conv1d", "conv2d", "conv3d"})) return Convolution();
    if (Is({"reshape_as", "view_as", "expand_as"})) {
      return tensors_.size() == 2 ? SizesOf(tensors_[1]) : std::nullopt;
    }
    if (name_ == "embedding") {
      const auto weight = SizesOf(Get("weight")), indices = SizesOf(Get("indices"));
      if (!weight || !indices || weight->size() != 2) return std::nullopt;
      Sizes made = *indices;
      made.push_back((*weight)[1]);
      return made;
    }
    if (name_ == "addmm") {
      const auto a = SizesOf(Get("mat1")), b = SizesOf(Get("mat2"));
      if (!a || !b || a->size() != 2 || b->size() != 2) return std::nullopt;
      return Sizes{(*a)[0], (*b)[1]};
    }
    if (Is({"matmul", "mm", "bmm"})) return Product();
    if (Is({"cat", "stack"})) return Joined();
    if (!x.has_value()) return std::nullopt;
    if (Is({"batch_norm",
            "layer_norm",
            "group_norm",
            "instance_norm",
            "dropout",
            "softmax",
            "_softmax",
            "log_softmax",
            "_log_softmax",
            "contiguous",
            "clone",
            "alias",
            "detach",
            "lift_fresh",
            "lift_fresh_copy",
            "to",
            "_to_copy",
            "type_as",
            "cumsum",
            "cumprod",
            "roll",
            "flip",
            "zeros_like",
            "ones_like",
            "full_like",
            "empty_like",
            "rand_like",
            "native_layer_norm",
            "native_batch_norm",
            "_native_batch_norm_legit_no_training",
            "copy",
            "fill",
            "native_group_norm",
            "glu_",
            "normalize"})) {
      return x;
    }
    if (Is({"view", "reshape", "_unsafe_view"}))
      return Reshaped(*x, NumbersOf(Get(name_ == "reshape" ? "shape" : "size")));
    return OfShape(*x);
  }

  std::optional<Sizes> OfShape(const Sizes& x) const {
    const auto rank = static_cast<int64_t>(x.size());
    const auto at = [](const Sizes& sizes, int64_t i) { return sizes[static_cast<size_t>(i)]; };
    Sizes made = x;
    if (name_ == "linear") {
      const auto weight = SizesOf(Get("weight"));
      if (!weight || weight->size() != 2 || x.empty()) return std::nullopt;
      made.back() = (*weight)[0];
      return made;
    }
    if (name_ == "scaled_dot_product_attention") {
      const auto value = SizesOf(Get("value"));
      if (!value || x.empty() || value->empty()) return std::nullopt;
      made.back() = value->back();
      return made;
    }
    if (Is({"max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d"}))
      return Pooled(x);
    if (absl::StartsWith(name_, "adaptive_")) {
      const size_t dims = name_[name_.size() - 2] - '0';
      const auto to = NumbersOf(Get("output_size"), dims);
      if (!to || to->size() != dims || x.size() < dims) return std::nullopt;
      std::copy(to->begin(), to->end(), made.end() - static_cast<int64_t>(dims));
      return made;
    }
    if (name_ == "flatten") {
      const auto start = Wrapped(Get("start_dim"), std::max<int64_t>(rank, 1));
      const auto end = Wrapped(Get("end_dim"), std::max<int64_t>(rank, 1));
      if (!start || !end || *start > *end || rank == 0) return std::nullopt;
      const int64_t joined = std::accumulate(x.begin() + *start, x.begin() + *end + 1, int64_t{1},
                                             std::multiplies<>());
      made.erase(made.begin() + *start, made.begin() + *end + 1);
      made.insert(made.begin() + *start, joined);
      return made;
    }
    if (name_ == "unflatten") {
      const auto dim = Wrapped(Get("dim"), rank);
      const auto sizes = NumbersOf(Get("sizes"));
      if (!dim || !sizes) return std::nullopt;
      const auto parts = Reshaped({at(x, *dim)}, sizes);
      if (!parts) return std::nullopt;
      made.erase(made.begin() + *dim);
      made.insert(made.begin() + *dim, parts->begin(), parts->end());
      return made;
    }
    if (name_ == "unsqueeze") {
      const auto dim = Wrapped(Get("dim"), rank + 1);
      if (!dim) return std::nullopt;
      made.insert(made.begin() + *dim, 1);
      return made;
    }
    if (name_ == "squeeze") {
      if (schema_.FindArgument("dim") == nullptr) {
        std::erase(made, 1);
        return made;
      }
      const auto dims = NumbersOf(Get("dim"));
      if (!dims) return std::nullopt;
      Sizes left;
      for (int64_t i = 0; i < rank; ++i) {
        const bool named =
            absl::c_linear_search(*dims, i) || absl::c_linear_search(*dims, i - rank);
        if (!named || at(x, i) != 1) left.push_back(at(x, i));
      }
      return left;
    }
    if (Is({"transpose", "swapaxes", "swapdims"})) {
      const auto a = Wrapped(Get(name_ == "transpose"  ? "dim0"
                                 : name_ == "swapaxes" ? "axis0"
                                                       : "dim0"),
                             rank);
      const auto b = Wrapped(Get(name_ == "transpose"  ? "dim1"
                                 : name_ == "swapaxes" ? "axis1"
                                                       : "dim1"),
                             rank);
      if (!a || !b) return std::nullopt;
      std::swap(made[static_cast<size_t>(*a)], made[static_cast<size_t>(*b)]);
      return made;
    }
    if (name_ == "t") {
      if (rank == 2) std::swap(made[0], made[1]);
      return rank <= 2 ? std::optional(made) : std::nullopt;
    }
    if (name_ == "permute") {
      const auto dims = NumbersOf(Get("dims"));
      if (!dims || dims->size() != x.size()) return std::nullopt;
      for (size_t i = 0; i < dims->size(); ++i) {
        const auto dim = Wrapped((*dims)[i], rank);
        if (!dim) return std::nullopt;
        made[i] = at(x, *dim);
      }
      return made;
    }
    if (name_ == "expand") {
      const auto to = NumbersOf(Get("size"));
      if (!to || to->size() < x.size()) return std::nullopt;
      made = *to;
      for (size_t i = 0; i < made.size(); ++i) {
        const size_t behind = made.size() - i;
        if (made[i] == -1) {
          if (behind > x.size()) return std::nullopt;
          made[i] = x[x.size() - behind];
        }
      }
      return made;
    }
    if (name_ == "select") {
      const auto dim = Wrapped(Get("dim"), rank);
      if (!dim) return std::nullopt;
      made.erase(made.begin() + *dim);
      return made;
    }
    if (name_ == "slice") {
      const auto dim = Wrapped(Get("dim"), rank);
      const Argument step = Get("step");
      if (!dim || !step.is_int() || step.integer() < 1) return std::nullopt;
      const int64_t size = at(x, *dim);
      const auto clip = [&](const Argument& value, int64_t otherwise) -> std::optional<int64_t> {
        if (value.is_none()) return otherwise;
        if (!value.is_int()) return std::nullopt;
        const int64_t v = value.integer() < 0 ? value.integer() + size : value.integer();
        return std::clamp<int64_t>(v, 0, size);
      };
      const auto start = clip(Get("start"), 0), end = clip(Get("end"), size);
      if (!start || !end) return std::nullopt;
      const int64_t length = std::max<int64_t>(*end - *start, 0);
      made[static_cast<size_t>(*dim)] = (length + step.integer() - 1) / step.integer();
      return made;
    }
    if (name_ == "narrow") {
      const auto dim = Wrapped(Get("dim"), rank);
      const Argument length = Get("length");
      if (!dim || !length.is_int()) return std::nullopt;
      made[static_cast<size_t>(*dim)] = length.integer();
      return made;
    }
    if (Is({"pad", "constant_pad_nd"})) {
      const auto pad = NumbersOf(Get("pad"));
      if (!pad || pad->size() % 2 != 0 || pad->size() / 2 > x.size()) return std::nullopt;
      for (size_t i = 0; i + 1 < pad->size(); i += 2) {
        made[made.size() - 1 - i / 2] += (*pad)[i] + (*pad)[i + 1];
      }
      return made;
    }
    if (name_ == "repeat") {
      const auto times = NumbersOf(Get("repeats"));
      if (!times || times->size() < x.size()) return std::nullopt;
      made.insert(made.begin(), times->size() - x.size(), 1);
      for (size_t i = 0; i < made.size(); ++i) made[i] *= (*times)[i];
      return made;
    }
    if (name_ == "diff") {
      const auto dim = Wrapped(Get("dim"), rank);
      const Argument n = Get("n");
      if (!dim || !n.is_int()) return std::nullopt;
      int64_t& size = made[static_cast<size_t>(*dim)];
      for (const absl::string_view more : {"prepend", "append"}) {
        if (Get(more).is_none()) continue;
        const auto sizes = SizesOf(Get(more));
        if (!sizes || sizes->size() != x.size()) return std::nullopt;
        size += (*sizes)[static_cast<size_t>(*dim)];
      }
      size = std::max<int64_t>(size - n.integer(), 0);
      return made;
    }
    if (name_ == "gather") return SizesOf(Get("index"));
    if (name_ == "index") return Indexed(x);
    if (name_ == "index_select") {
      const auto dim = Wrapped(Get("dim"), rank);
      const auto index = SizesOf(Get("index"));
      if (!dim || !index || index->size() != 1) return std::nullopt;
      made[static_cast<size_t>(*dim)] = (*index)[0];
      return made;
    }
    if (name_ == "pixel_shuffle") {
      const Argument factor = Get("upscale_factor");
      if (!factor.is_int() || x.size() < 3) return std::nullopt;
      const int64_t f = factor.integer();
      made[x.size() - 3] /= f * f;
      made[x.size() - 2] *= f;
      made[x.size() - 1] *= f;
      return made;
    }
    if (schema_.FindArgument("keepdim") != nullptr) return Reduced(x);
    if (Is({"sum", "mean", "max", "min", "prod", "all", "any"}) &&
        schema_.FindArgument("dim") == nullptr && schema_.FindArgument("other") == nullptr) {
      return Sizes();
    }
    return std::nullopt;
  }

  std::optional<Sizes> Reshaped(const Sizes& from, const std::optional<Sizes>& to) const {
    if (!to.has_value()) return std::nullopt;
    Sizes made = *to;
    const int64_t all = graphnet::Product(from);
    int64_t known = 1;
    int64_t* open = nullptr;
    for (int64_t& size : made) {
      if (size == -1) {
        open = &size;
      } else {
        known *= size;
      }
    }
    if (open != nullptr) {
      if (known == 0 || all % known != 0) return std::nullopt;
      *open = all / known;
    }
    return graphnet::Product(made) == all ? std::optional(made) : std::nullopt;
  }

  std::optional<Sizes> Arange() const {
    const Argument start = Get("start"), end = Get("end"), step = Get("step");
    if (!end.is_int() || !(start.is_none() || start.is_int())) return std::nullopt;
    const int64_t by = step.is_int() ? step.integer() : 1;
    if (by <= 0 || !(step.is_none() || step.is_int())) return std::nullopt;
    const int64_t length = end.integer() - (start.is_int() ? start.integer() : 0);
    return Sizes{length <= 0 ? 0 : (length + by - 1) / by};
  }

  std::optional<Sizes> Convolution() const {
    const auto x = SizesOf(Get("input")), weight = SizesOf(Get("weight"));
    if (!x || !weight || weight->size() < 3) return std::nullopt;
    const size_t dims = weight->size() - 2;
    if (x->size() != dims + 2 && x->size() != dims + 1) return std::nullopt;
    const auto stride = NumbersOf(Get("stride"), dims);
    const auto dilation = NumbersOf(Get("dilation"), dims);
    Argument given = Get("padding");
    Sizes made = *x;
    const size_t first = x->size() - dims;
    made[first - 1] = (*weight)[0];
    if (given.is_string() && given.string() == "same") return made;
    if (given.is_string()) given = 0;
    const auto padding = NumbersOf(given, dims);
    if (!stride || !padding || !dilation || stride->size() != dims || padding->size() != dims ||
        dilation->size() != dims) {
      return std::nullopt;
    }
    for (size_t i = 0; i < dims; ++i) {
      const int64_t reach = (*dilation)[i] * ((*weight)[2 + i] - 1) + 1;
      if ((*stride)[i] <= 0) return std::nullopt;
      made[first + i] = (made[first + i] + 2 * (*padding)[i] - reach) / (*stride)[i] + 1;
    }
    return made;
  }

  std::optional<Sizes> Pooled(const Sizes& x) const {
    const size_t dims = name_[name_.size() - 2] - '0';
    const auto kernel = NumbersOf(Get("kernel_size"), dims);
    const auto padding = NumbersOf(Get("padding"), dims);
    const Argument given = Get("dilation");
    const auto dilation = given.is_none() ? Sizes(dims, 1) : NumbersOf(given, dims);
    auto stride = NumbersOf(Get("stride"), dims);
    if (!stride || stride->empty()) stride = kernel;
    const Argument ceil = Get("ceil_mode");
    if (!kernel || !padding || !dilation || kernel->size() != dims || x.size() < dims ||
        stride->size() != dims || !ceil.is_bool()) {
      return std::nullopt;
    }
    Sizes made = x;
    for (size_t i = 0; i < dims; ++i) {
      int64_t& size = made[made.size() - dims + i];
      const int64_t s = (*stride)[i], p = (*padding)[i];
      if (s <= 0) return std::nullopt;
      const int64_t span = size + 2 * p - (*dilation)[i] * ((*kernel)[i] - 1) - 1;
      int64_t out = (span + (ceil.boolean() ? s - 1 : 0)) / s + 1;
      // The last window has to begin inside.
      if (ceil.boolean() && (out - 1) * s >= size + p) --out;
      size = out;
    }
    return made;
  }

  std::optional<Sizes> Product() const {
    if (tensors_.size() != 2) return std::nullopt;
    const auto a = SizesOf(tensors_[0]), b = SizesOf(tensors_[1]);
    if (!a || !b || a->size() < 2 || b->size() < 2) return std::nullopt;
    auto made = Broadcast({Sizes(a->begin(), a->end() - 2), Sizes(b->begin(), b->end() - 2)});
    if (!made) return std::nullopt;
    made->push_back((*a)[a->size() - 2]);
    made->push_back(b->back());
    return made;
  }

  std::optional<Sizes> Joined() const {
    std::optional<Sizes> made;
    std::optional<int64_t> dim;
    for (const Argument& tensor : tensors_) {
      const auto sizes = SizesOf(tensor);
      if (!sizes) return std::nullopt;
      if (!made) {
        made = sizes;
        dim = Wrapped(Get("dim"), static_cast<int64_t>(sizes->size()) + (name_ == "stack" ? 1 : 0));
        if (!dim) return std::nullopt;
        continue;
      }
      if (name_ == "stack") continue;
      if (sizes->size() != made->size()) return std::nullopt;
      (*made)[static_cast<size_t>(*dim)] += (*sizes)[static_cast<size_t>(*dim)];
    }
    if (made && name_ == "stack") {
      made->insert(made->begin() + *dim, static_cast<int64_t>(tensors_.size()));
    }
    return made;
  }

  std::optional<Sizes> Indexed(const Sizes& x) const {
    // Tensors that stand side by side in front, or alone.
    const Argument indices = Get("indices");
    if (!indices.is_list()) return std::nullopt;
    Sizes made;
    std::vector<Sizes> index;
    size_t place = 0;
    bool is_done = false;
    for (size_t i = 0; i < x.size(); ++i) {
      const bool given = i < indices.elements().size() && indices.elements()[i].is_node();
      if (!given) {
        is_done |= !index.empty();
        made.push_back(x[i]);
        continue;
      }
      if (is_done || !IsInteger(DTypeOf(indices.elements()[i]))) return std::nullopt;
      auto sizes = SizesOf(indices.elements()[i]);
      if (!sizes) return std::nullopt;
      if (index.empty()) place = made.size();
      index.push_back(*std::move(sizes));
    }
    const auto joint = Broadcast(index);
    if (!joint) return std::nullopt;
    made.insert(made.begin() + static_cast<int64_t>(place), joint->begin(), joint->end());
    return made;
  }

  std::optional<Sizes> Reduced(const Sizes& x) const {
    const auto rank = static_cast<int64_t>(x.size());
    const Argument given = Get("dim"), keep = Get("keepdim");
    if (!keep.is_bool()) return std::nullopt;
    std::optional<Sizes> dims = NumbersOf(given);
    if (given.is_none() || (dims && dims->empty())) {
      dims = Sizes(x.size());
      std::iota(dims->begin(), dims->end(), 0);
    }
    if (!dims) return std::nullopt;
    Sizes made;
    for (int64_t i = 0; i < rank; ++i) {
      const bool reduced =
          absl::c_linear_search(*dims, i) || absl::c_linear_search(*dims, i - rank);
      if (reduced && keep.boolean()) made.push_back(1);
      if (!reduced) made.push_back(x[static_cast<size_t>(i)]);
    }
    return made;
  }

  std::optional<std::vector<Facts>> Pieces() const {
    const auto x = SizesOf(first());
    if (!x || x->empty()) return std::nullopt;
    const Argument given = Get("dim");
    const auto dim =
        Wrapped(given.is_none() ? Argument(0) : given, static_cast<int64_t>(x->size()));
    if (!dim) return std::nullopt;
    const int64_t size = (*x)[static_cast<size_t>(*dim)];
    Sizes lengths;
    const auto cut = [&](int64_t length) {
      if (length <= 0) return;
      for (int64_t left = size; left > 0; left -= length) lengths.push_back(std::min(left, length));
    };
    std::vector<Facts> made;
    if (name_ == "unbind") {
      if (size > 100'000) return std::nullopt;
      Sizes sizes = *x;
      sizes.erase(sizes.begin() + *dim);
      made.assign(static_cast<size_t>(size), Facts{DTypeOf(first()), DeviceOfResult(), sizes});
      return made;
    }
    if (name_ == "chunk" && Get("chunks").is_int() && Get("chunks").integer() > 0) {
      cut((size + Get("chunks").integer() - 1) / Get("chunks").integer());
    } else if (name_ == "split" && Get("split_size").is_int()) {
      cut(Get("split_size").integer());
    } else if (Is({"split_with_sizes", "split"})) {
      const auto sizes = NumbersOf(Get(name_ == "split" ? "split_size" : "split_sizes"));
      if (sizes) lengths = *sizes;
    }
    if (lengths.empty() || lengths.size() > 100'000) return std::nullopt;
    for (const int64_t length : lengths) {
      Sizes sizes = *x;
      sizes[static_cast<size_t>(*dim)] = length;
      made.push_back({DTypeOf(first()), DeviceOfResult(), std::move(sizes)});
    }
    return made;
  }

  const Node& node_;
  const Schema& schema_;
  absl::string_view name_;
  std::vector<Argument> tensors_;
  bool has_float_ = false;
};

const ValueMeta* MakeMeta(Module* module, const Facts& facts) {
  if (facts.dtype == DType::kUnknown && !facts.sizes.has_value()) return nullptr;
  TensorMeta meta;
  meta.dtype = facts.dtype;
  meta.has_device = facts.device.has_value();
  if (facts.device.has_value()) meta.device = *facts.device;
  std::vector<Dim> dims;
  if (facts.sizes.has_value()) {
    for (const int64_t size : *facts.sizes) {
      if (size < 0) return nullptr;
      dims.emplace_back(size);
    }
    meta.has_shape = true;
    meta.shape = dims;
  }
  return module->InternValueMeta(meta);
}

}  // namespace

absl::string_view AtenName(const Node& node) {
  absl::string_view target = node.target();
  if (node.op() != Op::kCallFunction || !absl::ConsumePrefix(&target, "aten.")) return "";
  return target.substr(0, target.find('.'));
}

Argument AtenArgument(const Node& node, const Schema& schema, absl::string_view parameter) {
  if (const Argument* given = schema.Given(node, parameter); given != nullptr) return *given;
  const SchemaArgument* declared = schema.FindArgument(parameter);
  return declared == nullptr ? Argument() : declared->default_value;
}

std::optional<std::vector<int64_t>> SizesOf(const Argument& value) {
  const TensorMeta* meta = MetaOf(value);
  if (meta == nullptr || !meta->has_shape || !meta->is_static()) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const Dim& dim : meta->shape) sizes.push_back(dim.value);
  return sizes;
}

int RankOf(const Argument& value) {
  const TensorMeta* meta = MetaOf(value);
  return meta == nullptr || !meta->has_shape ? -1 : static_cast<int>(meta->shape.size());
}

DType DTypeOf(const Argument& value) {
  const TensorMeta* meta = MetaOf(value);
  return meta == nullptr ? DType::kUnknown : meta->dtype;
}

std::optional<Argument> ConstantOf(const Node& get_attr) {
  if (get_attr.op() != Op::kGetAttr) return std::nullopt;
  const Attribute* attribute = get_attr.graph()->module()->FindAttribute(get_attr.target());
  if (attribute == nullptr || attribute->meta == nullptr || attribute->draw_spec == nullptr ||
      !attribute->meta->has_shape || !attribute->meta->shape.empty() ||
      attribute->annotation == "torch.nn.parameter.Parameter") {
    return std::nullopt;
  }
  const Argument& data = attribute->draw_spec->data;
  if (!data.is_list() || data.elements().size() != 1) return std::nullopt;
  return data.elements()[0];
}

void InferMeta(Node* node) {
  const TensorMeta* known = node->tensor_meta();
  if (known != nullptr && known->has_shape && known->dtype != DType::kUnknown) return;
  Module* module = node->graph()->module();
  if (node->is_call_function("operator.getitem") && node->args().size() == 2 &&
      node->args()[0].is_node() && node->args()[1].is_int()) {
    const ValueMeta* whole = node->args()[0].node()->meta();
    if (whole == nullptr || !whole->is_tuple) return;
    const auto size = static_cast<int64_t>(whole->elements.size());
    const int64_t i = node->args()[1].integer() < 0 ? node->args()[1].integer() + size
                                                    : node->args()[1].integer();
    if (i >= 0 && i < size && whole->elements[static_cast<size_t>(i)] != nullptr) {
      node->set_meta(whole->elements[static_cast<size_t>(i)]);
    }
    return;
  }
  if (node->target() == "prim.NumToTensor.Scalar" && node->args().size() == 1 &&
      node->args()[0].is_int()) {
    node->set_meta(MakeMeta(module, {.dtype = DType::kInt64, .sizes = Sizes()}));
    return;
  }
  if (AtenName(*node).empty()) return;
  const Schema* schema = FindOverload(node->target());
  if (schema == nullptr || (node->meta() != nullptr && node->meta()->is_tuple)) return;
  const auto facts = Inference(*node, *schema).Run();
  if (!facts.has_value()) return;
  if (!schema->yields_tuple()) {
    const ValueMeta* meta = MakeMeta(module, (*facts)[0]);
    if (meta != nullptr) node->set_meta(meta);
    return;
  }
  std::vector<const ValueMeta*> elements;
  for (const Facts& fact : *facts) {
    const ValueMeta* meta = MakeMeta(module, fact);
    if (meta == nullptr) meta = module->InternValueMeta(TensorMeta());
    elements.push_back(meta);
  }
  node->set_meta(module->InternTupleMeta(elements));
}

}  // namespace graphnet
