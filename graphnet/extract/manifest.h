// The stitch manifest: how the subgraphs of a captured run and the operations
// between them make up the program. Plain data, free of LibTorch.
#ifndef GRAPHNET_EXTRACT_MANIFEST_H_
#define GRAPHNET_EXTRACT_MANIFEST_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/extract/break_reason.h"
#include "graphnet/ir/types.h"

namespace graphnet {

// A value as programs pass it. Tensors, objects and numbers that a run reads are numbered;
// everything else is what it was in the run that was captured. As a result it says what to make;
// as a pattern (of an argument, or of what an operation yields) it says what must be found: the
// same structure and constants, and tensors that fit StitchManifest::tensors.
struct ValueTree {
  // The numbers are part of the manifest's form: append only.
  enum class Kind : uint8_t {
    kNone = 0,
    kTensor,   // number
    kBool,     // number
    kInt,      // number
    kFloat,    // real
    kComplex,  // real, imaginary
    kString,   // text
    kDevice,   // text
    kList,     // elements; text: the type of all, "List[Tensor]"
    kTuple,    // elements
    kDict,     // keys and values alternate in elements; text: the type of all
    kSize,     // text: an int, as an expression over StitchManifest::symbols
    kObject,   // number; of a class that is written in C++
    kNumber,   // number; an int or float that a run reads; elements: that of the captured run
  };
  Kind kind = Kind::kNone;
  int64_t number = 0;
  double real = 0;
  double imaginary = 0;
  std::string text;
  std::vector<ValueTree> elements;
  bool operator==(const ValueTree&) const;  // of floats, the bits
};

// "(v0, [v1, 3], None)"
std::string PrintValueTree(const ValueTree& tree);

// What holds of a tensor that comes from outside a subgraph.
struct TensorGuard {
  DType dtype = DType::kUnknown;
  std::string device;  // "cpu", "cuda:0"
  std::vector<int64_t> sizes;
  // By dimension, an expression over StitchManifest::symbols, or empty: the number in
  // `sizes`. Without any if all are numbers. A symbol itself takes the size that it
  // meets first in an input.
  std::vector<std::string> symbolic;
};

// One operation: a subgraph, or, between them, one that broke the graph.
struct StitchStep {
  int subgraph = -1;  // an index, or -1 for an operation
  // Of a subgraph: the tensors and numbers that it takes, and the tensors that it yields.
  std::vector<int64_t> inputs;
  std::vector<int64_t> outputs;
  std::vector<std::string> symbols;  // that it takes in front of `inputs`
  // Of an operation: its TorchScript name and overload ("aten::item", ""); what it
  // takes; a pattern for each of its results. prim::SetAttr takes the path of the
  // object, the name of the attribute and the value. Methods of classes that are written
  // in C++ have qualified names, and __init__ takes no object but yields it.
  std::string op;
  std::string overload;
  std::vector<ValueTree> operands;
  std::vector<ValueTree> results;
  BreakReason reason = BreakReason::kNone;  // kNone: it works on numbers and breaks nothing
  std::string file;                         // of the program's text; empty if unknown
  int64_t line = 0;
  int64_t column = 0;
  std::string source;  // that line
};

struct StitchManifest {
  struct Subgraph {
    std::string name;           // "subgraph_0"
    std::string hash;           // canonical
    int64_t duplicate_of = -1;  // the first subgraph with that hash
    int64_t num_calls = 0;
  };
  struct Input {
    std::string name;  // of the parameter
    ValueTree pattern;
    std::optional<ValueTree> after;  // what it holds in the end, where lists or dicts change
  };
  // An attribute that the program assigns or changes: it is read when a run begins.
  struct State {
    std::string path;  // of the object; "": the module itself
    std::string name;
    ValueTree pattern;
  };

  // A dynamic size, and what it was in the run that was captured.
  struct Symbol {
    std::string name;
    int64_t example = 0;
  };
  // What must hold of symbols: a comparison, and where the program asked for it.
  struct Relation {
    std::string text;
    std::string file;
    int64_t line = 0;
  };

  std::string name;     // of the program
  std::string archive;  // the file that it was in, "net.pt", or empty
  std::vector<Symbol> symbols;
  std::vector<Relation> relations;
  std::vector<Input> inputs;
  std::vector<State> states;
  // Numbered tensors that are attributes or constants of the program: the names
  // under which they are kept.
  std::map<int64_t, std::string> constants;
  // Those of them that ask for gradients. None are computed, but products of matrices are
  // computed in another way.
  std::vector<int64_t> parameters;
  // Of attributes and constants that do not lie in memory dimension after dimension, by
  // name: as torch.Tensor.stride.
  std::map<std::string, std::vector<int64_t>> strides;
  // Numbered objects that are attributes: their paths.
  std::map<int64_t, std::string> objects;
  std::map<int64_t, TensorGuard> tensors;
  std::vector<Subgraph> subgraphs;
  std::vector<StitchStep> steps;
  ValueTree result;
};

// --- The file (manifest.cc) ----------------------------------------------------

std::string SerializeManifest(const StitchManifest& manifest);
// Of the protobuf form. InvalidArgument for what no extraction writes: numbers of tensors
// that no step makes before they are used, indices without subgraphs, names that
// are no plain file names, nesting above the limit.
absl::StatusOr<StitchManifest> ParseManifest(absl::string_view bytes, absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_MANIFEST_H_
