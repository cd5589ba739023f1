#include <memory>
#include <string>

#include "graphnet/base/status.h"
#include "graphnet/command/command.h"
#include "graphnet/command/options.h"
#include "graphnet/run/engine.h"

namespace graphnet {
namespace {

// A hidden command that `graphnet bench` starts (docs/evaluation_reference.md).
void DeclareWorker(CommandLine& command) {
  auto backend = std::make_shared<std::string>();
  command.AddOption("BACKEND", backend.get(), "Which").Required().OneOf({"nope", "jit"});
  auto trust = std::make_shared<bool>(false);
  AddTrustOption(command, trust.get());
  command.Run([backend]() -> absl::StatusOr<int> {
    ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
    return engine->ServeWorker(*backend);
  });
}

const RegisteredCommand kWorker({.name = "worker",
                                 .help = "Serve a benchmark as a backend",
                                 .group = CommandGroup::kHidden,
                                 .declare = DeclareWorker});

}  // namespace
}  // namespace graphnet
