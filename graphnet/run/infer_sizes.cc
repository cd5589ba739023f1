#include "graphnet/run/infer_sizes.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "graphnet/base/status.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/run_report.h"

namespace graphnet {
namespace {

absl::StatusOr<TensorValues> DrawSmall(const Sample& sample) {
  DrawOptions draw;
  draw.max_elements = kMaxElementsWithData;
  return DrawInputs(sample, draw);
}

// Returns the values of those inputs and attributes that have their sizes.
TensorValues FittingOf(const TensorValues& all, const Module& module) {
  TensorValues values;
  const auto add = [&](absl::string_view name, const TensorMeta* meta) {
    const auto it = all.find(std::string(name));
    if (it == all.end()) return;
    const bool fits = meta == nullptr ||
                      std::equal(it->second.shape.begin(), it->second.shape.end(),
                                 meta->shape.begin(), meta->shape.end(),
                                 [](int64_t size, const Dim& dim) { return Dim(size) == dim; });
    if (fits) values.insert(*it);
  };
  for (const Node* node : module.main()->placeholders()) add(node->target(), node->tensor_meta());
  for (const Attribute& attribute : module.attributes()) add(attribute.name, attribute.meta);
  return values;
}

}  // namespace

InferSizes InferSizesBy(const Engine& engine, const Sample& sample) {
  // A sample that cannot be drawn is refused where it is inferred itself.
  const auto drawn =
      std::make_shared<const TensorValues>(DrawSmall(sample).value_or(TensorValues()));
  return [&engine, &sample, drawn](Module* module) -> absl::Status {
    if (module == sample.module.get()) {
      ASSIGN_OR_RETURN(const TensorValues values, DrawSmall(sample));
      return engine.InferShapesOf(module, values).status();
    }
    return engine.InferShapesOf(module, FittingOf(*drawn, *module)).status();
  };
}

}  // namespace graphnet
