// Statuses as Python exceptions.
#ifndef GRAPHNET_PYTHON_BINDINGS_ERRORS_H_
#define GRAPHNET_PYTHON_BINDINGS_ERRORS_H_

#include <exception>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nanobind/nanobind.h"

namespace graphnet {

namespace nb = nanobind;

// Adds the class Error to the module.
void BindErrors(nb::module_& m);

// Raises graphnet_ir.Error with the message of the status, and its kind, place and format as
// attributes.
[[noreturn]] void Raise(const absl::Status& status);
// Raises the Python exception of a type.
[[noreturn]] void Raise(PyObject* type, const std::string& message);

inline void RaiseIfError(const absl::Status& status) {
  if (!status.ok()) Raise(status);
}

// What `call` returns, for functions that Python calls directly: the exception that it throws is
// left to Python, and nothing is returned.
template <typename Call>
PyObject* ReturnOrRaise(Call call) {
  try {
    return nb::object(call()).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

template <typename T>
T ValueOrRaise(absl::StatusOr<T> value) {
  if (!value.ok()) Raise(value.status());
  return *std::move(value);
}

// The text of a path: a str or an os.PathLike. Raises TypeError for anything else.
std::string PathOf(nb::handle path);
// The elements of any iterable. Raises TypeError if it is none.
nb::tuple TupleOf(nb::handle iterable);

}  // namespace graphnet

#endif  // GRAPHNET_PYTHON_BINDINGS_ERRORS_H_
