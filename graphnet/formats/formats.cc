#include "graphnet/formats/formats.h"

#include <atomic>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/core_formats.h"
#include "graphnet/formats/corpus/corpus_reader.h"
#include "graphnet/formats/find_values.h"
#include "graphnet/formats/foreign.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/interp/inputs/weights.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

// --- The registry ------------------------------------------------------------------

class Registry {
 public:
  static Registry& Get() {
    static Registry* const registry = new Registry;
    return *registry;
  }

  absl::Status Register(Format format) {
    if (format.name.empty() || (format.sniff == nullptr) != (format.read == nullptr) ||
        (format.read == nullptr && !format.can_be_written())) {
      return absl::InvalidArgumentError(
          "a format needs a name, both or neither of sniff and read, and a reader or a writer");
    }
    const absl::MutexLock lock(&mutex_);
    for (const Format* other : ordered_) {
      if (other->name == format.name)
        return absl::AlreadyExistsError(absl::StrCat("there is already a format ", format.name));
      for (const std::string& ending : format.endings) {
        if (!absl::c_linear_search(other->endings, ending)) continue;
        return absl::AlreadyExistsError(
            absl::StrCat("format ", format.name, ": ending ", ending, " belongs to ", other->name));
      }
    }
    formats_.push_back(std::move(format));
    ordered_.insert(ordered_.begin() + static_cast<ptrdiff_t>(num_registered_++), &formats_.back());
    return absl::OkStatus();
  }

  // Returns the added formats, then graphnet's own.
  std::vector<const Format*> All() {
    const absl::MutexLock lock(&mutex_);
    return ordered_;
  }
  // Like All, with the number of added formats at the same moment.
  std::pair<std::vector<const Format*>, size_t> AllAndAdded() {
    const absl::MutexLock lock(&mutex_);
    return {ordered_, num_registered_};
  }

 private:
  Registry() {
    for (Format& format : CoreFormats()) {
      formats_.push_back(std::move(format));
      ordered_.push_back(&formats_.back());
    }
  }

  absl::Mutex mutex_;
  std::deque<Format> formats_ ABSL_GUARDED_BY(mutex_);
  std::vector<const Format*> ordered_ ABSL_GUARDED_BY(mutex_);
  size_t num_registered_ ABSL_GUARDED_BY(mutex_) = 0;
};

// --- Recognising -------------------------------------------------------------------

// Keys of payloads of errors: the name of the format, and a mark that the input cannot be used.
constexpr char kFormat[] = "graphnet/format";
constexpr char kUnusable[] = "graphnet/unusable";

absl::Status Unusable(absl::Status status) {
  if (!status.ok()) status.SetPayload(kUnusable, absl::Cord());
  return status;
}

absl::Status Foreign(const std::string& name, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(Printable(name, 1000), ": ", what));
}

// Returns null if the source is of no format. An error means that the source cannot be read, or is
// an archive that holds no program.
absl::StatusOr<const Format*> FormatOf(Source& source) {
  RETURN_IF_ERROR(source.head().status());
  const auto [formats, registered] = Registry::Get().AllAndAdded();
  const auto is_it = [&](const Format* format) {
    return format->sniff != nullptr && format->sniff(source) &&
           (source.part().empty() || format->parts != nullptr);
  };
  for (size_t i = 0; i < formats.size(); ++i) {
    // An added format may claim any archive, so only then look for foreign ones.
    if (i == registered && source.is_zip()) {
      ASSIGN_OR_RETURN(const SharedBytes bytes, source.archive());
      if (const std::string known = DescribeForeignArchive(*bytes); !known.empty())
        return Foreign(source.name(), known);
    }
    if (is_it(formats[i])) return formats[i];
  }
  return nullptr;
}

constexpr char kFolderOfSamples[] =
    "a folder of samples, not a sample; stats, check, lint, find, hash, run, convert, opt, "
    "decompose, validate and bench take folders";

// Returns the error for a folder that is not a sample.
absl::Status DescribeFolder(const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(path));
  // Look only one level down, since this may be the root of a disk.
  const bool has_samples = absl::c_any_of(names, [&](const std::string& name) {
    Source below = Source::OfPath(JoinPath(path, name), /*is_named=*/false);
    const absl::StatusOr<const Format*> format = FormatOf(below);
    return format.ok() && *format != nullptr;
  });
  if (has_samples) return Foreign(path, kFolderOfSamples);
  if (const std::string known = DescribeForeignFolder(names); !known.empty())
    return Foreign(path, known);
  return Foreign(path, "not a sample: the folder has no graph_net.json");
}

// Returns "neither A, B nor C", the formats that can be read.
std::string NoneOfAll() {
  std::vector<std::string> contents;
  auto [formats, added] = Registry::Get().AllAndAdded();
  absl::c_rotate(formats, formats.begin() + static_cast<ptrdiff_t>(added));
  for (const Format* format : formats) {
    // A graph of a corpus is no file.
    if (format->read != nullptr && (!format->is_folder || format->can_be_written()))
      contents.push_back(format->content);
  }
  const std::string last = std::move(contents.back());
  contents.pop_back();
  return absl::StrCat("neither ", absl::StrJoin(contents, ", "), " nor ", last);
}

// Adds the graphs of a corpus, or of one of its tags or views, as if they were files in a folder.
absl::Status FindInCorpus(const Source& corpus, std::vector<std::string>* inputs) {
  const auto graphs = ListCorpus(corpus.path(), corpus.part());
  RETURN_IF_ERROR(Annotate(graphs.status(), Printable(corpus.name(), 1000)));
  for (const std::string& graph : *graphs) inputs->push_back(JoinPath(corpus.name(), graph));
  return absl::OkStatus();
}

absl::StatusOr<const Format*> RecogniseSource(Source& source) {
  absl::StatusOr<const Format*> format = FormatOf(source);
  if (!format.ok()) return Unusable(format.status());
  if (*format != nullptr) return format;
  if (source.is_corpus()) {
    // One that cannot be listed stands for its graphs (FindInputs).
    std::vector<std::string> graphs;
    RETURN_IF_ERROR(Unusable(FindInCorpus(source, &graphs)));
    return Unusable(Foreign(source.name(), kFolderOfSamples));
  }
  if (source.is_folder()) return Unusable(DescribeFolder(source.path()));
  if (!source.part().empty()) {
    return Unusable(absl::NotFoundError(
        absl::StrCat(Printable(source.name(), 1000), ": no such file or folder")));
  }
  const std::string known = DescribeForeignFile(*source.head());
  return Unusable(Foreign(source.name(), known.empty() ? NoneOfAll() : known));
}

// --- Loading -----------------------------------------------------------------------

// Puts the name of the file before an error's message, unless the message contains it.
absl::Status Named(const absl::Status& status, const std::string& name) {
  absl::string_view said = status.message();
  if (absl::StrContains(said, name)) return status;
  // The message may begin with "LINE:COLUMN: " or "LINE: ".
  ErrorPlace place = {name};
  const std::vector<absl::string_view> at =
      absl::StrSplit(said.substr(0, said.find(": ")), absl::MaxSplits(':', 1));
  if (!absl::SimpleAtoi(at[0], &place.line) ||
      (at.size() > 1 && !absl::SimpleAtoi(at[1], &place.column))) {
    return Annotate(status, name);
  }
  absl::Status named(status.code(), absl::StrCat(name, ":", said));
  SetPlace(place, &named);
  return named;
}

absl::StatusOr<Sample> Read(const Format& format, Source& source, const LoadOptions& options) {
  absl::StatusOr<Sample> sample = format.read(source, options);
  absl::Status status =
      sample.ok()
          ? format.verifies ? absl::OkStatus() : Annotate(Verify(*sample->module), source.name())
          : Named(sample.status(), Printable(source.name(), 1000));
  if (status.ok()) return sample;
  status.SetPayload(kFormat, absl::Cord(format.name));
  return status;
}

// Returns whether DescribeWeights would change nothing. Only inputs with a tensor meta can have a
// value, the one that the program was saved with.
bool IsDescribed(const Module& module) {
  return absl::c_all_of(
             module.attributes(),
             [](const Attribute& attribute) { return attribute.draw_spec != nullptr; }) &&
         absl::c_all_of(module.main()->placeholders(), [](const Node* input) {
           return input->draw_spec() != nullptr || input->tensor_meta() == nullptr;
         });
}

absl::StatusOr<Sample> LoadSource(Source& source, const LoadOptions& options) {
  ASSIGN_OR_RETURN(const Format* format, RecogniseSource(source));
  LoadOptions load = options;
  load.weights |= options.values_if_there;
  load.missing = AllowedToMiss(load.missing);
  if (!options.weights && load.missing == MissingValues::kRefused)
    load.missing = MissingValues::kIfStated;
  const bool are_needed = options.weights && load.missing != MissingValues::kDrawn;
  // A source that is not a file can be read only once.
  const bool can_read_again = !source.path().empty();
  load.weights |= options.statistics && !can_read_again;
  // If the file beside a protobuf is gone, read without weights.
  const auto read_tolerantly = [&]() -> absl::StatusOr<Sample> {
    absl::StatusOr<Sample> sample = Read(*format, source, load);
    if (load.weights && !are_needed && absl::IsNotFound(sample.status())) {
      load.weights = false;
      return Read(*format, source, load);
    }
    if (sample.ok() && load.weights && can_read_again && !source.is_folder()) {
      RETURN_IF_ERROR(AddValuesBeside(
          absl::StrCat(WithoutEnding(source.path()), ".safetensors"),
          are_needed && format->keeps_weights ? load.missing : MissingValues::kDrawn, &*sample));
    }
    return sample;
  };
  ASSIGN_OR_RETURN(Sample sample, read_tolerantly());
  if (options.statistics && !can_read_again) {
    DescribeWeights(&sample);
  } else if (options.statistics && format->keeps_weights && !IsDescribed(*sample.module)) {
    if (!load.weights && !options.values_if_there) {
      load.weights = true;
      ASSIGN_OR_RETURN(sample, read_tolerantly());
    }
    DescribeWeights(&sample);
  }
  if (!options.weights && !options.values_if_there) sample.weights.clear();
  return sample;
}

// --- Finding -----------------------------------------------------------------------

// Adds the programs of an archive that holds several, or else the source itself.
void AddInput(const Format& format, Source& source, std::vector<std::string>* inputs) {
  if (format.parts != nullptr && source.part().empty()) {
    const auto parts = format.parts(source);
    if (parts.ok() && parts->size() > 1) {
      for (const std::string& part : *parts)
        inputs->push_back(absl::StrCat(source.path(), "#", part));
      return;
    }
  }
  inputs->push_back(source.name());
}

absl::Status FindIn(const Source& folder, int depth, std::vector<std::string>* inputs) {
  if (folder.is_corpus()) return FindInCorpus(folder, inputs);
  if (depth > kMaxNesting) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(folder.path(), 1000), ": folders nest too deep"));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder.path()));
  for (const std::string& name : names) {
    if (absl::StartsWith(name, ".") || WithoutTemporary(name) != name) continue;
    Source source = Source::OfPath(JoinPath(folder.path(), name), /*is_named=*/false);
    const absl::StatusOr<const Format*> format = FormatOf(source);
    if (format.ok() && *format != nullptr) {
      AddInput(**format, source, inputs);
    } else if (source.is_folder()) {
      // Links to samples are followed. Other links may lead anywhere, even in a cycle.
      if (std::error_code ignored; std::filesystem::is_symlink(source.path(), ignored)) continue;
      // A folder that cannot be listed becomes an input, so that the rest is still found.
      if (!FindIn(source, depth + 1, inputs).ok()) inputs->push_back(source.path());
    } else if (source.is_zip() && !source.archive().ok()) {
      inputs->push_back(source.name());  // Loading it reports the error.
    }
  }
  return absl::OkStatus();
}

std::atomic<void (*)(absl::string_view)>& NoteReceiver() {
  static std::atomic<void (*)(absl::string_view)> receiver = nullptr;
  return receiver;
}

absl::Status WriteToStandardOutput(absl::string_view part) {
  std::fwrite(part.data(), 1, part.size(), stdout);
  return absl::OkStatus();
}

}  // namespace

void ReceiveInputNotes(void (*receiver)(absl::string_view note)) { NoteReceiver() = receiver; }

void NoteOnInput(absl::string_view input, absl::string_view note) {
  if (void (*const receiver)(absl::string_view) = NoteReceiver())
    receiver(absl::StrCat(Printable(input, 1000), ": ", note));
}

absl::Status RegisterFormat(Format format) { return Registry::Get().Register(std::move(format)); }

std::vector<const Format*> Formats() { return Registry::Get().All(); }

const Format* FindFormat(absl::string_view name) {
  for (const Format* format : Formats()) {
    if (format->name == name) return format;
  }
  return nullptr;
}

const Format* FormatOfPath(absl::string_view path) {
  for (const Format* format : Formats()) {
    for (const std::string& ending : format->endings) {
      if (format->can_be_written() && absl::EndsWith(path, ending)) return format;
    }
  }
  return nullptr;
}

std::string WithoutEnding(absl::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  for (const Format* format : Formats()) {
    if (format->read == nullptr) continue;
    for (const std::string& ending : format->endings) {
      absl::string_view stem = path;
      if (absl::ConsumeSuffix(&stem, ending) && !stem.empty() && stem.back() != '/')
        return std::string(stem);
    }
  }
  return std::string(path);
}

absl::StatusOr<const Format*> Recognise(const std::string& path) {
  Source source = Source::OfPath(path, /*is_named=*/true);
  return RecogniseSource(source);
}

std::string FormatOfError(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kFormat);
  return payload.has_value() ? std::string(*payload) : "";
}

bool IsUnusable(const absl::Status& status) { return status.GetPayload(kUnusable).has_value(); }

absl::StatusOr<Sample> Load(const std::string& path, const LoadOptions& options) {
  if (path == "-") {
    ASSIGN_OR_RETURN(Source source, Source::OfStandardInput());
    return LoadSource(source, options);
  }
  Source source = Source::OfPath(path, /*is_named=*/true);
  return LoadSource(source, options);
}

absl::StatusOr<Sample> LoadBytes(absl::string_view bytes, const std::string& name,
                                 const LoadOptions& options) {
  Source source = Source::OfBytes(bytes, name);
  return LoadSource(source, options);
}

absl::Status Save(const Sample& sample, const std::string& path, const SaveOptions& options) {
  const bool to_stdout = path == "-";
  const Format* format = options.format.empty() ? FormatOfPath(path) : FindFormat(options.format);
  if (format == nullptr && !options.format.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("unknown format ", Printable(options.format)));
  }
  if (format == nullptr) format = FindFormat(to_stdout ? "text" : "graphnet");
  if (!format->can_be_written()) {
    return absl::UnimplementedError(
        absl::StrCat(Printable(path, 1000), ": ", format->content, " is only read"));
  }
  if (to_stdout && format->write == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(format->content, " cannot go to the standard output"));
  }
  if (to_stdout) return format->write(sample, options, WriteToStandardOutput);
  if (format->write_to != nullptr) return format->write_to(sample, path, options);
  return WriteFileAtomic(
      path, [&](const ByteSink& sink) { return format->write(sample, options, sink); });
}

absl::StatusOr<std::vector<std::string>> FindInputs(const std::vector<std::string>& paths) {
  std::vector<std::string> inputs;
  for (const std::string& path : paths) {
    if (IsFolderOfSamples(path)) {
      const size_t before = inputs.size();
      absl::Status status = FindIn(Source::OfPath(path, /*is_named=*/true), 0, &inputs);
      if (status.ok() && inputs.size() == before) {
        status =
            absl::NotFoundError(absl::StrCat(Printable(path, 1000), ": no samples in this folder"));
      }
      if (!status.ok() && paths.size() == 1) return Unusable(status);
      if (!status.ok()) inputs.push_back(path);
      continue;
    }
    if (path == "-") {
      inputs.push_back(path);
      continue;
    }
    Source source = Source::OfPath(path, /*is_named=*/true);
    const absl::StatusOr<const Format*> format = RecogniseSource(source);
    if (!format.ok() && paths.size() == 1) return format.status();
    if (format.ok()) {
      AddInput(**format, source, &inputs);
    } else {
      inputs.push_back(path);
    }
  }
  return inputs;
}

bool IsFolderOfSamples(const std::string& path) {
  return IsFolder(path) ? !IsGraphNetFolder(path)
                        : Source::OfPath(path, /*is_named=*/true).is_corpus();
}

}  // namespace graphnet
