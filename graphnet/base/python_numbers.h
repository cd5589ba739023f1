// Arithmetic on bools, ints and floats as CPython does it. An int is an int64 here: a result out of
// its range is an error, like everything for which Python raises an exception.
#ifndef GRAPHNET_BASE_PYTHON_NUMBERS_H_
#define GRAPHNET_BASE_PYTHON_NUMBERS_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace graphnet::python {

using Number = std::variant<bool, int64_t, double>;

// Returns bool(number).
bool Truth(const Number& number);
// Compares exactly, an int with a float, too. A nan is unordered.
std::partial_ordering Compare(const Number& a, const Number& b);

// Operators on ints. They return nullopt if Python raises an exception or the result does not fit
// into an int64.
std::optional<int64_t> Add(int64_t a, int64_t b);
std::optional<int64_t> Subtract(int64_t a, int64_t b);
std::optional<int64_t> Multiply(int64_t a, int64_t b);
std::optional<int64_t> FloorDivide(int64_t a, int64_t b);
std::optional<int64_t> Modulo(int64_t a, int64_t b);
std::optional<int64_t> Power(int64_t a, int64_t b);

// A function of Python that works on numbers.
struct Function {
  absl::StatusOr<Number> (*call)(absl::Span<const Number> args);  // min_args to max_args of them
  int min_args;
  int max_args;
  // True if it returns the same float with every C library.
  bool is_exact;
};
// Finds a function by its name, such as "operator.floordiv", "builtins.round", "math.sqrt" or
// "torch.sym_max". Returns null if the name is unknown.
const Function* FindFunction(absl::string_view target);

}  // namespace graphnet::python

#endif  // GRAPHNET_BASE_PYTHON_NUMBERS_H_
