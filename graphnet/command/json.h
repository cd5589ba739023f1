// The output of --json: one document per command (docs/commands.md).
#ifndef GRAPHNET_COMMAND_JSON_H_
#define GRAPHNET_COMMAND_JSON_H_

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/json.h"
#include "graphnet/base/report.h"
#include "graphnet/command/command_line.h"

namespace graphnet {

// Adds --json, which makes a command print one document and nothing else. `members` describes the
// members of the document for the help.
Option AddJsonOption(CommandLine& command, absl::string_view members);
// Returns whether the output is one document, so that no text needs to be made.
bool WantsJson();
// Returns a report as the output has it: the document, or text that fits `out`; null: plain text.
std::string ReportText(const Report& report, FILE* out);
// Makes it one document, as --json does, or text.
void WantJson(bool wants = true);

// Returns {"message", "format", "file", "line", "column"}: the format if the error belongs to one,
// and the place as far as it is known.
Json ErrorJson(const absl::Status& status);
// Returns {"path": …}, with "error" if the status is not OK, for JSON alone.
Report SampleReport(const std::string& path, const absl::Status& status);
// Returns {"samples": […], "passed": …, "failed": …}, and the text of the samples.
Report SamplesReport(std::vector<Report> samples, size_t failed);
// Returns the same of one sample.
Report SamplesReport(const std::string& path, Report of_sample, size_t failed = 0);

}  // namespace graphnet

#endif  // GRAPHNET_COMMAND_JSON_H_
