// A command of the tool registers itself. The file that has it needs no other file to know it:
//
//   void DeclareCount(CommandLine& command) {
//     auto flags = std::make_shared<CountFlags>();
//     AddSampleOption(command, &flags->in);
//     command.AddFlag("--all", &flags->all, "Count the constants, too");
//     command.Run([flags] { return Count(*flags); });
//   }
//
//   const RegisteredCommand kCount({.name = "count",
//                                   .help = "Count the nodes of a graph",
//                                   .group = CommandGroup::kLook,
//                                   .declare = DeclareCount,
//                                   .examples = {"graphnet count samples/vit.pb"}});
//
// The help, the manual and the completions are made from what is registered and declared.
#ifndef GRAPHNET_COMMAND_COMMAND_H_
#define GRAPHNET_COMMAND_COMMAND_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/command/command_line.h"
#include "graphnet/command/result.h"

namespace graphnet {

// The groups of the help, in its order. The help does not list hidden commands.
enum class CommandGroup { kLook, kCheck, kChange, kCut, kPrograms, kRun, kJudge, kTool, kHidden };

// Returns the group's title; empty for hidden commands.
const char* GroupTitle(CommandGroup group);

struct Command {
  const char* name;
  const char* help;  // one line
  CommandGroup group;
  // Declares the operands and options, and what runs. Each parser of a command line calls it once.
  void (*declare)(CommandLine& command);
  // Command lines that work in the project's folder. No two commands write the same file.
  std::vector<absl::string_view> examples = {};
};

// Adds a command to those of the tool. Made as a constant of the file that has the command.
class RegisteredCommand {
 public:
  explicit RegisteredCommand(Command command);
};

// Returns all registered commands by group, and within a group by name.
std::vector<Command> AllCommands();

}  // namespace graphnet

#endif  // GRAPHNET_COMMAND_COMMAND_H_
