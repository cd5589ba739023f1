#include "graphnet/command/command_line.h"

#include <cmath>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace graphnet {

Option Option::Required() const { return Option(option_->required()); }
Option Option::Group(const std::string& group) const { return Option(option_->group(group)); }
Option Option::TypeName(const std::string& name) const { return Option(option_->type_name(name)); }
Option Option::ShowDefault() const { return Option(option_->capture_default_str()); }
Option Option::ShowDefault(const std::string& text) const {
  return Option(option_->default_str(text));
}
Option Option::Delimiter(char delimiter) const { return Option(option_->delimiter(delimiter)); }
Option Option::Once() const { return Option(option_->expected(1)); }

Option Option::Check(std::function<std::string(const std::string& value)> check) const {
  return Option(option_->check(
      CLI::Validator([check = std::move(check)](std::string& value) { return check(value); },
                     /*validator_desc=*/"")));
}
Option Option::OneOf(const std::vector<std::string>& words) const {
  return Option(option_->check(CLI::IsMember(words)));
}
Option Option::Positive() const { return Option(option_->check(CLI::PositiveNumber)); }
Option Option::RangeOfIntegers(int64_t least, int64_t most) const {
  return Option(option_->check(CLI::Range(least, most)));
}
Option Option::RangeOfReals(double least, double most) const {
  option_->check(CLI::Range(least, most));
  return Check([](const std::string& text) {
    double value = 0;
    return absl::SimpleAtod(text, &value) && std::isnan(value)
               ? absl::StrCat(text, " is not a number")
               : std::string();
  });
}

void Option::Exclude(Option other) const { option_->excludes(other.option_); }
void Option::Exclude(const std::string& other) const { option_->excludes(other); }
Option Option::Needs(Option other) const { return Option(option_->needs(other.option_)); }
Option Option::Needs(const std::string& other) const { return Option(option_->needs(other)); }
bool Option::is_given() const { return !option_->empty(); }

Option CommandLine::AddOption(const std::string& names, OptionVariable value,
                              const std::string& help) {
  return std::visit(
      [&](auto* variable) { return Option(app_->add_option(names, *variable, help)); }, value);
}
Option CommandLine::AddFlag(const std::string& names, bool* value, const std::string& help) {
  return Option(app_->add_flag(names, *value, help));
}
Option CommandLine::AddOperands(const std::string& name, std::vector<std::string>* values,
                                const std::string& last, const std::string& other,
                                const std::string& help) {
  const auto take = [app = app_, values, last, other](const std::vector<std::string>& given) {
    *values = given;
    CLI::Option* const option = app->get_option(last);
    const size_t least = app->get_option(other)->empty() ? 2 : 1;
    if (!option->empty() || given.size() < least) return;
    option->add_result(given.back());
    values->pop_back();
  };
  return Option(app_->add_option_function<std::vector<std::string>>(name, take, help));
}
Option CommandLine::AddOption(const std::string& names,
                              const std::function<void(const std::string&)>& take,
                              const std::string& help) {
  return Option(app_->add_option_function<std::string>(names, take, help));
}
Option CommandLine::AddNumber(const std::string& names, std::function<void(int64_t)> take,
                              const std::string& help) {
  return Option(app_->add_option_function<int64_t>(
      names, [take = std::move(take)](const int64_t& number) { take(number); }, help));
}
Option CommandLine::AddFlag(const std::string& names, std::function<void()> take,
                            const std::string& help) {
  return Option(app_->add_flag_callback(names, std::move(take), help));
}
Option CommandLine::AddChoice(const std::string& names, std::string* value,
                              const std::vector<std::string>& choices, const std::string& help) {
  return AddChosen(
      names, [value](const std::string& word) { *value = word; }, choices, help);
}
Option CommandLine::AddChosen(const std::string& names,
                              const std::function<void(const std::string&)>& take,
                              const std::vector<std::string>& words, const std::string& help) {
  return AddOption(names, take, help)
      .TypeName(absl::StrJoin(words, "|"))
      .Check([words](const std::string& text) {
        if (absl::c_linear_search(words, text)) return std::string();
        return absl::StrCat(text, " is none of ", absl::StrJoin(words, ", "));
      });
}

CommandLine CommandLine::AddOneOf(const std::string& title, const std::string& help) {
  CLI::App* const group = app_->add_option_group(title, help);
  group->require_option(1);
  return CommandLine(group, run_);
}

void CommandLine::WhenParsed(std::function<absl::Status()> function) {
  app_->parse_complete_callback([function = std::move(function)] {
    const absl::Status status = function();
    if (!status.ok()) throw CLI::ValidationError(std::string(status.message()));
  });
}

void CommandLine::Run(CommandRunner runner) {
  app_->callback([run = run_, runner = std::move(runner)] { *run = runner; });
}

}  // namespace graphnet
