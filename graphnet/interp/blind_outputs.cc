#include "graphnet/interp/blind_outputs.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/torch/comparison.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"

namespace graphnet {
namespace {

// Returns the tensors among values; the others have no elements.
absl::StatusOr<std::vector<TensorData>> TensorsOf(const std::vector<c10::IValue>& values) {
  return Guarded([&]() -> absl::StatusOr<std::vector<TensorData>> {
    std::vector<TensorData> tensors(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i].isTensor() || !IsReadable(values[i].toTensor())) continue;
      ASSIGN_OR_RETURN(tensors[i], ToTensorData(PlainTensor(values[i].toTensor())));
    }
    return tensors;
  });
}

std::vector<WrongAnswer> AnswersFor(const std::vector<TensorData>& tensors, const Module& module,
                                    const std::map<std::string, TensorData>& values,
                                    ToleranceOfDType tolerance) {
  const std::vector<OutputForm> forms = FormsOfOutputs(module);
  std::vector<WrongAnswer> answers;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tolerance allowed = tolerance(tensors[i].dtype);
    answers.push_back(FindWrongAnswer(tensors, i, forms, values, absl::MakeConstSpan(&allowed, 1)));
  }
  return answers;
}

}  // namespace

Tolerance ExactTolerance(DType /*dtype*/) { return {}; }

Tolerance CustomaryTolerance(DType dtype) {
  return ToleranceAt(kCustomaryToleranceLevel, ToleranceClassOf(DTypeName(dtype)));
}

absl::StatusOr<std::vector<WrongAnswer>> BlindOutputs(
    const std::vector<c10::IValue>& outputs, const Module& module,
    const std::map<std::string, TensorData>& values, ToleranceOfDType tolerance) {
  ASSIGN_OR_RETURN(const std::vector<TensorData> tensors, TensorsOf(outputs));
  return AnswersFor(tensors, module, values, tolerance);
}

bool DrawnRun::sees_all() const {
  return is_finite && !absl::c_any_of(answers, [](const WrongAnswer& a) { return a.found(); });
}

absl::StatusOr<DrawnRun> RunDrawn(const Sample& sample, uint64_t seed) {
  DrawOptions draw;
  draw.seed = seed;
  draw.max_bytes = AvailableMemoryBytes();
  ASSIGN_OR_RETURN(const auto values, DrawInputs(sample, draw));
  ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(*sample.module, values));
  ASSIGN_OR_RETURN(const std::vector<c10::IValue> outputs,
                   prepared.executable->Run(std::move(prepared.inputs), {.seed = seed}));
  DrawnRun made;
  ASSIGN_OR_RETURN(const std::vector<TensorData> tensors, TensorsOf(outputs));
  made.answers = AnswersFor(tensors, *sample.module, values, CustomaryTolerance);
  made.is_finite = absl::c_all_of(tensors, IsFinite);
  return made;
}

}  // namespace graphnet
