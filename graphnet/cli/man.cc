// `graphnet man`: the manual, as a page for man or, of the same text, for docs.
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "graphnet/cli/command_table.h"
#include "graphnet/command/command.h"
#include "graphnet/command/messages.h"

namespace graphnet {
namespace {

// Date of the last change of this text.
constexpr char kDate[] = "2026-11-30";

struct Section {
  absl::string_view title;
  absl::string_view text;  // an empty line between paragraphs
};

constexpr Section kSections[] = {
    {"Inputs and outputs",
     "An input is recognised by its content, not by its name: a GraphNet folder, an archive of "
     "TorchScript or torch.export, a protobuf or text. For any other file, such as an ONNX model "
     "or a state_dict, the error says what the file is, and the command exits with 2. A command "
     "that takes a folder of samples works on every sample below it, on as many threads as --jobs "
     "says; it reports the samples that fail and goes on with the others.\n\nAn output gets the "
     "format of its ending, or the one that --to names. Files and folders appear whole or not at "
     "all, a protobuf together with its weights, and missing parent folders are made. If a format "
     "cannot hold all of a sample, the standard error says what is lost, with counts.\n\nThe name "
     "- is the standard input, which can be read once, or the standard output, which takes all "
     "formats but folders; what the command reports then goes to the standard error. The weights "
     "of a protobuf are in a file beside it, so a protobuf on the standard output has no weights."},
    {"JSON",
     "With --json a command prints one document, an object, and nothing else to the standard "
     "output. Numbers are numbers, unknown values are left out, and the exit code is the same as "
     "without --json.\n\nCommands that take folders print a list samples with one object per "
     "sample, even for a single sample, each with its path, and the counts passed and failed. "
     "bench prints a list backends, because its logs have the results of samples, and score prints "
     "a list curves. A sample that failed has error in place of its other members. An error is an "
     "object with message and, if it has a place, file, line and column. When the command as a "
     "whole fails, the document is {\"error\": ...}, in addition to the line on the standard "
     "error. Only an error in the command line itself has no document.\n\nA count is called num_ "
     "and what it counts: num_nodes is a number, nodes is a list.\n\nA value has name, dtype (f32) "
     "and shape, a list of numbers and, for sizes that may change, expressions in quotes."},
    {"Exit codes",
     "All commands have the same exit codes.\n\n0: success.\n\n1: a check failed, or nothing was "
     "found: a sample is not valid, pieces do not make up the whole, two runs differ, a finding of "
     "lint is left, a backend is wrong with bench --strict, no call matches.\n\n2: an option is "
     "wrong, an input cannot be used, or an output cannot be written; one line on the standard "
     "error says which. If it is one of many inputs, the command still works on the "
     "others.\n\n141: the standard output is a pipe whose reader has ended, as in graphnet show x "
     "| head."},
    {"Terminal",
     "Colours and, after one second, a progress bar appear on terminals only. Elsewhere, work on "
     "many samples prints one line per minute to the standard error. --progress chooses another "
     "form. NO_COLOR turns colours off, TERM=dumb turns both off. Help is as wide as the "
     "terminal."},
    {"Completion",
     "bash: source <(graphnet completion bash)\n\nzsh: source <(graphnet completion zsh)\n\n"
     "fish: graphnet completion fish | source"},
};

// --- For man ---------------------------------------------------------------------

// Escapes text for roff. Code points outside of ASCII are written by number.
std::string Roff(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      switch (text[i]) {
        case '\\': out += "\\e"; break;
        case '-': out += "\\-"; break;
        case '\'': out += "\\(aq"; break;
        case '`': out += "\\(ga"; break;
        case '^': out += "\\(ha"; break;
        case '~': out += "\\(ti"; break;
        default: out += text[i];
      }
      ++i;
      continue;
    }
    const size_t size = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    unsigned code = byte & (0xFFU >> (size + 1));
    for (size_t k = 1; k < size && i + k < text.size(); ++k)
      code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3F);
    absl::StrAppendFormat(&out, "\\[u%04X]", code);
    i += size;
  }
  if (absl::StartsWith(out, ".")) out.insert(0, "\\&");
  return out;
}

void AppendParagraphs(absl::string_view text, std::string* out) {
  bool first = true;
  for (const absl::string_view paragraph : absl::StrSplit(text, "\n\n")) {
    absl::StrAppend(out, first ? "" : ".PP\n", Roff(paragraph), "\n");
    first = false;
  }
}

void AppendOption(const OptionRow& option, std::string* out) {
  std::string names;
  for (const std::string& name : option.names)
    absl::StrAppend(&names, names.empty() ? "" : ", ", "\\fB", Roff(name), "\\fR");
  absl::StrAppend(out, ".TP\n", names);
  if (!option.value.empty()) absl::StrAppend(out, " \\fI", Roff(option.value), "\\fR");
  absl::StrAppend(out, "\n", Roff(option.help), "\n");
}

std::string ManPage(const CommandTable& table) {
  std::string out =
      absl::StrCat(".\\\" Made by graphnet man.\n.TH GRAPHNET 1 ", kDate, " \"",
                   Roff(table.version), "\" \"User Commands\"\n.SH NAME\ngraphnet \\- ",
                   "computation graphs of PyTorch\n.SH SYNOPSIS\n.B graphnet\n.I COMMAND\n",
                   "[\\fIOPTION\\fR]...\n.SH DESCRIPTION\n", Roff(table.help), "\n");
  for (const OptionRow& option : table.options) AppendOption(option, &out);
  std::string group;
  for (const CommandRow& command : table.commands) {
    if (command.group != group) {
      group = command.group;
      absl::StrAppend(&out, ".SH ", absl::AsciiStrToUpper(Roff(group)), "\n");
    }
    absl::StrAppend(&out, ".SS ", Roff(command.Synopsis()), "\n", Roff(command.help), ".\n");
    for (const OptionRow& operand : command.operands) AppendOption(operand, &out);
    for (const OptionRow& option : command.options) AppendOption(option, &out);
    for (const absl::string_view line : command.examples)
      absl::StrAppend(&out, ".PP\n.EX\n", Roff(line), "\n.EE\n");
  }
  for (const Section& section : kSections) {
    absl::StrAppend(&out, ".SH ", absl::AsciiStrToUpper(Roff(section.title)), "\n");
    AppendParagraphs(section.text, &out);
  }
  return out;
}

// --- For docs --------------------------------------------------------------------

std::string MarkdownPage(const CommandTable& table) {
  std::string out = absl::StrCat(
      "# The command line\n\nMade by `graphnet man --markdown`; `graphnet man | man -l -` shows "
      "the same.\n\n",
      table.help, "\n");
  const auto append = [&](const OptionRow& option) {
    absl::StrAppend(&out, "- `", Heading(option),
                    "`: ", absl::StrReplaceAll(option.help, {{"*", "\\*"}, {"<", "\\<"}}), "\n");
  };
  std::string group;
  for (const CommandRow& command : table.commands) {
    if (command.group != group) {
      group = command.group;
      absl::StrAppend(&out, "\n## ", group, "\n");
    }
    absl::StrAppend(&out, "\n### ", command.name, "\n\n`", command.Synopsis(), "`\n\n",
                    command.help, ".\n\n");
    for (const OptionRow& operand : command.operands) append(operand);
    for (const OptionRow& option : command.options) {
      if (option.names.back() != "--help") append(option);
    }
    absl::StrAppend(&out, "\n```console\n");
    for (const absl::string_view line : command.examples)
      absl::StrAppend(&out, "$ ", line, "\n…\n");
    absl::StrAppend(&out, "```\n");
  }
  for (const Section& section : kSections)
    absl::StrAppend(&out, "\n## ", section.title, "\n\n", section.text, "\n");
  return out;
}

void DeclareMan(CommandLine& command) {
  auto markdown = std::make_shared<bool>(false);
  command.AddFlag("--markdown", markdown.get(), "Print docs/commands.md");
  command.Run([markdown, tool = command.app()->get_parent()]() -> absl::StatusOr<CommandResult> {
    const CommandTable table = TableOf(*tool);
    WriteOutput(*markdown ? MarkdownPage(table) : ManPage(table));
    return 0;
  });
}

const RegisteredCommand kMan({.name = "man",
                              .help = "Print the manual: graphnet man | man -l -",
                              .group = CommandGroup::kTool,
                              .declare = DeclareMan,
                              .examples = {"graphnet man | head -n 20"}});

}  // namespace
}  // namespace graphnet
