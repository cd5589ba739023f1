// `graphnet completion bash|zsh|fish`: prints a script that completes command lines in a shell.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "graphnet/cli/command_table.h"
#include "graphnet/command/command.h"
#include "graphnet/command/messages.h"

namespace graphnet {
namespace {

enum class Shell { kBash, kZsh, kFish };

// Quotes text for bash and zsh.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// Returns the help without its explanation, because a menu has room for one line.
absl::string_view Brief(absl::string_view help) {
  for (const absl::string_view end : {": ", "; ", " ("}) help = help.substr(0, help.find(end));
  return help;
}

std::string Words(const std::vector<std::string>& words) { return absl::StrJoin(words, " "); }

std::vector<std::string> CommandNames(const CommandTable& table) {
  std::vector<std::string> names;
  for (const CommandRow& command : table.commands) names.push_back(command.name);
  return names;
}

std::string OptionNames(const std::vector<OptionRow>& options) {
  std::vector<std::string> names;
  for (const OptionRow& option : options) names.push_back(Words(option.names));
  return Words(names);
}

// --- bash ------------------------------------------------------------------------

constexpr char kBashHead[] = R"(# Completion for bash, made by: graphnet completion bash
_graphnet() {
  local cur=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD-1]} before= command= word
  local words= list= IFS=$' \t\n'
  COMPREPLY=()
  # --flag=value is three words, or one where COMP_WORDBREAKS has no "=".
  if [[ $cur == = ]]; then
    cur=
  elif [[ $flag == = && COMP_CWORD -ge 2 ]]; then
    flag=${COMP_WORDS[COMP_CWORD-2]}
  elif [[ $cur == --*=* ]]; then
    flag=${cur%%=*} before=$flag= cur=${cur#*=}
  fi
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || { command=$word; break; }
  done
  case "$command $flag" in
)";

constexpr char kBashTail[] = R"(  esac
  if [[ $list ]]; then
    [[ $cur == *,* ]] && before+=${cur%,*}, cur=${cur##*,}
    compopt -o nospace 2>/dev/null
  fi
  COMPREPLY=($(compgen -P "$before" -W "$words" -- "$cur"))
}
complete -o default -F _graphnet graphnet
)";

std::string BashCase(const std::string& command, const OptionRow& option) {
  std::vector<std::string> patterns;
  for (const std::string& name : option.names)
    patterns.push_back(absl::StrCat("\"", command, " ", name, "\""));
  // Without words, bash offers files.
  std::string action =
      option.words.empty() ? "return" : absl::StrCat("words=", Quoted(Words(option.words)));
  if (option.takes == Takes::kWords) action += " list=1";
  return absl::StrCat("    ", absl::StrJoin(patterns, " | "), ") ", action, " ;;\n");
}

std::string BashCompletion(const CommandTable& table) {
  std::string out = kBashHead;
  for (const CommandRow& command : table.commands) {
    for (const OptionRow& option : command.options) {
      if (option.takes != Takes::kNothing) out += BashCase(command.name, option);
    }
  }
  const auto offer = [&](const std::string& name, const std::vector<OptionRow>& options,
                         const std::string& words) {
    absl::StrAppend(&out, "    \"", name,
                    " \"*) if [[ $cur == -* ]]; then words=", Quoted(OptionNames(options)), "; ",
                    words.empty() ? "" : absl::StrCat("else words=", Quoted(words), "; "),
                    "fi ;;\n");
  };
  for (const CommandRow& command : table.commands) {
    offer(command.name, command.options,
          command.operands.empty() ? "" : Words(command.operands[0].words));
  }
  offer("", table.options, Words(CommandNames(table)));
  return out + kBashTail;
}

// --- zsh -------------------------------------------------------------------------

std::string ZshValue(const OptionRow& option) {
  const std::string name = option.words.empty() && !option.value.empty()
                               ? absl::StrReplaceAll(option.value, {{":", "\\:"}})
                               : "value";
  switch (option.takes) {
    case Takes::kNothing: return "";
    case Takes::kAnything: return absl::StrCat(":", name, ": ");
    case Takes::kPath: return absl::StrCat(":", name, ":_files");
    case Takes::kWord: return absl::StrCat(":", name, ":(", Words(option.words), ")");
    case Takes::kWords:
      return absl::StrCat(":", name, ":{_values -s , value ", Words(option.words), "}");
  }
  return "";
}

std::string ZshCompletion(const CommandTable& table) {
  std::string out =
      "#compdef graphnet\n# Completion for zsh, made by: graphnet completion zsh\n_graphnet() {\n"
      "  local curcontext=$curcontext state line\n  typeset -A opt_args\n  _arguments -C";
  const auto options = [&](const std::vector<OptionRow>& rows) {
    for (const OptionRow& option : rows) {
      const std::string help = absl::StrCat(
          "[", absl::StrReplaceAll(Brief(option.help), {{"[", "\\["}, {"]", "\\]"}, {":", "\\:"}}),
          "]");
      for (const std::string& name : option.names) {
        const bool is_long = name.size() > 2;
        const char* sign = option.takes == Takes::kNothing ? "" : is_long ? "=" : "+";
        // One name excludes the others, unless the option may be repeated.
        const std::string others =
            option.repeated ? "*" : absl::StrCat("(", Words(option.names), ")");
        absl::StrAppend(&out, " \\\n      ",
                        Quoted(absl::StrCat(others, name, sign, help, ZshValue(option))));
      }
    }
  };
  options(table.options);
  absl::StrAppend(&out, " \\\n      '1:command:->command' '*::argument:->argument'\n",
                  "  case $state in\n  command)\n    local -a commands=(");
  for (const CommandRow& command : table.commands) {
    absl::StrAppend(&out, "\n      ",
                    Quoted(absl::StrCat(command.name, ":",
                                        absl::StrReplaceAll(Brief(command.help), {{":", "\\:"}}))));
  }
  absl::StrAppend(&out, "\n    )\n    _describe command commands ;;\n",
                  "  argument)\n    case $words[1] in\n");
  for (const CommandRow& command : table.commands) {
    absl::StrAppend(&out, "    ", command.name, ") _arguments");
    options(command.options);
    for (const OptionRow& operand : command.operands) {
      absl::StrAppend(&out, " \\\n      ",
                      Quoted(absl::StrCat(operand.repeated ? "*" : ":", ZshValue(operand))));
    }
    absl::StrAppend(&out, " ;;\n");
  }
  return out +
         "    esac ;;\n  esac\n}\n"
         "if [[ $funcstack[1] == _graphnet ]]; then _graphnet \"$@\"; else compdef _graphnet "
         "graphnet; fi\n";
}

// --- fish ------------------------------------------------------------------------

std::string FishQuoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

std::string FishCompletion(const CommandTable& table) {
  std::string out =
      "# Completion for fish, made by: graphnet completion fish\n"
      "function __graphnet_list\n"
      "  set -l before (commandline -ct | string replace -r '^--[^=]*=' '' | string replace -r "
      "'[^,]*$' '')\n"
      "  printf '%s\\n' $before$argv\nend\n";
  const auto options = [&](const std::string& when, const std::vector<OptionRow>& rows) {
    for (const OptionRow& option : rows) {
      absl::StrAppend(&out, "complete -c graphnet -n ", when);
      for (const std::string& name : option.names) {
        const bool is_long = name.size() > 2;
        absl::StrAppend(&out, is_long ? " -l " : " -s ", name.substr(is_long ? 2 : 1));
      }
      switch (option.takes) {
        case Takes::kNothing: break;
        case Takes::kAnything: out += " -x"; break;
        case Takes::kPath: out += " -r -F"; break;
        case Takes::kWord: absl::StrAppend(&out, " -x -a ", FishQuoted(Words(option.words))); break;
        case Takes::kWords:
          absl::StrAppend(&out, " -x -a '(__graphnet_list ", Words(option.words), ")'");
          break;
      }
      absl::StrAppend(&out, " -d ", FishQuoted(Brief(option.help)), "\n");
    }
  };
  options("__fish_use_subcommand", table.options);
  for (const CommandRow& command : table.commands) {
    absl::StrAppend(&out, "complete -c graphnet -n __fish_use_subcommand -f -a ", command.name,
                    " -d ", FishQuoted(Brief(command.help)), "\n");
    const std::string when = FishQuoted(absl::StrCat("__fish_seen_subcommand_from ", command.name));
    options(when, command.options);
    for (const OptionRow& operand : command.operands) {
      if (!operand.words.empty()) {
        absl::StrAppend(&out, "complete -c graphnet -n ", when, " -f -a ",
                        FishQuoted(Words(operand.words)), "\n");
      }
    }
  }
  return out;
}

void DeclareCompletion(CommandLine& command) {
  auto shell = std::make_shared<Shell>(Shell::kBash);
  const std::map<std::string, Shell> shells = {
      {"bash", Shell::kBash}, {"fish", Shell::kFish}, {"zsh", Shell::kZsh}};
  command.AddChoice("SHELL", shell.get(), shells, "Shell").Required();
  command.Run([shell, tool = command.app()->get_parent()]() -> absl::StatusOr<CommandResult> {
    const CommandTable table = TableOf(*tool);
    WriteOutput(*shell == Shell::kBash  ? BashCompletion(table)
                : *shell == Shell::kZsh ? ZshCompletion(table)
                                        : FishCompletion(table));
    return 0;
  });
}

const RegisteredCommand kCompletion(
    {.name = "completion",
     .help = "Print a script that completes command lines: source <(graphnet completion bash)",
     .group = CommandGroup::kTool,
     .declare = DeclareCompletion,
     .examples = {"source <(graphnet completion bash)"}});

}  // namespace
}  // namespace graphnet
