// One partial evaluation of a module; see partial_evaluation.h. Values of nodes are values.h; what
// calls yield is computed in calls.cc, and graphs, branches and loops are followed in graphs.cc.
#ifndef GRAPHNET_PASSES_PARTIAL_EVALUATION_EVALUATOR_H_
#define GRAPHNET_PASSES_PARTIAL_EVALUATION_EVALUATOR_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/facts/shapes/sizes_of_run.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ops/schema.h"
#include "graphnet/passes/partial_evaluation/values.h"

namespace graphnet::evaluation {

using NodeSet = absl::flat_hash_set<const Node*>;

class Evaluator {
 public:
  struct Options {
    // Return the structure that the program returns, for a writer that knows no lists as objects:
    // a call that changes a list which cannot be followed stays, and the writer refuses it.
    bool of_call = false;
    bool with_lists = true;   // follow lists of the program as objects
    bool with_state = false;  // follow attributes that it assigns
  };
  // `kept`: loops, and calls that make lists, that stay as they are.
  Evaluator(const Module& from, const Options& options, NodeSet kept)
      : from_(from),
        options_(options),
        kept_(std::move(kept)),
        env_(from),
        made_(std::make_unique<Module>()) {}

  absl::StatusOr<std::unique_ptr<Module>> Run();

  // The calls that have to stay as they are, as far as they are known.
  const NodeSet& kept() const { return kept_; }
  // True if nested lists need more steps than allowed.
  bool is_too_long() const { return values_.is_too_long(); }
  // True if a body that stays reads or assigns attributes.
  bool has_state_in_body() const { return has_state_in_body_; }
  // ProgramOfCall::lost
  const std::vector<std::string>& lost() const { return lost_; }

 private:
  // Values of nodes, and values as arguments.
  void Set(const Node* node, const Value& value) { env_[node] = value; }
  Value ValueOf(const Argument& a);
  // Replaces the nodes in an argument by their values.
  Argument Plain(const Argument& a);
  // Returns a value as an argument of a call. `as_numbers`: numbers in tensors become plain ones.
  Argument Materialise(const Value& value, bool as_numbers = false);
  Argument WrittenOut(const Value& value, bool as_numbers);
  void AddLeaves(const Value& value, std::vector<Argument>* leaves);
  // Call before a list goes where it cannot be followed: the next evaluation leaves the calls that
  // make it, and the lists in it, as they are.
  void Lose(const Value& value);

  // Attributes that the program assigns.
  Value EvaluateState(const Node& node);
  // Copies new values of tensors into their attributes, and finds the values that are lost.
  void KeepState();
  bool IsReadAnywhere(absl::string_view name) const;

  // Evaluates a graph whose parameters have been set, and returns its result.
  absl::StatusOr<Value> EvaluateGraph(const Graph& graph);
  absl::StatusOr<Value> Evaluate(const Node& node);
  Value EvaluateAttribute(const Node& node);
  absl::StatusOr<Value> EvaluateBodies(const Node& node);
  absl::StatusOr<Value> Inline(const Graph& body, const std::vector<Value>& operands);
  // Returns nullopt if the loop stays as it is.
  absl::StatusOr<std::optional<Value>> Unroll(const Node& node);
  // Makes the next evaluation leave a loop as it is; what this one yields is not used.
  std::optional<Value> Keep(const Node& loop);
  // Erases the calls behind `last`, which nothing else uses.
  void EraseCallsBehind(const Node* last);
  // Copies a call whose bodies are evaluated on their own.
  absl::StatusOr<Value> CopyWithBodies(const Node& node);
  // `operands`: those of a branch, of which constants are put in.
  absl::StatusOr<Graph*> EvaluateBody(const Graph& body, absl::Span<const Value> operands);

  // Calls. The first five return the value of a call if it is known without running it.
  std::optional<Value> Known(const Node& node, absl::Span<const Value> args);
  std::optional<Value> KnownObject(const Node& node, absl::Span<const Value> args);
  std::optional<Value> KnownShape(const Node& node, absl::Span<const Value> args);
  std::optional<Value> KnownProperty(absl::string_view name, const Node& tensor);
  std::optional<Value> KnownIdentity(const Node& node, absl::Span<const Value> args);
  // Turns constant attributes into numbers: traces compute sizes with tensors of integers.
  void ConstantsAsNumbers(absl::string_view aten, std::vector<Value>* args);
  // Writes a call that stays.
  absl::StatusOr<Value> Write(const Node& node, absl::Span<const Value> args);
  Node* Make(const Node& origin, absl::string_view target, absl::Span<const Argument> args,
             absl::Span<const KwArg> kwargs);

  // An attribute that the program assigns.
  struct State {
    Value before, now;
    Node* tensor = nullptr;  // reads the attribute, if it is a tensor
    bool is_read = false;
  };
  // A body that was evaluated for operands with these metas and constants.
  struct NewBody {
    bool changed_sizes = false;  // before it
    std::vector<const ValueMeta*> metas;
    std::vector<std::optional<Argument>> constants;
    Graph* graph = nullptr;
  };

  const Module& from_;
  const Options options_;
  SizesOfRun sizes_of_run_;  // in `from_`
  NodeSet run_sizes_;        // calls in the new module that read such sizes
  bool has_state_in_body_ = false;
  std::map<std::string, State> state_;
  std::vector<std::string> lost_;
  NodeSet kept_;
  Values values_;
  NodeTable<Value> env_;
  std::unique_ptr<Module> made_;
  Graph* graph_ = nullptr;  // the graph that is being built
  absl::flat_hash_map<std::pair<Graph*, std::string>, Node*> attributes_;
  absl::flat_hash_set<absl::string_view> written_;  // names of attributes
  absl::flat_hash_map<const Graph*, std::vector<NewBody>> bodies_;
  bool changes_sizes_ = false;  // a call of `from_` changes sizes in place
  bool changed_sizes_ = false;  // one that was written did, so metas may describe the past
  size_t iterations_ = 0;
};

// The error of a program that exceeds the limit of steps.
inline constexpr absl::string_view kTooLong =
    "the program is too large with its loops, branches and lists written out";

}  // namespace graphnet::evaluation

#endif  // GRAPHNET_PASSES_PARTIAL_EVALUATION_EVALUATOR_H_
