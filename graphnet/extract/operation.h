// Internal: operations between subgraphs.
#ifndef GRAPHNET_EXTRACT_OPERATION_H_
#define GRAPHNET_EXTRACT_OPERATION_H_

#include <functional>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"

namespace graphnet::extract {

// As TorchScript prints; to standard output when `print` is empty.
void Print(const std::vector<c10::IValue>& values,
           const std::function<void(const std::string&)>& print);
// The first of `values` is the message.
void Warn(const std::vector<c10::IValue>& values);

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_OPERATION_H_
