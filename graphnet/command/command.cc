#include "graphnet/command/command.h"

#include <utility>

#include "absl/algorithm/container.h"

namespace graphnet {
namespace {

std::vector<Command>& Registry() {
  static auto* const commands = new std::vector<Command>;
  return *commands;
}

}  // namespace

const char* GroupTitle(CommandGroup group) {
  switch (group) {
    case CommandGroup::kLook: return "Look at graphs";
    case CommandGroup::kCheck: return "Check";
    case CommandGroup::kChange: return "Change and convert";
    case CommandGroup::kCut: return "Cut and join";
    case CommandGroup::kPrograms: return "Programs";
    case CommandGroup::kRun: return "Run";
    case CommandGroup::kJudge: return "Judge compilers";
    case CommandGroup::kTool: return "The tool";
    case CommandGroup::kHidden: return "";
  }
  return "";
}

RegisteredCommand::RegisteredCommand(Command command) { Registry().push_back(std::move(command)); }

std::vector<Command> AllCommands() {
  std::vector<Command> commands = Registry();
  absl::c_sort(commands, [](const Command& a, const Command& b) {
    return std::make_pair(a.group, absl::string_view(a.name)) <
           std::make_pair(b.group, absl::string_view(b.name));
  });
  return commands;
}

}  // namespace graphnet
