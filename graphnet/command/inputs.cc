#include "graphnet/command/inputs.h"

#include <filesystem>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/options.h"
#include "graphnet/formats/formats.h"

namespace graphnet {
namespace {

bool IsBelow(const std::filesystem::path& relative) {
  return !relative.is_absolute() && !relative.empty() && *relative.begin() != "..";
}

// Returns the path of a sample without the ending of a file, or the slash at the end of a folder.
std::filesystem::path PlainPath(absl::string_view path) {
  if (!IsFolder(std::string(path))) return WithoutEnding(path);
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return std::string(path);
}

absl::Status CheckGiven(const InputList& inputs) {
  if (!inputs.in.empty() || !inputs.list.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("give samples, folders of samples, or a --list of them");
}

}  // namespace

void AddInputList(CommandLine& command, InputList* inputs, bool last_is_out) {
  const std::string help = "Samples in any format, - for the standard input, or folders of samples";
  if (last_is_out) {
    command.AddOperands("IN", &inputs->in, "--out", "--list", help);
  } else {
    command.AddOption("IN", &inputs->in, help);
  }
  command
      .AddOption(
          "--list", &inputs->list,
          "Take only the samples of this file: paths below IN or, without IN, from the current "
          "folder, one a line; # begins a comment")
      .TypeName("FILE")
      .Group(kInputGroup);
}

absl::StatusOr<std::vector<NamedInput>> FindNamedInputs(const std::vector<std::string>& roots) {
  std::vector<NamedInput> inputs;
  if (absl::c_count(roots, "-") > 1)
    return absl::InvalidArgumentError("the standard input, -, is one sample and can be given once");
  for (const std::string& root : roots) {
    absl::StatusOr<std::vector<std::string>> paths = FindInputs({root});
    if (!paths.ok() && roots.size() == 1) return paths.status();
    const bool has_several = IsFolderOfSamples(root);
    for (const std::string& path : paths.ok() ? *paths : std::vector<std::string>{root}) {
      const std::filesystem::path plain = PlainPath(path);
      const std::string name =
          (has_several ? plain.lexically_relative(root) : plain.filename()).string();
      inputs.push_back({root, path, path == "-" ? "stdin" : name});
    }
  }
  return inputs;
}

absl::StatusOr<std::vector<NamedInput>> FindNamedInputs(const InputList& inputs) {
  RETURN_IF_ERROR(CheckGiven(inputs));
  if (inputs.list.empty()) return FindNamedInputs(inputs.in);
  if (inputs.in.size() > 1)
    return absl::InvalidArgumentError("--list: its paths are below one IN, and several are given");
  ASSIGN_OR_RETURN(const std::vector<ListedPath> listed, ReadPathList(inputs.list));
  const std::string root = inputs.in.empty() ? "." : inputs.in[0];
  absl::flat_hash_map<std::string, int> lines;
  std::vector<NamedInput> found;
  for (const auto& [text, line] : listed) {
    const std::filesystem::path path = std::filesystem::path(text).lexically_normal();
    const auto refuse = [&, line = line](absl::string_view why) {
      return ErrorAt(inputs.list, static_cast<size_t>(line), 1,
                     absl::StrCat(Printable(path.string(), 1000), " ", why));
    };
    if (!inputs.in.empty() && !IsBelow(path)) return refuse("is not a path below IN");
    const auto [it, is_new] = lines.emplace(path.string(), line);
    if (!is_new) return refuse(absl::StrCat("is in line ", it->second, ", too"));
    const std::string full = inputs.in.empty() ? path.string() : JoinPath(root, path.string());
    // A path that does not exist is returned, too. It fails later, like any sample that cannot be read.
    absl::StatusOr<std::vector<std::string>> below = FindInputs({full});
    for (std::string& one : below.ok() ? *below : std::vector<std::string>{full}) {
      const std::filesystem::path plain = PlainPath(one);
      const std::filesystem::path relative =
          inputs.in.empty() ? plain : plain.lexically_relative(root);
      std::string name = (IsBelow(relative) ? relative : plain.filename()).string();
      found.push_back({root, std::move(one), std::move(name)});
    }
  }
  if (found.empty())
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(inputs.list, 1000), ": names no sample"));
  return found;
}

bool IsOneSample(const InputList& inputs) {
  return inputs.list.empty() && inputs.in.size() == 1 && !IsFolderOfSamples(inputs.in[0]);
}

absl::StatusOr<std::vector<ListedPath>> ReadPathList(const std::string& file) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kMaxTextFileBytes));
  std::vector<ListedPath> paths;
  int line = 0;
  for (absl::string_view row : absl::StrSplit(text, '\n')) {
    ++line;
    row = absl::StripAsciiWhitespace(row.substr(0, row.find('#')));
    if (!row.empty()) paths.push_back({std::string(row), line});
  }
  return paths;
}

std::string CauseOf(absl::string_view path, absl::string_view message) {
  for (size_t end = message.find(": "); end != absl::string_view::npos; end = message.find(": ")) {
    const absl::string_view head = message.substr(0, end);
    const bool is_place = absl::StrContains(head, '/') || head == path ||
                          (!head.empty() && absl::ascii_isdigit(head.back()));
    if (!is_place) break;
    message.remove_prefix(end + 2);
  }
  // The name of a node stands behind its operator: "torch.cat (node cat_8): …".
  std::string cause(message);
  const size_t end = cause.find("): ");
  const size_t name = end == std::string::npos ? end : cause.rfind(" (node ", end);
  if (name != std::string::npos) cause.erase(name, end + 1 - name);
  return cause;
}

}  // namespace graphnet
