#include "python/bindings/errors.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/formats.h"

namespace graphnet {
namespace {

// These are never released, since an exception may be raised at any time.
PyObject* error_type = nullptr;
PyObject* place_type = nullptr;

constexpr char kErrorDoc[] =
    "An input that graphnet refuses, or a request that it cannot serve.\n\n"
    "kind: what is wrong, as 'invalid_argument' (the input is damaged or contradicts itself), "
    "'not_found', 'resource_exhausted' (larger than a limit), 'unimplemented' (not supported), "
    "'failed_precondition', 'already_exists', 'internal'.\n"
    "place: where in the input, with file, line and column (from 1; 0 if unknown), or None.\n"
    "format: the name of the format that the file was recognised as, or ''.";

}  // namespace

void BindErrors(nb::module_& m) {
  error_type = PyErr_NewExceptionWithDoc("graphnet_ir.Error", kErrorDoc, nullptr, nullptr);
  if (error_type == nullptr) throw nb::python_error();
  const nb::object none = nb::none();
  nb::handle(error_type).attr("kind") = "";
  nb::handle(error_type).attr("place") = none;
  nb::handle(error_type).attr("format") = "";
  m.attr("Error") = nb::borrow(error_type);
  nb::object made = nb::module_::import_("collections")
                        .attr("namedtuple")("Place", nb::make_tuple("file", "line", "column"));
  made.attr("__module__") = "graphnet_ir";
  made.attr("__doc__") = "A place in an input: a file, a line and a column from 1, 0 if unknown.";
  place_type = made.inc_ref().ptr();
  m.attr("Place") = made;
}

void Raise(const absl::Status& status) {
  // After Ctrl-C in a callback Python already has the exception.
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  const nb::str message(status.message().data(), status.message().size());
  nb::object error = nb::handle(error_type)(message);
  error.attr("kind") =
      nb::str(absl::AsciiStrToLower(absl::StatusCodeToString(status.code())).c_str());
  if (const std::optional<ErrorPlace> place = PlaceOf(status)) {
    error.attr("place") = nb::handle(place_type)(place->file.c_str(), place->line, place->column);
  }
  error.attr("format") = nb::str(FormatOfError(status).c_str());
  PyErr_SetObject(error_type, error.ptr());
  throw nb::python_error();
}

void Raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw nb::python_error();
}

std::string PathOf(nb::handle path) {
  const nb::object text = nb::steal(PyOS_FSPath(path.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  const nb::object bytes = nb::steal(PyUnicode_EncodeFSDefault(text.ptr()));
  if (!bytes.is_valid()) throw nb::python_error();
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

nb::tuple TupleOf(nb::handle iterable) {
  nb::object made = nb::steal(PySequence_Tuple(iterable.ptr()));
  if (!made.is_valid()) throw nb::python_error();
  return nb::borrow<nb::tuple>(made);
}

}  // namespace graphnet
