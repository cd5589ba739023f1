#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/checkpoint.h"
#include "graphnet/formats/pt2/input_structure.h"
#include "graphnet/formats/pt2/tree_spec.h"
#include "graphnet/formats/put_weights.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/rounding.h"
#include "graphnet/interp/run_report.h"
#include "graphnet/run/engine.h"
#include "graphnet/run/float64_outputs.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/unique_ptr.h"
#include "nanobind/stl/vector.h"
#include "python/bindings/errors.h"
#include "python/bindings/graph.h"
#include "python/bindings/long_call.h"
#include "python/bindings/sample.h"

namespace graphnet {
namespace {

TensorValues ReadValues(nb::dict values) {
  TensorValues read;
  for (const auto& [name, value] : values)
    read[std::string(NameOf(name, "the name of a tensor"))] = ReadTensor(value);
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

// A sample that is ready to run, with its values. Its state is kept from one run to the next, so
// runs from several threads follow each other.
class ReadyObject {
 public:
  ReadyObject(const SampleObject& sample, nb::dict given, std::optional<uint64_t> seed,
              const std::string& device, std::vector<std::string> requires_grad)
      : owner(sample.owner) {
    ModuleObject& object = sample.get();
    TensorValues values = ReadValues(std::move(given));
    object.LetChangesPass();
    object.RequireVerified();
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
    auto& module = nb::cast<ModuleObject&>(owner);
    module.LetChangesPass();
    std::vector<ReadLock> locks = Locks(module);
    SignalCheck check;
    absl::StatusOr<TensorValues> outputs;
    {
      const nb::gil_scoped_release release;
      const std::unique_lock lock(mutex_);  // It is released before the GIL is taken again.
      outputs = [&]() -> absl::StatusOr<TensorValues> {
        RETURN_IF_ERROR(program_->Run([&](const Node&) { return check.Ask(); }));
        return program_->Outputs();
      }();
    }
    return ToPython(ValueOrRaise(std::move(outputs)));
  }

  nb::dict State() {
    absl::StatusOr<TensorValues> state;
    {
      const nb::gil_scoped_release release;
      const std::unique_lock lock(mutex_);
      state = program_->State();
    }
    return ToPython(ValueOrRaise(std::move(state)));
  }

  nb::object owner;  // a Module

 private:
  std::unique_ptr<ReadyProgram> program_;
  std::mutex mutex_;  // guards the state of the program
};

nb::object WithShapes(const SampleObject& self, nb::dict given) {
  ModuleObject& object = self.get();
  TensorValues values = ReadValues(std::move(given));
  object.LetChangesPass();
  object.RequireVerified();
  Sample copy = ValueOrRaise(LongCall(
      Locks(object), [&object, values = std::move(values)]() mutable -> absl::StatusOr<Sample> {
        ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
        Sample made = WholeCopyOf(object.sample());
        // As in the command, sizes may depend on the data of small inputs and weights.
        const std::map<std::string, TensorData> weights = made.weights;
        for (auto& [name, data] : values) made.weights[name] = std::move(data);
        const absl::StatusOr<TensorValues> drawn =
            DrawInputs(made, {.max_elements = kMaxElementsWithData});
        const absl::Status found =
            engine->InferShapesOf(made.module.get(), drawn.ok() ? *drawn : made.weights).status();
        if (!found.ok()) return drawn.ok() ? found : drawn.status();
        made.weights = weights;
        return made;
      }));
  return MakeSample(std::move(copy), {}, /*is_verified=*/false);
}

// Says of each output of something else whether rounding explains its difference from the sample's own:
// tuples of the verdict, ratio, beyond, decision, and all this as a text.
nb::list Explain(const SampleObject& self, nb::dict given, nb::dict outputs, uint64_t seed) {
  ModuleObject& object = self.get();
  TensorValues values = ReadValues(std::move(given));
  TensorValues others = ReadValues(std::move(outputs));
  object.LetChangesPass();
  object.RequireVerified();
  auto borrowed = std::make_shared<BorrowedSamples>(std::vector<ModuleObject*>{&object});
  const RunComparison compared = ValueOrRaise(LongCall(
      Locks(object),
      [borrowed, values = std::move(values), others = std::move(others),
       seed]() mutable -> absl::StatusOr<RunComparison> {
        ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
        Sample* const sample = &borrowed->get()[0];
        std::map<std::string, TensorData>& known = sample->weights;
        for (auto& [name, data] : values) known[name] = std::move(data);
        ASSIGN_OR_RETURN(TensorValues drawn, DrawInputs(*sample, {.seed = seed}));
        CompareOptions options;
        options.seed = seed;
        options.explains = true;
        absl::StatusOr<TensorValues> exact = Float64Outputs(*engine, *sample->module, drawn, seed);
        if (exact.ok()) options.exact = *std::move(exact);
        return engine->CompareRuns({sample->module.get(), std::move(drawn), {}},
                                   {nullptr, std::move(others), {}}, options, "outputs");
      }));
  if (compared.outputs_a != compared.outputs_b) {
    Raise(absl::InvalidArgumentError(absl::StrCat("the sample has ", compared.outputs_a,
                                                  " outputs, and ", compared.outputs_b,
                                                  " were given")));
  }
  nb::list made;
  for (const OutputDifference& output : compared.outputs) {
    RoundingFinding finding;
    if (output.explained.has_value()) finding = *output.explained;
    if (!output.explained.has_value() && !output.equal)
      finding.verdict = RoundingVerdict::kOtherForm;
    made.append(nb::make_tuple(std::string(RoundingVerdictName(finding.verdict)), finding.ratio,
                               finding.beyond, finding.decision, finding.Text()));
  }
  return made;
}

// Returns the arguments of a program as nested lists and dicts, with the name of an input at each
// leaf, or "" for a constant, which callers repeat. `next` is the number of the next leaf.
nb::object StructureOf(const pt2::TreeSpec& spec, const std::vector<std::string>& names,
                       size_t* next) {
  using Kind = pt2::TreeSpec::Kind;
  if (spec.kind == Kind::kLeaf) return nb::str(names.at((*next)++).c_str());
  if (spec.kind != Kind::kDict) {
    nb::list made;
    for (const pt2::TreeSpec& child : spec.children) made.append(StructureOf(child, names, next));
    return made;
  }
  nb::dict made;
  for (size_t i = 0; i < spec.children.size(); ++i) {
    const nb::object key = std::visit(
        [](const auto& value) -> nb::object {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
            return nb::none();
          } else {
            return nb::cast(value);
          }
        },
        spec.keys[i]);
    made[key] = StructureOf(spec.children[i], names, next);
  }
  return made;
}

// Returns the positional and the keyword arguments of a program of torch.export; None for any other
// sample.
nb::object Arguments(const SampleObject& self) {
  const absl::StatusOr<pt2::InputStructure> structure =
      pt2::ReadInputStructure(self.get().sample());
  if (!structure.ok()) return nb::none();
  size_t next = 0;
  nb::list made;
  for (const pt2::TreeSpec& child : structure->spec.children)
    made.append(StructureOf(child, structure->inputs, &next));
  return made;
}

// Puts a checkpoint, a path or a dict of tensors, into a sample. Returns what became of it as JSON, and
// why it is refused.
nb::tuple PutCheckpoint(const SampleObject& self, nb::handle source, bool cast, bool partial) {
  Checkpoint checkpoint;
  if (nb::isinstance<nb::dict>(source)) {
    checkpoint.file = "the dict";
    checkpoint.tensors = ReadValues(nb::cast<nb::dict>(source));
  } else {
    const std::string path = PathOf(source);
    checkpoint = ValueOrRaise(LongCall(Locks(), [path] { return ReadCheckpoint(path); }));
  }
  ModuleObject& object = self.get();
  object.WaitForReaders();
  object.RequireVerified();
  const PutWeights put = ValueOrRaise(
      PutInto(checkpoint, {.casts = cast, .is_partial = partial}, &object.SampleForChange()));
  return nb::make_tuple(put.AsReport().ToJson().Dump(), put.Refusal());
}

}  // namespace

void BindRuns(nb::module_& m) {
  m.def("_put_weights", PutCheckpoint, nb::arg("sample"), nb::arg("source"), nb::arg("cast"),
        nb::arg("partial"));
  nb::class_<ReadyObject>(
      m, "ReadyProgram", nb::type_slots(TraverseSlots<ReadyObject, &ReadyObject::owner>()),
      "A sample that is ready to run, with its values. The next run sees what a run "
      "writes to parameters and buffers.")
      .def("run", &ReadyObject::Run, "Runs the sample. Returns the outputs o0, o1, … in order.")
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
  m.def("_explain", Explain, nb::arg("sample"), nb::arg("values"), nb::arg("outputs"),
        nb::arg("seed"));
  m.def("_arguments", Arguments, nb::arg("sample"));
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
