#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/command/command.h"
#include "graphnet/command/json.h"
#include "graphnet/passes/registry.h"

namespace graphnet {
namespace {

// The files of a plug-in with one pass. NAME stands for the name of the pass.
constexpr absl::string_view kSource =
    R"(// The pass NAME, a plug-in of graphnet. README.md says how to build and use it.
#include <cstddef>

#include "absl/status/statusor.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace {

// As an example, it turns every call of one function into a call of another one.
constexpr char kFrom[] = "aten.gelu.default";
constexpr char kTo[] = "aten.relu.default";

// Returns whether the module changed.
absl::StatusOr<bool> Run(graphnet::Module* module, graphnet::PassRun& run) {
  size_t count = 0;
  for (graphnet::Graph* graph : module->graphs()) {
    for (graphnet::Node* node : graph->nodes()) {
      if (!node->is_call() || node->target() != kFrom) continue;
      node->set_target(kTo);
      ++count;
    }
  }
  if (count > 0) run.Note("calls changed", count);
  return count > 0;
}

const graphnet::RegisteredPass kPass("NAME", /*header=*/"", Run);

}  // namespace

// graphnet calls it when it opens the plug-in. A text that is returned refuses the plug-in.
extern "C" const char* GraphnetPlugin(int version) {
  return version == graphnet::kFormatsVersion ? nullptr : "made for another graphnet";
}
)";

constexpr absl::string_view kMakefile =
    R"(# GRAPHNET is the folder of the unpacked tarball, by default that of the graphnet in PATH.
GRAPHNET ?= $(abspath $(dir $(realpath $(shell command -v graphnet)))..)

libNAME.so: NAME.cc
	$(CXX) -std=c++20 -O2 -shared -fPIC -I$(GRAPHNET)/include -I$(GRAPHNET)/abseil/include $< -o $@
)";

constexpr absl::string_view kReadme = R"(# NAME, a pass for graphnet

`make GRAPHNET=FOLDER` builds `libNAME.so`; FOLDER is graphnet's unpacked tarball. Then

    GRAPHNET_PLUGINS=./libNAME.so graphnet opt IN -p NAME -o OUT

runs it. graphnet's docs/library.md has the functions for graphs, docs/optimising.md those for passes.
)";

struct NewFlags {
  std::string kind;
  std::string name;
  std::string out;
};

// A name is one of options, files and a shell's words at once.
absl::Status CheckPassName(const std::string& name) {
  const bool is_plain = absl::c_all_of(
      name, [](char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-'; });
  if (!is_plain || name.empty() || !absl::ascii_islower(name.front()) || name.back() == '-') {
    return absl::InvalidArgumentError(absl::StrCat(
        Printable(name), ": a pass is called by lower-case words with - between them"));
  }
  if (FindPass(name) == nullptr) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat("there is a pass ", name, " already"));
}

absl::StatusOr<CommandResult> MakeNew(const NewFlags& flags) {
  RETURN_IF_ERROR(CheckPassName(flags.name));
  const std::string folder = flags.out.empty() ? flags.name : flags.out;
  const auto filled = [&](absl::string_view text) {
    return absl::StrReplaceAll(text, {{"NAME", flags.name}});
  };
  RETURN_IF_ERROR(
      WriteFolderAtomic(folder, /*replace=*/false, [&](const std::string& to) -> absl::Status {
        RETURN_IF_ERROR(WriteFileAtomic(JoinPath(to, flags.name + ".cc"), filled(kSource)));
        RETURN_IF_ERROR(WriteFileAtomic(JoinPath(to, "Makefile"), filled(kMakefile)));
        return WriteFileAtomic(JoinPath(to, "README.md"), filled(kReadme));
      }));
  Report report;
  report.Add("folder", folder);
  report.Say(absl::StrCat(folder, ": a plug-in with the pass ", flags.name,
                          "; its README.md says how to build it"));
  return report;
}

void DeclareNew(CommandLine& command) {
  auto flags = std::make_shared<NewFlags>();
  command.AddChoice("KIND", &flags->kind, {"pass"}, "What to make").Required();
  command.AddOption("NAME", &flags->name, "Name of the pass: lower-case words with - between them")
      .Required();
  command
      .AddOption("-o,--out", &flags->out, "Folder to write, which must not be there; default NAME")
      .TypeName("DIR");
  AddJsonOption(command, "folder");
  command.Run([flags] { return MakeNew(*flags); });
}

const RegisteredCommand kNew({.name = "new",
                              .help = "Write the start of a plug-in with a pass of your own",
                              .group = CommandGroup::kTool,
                              .declare = DeclareNew,
                              .examples = {"graphnet new pass gelu-to-relu -o mine"}});

}  // namespace
}  // namespace graphnet
