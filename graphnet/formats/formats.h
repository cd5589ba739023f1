// Opens and saves samples of every format.
//
//   ASSIGN_OR_RETURN(graphnet::Sample sample, graphnet::Load("model.pt2"));
//   RETURN_IF_ERROR(graphnet::Save(sample, "model.pb"));
//
// A file is recognised by its content, never by its name; what is written is named by the ending.
// A format is a row of a registry, to which a program adds its own (RegisterFormat).
#ifndef GRAPHNET_FORMATS_FORMATS_H_
#define GRAPHNET_FORMATS_FORMATS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/file.h"
#include "graphnet/base/tier.h"
#include "graphnet/formats/source.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Raised when a row, or what its functions are given, changes its meaning.
inline constexpr int kFormatsVersion = 1;

struct LoadOptions {
  // Lets a TorchScript archive in without a check (formats/torchscript/gate.h).
  bool trust = false;
  // Whether real values of attributes are loaded too.
  bool weights = false;
  // Real values where there are any, for those who write a form without them and say so.
  bool values_if_there = false;
  // Whether attributes and inputs of which nothing is said are described by their values, for who
  // writes a form that cannot hold those.
  bool statistics = false;
};

struct SaveOptions {
  // Which one, by its name; empty: as the ending of the path says (FormatOfPath).
  std::string format;
  // In a protobuf, not beside it.
  bool embeds_weights = false;
  // Remarks on what was written, where somebody asks for them.
  std::vector<std::string>* notes = nullptr;
};

// The things that a form has no place for.
struct Lacks {
  bool weights = false;
  bool metas = false;        // of values within
  bool input_metas = false;  // of inputs
  bool module_paths = false;
  bool annotations = false;
  bool draw_specs_of_bodies = false;
  bool draw_specs = false;  // of the graph itself and of attributes
};

struct Format {
  std::string name;     // "protobuf": what SaveOptions, and --to of the tool, call it
  std::string title;    // "protobuf": behind "*.pb" in a list of formats
  std::string content;  // "a graphnet protobuf": what a file of it is called
  // ".gn", ".txt": the first one is given to new files. Empty for a folder.
  std::vector<std::string> endings;
  bool is_folder = false;
  bool is_binary = false;  // not for a terminal
  bool verifies = false;   // what it reads verifies; otherwise Load looks
  bool keeps_weights = false;
  Tier tier = Tier::kSupported;
  Lacks lacks;

  // Whether a source is of this format. Null if it is never read.
  std::function<bool(Source& source)> sniff;
  // Reads it. An error begins with "LINE:COLUMN: " where there is such a place; Load puts the name
  // of the file before it.
  std::function<absl::StatusOr<Sample>(Source& source, const LoadOptions& options)> read;
  // The programs of a file that may hold several. Null: it holds one.
  std::function<absl::StatusOr<std::vector<std::string>>(Source& source)> parts;

  // Passes what is written to `sink`, part by part. Null: it cannot be one stream of bytes.
  std::function<absl::Status(const Sample& sample, const SaveOptions& options,
                             const ByteSink& sink)>
      write;
  // Writes to a path, where that is more than one file of those bytes. Null: it is not.
  std::function<absl::Status(const Sample& sample, const std::string& path,
                             const SaveOptions& options)>
      write_to;
  // Whether it can be written here, before there is anything to write. Null: always.
  std::function<absl::Status()> check_writer;

  bool can_be_written() const { return write != nullptr || write_to != nullptr; }
};

// Adds a format. It is asked about a file before those that are there already, so that one which
// knows more of an archive may take it. AlreadyExists for a name or an ending that is taken,
// InvalidArgument for a row without a name, or that neither reads nor writes.
absl::Status RegisterFormat(Format format);

// All of them, those that were registered first. They live for good.
std::vector<const Format*> Formats();
// By its name; null if there is none.
const Format* FindFormat(absl::string_view name);
// The format that is written to a path by its ending; null if no format has it.
const Format* FormatOfPath(absl::string_view path);

// "dir/resnet18" of "dir/resnet18.pb": the path without the last ending of a format that is read,
// and without slashes at its end.
std::string WithoutEnding(absl::string_view path);

// The format of what is at `path`. The error says what it is else, and is unusable.
absl::StatusOr<const Format*> Recognise(const std::string& path);

// Returns the name of the format that a file was recognised as before Load or LoadBytes failed;
// empty if none was recognised. A program can also branch on the place of an error (PlaceOf in
// base/status.h), on IsUnusable, and on its code: InvalidArgument says that a program is damaged or
// contradicts itself, ResourceExhausted that it is larger than a limit, Unimplemented that graphnet
// does not support it, NotFound that a file is not there.
std::string FormatOfError(const absl::Status& status);
// Whether an error says that there is no input: nothing is at its path, or something that holds
// no program.
bool IsUnusable(const absl::Status& status);

// The verified sample at `path`, a file or a folder; "m.pt2#encoder" is the program encoder of an
// archive of torch.export that holds several, and "-" the standard input, which is read once.
absl::StatusOr<Sample> Load(const std::string& path, const LoadOptions& options = {});
// From bytes in memory, which must outlive the sample's weights. `name` is what errors call them.
absl::StatusOr<Sample> LoadBytes(absl::string_view bytes, const std::string& name,
                                 const LoadOptions& options = {});

// Writes a sample, whole or not at all; to "-", the standard output, as text if the options say
// nothing else. A path without an ending of any format becomes a GraphNet folder.
absl::Status Save(const Sample& sample, const std::string& path, const SaveOptions& options = {});

// All inputs under `paths`, sorted within each: a path that is an input itself, "-"
// too, or, in a folder of samples, every sample folder (not looked into further), every link to
// one, and every file of a known format. Of an archive with several programs each is one.
// A path that cannot be used is an error if it is the only one. Beside others it is an input,
// which cannot be loaded, as is a folder below that cannot be listed.
absl::StatusOr<std::vector<std::string>> FindInputs(const std::vector<std::string>& paths);
// Whether it is a folder, but not a sample itself.
bool IsFolderOfSamples(const std::string& path);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_FORMATS_H_
