#include "graphnet/formats/core_formats.h"

#include <cstdio>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/listed_names.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/corpus/corpus_reader.h"
#include "graphnet/formats/export_program.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/formats/posted/reader.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/formats/pt2/importer.h"
#include "graphnet/formats/pt2/original.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/formats/torch_functions.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"

namespace graphnet {

absl::Status PassTo(const ByteSink& sink, const absl::StatusOr<std::string>& bytes) {
  return bytes.ok() ? sink(*bytes) : bytes.status();
}

namespace {

// --- GraphNet folders --------------------------------------------------------------

Format GraphNetFolder() {
  Format format;
  format.name = "graphnet";
  format.tier = Tier::kCore;
  format.title = "a GraphNet folder";
  format.content = "a GraphNet folder";
  format.is_folder = true;
  format.verifies = true;
  format.lacks = {.weights = true,
                  .metas = true,
                  .module_paths = true,
                  .annotations = true,
                  .draw_specs_of_bodies = true};
  format.sniff = [](Source& source) {
    return source.is_folder() && IsGraphNetFolder(source.path());
  };
  format.read = [](Source& source, const LoadOptions&) {
    return ReadGraphNetFolder(source.path());
  };
  format.write_to = [](const Sample& sample, const std::string& path, const SaveOptions& options) {
    return WithFolderAdvice(WriteGraphNetFolder(sample, path, options.notes));
  };
  return format;
}

// --- Protobuf ----------------------------------------------------------------------

Format Protobuf() {
  Format format;
  format.name = "protobuf";
  format.tier = Tier::kCore;
  format.title = "protobuf";
  format.content = "a graphnet protobuf";
  format.verifies = true;
  format.endings = {".pb"};
  format.is_binary = true;
  format.keeps_weights = true;
  format.sniff = [](Source& source) {
    const auto head = source.head();
    return head.ok() && LooksLikeSample(*head);
  };
  // A source that is not a file has no weights beside it.
  format.read = [](Source& source, const LoadOptions& options) -> absl::StatusOr<Sample> {
    if (!source.path().empty()) return ReadSampleFile(source.path(), options.weights);
    ASSIGN_OR_RETURN(const SharedBytes bytes, source.bytes(kMaxProtoBytes));
    return DeserializeSample(*bytes, source.name());
  };
  const auto write = [](const Sample& sample, const SaveOptions& options, const ByteSink& sink) {
    return PassTo(sink, options.embeds_weights ? SerializeSampleWithWeights(sample)
                                               : SerializeSample(sample));
  };
  format.write = write;
  format.write_to = [write](const Sample& sample, const std::string& path,
                            const SaveOptions& options) {
    if (!options.embeds_weights) return WriteSampleFile(sample, path);
    return WriteFileAtomic(path,
                           [&](const ByteSink& sink) { return write(sample, options, sink); });
  };
  return format;
}

// --- Archives of PyTorch -----------------------------------------------------------

// Removes the name of a sample that was read from bytes, since no file gives it one.
absl::StatusOr<Sample> WithoutName(absl::StatusOr<Sample> sample) {
  if (sample.ok()) sample->name.clear();
  return sample;
}

void NoteDroppedGuards(size_t count, std::vector<std::string>* notes) {
  if (count == 0 || notes == nullptr) return;
  notes->push_back(absl::StrCat("the guards of the program that was read are left out (", count,
                                "): nothing will check its inputs by them"));
}

Format Pt2() {
  Format format;
  format.name = "pt2";
  format.tier = Tier::kCore;
  format.title = "torch.export";
  format.content = "an archive of torch.export";
  format.verifies = true;
  format.endings = {".pt2"};
  format.is_binary = true;
  format.keeps_weights = true;
  format.lacks = {.draw_specs_of_bodies = true, .draw_specs = true};
  format.sniff = [](Source& source) {
    if (!source.is_zip()) return false;
    const absl::StatusOr<SharedBytes> bytes = source.archive();
    return bytes.ok() && LooksLikePt2(**bytes);
  };
  format.read = [](Source& source, const LoadOptions& options) -> absl::StatusOr<Sample> {
    const Pt2ImportOptions import = {
        .program = source.part(), .weights = options.weights, .missing = options.missing};
    if (!source.path().empty()) return ImportPt2File(source.path(), import);
    ASSIGN_OR_RETURN(const SharedBytes bytes, source.archive());
    return WithoutName(ImportPt2(*bytes, source.name(), import));
  };
  format.parts = [](Source& source) -> absl::StatusOr<std::vector<std::string>> {
    ASSIGN_OR_RETURN(const SharedBytes bytes, source.archive());
    return ListPt2Programs(*bytes, source.name());
  };
  format.write = [](const Sample& sample, const SaveOptions& options,
                    const ByteSink& sink) -> absl::Status {
    ASSIGN_OR_RETURN(const Pt2Archive archive, ExportPt2Program(sample, /*flat_calls=*/false,
                                                                nullptr, nullptr, options.notes));
    if (!archive.classes().empty() && options.notes != nullptr) {
      options.notes->push_back(absl::StrCat("tuples replace ",
                                            Printable(absl::StrJoin(archive.classes(), ", "), 1000),
                                            ", which PyTorch alone does not know"));
    }
    NoteDroppedGuards(archive.num_dropped_guards(), options.notes);
    if (!archive.renamed().empty() && options.notes != nullptr) {
      options.notes->push_back(
          absl::StrCat("renamed for torch.export: ", ListedNames(archive.renamed())));
    }
    return archive.WriteTo(sink);
  };
  return format;
}

Format TorchScript() {
  Format format;
  format.name = "torchscript";
  format.tier = Tier::kCore;
  format.title = "TorchScript";
  format.content = "an archive of TorchScript";
  format.endings = {".pt", ".pth"};
  format.is_binary = true;
  format.keeps_weights = true;
  format.lacks = {.metas = true,
                  .input_metas = true,
                  .module_paths = true,
                  .draw_specs_of_bodies = true,
                  .draw_specs = true};
  format.sniff = [](Source& source) { return source.is_zip(); };
  // A path may name a method. A folder gives the archive once, because its methods are known only
  // after it is loaded.
  format.parts = [](Source&) -> absl::StatusOr<std::vector<std::string>> {
    return std::vector<std::string>();
  };
  format.read = [](Source& source, const LoadOptions& options) -> absl::StatusOr<Sample> {
    const absl::StatusOr<const TorchFunctions*> torch = OpenTorchFunctions();
    if (!torch.ok()) return Annotate(torch.status(), Printable(source.name(), 1000));
    ASSIGN_OR_RETURN(const SharedBytes bytes, source.archive());
    absl::StatusOr<Sample> sample = (*torch)->ImportTorchScript(
        bytes, source.name(), source.part().empty() ? TorchScriptMethod() : source.part(),
        options.trust, options.weights);
    return source.path().empty() ? WithoutName(std::move(sample)) : std::move(sample);
  };
  format.write = [](const Sample& sample, const SaveOptions& options, const ByteSink& sink) {
    NoteDroppedGuards(pt2::NumGuards(sample), options.notes);
    return PassTo(sink, ExportTorchScriptProgram(sample, options.notes));
  };
  return format;
}

// --- Text --------------------------------------------------------------------------

Format Text() {
  Format format;
  format.name = "text";
  format.tier = Tier::kCore;
  format.title = "text";
  format.content = "graphnet text";
  format.endings = {".gn", ".txt"};
  format.lacks = {.weights = true};
  // In a folder, a fragment may be any text. A path that the user names is meant as a sample.
  format.sniff = [](Source& source) {
    const auto head = source.head();
    return head.ok() && !source.is_folder() && LooksLikeText(*head, source.is_named());
  };
  format.read = [](Source& source, const LoadOptions&) -> absl::StatusOr<Sample> {
    ASSIGN_OR_RETURN(const std::string text, source.text(kMaxTextFileBytes));
    ASSIGN_OR_RETURN(Sample sample, ParseSample(text, source.name()));
    if (sample.module == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(Printable(source.name(), 1000), ": holds no module"));
    }
    if (sample.name.empty() && !source.path().empty()) sample.name = BaseName(source.path());
    return sample;
  };
  // Leaves the weights out, since no file beside the text holds them.
  format.write = [](const Sample& sample, const SaveOptions&, const ByteSink& sink) {
    PrintOptions options = PrintOptions::Complete();
    options.weights = false;
    return sink(PrintSample(sample, options));
  };
  return format;
}

// --- Graphs as people post them ----------------------------------------------------

// A file that was found in a folder may be any code. A path that the user names is meant as a sample.
bool IsPostedFile(Source& source) {
  const absl::StatusOr<absl::string_view> head = source.head();
  if (!head.ok() || source.is_folder() || absl::StrContains(*head, '\0')) return false;
  // The program of a GraphNet sample that has lost its folder lacks its metas.
  if (BaseName(source.path()) == "model.py") return false;
  const absl::StatusOr<SharedBytes> bytes = source.bytes(kMaxTextFileBytes);
  return bytes.ok() && posted::LooksLikePosted(**bytes, !source.is_named());
}

Format Posted() {
  Format format;
  format.name = "posted";
  format.tier = Tier::kSupported;
  format.title = "text that PyTorch prints";
  format.content = "a graph that PyTorch printed";
  format.sniff = IsPostedFile;
  format.read = [](Source& source, const LoadOptions&) -> absl::StatusOr<Sample> {
    ASSIGN_OR_RETURN(const SharedBytes text, source.bytes(kMaxTextFileBytes));
    std::vector<std::string> notes;
    ASSIGN_OR_RETURN(Sample sample, posted::ReadGraph(*text, source.part(), &notes));
    for (const std::string& note : notes) NoteOnInput(source.name(), note);
    if (source.part().empty() && !source.path().empty()) {
      const std::string name = BaseName(source.path());
      sample.name = name.substr(0, name.find_last_of('.'));
    }
    return sample;
  };
  format.parts = [](Source& source) -> absl::StatusOr<std::vector<std::string>> {
    ASSIGN_OR_RETURN(const SharedBytes text, source.bytes(kMaxTextFileBytes));
    return posted::ListGraphs(*text);
  };
  return format;
}

// --- MLIR --------------------------------------------------------------------------

Format Mlir() {
  Format format;
  format.name = "mlir";
  format.title = "the torch dialect of MLIR";
  format.content = "text of MLIR";
  format.endings = {".mlir"};
  format.keeps_weights = true;
  format.write = [](const Sample& sample, const SaveOptions& options, const ByteSink& sink) {
    NoteDroppedGuards(pt2::NumGuards(sample), options.notes);
    const absl::StatusOr<MlirProgram> program = ExportMlirProgram(sample, nullptr, options.notes);
    return program.ok() ? sink(program->text) : program.status();
  };
  // The weights are arguments of the program, so they go into a file beside it.
  format.write_to = [](const Sample& sample, const std::string& path,
                       const SaveOptions& options) -> absl::Status {
    NoteDroppedGuards(pt2::NumGuards(sample), options.notes);
    ASSIGN_OR_RETURN(const MlirProgram program, ExportMlirProgram(sample, nullptr, options.notes));
    std::map<std::string, TensorData> weights;
    for (const std::string& attribute : program.attributes) {
      const auto it = sample.weights.find(attribute);
      if (it != sample.weights.end()) weights.insert(*it);
    }
    if (weights.empty()) return WriteFileAtomic(path, program.text);
    // The name x.safetensors belongs to x.pb.
    return SaveWithTensors(program.text, path, weights,
                           absl::StrCat(absl::StripSuffix(path, ".mlir"), ".mlir.safetensors"));
  };
  return format;
}

// --- Corpora -----------------------------------------------------------------------

// A graph of a corpus. Other programs of graphnet write them (docs/corpus.md).
Format CorpusGraph() {
  Format format;
  format.name = "corpus";
  format.title = "a corpus";
  format.content = "a graph of a corpus";
  format.is_folder = true;
  format.verifies = true;
  format.keeps_weights = true;
  format.sniff = [](Source& source) { return source.is_corpus_graph(); };
  // The part is the graph.
  format.parts = [](Source&) -> absl::StatusOr<std::vector<std::string>> {
    return std::vector<std::string>();
  };
  format.read = [](Source& source, const LoadOptions& options) -> absl::StatusOr<Sample> {
    const size_t end = source.part().find('/');
    ASSIGN_OR_RETURN(const std::string bytes,
                     ReadCorpusGraph(source.path(), source.part().substr(0, end),
                                     source.part().substr(end + 1), options.weights));
    return DeserializeSample(bytes, source.name());
  };
  return format;
}

}  // namespace

std::vector<Format> CoreFormats() {
  return {GraphNetFolder(), Protobuf(), Pt2(),         TorchScript(),
          Mlir(),           Text(),     CorpusGraph(), Posted()};
}

absl::Status WithFolderAdvice(const absl::Status& status) {
  if (!absl::IsUnimplemented(status)) return status;
  return absl::UnimplementedError(
      absl::StrCat(status.message(), "; a GraphNet folder cannot hold it, --to protobuf can"));
}

absl::Status SaveWithTensors(absl::string_view program, const std::string& path,
                             const std::map<std::string, TensorData>& tensors,
                             const std::string& beside) {
  const auto write = [&](const ByteSink& sink) { return StreamSafetensors(tensors, sink); };
  ASSIGN_OR_RETURN(StagedFile tensors_file, StagedFile::Write(beside, write));
  ASSIGN_OR_RETURN(StagedFile program_file, StagedFile::Write(path, program));
  // Even after a kill, an old program must not lie beside these tensors.
  std::remove(path.c_str());
  RETURN_IF_ERROR(tensors_file.Commit());
  return program_file.Commit();
}

}  // namespace graphnet
