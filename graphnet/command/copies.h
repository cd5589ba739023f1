// Copies samples from place to place as they are: their files, byte for byte.
#ifndef GRAPHNET_COMMAND_COPIES_H_
#define GRAPHNET_COMMAND_COPIES_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/command/inputs.h"

namespace graphnet {

// Returns the path of a file that belongs to a sample: "resnet18/a.json" for a folder, and
// "resnet18.a.json" for the file resnet18.pb.
std::string PathBeside(const std::string& sample, absl::string_view file);

// Returns the path of the copy of a sample in a folder. It has the name and the ending of the sample.
// A graph of a corpus and a program of an archive with several become protobuf files.
std::string CopyPath(const NamedInput& input, const std::string& folder);

// Copies a sample to CopyPath: a folder with all that is in it but links and __pycache__; a file with
// its weights and its subgraph_sources.json. Whatever is at the place is an AlreadyExists. What stands
// in `beside`, unless it is empty, is the text of PathBeside(copy, beside_name) then. The copy
// appears whole.
absl::Status CopySample(const NamedInput& input, const std::string& folder,
                        const std::string& beside_name, const std::string& beside, bool trust);

// Makes `folder` of copies, whole or not at all, on `jobs` threads (0: one per CPU). If the folder is
// there already, and `adds` is true, each copy is added by itself, and what a killed run left out is
// added by the next. AlreadyExists if it is there and not empty, or if a copy has the path of another
// sample; InvalidArgument if two copies would have one path: nothing is written then. An error of a
// single copy, such as a full disk, is returned when all others have ended.
struct SampleCopy {
  NamedInput input;
  std::string beside = "";  // as in CopySample
};
absl::Status CopySamples(const std::vector<SampleCopy>& copies, const std::string& folder,
                         bool adds, const std::string& beside_name, bool trust, int jobs);

// Removes the files of a sample that CopySample would copy. `keeps_weights` leaves those beside a
// file, which another file may use, too. FailedPrecondition, and nothing is removed, if a folder has
// files that are no part of a sample, or if the sample is no file or folder.
absl::Status RemoveSample(const std::string& path, const std::string& beside_name,
                          bool keeps_weights);

}  // namespace graphnet

#endif  // GRAPHNET_COMMAND_COPIES_H_
