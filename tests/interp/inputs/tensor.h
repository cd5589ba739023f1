// Makes tensors from the values of a test.
#ifndef TESTS_INTERP_INPUTS_TENSOR_H_
#define TESTS_INTERP_INPUTS_TENSOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graphnet/ir/sample.h"

namespace graphnet {

// `T` is the type of an element in memory.
template <typename T>
TensorData Tensor(DType dtype, const std::vector<T>& values) {
  return {dtype,
          {static_cast<int64_t>(values.size())},
          std::make_shared<const std::string>(reinterpret_cast<const char*>(values.data()),
                                              values.size() * sizeof(T))};
}

}  // namespace graphnet

#endif  // TESTS_INTERP_INPUTS_TENSOR_H_
