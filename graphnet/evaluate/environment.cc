#include "graphnet/evaluate/environment.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/status.h"
#include "graphnet/evaluate/worker_text.h"

namespace graphnet {
namespace {

constexpr size_t kMaxInstallLogBytes = size_t{64} << 20;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string Quoted(absl::string_view word) {
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

absl::Status WriteFiles(const Backend& backend, const std::string& folder) {
  for (const WorkerFile& file : backend.files) {
    absl::string_view text = file.text();
    absl::ConsumePrefix(&text, "\n");
    RETURN_IF_ERROR(WriteFileAtomic(JoinPath(folder, file.name), text));
  }
  return absl::OkStatus();
}

// Returns the Python that runs the worker; empty if there is none.
std::string PythonOf(const Backend& backend, const WorkerHost& host) {
  std::string own = JoinPath(EnvironmentFolder(backend), "bin/python");
  if (FileExists(own)) return own;
  return backend.packages.empty() && backend.needs_torch ? PythonOfTorch(host.torch) : "";
}

// Runs commands one after the other with their output in `log`.
absl::Status RunAll(const std::vector<std::string>& commands, const std::string& log) {
  for (const std::string& command : commands) {
    const int code =
        std::system(absl::StrCat("(", command, ") >>", Quoted(log), " 2>&1 </dev/null").c_str());
    if (code == 0) continue;
    std::string last = "it said nothing";
    if (const auto text = ReadFile(log, kMaxInstallLogBytes); text.ok()) {
      for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipWhitespace())) {
        // pip's notices come last and are not errors.
        if (!absl::StartsWith(line, "[notice]")) last = std::string(line);
      }
    }
    return absl::FailedPreconditionError(Printable(last, 500));
  }
  return absl::OkStatus();
}

}  // namespace

std::string EnvironmentFolder(const Backend& backend) {
  std::string root = Variable("GRAPHNET_BACKENDS");
  if (root.empty()) root = JoinPath(Variable("HOME"), ".local/share/graphnet/backends");
  return JoinPath(std::filesystem::absolute(root).string(), backend.name);
}

std::string WorkerProgramFile(const Backend& backend) {
  return JoinPath(EnvironmentFolder(backend), absl::StrCat("bin/", backend.name, "_worker"));
}

std::string PythonOfTorch(const std::string& torch) {
  // The path is PREFIX/lib/python3.11/site-packages/torch, or dist-packages.
  const std::filesystem::path site = std::filesystem::path(torch).parent_path();
  const std::filesystem::path version = site.parent_path();
  if (!absl::EndsWith(site.filename().string(), "-packages")) return "";
  for (const std::string& prefix :
       {version.parent_path().parent_path().string(), std::string("/usr")}) {
    std::string python = absl::StrCat(prefix, "/bin/", version.filename().string());
    if (absl::StartsWith(version.filename().string(), "python3") && FileExists(python))
      return python;
  }
  return "";
}

// Returns the command that runs the tool itself as the worker of that name.
std::vector<std::string> OwnWorker(const WorkerHost& host, const std::string& name) {
  std::vector<std::string> command = {host.tool, "worker", name};
  command.insert(command.end(), host.tool_options.begin(), host.tool_options.end());
  return command;
}

// Returns the command of the near side of a worker that runs on another machine.
absl::StatusOr<std::vector<std::string>> WorkerElsewhere(const Backend& backend,
                                                         const WorkerHost& host,
                                                         const std::string& folder) {
  std::vector<std::string> words;
  switch (backend.kind) {
    case BackendKind::kTool: words = {"graphnet", "worker", std::string(backend.name)}; break;
    case BackendKind::kRewrite: words = {"graphnet", "worker", "nope"}; break;
    case BackendKind::kPython:
      words = {"{python}", absl::StrCat(backend.name, "_worker.py")};
      break;
    case BackendKind::kCommand:
      if (host.exec.empty()) return absl::FailedPreconditionError("needs --exec COMMAND");
      words = {"sh", "-c", absl::StrCat("exec ", host.exec)};
      break;
    case BackendKind::kProgram:
      return absl::FailedPreconditionError(
          "--on: its worker is a program that was compiled for this machine");
  }
  for (const auto& [name, text] : {std::pair("near.py", NearPy()), std::pair("far.py", FarPy())}) {
    absl::string_view script = text;
    absl::ConsumePrefix(&script, "\n");
    RETURN_IF_ERROR(WriteFileAtomic(JoinPath(folder, name), script));
  }
  const std::string python = PythonOfTorch(host.torch);
  std::vector<std::string> command = {
      python.empty() ? "python3" : python, JoinPath(folder, "near.py"), host.on,
      std::filesystem::current_path().string(), Json::List(words).Dump(-1)};
  for (const WorkerFile& file : backend.files) command.emplace_back(file.name);
  return command;
}

absl::StatusOr<std::vector<std::string>> WorkerCommand(const Backend& backend,
                                                       const WorkerHost& host,
                                                       const std::string& folder) {
  RETURN_IF_ERROR(WriteFiles(backend, folder));
  if (!host.on.empty()) return WorkerElsewhere(backend, host, folder);
  switch (backend.kind) {
    case BackendKind::kTool: return OwnWorker(host, std::string(backend.name));
    case BackendKind::kRewrite: return OwnWorker(host, "nope");
    case BackendKind::kCommand:
      if (host.exec.empty()) return absl::FailedPreconditionError("needs --exec COMMAND");
      return std::vector<std::string>{"/bin/sh", "-c", absl::StrCat("exec ", host.exec)};
    case BackendKind::kPython: {
      const std::string python = PythonOf(backend, host);
      if (python.empty()) break;
      return std::vector<std::string>{python,
                                      JoinPath(folder, absl::StrCat(backend.name, "_worker.py"))};
    }
    case BackendKind::kProgram: {
      const std::string program = WorkerProgramFile(backend);
      if (!FileExists(program)) break;
      return std::vector<std::string>{program};
    }
  }
  return absl::FailedPreconditionError(absl::StrCat("not installed: ", InstallLine(backend)));
}

std::string InstallLine(const Backend& backend) {
  switch (backend.kind) {
    case BackendKind::kTool:
    case BackendKind::kRewrite:
    case BackendKind::kCommand: return "";
    default: break;
  }
  return absl::StrCat("graphnet backends --install ", backend.name);
}

absl::Status Install(const Backend& backend, const WorkerHost& host) {
  if (InstallLine(backend).empty()) return absl::OkStatus();
  const std::string environment = EnvironmentFolder(backend);
  const std::string parent = std::filesystem::path(environment).parent_path();
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot create ", Printable(parent, 1000), ": ", error.message()));
  }
  // An environment contains its own path, so it is created where it stays. The previous one is kept
  // beside it until it is complete.
  const std::string before = absl::StrCat(environment, ".before");
  const std::string log = absl::StrCat(environment, ".log");
  std::filesystem::remove(log, error);
  if (!FileExists(before) && !IsFolder(before) && IsFolder(environment))
    std::filesystem::rename(environment, before, error);
  std::filesystem::remove_all(environment, error);

  const std::string of_torch = backend.needs_torch ? PythonOfTorch(host.torch) : "";
  std::vector<std::string> packages(backend.packages.begin(), backend.packages.end());
  if (backend.needs_torch && of_torch.empty()) packages.emplace_back("torch==2.13.0");
  std::vector<std::string> commands = {absl::StrCat(of_torch.empty() ? "python3" : Quoted(of_torch),
                                                    " -m venv ", Quoted(environment))};
  const std::string python = Quoted(JoinPath(environment, "bin/python"));
  const std::string find_site =
      absl::StrCat("SITE=$(", python, " -c 'import site; print(site.getsitepackages()[0])')");
  if (!of_torch.empty()) {
    // Use torch from where it is installed.
    commands.push_back(absl::StrCat(
        find_site, "; echo ", Quoted(std::filesystem::path(host.torch).parent_path().string()),
        " >\"$SITE/of_libtorch.pth\""));
  }
  if (!packages.empty()) {
    commands.push_back(
        absl::StrCat(python, " -m pip install --quiet --disable-pip-version-check ",
                     absl::StrJoin(packages, " ", [](std::string* out, const std::string& package) {
                       out->append(Quoted(package));
                     })));
  }
  if (!backend.compile.empty()) {
    const std::string sources = JoinPath(environment, "src");
    commands.push_back(absl::StrCat(
        "mkdir -p ", Quoted(sources), " && cp ", Quoted(absl::StrCat(environment, ".src")), "/* ",
        Quoted(sources), " && cd ", Quoted(sources), " && ", find_site,
        " && OUT=", Quoted(JoinPath(environment, absl::StrCat("bin/", backend.name, "_worker"))),
        " && ", backend.compile));
    const std::string beside = absl::StrCat(environment, ".src");
    std::filesystem::create_directories(beside, error);
    RETURN_IF_ERROR(WriteFiles(backend, beside));
  }
  const absl::Status status = RunAll(commands, log);
  std::filesystem::remove_all(absl::StrCat(environment, ".src"), error);
  if (!status.ok()) {
    std::filesystem::remove_all(environment, error);
    std::filesystem::rename(before, environment, error);
    return absl::FailedPreconditionError(absl::StrCat("backend ", backend.name,
                                                      " cannot be installed: ", status.message(),
                                                      " (", Printable(log, 1000), ")"));
  }
  std::filesystem::remove_all(before, error);
  return absl::OkStatus();
}

}  // namespace graphnet
