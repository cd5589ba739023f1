// Opens and saves samples of every format.
//
//   ASSIGN_OR_RETURN(graphnet::Sample sample, graphnet::Load("model.pt2"));
//   RETURN_IF_ERROR(graphnet::Save(sample, "model.pb"));
//
// A file that is read is recognised by its content, never by its name. The ending of a path chooses
// the format that is written. A program can add formats of its own with RegisterFormat.
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
#include "graphnet/formats/missing_values.h"
#include "graphnet/formats/source.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Version of struct Format. It is raised when the meaning of a field changes.
inline constexpr int kFormatsVersion = 1;

// Options of Load and LoadBytes.
struct LoadOptions {
  // Loads a TorchScript archive without checking it (formats/torchscript/archive_check.h).
  bool trust = false;
  // Loads the values of attributes too. NotFound if the file that should hold them is not there.
  bool weights = false;
  // Loads the values of attributes if they can be found, and does without them otherwise.
  bool values_if_there = false;
  // The values that an archive may lack if `weights` is set.
  MissingValues missing = MissingValues::kRefused;
  // Gives attributes and inputs that have no draw spec one that describes their values, so that the
  // sample can be saved in a format that cannot hold the values themselves.
  bool statistics = false;
};

// Options of Save.
struct SaveOptions {
  // Name of the format. If it is empty, the ending of the path decides (FormatOfPath).
  std::string format;
  // Stores the weights inside a protobuf, not in a file beside it.
  bool embeds_weights = false;
  // Receives remarks on the file, unless it is null. The caller owns it.
  std::vector<std::string>* notes = nullptr;
};

// The things that a format cannot store.
struct Lacks {
  bool weights = false;               // values of attributes
  bool metas = false;                 // metas of values that are not inputs
  bool input_metas = false;           // metas of inputs
  bool module_paths = false;          // module paths of nodes
  bool annotations = false;           // annotations of nodes
  bool draw_specs_of_bodies = false;  // draw specs of the inputs of bodies
  bool draw_specs = false;            // draw specs of the main graph's inputs and of attributes
};

// A format of files or folders that hold samples: a row of the registry.
struct Format {
  std::string name;     // name in SaveOptions::format and in the tool's --to: "protobuf"
  std::string title;    // words after "*.pb" in a list of formats: "protobuf"
  std::string content;  // noun for a file of this format: "a graphnet protobuf"
  // Endings of its files, such as ".gn" and ".txt". New files get the first. Empty for a folder.
  std::vector<std::string> endings;
  bool is_folder = false;        // True if a sample of this format is a folder.
  bool is_binary = false;        // True if it must not be printed on a terminal.
  bool verifies = false;         // True if `read` verifies the module; if not, Load does.
  bool keeps_weights = false;    // True if it can store weights, inside or in a file beside.
  Tier tier = Tier::kSupported;  // How far the format can be relied on.
  Lacks lacks;                   // The things that it cannot store.

  // Returns whether a source is of this format. Null if the format is only written.
  std::function<bool(Source& source)> sniff;
  // Reads a source. An error may begin with "LINE:COLUMN: "; Load puts the name of the file before
  // it. Null if the format is only written.
  std::function<absl::StatusOr<Sample>(Source& source, const LoadOptions& options)> read;
  // Returns the names of the programs in a source. Null if a file always holds one program.
  std::function<absl::StatusOr<std::vector<std::string>>(Source& source)> parts;

  // Passes the bytes of a file to `sink`, part by part. Null if a sample is not a stream of bytes.
  std::function<absl::Status(const Sample& sample, const SaveOptions& options,
                             const ByteSink& sink)>
      write;
  // Writes to a path. Null if that means one file with the bytes of `write`.
  std::function<absl::Status(const Sample& sample, const std::string& path,
                             const SaveOptions& options)>
      write_to;
  // Returns an error if this machine cannot write the format at all. Null if it always can.
  std::function<absl::Status()> check_writer;

  // Returns whether Save supports the format.
  bool can_be_written() const { return write != nullptr || write_to != nullptr; }
};

// Adds a format. Load asks the added formats about a file in the order in which they were added,
// and graphnet's own after them, so an added format may claim an archive that it knows better.
// AlreadyExists if another format has its name or one of its endings. InvalidArgument if it has no
// name, only one of `sniff` and `read`, or can neither be read nor written. Thread-safe.
absl::Status RegisterFormat(Format format);

// Returns all formats: the added ones in order, then graphnet's own. They are never destroyed.
std::vector<const Format*> Formats();
// Returns the format of that name; null if there is none.
const Format* FindFormat(absl::string_view name);
// Returns the format that Save chooses by the path's ending; null if no writable format has it.
const Format* FormatOfPath(absl::string_view path);

// Returns the path without slashes at its end and without the ending of a format that can be read:
// "dir/resnet18" for "dir/resnet18.pb".
std::string WithoutEnding(absl::string_view path);

// Returns the format of the file or folder at `path`. If it has none, the error says what is there
// instead, and IsUnusable is true of the error.
absl::StatusOr<const Format*> Recognise(const std::string& path);

// Returns the name of the format that a file was recognised as before Load or LoadBytes failed;
// empty if none was recognised. A program can also branch on the place of an error (PlaceOf in
// base/status.h), on IsUnusable, and on its code: InvalidArgument says that a program is damaged or
// contradicts itself, ResourceExhausted that it is larger than a limit, Unimplemented that graphnet
// does not support it, NotFound that a file is not there.
std::string FormatOfError(const absl::Status& status);
// Returns whether an error of Load, Recognise or FindInputs says that there is no input: the path
// leads to nothing, or to something that holds no program.
bool IsUnusable(const absl::Status& status);

// Returns the verified sample in the file or folder at `path`. "m.pt2#encoder" names the program
// encoder in an archive of torch.export that holds several. "-" is the standard input, which can be
// read only once. "c/NAME-HASH" is a graph of the corpus c, and "c#v1/NAME-HASH" one of its tag v1
// (formats/corpus/corpus_reader.h). FormatOfError lists the errors.
absl::StatusOr<Sample> Load(const std::string& path, const LoadOptions& options = {});
// Passes remarks on inputs that are read, "FILE: what is left out", to `receiver`, until another one
// is given; null drops them, as at first. Several threads may call it at the same time.
void ReceiveInputNotes(void (*receiver)(absl::string_view note));
// Passes a remark on an input to the receiver. For readers of formats.
void NoteOnInput(absl::string_view input, absl::string_view note);
// Like Load, but reads bytes in memory, which must outlive the sample's weights. Errors call the
// input `name`.
absl::StatusOr<Sample> LoadBytes(absl::string_view bytes, const std::string& name,
                                 const LoadOptions& options = {});

// Writes a sample to a file or folder, whole or not at all. The format is that of the options, else
// that of the path's ending, else a GraphNet folder. "-" is the standard output, which gets text
// unless the options name a format. InvalidArgument if there is no format of that name, or if it
// cannot go to the standard output; Unimplemented if it is only read.
absl::Status Save(const Sample& sample, const std::string& path, const SaveOptions& options = {});

// Returns every input under `paths`, sorted within each path. A path may be an input itself, or
// "-". In any other folder, inputs are the sample folders at any depth, links to those, and the
// files of known formats. An archive with several programs gives one input for each, and a corpus,
// its tag "c#v1" and its view "c#view=small" one for each graph. Names that begin with a dot,
// what a killed program left unfinished ("a.pb.12.0.tmp"), and other links to folders are skipped.
// If a path cannot be used, that is an error if it is the only one; otherwise it is returned as an
// input that cannot be loaded. A folder below a path is returned so if it cannot be listed.
absl::StatusOr<std::vector<std::string>> FindInputs(const std::vector<std::string>& paths);
// Returns whether `path` is a folder that is not itself a sample, a corpus, or a tag or view of one.
bool IsFolderOfSamples(const std::string& path);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_FORMATS_H_
