// Raises statuses as Python exceptions.
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

// Makes all functions, methods and properties of the module say in one line which arguments they
// take if they are called with others. Call it when everything is bound.
void SimplifyTypeErrors(nb::module_& m);

// Raises graphnet_ir.Error with the message of the status, and its kind, place and format as
// attributes.
[[noreturn]] void Raise(const absl::Status& status);
// Raises the Python exception of a type.
[[noreturn]] void Raise(PyObject* type, const std::string& message);

inline void RaiseIfError(const absl::Status& status) {
  if (!status.ok()) Raise(status);
}

// Returns the result of `call`, for functions that Python calls directly. If `call` throws, sets
// the Python error and returns nullptr.
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

// Returns the text of a path, which is a str or an os.PathLike. Raises TypeError for anything else.
std::string PathOf(nb::handle path);
// Returns the elements of any iterable. Raises TypeError for anything else.
nb::tuple TupleOf(nb::handle iterable);

}  // namespace graphnet

#endif  // GRAPHNET_PYTHON_BINDINGS_ERRORS_H_
