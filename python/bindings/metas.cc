#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/tensor_size.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/string.h"
#include "python/bindings/arguments.h"
#include "python/bindings/errors.h"
#include "python/bindings/graph.h"

namespace graphnet {
namespace {

// The meta of a tensor as a Python value that belongs to no module.
struct TensorMetaObject {
  DType dtype = DType::kUnknown;
  nb::object shape;  // a tuple of int and SymExpr, or None if unknown
  std::optional<Device> device;
};

TensorMeta ReadTensorMeta(const TensorMetaObject& value, ModuleObject& module,
                          std::vector<Dim>* dims) {
  TensorMeta meta;
  meta.dtype = value.dtype;
  if (value.device) {
    meta.has_device = true;
    meta.device = *value.device;
  }
  if (!value.shape.is_none()) {
    meta.has_shape = true;
    for (const nb::handle dim : nb::borrow<nb::tuple>(value.shape))
      dims->push_back(ReadDim(dim, module));
    meta.shape = *dims;
  }
  return meta;
}

const ValueMeta* ReadMeta(nb::handle value, ModuleObject& module, int depth, Budget* budget) {
  if (!budget->Charge(1)) Raise(PyExc_ValueError, "the meta is too large");
  if (value.is_none()) return nullptr;
  if (nb::isinstance<TensorMetaObject>(value)) {
    std::vector<Dim> dims;
    const TensorMeta meta = ReadTensorMeta(nb::cast<TensorMetaObject&>(value), module, &dims);
    return module.ForChange().InternValueMeta(meta);
  }
  if (!PyTuple_Check(value.ptr()) && !PyList_Check(value.ptr())) {
    Raise(PyExc_TypeError, absl::StrCat("a meta is a TensorMeta, a tuple of metas or None, not a ",
                                        Py_TYPE(value.ptr())->tp_name));
  }
  if (depth >= kMaxNesting)
    Raise(PyExc_ValueError, absl::StrCat("metas nest at most ", kMaxNesting, " deep"));
  std::vector<const ValueMeta*> elements;
  for (const nb::handle element : TupleOf(value))
    elements.push_back(ReadMeta(element, module, depth + 1, budget));
  return module.ForChange().InternTupleMeta(elements);
}

}  // namespace

const ValueMeta* ReadMeta(nb::handle value, ModuleObject& module) {
  Budget budget(kMaxTerms);
  return ReadMeta(value, module, 0, &budget);
}

namespace {

// Metas are shared, so each is made once.
using MadeMetas = absl::flat_hash_map<const ValueMeta*, nb::object>;

nb::object MakeMeta(const ValueMeta* meta, ModuleObject& module, MadeMetas* shared) {
  if (meta == nullptr) return nb::none();
  if (meta->is_tuple) {
    if (const auto it = shared->find(meta); it != shared->end()) return it->second;
    nb::list elements;
    for (const ValueMeta* element : meta->elements)
      elements.append(MakeMeta(element, module, shared));
    return (*shared)[meta] = nb::tuple(elements);
  }
  if (meta->tensor == nullptr) return nb::none();
  TensorMetaObject made;
  made.dtype = meta->tensor->dtype;
  made.shape = nb::none();
  if (meta->tensor->has_shape) {
    nb::list dims;
    for (const Dim& dim : meta->tensor->shape) dims.append(ToPython(dim, module));
    made.shape = nb::tuple(dims);
  }
  if (meta->tensor->has_device) made.device = meta->tensor->device;
  return nb::cast(std::move(made));
}

}  // namespace

nb::object ToPython(const ValueMeta* meta, ModuleObject& module) {
  MadeMetas shared;
  return MakeMeta(meta, module, &shared);
}

nb::object ToPython(const DrawSpec* spec, ModuleObject& module) {
  if (spec == nullptr) return nb::none();
  nb::dict made;
  if (spec->has_mean) made["mean"] = spec->mean;
  if (spec->has_std) made["std"] = spec->std;
  if (!spec->min.is_none()) made["min"] = ToPython(spec->min, module);
  if (!spec->max.is_none()) made["max"] = ToPython(spec->max, module);
  if (!spec->data.is_none()) made["data"] = ToPython(spec->data, module);
  if (!spec->original_name.empty())
    made["original_name"] = nb::str(spec->original_name.data(), spec->original_name.size());
  if (spec->in_input_meta) made["in_input_meta"] = true;
  return made;
}

void ReadDrawSpec(nb::handle value, ModuleObject& module,
                  const std::function<void(const DrawSpec&)>& use) {
  if (!PyDict_Check(value.ptr())) Raise(PyExc_TypeError, "a draw spec must be a dict");
  ArgumentReader reader(module, nullptr);
  DrawSpec spec;
  const auto number = [&](const Argument& argument, absl::string_view key) {
    if (!argument.is_number() && !argument.is_none())
      Raise(PyExc_TypeError, absl::StrCat(key, " of a draw spec must be a number"));
    return argument;
  };
  for (const auto& [key, element] : nb::borrow<nb::dict>(value)) {
    const std::string name = nb::cast<std::string>(key);
    const Argument read = reader.Read(element);
    const auto real = [&] {
      number(read, name);
      return read.is_float()  ? read.real()
             : read.is_bool() ? static_cast<double>(read.boolean())
                              : static_cast<double>(read.is_int() ? read.integer() : 0);
    };
    if (name == "mean" || name == "std") {
      if (read.is_none()) continue;
      (name == "mean" ? spec.has_mean : spec.has_std) = true;
      (name == "mean" ? spec.mean : spec.std) = real();
    } else if (name == "min") {
      spec.min = number(read, name);
    } else if (name == "max") {
      spec.max = number(read, name);
    } else if (name == "data") {
      if (!read.is_none()) {
        if (!read.is_sequence())
          Raise(PyExc_TypeError, "data of a draw spec must be a list of numbers");
        for (const Argument& e : read.elements()) {
          if (!e.is_number())
            Raise(PyExc_TypeError, "data of a draw spec must be a list of numbers");
        }
        spec.data = Argument::Aggregate(Argument::Kind::kList, read.elements());
      }
    } else if (name == "original_name") {
      if (!read.is_string()) Raise(PyExc_TypeError, "original_name of a draw spec must be a str");
      spec.original_name = read.string();
    } else if (name == "in_input_meta") {
      spec.in_input_meta = read.is_bool() && read.boolean();
    } else {
      Raise(PyExc_ValueError, absl::StrCat("a draw spec has no '", name,
                                           "'; it has mean, std, min, max, data, original_name "
                                           "and in_input_meta"));
    }
  }
  use(spec);
}

namespace {

// Returns the sizes of a shape that a user gave: a tuple of int and SymExpr.
nb::tuple ReadShape(nb::handle shape) {
  nb::list sizes;
  std::vector<int64_t> numbers;
  for (const nb::handle size : TupleOf(shape)) {
    if (nb::isinstance<SymExprObject>(size)) {
      if (nb::cast<const SymExprObject&>(size).expr->is_relation())
        Raise(PyExc_ValueError, "a relation is not a size");
      sizes.append(size);
      continue;
    }
    const int64_t number = ReadSize(size);
    if (number < 0) Raise(PyExc_ValueError, absl::StrCat("the size ", number, " is negative"));
    sizes.append(nb::int_(number));
    numbers.push_back(number);
  }
  if (!NumElements(numbers).has_value()) Raise(PyExc_ValueError, "no tensor has this shape");
  return nb::tuple(sizes);
}

}  // namespace

void BindMetas(nb::module_& m) {
  nb::class_<TensorMetaObject> cls(
      m, "TensorMeta", nb::type_slots(TraverseSlots<TensorMetaObject, &TensorMetaObject::shape>()),
      "The facts of a tensor that are known without running it: dtype (a DType), shape (a tuple of "
      "int and SymExpr, or None if not even the rank is known) and device (a Device, or None).");
  cls.def(
         "__init__",
         [](TensorMetaObject* self, nb::handle dtype, nb::object shape, nb::object device) {
           TensorMetaObject made;
           made.dtype = ReadDType(dtype);
           made.shape = nb::none();
           if (!shape.is_none()) made.shape = ReadShape(shape);
           if (!device.is_none()) made.device = ReadDevice(device);
           new (self) TensorMetaObject(std::move(made));
         },
         nb::arg("dtype"), nb::arg("shape") = nb::none(), nb::arg("device") = nb::none())
      .def_prop_ro(
          "dtype", [](const TensorMetaObject& self) { return ToPython(self.dtype); },
          "The type of the elements.")
      .def_prop_ro(
          "shape", [](const TensorMetaObject& self) { return self.shape; },
          "The sizes, a tuple of int and SymExpr, or None if not even the rank is known.")
      .def_prop_ro(
          "device",
          [](const TensorMetaObject& self) -> nb::object {
            if (!self.device) return nb::none();
            return ToPython(*self.device);
          },
          "The device, or None if it is unknown.")
      .def("__eq__",
           [](const TensorMetaObject& self, nb::handle other) {
             if (!nb::isinstance<TensorMetaObject>(other)) return false;
             const auto& value = nb::cast<const TensorMetaObject&>(other);
             return self.dtype == value.dtype && self.device == value.device &&
                    self.shape.equal(value.shape);
           })
      .def("__hash__",
           [](const TensorMetaObject& self) {
             return static_cast<int64_t>(self.dtype) * 1000003 ^ PyObject_Hash(self.shape.ptr());
           })
      .def("__repr__",
           [](const TensorMetaObject& self) {
             std::string text = absl::StrCat("TensorMeta('", DTypeName(self.dtype), "', ",
                                             nb::cast<std::string>(nb::str(self.shape)));
             if (self.device) absl::StrAppend(&text, ", '", DeviceName(*self.device), "'");
             return absl::StrCat(text, ")");
           })
      .def("__reduce__", [](nb::handle self) {
        return nb::make_tuple(self.type(), nb::make_tuple(self.attr("dtype"), self.attr("shape"),
                                                          self.attr("device")));
      });
  CopiedByReference(cls);
}

}  // namespace graphnet
