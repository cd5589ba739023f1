#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "graphnet/base/file.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/command/command.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/progress.h"
#include "graphnet/evaluate/backend_options.h"
#include "graphnet/evaluate/backend_process.h"
#include "graphnet/evaluate/backend_table.h"
#include "graphnet/evaluate/bench_workers.h"
#include "graphnet/evaluate/environment.h"
#include "graphnet/evaluate/remote_cache.h"
#include "graphnet/evaluate/scratch_folder.h"
#include "graphnet/run/worker_host.h"

namespace graphnet {
namespace {

constexpr absl::Duration kTimeToSayHello = absl::Seconds(120);

struct BackendsFlags {
  std::vector<std::string> names;
  std::vector<std::string> install;
  std::string index_cache;  // folder of a cache; empty: none
};

// Starts a worker and returns how it describes itself.
absl::StatusOr<WorkerGreeting> SayHello(const Backend& backend, const WorkerHost& host) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ScratchFolder> folder, ScratchFolder::Make());
  BackendProcess process(&backend, host, {.time = kTimeToSayHello},
                         JoinPath(folder->path(), "worker"));
  ASSIGN_OR_RETURN(Worker * worker, process.worker());
  return worker->greeting();
}

absl::StatusOr<CommandResult> InstallAll(const BackendsFlags& options) {
  const WorkerHost host = HostOfTool();
  std::vector<const Backend*> backends;
  for (const std::string& name : options.install) {
    RETURN_IF_ERROR(BackendOfText(name).status());
    backends.push_back(FindBackend(name.substr(0, name.find('{'))));
  }
  int code = 0;
  std::string aside;
  Table list = {{"name"}, {"installed"}, {"seconds"}, {"version"}, {"error"}};
  Report report;
  for (const Backend* backend : backends) {
    const auto begin = std::chrono::steady_clock::now();
    Progress progress(absl::StrCat("installing ", backend->name));
    const absl::Status installed = Install(*backend, host);
    const absl::StatusOr<WorkerGreeting> greeting =
        installed.ok() ? SayHello(*backend, host) : absl::StatusOr<WorkerGreeting>(installed);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    progress.End();
    list.Add({backend->name, greeting.ok(), seconds,
              greeting.ok() ? Cell(greeting->version) : Cell(),
              greeting.ok() ? Cell() : Cell(greeting.status().message())});
    if (greeting.ok()) {
      report.Say(absl::StrFormat("%s %s, in %.0f s", backend->name, greeting->version, seconds));
    } else {
      code = 1;
      aside += ErrorLine(greeting.status().message());
    }
  }
  report.Add("backends", std::move(list));
  return CommandResult(std::move(report), code, std::move(aside));
}

absl::StatusOr<CommandResult> List() {
  const WorkerHost host = HostOfTool();
  const absl::Span<const Backend> backends = Backends();
  std::vector<absl::StatusOr<WorkerGreeting>> greetings(backends.size(),
                                                        absl::UnavailableError(""));
  {
    // Most of the time goes into Python's imports.
    const Progress progress("asking the backends");
    ParallelFor(
        backends.size(), static_cast<int>(backends.size()),
        [&](size_t i) {
          if (backends[i].kind != BackendKind::kCommand) greetings[i] = SayHello(backends[i], host);
          return absl::OkStatus();
        },
        [](size_t, const absl::Status&) {});
  }
  Table list = {{"name", "backend"},
                {"version", "version"},
                {"reads", "reads"},
                {"tier", "tier"},
                {"description", "what it is"},
                {"found"},
                {"devices"},
                {"error"},
                {"install"}};
  for (size_t i = 0; i < backends.size(); ++i) {
    const Backend& backend = backends[i];
    const absl::StatusOr<WorkerGreeting>& greeting = greetings[i];
    const bool is_users = backend.kind == BackendKind::kCommand;
    // A backend that is installed but does not work has to be fixed, not installed.
    const std::string why_not =
        greeting.ok() || is_users ? "" : std::string(greeting.status().message());
    list.Add({backend.name,
              greeting.ok() ? Cell(greeting->version) : Cell().As(is_users ? "" : "not found"),
              FormName(backend.reads), TierName(backend.tier),
              Cell(backend.description)
                  .As(absl::StrCat(backend.description, why_not.empty() ? "" : "; ", why_not)),
              greeting.ok(), greeting.ok() ? Cell(Json::List(greeting->devices)) : Cell(),
              why_not.empty() ? Cell() : Cell(why_not),
              why_not.empty() ? Cell() : Cell(InstallLine(backend))});
  }
  Report report;
  report.Add("backends", std::move(list));
  return report;
}

// Lists the options of backends.
absl::StatusOr<CommandResult> ListOptions(const std::vector<std::string>& names) {
  std::vector<Report> reports;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const Backend backend, BackendOfText(name));
    Table options = {{"name", "option"}, {"values", "values"}, {"description", "what it is"}};
    for (const BackendOption& option : backend.options)
      options.Add({option.name, ValuesText(option), option.description});
    Report& report = reports.emplace_back();
    report.Add("name", backend.name);
    report.Say(absl::StrCat(backend.name, ": ", backend.description));
    if (backend.options.empty()) report.Say("it has no options");
    report.Add("options", std::move(options));
  }
  Report report;
  report.Add("backends", std::move(reports));
  return report;
}

absl::StatusOr<CommandResult> IndexCache(const BackendsFlags& options) {
  ASSIGN_OR_RETURN(const std::string digest, WriteCacheIndex(options.index_cache));
  Report report;
  report.Add("sha256", digest);
  report.Say(digest);
  return report;
}

void DeclareBackends(CommandLine& command) {
  auto options = std::make_shared<BackendsFlags>();
  command.AddOption("NAME", &options->names, "Backends whose options are listed");
  command
      .AddOption("--install", &options->install,
                 "Install these with pip, each in an environment of its own below "
                 "$GRAPHNET_BACKENDS or ~/.local/share/graphnet/backends")
      .Delimiter(',')
      .TypeName("BACKENDS");
  command
      .AddOption("--index-cache", &options->index_cache,
                 "Write index.json for the cache in DIR, so that a web server can offer it, and "
                 "print the SHA-256 that run --trust-cache takes")
      .TypeName("DIR")
      .Excludes("--install", "NAME");
  AddJsonOption(command,
                "backends with name, reads, tier, found, version or install, or with name and "
                "options; sha256 of the index");
  command.Run([options]() -> absl::StatusOr<CommandResult> {
    if (!options->index_cache.empty()) return IndexCache(*options);
    if (!options->names.empty()) return ListOptions(options->names);
    return options->install.empty() ? List() : InstallAll(*options);
  });
}

const RegisteredCommand kBackends({.name = "backends",
                                   .help = "List the compilers that bench can run, or install some",
                                   .group = CommandGroup::kJudge,
                                   .declare = DeclareBackends,
                                   .examples = {"graphnet backends",
                                                "graphnet backends inductor"}});

}  // namespace
}  // namespace graphnet
