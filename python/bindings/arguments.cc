#include "python/bindings/arguments.h"

#include <complex>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/types.h"
#include "graphnet/ir/verifier.h"
#include "nanobind/operators.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/string.h"
#include "python/bindings/errors.h"
#include "python/bindings/graph.h"

namespace graphnet {
namespace {

// The classes of constants. Each holds its constant in `value`.
struct DTypeObject {
  DType value;
};
struct DeviceObject {
  Device value;
};
struct LayoutObject {
  Layout value;
};
struct MemoryFormatObject {
  MemoryFormat value;
};

// Makes an object of a class of python/graphnet_ir/_lists.py, which is looked up once, of a value or
// of none. The class is
// not in a static variable, since Python code in its initialiser would let other threads run, and
// they would wait for it forever.
nb::object MakeImmutable(const char* class_name, PyObject** known, nb::handle value) {
  if (*known == nullptr) {
    *known =
        nb::object(nb::module_::import_("graphnet_ir._lists").attr(class_name)).release().ptr();
  }
  nb::object made = nb::steal(value.is_valid() ? PyObject_CallOneArg(*known, value.ptr())
                                               : PyObject_CallNoArgs(*known));
  if (!made.is_valid()) throw nb::python_error();
  return made;
}

nb::object ListOf(nb::list elements) {
  static PyObject* immutable = nullptr;
  return MakeImmutable("ImmutableList", &immutable, elements);
}

// Returns "dtype" for an object of the class torch.dtype, and so on; empty for other classes.
absl::string_view TorchClassOf(nb::handle value) {
  const absl::string_view name = Py_TYPE(value.ptr())->tp_name;  // "torch.dtype", "dtype"
  for (const absl::string_view known : {"dtype", "device", "layout", "memory_format"}) {
    if (name == absl::StrCat("torch.", known)) return known;
  }
  return {};
}

std::string Text(nb::handle value) { return nb::cast<std::string>(nb::str(value)); }

std::string WithoutTorch(nb::handle value) {
  const std::string text = Text(value);
  return std::string(absl::StripPrefix(text, "torch."));
}

template <typename T>
T ParsedOrRaise(std::optional<T> parsed, absl::string_view what, const std::string& text) {
  if (!parsed) Raise(PyExc_ValueError, absl::StrCat("'", text, "' is not a ", what));
  return *parsed;
}

std::string TypeName(nb::handle value) { return Py_TYPE(value.ptr())->tp_name; }

}  // namespace

absl::string_view TextOf(nb::handle text) {
  Py_ssize_t size = 0;
  const char* const chars = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (chars == nullptr) throw nb::python_error();
  return {chars, static_cast<size_t>(size)};
}

// --- To Python -------------------------------------------------------------------------------

nb::object ToPython(const SymExpr* expr, ModuleObject& module) {
  return nb::cast(SymExprObject{nb::borrow(module.self()), expr});
}

nb::object ToPython(DType dtype) { return nb::cast(DTypeObject{dtype}); }
nb::object ToPython(Device device) { return nb::cast(DeviceObject{device}); }

nb::object ToPython(const Dim& dim, ModuleObject& module) {
  return dim.is_static() ? nb::int_(dim.value) : ToPython(dim.expr, module);
}

namespace {

// Makes Python values. Lists are shared in the IR, so a small argument can have millions of
// elements when it is written out. Therefore a list inside of another is made only once.
class ValueMaker {
 public:
  explicit ValueMaker(ModuleObject& module) : module_(module) {}
  nb::object Make(const Argument& argument, int depth = 0);
  nb::object MakeTuple(absl::Span<const Argument> elements, int depth);

 private:
  nb::object MakeAggregate(const Argument& argument, int depth);

  ModuleObject& module_;
  absl::flat_hash_map<std::pair<const Argument*, Argument::Kind>, nb::object> shared_;
};

nb::object ValueMaker::Make(const Argument& argument, int depth) {
  switch (argument.kind()) {
    case Argument::Kind::kNone: return nb::none();
    case Argument::Kind::kNode: return module_.NodeOf(argument.node());
    case Argument::Kind::kBool: return nb::bool_(argument.boolean());
    case Argument::Kind::kInt: return nb::int_(argument.integer());
    case Argument::Kind::kFloat: return nb::float_(argument.real());
    case Argument::Kind::kComplex:
      return nb::steal(PyComplex_FromDoubles(argument.complex().real(), argument.complex().imag()));
    case Argument::Kind::kString:
      // Bytes that are not UTF-8 become surrogates, as in Python's file names.
      return nb::steal(PyUnicode_DecodeUTF8(argument.string().data(),
                                            static_cast<Py_ssize_t>(argument.string().size()),
                                            "surrogateescape"));
    case Argument::Kind::kDType: return nb::cast(DTypeObject{argument.dtype()});
    case Argument::Kind::kDevice: return nb::cast(DeviceObject{argument.device()});
    case Argument::Kind::kLayout: return nb::cast(LayoutObject{argument.layout()});
    case Argument::Kind::kMemoryFormat:
      return nb::cast(MemoryFormatObject{argument.memory_format()});
    case Argument::Kind::kList:
    case Argument::Kind::kTuple:
    case Argument::Kind::kDict:
    case Argument::Kind::kSlice: break;
    case Argument::Kind::kEllipsis: return nb::borrow(Py_Ellipsis);
    case Argument::Kind::kGraph: return module_.GraphOf(argument.graph());
    case Argument::Kind::kSymInt: return ToPython(argument.sym(), module_);
  }
  if (depth < 2 || argument.elements().empty()) return MakeAggregate(argument, depth);
  const std::pair key(argument.elements().data(), argument.kind());
  if (const auto it = shared_.find(key); it != shared_.end()) return it->second;
  nb::object made = MakeAggregate(argument, depth);
  shared_[key] = made;
  return made;
}

nb::object ValueMaker::MakeTuple(absl::Span<const Argument> elements, int depth) {
  nb::object made = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(elements.size())));
  for (size_t i = 0; i < elements.size(); ++i) {
    PyTuple_SET_ITEM(made.ptr(), static_cast<Py_ssize_t>(i),
                     Make(elements[i], depth + 1).release().ptr());
  }
  return made;
}

nb::object ValueMaker::MakeAggregate(const Argument& argument, int depth) {
  const absl::Span<const Argument> elements = argument.elements();
  switch (argument.kind()) {
    case Argument::Kind::kList: {
      nb::list list;
      for (const Argument& element : elements) list.append(Make(element, depth + 1));
      return ListOf(list);
    }
    case Argument::Kind::kDict: {
      nb::dict dict;
      for (size_t i = 0; i + 1 < elements.size(); i += 2)
        dict[Make(elements[i], depth + 1)] = Make(elements[i + 1], depth + 1);
      return dict;
    }
    case Argument::Kind::kSlice: {
      const nb::object parts = MakeTuple(elements, depth);
      return nb::steal(PySlice_New(PyTuple_GET_ITEM(parts.ptr(), 0),
                                   PyTuple_GET_ITEM(parts.ptr(), 1),
                                   PyTuple_GET_ITEM(parts.ptr(), 2)));
    }
    default: return MakeTuple(elements, depth);
  }
}

}  // namespace

nb::object ToPython(const Argument& argument, ModuleObject& module) {
  return ValueMaker(module).Make(argument);
}

nb::tuple ToPython(absl::Span<const Argument> arguments, ModuleObject& module) {
  return nb::borrow<nb::tuple>(ValueMaker(module).MakeTuple(arguments, 0));
}

nb::dict ToPython(absl::Span<const KwArg> arguments, ModuleObject& module) {
  ValueMaker maker(module);
  nb::dict dict;
  for (const KwArg& argument : arguments)
    dict[nb::str(argument.name.data(), argument.name.size())] = maker.Make(argument.value, 1);
  return dict;
}

nb::object ImmutableDict(nb::dict dict) {
  static PyObject* immutable = nullptr;
  static PyObject* empty = nullptr;
  if (dict.size() > 0) return MakeImmutable("ImmutableDict", &immutable, dict);
  if (empty == nullptr) empty = MakeImmutable("ImmutableDict", &immutable, dict).release().ptr();
  return nb::borrow(empty);
}

nb::object NewImmutableDict() {
  static PyObject* immutable = nullptr;
  return MakeImmutable("ImmutableDict", &immutable, nb::handle());
}

// --- From Python -----------------------------------------------------------------------------

Argument ArgumentReader::Read(nb::handle value, int depth) {
  if (!budget_.Charge(1)) Raise(PyExc_ValueError, "the arguments are too large");
  PyObject* const object = value.ptr();
  if (object == Py_None) return Argument::None();
  if (const NodeObject* const node = AsNode(value)) {
    Node* const operand = node->get();
    if (graph_ == nullptr || operand->graph() != graph_) {
      Raise(PyExc_ValueError,
            absl::StrCat("the node ", operand->name(), " belongs to another graph"));
    }
    if (!budget_.Charge(kOperandUnits)) Raise(PyExc_ValueError, "the arguments are too large");
    read_.push_back(nb::borrow(value));
    return operand;
  }
  if (object == Py_True || object == Py_False) return object == Py_True;
  if (PyLong_Check(object)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) Raise(PyExc_OverflowError, "an integer does not fit in 64 bits");
    return static_cast<int64_t>(number);
  }
  if (PyFloat_Check(object)) return PyFloat_AS_DOUBLE(object);
  if (PyUnicode_Check(object)) {
    if (Py_ssize_t size = 0; const char* chars = PyUnicode_AsUTF8AndSize(object, &size))
      return arena_.Copy(absl::string_view(chars, static_cast<size_t>(size)));
    PyErr_Clear();
    const nb::object bytes =
        nb::steal(PyUnicode_AsEncodedString(object, "utf-8", "surrogateescape"));
    if (!bytes.is_valid()) throw nb::python_error();
    return arena_.Copy(absl::string_view(PyBytes_AS_STRING(bytes.ptr()),
                                         static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr()))));
  }
  if (depth >= kMaxNesting)
    Raise(PyExc_ValueError, absl::StrCat("arguments nest at most ", kMaxNesting, " deep"));
  if (PyTuple_Check(object)) return ReadElements(Argument::Kind::kTuple, value, depth);
  if (PyList_Check(object)) return ReadElements(Argument::Kind::kList, value, depth);
  if (PyDict_Check(object)) {
    nb::list flat;
    for (const auto& [key, element] : nb::borrow<nb::dict>(value)) {
      flat.append(key);
      flat.append(element);
    }
    return ReadElements(Argument::Kind::kDict, flat, depth);
  }
  if (PySlice_Check(object)) {
    return ReadElements(Argument::Kind::kSlice,
                        nb::make_tuple(value.attr("start"), value.attr("stop"), value.attr("step")),
                        depth);
  }
  return ReadOther(value);
}

Argument ArgumentReader::ReadElements(Argument::Kind kind, nb::handle sequence, int depth) {
  // A nested list may occur many times, so it is read once.
  if (depth >= 2) {
    if (const auto it = shared_.find(sequence.ptr()); it != shared_.end()) {
      if (!budget_.Charge(it->second.units)) Raise(PyExc_ValueError, "the arguments are too large");
      return it->second.argument;
    }
  }
  const uint64_t before = budget_.left();
  // Copy the sequence, since reading an element may run Python code that changes it.
  const nb::tuple all = TupleOf(sequence);
  const size_t size = static_cast<size_t>(PyTuple_GET_SIZE(all.ptr()));
  if (size > budget_.left()) Raise(PyExc_ValueError, "the arguments are too large");
  auto* const made = arena_.NewArray<Argument>(size);
  for (size_t i = 0; i < size; ++i) {
    new (&made[i])
        Argument(Read(PyTuple_GET_ITEM(all.ptr(), static_cast<Py_ssize_t>(i)), depth + 1));
  }
  const Argument argument = Argument::Aggregate(kind, absl::MakeConstSpan(made, size));
  if (depth >= 2) {
    shared_[sequence.ptr()] = {argument, before - budget_.left()};
    read_.push_back(nb::borrow(sequence));
  }
  return argument;
}

Argument ArgumentReader::ReadOther(nb::handle value) {
  if (value.ptr() == Py_Ellipsis) return Argument::Ellipsis();
  if (PyComplex_Check(value.ptr())) {
    auto* const number = static_cast<std::complex<double>*>(
        arena_.Allocate(sizeof(std::complex<double>), alignof(std::complex<double>)));
    new (number) std::complex<double>(PyComplex_RealAsDouble(value.ptr()),
                                      PyComplex_ImagAsDouble(value.ptr()));
    return static_cast<const std::complex<double>*>(number);
  }
  if (nb::isinstance<DTypeObject>(value)) return nb::cast<DTypeObject&>(value).value;
  if (nb::isinstance<DeviceObject>(value)) return nb::cast<DeviceObject&>(value).value;
  if (nb::isinstance<LayoutObject>(value)) return nb::cast<LayoutObject&>(value).value;
  if (nb::isinstance<MemoryFormatObject>(value)) return nb::cast<MemoryFormatObject&>(value).value;
  if (nb::isinstance<SymExprObject>(value)) return ReadSym(value, module_);
  if (const GraphObject* const body = AsGraph(value)) {
    if (&body->module() != &module_) Raise(PyExc_ValueError, "the graph belongs to another module");
    read_.push_back(nb::borrow(value));
    return body->get();
  }
  const absl::string_view torch = TorchClassOf(value);
  if (torch == "dtype") return ReadDType(value);
  if (torch == "device") return ReadDevice(value);
  if (torch == "layout") {
    const std::string text = WithoutTorch(value);
    return ParsedOrRaise(ParseLayout(text), "layout", text);
  }
  if (torch == "memory_format") {
    const std::string text = WithoutTorch(value);
    return ParsedOrRaise(ParseMemoryFormat(text), "memory format", text);
  }
  if (PyIndex_Check(value.ptr())) {
    const nb::object number = nb::steal(PyNumber_Index(value.ptr()));
    if (number.is_valid()) return Read(number, 0);
    throw nb::python_error();
  }
  Raise(PyExc_TypeError, absl::StrCat("an argument of a node cannot be a ", TypeName(value)));
}

absl::Span<const Argument> ArgumentReader::ReadAll(nb::handle sequence) {
  return ReadElements(Argument::Kind::kTuple, sequence, 0).elements();
}

absl::Span<const KwArg> ArgumentReader::ReadKeywords(nb::handle dict) {
  if (!PyDict_Check(dict.ptr())) Raise(PyExc_TypeError, "kwargs must be a dict");
  const nb::list items = nb::borrow<nb::dict>(dict).items();
  auto* const made = arena_.NewArray<KwArg>(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const nb::object item = items[i];
    const nb::object name = item[0];
    if (!PyUnicode_Check(name.ptr())) Raise(PyExc_TypeError, "a keyword must be a str");
    new (&made[i]) KwArg{arena_.Copy(TextOf(name)), Read(item[1], 0)};
  }
  return absl::MakeConstSpan(made, items.size());
}

void ArgumentReader::CheckOperands() const {
  for (const nb::object& object : read_) {
    if (const NodeObject* const node = AsNode(object)) node->get();
    if (const GraphObject* const body = AsGraph(object)) body->get();
  }
}

DType ReadDType(nb::handle value) {
  if (nb::isinstance<DTypeObject>(value)) return nb::cast<DTypeObject&>(value).value;
  if (!PyUnicode_Check(value.ptr()) && TorchClassOf(value) != "dtype")
    Raise(PyExc_TypeError, absl::StrCat("a dtype cannot be a ", TypeName(value)));
  const std::string text = WithoutTorch(value);
  if (const std::optional<DType> dtype = ParseDType(text)) return *dtype;
  return ParsedOrRaise(ParseDTypeShortName(text), "dtype", text);
}

Device ReadDevice(nb::handle value) {
  if (nb::isinstance<DeviceObject>(value)) return nb::cast<DeviceObject&>(value).value;
  if (!PyUnicode_Check(value.ptr()) && TorchClassOf(value) != "device")
    Raise(PyExc_TypeError, absl::StrCat("a device cannot be a ", TypeName(value)));
  const std::string text = Text(value);
  return ParsedOrRaise(ParseDevice(text), "device", text);
}

const SymExpr* ReadSym(nb::handle value, ModuleObject& module) {
  const auto& sym = nb::cast<const SymExprObject&>(value);
  return sym.module.is(module.self()) ? sym.expr : module.ForChange().CopySym(sym.expr);
}

Dim ReadDim(nb::handle value, ModuleObject& module) {
  if (nb::isinstance<SymExprObject>(value)) return ReadSym(value, module);
  return ReadSize(value);
}

int64_t ReadSize(nb::handle value) {
  const nb::object number = nb::steal(PyNumber_Index(value.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  const long long size = PyLong_AsLongLong(number.ptr());
  if (size == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return static_cast<int64_t>(size);
}

// --- The classes -----------------------------------------------------------------------------

namespace {

// Returns `other`, an int or a SymExpr, as an expression of the module of `self`. Raises the error
// of Python if it is neither, or an int of more than 64 bits.
const SymExpr* OperandOf(const SymExprObject& self, nb::handle other) {
  auto& module = nb::cast<ModuleObject&>(self.module);
  if (nb::isinstance<SymExprObject>(other)) return ReadSym(other, module);
  const int64_t value = ReadSize(other);
  return module.ForChange().SymInt(value);
}

// Raises ValueError for an expression that is larger than any file may hold.
const SymExpr* Checked(const SymExpr* expr) {
  Expansions<const SymExpr*> expansions;
  const std::optional<Expansion> all = expansions.Of(expr, SymParts());
  if (!all || all->size > kMaxTerms || all->height > kMaxNesting)
    Raise(PyExc_ValueError, "the expression is too large");
  return expr;
}

SymExprObject Made(const SymExprObject& self, SymExpr::Kind kind, const SymExpr* lhs,
                   const SymExpr* rhs) {
  if (lhs->is_relation() || rhs->is_relation())
    Raise(PyExc_ValueError, "a relation cannot be a part of an expression");
  const bool divides = kind == SymExpr::Kind::kFloorDiv || kind == SymExpr::Kind::kMod;
  const bool is_number = rhs->kind == SymExpr::Kind::kInt;
  if (divides && is_number && rhs->value == 0)
    Raise(PyExc_ZeroDivisionError, "a size is divided by zero");
  if (kind == SymExpr::Kind::kPow && is_number && rhs->value < 0)
    Raise(PyExc_ValueError, "a size has no negative power");
  auto& owner = nb::cast<ModuleObject&>(self.module);
  return {self.module, Checked(owner.ForChange().SymBinary(kind, lhs, rhs))};
}

constexpr const char* kSymKinds[] = {"int",      "symbol", "neg", "add", "sub", "mul",
                                     "floordiv", "mod",    "pow", "min", "max", "eq",
                                     "ne",       "lt",     "le",  "gt",  "ge"};

// Makes an expression of the fields that it has in Python, for pickle.
SymExprObject MakeSym(nb::object module, const std::string& kind, std::optional<int64_t> value,
                      const std::string& name, nb::tuple operands) {
  auto& owner = nb::cast<ModuleObject&>(module);
  std::vector<const SymExpr*> parts;
  for (const nb::handle operand : operands) {
    if (!nb::isinstance<SymExprObject>(operand))
      Raise(PyExc_TypeError, "an operand of an expression must be a SymExpr");
    parts.push_back(ReadSym(operand, owner));
  }
  using Kind = SymExpr::Kind;
  const auto found = absl::c_find(kSymKinds, kind);
  const Kind made = static_cast<Kind>(found - std::begin(kSymKinds));
  const size_t expected = made == Kind::kNeg                            ? 1
                          : made == Kind::kInt || made == Kind::kSymbol ? 0
                                                                        : 2;
  if (found == std::end(kSymKinds) || parts.size() != expected ||
      value.has_value() != (made == Kind::kInt) || name.empty() == (made == Kind::kSymbol))
    Raise(PyExc_ValueError, "these are not the parts of an expression");
  Module& changed = owner.ForChange();
  switch (made) {
    case Kind::kInt: return {module, changed.SymInt(*value)};
    case Kind::kSymbol: return {module, changed.SymSymbol(name)};
    case Kind::kNeg: return {module, Checked(changed.SymNeg(parts[0]))};
    default: return {module, Checked(changed.SymBinary(made, parts[0], parts[1]))};
  }
}

void BindSymExpr(nb::module_& m) {
  using Kind = SymExpr::Kind;
  nb::class_<SymExprObject> cls(
      m, "SymExpr", nb::type_slots(TraverseSlots<SymExprObject, &SymExprObject::module>()),
      "An integer expression over the symbols of a module, or a relation between two. Operators "
      "make larger ones: `s0 * 2 + 1`. `==` compares expressions; the relation is `s0.eq(4)`.");
  const auto binary = [&](const char* name, const char* reflected, Kind kind) {
    cls.def(
        name,
        [kind](const SymExprObject& self, nb::handle other) {
          return Made(self, kind, self.expr, OperandOf(self, other));
        },
        nb::is_operator());
    if (reflected != nullptr) {
      cls.def(
          reflected,
          [kind](const SymExprObject& self, nb::handle other) {
            return Made(self, kind, OperandOf(self, other), self.expr);
          },
          nb::is_operator());
    }
  };
  binary("__add__", "__radd__", Kind::kAdd);
  binary("__sub__", "__rsub__", Kind::kSub);
  binary("__mul__", "__rmul__", Kind::kMul);
  binary("__floordiv__", "__rfloordiv__", Kind::kFloorDiv);
  binary("__mod__", "__rmod__", Kind::kMod);
  binary("__pow__", "__rpow__", Kind::kPow);
  const auto named = [&](const char* name, Kind kind, const char* doc) {
    cls.def(
        name,
        [kind](const SymExprObject& self, nb::handle other) {
          return Made(self, kind, self.expr, OperandOf(self, other));
        },
        nb::arg("other"), doc);
  };
  named("min", Kind::kMin, "Returns the smaller of the two.");
  named("max", Kind::kMax, "Returns the larger of the two.");
  named("eq", Kind::kEq, "Returns the relation self == other.");
  named("ne", Kind::kNe, "Returns the relation self != other.");
  named("lt", Kind::kLt, "Returns the relation self < other.");
  named("le", Kind::kLe, "Returns the relation self <= other.");
  named("gt", Kind::kGt, "Returns the relation self > other.");
  named("ge", Kind::kGe, "Returns the relation self >= other.");
  cls.def("__neg__", [](const SymExprObject& self) {
    if (self.expr->is_relation()) Raise(PyExc_ValueError, "a relation has no negative");
    auto& owner = nb::cast<ModuleObject&>(self.module);
    return SymExprObject{self.module, Checked(owner.ForChange().SymNeg(self.expr))};
  });
  cls.def("__eq__", [](const SymExprObject& self, nb::handle other) {
    return nb::isinstance<SymExprObject>(other) &&
           *self.expr == *nb::cast<SymExprObject&>(other).expr;
  });
  cls.def("__hash__", [](const SymExprObject& self) {
    return std::hash<std::string>()(PrintSymExpr(*self.expr));
  });
  cls.def("__str__", [](const SymExprObject& self) { return PrintSymExpr(*self.expr); });
  cls.def("__repr__", [](const SymExprObject& self) { return PrintSymExpr(*self.expr); });
  cls.def_prop_ro(
      "kind",
      [](const SymExprObject& self) { return kSymKinds[static_cast<size_t>(self.expr->kind)]; },
      "'int', 'symbol', 'neg', 'add', 'sub', 'mul', 'floordiv', 'mod', 'pow', 'min', 'max', or a "
      "relation: 'eq', 'ne', 'lt', 'le', 'gt', 'ge'.");
  cls.def_prop_ro(
      "value",
      [](const SymExprObject& self) -> std::optional<int64_t> {
        if (self.expr->kind != SymExpr::Kind::kInt) return std::nullopt;
        return self.expr->value;
      },
      "The number of an expression of kind 'int', or None.");
  cls.def_prop_ro(
      "name", [](const SymExprObject& self) { return std::string(self.expr->name); },
      "The name of a symbol, or ''.");
  cls.def_prop_ro(
      "operands",
      [](const SymExprObject& self) {
        nb::list operands;
        for (const SymExpr* operand : {self.expr->lhs, self.expr->rhs}) {
          if (operand != nullptr) operands.append(SymExprObject{self.module, operand});
        }
        return nb::tuple(operands);
      },
      "The expressions that it consists of.");
  cls.def_prop_ro(
      "example",
      [](const SymExprObject& self) {
        return EvaluateWithExamples(nb::cast<ModuleObject&>(self.module).module(), *self.expr);
      },
      "The size for the example values of the module's symbols, or None if a symbol has"
      " none.");
  m.def("_make_sym", MakeSym, nb::arg("module"), nb::arg("kind"), nb::arg("value").none(),
        nb::arg("name"), nb::arg("operands"));
  cls.def("__reduce__", [](nb::handle self) {
    return CallPython(
        "reduced_expression",
        nb::make_tuple(nb::cast<const SymExprObject&>(self).module, nb::borrow(self)));
  });
  CopiedByReference(cls);
}

// Binds a class whose objects are equal if their values are.
template <typename Object>
nb::class_<Object> BindConstant(nb::module_& m, const char* name, const char* doc) {
  nb::class_<Object> cls(m, name, doc);
  cls.def("__eq__", [](const Object& self, nb::handle other) {
    return nb::isinstance<Object>(other) && nb::cast<Object&>(other).value == self.value;
  });
  cls.def("__reduce__", [](nb::handle self) {
    return nb::make_tuple(self.type(), nb::make_tuple(nb::str(self)));
  });
  return CopiedByReference(cls);
}

}  // namespace

void BindConstants(nb::module_& m) {
  BindConstant<DTypeObject>(m, "DType", "The type of the elements of a tensor: DType('float32').")
      .def(
          "__init__",
          [](DTypeObject* self, nb::handle name) { new (self) DTypeObject{ReadDType(name)}; },
          nb::arg("name"))
      .def_prop_ro(
          "name", [](const DTypeObject& self) { return std::string(DTypeName(self.value)); },
          "PyTorch's name: 'float32'.")
      .def_prop_ro(
          "itemsize", [](const DTypeObject& self) { return DTypeBytes(self.value); },
          "The bytes of an element; 0 for types of less than a byte.")
      .def("__str__", [](const DTypeObject& self) { return std::string(DTypeName(self.value)); })
      .def("__repr__",
           [](const DTypeObject& self) { return absl::StrCat("torch.", DTypeName(self.value)); })
      .def("__hash__", [](const DTypeObject& self) { return static_cast<int>(self.value); });
  BindConstant<DeviceObject>(m, "Device", "The place of a tensor: Device('cuda:0').")
      .def(
          "__init__",
          [](DeviceObject* self, nb::handle name) { new (self) DeviceObject{ReadDevice(name)}; },
          nb::arg("name"))
      .def_prop_ro(
          "type",
          [](const DeviceObject& self) { return std::string(DeviceTypeName(self.value.type)); },
          "'cpu', 'cuda', ….")
      .def_prop_ro(
          "index",
          [](const DeviceObject& self) -> std::optional<int> {
            if (self.value.index < 0) return std::nullopt;
            return self.value.index;
          },
          "Its number, or None.")
      .def("__str__", [](const DeviceObject& self) { return DeviceName(self.value); })
      .def("__repr__",
           [](const DeviceObject& self) {
             return absl::StrCat("device('", DeviceName(self.value), "')");
           })
      .def("__hash__", [](const DeviceObject& self) {
        return static_cast<int>(self.value.type) * 256 + self.value.index;
      });
  BindConstant<LayoutObject>(m, "Layout", "The layout of a tensor: Layout('strided').")
      .def(
          "__init__",
          [](LayoutObject* self, const std::string& name) {
            new (self) LayoutObject{ParsedOrRaise(ParseLayout(name), "layout", name)};
          },
          nb::arg("name"))
      .def_prop_ro(
          "name", [](const LayoutObject& self) { return std::string(LayoutName(self.value)); },
          "PyTorch's name: 'strided'.")
      .def("__str__", [](const LayoutObject& self) { return std::string(LayoutName(self.value)); })
      .def("__repr__",
           [](const LayoutObject& self) { return absl::StrCat("torch.", LayoutName(self.value)); })
      .def("__hash__", [](const LayoutObject& self) { return static_cast<int>(self.value); });
  BindConstant<MemoryFormatObject>(m, "MemoryFormat",
                                   "A memory format: MemoryFormat('channels_last').")
      .def(
          "__init__",
          [](MemoryFormatObject* self, const std::string& name) {
            new (self)
                MemoryFormatObject{ParsedOrRaise(ParseMemoryFormat(name), "memory format", name)};
          },
          nb::arg("name"))
      .def_prop_ro(
          "name",
          [](const MemoryFormatObject& self) { return std::string(MemoryFormatName(self.value)); },
          "PyTorch's name: 'channels_last'.")
      .def("__str__",
           [](const MemoryFormatObject& self) { return std::string(MemoryFormatName(self.value)); })
      .def("__repr__",
           [](const MemoryFormatObject& self) {
             return absl::StrCat("torch.", MemoryFormatName(self.value));
           })
      .def("__hash__", [](const MemoryFormatObject& self) { return static_cast<int>(self.value); });
  BindSymExpr(m);
}

}  // namespace graphnet
