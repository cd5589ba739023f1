#include "graphnet/cli/call.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/formats.h"
#include "graphnet/cli/tool.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/options.h"
#include "graphnet/formats/formats.h"

namespace graphnet {
namespace {

// InvalidArgument for an option whose effect outlives the call.
absl::Status CheckWords(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    for (const absl::string_view lasting : {"--library", "--schema", "--trust-files"}) {
      if (word == lasting || absl::StartsWith(word, absl::StrCat(lasting, "="))) {
        return absl::InvalidArgumentError(
            absl::StrCat(lasting, " holds until the process ends: run the tool instead"));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CommandResult> Call(std::vector<std::string> words) {
  RETURN_IF_ERROR(CheckWords(words));
  ResetSettings();
  CollectedOutput collected;
  Tool tool;
  RETURN_IF_ERROR(tool.CheckName(words.empty() ? "" : words[0]));
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    tool.app().parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    CommandResult help = 0;
    help.text = tool.app().help();
    return help;
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(Printable(error.what(), 1000));
  }
  ASSIGN_OR_RETURN(CommandResult result, tool.Run());
  result.text = collected.TakeOutput();
  std::string aside = collected.TakeAside();
  if (result.report.has_value())
    (tool.has_output() ? aside : result.text) += ReportText(*result.report, nullptr);
  result.aside = aside + result.aside;
  return result;
}

}  // namespace

absl::StatusOr<CommandResult> CallCommand(const std::vector<std::string>& words) {
  static std::mutex* const mutex = new std::mutex;
  const std::lock_guard<std::mutex> lock(*mutex);
  RETURN_IF_ERROR(RegisterToolFormats());
  ReceiveInputNotes(PrintNote);
  try {
    return Call(words);
  } catch (const std::exception& error) {
    return absl::InternalError(Printable(error.what(), 1000));
  }
}

}  // namespace graphnet
