#include <optional>
#include <utility>
#include <vector>

#include "ATen/Context.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/samples.h"
#include "graphnet/extract/stitched_inputs.h"
#include "graphnet/interp/measure.h"
#include "graphnet/interp/measure_stability.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/repeatable_run.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/run/engine/programs.h"
#include "graphnet/run/engine/worker_program.h"

namespace graphnet {

std::vector<c10::IValue> Copies(const std::vector<c10::IValue>& values) {
  std::vector<c10::IValue> copies;
  for (const c10::IValue& value : values) copies.push_back(value.deepcopy());
  return copies;
}

namespace {

Observer AsObserver(const std::function<absl::Status(const Node&)>& observer) {
  if (observer == nullptr) return nullptr;
  return [&observer](const Node& node, const c10::IValue&) { return observer(node); };
}

// Returns an observer that adds what it sees to `values`.
Observer MeasuringInto(std::vector<MeasuredValue>* values) {
  return [values](const Node& node, const c10::IValue& value) {
    return Guarded([&]() -> absl::Status {
      if (std::optional<ValueStatistics> measured = graphnet::Measure(value))
        values->push_back({&node, *std::move(measured)});
      return absl::OkStatus();
    });
  };
}

class ReadyGraph final : public ReadyProgram {
 public:
  ReadyGraph(PreparedRun prepared, std::optional<uint64_t> seed)
      : run_(std::move(prepared)), seed_(seed) {}

  absl::Status Run(const std::function<absl::Status(const Node&)>& observer) override {
    ASSIGN_OR_RETURN(outputs_, run_.executable->Run(
                                   run_.inputs, {.seed = seed_, .observer = AsObserver(observer)}));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<MeasuredValue>> Measure() override {
    std::vector<MeasuredValue> values;
    ASSIGN_OR_RETURN(
        outputs_,
        run_.executable->Run(run_.inputs, {.seed = seed_, .observer = MeasuringInto(&values)}));
    return values;
  }

  absl::StatusOr<Stability> MeasureDigits() override {
    return Repeatedly<absl::StatusOr<Stability>>([this](RepeatableRun& run) {
      bool is_first = true;
      const auto again = [&](const RunOptions& how) -> absl::StatusOr<std::vector<c10::IValue>> {
        ASSIGN_OR_RETURN(std::vector<c10::IValue> outputs, run.RunAgain(how));
        if (std::exchange(is_first, false)) outputs_ = Copies(outputs);
        return outputs;
      };
      return MeasureStability(again, seed_.value_or(0));
    });
  }

  absl::Status WarmUp() override {
    return Repeatedly<absl::Status>(
        [this](RepeatableRun& run) { return run.Run({.seed = seed_}).status(); });
  }

  absl::StatusOr<TensorValues> Outputs() const override { return NameOutputs(outputs_); }

  absl::StatusOr<TensorValues> State() const override {
    TensorValues state;
    for (const auto& [name, tensor] : run_.attributes) {
      ASSIGN_OR_RETURN(state[name], ToTensorData(tensor));
    }
    return state;
  }

  size_t num_instructions() const override { return run_.executable->num_instructions(); }

 private:
  // Calls `use` with a program that it may run again and again, and restores all that it writes to.
  template <typename Result, typename Use>
  Result Repeatedly(Use use) {
    ASSIGN_OR_RETURN(RepeatableRun run, RepeatableRun::Make(std::move(run_)));
    Result result = use(run);
    ASSIGN_OR_RETURN(run_, std::move(run).Release());
    return result;
  }

  PreparedRun run_;
  const std::optional<uint64_t> seed_;
  std::vector<c10::IValue> outputs_;
};

class ReadyExtracted final : public ReadyProgram {
 public:
  ReadyExtracted(LoadedProgram loaded, std::vector<c10::IValue> inputs, uint64_t seed,
                 StitchedProgram::RunOptions options)
      : loaded_(std::move(loaded)),
        inputs_(std::move(inputs)),
        seed_(seed),
        options_(std::move(options)) {}

  absl::Status Run(const std::function<absl::Status(const Node&)>& observer) override {
    return RunWith(AsObserver(observer));
  }
  absl::StatusOr<std::vector<MeasuredValue>> Measure() override {
    std::vector<MeasuredValue> values;
    RETURN_IF_ERROR(RunWith(MeasuringInto(&values)));
    return values;
  }
  absl::StatusOr<Stability> MeasureDigits() override {
    return absl::UnimplementedError(
        "the digits of an extracted program are not measured; run its subgraphs");
  }
  absl::Status WarmUp() override { return absl::OkStatus(); }
  absl::StatusOr<TensorValues> Outputs() const override { return NameOutputs(outputs_); }
  absl::StatusOr<TensorValues> State() const override {
    return absl::UnimplementedError("the state of an extracted program lies in its subgraphs");
  }
  size_t num_instructions() const override { return 0; }

 private:
  absl::Status RunWith(Observer observer) {
    const std::vector<c10::IValue> inputs = Copies(inputs_);
    at::manual_seed(seed_);
    options_.observer = std::move(observer);
    ASSIGN_OR_RETURN(const c10::IValue result, loaded_.program->Run(inputs, options_));
    outputs_ = FlattenResult(result);
    return absl::OkStatus();
  }

  const LoadedProgram loaded_;
  const std::vector<c10::IValue> inputs_;
  const uint64_t seed_;
  StitchedProgram::RunOptions options_;
  std::vector<c10::IValue> outputs_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ReadyProgram>> PrepareGraph(const Module& module,
                                                           TensorValues values,
                                                           const RunSettings& settings) {
  PrepareOptions options;
  ASSIGN_OR_RETURN(options.device, ParseRunDevice(settings.device));
  options.max_bytes = settings.max_bytes;
  options.parameters.insert(settings.requires_grad.begin(), settings.requires_grad.end());
  options.records_gradients = !settings.requires_grad.empty();
  ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(module, std::move(values), options));
  return std::make_unique<ReadyGraph>(std::move(prepared), settings.seed);
}

absl::StatusOr<std::unique_ptr<ReadyProgram>> PrepareExtracted(
    ExtractedProgram program, const TensorValues& given, const DrawOptions& draw, bool trust,
    std::function<void(const std::string&)> print) {
  ASSIGN_OR_RETURN(LoadedProgram loaded, LoadProgram(std::move(program), trust));
  ASSIGN_OR_RETURN(std::vector<c10::IValue> inputs, MakeStitchedInputs(loaded, given, draw));
  StitchedProgram::RunOptions options;
  options.print = std::move(print);
  options.custom_operators = trust;
  return std::make_unique<ReadyExtracted>(std::move(loaded), std::move(inputs), draw.seed,
                                          std::move(options));
}

}  // namespace graphnet
