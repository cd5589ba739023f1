#include "graphnet/inputs/weights.h"

#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/status.h"
#include "graphnet/inputs/float16.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

using Metas = std::map<std::string, const TensorMeta*>;

// The elements, one after the other, in the format From made those of To.
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

// `read` yields a float or, of float64, a double.
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

// What a name belongs to: itself, or the input that holds it.
Metas::const_iterator OwnerOf(const Metas& metas, const std::string& name) {
  if (const auto it = metas.find(name); it != metas.end()) return it;
  for (size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0;
       dot = name.rfind('.', dot - 1)) {
    if (const auto it = metas.find(name.substr(0, dot)); it != metas.end()) return it;
  }
  return metas.end();
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
    size_t bytes = static_cast<size_t>(DTypeBytes(tensor.dtype));
    if (bytes == 0 || tensor.bytes == nullptr) continue;
    for (const int64_t size : tensor.shape) {
      if (size < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes))
        return error(absl::StrCat("has sizes ", Sizes(tensor.shape)));
    }
    if (bytes != tensor.bytes->size()) {
      return error(absl::StrCat("has ", tensor.bytes->size(), " bytes, its sizes take ", bytes));
    }
  }
  return absl::OkStatus();
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
    // What was nobody's before is left for CheckWeights.
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
