#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/description.h"
#include "graphnet/ir/text/printer.h"

namespace graphnet {
namespace {

// Escapes text for a cell of a table.
std::string Cell(absl::string_view text) {
  return absl::StrReplaceAll(Printable(text, 300), {{"|", "\\|"}});
}

// Quotes text as code.
std::string Code(absl::string_view text) {
  const std::string cell = Cell(text);
  return absl::StrContains(cell, "`") ? absl::StrCat("`` ", cell, " ``")
                                      : absl::StrCat("`", cell, "`");
}

std::string ShapeOf(const TensorGuard& guard) {
  std::string sizes;
  for (size_t i = 0; i < guard.sizes.size(); ++i) {
    const bool symbolic = i < guard.symbolic.size() && !guard.symbolic[i].empty();
    absl::StrAppend(&sizes, i > 0 ? ", " : "",
                    symbolic ? guard.symbolic[i] : absl::StrCat(guard.sizes[i]));
  }
  return absl::StrCat(std::string(DTypeShortName(guard.dtype)), "[", sizes, "]");
}

// Returns an input in the form of --input: `f32[8,3]`, `list(f32[2],f32[3])`, `int=2`.
std::string Describe(const ValueTree& tree, const StitchManifest& manifest) {
  using Kind = ValueTree::Kind;
  const auto elements = [&] {
    return absl::StrJoin(tree.elements, ", ", [&](std::string* out, const ValueTree& element) {
      absl::StrAppend(out, Describe(element, manifest));
    });
  };
  switch (tree.kind) {
    case Kind::kTensor: {
      const auto it = manifest.tensors.find(tree.number);
      return it == manifest.tensors.end() ? "a tensor" : ShapeOf(it->second);
    }
    case Kind::kList: return absl::StrCat("list(", elements(), ")");
    case Kind::kTuple: return absl::StrCat("tuple(", elements(), ")");
    case Kind::kDict: {
      std::string entries;
      for (size_t i = 0; i + 1 < tree.elements.size(); i += 2) {
        absl::StrAppend(&entries, i > 0 ? ", " : "", PrintValueTree(tree.elements[i]), ": ",
                        Describe(tree.elements[i + 1], manifest));
      }
      return absl::StrCat("dict(", entries, ")");
    }
    case Kind::kObject: return "an object";
    default: return PrintValueTree(tree);
  }
}

std::string Count(size_t count, absl::string_view what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

std::string PlaceOf(const StitchStep& step) {
  if (step.line == 0) return "";
  std::string place = Code(absl::StrCat(step.file, ":", step.line));
  if (const absl::string_view source = absl::StripAsciiWhitespace(step.source); !source.empty())
    absl::StrAppend(&place, " ", Code(source));
  return place;
}

// Returns the shapes of up to three inputs or outputs of a graph.
std::string Metas(const std::vector<const Node*>& nodes) {
  std::string out = absl::StrCat(nodes.size());
  for (size_t i = 0; i < nodes.size() && i < 3; ++i) {
    absl::StrAppend(&out, i == 0 ? ": " : ", ");
    if (nodes[i] == nullptr || nodes[i]->tensor_meta() == nullptr) {
      absl::StrAppend(&out, nodes[i] == nullptr ? "?" : Cell(nodes[i]->name()));
      continue;
    }
    std::string meta = PrintTensorMeta(*nodes[i]->tensor_meta());
    meta.resize(std::min(meta.find('@'), meta.size()));
    absl::StrAppend(&out, Cell(meta));
  }
  return nodes.size() > 3 ? absl::StrCat(out, ", …") : out;
}

std::string Signature(const ExtractedProgram& program, size_t subgraph) {
  if (subgraph >= program.subgraphs.size()) return "? | ?";
  const Graph& graph = *program.subgraphs[subgraph].module->main();
  const std::vector<Node*> placeholders = graph.placeholders();
  std::vector<const Node*> outputs;
  if (const Node* output = graph.output(); output != nullptr && output->args()[0].is_tuple()) {
    for (const Argument& value : output->args()[0].elements())
      outputs.push_back(value.is_node() ? value.node() : nullptr);
  }
  return absl::StrCat(Metas({placeholders.begin(), placeholders.end()}), " | ", Metas(outputs));
}

// Returns what ends a subgraph before step `i`: the end, the next subgraph, or a break.
std::string EndOf(const StitchManifest& manifest, size_t i) {
  if (i >= manifest.steps.size()) return "the end";
  const StitchStep& step = manifest.steps[i];
  if (step.subgraph >= 0) return "the next subgraph";
  return absl::StrCat(std::string(TextOf(step.reason).name), " ", PlaceOf(step));
}

}  // namespace

std::string StitchReadme(const ExtractedProgram& program, const std::vector<SubgraphFiles>& files) {
  const StitchManifest& manifest = program.manifest;
  size_t operations = 0;
  for (const StitchStep& step : manifest.steps) operations += step.subgraph < 0 ? 1 : 0;
  std::string out = absl::StrCat(
      "# ", Cell(manifest.name), "\n\nThe TorchScript program ",
      manifest.archive.empty() ? "" : absl::StrCat(Code(manifest.archive), " "), "as ",
      Count(manifest.subgraphs.size(), "graph"), " and ", Count(operations, "operation"),
      " between them, as `graphnet extract` captured it on example inputs. It takes\n\n");
  if (manifest.inputs.empty()) absl::StrAppend(&out, "- nothing\n");
  for (const auto& input : manifest.inputs) {
    absl::StrAppend(&out, "- ", Code(input.name), ": ", Code(Describe(input.pattern, manifest)),
                    input.after ? ", which it changes" : "", "\n");
  }
  absl::StrAppend(&out,
                  "\nNumbers and strings among them are part of the capture: other values are "
                  "refused, and so are "
                  "other shapes.\n");
  if (!manifest.symbols.empty()) {
    absl::StrAppend(&out, "\nSizes may be any for which this holds:\n\n");
    for (const auto& symbol : manifest.symbols)
      absl::StrAppend(&out, "- ", Code(symbol.name), ", ", symbol.example, " in the example\n");
    for (const auto& relation : manifest.relations) {
      absl::StrAppend(&out, "- ", Code(relation.text));
      if (relation.line > 0)
        absl::StrAppend(&out, ", by ", Code(absl::StrCat(relation.file, ":", relation.line)));
      absl::StrAppend(&out, "\n");
    }
  }
  absl::StrAppend(&out,
                  "\n## Running it\n\n```\n"
                  "graphnet run . --inputs x.safetensors --outputs y.safetensors\n"
                  "python run_stitched.py --inputs x.safetensors --outputs y.safetensors\n```\n\n"
                  "Both give the same bits as the archive. Inputs without a file are drawn. In "
                  "Python, with this folder on the path:\n\n```python\n"
                  "from run_stitched import load\nprogram = load()\nresult = program(",
                  absl::StrJoin(manifest.inputs, ", ",
                                [](std::string* text, const auto& input) {
                                  absl::StrAppend(text, Printable(input.name));
                                }),
                  ")\n```\n");
  for (size_t i = 0; i < files.size(); ++i) {
    if (!files[i].why_not.empty())
      absl::StrAppend(&out, "\nPython cannot run ", manifest.subgraphs[i].name, ": ",
                      Cell(files[i].why_not), ".\n");
  }

  absl::StrAppend(&out,
                  "\n## Subgraphs\n\n| subgraph | file | calls | inputs | outputs | ended by |\n"
                  "|---|---|---|---|---|---|\n");
  for (size_t i = 0; i < manifest.steps.size(); ++i) {
    if (manifest.steps[i].subgraph < 0) continue;
    const size_t index = static_cast<size_t>(manifest.steps[i].subgraph);
    const StitchManifest::Subgraph& subgraph = manifest.subgraphs[index];
    absl::StrAppend(
        &out, "| ", subgraph.name, " | ", index < files.size() ? Code(files[index].sample) : "",
        " | ", subgraph.num_calls, " | ", Signature(program, index), " | ", EndOf(manifest, i + 1),
        subgraph.duplicate_of < 0
            ? ""
            : absl::StrCat("; the same graph as subgraph_", subgraph.duplicate_of),
        " |\n");
  }
  if (operations > 0) {
    absl::StrAppend(&out,
                    "\n## Between them\n\n| after | operation | gives | reason | place |\n"
                    "|---|---|---|---|---|\n");
  }
  std::string after = "the beginning";
  for (const StitchStep& step : manifest.steps) {
    if (step.subgraph >= 0) {
      after = manifest.subgraphs[static_cast<size_t>(step.subgraph)].name;
      continue;
    }
    const auto print = [](std::string* text, const ValueTree& tree) {
      absl::StrAppend(text, PrintValueTree(tree));
    };
    absl::StrAppend(
        &out, "| ", after, " | ",
        Code(absl::StrCat(step.op, "(", absl::StrJoin(step.operands, ", ", print), ")")), " | ",
        step.results.empty() ? "" : Code(absl::StrJoin(step.results, ", ", print)), " | ",
        step.reason == BreakReason::kNone ? "" : std::string(TextOf(step.reason).name), " | ",
        PlaceOf(step), " |\n");
  }
  absl::StrAppend(
      &out,
      "\n`v3` is tensor or number 3 of `stitch.json`, which says where each comes from, "
      "in which order the steps run, and which values they expect. `stitch.pb` is the file that "
      "`graphnet run` reads.\n");
  return out;
}

}  // namespace graphnet
