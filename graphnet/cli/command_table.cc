#include "graphnet/cli/command_table.h"

#include <algorithm>

#include "CLI/CLI.hpp"
#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/version.h"
#include "graphnet/command/command.h"
#include "graphnet/evaluate/backend_table.h"
#include "graphnet/passes/registry.h"

namespace graphnet {
namespace {

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (const Pass& pass : AllPasses()) names.emplace_back(pass.name());
  return names;
}

std::vector<std::string> BackendNames() {
  std::vector<std::string> names;
  for (const Backend& backend : Backends()) names.emplace_back(backend.name);
  return names;
}

// Reads the kind of value from the name that CLI11 gives its type. Validators follow a colon.
void ReadType(absl::string_view type, OptionRow* row) {
  const size_t brace = type.find('{');
  if (brace != absl::string_view::npos) {
    row->words = absl::StrSplit(type.substr(brace + 1, type.find('}') - brace - 1), ',');
  } else if (absl::StrContains(type, '|')) {
    row->words = absl::StrSplit(type, '|');
  }
  row->takes = row->words.empty() ? Takes::kAnything : Takes::kWord;
  row->value = row->words.empty() ? std::string(type.substr(0, type.find(':')))
                                  : absl::StrJoin(row->words, "|");
  if (type == "PASS" || type == "PASSES") {
    row->words = PassNames();
    row->takes = type == "PASS" ? Takes::kWord : Takes::kWords;
  } else if (type == "BACKENDS") {
    row->words = BackendNames();
    row->takes = Takes::kWords;
  } else if (type == "FILE" || type == "DIR" || type == "PATH") {
    row->takes = Takes::kPath;
  }
}

OptionRow RowOf(const CLI::Option& option) {
  OptionRow row;
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  row.help = option.get_description();
  row.required = option.get_required();
  row.repeated = option.get_items_expected_max() > 1;
  if (option.get_items_expected_max() > 0) ReadType(option.get_type_name(), &row);
  if (!option.get_default_str().empty())
    absl::StrAppend(&row.help, " (default: ", option.get_default_str(), ")");
  return row;
}

// Adds all options, including those of option groups, which CLI11 keeps as commands without a name.
void AddRows(const CLI::App& app, CommandRow* command) {
  for (const CLI::Option* option : app.get_options()) {
    // Skip the options of the tool, those that groups inherit, and those of no group, which are hidden.
    if (option->get_group().empty() || option->check_lname("help-all") ||
        (app.get_name().empty() && option->check_lname("help")))
      continue;
    OptionRow row = RowOf(*option);
    if (option->get_positional()) {
      OptionRow operand = row;
      operand.names = {option->get_name(/*positional=*/true)};
      if (operand.words.empty()) {
        operand.takes = Takes::kPath;
        operand.value = "";
      }
      command->operands.push_back(std::move(operand));
    }
    if (!row.names.empty()) command->options.push_back(std::move(row));
  }
  for (const CLI::App* group : app.get_subcommands(nullptr)) {
    if (group->get_name().empty()) AddRows(*group, command);
  }
}

}  // namespace

std::string CommandRow::Synopsis() const {
  std::string text = absl::StrCat("graphnet ", name);
  for (const OptionRow& operand : operands) {
    const std::string shown = operand.names[0] + (operand.repeated ? "..." : "");
    // An operand that may be given as an option instead is not needed.
    const bool needed = operand.required && absl::c_none_of(options, [&](const OptionRow& option) {
                          return option.help == operand.help;
                        });
    absl::StrAppend(&text, " ", needed ? shown : absl::StrCat("[", shown, "]"));
  }
  for (const OptionRow& option : options) {
    if (option.required) absl::StrAppend(&text, " ", option.names[0], " ", option.value);
  }
  return text + " [OPTION]...";
}

CommandTable TableOf(const CLI::App& app) {
  CommandTable table;
  table.help = app.get_description();
  table.footer = app.get_footer();
  table.version = absl::StrCat("graphnet ", kVersion);
  CommandRow tool;
  for (const CLI::Option* option : app.get_options()) tool.options.push_back(RowOf(*option));
  table.options = std::move(tool.options);
  for (const Command& command : AllCommands()) {
    if (command.group == CommandGroup::kHidden) continue;
    CommandRow& row = table.commands.emplace_back();
    row.name = command.name;
    row.group = GroupTitle(command.group);
    row.help = command.help;
    row.examples = command.examples;
    AddRows(*app.get_subcommand(command.name), &row);
  }
  return table;
}

std::string Heading(const OptionRow& option) {
  return absl::StrCat(absl::StrJoin(option.names, ", "), option.value.empty() ? "" : " ",
                      option.value);
}

}  // namespace graphnet
