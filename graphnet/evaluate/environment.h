// Says where a backend is installed and how its worker is started, and installs it.
#ifndef GRAPHNET_EVALUATE_ENVIRONMENT_H_
#define GRAPHNET_EVALUATE_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/evaluate/backend_table.h"

namespace graphnet {

// The parts of this machine with which workers are started.
struct WorkerHost {
  std::string tool;                       // the graphnet program
  std::vector<std::string> tool_options;  // options of its workers
  std::string torch;                      // LibTorch's folder; empty if there is none
  std::string exec;                       // the command of backend exec
  // The command that runs a shell on another machine, as workers/near.py completes it; empty: workers
  // run here.
  std::string on;
};

// Returns ${GRAPHNET_BACKENDS:-~/.local/share/graphnet/backends}/NAME.
std::string EnvironmentFolder(const Backend& backend);

// Returns the path of a kProgram worker's program, which exists once the backend is installed.
std::string WorkerProgramFile(const Backend& backend);

// Returns the Python to whose packages LibTorch's folder belongs; empty if there is none.
std::string PythonOfTorch(const std::string& torch);

// Writes the worker's files to `folder` and returns the command that starts it there. If it is not
// installed, FailedPrecondition with the command that installs it.
absl::StatusOr<std::vector<std::string>> WorkerCommand(const Backend& backend,
                                                       const WorkerHost& host,
                                                       const std::string& folder);

// Returns the command that installs the backend; empty if nothing has to be installed.
std::string InstallLine(const Backend& backend);

// Creates the environment anew, completely or not at all. The installers' output goes to a file,
// and an error quotes its last line.
absl::Status Install(const Backend& backend, const WorkerHost& host);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_ENVIRONMENT_H_
