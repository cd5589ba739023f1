#include <map>
#include <utility>
#include <vector>

#include "ATen/Context.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/capture.h"
#include "graphnet/extract/foretell.h"
#include "graphnet/extract/program_inputs.h"
#include "graphnet/extract/reference.h"
#include "graphnet/extract/samples.h"
#include "graphnet/formats/source.h"
#include "graphnet/formats/torch_functions.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "graphnet/interp/inputs/wrong_answers.h"
#include "graphnet/interp/torch/comparison.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/run/engine/programs.h"

namespace graphnet {
namespace {

class Program final : public TorchScriptProgram {
 public:
  // "m.pt#encode" names a method, unless a file has that whole name.
  Program(const std::string& path, bool trust) : trust_(trust) {
    const Source source = Source::OfPath(path, /*is_named=*/true);
    path_ = source.path();
    method_ = source.part().empty() ? TorchScriptMethod() : source.part();
  }

  absl::Status Open() {
    ASSIGN_OR_RETURN(module_, LoadTorchScriptModule(path_, trust_, &words_));
    ASSIGN_OR_RETURN(names_, NamesOfInputs(module_, method_));
    if (method_ != "forward") words_.clear();  // They describe the inputs of forward.
    return absl::OkStatus();
  }

  const std::vector<std::string>& names_of_inputs() const override { return names_; }

  absl::Status SetInputs(const TensorValues& given, const std::vector<std::string>& words,
                         uint64_t seed) override {
    return Guarded([&]() -> absl::Status {
      seed_ = seed;
      ASSIGN_OR_RETURN(inputs_, MakeProgramInputs(module_, method_, given,
                                                  words.empty() ? words_ : words, seed));
      return absl::OkStatus();
    });
  }

  absl::StatusOr<CapturedProgram> Capture(const CaptureOptions& options,
                                          const std::string& name) override {
    return Guarded([&]() -> absl::StatusOr<CapturedProgram> {
      options_ = options;
      options_.method = method_;
      options_.custom_operators = trust_;
      at::manual_seed(seed_);
      ASSIGN_OR_RETURN(const graphnet::Capture capture,
                       CaptureProgram(module_, Copies(inputs_), options_));
      // An error before the first subgraph, such as an input that the program does not accept.
      if (!capture.status.ok() && capture.subgraphs.empty()) return capture.status;
      CapturedProgram captured;
      captured.status = capture.status;
      ASSIGN_OR_RETURN(captured.program, ToSamples(capture, name));
      return captured;
    });
  }

  absl::StatusOr<ForetoldBreaks> Foretell(const CaptureOptions& options) override {
    CaptureOptions how = options;
    how.method = method_;
    return ForetellBreaks(module_, how);
  }

  absl::StatusOr<Compared> CompareWithLibTorch(const std::string& folder) override {
    return Guarded([&]() -> absl::StatusOr<Compared> {
      ASSIGN_OR_RETURN(ExtractedProgram stored, ReadExtracted(folder));
      ASSIGN_OR_RETURN(const LoadedProgram loaded, LoadProgram(std::move(stored), trust_));
      StitchedProgram::RunOptions run;
      run.print = [](const std::string&) {};
      run.custom_operators = trust_;
      std::vector<c10::IValue> found = Copies(inputs_), expected = Copies(inputs_);
      at::manual_seed(seed_);
      ASSIGN_OR_RETURN(c10::IValue result, loaded.program->Run(found, run));
      // The captured run has changed its module, so it is loaded again.
      ASSIGN_OR_RETURN(const torch::jit::Module module, LoadTorchScriptModule(path_, trust_));
      at::manual_seed(seed_);
      ASSIGN_OR_RETURN(c10::IValue reference, RunByLibTorch(module, expected, options_));
      Compared made;
      ASSIGN_OR_RETURN(made.blind, BlindResults(reference, expected, module));
      // The inputs are compared, too, because the program may write to them.
      found.insert(found.begin(), std::move(result));
      expected.insert(expected.begin(), std::move(reference));
      made.difference = DifferenceOf(c10::ivalue::Tuple::create(std::move(expected)),
                                     c10::ivalue::Tuple::create(std::move(found)));
      return made;
    });
  }

  absl::StatusOr<std::unique_ptr<CachedProgram>> Cache(const CaptureOptions& options,
                                                       const RunBackend& backend) override {
    CaptureOptions how = options;
    how.custom_operators = trust_;
    how.method = method_;
    ASSIGN_OR_RETURN(torch::jit::Module reference, LoadTorchScriptModule(path_, trust_));
    return CacheProgram(module_, std::move(reference), inputs_, seed_, how, backend);
  }

 private:
  // Returns the sentence about the tensors of `result` as which wrong ones would have been equal.
  static absl::StatusOr<std::string> BlindResults(const c10::IValue& result,
                                                  const std::vector<c10::IValue>& inputs,
                                                  const torch::jit::Module& module) {
    std::vector<std::pair<std::string, at::Tensor>> given;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].isTensor()) given.emplace_back(absl::StrCat(i), inputs[i].toTensor());
    }
    for (const auto& parameter : module.named_parameters())
      given.emplace_back(parameter.name, parameter.value);
    std::erase_if(given, [](const auto& named) { return !IsReadable(named.second); });
    std::map<std::string, TensorData> values;
    for (const auto& [name, tensor] : given) {
      ASSIGN_OR_RETURN(values[name], ToTensorData(PlainTensor(tensor)));
    }
    std::vector<at::Tensor> results;
    result.visit([&](const c10::IValue& part) {
      if (part.isTensor() && IsReadable(part.toTensor())) results.push_back(part.toTensor());
      return false;
    });
    std::vector<TensorData> outputs;
    std::vector<OutputForm> forms;
    for (const at::Tensor& tensor : results) {
      ASSIGN_OR_RETURN(outputs.emplace_back(), ToTensorData(PlainTensor(tensor)));
      OutputForm& form = forms.emplace_back();
      for (const auto& [name, value] : given) {
        if (tensor.has_storage() && value.has_storage() && tensor.is_alias_of(value))
          form.input = name;
      }
    }
    const Tolerance exact;
    std::vector<WrongAnswer> answers;
    for (size_t i = 0; i < outputs.size(); ++i) {
      answers.push_back(FindWrongAnswer(outputs, i, forms, values, absl::MakeConstSpan(&exact, 1)));
    }
    return DescribeWrongAnswers(PassedAnswers(answers));
  }

  std::string path_;
  std::string method_;
  const bool trust_;
  torch::jit::Module module_;
  std::vector<std::string> words_;  // the archive's description of its inputs
  std::vector<std::string> names_;
  std::vector<c10::IValue> inputs_;
  uint64_t seed_ = 0;
  CaptureOptions options_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TorchScriptProgram>> OpenTorchScript(const std::string& path,
                                                                    bool trust) {
  return Guarded([&]() -> absl::StatusOr<std::unique_ptr<TorchScriptProgram>> {
    auto program = std::make_unique<Program>(path, trust);
    RETURN_IF_ERROR(program->Open());
    return program;
  });
}

}  // namespace graphnet
