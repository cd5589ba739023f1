#include "graphnet/extract/example_input.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/inputs/draw.h"
#include "graphnet/interp/tensors.h"

namespace graphnet {

absl::StatusOr<c10::IValue> ParseExampleInput(const std::string& text, const std::string& name,
                                              uint64_t seed) {
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("--input ", Printable(text), ": ", what));
  };
  absl::string_view rest = text;
  if (rest == "None") return c10::IValue();
  if (absl::ConsumePrefix(&rest, "str=")) return c10::IValue(std::string(rest));
  if (absl::ConsumePrefix(&rest, "int=")) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(rest, &value)) return error("no integer");
    return c10::IValue(value);
  }
  if (absl::ConsumePrefix(&rest, "float=")) {
    double value = 0;
    if (!absl::SimpleAtod(rest, &value)) return error("no number");
    return c10::IValue(value);
  }
  if (absl::ConsumePrefix(&rest, "bool=")) {
    bool value = false;
    if (!absl::SimpleAtob(rest, &value)) return error("neither true nor false");
    return c10::IValue(value);
  }
  const size_t open = rest.find('[');
  const size_t close = rest.find(']');
  if (open == absl::string_view::npos || close == absl::string_view::npos || close < open) {
    return error(
        "expected a dtype and sizes, such as f32[1,3,224,224], or int=3, float=0.5, bool=true, "
        "str=abc, None");
  }
  TensorMeta meta;
  const std::optional<DType> dtype = ParseDTypeShortName(rest.substr(0, open));
  if (!dtype) return error("there is no such dtype");
  meta.dtype = *dtype;
  meta.has_shape = true;
  std::vector<Dim> shape;
  const absl::string_view sizes = rest.substr(open + 1, close - open - 1);
  for (const absl::string_view size : absl::StrSplit(sizes, ',', absl::SkipWhitespace())) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(size, &value) || value < 0) return error("a size is no number");
    shape.push_back(value);
  }
  meta.shape = shape;
  DrawSpec spec;
  spec.has_mean = spec.has_std = true;
  spec.std = 5;  // Of which a fifth is taken.
  rest.remove_prefix(close + 1);
  if (!rest.empty()) {
    const std::vector<absl::string_view> bounds = absl::StrSplit(rest.substr(1), "..");
    int64_t low = 0, high = 0;
    if (rest[0] != ':' || bounds.size() != 2 || !absl::SimpleAtoi(bounds[0], &low) ||
        !absl::SimpleAtoi(bounds[1], &high) || low > high) {
      return error("expected bounds, such as :0..900, after the sizes");
    }
    spec.min = low;
    spec.max = high;
  } else if (absl::StartsWith(DTypeShortName(*dtype), "i") ||
             absl::StartsWith(DTypeShortName(*dtype), "u")) {
    spec.min = int64_t{0};
    spec.max = int64_t{9};
  }
  DrawOptions draw;
  draw.seed = seed;
  draw.max_bytes = AvailableMemoryBytes();
  ASSIGN_OR_RETURN(const TensorData data, DrawTensor(meta, &spec, name, draw));
  ASSIGN_OR_RETURN(at::Tensor tensor, ToTensor(data, c10::Device(c10::kCPU)));
  return c10::IValue(std::move(tensor));
}

}  // namespace graphnet
