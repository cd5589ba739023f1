#include "graphnet/evaluate/cause_python.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/json.h"
#include "graphnet/base/status.h"
#include "graphnet/evaluate/python_form.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {
namespace {

constexpr size_t kMostInline = size_t{64} << 10;

// Text in quotes, as Python and JSON read it alike.
std::string Quoted(absl::string_view text) { return Json(std::string(text)).Dump(-1); }

// Returns ("float32", [2, 3], "AAAA…", 0.0, 1.0), with the mean and deviation by which a value is drawn.
std::string ValueAsPython(const TensorData& data, const std::pair<double, double>& drawn) {
  const bool is_inline = data.bytes == nullptr || data.bytes->size() <= kMostInline;
  const std::string bytes =
      is_inline ? Quoted(data.bytes == nullptr ? "" : absl::Base64Escape(*data.bytes)) : "None";
  return absl::StrCat("(", Quoted(DTypeName(data.dtype)), ", [", absl::StrJoin(data.shape, ", "),
                      "], ", bytes, ", ", drawn.first, ", ", drawn.second, ")");
}

}  // namespace

absl::StatusOr<std::string> CausePython(Sample sample, uint64_t seed, absl::string_view backend,
                                        absl::string_view what) {
  ASSIGN_OR_RETURN(const Pipeline to_cpu, ParsePipeline("change-device{to=cpu}"));
  RETURN_IF_ERROR(RunPipeline(to_cpu, &sample).status());
  ASSIGN_OR_RETURN(const auto values, DrawInputs(sample, {.seed = seed}));
  std::map<std::string, std::pair<double, double>> drawn;
  for (const Node* node : sample.module->main()->placeholders()) {
    const DrawSpec* const spec = node->draw_spec();
    if (spec != nullptr)
      drawn[std::string(node->target())] = {spec->mean, spec->has_std ? spec->std : 1};
  }
  ASSIGN_OR_RETURN(const PythonForm form, PythonFormOf(std::move(sample)));
  std::vector<std::string> names;
  std::vector<std::string> numbers;
  std::vector<std::string> lines;
  for (const PythonArgument& argument : form.arguments) {
    const auto value = values.find(argument.source);
    if (value == values.end()) {
      return absl::UnimplementedError(
          absl::StrCat("input ", Printable(argument.source), " is neither a tensor nor a number"));
    }
    const auto spec = drawn.find(argument.source);
    const std::pair<double, double> known =
        spec != drawn.end() ? spec->second : std::pair(0.0, 1.0);
    names.push_back(Quoted(argument.name));
    if (NumberDType(argument.annotation).has_value()) numbers.push_back(Quoted(argument.name));
    lines.push_back(absl::StrCat("    ", Quoted(argument.name), ": ",
                                 ValueAsPython(value->second, known), ",\n"));
  }
  // Of the backends of a benchmark, torch.compile has this one by the same name.
  const bool is_known = backend == "inductor";
  return absl::StrCat(form.files.at("model.py"), "\n\nFAILURE = ", Quoted(Printable(what, 1000)),
                      "\nCOMPILER = ", is_known ? Quoted(backend) : "\"\"", "\nSEED = ", seed,
                      "\nNAMES = [", absl::StrJoin(names, ", "), "]\nNUMBERS = [",
                      absl::StrJoin(numbers, ", "), "]\nVALUES = {\n", absl::StrJoin(lines, ""),
                      "}\n", CauseTail());
}

}  // namespace graphnet
