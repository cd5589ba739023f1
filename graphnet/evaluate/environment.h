// Where a backend is installed, how its worker is started, and how it is installed.
#ifndef GRAPHNET_EVALUATE_ENVIRONMENT_H_
#define GRAPHNET_EVALUATE_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/evaluate/backend_table.h"

namespace graphnet {

// What of this machine the workers are started with.
struct WorkerHost {
  std::string tool;                       // the graphnet program
  std::vector<std::string> tool_options;  // of its workers
  std::string torch;                      // LibTorch's folder; empty: there is none
  std::string exec;                       // the command of backend exec
};

// ${GRAPHNET_BACKENDS:-~/.local/share/graphnet/backends}/NAME.
std::string EnvironmentFolder(const Backend& backend);

// The program of a worker of kProgram, which is there once it is installed.
std::string WorkerProgramFile(const Backend& backend);

// The library that such a worker can be loaded as, where Backend::is_library.
std::string WorkerLibraryFile(const Backend& backend);

// The Python whose package LibTorch's folder is; empty if it is none.
std::string PythonOfTorch(const std::string& torch);

// The command that starts the worker in `folder`, where its files are put. FailedPrecondition,
// with the line that installs it, if it is not there.
absl::StatusOr<std::vector<std::string>> WorkerCommand(const Backend& backend,
                                                       const WorkerHost& host,
                                                       const std::string& folder);

// The line that installs it; empty if nothing is to be installed.
std::string InstallLine(const Backend& backend);

// Makes the environment anew, whole or not at all. What the installers print goes to a file,
// whose last line an error has.
absl::Status Install(const Backend& backend, const WorkerHost& host);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_ENVIRONMENT_H_
