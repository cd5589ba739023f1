// Internal: numbers that a program reads while it is captured, from a tensor or from an attribute
// that it assigns. They are values of the capture, as tensors are: another run reads other numbers.
//
// Such a number travels through the program as a c10::SymInt or c10::SymFloat. Code that uses it as
// a plain number pins it: the capture then holds for this number only.
#ifndef GRAPHNET_EXTRACT_RUN_NUMBER_H_
#define GRAPHNET_EXTRACT_RUN_NUMBER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "c10/core/SymFloat.h"
#include "c10/core/SymInt.h"
#include "c10/core/SymNodeImpl.h"

namespace graphnet::extract {

class RunNumber : public c10::SymNodeImpl {
 public:
  // Called with a number that is pinned; it must outlive the numbers.
  using OnPin = std::function<void(const RunNumber&)>;

  // `example`: the int or float of this run.
  RunNumber(int64_t id, c10::IValue example, const OnPin* on_pin)
      : id(id), example(std::move(example)), on_pin_(*on_pin) {}

  bool is_int() override { return example.isInt(); }
  bool is_float() override { return example.isDouble(); }
  bool is_bool() override { return false; }
  bool has_hint() override { return true; }
  int64_t guard_int(const char*, int64_t) override { return Pin().toInt(); }
  double guard_float(const char*, int64_t) override { return Pin().toDouble(); }
  int64_t int_() override { return Pin().toInt(); }
  std::string str() override { return "v" + std::to_string(id); }

  // Records that the capture holds for this number only, and returns it.
  const c10::IValue& Pin() const {
    on_pin_(*this);
    return example;
  }

  const int64_t id;  // the number's own number in the manifest
  const c10::IValue example;

 private:
  const OnPin& on_pin_;
};

// Returns an int or float value that stands for `number`.
c10::IValue ValueOf(c10::intrusive_ptr<RunNumber> number);
// Returns null if `value` is not such a number.
const RunNumber* RunNumberOf(const c10::IValue& value);
// Returns true if `values` hold such a number.
bool HasRunNumbers(const std::vector<c10::IValue>& values);

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_RUN_NUMBER_H_
