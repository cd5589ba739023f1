// The help as data. The manual, its page in docs and the completions of shells are all made from
// this table.
#ifndef GRAPHNET_CLI_COMMAND_TABLE_H_
#define GRAPHNET_CLI_COMMAND_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace CLI {
class App;
}  // namespace CLI

namespace graphnet {

// The kind of value that an option takes. kWords are separated by commas.
enum class Takes { kNothing, kAnything, kPath, kWord, kWords };

struct OptionRow {
  std::vector<std::string> names;  // "--out", "-o"; for an operand its name, "IN"
  Takes takes = Takes::kNothing;
  std::string value;               // "FILE", "a|b"; empty if it takes no value
  std::vector<std::string> words;  // that it accepts
  std::string help;
  bool required = false;
  bool repeated = false;
};

struct CommandRow {
  std::string name;
  std::string group;
  std::string help;
  std::vector<absl::string_view> examples;
  std::vector<OptionRow> operands;
  std::vector<OptionRow> options;

  std::string Synopsis() const;  // "graphnet show IN [OPTION]..."
};

struct CommandTable {
  std::string help;
  std::string version;
  std::string footer;
  std::vector<OptionRow> options;  // options of the tool itself
  std::vector<CommandRow> commands;
};

// Returns the registered commands, as they are declared in `app`.
CommandTable TableOf(const CLI::App& app);

// Returns "-o, --out FILE".
std::string Heading(const OptionRow& option);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_COMMAND_TABLE_H_
