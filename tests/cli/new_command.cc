// A command that only this file knows, as CONTRIBUTING.md describes it. call_test.cc looks for it.
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/command/command.h"

namespace graphnet {
namespace {

struct GreetFlags {
  std::string name;
  bool twice = false;
};

absl::StatusOr<CommandResult> Greet(const GreetFlags& flags) {
  Report report;
  report.Add("greeted", flags.name);
  report.Say("Hello, " + flags.name);
  if (flags.twice) report.Say("Hello again, " + flags.name);
  return report;
}

void DeclareGreet(CommandLine& command) {
  auto flags = std::make_shared<GreetFlags>();
  command.AddOption("NAME", &flags->name, "Whom to greet").Required();
  command.AddFlag("--twice", &flags->twice, "Greet a second time, too");
  command.Run([flags] { return Greet(*flags); });
}

const RegisteredCommand kGreet({.name = "greet",
                                .help = "Say hello to somebody",
                                .group = CommandGroup::kTool,
                                .declare = DeclareGreet,
                                .examples = {"graphnet greet Ada --twice"}});

}  // namespace
}  // namespace graphnet
