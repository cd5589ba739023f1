#include "graphnet/cli/inputs.h"

#include "graphnet/cli/options.h"

namespace graphnet {

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

}  // namespace graphnet
