// The compilers that can be judged: a row each.
#ifndef GRAPHNET_EVALUATE_BACKEND_TABLE_H_
#define GRAPHNET_EVALUATE_BACKEND_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/tier.h"

namespace graphnet {

enum class BackendKind {
  kTool,     // graphnet itself: `graphnet worker NAME`
  kPython,   // a file of `files`, NAME_worker.py, with the Python of an environment
  kProgram,  // NAME_worker in an environment, compiled when that is made
  kCommand,  // what the user says
  kRewrite,  // graphnet's interpreter on what the sample becomes: `graphnet worker nope`
};

// What a worker reads.
enum class ProgramForm {
  kSample,       // the sample itself
  kPt2,          // an archive of torch.export
  kTorchScript,  // an archive of torch.jit
  kExport,       // the model.json of a .pt2, its constants beside it
  kMlir,         // torch-dialect text of MLIR, its constants beside it
};
inline constexpr int kNumProgramForms = 5;
// "graphnet", "pt2", "torchscript", "export", "mlir".
absl::string_view FormName(ProgramForm form);

struct WorkerFile {
  absl::string_view name;
  absl::string_view (*text)();
};

struct Backend {
  absl::string_view name;
  absl::string_view description;
  BackendKind kind;
  ProgramForm reads;
  std::vector<WorkerFile> files;
  // Its worker imports torch, that of LibTorch where this is a package of Python.
  bool needs_torch = false;
  // What pip installs. Nothing, and torch is needed: it runs with the Python that has that torch.
  std::vector<absl::string_view> packages;
  // Makes NAME_worker of kProgram: a command of the shell, run where its files lie, with the
  // environment's packages in $SITE and the program to be written in $OUT.
  absl::string_view compile = "";
  // `compile` makes $OUT.so, too, a library that can be loaded (worker_library.h).
  bool is_library = false;
  // Another name that it is known by.
  absl::string_view alias = "";
  Tier tier = Tier::kSupported;
};

absl::Span<const Backend> Backends();
// What its logs and folders are called: its name, with "_" for what not every file system takes.
std::string FileNameOf(const Backend& backend);
// Null if there is none of that name.
const Backend* FindBackend(absl::string_view name);
std::vector<absl::string_view> BackendNames();

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_BACKEND_TABLE_H_
