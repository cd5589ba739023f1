// Internal: translates one Program into a Sample.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_GRAPH_IMPORTER_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_GRAPH_IMPORTER_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/formats/torchscript/attributes.h"
#include "graphnet/formats/torchscript/call_form.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "graphnet/formats/torchscript/program.h"
#include "graphnet/ir/sample.h"
#include "torch/csrc/jit/ir/ir.h"

namespace graphnet::torchscript {

// Limits on the elements of one structure in an argument, and of all arguments together.
inline constexpr size_t kMaxElements = size_t{1} << 20;
inline constexpr size_t kMaxAllElements = size_t{1} << 26;

// Walks the program in order. Each TorchScript value becomes an Argument: a node,
// a constant, or a structure of them. A value of an outer graph that a body uses
// becomes an operand of the body at its first use.
class GraphImporter {
 public:
  // `program` and `sample` must outlive this.
  GraphImporter(const Program* program, Sample* sample, const ImportGraphOptions& options)
      : program_(*program),
        sample_(*sample),
        module_(*sample->module),
        options_(options),
        attributes_(sample, options.weights, options.share_weights) {}

  // Translates the program. `schema` names the inputs and gives their defaults; it may be null.
  absl::Status Run(const std::string& name, const c10::FunctionSchema* schema, bool has_self);

 private:
  // A graph that is being built.
  struct Scope {
    Graph* graph;
    Scope* parent = nullptr;
    // Values of `parent` that the body takes after its own inputs. Both bodies of
    // a call share the list.
    std::vector<Node*>* captures = nullptr;
    absl::flat_hash_map<Node*, Node*> inner = {};  // capture -> placeholder
    size_t inner_count = 0;                        // captures that have a placeholder
    Node* last_placeholder = nullptr;
    int num_ifs = 0;
    int num_loops = 0;
  };

  // --- graph_importer.cc: values and plain operations --------------------------
  // Keeps a default that no draw spec can hold as the value of the input.
  void AddDefault(const Node& input, const c10::IValue& value, const c10::TypePtr& type);
  absl::Status ImportBlock(const torch::jit::Block* block, int depth);
  absl::Status ImportNode(const torch::jit::Node* node, int depth);
  absl::Status ImportEnum(const torch::jit::Node* node);
  absl::Status ImportCall(const torch::jit::Node* node);
  // Records the node's value and returns true if it is a constant.
  absl::StatusOr<bool> Fold(const torch::jit::Node* node);

  // Returns the argument for `value`. Its nodes may belong to outer graphs.
  absl::StatusOr<Argument> Lookup(const torch::jit::Value* value);
  // Like Lookup, but for use in the current graph.
  absl::StatusOr<Argument> Operand(const torch::jit::Value* value);
  absl::StatusOr<std::vector<Argument>> Operands(at::ArrayRef<const torch::jit::Value*> values);
  // Replaces nodes of outer graphs by placeholders of the current graph.
  Argument Localize(const Argument& argument);
  Node* Localize(Node* node, Scope* scope);
  // Translates a constant or an attribute's value. `path` names the tensors in it;
  // if it is empty, they are constants.
  absl::StatusOr<Argument> Literal(const c10::IValue& value, const std::string& path,
                                   absl::string_view annotation, int depth = 0);
  absl::StatusOr<Argument> AttributeValue(const Program::Object& object, const std::string& name);
  Node* GetAttrNode(absl::string_view attribute);

  // --- quantised.cc: quantised tensors and the parameters of quantised layers --
  // Returns the call that makes a quantised tensor of its integers, scales and zero points.
  absl::StatusOr<Argument> QuantisedTensor(const at::Tensor& tensor, const std::string& path);
  // Returns the call that packs the parameters in an object of a C++ class.
  absl::StatusOr<Argument> PackedParameters(const c10::IValue& object, const std::string& path);
  // Adds a tensor that lies in no slot of a module to the main graph.
  absl::StatusOr<Argument> OwnTensor(const at::Tensor& tensor, const std::string& path,
                                     absl::string_view name);
  Argument EmitInMain(absl::string_view target, absl::Span<const Argument> args,
                      absl::string_view name);

  // The size of an argument as a tree. It can be exponential in the program: a
  // structure may hold another one twice, and so on.
  struct Size {
    size_t elements = 1;
    int depth = 0;
  };
  Size SizeOf(const Argument& argument) const;
  // Returns a copy that lives as long as this.
  Argument Keep(Argument::Kind kind, absl::Span<const Argument> elements);
  Argument Keep(absl::string_view text) { return arena_.Copy(text); }

  // Appends a call with the location of the current TorchScript node.
  Node* Emit(absl::string_view target, absl::Span<const Argument> args,
             absl::Span<const KwArg> kwargs = {}, absl::string_view name = {});
  // SetResult maps the output of `node` to `result`; several outputs map to its elements.
  // SetElements maps the outputs to the elements of `tuple` from `first` on.
  void SetResult(const torch::jit::Node* node, Node* result);
  void SetElements(const torch::jit::Node* node, Node* tuple, int first);
  Argument GetItem(const Argument& tuple, const Argument& index, const torch::jit::Value* value);
  // Records the type of a value, and sets the node's meta if it is a tensor's.
  void Describe(Node* node, const torch::jit::Value* value);

  // --- structures.cc: lists, tuples, dicts, objects ----------------------------
  absl::Status ImportList(const torch::jit::Node* node);
  absl::Status ImportDict(const torch::jit::Node* node);
  absl::Status ImportUnpack(const torch::jit::Node* node);
  absl::Status ImportTupleElement(const torch::jit::Node* node);
  absl::Status ImportIsInstance(const torch::jit::Node* node);
  absl::Status ImportGetAttr(const torch::jit::Node* node);
  absl::Status ImportSetAttr(const torch::jit::Node* node);

  // --- control_flow.cc: branches and loops -------------------------------------
  absl::Status ImportIf(const torch::jit::Node* node, int depth);
  absl::Status ImportLoop(const torch::jit::Node* node, int depth);
  // Adds placeholders for values that the call's other bodies have captured so far.
  void TakeCaptures(Scope* scope);
  Node* AddPlaceholder(Scope* scope, absl::string_view name, const c10::Type* type);
  // Ends the current graph with a tuple.
  absl::Status ImportOutputs(at::ArrayRef<const torch::jit::Value*> outputs,
                             std::vector<Argument> first = {});

  const Program& program_;
  Sample& sample_;
  Module& module_;
  const ImportGraphOptions options_;
  AttributeTable attributes_;
  Arena arena_;
  Scope* scope_ = nullptr;
  Scope* main_ = nullptr;
  const torch::jit::Node* current_ = nullptr;
  absl::flat_hash_map<const torch::jit::Value*, Argument> values_;
  absl::flat_hash_map<const Node*, const c10::Type*> types_;
  absl::flat_hash_map<absl::string_view, Node*> get_attrs_;  // in the main graph
  absl::flat_hash_map<const void*, Argument> quantised_;     // by tensor or object
  // Tensors and objects that were made here. AttributeTable and `quantised_` tell by address.
  std::vector<c10::IValue> made_;
  OperatorTable operators_;
  absl::flat_hash_map<const Argument*, Size> sizes_;  // sizes of structures, by their elements
  size_t num_elements_ = 0;                           // in arguments of all calls
  bool too_large_ = false;
  // Lists and dicts of module attributes that are changed in place.
  std::vector<std::pair<c10::IValue, std::string>> states_;
};

}  // namespace graphnet::torchscript

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_GRAPH_IMPORTER_H_
