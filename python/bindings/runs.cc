#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/engine.h"
#include "graphnet/formats/torch_functions.h"
#include "graphnet/interp/inputs/draw.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/unique_ptr.h"
#include "nanobind/stl/vector.h"
#include "python/bindings/errors.h"
#include "python/bindings/long_call.h"
#include "python/bindings/sample.h"

namespace graphnet {
namespace {

TensorValues ReadValues(nb::dict values) {
  TensorValues read;
  for (const auto& [name, value] : values) read[nb::cast<std::string>(name)] = ReadTensor(value);
  return read;
}

nb::dict ToPython(TensorValues values) {
  nb::dict made;
  for (auto& [name, data] : values) made[name.c_str()] = TensorObject{std::move(data)};
  return made;
}

// Lets Ctrl-C end a run between two calls. Python keeps the exception that a signal raises.
class SignalCheck {
 public:
  absl::Status Ask() {
    if (++calls_ % 16 != 0) return absl::OkStatus();
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() == 0) return absl::OkStatus();
    return absl::CancelledError("a signal ended the run");
  }

 private:
  size_t calls_ = 0;
};

// A sample that is ready to run, with its values. Its state is kept from one run to the next.
class ReadyObject {
 public:
  ReadyObject(const SampleObject& sample, nb::dict given, std::optional<uint64_t> seed,
              const std::string& device, std::vector<std::string> requires_grad)
      : owner_(sample.owner) {
    ModuleObject& object = sample.get();
    object.RequireVerified();
    TensorValues values = ReadValues(std::move(given));
    auto borrowed = std::make_shared<BorrowedSamples>(std::vector<ModuleObject*>{&object});
    program_ = ValueOrRaise(LongCall(
        Locks(object),
        [borrowed, values = std::move(values), seed, device,
         requires_grad =
             std::move(requires_grad)]() mutable -> absl::StatusOr<std::unique_ptr<ReadyProgram>> {
          ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
          Sample* const sample = &borrowed->get()[0];
          // Values of the caller replace those of the sample.
          std::map<std::string, TensorData>& known = sample->weights;
          for (auto& [name, data] : values) known[name] = std::move(data);
          ASSIGN_OR_RETURN(TensorValues drawn, DrawInputs(*sample, {.seed = seed.value_or(0)}));
          return engine->Prepare(*sample->module, std::move(drawn),
                                 {.seed = seed, .device = device, .requires_grad = requires_grad});
        }));
  }

  nb::dict Run() {
    std::vector<ReadLock> locks = Locks(nb::cast<ModuleObject&>(owner_));
    SignalCheck check;
    absl::StatusOr<TensorValues> outputs;
    {
      const nb::gil_scoped_release release;
      outputs = [&]() -> absl::StatusOr<TensorValues> {
        RETURN_IF_ERROR(program_->Run([&](const Node&) { return check.Ask(); }));
        return program_->Outputs();
      }();
    }
    return ToPython(ValueOrRaise(std::move(outputs)));
  }

  nb::dict State() const { return ToPython(ValueOrRaise(program_->State())); }

 private:
  nb::object owner_;
  std::unique_ptr<ReadyProgram> program_;
};

nb::object WithShapes(const SampleObject& self, nb::dict given) {
  ModuleObject& object = self.get();
  object.RequireVerified();
  TensorValues values = ReadValues(std::move(given));
  Sample copy = ValueOrRaise(LongCall(
      Locks(object), [&object, values = std::move(values)]() mutable -> absl::StatusOr<Sample> {
        ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
        Sample made = WholeCopyOf(object.sample());
        RETURN_IF_ERROR(engine->InferShapesOf(made.module.get(), values).status());
        return made;
      }));
  return MakeSample(std::move(copy), {}, /*is_verified=*/false);
}

}  // namespace

void BindRuns(nb::module_& m) {
  SetTorchFunctions([]() -> absl::StatusOr<const TorchFunctions*> { return OpenEngine(); });
  nb::class_<ReadyObject>(m, "ReadyProgram",
                          "A sample that is ready to run, with its values. What a run writes to "
                          "parameters and buffers stays for the next one.")
      .def("run", &ReadyObject::Run, "Runs it. Returns the outputs: o0, o1, … in order.")
      .def("state", &ReadyObject::State,
           "The parameters and buffers by name, as runs have left them.");
  m.def(
      "_prepare",
      [](const SampleObject& sample, nb::dict values, std::optional<uint64_t> seed,
         const std::string& device, std::vector<std::string> requires_grad) {
        return std::make_unique<ReadyObject>(sample, std::move(values), seed, device,
                                             std::move(requires_grad));
      },
      nb::arg("sample"), nb::arg("values"), nb::arg("seed").none(), nb::arg("device"),
      nb::arg("requires_grad"));
  m.def("_with_shapes", WithShapes, nb::arg("sample"), nb::arg("values"));
  m.def(
      "_set_num_threads",
      [](int threads) {
        const Engine* const engine = ValueOrRaise(OpenEngine());
        engine->SetNumThreads(threads);
      },
      nb::arg("threads"));
  m.def("_libtorch_version", [] { return ValueOrRaise(OpenEngine())->LibTorchVersion(); });
}

}  // namespace graphnet
