#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/tensor_size.h"
#include "nanobind/ndarray.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/vector.h"
#include "python/bindings/arguments.h"
#include "python/bindings/errors.h"
#include "python/bindings/graph.h"
#include "python/bindings/sample.h"

namespace graphnet {
namespace {

// DLPack's codes; float8 came with version 1.1.
struct DLType {
  DType dtype;
  uint8_t code;
  uint8_t bits;
};
constexpr DLType kTypes[] = {
    {DType::kBool, 6, 8},
    {DType::kUInt8, 1, 8},
    {DType::kInt8, 0, 8},
    {DType::kInt16, 0, 16},
    {DType::kInt32, 0, 32},
    {DType::kInt64, 0, 64},
    {DType::kUInt16, 1, 16},
    {DType::kUInt32, 1, 32},
    {DType::kUInt64, 1, 64},
    {DType::kFloat16, 2, 16},
    {DType::kBFloat16, 4, 16},
    {DType::kFloat32, 2, 32},
    {DType::kFloat64, 2, 64},
    {DType::kComplex64, 5, 64},
    {DType::kComplex128, 5, 128},
    {DType::kFloat8E4M3FN, 10, 8},
    {DType::kFloat8E4M3FNUZ, 11, 8},
    {DType::kFloat8E5M2, 12, 8},
    {DType::kFloat8E5M2FNUZ, 13, 8},
    {DType::kFloat8E8M0FNU, 14, 8},
};

using Array = nb::ndarray<nb::ro, nb::device::cpu>;

// Keeps a Python array alive; the owner may be destroyed in any thread.
std::shared_ptr<const void> Keep(Array array) {
  return {new Array(std::move(array)), [](const Array* kept) {
            if (Py_IsInitialized() == 0) return;  // The process ends, so the memory may leak.
            const nb::gil_scoped_acquire gil;
            delete kept;
          }};
}

// Allows writes to memory that may belong to a file mapped for reading. A write then changes this
// process's own copy of the page; otherwise it would end the process. DLPack has a way to mark
// memory as read-only, but not all of its users respect it.
void AllowWrites(absl::string_view bytes) {
  if (bytes.empty()) return;
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(bytes.data()) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size();
  // If this fails, the memory cannot be made writable and stays as it is.
  (void)mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE);
}

// Returns a tensor with a copy of the bytes.
TensorObject CopyOf(const TensorObject& self) {
  TensorObject copy = self;
  if (self.data.bytes != nullptr)
    copy.data.bytes = std::make_shared<const std::string>(*self.data.bytes);
  return copy;
}

// Returns what a keyword argument holds, or None.
nb::object KeywordOf(const nb::kwargs& keywords, const char* name) {
  return keywords.contains(name) ? nb::object(keywords[name]) : nb::none();
}

// Returns DLPack's capsule of a tensor, which `owner` keeps alive.
nb::object Capsule(const TensorObject& self, nb::handle owner) {
  const DLType* found = nullptr;
  for (const DLType& type : kTypes) {
    if (type.dtype == self.data.dtype) found = &type;
  }
  if (found == nullptr) {
    Raise(PyExc_BufferError,
          absl::StrCat("DLPack has no dtype ", DTypeName(self.data.dtype), "; use Tensor.bytes"));
  }
  const std::vector<size_t> shape(self.data.shape.begin(), self.data.shape.end());
  if (self.data.bytes != nullptr) AllowWrites(*self.data.bytes);
  const void* const bytes = self.data.bytes == nullptr ? nullptr : self.data.bytes->data();
  const nb::ndarray<> array(const_cast<void*>(bytes), shape.size(), shape.data(), owner, nullptr,
                            {.code = found->code, .bits = found->bits, .lanes = 1});
  return nb::cast(array, nb::rv_policy::reference);
}

TensorObject AsBytes(const TensorObject& self) {
  const int64_t size =
      self.data.bytes == nullptr ? 0 : static_cast<int64_t>(self.data.bytes->size());
  return {{.dtype = DType::kUInt8, .shape = {size}, .bytes = self.data.bytes}};
}

}  // namespace

TensorData ReadTensor(nb::handle value) {
  if (nb::isinstance<TensorObject>(value)) return nb::cast<TensorObject&>(value).data;
  Array array;
  if (!nb::try_cast(value, array)) {
    Raise(PyExc_TypeError, absl::StrCat("a ", Py_TYPE(value.ptr())->tp_name,
                                        " has neither __dlpack__ nor a buffer in main memory"));
  }
  const nb::dlpack::dtype given = array.dtype();
  TensorData data;
  for (const DLType& type : kTypes) {
    if (type.code == given.code && type.bits == given.bits && given.lanes == 1)
      data.dtype = type.dtype;
  }
  if (data.dtype == DType::kUnknown) {
    Raise(PyExc_TypeError, absl::StrCat("a tensor cannot have DLPack's dtype ", given.code, " of ",
                                        given.bits, " bits"));
  }
  int64_t expected = 1;
  bool is_contiguous = true;
  for (size_t i = array.ndim(); i-- > 0;) {
    if (array.shape(i) != 1 && array.stride(i) != expected) is_contiguous = false;
    expected *= static_cast<int64_t>(array.shape(i));
  }
  for (size_t i = 0; i < array.ndim(); ++i)
    data.shape.push_back(static_cast<int64_t>(array.shape(i)));
  if (expected > 0 && array.data() == nullptr)
    Raise(PyExc_ValueError, "the memory of the tensor was released");
  if (!is_contiguous && expected > 0) {
    Raise(PyExc_ValueError, "the tensor is not contiguous; give a contiguous copy");
  }
  const size_t bytes = static_cast<size_t>(expected) * (given.bits / 8);
  const absl::string_view part(static_cast<const char*>(array.data()), bytes);
  data.bytes = SharedBytes(Keep(std::move(array)), expected == 0 ? absl::string_view("") : part);
  return data;
}

void BindTensor(nb::module_& m) {
  nb::class_<TensorObject> cls(
      m, "Tensor", nb::is_weak_referenceable(),
      "The bytes of one tensor, row-major. A Tensor is read-only and shares its memory "
      "with the file that it was loaded from, or the array that it was made from. "
      "torch.from_dlpack and numpy.from_dlpack take it without a copy.");
  cls.def(
         "__init__",
         [](TensorObject* self, nb::handle array) { new (self) TensorObject{ReadTensor(array)}; },
         nb::arg("array"),
         "Makes a tensor from an object that has __dlpack__ or a buffer; its memory is "
         "shared.")
      .def_static(
          "from_bytes",
          [](nb::handle bytes, nb::handle dtype, std::vector<int64_t> shape) {
            TensorData data = ReadTensor(bytes);
            data.dtype = ReadDType(dtype);
            data.shape = std::move(shape);
            const std::optional<int64_t> elements = NumElements(data.shape);
            if (!elements.has_value()) Raise(PyExc_ValueError, "no tensor has this shape");
            int64_t size = 0;
            if (__builtin_mul_overflow(*elements, DTypeBytes(data.dtype), &size))
              Raise(PyExc_ValueError, "no tensor has this shape");
            if (size != static_cast<int64_t>(data.bytes->size())) {
              Raise(PyExc_ValueError,
                    absl::StrCat("the tensor takes ", size, " bytes, not ", data.bytes->size()));
            }
            return TensorObject{std::move(data)};
          },
          nb::arg("bytes"), nb::arg("dtype"), nb::arg("shape"),
          "Makes a tensor from raw bytes, for dtypes that DLPack does not have; the memory "
          "is shared.")
      .def_prop_ro(
          "dtype", [](const TensorObject& self) { return ToPython(self.data.dtype); },
          "The type of the elements.")
      .def_prop_ro(
          "shape",
          [](const TensorObject& self) {
            nb::list sizes;
            for (const int64_t size : self.data.shape) sizes.append(size);
            return nb::tuple(sizes);
          },
          "The sizes, a tuple.")
      .def_prop_ro(
          "nbytes",
          [](const TensorObject& self) {
            return self.data.bytes == nullptr ? 0 : self.data.bytes->size();
          },
          "The number of bytes of the elements.")
      .def(
          "with_strides",
          [](const TensorObject& self, std::vector<int64_t> strides) {
            TensorObject made = self;
            if (strides.size() != made.data.shape.size())
              Raise(PyExc_ValueError, "expected one stride for each dimension");
            made.data.strides = std::move(strides);
            return made;
          },
          nb::arg("strides"),
          "Returns the same tensor with strides for running it: one stride for each "
          "dimension, in elements. The bytes here stay row-major.")
      .def_prop_ro(
          "strides",
          [](const TensorObject& self) -> nb::object {
            if (self.data.strides.empty()) return nb::none();
            nb::list strides;
            for (const int64_t stride : self.data.strides) strides.append(stride);
            return nb::tuple(strides);
          },
          "The strides for running it, in elements, or None if it is row-major there, too.")
      .def_prop_ro("bytes", AsBytes, "All bytes as a Tensor of uint8, without a copy.")
      .def(
          "__dlpack__",
          [](nb::handle self, nb::kwargs keywords) {
            const nb::object device = KeywordOf(keywords, "dl_device");
            if (!device.is_none() && !nb::tuple(device).equal(nb::make_tuple(1, 0)))
              Raise(PyExc_BufferError, "the tensor is in main memory, DLPack's device (1, 0)");
            const nb::object copy = KeywordOf(keywords, "copy");
            if (copy.is_none() || !nb::cast<bool>(nb::bool_(copy)))
              return Capsule(nb::cast<const TensorObject&>(self), self);
            const nb::object made = nb::cast(CopyOf(nb::cast<const TensorObject&>(self)));
            return Capsule(nb::cast<const TensorObject&>(made), made);
          },
          "Serves numpy.from_dlpack and torch.from_dlpack. copy=True gives them memory of their "
          "own.")
      .def(
          "__array__",
          [](nb::handle self, nb::handle dtype, nb::handle copy) {
            return CallPython(
                "array_of", nb::make_tuple(nb::borrow(self), nb::borrow(dtype), nb::borrow(copy)));
          },
          nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
          "Serves numpy.asarray, for dtypes that numpy has. The array shares the memory and is "
          "read-only unless copy is True.")
      .def(
          "__len__",
          [](const TensorObject& self) {
            if (self.data.shape.empty()) Raise(PyExc_TypeError, "a tensor of rank 0 has no len()");
            return self.data.shape[0];
          },
          "The first size.")
      .def("__bool__", [](const TensorObject&) { return true; })
      .def("__reduce__", [](nb::handle self) { return CallPython("reduced_tensor", self); })
      .def("__dlpack_device__", [](const TensorObject&) { return nb::make_tuple(1, 0); })
      .def("__repr__", [](const TensorObject& self) {
        return absl::StrCat("<graphnet_ir.Tensor ", DTypeName(self.data.dtype), "[",
                            absl::StrJoin(self.data.shape, ", "), "]>");
      });
  CopiedByReference(cls);
  m.def("_bytes_of", [](const TensorObject& self) {
    if (self.data.bytes == nullptr) return nb::bytes("", 0);
    return nb::bytes(self.data.bytes->data(), self.data.bytes->size());
  });
}

}  // namespace graphnet
