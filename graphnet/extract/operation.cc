#include "graphnet/extract/operation.h"

#include <cstdio>
#include <sstream>

#include "c10/util/Exception.h"

namespace graphnet::extract {

void Print(const std::vector<c10::IValue>& values,
           const std::function<void(const std::string&)>& print) {
  std::stringstream text;
  for (size_t i = 0; i < values.size(); ++i) text << (i > 0 ? " " : "") << values[i];
  text << '\n';
  if (print) {
    print(text.str());
  } else {
    std::fputs(text.str().c_str(), stdout);
  }
}

void Warn(const std::vector<c10::IValue>& values) {
  if (!values.empty() && values[0].isString()) TORCH_WARN(values[0].toStringRef());
}

}  // namespace graphnet::extract
