#include "graphnet/cli/options.h"

#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graphnet/cli/json.h"
#include "graphnet/cli/messages.h"
#include "graphnet/cli/progress.h"
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

void AddTrustOption(CLI::App* command, bool* trust) {
  command
      ->add_flag("--trust", *trust,
                 "Load TorchScript archives without a check, including custom operators and "
                 "classes: they can run code")
      ->group(kTrustGroup);
  auto method = std::make_shared<std::string>();
  command
      ->add_option("--method", *method,
                   "Method of a TorchScript module to read; IN#NAME names one for a single input")
      ->type_name("NAME")
      ->default_str("forward")
      ->group(kInputGroup);
  auto libraries = std::make_shared<std::vector<std::string>>();
  command
      ->add_option("--library", *libraries,
                   "Shared library with operators that PyTorch lacks; needs --trust")
      ->type_name("libfoo.so")
      ->group(kTrustGroup);
  auto schemas = std::make_shared<std::vector<std::string>>();
  command
      ->add_option("--schema", *schemas,
                   "Operator that PyTorch lacks: its schema, as in 'my::f(Tensor x) -> Tensor', "
                   "and =identity or =SAMPLE after it if it is to run; facts may precede it, as in "
                   "'= relu my::f(Tensor self) -> Tensor'; or a file of such lines")
      ->type_name("[FACTS ]SCHEMA[=BODY]|FILE")
      ->group(kInputGroup);
  command->parse_complete_callback([libraries, schemas, method, trust] {
    if (!method->empty()) {
      SetTorchScriptMethod(*method);
      OperatorOptions().insert(OperatorOptions().end(), {"--method", *method});
    }
    if (!libraries->empty() && !*trust)
      throw CLI::ValidationError("--library", "needs --trust, because it runs code");
    for (const std::string& library : *libraries) {
      const absl::StatusOr<const Engine*> engine = OpenEngine();
      const absl::Status status =
          engine.ok() ? (*engine)->LoadOperatorLibrary(library) : engine.status();
      if (!status.ok()) throw CLI::ValidationError("--library", std::string(status.message()));
      OperatorOptions().insert(OperatorOptions().end(),
                               {"--trust", "--library", std::filesystem::absolute(library)});
    }
    for (const std::string& schema : *schemas) {
      const absl::Status status = DeclareOperators(schema);
      if (!status.ok()) throw CLI::ValidationError("--schema", std::string(status.message()));
    }
  });
}

void AddDrawWeightsOption(CLI::App* command) {
  command
      ->add_flag_callback(
          "--draw-weights", [] { DrawMissingValues(true); },
          "Draw the weights that a .pt2 or a .pb should have and lacks, which is "
          "refused otherwise")
      ->group(kInputGroup);
}

CLI::Option* AddSampleOption(CLI::App* command, std::string* in) {
  return command
      ->add_option(
          "IN", *in,
          "GraphNet folder, TorchScript or torch.export archive, protobuf or text; - is the "
          "standard input")
      ->required();
}

CLI::Option* AddSamplesOption(CLI::App* command, std::string* in) {
  return command
      ->add_option("IN", *in,
                   "Sample in any format, - for the standard input, or a folder of samples")
      ->required();
}

CLI::Option* AddManySamplesOption(CLI::App* command, std::vector<std::string>* in) {
  return command
      ->add_option("IN", *in,
                   "Samples in any format, - for the standard input, or folders of samples")
      ->required();
}

void AddJobsOption(CLI::App* command, int* jobs) {
  command->add_option("--jobs,-j", *jobs, "Threads for a folder of samples (default: one per CPU)")
      ->check(CLI::Range(1, 1024))
      ->group(kWorkGroup);
  AddProgressOption(command);
}

void AddProgressOption(CLI::App* command) {
  const std::map<std::string, ProgressForm> forms = {{"auto", ProgressForm::kAuto},
                                                     {"bar", ProgressForm::kBar},
                                                     {"lines", ProgressForm::kLines},
                                                     {"none", ProgressForm::kNone}};
  command
      ->add_option_function<std::string>(
          "--progress", [forms](const std::string& name) { SetProgressForm(forms.at(name)); },
          "Form in which long work shows its progress: auto (default): a bar on a terminal, "
          "otherwise one line per minute")
      ->type_name("auto|bar|lines|none")
      ->check(CLI::IsMember({"auto", "bar", "lines", "none"}))
      ->group(kWorkGroup);
}

CLI::Option* AddFolderOption(CLI::App* command, std::string* path, const std::string& help,
                             const std::string& also) {
  const auto check = [](const std::string& value) {
    return value == "-" ? "a folder cannot go to the standard output" : "";
  };
  return command->add_option(absl::StrCat("-o,--out", also), *path, help)
      ->type_name("DIR")
      ->group(kOutputGroup)
      ->check(CLI::Validator(check, /*validator_desc=*/""));
}

CLI::Option* AddBytesOption(CLI::App* command, std::string* path, const std::string& help,
                            const std::string& also) {
  const auto check = [](const std::string& value) {
    return value == "-" && isatty(STDOUT_FILENO) == 1 ? "a terminal takes text only" : "";
  };
  return command->add_option(absl::StrCat("-o,--out", also), *path, help)
      ->type_name("FILE")
      ->group(kOutputGroup)
      ->check(CLI::Validator(check, /*validator_desc=*/""));
}

CLI::Option* AddInputOption(CLI::App* command, std::vector<std::string>* words) {
  return command
      ->add_option(
          "--input", *words,
          "Description of an input, in order or by name: f32[1,3,224,224], ids=i64[1,16]:0..900, "
          "16000, mode=sum, 'y=list(f32[2],f32[3])', 'z=dict(a=f32[2])'")
      ->type_name("[NAME=]SPEC")
      ->group(kInputGroup);
}

CLI::Option* AddInputsOption(CLI::App* command, std::string* file) {
  return command
      ->add_option("--inputs", *file,
                   "Input values by name (safetensors; - is the standard input): x, y.0 of a list, "
                   "z.a of a dict; the others are drawn. random: draw all, with other values in "
                   "place of tensors that hold only zeros, such as a layer scale, because zeros "
                   "hide the values that they multiply")
      ->type_name("FILE|random")
      ->group(kInputGroup);
}

void AddInputOptions(CLI::App* command, InputOptions* options) {
  AddInputOption(command, &options->words);
  AddInputsOption(command, &options->file);
}

CLI::Option* AddSeedOption(CLI::App* command, uint64_t* seed) {
  return command->add_option("--seed", *seed, "Seed of the drawn inputs and of random operators")
      ->group(kInputGroup)
      ->capture_default_str();
}

CLI::Option* AddThreadsOption(CLI::App* command, int* threads) {
  return command
      ->add_option("--threads", *threads,
                   "Threads for operators; 0: as OMP_NUM_THREADS says, otherwise all cores")
      ->check(CLI::Range(0, 1024))
      ->group(kWorkGroup)
      ->capture_default_str();
}

CLI::Option* AddChoiceOption(CLI::App* command, const std::string& flag, std::string* value,
                             const std::vector<std::string>& choices, const std::string& help) {
  return command->add_option(flag, *value, help)
      ->type_name(absl::StrJoin(choices, "|"))
      ->check(CLI::Validator(
          [choices](const std::string& text) {
            if (absl::c_linear_search(choices, text)) return std::string();
            return absl::StrCat(text, " is none of ", absl::StrJoin(choices, ", "));
          },
          /*validator_desc=*/""));
}

}  // namespace graphnet
