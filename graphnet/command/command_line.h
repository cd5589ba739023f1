// The operands and options of a command, as the command declares them. CLI11 keeps and parses them;
// its headers cost five seconds of compilation, so commands do not include them.
#ifndef GRAPHNET_COMMAND_COMMAND_LINE_H_
#define GRAPHNET_COMMAND_COMMAND_LINE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/command/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace graphnet {

// An error is printed as one line, and the tool exits with 2.
using CommandRunner = std::function<absl::StatusOr<CommandResult>()>;

// An option or operand that was declared. Its functions say more about it.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option Required() const;
  // The group in the help of the command; without one it is "Options".
  Option Group(const std::string& group) const;
  // The name of the value in the help, as in --out FILE.
  Option TypeName(const std::string& name) const;
  // Shows the value that the variable has now, or a text, as the default.
  Option ShowDefault() const;
  Option ShowDefault(const std::string& text) const;
  // Takes several values in one word, with this between them.
  Option Delimiter(char delimiter) const;
  // Takes one value, though the variable is a list.
  Option Once() const;

  // Accept some values only. A check returns what is wrong with a value, or an empty string.
  Option Check(std::function<std::string(const std::string& value)> check) const;
  Option OneOf(const std::vector<std::string>& words) const;
  Option Positive() const;
  template <typename Number>
  Option Range(Number least, Number most) const {
    if constexpr (std::is_floating_point_v<Number>) {
      return RangeOfReals(least, most);
    } else {
      return RangeOfIntegers(least, most);
    }
  }

  // It cannot be given with any of the others, which are options or their names.
  template <typename... Others>
  Option Excludes(const Others&... others) const {
    (Exclude(others), ...);
    return *this;
  }
  // It cannot be given without the other.
  Option Needs(Option other) const;
  Option Needs(const std::string& other) const;

  // Returns whether the command line has it; to be asked when the command runs.
  bool is_given() const;

 private:
  void Exclude(Option other) const;
  void Exclude(const std::string& other) const;
  Option RangeOfIntegers(int64_t least, int64_t most) const;
  Option RangeOfReals(double least, double most) const;  // excludes nan, too

  CLI::Option* option_;
};

// A variable that an option sets. Lists take one value each time that the option is given.
using OptionVariable = std::variant<std::string*, std::vector<std::string>*, int*, int64_t*,
                                    uint64_t*, double*, std::optional<uint64_t>*>;

// A command that is being declared, or a group of its options. Names are those of CLI11: "--jobs,-j",
// or "IN" for an operand. Variables must live until the command has run, which Run() can ensure.
class CommandLine {
 public:
  // `run` receives what the command runs, if it is the one that was chosen.
  CommandLine(CLI::App* app, CommandRunner* run) : app_(app), run_(run) {}

  Option AddOption(const std::string& names, OptionVariable value, const std::string& help);
  Option AddFlag(const std::string& names, bool* value, const std::string& help);
  // Adds operands of which, as those of cp, the last is the value of the option `last` unless that is
  // given by its name. One operand is no value of it, unless the option `other` is given.
  Option AddOperands(const std::string& name, std::vector<std::string>* values,
                     const std::string& last, const std::string& other, const std::string& help);
  // Add an option that calls a function with its value, or because it is given.
  Option AddOption(const std::string& names, const std::function<void(const std::string&)>& take,
                   const std::string& help);
  Option AddNumber(const std::string& names, std::function<void(int64_t)> take,
                   const std::string& help);
  Option AddFlag(const std::string& names, std::function<void()> take, const std::string& help);
  // Add an option that takes one of `choices`; each may stand for a value of an enum.
  Option AddChoice(const std::string& names, std::string* value,
                   const std::vector<std::string>& choices, const std::string& help);
  template <typename Enum>
  Option AddChoice(const std::string& names, Enum* value,
                   const std::map<std::string, Enum>& choices, const std::string& help) {
    std::vector<std::string> words;
    for (const auto& [word, stands_for] : choices) words.push_back(word);
    return AddChosen(
        names, [value, choices](const std::string& word) { *value = choices.at(word); }, words,
        help);
  }

  // Adds options of which exactly one must be given.
  CommandLine AddOneOf(const std::string& title, const std::string& help);

  // Sets what is called when all options are parsed. An error ends the tool as a wrong option does.
  void WhenParsed(std::function<absl::Status()> function);
  // Sets what the command does.
  void Run(CommandRunner runner);

  CLI::App* app() { return app_; }

 private:
  Option AddChosen(const std::string& names, const std::function<void(const std::string&)>& take,
                   const std::vector<std::string>& words, const std::string& help);

  CLI::App* app_;
  CommandRunner* run_;
};

}  // namespace graphnet

#endif  // GRAPHNET_COMMAND_COMMAND_LINE_H_
