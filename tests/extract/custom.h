// What is not TorchScript's own: an operator, graphnet_test::twice(Tensor) -> Tensor, and a
// class of C++, graphnet_test.Counter.
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
  // The tensor itself.
  at::Tensor Pass(const at::Tensor& tensor) {
    ++count;
    return tensor;
  }
  // Another one that goes on from here.
  c10::intrusive_ptr<Counter> Fork() { return c10::make_intrusive<Counter>(count); }
  int64_t count;
};

// As attributes of modules hold it. `storable`: of a class that says how it is stored.
c10::IValue MakeCounter(int64_t start, bool storable = true);

}  // namespace graphnet

#endif  // GRAPHNET_TESTS_EXTRACT_CUSTOM_H_
