#include "graphnet/validate/folder.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/decomposer.h"
#include "graphnet/decompose/folder.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ops/callable.h"

namespace graphnet {
namespace {

std::string RangeText(const Range& range) {
  return absl::StrCat("[", range.start, ", ", range.end, ")");
}

// Parses the range in a name "…_start3_end7_<i>".
std::optional<Range> RangeOfName(absl::string_view name) {
  const size_t start = name.rfind("_start");
  const size_t end = name.rfind("_end");
  const size_t number = name.rfind('_');
  if (start == absl::string_view::npos || end == absl::string_view::npos || end < start ||
      number <= end)
    return {};
  Range range;
  if (!absl::SimpleAtoi(name.substr(start + 6, end - start - 6), &range.start) ||
      !absl::SimpleAtoi(name.substr(end + 4, number - end - 4), &range.end)) {
    return {};
  }
  return range;
}

// The content of subgraph_sources.json in a piece's folder: {parent: [[3, 7]]}.
struct Source {
  std::string parent;
  Range range = {-1, -1};
};
constexpr char kSources[] = "subgraph_sources.json";

// Reads subgraph_sources.json. Returns nullopt if there is none, and a Source without parent and
// range if it has another form.
std::optional<Source> SourceOf(const Sample& piece) {
  const auto it = piece.extra_files.find(kSources);
  if (it == piece.extra_files.end()) return std::nullopt;
  const Json json = Json::Parse(it->second);
  if (json.members().size() != 1) return Source();
  const auto& [parent, value] = json.members()[0];
  const auto ranges = value.To<std::vector<std::vector<int64_t>>>();
  if (!ranges || ranges->size() != 1 || (*ranges)[0].size() != 2) return Source();
  return Source{parent, {(*ranges)[0][0], (*ranges)[0][1]}};
}

// Returns whether a folder may call `wanted` by this `name`: it appends a number to names that have
// a meaning in Python.
bool IsVariantOf(absl::string_view name, absl::string_view wanted) {
  if (name == wanted) return true;
  return absl::ConsumePrefix(&name, wanted) && absl::ConsumePrefix(&name, "_") && !name.empty() &&
         name.find_first_not_of("0123456789") == absl::string_view::npos;
}

class FolderCheck {
 public:
  FolderCheck(Sample original, const FolderValidationOptions& options) : options_(options) {
    out_.original = std::move(original);
  }

  absl::StatusOr<FolderValidation> Run(const std::string& folder) {
    ValidationReport& report = out_.report;
    report.original_operators = NumOperators(*out_.original.module->main());
    const absl::StatusOr<DecompositionFiles> files = FindDecomposition(folder);
    if (!files.ok()) {
      report.Add(ErrorClass::kLayout, -1, "", std::string(files.status().message()));
      return std::move(out_);
    }
    files_ = *files;
    CheckNumbers();
    RETURN_IF_ERROR(ReadConfig());
    ReadPieces();
    if (!report.ok()) {
      out_.pieces.clear();
      return std::move(out_);
    }
    RETURN_IF_ERROR(BringIntoForm());
    if (config_.has_value()) {
      out_.options.cut = config_->cut;
      CheckConfig();
      ApplyConfig(*config_, absl::MakeSpan(out_.pieces));
      CheckRecords();
    } else {
      BindForeign();
    }
    if (report.ok()) FillGaps();
    out_.options.weights = options_.weights && !in_folders_;
    ValidationReport structure = ValidateStructure(out_.original, out_.pieces, out_.options);
    report.original_operators = structure.original_operators;
    report.piece_operators = std::move(structure.piece_operators);
    for (Finding& finding : structure.findings) AddFound(std::move(finding));
    for (Reading& reading : structure.readings) report.readings.push_back(std::move(reading));
    return std::move(out_);
  }

 private:
  void Add(ErrorClass error, int64_t piece, absl::string_view where, std::string message) {
    out_.report.Add(error, static_cast<int>(piece), where, std::move(message));
  }

  // Adds a finding of ValidateStructure. Pieces that fill gaps have no number, and errors that the
  // configuration has shown are not repeated.
  void AddFound(Finding finding) {
    const int i = finding.piece;
    finding.piece = i < 0 || numbers_.empty() ? i : numbers_[static_cast<size_t>(i)];
    for (const Finding& other : out_.report.findings) {
      if (other.error == ErrorClass::kConfig && finding.error == ErrorClass::kConfig) return;
    }
    Add(finding.error, finding.piece, finding.where, std::move(finding.message));
  }

  // --- E1 ----------------------------------------------------------------------
  void CheckNumbers() {
    int64_t expected = 0;
    for (const auto& [number, name] : files_.pieces) {
      for (; expected < number && out_.report.findings.size() < kMaxFindings; ++expected) {
        Add(ErrorClass::kLayout, expected, "",
            absl::StrCat("is missing: no such sample in ", Printable(files_.folder, 1000),
                         WhatIsThere(expected)));
      }
      expected = number + 1;
    }
  }

  // Describes a folder of that number that is not a sample.
  std::string WhatIsThere(int64_t number) const {
    const absl::StatusOr<std::vector<std::string>> names = ListFolder(files_.folder);
    if (!names.ok()) return "";
    for (const std::string& name : *names) {
      if (absl::EndsWith(name, absl::StrCat("_", number)) &&
          IsFolder(JoinPath(files_.folder, name))) {
        return absl::StrCat("; ", Printable(name), " has no graph_net.json");
      }
    }
    return "";
  }

  void ReadPieces() {
    for (const auto& [number, name] : files_.pieces) {
      const std::string path = JoinPath(files_.folder, name);
      absl::StatusOr<Sample> piece = ReadPiece(path, options_.weights);
      if (!piece.ok()) {
        Add(ErrorClass::kLayout, number, name, std::string(piece.status().message()));
        continue;
      }
      in_folders_ |= IsFolder(path);
      out_.pieces.push_back(*std::move(piece));
      names_.push_back(name);
    }
  }

  // --- E2 ----------------------------------------------------------------------
  absl::Status ReadConfig() {
    const bool given = !options_.config_file.empty();
    const std::string& path = given ? options_.config_file : files_.config;
    if (path.empty()) return absl::OkStatus();
    absl::StatusOr<DecomposeConfig> config = ReadDecomposeConfig(path);
    if (given) RETURN_IF_ERROR(config.status());
    if (!config.ok()) {
      Add(ErrorClass::kConfig, -1, BaseName(path), std::string(config.status().message()));
    } else if (!config->is_done()) {
      Add(ErrorClass::kConfig, -1, BaseName(path),
          absl::StrCat(Printable(path, 1000),
                       ": asks for a decomposition, but does not list its pieces"));
    } else {
      config_ = *std::move(config);
    }
    return absl::OkStatus();
  }

  void ConfigSays(int64_t piece, absl::string_view where, absl::string_view message) {
    Add(ErrorClass::kConfig, piece, where, absl::StrCat("the configuration says ", message));
  }

  void CheckConfig() {
    const DecomposeConfig& config = *config_;
    const auto operators = [](int64_t n) {
      return absl::StrCat(n, n == 1 ? " operator" : " operators");
    };
    if (config.num_ops != out_.report.original_operators) {
      ConfigSays(-1, "num_ops",
                 absl::StrCat("that the original has ", operators(config.num_ops), ", but it has ",
                              out_.report.original_operators));
    }
    if (config.model_name != out_.original.name) {
      ConfigSays(-1, "model_name",
                 absl::StrCat("that the original is ", Printable(config.model_name), ", not ",
                              Printable(out_.original.name)));
    }
    if (config.parent_hash != hash_)
      ConfigSays(-1, "parent_hash", "that the original is another graph than this one");
    if (config.subgraphs.size() != out_.pieces.size()) {
      ConfigSays(-1, "num_subgraphs",
                 absl::StrCat("that there are ", config.subgraphs.size(), " pieces, but there are ",
                              out_.pieces.size()));
    }
    PortNames ports(config);
    for (size_t i = 0; i < std::min(config.subgraphs.size(), out_.pieces.size()); ++i) {
      ports.Next();
      const SubgraphConfig& subgraph = config.subgraphs[i];
      const Graph& graph = *out_.pieces[i].module->main();
      const auto piece = static_cast<int64_t>(i);
      const int64_t size = NumOperators(graph);
      if (subgraph.range.end - subgraph.range.start != size) {
        ConfigSays(piece, "num_ops",
                   absl::StrCat("that it is the range ", RangeText(subgraph.range), ", of ",
                                operators(subgraph.range.end - subgraph.range.start),
                                ", but it has ", size));
      }
      for (const Provenance& from : out_.pieces[i].provenance) {
        CheckRange(piece, subgraph.range, {from.start, from.end}, "the piece");
      }
      if (in_folders_) CheckSource(piece, subgraph.range);
      CheckNames(piece, "input", ports.inputs(), graph.placeholders());
      CheckNames(piece, "output", ports.outputs(), graph.output()->operands());
    }
    if (out_.report.ok()) CheckPlan();
    if (out_.report.ok()) CheckReplay();
  }

  void CheckRange(int64_t piece, const Range& said, const Range& other, absl::string_view who) {
    if (said == other) return;
    ConfigSays(piece, "range",
               absl::StrCat("that it is the range ", RangeText(said), ", but ", who, " says ",
                            RangeText(other)));
  }

  void CheckSource(int64_t piece, const Range& said) {
    const std::optional<Source> source = SourceOf(out_.pieces[static_cast<size_t>(piece)]);
    if (!source.has_value())
      return Add(ErrorClass::kConfig, piece, kSources, absl::StrCat("has no ", kSources));
    CheckRange(piece, said, source->range, absl::StrCat("its ", kSources));
    // Compare the names as JSON writes them, which replaces bytes that are not UTF-8.
    if (Json(source->parent).Dump() == Json(config_->model_name).Dump()) return;
    Add(ErrorClass::kConfig, piece, kSources,
        absl::StrCat("its ", kSources, " says that it is of ", Printable(source->parent),
                     ", not of ", Printable(config_->model_name)));
  }

  void CheckNames(int64_t piece, absl::string_view what, absl::Span<const absl::string_view> said,
                  const std::vector<Node*>& nodes) {
    if (said.size() != nodes.size()) {
      ConfigSays(
          piece, what,
          absl::StrCat("that it has ", said.size(), " ", what, "s, but it has ", nodes.size()));
      return;
    }
    for (size_t k = 0; k < nodes.size(); ++k) {
      const bool same =
          in_folders_ ? IsVariantOf(nodes[k]->name(), said[k]) : nodes[k]->name() == said[k];
      if (same) continue;
      ConfigSays(piece, nodes[k]->name(),
                 absl::StrCat("that ", what, " ", k, " is ", ValueName(said[k]), ", but it is ",
                              ValueName(nodes[k]->name())));
      return;
    }
  }

  // Checks that the scheme and its parameters yield the listed ranges.
  void CheckPlan() {
    std::vector<Range> listed;
    for (const SubgraphConfig& subgraph : config_->subgraphs) listed.push_back(subgraph.range);
    if (config_->mode == DecomposeMode::kBalanced) {
      // The balance may have used sizes of values that are not recorded.
      if (static_cast<int64_t>(listed.size()) > config_->number) {
        ConfigSays(-1, "pieces",
                   absl::StrCat("that ", config_->number, " pieces were asked for, but lists ",
                                listed.size()));
      }
      return;
    }
    const absl::StatusOr<std::vector<Range>> planned = PlanRanges(out_.original, *config_);
    const absl::string_view mode = DecomposeModeName(config_->mode);
    if (!planned.ok()) {
      ConfigSays(-1, mode, absl::StrCat("something impossible: ", planned.status().message()));
      return;
    }
    for (size_t i = 0; i < std::max(planned->size(), listed.size()); ++i) {
      const std::string there = i < listed.size() ? RangeText(listed[i]) : "nothing";
      const std::string wanted = i < planned->size() ? RangeText((*planned)[i]) : "nothing";
      if (there == wanted) continue;
      ConfigSays(
          i < listed.size() ? static_cast<int64_t>(i) : -1, mode,
          absl::StrCat("that ", there, " is subgraph ", i, ", but its scheme gives ", wanted));
      return;
    }
  }

  // Checks that this cut yields the listed ports. By names alone, pieces could also be joined in
  // other ways.
  void CheckReplay() {
    std::vector<Range> ranges;
    for (const SubgraphConfig& subgraph : config_->subgraphs) ranges.push_back(subgraph.range);
    const absl::StatusOr<std::vector<Sample>> cut = CutRanges(out_.original, ranges, config_->cut);
    if (!cut.ok())
      return ConfigSays(-1, "", absl::StrCat("something impossible: ", cut.status().message()));
    PortNames ports(*config_);
    for (size_t i = 0; i < std::min(cut->size(), config_->subgraphs.size()); ++i) {
      ports.Next();
      const Graph& graph = *(*cut)[i].module->main();
      CheckOrder(i, "input", ports.inputs(), graph.placeholders());
      CheckOrder(i, "output", ports.outputs(), graph.output()->operands());
    }
  }

  void CheckOrder(size_t i, absl::string_view what, absl::Span<const absl::string_view> said,
                  const std::vector<Node*>& cut) {
    for (size_t k = 0; k < std::max(said.size(), cut.size()); ++k) {
      const std::string there = k < said.size() ? ValueName(said[k]) : "missing";
      const std::string wanted = k < cut.size() ? ValueName(cut[k]->name()) : "none";
      if (there == wanted) continue;
      ConfigSays(
          static_cast<int64_t>(i), k < said.size() ? said[k] : what,
          absl::StrCat("that ", what, " ", k, " is ", there, ", but the cut gives ", wanted));
      return;
    }
  }

  // Checks the records that our pieces keep of the original and of themselves.
  void CheckRecords() {
    for (size_t i = 0; i < out_.pieces.size(); ++i) {
      const Sample& piece = out_.pieces[i];
      const auto number = static_cast<int64_t>(i);
      if (!original_json_.empty() && piece.graph_net_json != original_json_) {
        Add(ErrorClass::kGraph, number, "graph_net.json", "graph_net.json is not the original's");
      }
      const bool symbols = in_folders_ && !piece.module->symbols().empty();
      const bool lacks = !piece.has_constraints && (needs_constraints_ || symbols);
      if (lacks || (piece.has_constraints && !may_have_constraints_ && !symbols)) {
        Add(ErrorClass::kGraph, number, "input_tensor_constraints.py",
            absl::StrCat(lacks ? "lacks" : "has",
                         " constraints of its inputs, unlike the original"));
      }
      if (in_folders_ && piece.graph_hash != hashes_[i]) {
        Add(ErrorClass::kLayout, number, "graph_hash.txt",
            "graph_hash.txt is not the hash of its graph");
      }
    }
  }

  // --- The form of the original --------------------------------------------------
  absl::Status BringIntoForm() {
    original_json_ = out_.original.graph_net_json;
    needs_constraints_ = may_have_constraints_ = out_.original.has_constraints;
    if (in_folders_) {
      out_.options.equality.locations = false;
      for (const Sample& piece : out_.pieces) hashes_.push_back(CanonicalHash(*piece.module));
    }
    // Ranges count the operators of the graph that was cut.
    const bool lift = in_folders_ && !out_.original.module->attributes().empty();
    if (!lift) hash_ = CanonicalHash(*out_.original.module);
    if (in_folders_) {
      ASSIGN_OR_RETURN(Sample form, FolderFormOfSample(out_.original, /*keep_module_paths=*/true));
      if (lift) {
        hash_ = CanonicalHash(*form.module);
        out_.report.original_operators = NumOperators(*form.module->main());
      }
      // The form has constraints if the graph has symbols, whatever it was read from. A piece
      // without symbols does not need them if it was cut from a graph that was not in a folder.
      may_have_constraints_ = form.has_constraints;
      if (lift) needs_constraints_ = form.has_constraints;
      form.provenance = out_.original.provenance;
      form.weights = std::move(out_.original.weights);
      if (!lift) KeepNames(*out_.original.module->main(), form.module->main());
      out_.with_metas = std::move(out_.original.module);
      out_.options.known = out_.with_metas->main();
      out_.original = std::move(form);
    }
    return absl::OkStatus();
  }

  // Restores the names that values had before they were in a folder, which the configuration uses.
  void KeepNames(const Graph& from, Graph* form) {
    const Node* node = from.first();
    for (Node* copy : form->nodes()) {
      if (node == nullptr) return;
      if (copy->name() != node->name()) {
        // Operators in pieces may have been renamed.
        if (IsOperator(*copy)) out_.options.equality.names = false;
        copy->set_name(node->name());
      }
      node = node->next();
    }
  }

  // --- Pieces of other tools -----------------------------------------------------
  void BindForeign() {
    bool ours = false;
    for (size_t i = 0; i < out_.pieces.size(); ++i) {
      ours |= !out_.pieces[i].provenance.empty() ||
              (absl::StartsWith(names_[i], "subgraph_") && SourceOf(out_.pieces[i]).has_value());
    }
    if (ours) {
      Add(ErrorClass::kConfig, -1, "",
          absl::StrCat(Printable(files_.folder, 1000),
                       ": the configuration beside the pieces is missing"));
    } else {
      out_.report.notes.push_back(
          "without a configuration, the number and the sizes of the pieces are not checked");
    }
    out_.options.foreign = true;
    ReadNumbers();
    for (size_t i = 0; i < out_.pieces.size(); ++i) {
      const std::optional<Range> range = RangeOfName(names_[i]);
      if (!range.has_value()) continue;
      if (const int64_t size = NumOperators(*out_.pieces[i].module->main());
          range->end - range->start != size) {
        Add(ErrorClass::kConfig, static_cast<int64_t>(i), "",
            absl::StrCat(Printable(names_[i]), " is named after ", range->end - range->start,
                         " operators, but it has ", size));
      }
      out_.pieces[i].provenance = {{out_.original.name, hash_, range->start, range->end}};
    }
    out_.options.cut.style = LooksLikeChain() ? Style::kChain : Style::kDag;
    if (out_.options.cut.style == Style::kDag) BindByName();
  }

  // Where the original has a number (torch.SymInt), other tools hand on a tensor without
  // dimensions, and a piece may read it by .item(), which the original has not: its input stands
  // for the number then.
  void ReadNumbers() {
    const Graph& original = *out_.original.module->main();
    for (Sample& piece : out_.pieces) {
      Graph* const graph = piece.module->main();
      std::vector<Node*> reads;
      for (Node* node : graph->nodes()) {
        if (!node->is_call() || BareName(*node) != "item" || node->args().size() != 1) continue;
        const Argument& read = node->args()[0];
        if (!read.is_node() || !read.node()->is_placeholder()) continue;
        const TensorMeta* const meta = read.node()->tensor_meta();
        const bool is_number = meta != nullptr && meta->has_shape && meta->shape.empty() &&
                               !IsFloatingPoint(meta->dtype);
        const Node* const there = original.FindNode(node->name());
        if (is_number && (there == nullptr || BareName(*there) != "item")) reads.push_back(node);
      }
      for (Node* node : reads) {
        Node* const number = node->args()[0].node();
        node->ReplaceAllUsesWith(number);
        graph->EraseNode(node);
        out_.report.ReadAsEqual("size", ValueName(number->name()),
                                absl::StrCat(ValueName(number->name()), ".item()"));
      }
    }
  }

  // Returns whether each piece takes by position what the piece before returns. A piece that
  // returns one of its inputs belongs to a chain: in a DAG, others take such a value from its
  // origin.
  bool LooksLikeChain() const {
    absl::flat_hash_set<absl::string_view> known;
    for (const Node* input : out_.original.module->main()->placeholders())
      known.insert(input->name());
    bool hands_on = false;
    bool fits = true;
    for (size_t i = 0; i + 1 < out_.pieces.size(); ++i) {
      const std::vector<Node*> outputs = out_.pieces[i].module->main()->output()->operands();
      const std::vector<Node*> inputs = out_.pieces[i + 1].module->main()->placeholders();
      hands_on |= absl::c_any_of(outputs, [](const Node* node) { return node->is_placeholder(); });
      fits &= inputs.size() == outputs.size();
      for (const Node* output : outputs) known.insert(output->name());
      for (size_t k = 0; k < std::min(inputs.size(), outputs.size()); ++k) {
        fits &= inputs[k]->name() == outputs[k]->name() || !known.contains(inputs[k]->name());
      }
    }
    return fits || hands_on;
  }

  // Renames inputs whose names nothing has to the outputs of the piece before that are not taken by
  // name.
  void BindByName() {
    absl::flat_hash_set<std::string> known;
    for (const Node* input : out_.original.module->main()->placeholders())
      known.emplace(input->name());
    for (size_t i = 0; i < out_.pieces.size(); ++i) {
      Graph* graph = out_.pieces[i].module->main();
      absl::flat_hash_set<std::string> asked;
      std::vector<Node*> unknown;
      for (Node* input : graph->placeholders()) {
        asked.emplace(input->name());
        if (!known.contains(input->name())) unknown.push_back(input);
      }
      if (!unknown.empty() && i > 0) {
        std::vector<std::string> left;
        for (const Node* output : out_.pieces[i - 1].module->main()->output()->operands()) {
          if (!asked.contains(output->name())) left.emplace_back(output->name());
        }
        if (left.size() == unknown.size()) {
          for (size_t k = 0; k < left.size(); ++k) {
            // An operator inside the piece may have that name.
            if (Node* other = graph->FindNode(left[k]))
              other->set_name(absl::StrCat(left[k], "_inside"));
            unknown[k]->set_name(left[k]);
          }
        }
      }
      for (const Node* output : graph->output()->operands()) known.emplace(output->name());
    }
  }

  // --- Gaps ----------------------------------------------------------------------
  // If all pieces state their ranges, cuts the other ranges out of the original.
  void FillGaps() {
    const int64_t n = out_.report.original_operators;
    std::vector<Range> gaps;
    int64_t end = 0;
    for (const Sample& piece : out_.pieces) {
      if (piece.provenance.size() != 1) return;
      const Provenance& from = piece.provenance[0];
      if (from.start < end || from.end < from.start || from.end > n) return;
      if (from.start > end) gaps.push_back({end, from.start});
      end = from.end;
    }
    if (end < n) gaps.push_back({end, n});
    if (gaps.empty()) return;
    for (const Range& gap : gaps) {
      out_.report.notes.push_back(
          absl::StrCat("operators ", RangeText(gap), " are in no piece and are not validated"));
    }
    std::vector<Sample> filled;
    ObservedValues known;
    if (out_.with_metas != nullptr) known.module = out_.with_metas->Clone();
    const auto cut_out = [&](const std::vector<Range>& ranges, const CutOptions& cut) {
      absl::StatusOr<std::vector<Sample>> pieces = CutRanges(out_.original, ranges, cut, &known);
      if (!pieces.ok())
        return Add(ErrorClass::kConfig, -1, "", std::string(pieces.status().message()));
      for (Sample& piece : *pieces) filled.push_back(std::move(piece));
    };
    if (out_.options.cut.style == Style::kDag) {
      out_.options.cut.all_inputs = false;  // No single piece takes them all.
      cut_out(gaps, out_.options.cut);
    } else {
      for (const Range& gap : gaps) {
        CutOptions cut = out_.options.cut;
        cut.all_inputs &= gap.start == 0;
        cut_out({gap}, cut);
        if (cut.all_inputs && !filled.empty()) ReturnAllInputs(filled.back().module->main());
      }
    }
    if (filled.size() != gaps.size()) return;
    for (size_t i = 0; i < out_.pieces.size(); ++i) numbers_.push_back(static_cast<int>(i));
    for (Sample& piece : filled) {
      const auto at =
          std::find_if(out_.pieces.begin(), out_.pieces.end(), [&](const Sample& other) {
            return other.provenance[0].start >= piece.provenance[0].end;
          });
      numbers_.insert(numbers_.begin() + (at - out_.pieces.begin()), -1);
      out_.pieces.insert(at, std::move(piece));
    }
  }

  // Makes a head return all its inputs: a chain that begins after it takes all of them, used or
  // not.
  static void ReturnAllInputs(Graph* head) {
    std::vector<Argument> values;
    for (Node* input : head->placeholders()) values.push_back(input);
    for (Node* output : head->output()->operands()) {
      if (!output->is_placeholder()) values.push_back(output);
    }
    head->output()->set_args({Argument::Tuple(values)});
  }

  const FolderValidationOptions& options_;
  FolderValidation out_;
  DecompositionFiles files_;
  std::vector<std::string> names_;  // of the pieces' files
  std::optional<DecomposeConfig> config_;
  bool in_folders_ = false;
  std::string hash_;  // of the graph that was cut
  std::string original_json_;
  // True if each piece must have constraints of its inputs, and if it may have them.
  bool needs_constraints_ = false;
  bool may_have_constraints_ = false;
  std::vector<std::string> hashes_;  // of pieces in folders, as read
  std::vector<int> numbers_;         // of the pieces, if there are gaps
};

}  // namespace

absl::StatusOr<FolderValidation> ValidateFolder(Sample original, const std::string& folder,
                                                const FolderValidationOptions& options) {
  if (original.module == nullptr || original.module->main() == nullptr) {
    return absl::InvalidArgumentError("the original has no graph");
  }
  return FolderCheck(std::move(original), options).Run(folder);
}

}  // namespace graphnet
