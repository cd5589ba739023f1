#include "python/bindings/errors.h"

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/formats.h"

namespace graphnet {
namespace {

// These are never released, since an exception may be raised at any time.
PyObject* error_type = nullptr;
PyObject* place_type = nullptr;

constexpr char kErrorDoc[] =
    "An input that graphnet refuses, or a request that it cannot serve.\n\n"
    "kind: the kind of error: 'invalid_argument' (the input is damaged or contradicts"
    " itself), 'not_found', 'resource_exhausted' (larger than a limit), "
    "'unimplemented' (not supported), 'failed_precondition', 'already_exists', "
    "'internal'.\n"
    "place: the place in the input, with file, line and column (from 1; 0 if "
    "unknown), or None.\n"
    "format: the name of the format that the file was recognised as, or ''.";

// nanobind's message for arguments of the wrong types is a page: a heading, a line "    1. NAME(…)
// -> RESULT" for each form of the call, and "Invoked with types: …".
constexpr absl::string_view kHeading = "(): incompatible function arguments. ";
constexpr absl::string_view kGiven = "Invoked with types: ";

// Returns such a message in one line; nullopt for any other message.
std::optional<std::string> InOneLine(absl::string_view message) {
  if (!absl::StrContains(message, kHeading)) return std::nullopt;
  std::vector<absl::string_view> forms;
  absl::string_view given;
  for (absl::string_view line : absl::StrSplit(message, '\n')) {
    if (absl::ConsumePrefix(&line, kGiven)) {
      given = line;
    } else if (absl::StartsWith(line, "    ")) {
      const size_t begin = line.find(". ");
      if (begin != absl::string_view::npos)
        forms.push_back(line.substr(begin + 2, line.rfind(" -> ") - begin - 2));
    }
  }
  // A setter has no name of its own.
  absl::string_view type = forms.size() == 1 ? forms[0] : "";
  std::string text;
  if (absl::ConsumePrefix(&type, "(self, arg: ") && absl::ConsumeSuffix(&type, ", /)")) {
    const size_t comma = given.find(", ");
    text = absl::StrCat("the value must be ", type, ", not ",
                        comma == absl::string_view::npos ? given : given.substr(comma + 2));
  } else {
    for (absl::string_view& form : forms) {
      if (!absl::StartsWith(form, "__")) absl::ConsumePrefix(&form, "_");
    }
    text = absl::StrCat(absl::StrJoin(forms, " or "), " was called with (", given, ")");
  }
  return absl::StrReplaceAll(text, {{"graphnet_ir._core.", "graphnet_ir."},
                                    {"collections.abc.", ""},
                                    {"(cls: object", "(cls"},
                                    {"nanobind.nb_type", "type"}});
}

// What nanobind's functions do when they are called. Python finds it in each of them by their
// type's offset. The functions live as long as the process.
absl::flat_hash_map<PyObject*, vectorcallfunc>& Calls() {
  static auto* const calls = new absl::flat_hash_map<PyObject*, vectorcallfunc>;
  return *calls;
}

PyObject* CallAndSimplify(PyObject* self, PyObject* const* args, size_t nargs, PyObject* names) {
  PyObject* const result = Calls().at(self)(self, args, nargs, names);
  if (result != nullptr || PyErr_ExceptionMatches(PyExc_TypeError) == 0) return result;
  nb::python_error error;  // It takes the exception.
  const char* const message = PyUnicode_AsUTF8(nb::str(error.value()).ptr());
  if (message == nullptr) PyErr_Clear();
  const std::optional<std::string> simple = InOneLine(message == nullptr ? "" : message);
  if (simple) {
    PyErr_SetString(PyExc_TypeError, simple->c_str());
  } else {
    error.restore();
  }
  return nullptr;
}

void SimplifyErrorsOf(nb::handle object) {
  const absl::string_view type = Py_TYPE(object.ptr())->tp_name;
  if (type == "property") {
    SimplifyErrorsOf(object.attr("fget"));
    SimplifyErrorsOf(object.attr("fset"));
  } else if (type == "staticmethod") {
    SimplifyErrorsOf(object.attr("__func__"));
  } else if (type == "nanobind.nb_func" || type == "nanobind.nb_method") {
    auto* const call = reinterpret_cast<vectorcallfunc*>(
        reinterpret_cast<char*>(object.ptr()) + Py_TYPE(object.ptr())->tp_vectorcall_offset);
    if (*call == CallAndSimplify) return;
    Calls()[object.inc_ref().ptr()] = *call;
    *call = CallAndSimplify;
  }
}

}  // namespace

void SimplifyTypeErrors(nb::module_& m) {
  for (const nb::handle value : nb::list(m.attr("__dict__").attr("values")())) {
    SimplifyErrorsOf(value);
    if (!PyType_Check(value.ptr()) || !nb::type_check(value)) continue;
    for (const nb::handle member : nb::list(value.attr("__dict__").attr("values")()))
      SimplifyErrorsOf(member);
  }
}

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
  made.attr("__doc__") =
      "A place in an input: a file, a line and a column; both count from 1 and are 0 if"
      " unknown.";
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
