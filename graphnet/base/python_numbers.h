// Numbers as CPython computes with them: bools, ints and floats. An int is an int64
// here: a result beyond it is an error, as is all that Python raises for.
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

bool Truth(const Number& number);
// Exact, also between an int and a float; unordered with a nan.
std::partial_ordering Compare(const Number& a, const Number& b);

// Of ints; nullopt where Python raises or the result is no int64.
std::optional<int64_t> Add(int64_t a, int64_t b);
std::optional<int64_t> Subtract(int64_t a, int64_t b);
std::optional<int64_t> Multiply(int64_t a, int64_t b);
std::optional<int64_t> FloorDivide(int64_t a, int64_t b);
std::optional<int64_t> Modulo(int64_t a, int64_t b);
std::optional<int64_t> Power(int64_t a, int64_t b);

struct Function {
  absl::StatusOr<Number> (*call)(absl::Span<const Number> args);  // as many as it takes
  int min_args;
  int max_args;
  // Whether a float that it yields is the same with every C library.
  bool is_exact;
};
// "operator.floordiv", "builtins.round", "math.sqrt", "torch.sym_max"; null if there is
// none of that name.
const Function* FindFunction(absl::string_view target);

}  // namespace graphnet::python

#endif  // GRAPHNET_BASE_PYTHON_NUMBERS_H_
