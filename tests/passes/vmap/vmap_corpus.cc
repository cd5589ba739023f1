// Runs the vmap passes on every GraphNet sample below a folder that contains vmap nesting, and runs
// the results:
//
//   vmap_corpus FOLDER [OUT]
//
// revert-vmap leaves no flat call, is idempotent, and flatten-vmap is its inverse; the
// folder form of the reverted sample is read back as it was written; expand-vmap
// leaves no vmap. What the nests yield is computed by the graph as it is, reverted,
// flattened again and expanded, on the same inputs, and compared bit for bit; nothing
// else of the sample is run, since most are too large to. With OUT, the part that is
// run is written there reverted and expanded, as GraphNet folders, for
// tests/pytorch/compare.py samples. Exits with 1 if anything failed.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/vmap/expand_vmap.h"
#include "graphnet/passes/vmap/flatten_vmap.h"
#include "graphnet/passes/vmap/revert_vmap.h"
#include "graphnet/passes/vmap/vmap_call.h"

namespace graphnet {
namespace {

using Outputs = std::vector<c10::IValue>;

size_t CountFlat(const Module& module) {
  size_t count = 0;
  for (const Graph* graph : module.graphs()) {
    for (const Node* node : graph->nodes())
      count += NestingCallOf(*node) != NestingCall::kNone ? 1 : 0;
  }
  return count;
}
size_t CountVmap(const Module& module) {
  size_t count = 0;
  for (const Graph* graph : module.graphs()) {
    for (const Node* node : graph->nodes()) count += IsVmapCall(*node) ? 1 : 0;
  }
  return count;
}

// Returns the names of the values that leave the outermost levels.
std::vector<std::string> ResultsOf(const Module& flat) {
  std::vector<std::string> names;
  int depth = 0;
  for (const Node* node : flat.main()->nodes()) {
    const NestingCall call = NestingCallOf(*node);
    if (call == NestingCall::kIncrement) ++depth;
    if (call == NestingCall::kDecrement) --depth;
    if (call == NestingCall::kRemove && depth == 1) names.emplace_back(node->name());
  }
  return names;
}

// Returns the part of a sample that yields the values of these names.
absl::StatusOr<Sample> PartOf(const Sample& sample, const Module& module,
                              const std::vector<std::string>& names) {
  Sample part;
  part.name = sample.name;
  part.graph_net_json = sample.graph_net_json;
  part.module = module.Clone();
  Graph* const graph = part.module->main();
  std::vector<Argument> results;
  for (const std::string& name : names) {
    Node* const node = graph->FindNode(name);
    if (node == nullptr) return absl::NotFoundError(absl::StrCat("no node ", name));
    results.push_back(node);
  }
  graph->EraseNode(graph->output());
  graph->Output(Argument::Tuple(results));
  // Keep only the nodes that they are computed from. Unused writes go, as they only fill masks.
  for (Node* node = graph->last(); node != nullptr;) {
    Node* const previous = node->prev();
    const NestingCall call = NestingCallOf(*node);
    const bool opens = call == NestingCall::kIncrement || call == NestingCall::kDecrement;
    if (!node->is_output() && !node->has_uses() && !opens) graph->EraseNode(node);
    node = previous;
  }
  part.module->EraseUnusedGraphs();
  RETURN_IF_ERROR(Verify(*part.module));
  return part;
}

absl::StatusOr<Outputs> Run(const Sample& sample) {
  ASSIGN_OR_RETURN(auto values, DrawInputs(sample, DrawOptions()));
  ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(*sample.module, std::move(values)));
  return prepared.executable->Run(std::move(prepared.inputs), {.seed = 0});
}

absl::Status CheckSame(const Outputs& a, const Outputs& b, absl::string_view what) {
  if (a.size() != b.size())
    return absl::FailedPreconditionError(absl::StrCat(what, ": other outputs"));
  for (size_t i = 0; i < a.size(); ++i) {
    const at::Tensor &s = a[i].toTensor(), &t = b[i].toTensor();
    if (s.scalar_type() != t.scalar_type() || !s.equal(t)) {
      return absl::FailedPreconditionError(absl::StrCat(what, ": output ", i, " differs"));
    }
  }
  return absl::OkStatus();
}

struct Row {
  size_t nests = 0;
  size_t levels = 0;
  size_t left = 0;
};

absl::StatusOr<Row> Check(const Sample& sample, const std::string& out) {
  Row row;
  const Module& flat = *sample.module;
  const std::vector<std::string> names = ResultsOf(flat);
  const auto reverted = flat.Clone();
  ASSIGN_OR_RETURN(const bool changed, RevertVmap(reverted.get()));
  RETURN_IF_ERROR(Verify(*reverted));
  row.nests = names.size();
  row.levels = CountVmap(*reverted);
  if (!changed || CountFlat(*reverted) != 0)
    return absl::FailedPreconditionError("flat calls are left");
  const std::string hash = CanonicalHash(*reverted);
  ASSIGN_OR_RETURN(const bool again, RevertVmap(reverted.get()));
  if (again || CanonicalHash(*reverted) != hash)
    return absl::FailedPreconditionError("not idempotent");

  const auto flattened = reverted->Clone();
  RETURN_IF_ERROR(FlattenVmap(flattened.get()).status());
  RETURN_IF_ERROR(Verify(*flattened));
  const auto back = flattened->Clone();
  RETURN_IF_ERROR(RevertVmap(back.get()).status());
  RETURN_IF_ERROR(Annotate(CheckEqual(*reverted, *back, {.names = true}), "revert(flatten(g))"));

  const auto expanded = reverted->Clone();
  PassRun notes;
  RETURN_IF_ERROR(ExpandVmap(expanded.get(), notes).status());
  RETURN_IF_ERROR(Verify(*expanded));
  row.left = CountVmap(*expanded);
  for (const PassNote& note : notes.notes()) std::printf("  note: %s\n", note.what.c_str());

  Sample whole;
  whole.name = sample.name;
  whole.graph_net_json = sample.graph_net_json;
  whole.module = reverted->Clone();
  ASSIGN_OR_RETURN(const Sample form, FolderFormOfSample(whole));
  ASSIGN_OR_RETURN(const GraphNetFileMap files, GraphNetFiles(whole));
  ASSIGN_OR_RETURN(const Sample read, ParseGraphNetFiles(files, sample.name));
  RETURN_IF_ERROR(Annotate(CheckEqual(*form.module, *read.module, {.names = true}), "read back"));

  ASSIGN_OR_RETURN(const Sample flat_part, PartOf(sample, flat, names));
  ASSIGN_OR_RETURN(const Outputs expected, Run(flat_part));
  const std::pair<const char*, const Module*> forms[] = {
      {"reverted", reverted.get()}, {"flattened", flattened.get()}, {"expanded", expanded.get()}};
  for (const auto& [what, module] : forms) {
    ASSIGN_OR_RETURN(const Sample part, PartOf(sample, *module, names));
    ASSIGN_OR_RETURN(const Outputs outputs, Run(part));
    RETURN_IF_ERROR(CheckSame(expected, outputs, what));
    if (!out.empty()) {
      RETURN_IF_ERROR(WriteGraphNetFolder(part, absl::StrCat(out, "/", what, "/", sample.name)));
    }
  }
  return row;
}

int Main(const std::string& root, const std::string& out) {
  std::vector<std::string> paths;
  for (auto it = std::filesystem::recursive_directory_iterator(root);
       it != std::filesystem::end(it); ++it) {
    if (!it->is_directory() || !IsGraphNetFolder(it->path().string())) continue;
    paths.push_back(it->path().string());
    it.disable_recursion_pending();
  }
  std::sort(paths.begin(), paths.end());
  if (!out.empty()) {
    for (const char* what : {"reverted", "flattened", "expanded"}) {
      std::filesystem::create_directories(absl::StrCat(out, "/", what));
    }
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  size_t samples = 0, nests = 0, levels = 0, failures = 0;
  for (const std::string& path : paths) {
    const auto sample = ReadGraphNetFolder(path);
    if (!sample.ok()) {
      std::printf("%s\n", std::string(sample.status().message()).c_str());
      ++failures;
      continue;
    }
    const size_t before = CountFlat(*sample->module);
    if (before == 0) continue;
    ++samples;
    const auto row = Check(*sample, out);
    if (!row.ok()) {
      std::printf("FAILED %s: %s\n", path.c_str(), std::string(row.status().message()).c_str());
      ++failures;
      continue;
    }
    nests += row->nests;
    levels += row->levels;
    if (row->left != 0) ++failures;
    std::printf("%-60s %zu nests, %zu levels, %zu flat calls, %zu vmap left\n",
                sample->name.c_str(), row->nests, row->levels, before, row->left);
  }
  std::printf("%zu samples, %zu nests, %zu levels, %zu failures\n", samples, nests, levels,
              failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: vmap_corpus FOLDER [OUT]\n");
    return 2;
  }
  return graphnet::Main(argv[1], argc > 2 ? argv[2] : "");
}
