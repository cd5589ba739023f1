// The command line of the tool: all commands with their options, and what runs the chosen one.
#ifndef GRAPHNET_CLI_TOOL_H_
#define GRAPHNET_CLI_TOOL_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/command/command_line.h"
#include "graphnet/command/result.h"

namespace CLI {
class App;
}  // namespace CLI

namespace graphnet {

class Tool {
 public:
  Tool();
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;
  ~Tool();

  // The parser, which throws CLI::ParseError.
  CLI::App& app() { return *app_; }
  // Parses a command line. Returns the exit code if that is all, as after --help; what is wrong is
  // printed.
  std::optional<int> Parse(int argc, char** argv);
  // NotFound, with a hint, if the first word of a command line is no command and no option.
  absl::Status CheckName(const std::string& word) const;
  // Runs the command that was parsed.
  absl::StatusOr<CommandResult> Run();
  // Returns whether that command writes its output to the standard output, so that its report goes
  // to the standard error.
  bool has_output() const;

 private:
  std::unique_ptr<CLI::App> app_;
  CommandRunner run_;
};

}  // namespace graphnet

#endif  // GRAPHNET_CLI_TOOL_H_
