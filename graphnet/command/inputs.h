// The samples that a command works on, each with the name under which its results are written.
//
//   AddInputList(command, &options->inputs);
//   ASSIGN_OR_RETURN(const std::vector<NamedInput> inputs, FindNamedInputs(options->inputs));
#ifndef GRAPHNET_COMMAND_INPUTS_H_
#define GRAPHNET_COMMAND_INPUTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/command/command_line.h"

namespace graphnet {

// The inputs that the command line names.
struct InputList {
  std::vector<std::string> in;  // samples and folders of samples
  std::string list;             // a file of paths; empty if there is none
};

// One sample.
struct NamedInput {
  std::string root;  // as it was given
  std::string path;  // at or below the root
  std::string name;  // the path below the root without its ending; that of a root is its own name
};

// Adds IN, which may be left out if --list is given, and --list. If `last_is_out`, the command adds
// --out, which the last IN may name, too.
void AddInputList(CommandLine& command, InputList* inputs, bool last_is_out = false);

// Returns all samples at or below what was given, in that order. What cannot be used is an error if
// it is all that was given; otherwise it is returned as a sample that cannot be loaded.
absl::StatusOr<std::vector<NamedInput>> FindNamedInputs(const std::vector<std::string>& roots);
// Does the same for what AddInputList has read. The paths of a list are below IN, if there is one, and
// name samples or folders of them. InvalidArgument if neither IN nor a list is given, if a list has
// several INs or names nothing, or if a line is not a path below IN or is there twice.
absl::StatusOr<std::vector<NamedInput>> FindNamedInputs(const InputList& inputs);

// Returns whether it names one sample by its path, not a folder of samples or a list.
bool IsOneSample(const InputList& inputs);

// A path of a list, and the line that it stands in, from 1.
struct ListedPath {
  std::string path;
  int line = 0;
};
// Reads a file of paths, one a line. What follows a # is a comment.
absl::StatusOr<std::vector<ListedPath>> ReadPathList(const std::string& file);

// Returns the part of a message behind its places and names, so that equal faults of many samples
// can be counted together: "cannot be read" for "a/b.pb: cannot be read", "torch.cat: has no size" for
// "model.py:7:1: torch.cat (node cat_1): has no size".
std::string CauseOf(absl::string_view path, absl::string_view message);

}  // namespace graphnet

#endif  // GRAPHNET_COMMAND_INPUTS_H_
