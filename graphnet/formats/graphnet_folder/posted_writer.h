// Writes a module as torch.fx prints it for readers: a class with the method forward, bodies as classes
// in it, and attributes of self (posted_parser.h reads it).
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_POSTED_WRITER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_POSTED_WRITER_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// What stands beside the calls.
struct PostedComments {
  // Returns what follows the name of a value: `: "f32[2]"`, or nothing.
  std::function<std::string(const Node& node)> annotation;
  // Returns the name of a file as a comment can have it.
  std::function<std::string(absl::string_view file)> file;
};

// Returns the text. Unimplemented for symbolic integers as arguments, and for bodies that too many
// others share.
absl::StatusOr<std::string> WritePostedModule(const Module& module, const PostedComments& comments);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_POSTED_WRITER_H_
