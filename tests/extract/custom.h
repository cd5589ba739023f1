// A custom operator, graphnet_test::twice(Tensor) -> Tensor, and a custom class of C++,
// graphnet_test.Counter.
#ifndef GRAPHNET_TESTS_EXTRACT_CUSTOM_H_
#define GRAPHNET_TESTS_EXTRACT_CUSTOM_H_

#include <cstdint>

#include "ATen/core/ivalue.h"
#include "torch/custom_class.h"

namespace graphnet {

// Counts calls.
struct Counter : torch::CustomClassHolder {
  explicit Counter(int64_t start) : count(start) {}
  int64_t Next() { return ++count; }
  // Returns the tensor itself.
  at::Tensor Pass(const at::Tensor& tensor) {
    ++count;
    return tensor;
  }
  // Returns another counter that continues from here.
  c10::intrusive_ptr<Counter> Fork() { return c10::make_intrusive<Counter>(count); }
  int64_t count;
};

// Returns a counter as a value for attributes of modules. If `storable`, its class can be pickled.
c10::IValue MakeCounter(int64_t start, bool storable = true);

}  // namespace graphnet

#endif  // GRAPHNET_TESTS_EXTRACT_CUSTOM_H_
