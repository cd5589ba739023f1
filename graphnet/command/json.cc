#include "graphnet/command/json.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/command/options.h"
#include "graphnet/command/terminal.h"
#include "graphnet/formats/formats.h"

namespace graphnet {

namespace {

bool wants_json = false;

}  // namespace

Option AddJsonOption(CommandLine& command, absl::string_view members) {
  return command
      .AddFlag(
          "--json", [] { WantJson(); }, absl::StrCat("Print one JSON document instead: ", members))
      .Group(kOutputGroup);
}

bool WantsJson() { return wants_json; }
std::string ReportText(const Report& report, FILE* out) {
  if (WantsJson()) return report.ToJson().Dump() + "\n";
  if (out == nullptr) return report.ToText();
  return report.ToText(IsTerminal(out) ? TerminalWidth(out) : 0, HasColours(out));
}

void WantJson(bool wants) { wants_json = wants; }

Json ErrorJson(const absl::Status& status) {
  Report error;
  error.Add("message", status.message());
  if (const std::string format = FormatOfError(status); !format.empty())
    error.Add("format", format);
  error.Add("", Cell::Place(PlaceOf(status).value_or(ErrorPlace())));
  return error.ToJson();
}

Report SampleReport(const std::string& path, const absl::Status& status) {
  Report sample;
  sample.Add("path", path);
  if (!status.ok()) sample.Add("error", ErrorJson(status));
  return sample;
}

Report SamplesReport(const std::string& path, Report of_sample, size_t failed) {
  Report sample = SampleReport(path, absl::OkStatus());
  sample.Append(std::move(of_sample));
  return SamplesReport({std::move(sample)}, failed);
}

Report SamplesReport(std::vector<Report> samples, size_t failed) {
  Report document;
  const size_t passed = samples.size() - failed;
  document.Add("samples", std::move(samples));
  document.Add("passed", passed);
  document.Add("failed", failed);
  return document;
}

}  // namespace graphnet
