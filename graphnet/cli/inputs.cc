#include "graphnet/cli/inputs.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/load.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/inputs/elements.h"
#include "graphnet/inputs/example_input.h"
#include "graphnet/ir/annotation.h"

namespace graphnet {
namespace {

bool IsKnown(const std::string& name, const std::vector<std::string>& names) {
  return absl::c_any_of(names, [&](const std::string& known) {
    return name == known || (absl::EndsWith(known, ".") && absl::StartsWith(name, known));
  });
}

// What there is too little of to draw it, and how to say more.
absl::Status CheckKnown(const Sample& sample) {
  for (const Node* node : sample.module->main()->placeholders()) {
    const std::string name = Printable(node->target());
    if (sample.weights.contains(std::string(node->target())) || NumberDType(node->annotation()))
      continue;
    if (IsStructure(node->annotation())) {
      if (!ElementsOf(sample.weights, node->target()).empty() ||
          absl::StartsWith(node->annotation(), "Optional["))
        continue;
      return absl::InvalidArgumentError(
          absl::StrCat("input ", name, ", a ", Printable(node->annotation()),
                       ": what it holds is not known; say it, such as --input '", name,
                       "=list(f32[2,3],f32[4])'"));
    }
    const TensorMeta* meta = node->tensor_meta();
    if ((node->meta() != nullptr && node->meta()->is_tuple) ||
        (meta != nullptr && meta->has_shape) || absl::StartsWith(node->annotation(), "Optional["))
      continue;
    return absl::InvalidArgumentError(absl::StrCat("input ", name,
                                                   ": its shape is not known; say it, such as "
                                                   "--input ",
                                                   name, "=f32[1,3,224,224]"));
  }
  return absl::OkStatus();
}

}  // namespace

CLI::Option* AddInputOption(CLI::App* command, std::vector<std::string>* words) {
  return command
      ->add_option("--input", *words,
                   "What an input is, in order or by name: f32[1,3,224,224], ids=i64[1,16]:0..900, "
                   "int=3, 'y=list(f32[2],f32[3])', 'z=dict(a=f32[2])'")
      ->type_name("[NAME=]SPEC");
}

CLI::Option* AddInputsOption(CLI::App* command, std::string* file) {
  return command
      ->add_option(
          "--inputs", *file,
          "Values by name (safetensors, - on the standard input): x, y.0 of a list, z.a of "
          "a dict; others are drawn")
      ->type_name("FILE");
}

absl::StatusOr<std::map<std::string, TensorData>> ReadValues(
    const std::string& path, const std::vector<std::string>& names) {
  std::map<std::string, TensorData> values;
  if (path.empty()) return values;
  if (path == "-") {
    RETURN_IF_ERROR(TakeStandardInput());
    const auto half = static_cast<size_t>(AvailableMemoryBytes()) / 2;
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, half));
    ASSIGN_OR_RETURN(values, ParseSafetensors(bytes, "<stdin>"));
  } else {
    ASSIGN_OR_RETURN(values, ReadSafetensorsFile(path));
  }
  const std::vector<absl::string_view> all(names.begin(), names.end());
  for (const auto& [name, value] : values) {
    if (IsKnown(name, names)) continue;
    return absl::InvalidArgumentError(absl::StrCat(Printable(path, 1000),
                                                   ": nothing takes a value by the name ",
                                                   Printable(name), NearMissHint(name, all)));
  }
  return values;
}

std::vector<std::string> NamesOfValues(const Sample& sample) {
  std::vector<std::string> names;
  for (const Node* node : sample.module->main()->placeholders()) {
    const bool holds_others =
        IsStructure(node->annotation()) || (node->meta() != nullptr && node->meta()->is_tuple);
    names.push_back(absl::StrCat(node->target(), holds_others ? "." : ""));
  }
  for (const Attribute& attribute : sample.module->attributes()) names.emplace_back(attribute.name);
  return names;
}

absl::Status GiveInputs(const InputOptions& options, uint64_t seed, Sample* sample) {
  RETURN_IF_ERROR(DescribeInputs(options.words, seed, sample));
  ASSIGN_OR_RETURN(auto given, ReadValues(options.file, NamesOfValues(*sample)));
  for (auto& [name, data] : given) sample->weights[name] = std::move(data);
  return CheckKnown(*sample);
}

absl::StatusOr<std::map<std::string, TensorData>> ReadInputs(const InputOptions& options,
                                                             const DrawOptions& draw,
                                                             Sample* sample) {
  RETURN_IF_ERROR(GiveInputs(options, draw.seed, sample));
  return DrawInputs(*sample, draw);
}

}  // namespace graphnet
