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

// A value that programs pass around. Tensors, objects and numbers that a run reads are numbered;
// everything else has the value of the captured run. A result describes the value to make. A
// pattern (of an argument, or of an operation's result) describes the value that must be found: the
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
    kObject,   // number; an object of a class that is written in C++
    kNumber,   // number; an int or float that a run reads; elements: the value in the captured run
  };
  Kind kind = Kind::kNone;
  int64_t number = 0;
  double real = 0;
  double imaginary = 0;
  std::string text;
  std::vector<ValueTree> elements;
  bool operator==(const ValueTree&) const;  // compares the bits of floats
};

// Prints a tree: "(v0, [v1, 3], None)".
std::string PrintValueTree(const ValueTree& tree);

// The facts that a tensor from outside a subgraph must fit.
struct TensorGuard {
  DType dtype = DType::kUnknown;
  std::string device;  // "cpu", "cuda:0"
  std::vector<int64_t> sizes;
  // By dimension, an expression over StitchManifest::symbols; if it is empty, the number in
  // `sizes` counts. No entries if all sizes are numbers. An expression that is only a symbol gives
  // the symbol the size that it first meets in an input.
  std::vector<std::string> symbolic;
};

// One step of the program: a subgraph, or an operation between subgraphs.
struct StitchStep {
  int subgraph = -1;  // an index, or -1 for an operation
  // A subgraph takes these tensors and numbers, and returns these tensors.
  std::vector<int64_t> inputs;
  std::vector<int64_t> outputs;
  std::vector<std::string> symbols;  // that it takes in front of `inputs`
  // An operation has a TorchScript name and overload ("aten::item", ""), operands, and a pattern
  // for each result. prim::SetAttr takes the path of the object, the name of the attribute and
  // the value. Methods of classes that are written in C++ have qualified names; __init__ takes no
  // object but returns it.
  std::string op;
  std::string overload;
  std::vector<ValueTree> operands;
  std::vector<ValueTree> results;
  BreakReason reason = BreakReason::kNone;  // kNone: it works on numbers and breaks no graph
  std::string file;                         // of the program's source; empty if unknown
  int64_t line = 0;
  int64_t column = 0;
  std::string source;  // the text of that line
};

// A captured program.
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
    std::optional<ValueTree> after;  // its value after the run, if a list or dict in it changes
  };
  // An attribute that the program assigns or changes. It is read when a run begins.
  struct State {
    std::string path;  // of the object; "": the module itself
    std::string name;
    ValueTree pattern;
  };

  // A dynamic size, and its value in the captured run.
  struct Symbol {
    std::string name;
    int64_t example = 0;
  };
  // A comparison of symbols that must hold, and the place in the program that needs it.
  struct Relation {
    std::string text;
    std::string file;
    int64_t line = 0;
  };

  std::string name;     // of the program
  std::string archive;  // the file that held it, "net.pt", or empty
  std::vector<Symbol> symbols;
  std::vector<Relation> relations;
  std::vector<Input> inputs;
  std::vector<State> states;
  // The names of numbered tensors that are attributes or constants of the program.
  std::map<int64_t, std::string> constants;
  // The constants that require gradients. No gradients are computed, but LibTorch computes
  // products of such matrices in another way.
  std::vector<int64_t> parameters;
  // The strides (torch.Tensor.stride) of attributes and constants that are not contiguous, by
  // name.
  std::map<std::string, std::vector<int64_t>> strides;
  // The paths of numbered objects that are attributes.
  std::map<int64_t, std::string> objects;
  std::map<int64_t, TensorGuard> tensors;
  std::vector<Subgraph> subgraphs;
  std::vector<StitchStep> steps;
  ValueTree result;
};

// --- The file (manifest.cc) ----------------------------------------------------

// Returns the manifest as bytes of stitch.pb.
std::string SerializeManifest(const StitchManifest& manifest);
// Parses the bytes of stitch.pb; errors call the file `name`. InvalidArgument for contents that no
// extraction writes: tensors that are used before a step makes them, indices without subgraphs,
// names that are not plain file names, nesting above the limit.
absl::StatusOr<StitchManifest> ParseManifest(absl::string_view bytes, absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_MANIFEST_H_
