#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/output_folder.h"
#include "graphnet/base/status.h"
#include "graphnet/base/version.h"
#include "graphnet/decompose/compose.h"
#include "graphnet/decompose/config.h"
#include "graphnet/decompose/decomposer.h"
#include "graphnet/decompose/folder.h"
#include "graphnet/formats/corpus/corpus_process.h"
#include "graphnet/formats/export_program.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/identity/diff.h"
#include "graphnet/identity/normal_form.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/passes/documentation.h"
#include "graphnet/passes/pattern.h"
#include "graphnet/passes/pipeline.h"
#include "graphnet/passes/registry.h"
#include "graphnet/run/engine.h"
#include "graphnet/run/port_values.h"
#include "graphnet/run/run_passes.h"
#include "graphnet/validate/folder.h"
#include "graphnet/validate/structure.h"
#include "graphnet/view/layout.h"
#include "graphnet/view/page.h"
#include "graphnet/view/picture.h"
#include "graphnet/view/svg.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/vector.h"
#include "python/bindings/errors.h"
#include "python/bindings/long_call.h"
#include "python/bindings/sample.h"

namespace graphnet {
namespace {

using Samples = std::vector<nb::object>;

// Returns the module of a sample after verifying it, so that a long call may read it.
ModuleObject& Verified(const SampleObject& sample) {
  sample.get().LetChangesPass();
  sample.get().RequireVerified();
  return sample.get();
}

// Does the same with several samples. Nothing runs between the last check and the return.
std::vector<ModuleObject*> AllVerified(const std::vector<const SampleObject*>& samples) {
  for (const SampleObject* sample : samples) sample->get().LetChangesPass();
  std::vector<ModuleObject*> modules;
  for (const SampleObject* sample : samples) {
    sample->get().RequireVerified();
    modules.push_back(&sample->get());
  }
  return modules;
}

std::vector<const SampleObject*> SamplesOf(const Samples& objects) {
  std::vector<const SampleObject*> samples;
  for (const nb::object& object : objects)
    samples.push_back(&nb::cast<const SampleObject&>(object));
  return samples;
}

std::vector<ReadLock> LocksOf(const std::vector<ModuleObject*>& modules) {
  std::vector<ReadLock> locks;
  for (ModuleObject* module : modules) locks.emplace_back(*module);
  return locks;
}

// --- Files -----------------------------------------------------------------------------------

// Returns whether it is a GraphNet folder whose parsed files have at most 4 MiB together, so that
// reading it takes about 10 ms.
bool IsSmallFolder(const std::string& path) {
  off_t bytes = 0;
  for (const char* name :
       {"graph_net.json", "model.py", "weight_meta.py", "input_tensor_constraints.py"}) {
    struct stat info;
    if (stat(absl::StrCat(path, "/", name).c_str(), &info) != 0) return false;
    bytes += info.st_size;
  }
  return bytes <= 4 << 20;
}

nb::object LoadSample(nb::handle file, bool weights, bool trust, bool statistics) {
  const LoadOptions options = {.trust = trust, .weights = weights, .statistics = statistics};
  const std::string path = PathOf(file);
  const auto load = [path, options] { return Load(path, options); };
  return MakeSample(ValueOrRaise(IsSmallFolder(path) ? ShortCall(load) : LongCall(Locks(), load)));
}

nb::object LoadSampleBytes(nb::bytes bytes, const std::string& name, bool weights, bool trust) {
  const LoadOptions options = {.trust = trust, .weights = weights};
  // The weights of the sample refer to these bytes.
  const TensorData kept = ReadTensor(nb::module_::import_("builtins").attr("memoryview")(bytes));
  absl::StatusOr<Sample> sample =
      LongCall(Locks(), [kept, name, options] { return LoadBytes(*kept.bytes, name, options); });
  if (sample.ok()) {
    for (auto& [key, value] : sample->weights) {
      auto owners = std::make_shared<std::pair<SharedBytes, SharedBytes>>(kept.bytes, value.bytes);
      value.bytes = SharedBytes(owners, *owners->second);
    }
  }
  return MakeSample(ValueOrRaise(std::move(sample)));
}

nb::object ParseText(const std::string& text, const std::string& name) {
  Sample sample = ValueOrRaise(LongCall(Locks(), [text, name] { return ParseSample(text, name); }));
  return MakeSample(std::move(sample), {}, /*is_verified=*/false);
}

// Raises Error for a path at which nobody wants a sample: in a folder that is not there, or with an
// ending that looks like a format's and is none. A name such as resnet18.a1_in1k has no such ending.
void CheckPath(const std::string& path, const std::string& format) {
  const std::filesystem::path place(path);
  std::error_code ignored;
  const std::filesystem::path folder = place.parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
    Raise(absl::NotFoundError(absl::StrCat(Printable(path, 1000), ": there is no folder ",
                                           Printable(folder.string(), 1000))));
  }
  const std::string name = place.filename().string();
  const size_t dot = name.rfind('.');
  const std::string ending = dot == std::string::npos || dot == 0 ? "" : name.substr(dot + 1);
  const bool looks_known = !ending.empty() && absl::ascii_isalpha(ending[0]) &&
                           absl::c_all_of(ending, absl::ascii_isalnum);
  if (!format.empty() || !looks_known || FormatOfPath(path) != nullptr ||
      std::filesystem::is_directory(place, ignored))
    return;
  std::vector<std::string> endings;
  for (const Format* known : Formats()) {
    if (known->can_be_written())
      endings.insert(endings.end(), known->endings.begin(), known->endings.end());
  }
  Raise(absl::InvalidArgumentError(absl::StrCat(
      Printable(path, 1000), ": no format has the ending ", Printable("." + ending), "; there are ",
      absl::StrJoin(endings, ", "), ", and with format='graphnet' it becomes a folder")));
}

std::vector<std::string> SaveSample(const SampleObject& self, nb::handle file,
                                    const std::string& format, bool embed_weights) {
  const std::string path = PathOf(file);
  CheckPath(path, format);
  ModuleObject& object = Verified(self);
  auto notes = std::make_shared<std::vector<std::string>>();
  RaiseIfError(LongCall(Locks(object), [&object, path, format, embed_weights, notes] {
    return Save(object.sample(), path,
                {.format = format, .embeds_weights = embed_weights, .notes = notes.get()});
  }));
  return *notes;
}

nb::bytes SampleBytes(const SampleObject& self, const std::string& name) {
  ModuleObject& object = Verified(self);
  const Format* const format = FindFormat(name);
  if (format == nullptr) Raise(PyExc_ValueError, absl::StrCat("unknown format ", name));
  if (format->write == nullptr)
    Raise(PyExc_ValueError, absl::StrCat(name, " is not one stream of bytes; use save"));
  const auto bytes = std::make_shared<std::string>();
  RaiseIfError(LongCall(Locks(object), [&object, format, bytes] {
    return format->write(object.sample(), {.embeds_weights = true}, [&](absl::string_view part) {
      bytes->append(part.data(), part.size());
      return absl::OkStatus();
    });
  }));
  return nb::bytes(bytes->data(), bytes->size());
}

// Returns the bytes of a program of torch.export for a process in which PyTorch knows these classes.
nb::bytes ExportedBytes(const SampleObject& self, const std::vector<std::string>& classes) {
  ModuleObject& object = Verified(self);
  const absl::flat_hash_set<std::string> known(classes.begin(), classes.end());
  const std::string bytes =
      ValueOrRaise(LongCall(Locks(object), [&object, known]() -> absl::StatusOr<std::string> {
        ASSIGN_OR_RETURN(
            const Pt2Archive archive,
            ExportPt2Program(object.sample(), /*flat_calls=*/false, nullptr,
                             [&](absl::string_view name) { return known.contains(name); }));
        return archive.ToString();
      }));
  return nb::bytes(bytes.data(), bytes.size());
}

nb::dict FolderFiles(const SampleObject& self) {
  ModuleObject& object = Verified(self);
  const GraphNetFileMap files =
      ValueOrRaise(LongCall(Locks(object), [&object] { return GraphNetFiles(object.sample()); }));
  nb::dict made;
  for (const auto& [name, content] : files)
    made[nb::str(name.data(), name.size())] = nb::bytes(content.data(), content.size());
  return made;
}

// Like CheckReplaceable, and asks a function of Python.
void CheckReplaceableBy(nb::handle folder, const nb::callable& is_own) {
  std::optional<nb::python_error> error;
  const absl::Status status =
      CheckReplaceable(PathOf(folder), [&](absl::string_view path, bool is_folder) {
        if (error.has_value()) return false;
        try {
          // The name of a file may be no UTF-8.
          const nb::object name = nb::steal(
              PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
          if (!name.is_valid()) throw nb::python_error();
          return nb::cast<bool>(is_own(name, is_folder));
        } catch (nb::python_error& raised) {
          error.emplace(std::move(raised));
          return false;
        }
      });
  if (error.has_value()) throw std::move(*error);
  RaiseIfError(status);
}

nb::list AllFormats() {
  nb::list list;
  for (const Format* format : Formats()) {
    nb::dict row;
    row["name"] = format->name;
    row["endings"] = format->endings;
    row["is_folder"] = format->is_folder;
    row["reads"] = format->read != nullptr;
    row["writes"] = format->can_be_written();
    list.append(row);
  }
  return list;
}

// --- Rewriting -------------------------------------------------------------------------------

// Splits a pipeline into its steps, each a pipeline of its own.
std::vector<std::string> SplitPipeline(const std::string& text) {
  std::vector<std::string> steps;
  for (const PipelineStep& step : ValueOrRaise(ParsePipeline(text)))
    steps.push_back(PrintPipeline({step}));
  return steps;
}

// Changes the sample in place. No other thread may use it meanwhile, and a pass that fails leaves
// it unusable.
nb::list RunPasses(const SampleObject& self, const std::string& text, bool verify_each) {
  const Pipeline pipeline = ValueOrRaise(ParsePipeline(text));
  ModuleObject& object = self.get();
  object.WaitForReaders();
  object.RequireVerified();
  Sample* const sample = &object.SampleForChange();
  const std::vector<StepResult> results =
      ValueOrRaise(LongCall(Locks(object), [sample, pipeline, verify_each] {
        return RunPassesByEngine(pipeline, /*keeps_values=*/!sample->weights.empty(), OpenEngine,
                                 {.verify_each = verify_each}, sample);
      }));
  object.ForgetGraphs();
  nb::list list;
  for (size_t i = 0; i < results.size(); ++i) {
    nb::dict row;
    row["pass"] = PrintPipeline({pipeline[i]});
    row["changed"] = results[i].changed;
    row["seconds"] = results[i].seconds;
    row["nodes_before"] = results[i].nodes_before;
    row["nodes_after"] = results[i].nodes_after;
    nb::list notes;
    for (const PassNote& note : results[i].notes) {
      nb::dict fields;
      fields["what"] = note.what;
      fields["count"] = note.count;
      fields["is_warning"] = note.is_warning;
      notes.append(fields);
    }
    row["notes"] = notes;
    list.append(row);
  }
  return list;
}

nb::list PassList() {
  nb::list list;
  for (const Pass& pass : AllPasses()) {
    nb::dict row;
    row["name"] = nb::str(pass.name().data(), pass.name().size());
    std::vector<std::string> options(pass.options().begin(), pass.options().end());
    row["options"] = options;
    const auto documentation = DocumentationOf(pass);
    row["summary"] = documentation.ok() ? documentation->summary : "";
    row["documentation"] = documentation.ok() ? PassSection(pass, *documentation) : "";
    list.append(row);
  }
  return list;
}

nb::list RulesApplied(ModuleObject& object, const std::string& text, const std::string& name) {
  const std::vector<RewriteRule> rules = ValueOrRaise(ParseRules(text, name));
  object.WaitForReaders();
  object.RequireVerified();
  std::vector<size_t> counts;
  RaiseIfError(ApplyRules(rules, &object.ForChange(), &counts));
  object.ForgetGraphs();
  nb::list applied;
  for (size_t i = 0; i < rules.size(); ++i)
    applied.append(nb::make_tuple(rules[i].name, counts.at(i)));
  return applied;
}

// Returns the nodes of each match of a pattern; the first is the one that the pattern returns.
nb::list Matches(const SampleObject& self, const std::string& text,
                 const std::vector<std::string>& conditions) {
  ModuleObject& object = Verified(self);
  const RewriteRule rule = ValueOrRaise(ParsePattern(text, "pattern", conditions));
  nb::list matches;
  for (Graph* graph : object.module().graphs()) {
    for (const PatternMatch& match : FindMatches(rule, graph)) {
      nb::list nodes;
      for (Node* node : match.nodes) nodes.append(object.NodeOf(node));
      matches.append(nodes);
    }
  }
  return matches;
}

// --- Identity --------------------------------------------------------------------------------

std::string Hash(const SampleObject& self, bool metas, bool weights) {
  ModuleObject& object = Verified(self);
  return LongCall(Locks(object), [&object, metas, weights] {
    CanonicalHashOptions options;
    options.metas = metas;
    if (weights) options.weights = &object.sample().weights;
    return CanonicalHash(object.module(), options);
  });
}

nb::object Normalised(const SampleObject& self) {
  ModuleObject& object = Verified(self);
  Sample made;
  made.name = object.sample().name;
  made.weights = object.sample().weights;
  made.module =
      ValueOrRaise(LongCall(Locks(object), [&object] { return NormalForm(object.module()); }));
  return MakeSample(std::move(made));
}

nb::dict Diff(const SampleObject& a, const SampleObject& b, bool metas) {
  const std::vector<ModuleObject*> modules = AllVerified({&a, &b});
  ModuleObject& left = *modules[0];
  ModuleObject& right = *modules[1];
  const GraphDiff diff = LongCall(Locks(left, right), [&left, &right, metas] {
    return DiffModules(left.module(), right.module(), {.metas = metas});
  });
  static constexpr const char* kKinds[] = {"removed", "added", "changed"};
  const auto node = [](ModuleObject& object, const Node* node) {
    return object.NodeOrNone(const_cast<Node*>(node));  // NOLINT: of the module that may change
  };
  nb::list differences;
  for (const Difference& difference : diff.differences) {
    nb::dict row;
    row["kind"] = kKinds[static_cast<size_t>(difference.kind)];
    row["a"] = node(left, difference.a);
    row["b"] = node(right, difference.b);
    row["what"] = difference.what;
    row["text"] = DescribeDifference(difference);
    differences.append(row);
  }
  nb::list pairs;
  for (const auto& [first, second] : diff.pairs)
    pairs.append(nb::make_tuple(node(left, first), node(right, second)));
  nb::dict made;
  made["differences"] = differences;
  made["pairs"] = pairs;
  made["text"] = PrintDiff(diff);
  return made;
}

// --- Pieces ----------------------------------------------------------------------------------

nb::tuple DecomposeSample(const SampleObject& self, const std::string& config,
                          const std::optional<std::string>& folder, bool as_folders,
                          bool python_layout, bool infers) {
  struct Made {
    Decomposition decomposition;
    std::unique_ptr<Module> lifted;
  };
  ModuleObject& object = Verified(self);
  const DecomposeConfig asked = ValueOrRaise(ParseDecomposeConfigJson(config, "config"));
  absl::StatusOr<Made> made = LongCall(
      Locks(object),
      [&object, asked, folder, as_folders, python_layout, infers]() -> absl::StatusOr<Made> {
        Made result;
        const bool lifts = folder && as_folders && !object.module().attributes().empty();
        std::optional<Sample> lifted;
        if (lifts) {
          ASSIGN_OR_RETURN(lifted, FolderFormOfSample(object.sample(), /*keep_module_paths=*/true));
        }
        const Sample& whole = lifted ? *lifted : object.sample();
        PortValues ports;
        if (infers) ports = InferPortValues(whole);
        ASSIGN_OR_RETURN(result.decomposition, Decompose(whole, asked, &ports.values));
        if (!ports.why_not.empty()) result.decomposition.notes.push_back(ports.why_not);
        if (folder) {
          DecompositionFolderOptions options;
          options.format = as_folders ? PieceFormat::kGraphNetFolder : PieceFormat::kProtobuf;
          options.layout = python_layout ? FolderLayout::kPythonGraphNet : FolderLayout::kPlain;
          RETURN_IF_ERROR(WriteDecomposition(result.decomposition, *folder, options).status());
        }
        if (lifted) result.lifted = std::move(lifted->module);
        return result;
      });
  RaiseIfError(made.status());
  nb::object base = self.owner;
  if (made->lifted != nullptr) {
    Sample lifted;
    lifted.module = std::move(made->lifted);
    base = ModuleObject::Make(std::move(lifted));
  }
  nb::list pieces;
  for (Sample& piece : made->decomposition.pieces)
    pieces.append(MakeSample(std::move(piece), base));
  return nb::make_tuple(ValueOrRaise(WriteDecomposeConfigJson(made->decomposition.config)), pieces,
                        made->decomposition.notes);
}

nb::tuple LoadPieces(const std::string& folder, bool weights) {
  StoredDecomposition stored = ValueOrRaise(
      LongCall(Locks(), [folder, weights] { return ReadDecomposition(folder, weights); }));
  nb::list pieces;
  for (Sample& piece : stored.pieces) pieces.append(MakeSample(std::move(piece), {}, false));
  std::optional<std::string> config;
  if (stored.config) config = ValueOrRaise(WriteDecomposeConfigJson(*stored.config));
  return nb::make_tuple(config, pieces);
}

nb::object Compose(const Samples& objects, bool chain, nb::handle like) {
  std::vector<const SampleObject*> samples = SamplesOf(objects);
  if (!like.is_none()) samples.push_back(&nb::cast<const SampleObject&>(like));
  std::vector<ModuleObject*> modules = AllVerified(samples);
  std::vector<ReadLock> locks = LocksOf(modules);
  const Module* order = nullptr;
  if (!like.is_none()) {
    order = &modules.back()->module();
    modules.pop_back();
  }
  Sample made;
  if (!modules.empty()) made.name = modules[0]->sample().name;
  auto borrowed = std::make_shared<BorrowedSamples>(modules);
  made.module = ValueOrRaise(LongCall(std::move(locks), [borrowed, chain, order] {
    return chain ? ComposeChain(borrowed->get(), order) : ComposeDag(borrowed->get(), order);
  }));
  return MakeSample(std::move(made), {}, /*is_verified=*/false);
}

std::string ValidatePieces(const SampleObject& original, const Samples& objects, bool chain) {
  std::vector<const SampleObject*> samples = SamplesOf(objects);
  samples.push_back(&original);
  std::vector<ModuleObject*> modules = AllVerified(samples);
  std::vector<ReadLock> locks = LocksOf(modules);
  modules.pop_back();
  ModuleObject& whole = original.get();
  auto borrowed = std::make_shared<BorrowedSamples>(modules);
  return LongCall(std::move(locks), [&whole, borrowed, chain] {
    StructureOptions options;
    options.cut.style = chain ? Style::kChain : Style::kDag;
    return ReportOf(ValidateStructure(whole.sample(), borrowed->get(), options)).ToJson().Dump();
  });
}

std::string ValidateStored(const SampleObject& original, const std::string& folder,
                           const std::string& config) {
  ModuleObject& whole = Verified(original);
  return ValueOrRaise(
      LongCall(Locks(whole), [&whole, folder, config]() -> absl::StatusOr<std::string> {
        ASSIGN_OR_RETURN(const FolderValidation validation,
                         ValidateFolder(WholeCopyOf(whole.sample()), folder,
                                        {.config_file = config, .weights = true}));
        return ReportOf(validation.report).ToJson().Dump();
      }));
}

// --- Pictures --------------------------------------------------------------------------------

std::string Page(const SampleObject& self, const std::string& title, int depth,
                 const std::string& module) {
  ModuleObject& object = Verified(self);
  return ValueOrRaise(
      LongCall(Locks(object), [&object, title, depth, module]() -> absl::StatusOr<std::string> {
        ASSIGN_OR_RETURN(const Picture picture,
                         MakePicture(object.module(), {.title = title, .module = module}));
        return WritePage(picture, LayOut(picture), {.depth = depth});
      }));
}

// Returns the readable text form, or the complete one.
std::string Show(const SampleObject& self, bool complete) {
  ModuleObject& object = self.get();
  object.LetChangesPass();
  return LongCall(Locks(object), [&object, complete] {
    return PrintSample(object.sample(),
                       complete ? PrintOptions::Complete() : PrintOptions::Readable());
  });
}

}  // namespace

void BindOperations(nb::module_& m) {
  m.attr("__version__") = kVersion;
  m.def("load", LoadSample, nb::arg("path"), nb::kw_only(), nb::arg("weights") = true,
        nb::arg("trust") = false, nb::arg("statistics") = false,
        "Loads and verifies the sample at a path, a file or a folder of any format. "
        "weights: also loads the real values, which stay in their file until they are "
        "read. trust: accepts a TorchScript archive without a check. statistics: "
        "describes inputs and attributes without a draw spec by their values.");
  m.def("load_bytes", LoadSampleBytes, nb::arg("bytes"), nb::arg("name") = "<bytes>", nb::kw_only(),
        nb::arg("weights") = true, nb::arg("trust") = false,
        "Loads a sample from bytes in memory. name: the name of the bytes in errors.");
  m.def("parse", ParseText, nb::arg("text"), nb::arg("name") = "<text>",
        "Reads a sample from the text form (docs/text.md).");
  m.def("save", SaveSample, nb::arg("sample"), nb::arg("path"), nb::kw_only(),
        nb::arg("format") = "", nb::arg("embed_weights") = false,
        "Writes a sample, whole or not at all, in the named format or that of the path's "
        "ending; without an ending as a GraphNet folder. Returns remarks on what was "
        "written.");
  m.def("to_bytes", SampleBytes, nb::arg("sample"), nb::arg("format") = "protobuf",
        "Returns the bytes that save would write, weights among them.");
  m.def("_exported_bytes", ExportedBytes, nb::arg("sample"), nb::arg("classes"));
  m.def("folder_files", FolderFiles, nb::arg("sample"),
        "Returns the files of the GraphNet folder that save would write, name to bytes.");
  m.def("_check_replaceable", CheckReplaceableBy, nb::arg("folder"), nb::arg("is_own"));
  m.def("formats", AllFormats, "Returns a dict for each format that load and save know.");
  m.def(
      "find_samples",
      [](nb::handle places) {
        std::vector<std::string> paths;
        for (const nb::handle place : TupleOf(places)) paths.push_back(PathOf(place));
        return ValueOrRaise(LongCall(Locks(), [paths] { return FindInputs(paths); }));
      },
      nb::arg("paths"), "Returns the paths of all samples at or below these, sorted within each.");

  m.def("_set_python_of_corpora", SetPythonOfCorpora, nb::arg("python"), nb::arg("package_folder"));
  m.def("_split_pipeline", SplitPipeline, nb::arg("text"));
  m.def("_run_passes", RunPasses, nb::arg("sample"), nb::arg("pipeline"), nb::arg("verify_each"));
  m.def("passes", PassList, "Returns a dict for each pass that a pipeline can name.");
  m.def(
      "_apply_rules",
      [](const SampleObject& self, const std::string& text, const std::string& name) {
        return RulesApplied(self.get(), text, name);
      },
      nb::arg("sample"), nb::arg("rules"), nb::arg("name"));
  m.def("find_matches", Matches, nb::arg("sample"), nb::arg("pattern"),
        nb::arg("where") = std::vector<std::string>(),
        "Finds the matches of a pattern (docs/optimising.md). Returns the nodes of each "
        "match; the first is the one that the pattern returns.");

  m.def("canonical_hash", Hash, nb::arg("sample"), nb::kw_only(), nb::arg("metas") = false,
        nb::arg("weights") = false,
        "Returns the canonical hash of what a sample computes, 64 hexadecimal digits. "
        "metas: dtypes, shapes and devices count, too. weights: real values count, too.");
  m.def("normal_form", Normalised, nb::arg("sample"),
        "Returns the sample in normal form. Programs that compute the same have the same "
        "normal form, as far as rules can tell (docs/hash.md).");
  m.def("_diff", Diff, nb::arg("a"), nb::arg("b"), nb::arg("metas"));

  m.def("_decompose", DecomposeSample, nb::arg("sample"), nb::arg("config"),
        nb::arg("folder").none(), nb::arg("as_folders"), nb::arg("python_layout"),
        nb::arg("infers"));
  m.def("_load_pieces", LoadPieces, nb::arg("folder"), nb::arg("weights"));
  m.def("_compose", Compose, nb::arg("pieces"), nb::arg("chain"), nb::arg("like").none());
  m.def("_validate_pieces", ValidatePieces, nb::arg("original"), nb::arg("pieces"),
        nb::arg("chain"));
  m.def("_validate_stored", ValidateStored, nb::arg("original"), nb::arg("folder"),
        nb::arg("config"));

  m.def("page", Page, nb::arg("sample"), nb::arg("title") = "", nb::arg("depth") = -1,
        nb::arg("module") = "",
        "Returns a page of HTML that shows the graph, or one module of it by its path, with pan, "
        "zoom, search and modules that fold; modules deeper than depth are folded at first.");
  m.def("show", Show, nb::arg("sample"), nb::kw_only(), nb::arg("complete") = false,
        "Returns the text form: readable, or complete, so that parse gives the same sample back.");
}

}  // namespace graphnet
