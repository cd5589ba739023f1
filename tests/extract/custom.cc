#include "tests/extract/custom.h"

#include "ATen/ATen.h"
#include "torch/library.h"

namespace graphnet {
namespace {

// A class that cannot be pickled.
struct Transient : Counter {
  using Counter::Counter;
};

at::Tensor Twice(const at::Tensor& x) { return x * 2; }

TORCH_LIBRARY(graphnet_test, m) {
  m.def("twice(Tensor x) -> Tensor", Twice);
  m.class_<Counter>("Counter")
      .def(torch::init<int64_t>())
      .def("next", &Counter::Next)
      .def("pass_on", &Counter::Pass)
      .def("fork", &Counter::Fork)
      .def_pickle([](const c10::intrusive_ptr<Counter>& self) { return self->count; },
                  [](int64_t count) { return c10::make_intrusive<Counter>(count); });
  m.class_<Transient>("Transient").def("next", [](const c10::intrusive_ptr<Transient>& self) {
    return self->Next();
  });
}

}  // namespace

c10::IValue MakeCounter(int64_t start, bool storable) {
  if (storable) return c10::IValue(c10::make_intrusive<Counter>(start));
  return c10::IValue(c10::make_intrusive<Transient>(start));
}

}  // namespace graphnet
