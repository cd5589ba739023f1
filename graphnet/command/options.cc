#include "graphnet/command/options.h"

#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/progress.h"
#include "graphnet/formats/find_values.h"
#include "graphnet/formats/torch_functions.h"
#include "graphnet/run/engine.h"
#include "graphnet/run/own_operators.h"

namespace graphnet {

void ResetSettings() {
  SetTorchScriptMethod("forward");
  DrawMissingValues(false);
  OperatorOptions().clear();
  SetProgressForm(ProgressForm::kNone);
  WantJson(false);
}

void AddTrustOption(CommandLine& command, bool* trust) {
  command
      .AddFlag("--trust", trust,
               "Load TorchScript archives without a check, including custom operators and "
               "classes: they can run code")
      .Group(kTrustGroup);
  auto method = std::make_shared<std::string>();
  command
      .AddOption("--method", method.get(),
                 "Method of a TorchScript module to read; IN#NAME names one for a single input")
      .TypeName("NAME")
      .ShowDefault("forward")
      .Group(kInputGroup);
  auto libraries = std::make_shared<std::vector<std::string>>();
  command
      .AddOption("--library", libraries.get(),
                 "Shared library with operators that PyTorch lacks; needs --trust")
      .TypeName("libfoo.so")
      .Group(kTrustGroup);
  auto schemas = std::make_shared<std::vector<std::string>>();
  command
      .AddOption("--schema", schemas.get(),
                 "Operator that PyTorch lacks: its schema, as in 'my::f(Tensor x) -> Tensor', "
                 "and =identity or =SAMPLE after it if it is to run; facts may precede it, as in "
                 "'= relu my::f(Tensor self) -> Tensor'; or a file of such lines")
      .TypeName("[FACTS ]SCHEMA[=BODY]|FILE")
      .Group(kInputGroup);
  command.WhenParsed([libraries, schemas, method, trust]() -> absl::Status {
    if (!method->empty()) {
      SetTorchScriptMethod(*method);
      OperatorOptions().insert(OperatorOptions().end(), {"--method", *method});
    }
    if (!libraries->empty() && !*trust)
      return absl::InvalidArgumentError("--library: needs --trust, because it runs code");
    for (const std::string& library : *libraries) {
      const absl::StatusOr<const Engine*> engine = OpenEngine();
      RETURN_IF_ERROR(Annotate(
          engine.ok() ? (*engine)->LoadOperatorLibrary(library) : engine.status(), "--library"));
      OperatorOptions().insert(OperatorOptions().end(),
                               {"--trust", "--library", std::filesystem::absolute(library)});
    }
    for (const std::string& schema : *schemas)
      RETURN_IF_ERROR(Annotate(DeclareOperators(schema), "--schema"));
    return absl::OkStatus();
  });
}

void AddDrawWeightsOption(CommandLine& command) {
  command
      .AddFlag(
          "--draw-weights", [] { DrawMissingValues(true); },
          "Draw the weights that a .pt2 or a .pb should have and lacks, which is "
          "refused otherwise")
      .Group(kInputGroup);
}

Option AddSampleOption(CommandLine& command, std::string* in) {
  return command
      .AddOption("IN", in,
                 "GraphNet folder, TorchScript or torch.export archive, protobuf or text; - is the "
                 "standard input")
      .Required();
}

void AddJobsOption(CommandLine& command, int* jobs) {
  command.AddOption("--jobs,-j", jobs, "Samples to work on at once")
      .Range(1, 1024)
      .TypeName("N")
      .ShowDefault(*jobs > 0 ? absl::StrCat(*jobs) : "one per CPU")
      .Group(kWorkGroup);
  AddProgressOption(command);
}

Option AddResumeOption(CommandLine& command, bool* resume) {
  return command.AddFlag("--resume", resume, "Leave out results that are there already")
      .Group(kOutputGroup);
}

void AddProgressOption(CommandLine& command) {
  const std::map<std::string, ProgressForm> forms = {{"auto", ProgressForm::kAuto},
                                                     {"bar", ProgressForm::kBar},
                                                     {"lines", ProgressForm::kLines},
                                                     {"none", ProgressForm::kNone}};
  command
      .AddOption(
          "--progress", [forms](const std::string& name) { SetProgressForm(forms.at(name)); },
          "Form in which long work shows its progress: auto (default): a bar on a terminal, "
          "otherwise one line per minute")
      .TypeName("auto|bar|lines|none")
      .OneOf({"auto", "bar", "lines", "none"})
      .Group(kWorkGroup);
}

Option AddFolderOption(CommandLine& command, std::string* path, const std::string& help,
                       const std::string& also) {
  const auto check = [](const std::string& value) {
    return value == "-" ? "a folder cannot go to the standard output" : "";
  };
  return command.AddOption(absl::StrCat("-o,--out", also), path, help)
      .TypeName("DIR")
      .Group(kOutputGroup)
      .Check(check);
}

Option AddBytesOption(CommandLine& command, std::string* path, const std::string& help,
                      const std::string& also) {
  const auto check = [](const std::string& value) {
    return value == "-" && isatty(STDOUT_FILENO) == 1 ? "a terminal takes text only" : "";
  };
  return command.AddOption(absl::StrCat("-o,--out", also), path, help)
      .TypeName("FILE")
      .Group(kOutputGroup)
      .Check(check);
}

Option AddInputOption(CommandLine& command, std::vector<std::string>* words) {
  return command
      .AddOption(
          "--input", words,
          "Description of an input, in order or by name: f32[1,3,224,224], ids=i64[1,16]:0..900, "
          "16000, mode=sum, 'y=list(f32[2],f32[3])', 'z=dict(a=f32[2])'")
      .TypeName("[NAME=]SPEC")
      .Group(kInputGroup);
}

Option AddInputsOption(CommandLine& command, std::string* file) {
  return command
      .AddOption("--inputs", file,
                 "Input values by name (safetensors; - is the standard input): x, y.0 of a list, "
                 "z.a of a dict; the others are drawn. random: draw all, with other values in "
                 "place of tensors that hold only zeros, such as a layer scale, because zeros "
                 "hide the values that they multiply")
      .TypeName("FILE|random")
      .Group(kInputGroup);
}

void AddInputOptions(CommandLine& command, InputOptions* options) {
  AddInputOption(command, &options->words);
  AddInputsOption(command, &options->file);
}

Option AddSeedOption(CommandLine& command, uint64_t* seed) {
  return command.AddOption("--seed", seed, "Seed of the drawn inputs and of random operators")
      .Group(kInputGroup)
      .ShowDefault();
}

Option AddThreadsOption(CommandLine& command, int* threads) {
  return command
      .AddOption("--threads", threads,
                 "Threads for operators; 0: as OMP_NUM_THREADS says, otherwise all cores")
      .Range(0, 1024)
      .TypeName("N")
      .Group(kWorkGroup)
      .ShowDefault();
}

}  // namespace graphnet
