// Internal: builds the graphs of a capture, and maps each tensor of the running program to a value
// in them.
#ifndef GRAPHNET_EXTRACT_RECORDER_H_
#define GRAPHNET_EXTRACT_RECORDER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graphnet/base/arena.h"
#include "graphnet/extract/capture.h"
#include "graphnet/extract/dynamic_sizes.h"
#include "graphnet/extract/run_number.h"
#include "graphnet/formats/torchscript/call_form.h"
#include "graphnet/formats/torchscript/program.h"

namespace graphnet::extract {

class Recorder {
 public:
  // `sizes` must outlive this.
  Recorder(Capture* capture, DynamicSizes* sizes, bool statistics)
      : capture_(*capture), sizes_(*sizes), statistics_(statistics) {}

  // --- Tensors -------------------------------------------------------------------
  // Adds a tensor that exists before the program runs, or that an operation between graphs
  // returns, and returns its number; a tensor that is known keeps its number. `name` is a proposal
  // for the names of placeholders.
  int64_t AddValue(const at::Tensor& tensor, const std::string& name);
  // Adds a tensor in an attribute of a module; no effect if it is known.
  void AddAttribute(const at::Tensor& tensor, const std::string& name);
  // Adds a constant of the program. A write to it shows in the next run, as in the program.
  void AddConstant(const at::Tensor& tensor);
  // Records that the program is about to write to the tensor. A tensor that each run makes anew is
  // then handed from graph to graph and is no constant, not even where that was decided before.
  void BeforeWrite(const at::Tensor& tensor);
  // Returns the tensor's number in the manifest. The tensor becomes an output of its graph.
  int64_t NumberOf(const at::Tensor& tensor);
  // Returns a new number in the manifest, for a number that the run reads.
  int64_t NewNumber() { return next_number_++; }
  // Returns the number of an object whose class is written in C++; `path` is not null if the object
  // is an attribute.
  int64_t NumberOfObject(const c10::IValue& object, const std::string* path);
  // Returns true if the tensor holds the same data in every run that gets here.
  bool IsKnown(const at::Tensor& tensor) const;
  bool HasUnknownSizes(const at::Tensor& tensor) const;
  bool IsOfAttribute(const at::Tensor& tensor) const;
  // Records that a write to the tensor may be a write to an attribute.
  void CountAsAttribute(const at::Tensor& tensor);
  // Copies the current data of the attributes that share memory with the tensor.
  void KeepInitial(const at::Tensor& tensor);

  // --- Graphs --------------------------------------------------------------------
  // Returns the argument that stands for `value` in the current graph. It is valid until
  // ForgetOperands.
  absl::StatusOr<Argument> Operand(const c10::IValue& value);
  void ForgetOperands() { scratch_.clear(); }
  Node* Call(const torchscript::CallForm& form, const std::string& name,
             const torchscript::Place& place, const std::string& module_path);
  struct ResultFacts {
    bool known = false;          // their data is the same in every run
    bool foldable = true;        // the call is removed if it is unused
    bool writes = false;         // the call changes operands
    bool unknown_sizes = false;  // their sizes depend on data
  };
  // Makes tensors in `results` stand for the values of `node`.
  void SetResults(Node* node, const std::vector<c10::IValue>& results, const ResultFacts& facts);
  // Records that unknown data has been written to `tensor`.
  void Forget(const at::Tensor& tensor);
  // Everything that is recorded between BeginBody and EndBody is the body of a branch, which takes
  // the values that it uses from the current graph as operands. AbandonBodies drops all bodies,
  // open or closed.
  void BeginBody(const std::string& name);
  void EndBody(const std::vector<at::Tensor>& outputs);
  void AbandonBodies();
  // A tensor that an iteration of a loop takes from the one before it.
  struct Carried {
    at::Tensor tensor;
    std::string name;
  };
  // Makes a body that has just begun the body of a loop. It takes the number of the iteration, the
  // symbol `index`, and `carried`, which are not known yet; it returns the next iteration's number
  // before its outputs.
  void BeginTurn(const std::string& index, const std::vector<Carried>& carried);
  // Calls one of two bodies; its results are `results`.
  void Cond(const at::Tensor& predicate, const std::vector<at::Tensor>& results,
            const torchscript::Place& place, const std::string& module_path);
  // Calls the body of a loop `trips` times, from `initial` to `results`.
  void WhileLoop(const std::string& name, int64_t trips, const std::vector<at::Tensor>& initial,
                 const std::vector<at::Tensor>& results, const torchscript::Place& place,
                 const std::string& module_path);
  bool in_body() const { return in_body_; }
  // Ends the current graph, if there is anything in it, and adds it as a step.
  void EndGraph();
  // Completes the graphs: gives them outputs, removes unused calls, and fills the manifest.
  void Finish();

  size_t num_graphs() const { return graphs_.size(); }
  size_t num_calls() const { return num_calls_; }  // so far

 private:
  struct Tracked {
    c10::weak_intrusive_ptr<c10::TensorImpl> tensor;  // keeps the address from being used again
    int64_t number = -1;
    size_t graph = 0;       // that `node` is in
    Node* node = nullptr;   // the node whose value it is
    std::vector<int> path;  // the indices that lead to it, if it is an element of that value
    bool known = false;
    bool unknown_sizes = false;
    std::string attribute;
    std::string name;
  };
  // A constant that stands for a tensor which each run makes anew.
  struct Made {
    const c10::TensorImpl* tensor;
    size_t graph;  // that makes it
    Node* node;    // that makes it; null if its value is known without a call
    std::vector<int> path;
  };
  struct Growing {
    std::unique_ptr<Module> module;
    Graph* graph = nullptr;
    Node* last_placeholder = nullptr;
    std::vector<Node*> symbols;                     // placeholders, in front of the others
    absl::flat_hash_map<std::string, Node*> sizes;  // by expression
    absl::flat_hash_map<int64_t, Node*> placeholders;
    std::vector<int64_t> inputs;
    absl::flat_hash_map<std::string, Node*> get_attrs;
    std::map<std::string, at::Tensor> attributes;
    std::vector<std::pair<int64_t, Node*>> outputs;
    std::vector<std::pair<Node*, bool>> foldable;  // and whether their results are known
    absl::flat_hash_map<std::pair<const Node*, int>, Node*> items;
    size_t step = 0;
  };

  struct Body {
    Graph* graph = nullptr;
    absl::flat_hash_map<Node*, Node*> inner;        // operands to the body's placeholders
    absl::flat_hash_map<std::string, Node*> sizes;  // by expression
    Node* index = nullptr;                          // the iteration's number, if it is a loop
  };

  Tracked* Find(const at::Tensor& tensor);
  // Finds a tensor; an unknown one becomes a constant.
  Tracked* FindOrAdd(const at::Tensor& tensor);
  Tracked& Track(const at::Tensor& tensor);
  void AddConstant(const at::Tensor& tensor, Tracked* tracked);
  // Hands a constant that is written to from the graph that makes it to those that use it.
  void HandOver(const Made& made);
  Growing& Current();
  Node* NodeOf(const at::Tensor& tensor);
  Node* OuterNodeOf(const at::Tensor& tensor);
  Node* Captured(Body* body, Node* operand);
  void OrderOperands(Body* body);
  // Calls `form` with the operands of the bodies after its arguments, and ends the bodies.
  void CallBodies(torchscript::CallForm form, const std::string& name,
                  std::vector<c10::IValue> results, const torchscript::Place& place,
                  const std::string& module_path);
  Node* Placeholder(Growing* growing, int64_t number, const at::Tensor& tensor,
                    absl::string_view name);
  Node* NumberPlaceholder(const RunNumber& number);
  Node* GetAttr(Growing* growing, const std::string& name, const at::Tensor& tensor);
  Node* Item(Growing& growing, Node* node, const std::vector<int>& path, const at::Tensor& tensor);
  const ValueMeta* MetaOf(Module& module, const at::Tensor& tensor);
  Argument Size(const SymExpr& expr);
  void SetResult(Node* node, const c10::IValue& value, std::vector<int>* path,
                 const ResultFacts& facts);
  void Describe(const at::Tensor& tensor, Node* node);

  Capture& capture_;
  DynamicSizes& sizes_;
  const bool statistics_;
  absl::flat_hash_map<const c10::TensorImpl*, Tracked> tracked_;
  absl::flat_hash_map<std::string, at::Tensor> attributes_;  // by name
  absl::flat_hash_set<const c10::StorageImpl*> attribute_storages_;
  absl::flat_hash_set<const c10::StorageImpl*> unknown_storages_;  // of tensors that were known
  std::vector<Made> made_;
  absl::flat_hash_set<const c10::StorageImpl*> constant_storages_;  // of constants
  absl::flat_hash_set<const c10::StorageImpl*> written_storages_;   // after their graph ended
  std::vector<at::Tensor> kept_;  // keeps the addresses in the sets above from being used again
  std::deque<Growing> graphs_;
  bool is_open_ = false;
  std::vector<Body> bodies_;
  bool in_body_ = false;         // the last body is open
  std::vector<Node*> operands_;  // of all bodies
  int64_t next_number_ = 0;
  // Objects of C++, with their numbers.
  absl::flat_hash_map<const void*, std::pair<c10::IValue, int64_t>> objects_;
  int num_constants_ = 0;
  size_t num_calls_ = 0;
  std::deque<std::vector<Argument>> scratch_;
  std::deque<std::complex<double>> complex_scratch_;
};

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_RECORDER_H_
