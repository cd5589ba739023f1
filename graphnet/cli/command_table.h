// What the help knows, as data: the one table that the manual, its page in docs and the
// completions of shells are made from.
#ifndef GRAPHNET_CLI_COMMAND_TABLE_H_
#define GRAPHNET_CLI_COMMAND_TABLE_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace graphnet {

enum class Takes { kNothing, kAnything, kPath, kWord, kWords };  // kWords: with commas between them

struct OptionRow {
  std::vector<std::string> names;  // "--out", "-o"; of an operand its name, "IN"
  Takes takes = Takes::kNothing;
  std::string value;               // "FILE", "a|b"; empty if it takes nothing
  std::vector<std::string> words;  // that it takes
  std::string help;
  bool required = false;
  bool repeated = false;
};

struct CommandRow {
  std::string name;
  std::string group;
  std::string help;
  std::vector<OptionRow> operands;
  std::vector<OptionRow> options;

  std::string Synopsis() const;  // "graphnet show IN [OPTION]..."
};

struct CommandTable {
  std::string help;
  std::string version;
  std::string footer;
  std::vector<OptionRow> options;  // of the tool itself
  std::vector<CommandRow> commands;
};

CommandTable TableOf(const CLI::App& app);

// "-o, --out FILE"
std::string Heading(const OptionRow& option);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_COMMAND_TABLE_H_
