#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "graphnet/base/status.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/options.h"
#include "graphnet/run/engine.h"

namespace graphnet {

// A hidden command that `graphnet bench` starts (docs/evaluation.md).
void RegisterWorker(CLI::App& app, CommandRunner* run) {
  auto backend = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("worker", "Serve a benchmark as a backend");
  command->add_option("BACKEND", *backend, "Which")
      ->required()
      ->check(CLI::IsMember({"nope", "jit"}));
  auto trust = std::make_shared<bool>(false);
  AddTrustOption(command, trust.get());
  command->callback([backend, trust, run] {
    *run = [backend]() -> absl::StatusOr<int> {
      ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
      return engine->ServeWorker(*backend);
    };
  });
}

}  // namespace graphnet
