#include "graphnet/cli/call.h"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "gmock/gmock.h"
#include "graphnet/cli/tool.h"
#include "graphnet/command/command.h"
#include "graphnet/command/messages.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Written(const std::string& name, const std::string& text) {
  std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

std::string Net() {
  return Written("net.gn",
                 "graph @forward(%x : f32[2]) {\n  %y = torch.relu(%x)\n  return (%y,)\n}\n");
}

std::string OtherNet() {
  return Written("other.gn",
                 "graph @forward(%x : f32[2]) {\n  %y = torch.tanh(%x)\n  return (%y,)\n}\n");
}

TEST(CallCommandTest, ReturnsWhatTheToolPrints) {
  testing::internal::CaptureStdout();
  const auto text = CallCommand({"stats", Net()});
  const auto json = CallCommand({"stats", Net(), "--json"});
  const auto shown = CallCommand({"show", Net()});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(text->text, HasSubstr("  nodes       1  "));
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_THAT(json->text, HasSubstr("\"num_nodes\": 1"));
  EXPECT_EQ(json->text, json->report->ToJson().Dump() + "\n");
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_THAT(shown->text, HasSubstr("%y = torch.relu(%x)"));
}

TEST(CallCommandTest, ExitCodesAreThoseOfTheTool) {
  EXPECT_EQ(CallCommand({"diff", Net(), Net()})->code, 0);
  EXPECT_EQ(CallCommand({"diff", Net(), OtherNet()})->code, 1);
  const auto missing = CallCommand({"stats", Net(), testing::TempDir() + "/missing.gn"});
  ASSERT_TRUE(missing.ok()) << missing.status();
  EXPECT_EQ(missing->code, 2);
  EXPECT_THAT(missing->aside, HasSubstr("missing.gn"));
  EXPECT_THAT(CallCommand({"show", "missing.gn"}).status().message(), HasSubstr("missing.gn"));
}

TEST(CallCommandTest, WrongWordsAreErrors) {
  EXPECT_THAT(CallCommand({}).status().message(), HasSubstr("there is no command"));
  EXPECT_THAT(CallCommand({"stat"}).status().message(), HasSubstr("did you mean stats"));
  EXPECT_THAT(CallCommand({"shapes"}).status().message(), HasSubstr("give samples"));
  EXPECT_THAT(CallCommand({"stats", Net(), "--nope"}).status().message(), HasSubstr("--nope"));
  for (const char* lasting : {"--library=x.so", "--schema", "--trust-files"}) {
    EXPECT_THAT(CallCommand({"run", Net(), lasting}).status().message(),
                HasSubstr("holds until the process ends"));
  }
}

TEST(CallCommandTest, OptionsHoldForOneCall) {
  EXPECT_THAT(CallCommand({"stats", Net(), "--json"})->text, StartsWith("{"));
  EXPECT_THAT(CallCommand({"stats", Net()})->text, HasSubstr("  nodes"));
}

// Returns what the tool prints for a command line.
std::string Page(Tool* tool, const std::string& line) {
  CollectedOutput collected;
  tool->app().parse(line);
  EXPECT_TRUE(tool->Run().ok());
  return collected.TakeOutput();
}

TEST(ToolTest, AnOptionIsDeclaredOnce) {
  Tool tool;
  bool extra = false;
  tool.app().get_subcommand("stats")->add_flag("--extra", extra, "Count what is extra, too");
  EXPECT_THAT(tool.app().get_subcommand("stats")->help(), HasSubstr("Count what is extra, too"));
  EXPECT_THAT(Page(&tool, "man"), HasSubstr("Count what is extra, too"));
  EXPECT_THAT(Page(&tool, "man --markdown"), HasSubstr("`--extra`: Count what is extra, too"));
  EXPECT_THAT(Page(&tool, "completion bash"), HasSubstr("--extra"));
  EXPECT_THAT(Page(&tool, "completion zsh"), HasSubstr("--extra"));
  EXPECT_THAT(Page(&tool, "completion fish"), HasSubstr("extra"));
}

// The command greet is in new_command.cc, and nowhere else.
TEST(ToolTest, ACommandIsOneFile) {
  Tool tool;
  EXPECT_THAT(tool.app().help(), HasSubstr("Say hello to somebody"));
  EXPECT_THAT(tool.app().get_subcommand("greet")->help(),
              AllOf(HasSubstr("Greet a second time, too"),
                    HasSubstr("Examples:\n  graphnet greet Ada --twice")));
  EXPECT_THAT(Page(&tool, "man"), HasSubstr("graphnet greet Ada \\-\\-twice"));
  EXPECT_THAT(Page(&tool, "man --markdown"),
              HasSubstr("### greet\n\n`graphnet greet NAME [OPTION]"));
  EXPECT_THAT(Page(&tool, "completion bash"), HasSubstr("\"greet \"*) if [[ $cur == -* ]]"));
  EXPECT_THAT(Page(&tool, "completion zsh"), HasSubstr("greet:Say hello to somebody"));
  EXPECT_THAT(Page(&tool, "completion fish"), HasSubstr("__fish_seen_subcommand_from greet"));
  const auto called = CallCommand({"greet", "Ada", "--twice"});
  ASSERT_TRUE(called.ok()) << called.status();
  EXPECT_EQ(called->text, "Hello, Ada\nHello again, Ada\n");
}

// Groups are in the order of CommandGroup, and commands in that of their names.
TEST(ToolTest, CommandsAreInOrder) {
  std::vector<std::pair<CommandGroup, std::string>> order;
  for (const Command& command : AllCommands()) order.emplace_back(command.group, command.name);
  EXPECT_GT(order.size(), 25);
  EXPECT_THAT(order, ::testing::WhenSorted(::testing::ElementsAreArray(order)));
  EXPECT_EQ(order.front().second, "diff");
  EXPECT_EQ(order.back().second, "worker");
}

}  // namespace
}  // namespace graphnet
