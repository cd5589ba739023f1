#include "graphnet/interp/inputs/weights.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/status.h"
#include "graphnet/base/tensor_size.h"
#include "graphnet/interp/inputs/float16.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

using Metas = std::map<std::string, const TensorMeta*>;

// Converts the elements, one after the other, from the format From to To.
template <typename From, typename To, typename Convert>
std::string Converted(absl::string_view bytes, Convert convert) {
  const size_t n = bytes.size() / sizeof(From);
  std::string out(n * sizeof(To), '\0');
  for (size_t i = 0; i < n; ++i) {
    From from;
    std::memcpy(&from, bytes.data() + i * sizeof(From), sizeof(From));
    const To to = convert(from);
    std::memcpy(out.data() + i * sizeof(To), &to, sizeof(To));
  }
  return out;
}

// `read` returns a float, or a double for float64.
template <typename From, typename Read>
std::optional<std::string> ConvertedFrom(absl::string_view bytes, DType to, Read read) {
  switch (to) {
    case DType::kFloat16:
      return Converted<From, uint16_t>(
          bytes, [&](From x) { return FloatToHalf(static_cast<float>(read(x))); });
    case DType::kBFloat16:
      return Converted<From, uint16_t>(
          bytes, [&](From x) { return FloatToBFloat16(static_cast<float>(read(x))); });
    case DType::kFloat32:
      return Converted<From, float>(bytes, [&](From x) { return static_cast<float>(read(x)); });
    case DType::kFloat64:
      return Converted<From, double>(bytes, [&](From x) { return static_cast<double>(read(x)); });
    default: return std::nullopt;
  }
}

std::optional<std::string> ConvertedBytes(const TensorData& tensor, DType to) {
  const absl::string_view bytes = *tensor.bytes;
  switch (tensor.dtype) {
    case DType::kFloat16: return ConvertedFrom<uint16_t>(bytes, to, HalfToFloat);
    case DType::kBFloat16: return ConvertedFrom<uint16_t>(bytes, to, BFloat16ToFloat);
    case DType::kFloat32: return ConvertedFrom<float>(bytes, to, [](float x) { return x; });
    case DType::kFloat64: return ConvertedFrom<double>(bytes, to, [](double x) { return x; });
    default: return std::nullopt;
  }
}

// Finds the meta of a name, or of the input that holds it.
Metas::const_iterator OwnerOf(const Metas& metas, const std::string& name) {
  if (const auto it = metas.find(name); it != metas.end()) return it;
  for (size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0;
       dot = name.rfind('.', dot - 1)) {
    if (const auto it = metas.find(name.substr(0, dot)); it != metas.end()) return it;
  }
  return metas.end();
}

// Tensors with fewer elements are stored in full in their draw spec.
constexpr size_t kLiteralTensorSize = 64;

// Rounds as Python's round does: correctly in decimal.
double Rounded(double value, int digits) {
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return std::strtod(text, nullptr);
}

// Calls fn(element) for each element.
template <typename T, typename Fn>
void ForEachElement(absl::string_view bytes, Fn fn) {
  for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T element;
    std::memcpy(&element, bytes.data() + i, sizeof(T));
    fn(element);
  }
}

// `read` converts an element to a number.
template <typename T, typename Read>
void DescribeFloats(absl::string_view bytes, Read read, DrawSpec* spec,
                    std::vector<Argument>* elements) {
  const size_t n = bytes.size() / sizeof(T);
  double sum = 0;
  ForEachElement<T>(bytes, [&](T x) { sum += read(x); });
  const double mean = sum / static_cast<double>(n);
  double squares = 0;
  ForEachElement<T>(bytes, [&](T x) { squares += (read(x) - mean) * (read(x) - mean); });
  spec->has_mean = spec->has_std = true;
  spec->mean = Rounded(mean, 3);
  spec->std = n <= 1 ? 0.0 : Rounded(std::sqrt(squares / static_cast<double>(n - 1)), 3);
  if (n >= kLiteralTensorSize) return;
  ForEachElement<T>(bytes, [&](T x) { elements->emplace_back(Rounded(read(x), 6)); });
  spec->data = Argument::List(*elements);
}

template <typename T>
void DescribeIntegers(absl::string_view bytes, DrawSpec* spec, std::vector<Argument>* elements) {
  if (bytes.size() / sizeof(T) < kLiteralTensorSize) {
    ForEachElement<T>(bytes, [&](T x) { elements->emplace_back(static_cast<int64_t>(x)); });
    spec->data = Argument::List(*elements);
    return;
  }
  T least = std::numeric_limits<T>::max();
  T greatest = std::numeric_limits<T>::min();
  ForEachElement<T>(bytes, [&](T x) {
    least = std::min(least, x);
    greatest = std::max(greatest, x);
  });
  spec->min = static_cast<int64_t>(least);
  spec->max = static_cast<int64_t>(greatest);
}

std::string Sizes(absl::Span<const int64_t> sizes) {
  return absl::StrCat("[", absl::StrJoin(sizes, ", "), "]");
}

}  // namespace

Metas NamedMetas(const Module& module) {
  Metas metas;
  if (module.main() != nullptr) {
    for (const Node* node : module.main()->placeholders())
      metas.emplace(node->target(), node->tensor_meta());
  }
  for (const Attribute& attribute : module.attributes())
    metas.emplace(attribute.name, attribute.meta);
  return metas;
}

absl::Status CheckWeights(const Sample& sample) {
  if (sample.weights.empty()) return absl::OkStatus();
  const Metas metas = NamedMetas(*sample.module);
  for (const auto& [name, tensor] : sample.weights) {
    const auto error = [&name = name](absl::string_view what) {
      return absl::FailedPreconditionError(absl::StrCat("weight ", Printable(name), ": ", what));
    };
    const auto owner = OwnerOf(metas, name);
    if (owner == metas.end()) return error("the graph has no attribute or input of that name");
    const TensorMeta* meta = owner->first == name ? owner->second : nullptr;
    if (meta != nullptr && meta->dtype != DType::kUnknown && meta->dtype != tensor.dtype) {
      return error(absl::StrCat("is ", DTypeShortName(tensor.dtype), ", the graph says ",
                                DTypeShortName(meta->dtype)));
    }
    if (meta != nullptr && meta->has_shape) {
      std::vector<int64_t> sizes;
      for (const Dim& dim : meta->shape) {
        const std::optional<int64_t> size =
            dim.is_static() ? dim.value : EvaluateWithExamples(*sample.module, *dim.expr);
        if (!size.has_value()) break;
        sizes.push_back(*size);
      }
      if (sizes.size() == meta->shape.size() && sizes != tensor.shape) {
        return error(
            absl::StrCat("has sizes ", Sizes(tensor.shape), ", the graph says ", Sizes(sizes)));
      }
    }
    const auto width = static_cast<size_t>(DTypeBytes(tensor.dtype));
    if (width == 0 || tensor.bytes == nullptr) continue;
    const std::optional<int64_t> elements = NumElements(tensor.shape);
    if (!elements.has_value()) return error(absl::StrCat("has sizes ", Sizes(tensor.shape)));
    const size_t bytes = static_cast<size_t>(*elements) * width;
    if (bytes != tensor.bytes->size()) {
      return error(absl::StrCat("has ", tensor.bytes->size(), " bytes, its sizes take ", bytes));
    }
  }
  return absl::OkStatus();
}

void DescribeValues(const TensorData& values, DrawSpec* spec, std::vector<Argument>* elements) {
  const absl::string_view bytes = *values.bytes;
  const auto floats = [&]<typename T>(T, auto read) {
    DescribeFloats<T>(bytes, read, spec, elements);
  };
  const auto integers = [&]<typename T>(T) { DescribeIntegers<T>(bytes, spec, elements); };
  switch (values.dtype) {
    case DType::kFloat16: return floats(uint16_t(), HalfToFloat);
    case DType::kBFloat16: return floats(uint16_t(), BFloat16ToFloat);
    case DType::kFloat32: return floats(float(), [](float x) { return double{x}; });
    case DType::kFloat64: return floats(double(), [](double x) { return x; });
    case DType::kInt8: return integers(int8_t());
    case DType::kInt16: return integers(int16_t());
    case DType::kInt32: return integers(int32_t());
    case DType::kInt64: return integers(int64_t());
    case DType::kUInt8: return integers(uint8_t());
    case DType::kUInt16: return integers(uint16_t());
    case DType::kUInt32: return integers(uint32_t());
    case DType::kUInt64: return integers(int64_t());  // as torch.Tensor.long() converts them
    case DType::kBool:
      if (bytes.size() >= kLiteralTensorSize) return;
      for (const char c : bytes) elements->emplace_back(c != 0);
      spec->data = Argument::List(*elements);
      return;
    default: return;
  }
}

void DescribeWeights(Sample* sample) {
  Module* const module = sample->module.get();
  std::vector<Argument> elements;
  const auto describe = [&](absl::string_view name, const DrawSpec* said, DrawSpec* spec) {
    const auto it = sample->weights.find(std::string(name));
    if (said != nullptr || it == sample->weights.end() || !it->second.bytes) return false;
    elements.clear();
    DescribeValues(it->second, spec, &elements);
    it->second.bytes.Release();
    return true;
  };
  const std::vector<Attribute> attributes(module->attributes().begin(), module->attributes().end());
  for (Attribute attribute : attributes) {
    DrawSpec spec;
    if (!describe(attribute.name, attribute.draw_spec, &spec)) continue;
    attribute.draw_spec = &spec;
    module->AddAttribute(attribute);
  }
  for (Node* input : module->main()->placeholders()) {
    DrawSpec spec;
    if (describe(input->target(), input->draw_spec(), &spec)) input->set_draw_spec(spec);
  }
}

absl::StatusOr<TensorData> ConvertFloats(const TensorData& tensor, DType to) {
  if (tensor.dtype == to) return tensor;
  std::optional<std::string> bytes = ConvertedBytes(tensor, to);
  if (!bytes.has_value()) {
    return absl::UnimplementedError(absl::StrCat(
        "no conversion from ", DTypeShortName(tensor.dtype), " to ", DTypeShortName(to)));
  }
  TensorData converted = tensor;
  converted.dtype = to;
  converted.bytes = std::make_shared<const std::string>(*std::move(bytes));
  return converted;
}

absl::Status FollowGraph(const std::map<std::string, std::string>& renamed, const Metas& before,
                         Sample* sample) {
  const auto name_now = [&](const std::string& name) {
    const auto it = renamed.find(name);
    return it == renamed.end() ? name : it->second;
  };
  for (std::string& name : sample->constraint_order) name = name_now(name);
  sample->has_constraints |= !sample->module->symbols().empty();
  if (sample->weights.empty()) return absl::OkStatus();
  const Metas after = NamedMetas(*sample->module);
  std::map<std::string, TensorData> weights;
  for (auto& [name, tensor] : sample->weights) {
    const auto owner = OwnerOf(before, name);
    // CheckWeights reports weights that had no owner before.
    if (owner == before.end()) {
      weights.emplace(name, std::move(tensor));
      continue;
    }
    const std::string owner_now = name_now(owner->first);
    const auto now = after.find(owner_now);
    if (now == after.end()) continue;
    std::string new_name = absl::StrCat(owner_now, name.substr(owner->first.size()));
    const TensorMeta* old_meta = owner->second;
    const TensorMeta* new_meta = now->second;
    if (owner->first == name && old_meta != nullptr && new_meta != nullptr &&
        old_meta->dtype == tensor.dtype && new_meta->dtype != old_meta->dtype) {
      absl::StatusOr<TensorData> converted = ConvertFloats(tensor, new_meta->dtype);
      if (!converted.ok())
        return Annotate(converted.status(), absl::StrCat("weight ", Printable(name)));
      tensor = *std::move(converted);
    }
    weights.insert_or_assign(std::move(new_name), std::move(tensor));
  }
  sample->weights = std::move(weights);
  return absl::OkStatus();
}

}  // namespace graphnet
