#include "graphnet/cli/tool.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/remark.h"
#include "graphnet/base/status.h"
#include "graphnet/base/version.h"
#include "graphnet/base/wrapped_text.h"
#include "graphnet/command/command.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/terminal.h"
#include "graphnet/run/engine.h"

namespace graphnet {
namespace {

constexpr char kExitCodes[] =
    "Exit codes: 0 success, 1 a check failed or nothing was found, 2 an option is wrong or an "
    "input, "
    "even one of many, cannot be used, 141 the reader of the output has ended.";

// The commands that the script of the Python package adds (python/graphnet.sh).
constexpr absl::string_view kPythonCommands[] = {"corpus", "differentiate", "harvest"};

// Wraps help to the width of the terminal. In a file or a pipe, lines are not wrapped.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    const std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
    return IsTerminal(stdout) ? WrapText(help, TerminalWidth(stdout)) : help;
  }
};

// Returns "Examples:\n  graphnet show samples/vit.pb\n…" for the help.
std::string ExamplesText(const Command& command) {
  std::string text;
  for (const absl::string_view line : command.examples)
    absl::StrAppend(&text, text.empty() ? "Examples:\n  " : "\n  ", line);
  return text;
}

// An option that may be repeated takes one value each time. The next word is an operand.
void TakeOneValueEach(CLI::App* command) {
  for (CLI::Option* option : command->get_options()) {
    if (!option->get_positional()) option->allow_extra_args(false);
  }
  for (CLI::App* group : command->get_subcommands(nullptr)) TakeOneValueEach(group);
}

// Adds the long names of the options of a command and of its groups.
void AddOptionNames(const CLI::App& command, std::vector<std::string>* names) {
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names->push_back(absl::StrCat("--", name));
  for (const CLI::App* group : command.get_subcommands(nullptr)) AddOptionNames(*group, names);
}

// Returns what CLI11 says of an error, with its list of options as a person would write it.
std::string MessageOf(const CLI::Error& error) {
  if (dynamic_cast<const CLI::RequiredError*>(&error) == nullptr) return error.what();
  return absl::StrReplaceAll(
      error.what(),
      {{"Exactly 1 option from [", "one of "}, {"] is required", " is required"}, {",-", ", -"}});
}

// Returns "; did you mean --format?" if the error is a misspelt option.
std::string HintAt(const CLI::Error& error, const CLI::App& command) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return "";
  const std::string message = error.what();
  const size_t begin = message.find("--");
  if (begin == message.npos) return "";
  const std::string word = message.substr(begin, message.find_first_of(" =", begin) - begin);
  std::vector<std::string> names;
  AddOptionNames(command, &names);
  return NearMissHint(word, std::vector<absl::string_view>(names.begin(), names.end()));
}

// The version of LibTorch comes from LibTorch itself, which shows that it works.
std::string Versions() {
  const auto engine = OpenEngine();
  return absl::StrCat("graphnet ", kVersion, "\nLibTorch ",
                      engine.ok() ? (*engine)->LibTorchVersion()
                                  : absl::StrCat("not found: ", engine.status().message()),
                      "\nprotobuf form ", kProtobufVersion, ", .pt2 schema ", kPt2SchemaMajor);
}

}  // namespace

Tool::Tool()
    : app_(std::make_unique<CLI::App>(
          "Import, inspect, check, cut and convert computation graphs of PyTorch programs.",
          "graphnet")) {
  SetRemarkHandler([](const std::string& text) { PrintNote(text); });
  SetWarningHandler([](const std::string& text) { PrintWarning(text); });
  app_->require_subcommand(1);
  app_->formatter(std::make_shared<HelpFormatter>());
  app_->set_help_all_flag("--help-all", "Print the help of every command");
  app_->set_version_flag("--version", Versions);
  app_->failure_message([](const CLI::App* failed, const CLI::Error& error) {
    std::string command;
    const CLI::App* at_fault = failed;
    for (const CLI::App* parsed : failed->get_subcommands([](const CLI::App*) { return true; })) {
      if (!parsed->parsed()) continue;
      command = absl::StrCat(" ", parsed->get_name());
      at_fault = parsed;
    }
    const std::string hint = HintAt(error, *at_fault);
    return absl::StrCat("graphnet", command, ": ", MessageOf(error),
                        hint.empty() ? absl::StrCat("; see graphnet", command, " --help") : hint,
                        "\n");
  });
  for (const Command& entry : AllCommands()) {
    CLI::App* const command = app_->add_subcommand(entry.name, entry.help);
    CommandLine line(command, &run_);
    entry.declare(line);
    command->group(GroupTitle(entry.group));
    command->footer(absl::StrCat(ExamplesText(entry), "\n\n", kExitCodes));
    TakeOneValueEach(command);
    if (command->get_name() != "show") continue;
    app_->footer(
        absl::StrCat(ExamplesText(entry), "\nExamples of each command: graphnet COMMAND --help\n\n",
                     "With the Python package graphnet_ir: ", absl::StrJoin(kPythonCommands, ", "),
                     "\n\n", kExitCodes));
  }
}

Tool::~Tool() = default;

std::optional<int> Tool::Parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0 ? 0 : 2;
  }
}

absl::Status Tool::CheckName(const std::string& word) const {
  std::vector<absl::string_view> names;
  for (const CLI::App* command : app_->get_subcommands(nullptr))
    names.emplace_back(command->get_name());
  if (absl::StartsWith(word, "-") || absl::c_linear_search(names, word)) return absl::OkStatus();
  if (absl::c_linear_search(kPythonCommands, word)) {
    return absl::NotFoundError(absl::StrCat(
        word,
        " is a command of the Python package graphnet_ir: install its wheel, whose graphnet "
        "has it (docs/installing.md)"));
  }
  const std::string hint = NearMissHint(word, names);
  return absl::NotFoundError(absl::StrCat("there is no command ", Printable(word),
                                          hint.empty() ? "; see graphnet --help" : hint));
}

bool Tool::has_output() const {
  const CLI::App* command = app_->get_subcommands().front();
  const CLI::Option* option = command->get_option_no_throw("--out");
  return option != nullptr && option->count() > 0 && option->as<std::string>() == "-";
}

absl::StatusOr<CommandResult> Tool::Run() {
  if (WantsJson() && has_output())
    return absl::InvalidArgumentError("the standard output takes either --json or --out -");
  return run_();
}

}  // namespace graphnet
