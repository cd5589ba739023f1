#include "graphnet/passes/resize/sized_meta.h"

#include <cstddef>
#include <vector>

#include "absl/algorithm/container.h"

namespace graphnet {

const ValueMeta* SizedMeta(Module* module, const ValueMeta& meta, const Extent& extent,
                           absl::FunctionRef<Dim(const Size& size, const Dim& now)> dim) {
  if (meta.is_tuple) {
    std::vector<const ValueMeta*> elements;
    for (size_t i = 0; i < meta.elements.size(); ++i) {
      const ValueMeta* element = meta.elements[i];
      elements.push_back(element == nullptr || i >= extent.elements.size()
                             ? element
                             : SizedMeta(module, *element, extent.elements[i], dim));
    }
    return module->InternTupleMeta(elements);
  }
  if (meta.tensor == nullptr || !extent.is_tensor() || extent.rank() != meta.tensor->shape.size())
    return &meta;
  TensorMeta tensor = *meta.tensor;
  std::vector<Dim> shape;
  for (size_t i = 0; i < extent.rank(); ++i)
    shape.push_back(dim(extent.dims[i], meta.tensor->shape[i]));
  tensor.shape = shape;
  return module->InternValueMeta(tensor);
}

bool HaveSameSizes(const ValueMeta& a, const ValueMeta& b) {
  if (a.tensor != nullptr && b.tensor != nullptr)
    return absl::c_equal(a.tensor->shape, b.tensor->shape);
  return a.is_tuple == b.is_tuple &&
         absl::c_equal(a.elements, b.elements, [](const ValueMeta* x, const ValueMeta* y) {
           return x == nullptr || y == nullptr || HaveSameSizes(*x, *y);
         });
}

}  // namespace graphnet
