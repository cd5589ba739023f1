// The row of a graph in a corpus: what an index, a search for duplicates and a reader need of it.
//
//   ASSIGN_OR_RETURN(const Sample sample, Load("resnet18"));
//   ASSIGN_OR_RETURN(const CorpusRow row, MakeRow(sample));
//
// docs/corpus.md explains the columns.
#ifndef GRAPHNET_CORPUS_ROW_H_
#define GRAPHNET_CORPUS_ROW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// The version of the columns that MakeRow computes from the graph, without the hashes. Columns of
// different versions must not be in one index.
inline constexpr int kCorpusFeatureVersion = 1;

// The row of a graph. Everything but `name` and `json` depends on the graph alone.
struct CorpusRow {
  // 32 bytes each: CanonicalHash with metas, and the same without sizes (canonical_hash.h), so that
  // graphs which differ in their sizes only have one shape_hash. Sizes are the shapes, and the
  // integers in a list of any number of sizes, such as those that view takes.
  std::string hash;
  std::string shape_hash;
  std::string blob;  // the graph in protobuf form without its origin (SerializeGraph)
  std::string name;  // the sample's name, as UTF-8
  std::string json;  // the text of graph_net.json, as UTF-8; empty if there is none

  int32_t nodes = 0;       // all nodes, those of bodies among them
  int32_t inputs = 0;      // of the main graph
  int32_t outputs = 0;     // of the main graph; a tuple, list or dict counts as its elements
  int32_t parameters = 0;  // inputs and attributes that are parameters

  // Calls of functions and methods are named by their meaning (CallMeaning::name), so that torch.add,
  // x.add_, x + y and aten.add.Tensor are all "add". All lists are sorted and without repetitions.
  std::vector<std::string> targets;  // the meanings of the calls
  std::vector<int32_t> counts;       // how many calls each of the targets has
  std::vector<std::string> args;     // constants that calls are given: "conv2d.groups=384"
  std::vector<std::string> edges;    // calls that take another's value: "conv2d>relu"
  std::vector<std::string> dtypes;   // of all values: "float32"
  std::vector<int32_t> ranks;        // of all values whose shape is known
  std::vector<uint64_t> features;    // see FeaturesOf (features.h)
};

// Returns the parts of the row of a graph, without the others: the hash in which sizes do not count,
// as 64 digits, and the features. The module must verify.
std::string ShapeHash(const Module& module);
std::vector<uint64_t> RowFeatures(const Module& module);

// Makes the row of a sample, whose module need not verify. ResourceExhausted if the row would be far
// larger than the graph; otherwise the errors of SerializeGraph. O(size of the graph).
absl::StatusOr<CorpusRow> MakeRow(const Sample& sample);

}  // namespace graphnet

#endif  // GRAPHNET_CORPUS_ROW_H_
