// The table of the backends that can be judged.
#ifndef GRAPHNET_EVALUATE_BACKEND_TABLE_H_
#define GRAPHNET_EVALUATE_BACKEND_TABLE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/tier.h"

namespace graphnet {

// The way in which the worker of a backend is started.
enum class BackendKind {
  kTool,     // graphnet itself: `graphnet worker NAME`
  kPython,   // NAME_worker.py, one of `files`, with the Python of an environment
  kProgram,  // NAME_worker in an environment, compiled when that is created
  kCommand,  // the command of --exec
  kRewrite,  // graphnet's interpreter on the rewritten sample: `graphnet worker nope`
};

// The form in which a worker reads a program.
enum class ProgramForm {
  kSample,       // the sample itself
  kPt2,          // an archive of torch.export
  kTorchScript,  // an archive of torch.jit
  kExport,       // the model.json of a .pt2, its constants beside it
  kMlir,         // torch-dialect text of MLIR, its constants beside it
  kPaddle,       // a folder with Paddle's calls, its constants beside it
};
inline constexpr int kNumProgramForms = 6;
// Returns "graphnet", "pt2", "torchscript", "export", "mlir" or "paddle".
absl::string_view FormName(ProgramForm form);

// A file that a worker needs, and the function that returns its text.
struct WorkerFile {
  absl::string_view name;
  absl::string_view (*text)();
};

// An option of a backend, which its worker knows.
struct BackendOption {
  absl::string_view name;
  absl::string_view description;
  std::vector<absl::string_view> values = {};  // empty: a whole number from 1 on
};

// A row of the table.
struct Backend {
  absl::string_view name;
  absl::string_view description;
  BackendKind kind;
  ProgramForm reads;
  std::vector<WorkerFile> files;
  // True if its worker imports torch: the one of LibTorch if LibTorch is part of a Python package.
  bool needs_torch = false;
  // The packages that pip installs. A backend without any that needs torch runs with the Python
  // that has LibTorch's torch.
  std::vector<absl::string_view> packages;
  // The shell command that makes NAME_worker of kProgram. It runs in the folder of `files`, with
  // the environment's packages in $SITE and the path of the program to write in $OUT.
  absl::string_view compile = "";
  // Another name of the backend, or empty.
  absl::string_view alias = "";
  Tier tier = Tier::kSupported;
  std::vector<BackendOption> options = {};  // that can be given

  // Not of the table: what was given (backend_options.h), and how that was written, or empty.
  std::vector<std::pair<std::string, std::string>> given = {};
  absl::string_view label = "";

  // Returns the name that tells it from the same backend with other options.
  absl::string_view shown() const { return label.empty() ? name : label; }
};

// Returns all backends. They live as long as the process.
absl::Span<const Backend> Backends();
// Returns the name of its logs and folders: the one that it shows, with "_" for each character that some file
// system does not allow.
std::string FileNameOf(const Backend& backend);
// Finds a backend by its name or alias; null if there is none.
const Backend* FindBackend(absl::string_view name);
// Returns the names of all backends, without aliases.
std::vector<absl::string_view> BackendNames();

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_BACKEND_TABLE_H_
