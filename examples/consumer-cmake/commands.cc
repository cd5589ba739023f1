// Calls three commands of the tool as functions.
//
//   commands SAMPLE OTHER
#include <iostream>
#include <string>
#include <vector>

#include "graphnet/cli/call.h"

namespace {

// Calls a command twice, and prints its report as text and as JSON. Returns whether it could.
bool Show(std::vector<std::string> words) {
  for (const bool json : {false, true}) {
    if (json) words.emplace_back("--json");
    const absl::StatusOr<graphnet::CommandResult> found = graphnet::CallCommand(words);
    if (!found.ok()) {
      std::cerr << found.status().message() << "\n";
      return false;
    }
    std::cout << found->text << found->aside;
    if (json) std::cout << "exit code " << found->code << "\n";
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: commands SAMPLE OTHER\n";
    return 2;
  }
  const std::string sample = argv[1], other = argv[2];
  return Show({"stats", sample, "--cost"}) && Show({"find", "relu", sample}) &&
                 Show({"diff", sample, other})
             ? 0
             : 1;
}
