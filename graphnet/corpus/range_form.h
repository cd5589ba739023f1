// The form of a graph in which its ranges are compared.
//
// A range of operators is known by the piece that CutRanges (decompose/range_decomposer.h) makes of
// it, as a DAG, with no inputs and attributes but those that it uses. The form has what decides about
// such pieces, and neither names nor the module.
#ifndef GRAPHNET_CORPUS_RANGE_FORM_H_
#define GRAPHNET_CORPUS_RANGE_FORM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"

namespace graphnet::corpus_internal {

// The form of one graph. Nodes have the numbers of GraphIndex (decompose/graph_index.h), and
// operators are counted from 0.
struct RangeForm {
  // A word is what CanonicalHash with metas sees of a node. Words of one token differ in nothing but
  // their labels. Labels are symbols, attributes and bodies; each has a number in the graph.
  struct Word {
    uint32_t token = 0;   // a number of Tokens
    uint32_t labels = 0;  // the place of its list of labels
  };
  // The values that may share memory to which the graph writes (MutableClasses).
  struct Memory {
    std::vector<uint32_t> members;
    uint32_t first_write = 0;
    uint32_t last_write = 0;
  };
  // A range that has all operators of a module that follow each other.
  struct ModuleRange {
    uint32_t start = 0;
    uint32_t end = 0;
    uint32_t path = 0;  // the module is the beginning of this entry of `paths`…
    uint32_t size = 0;  // …that has this size
  };
  static constexpr int32_t kNoMemory = -1;

  uint32_t num_operators() const { return output - first_operator; }
  bool is_get_attr(uint32_t node) const {
    return num_placeholders <= node && node < first_operator;
  }
  absl::Span<const uint32_t> operands(uint32_t node) const {
    return absl::MakeConstSpan(all_operands)
        .subspan(operands_begin[node], operands_begin[node + 1] - operands_begin[node]);
  }
  absl::Span<const uint32_t> labels(const Word& word) const {
    return absl::MakeConstSpan(all_labels)
        .subspan(labels_begin[word.labels],
                 labels_begin[word.labels + 1] - labels_begin[word.labels]);
  }
  int32_t memory_of(uint32_t node) const { return memory.empty() ? kNoMemory : memory_ids[node]; }
  bool stops_at(uint32_t k) const { return !stops.empty() && stops[k]; }
  // Returns whether at least two operators of a range compute.
  bool computes(uint32_t start, uint32_t end) const {
    return computing.empty() || computing[end] - computing[start] >= 2;
  }
  // Returns the names of operators.
  std::vector<std::string> NamesOf(uint32_t start, uint32_t count) const;
  uint64_t bytes() const;

  uint32_t num_placeholders = 0;
  uint32_t first_operator = 0;
  uint32_t output = 0;
  uint32_t output_target = 0;       // the token of the target of the output
  bool output_is_plain = false;     // whether it has the form that all pieces but the last have
  uint32_t num_labels = 0;          // the bodies have the first of these numbers
  std::vector<Word> nodes;          // of a node that is in the piece
  std::vector<Word> ports;          // of an input of the piece that stands for a node outside
  std::vector<Word> bodies;         // of all nodes of a body
  std::vector<uint32_t> behind;     // by get_attr: the operator, or the output, that follows it
  std::vector<uint32_t> last_use;   // the last node that takes a node; 0 if there is none
  std::vector<int32_t> memory_ids;  // by node
  std::vector<Memory> memory;
  std::vector<bool> can_cut;  // whether a range may begin or end before an operator
  std::vector<bool> stops;    // the operators that no range has; empty if there are none
  std::vector<uint32_t>
      computing;  // how many operators before an operator compute; empty if all do
  std::vector<ModuleRange> modules;  // larger ones before those in them; no two are equal
  std::vector<std::string> paths;
  std::string names;  // of all operators, one behind the other
  std::vector<uint32_t> name_ends;
  std::vector<uint32_t> operands_begin;
  std::vector<uint32_t> all_operands;
  std::vector<uint32_t> labels_begin;
  std::vector<uint32_t> all_labels;

  // Until Tokens::Number, tokens are places in this list.
  std::vector<std::string> descriptions;
};

// Makes the form of the main graph of a module. With `modules`, it has the ranges of modules, too;
// with `fusible`, operators that compilers do not fuse stop ranges. FailedPrecondition if the module
// does not verify; ResourceExhausted if its words would be far larger than the graph.
absl::StatusOr<RangeForm> MakeRangeForm(const Module& module, bool modules = false,
                                        bool fusible = false);

// Numbers what nodes are, in one way for many graphs.
class Tokens {
 public:
  // Replaces the descriptions of a form by numbers.
  void Number(RangeForm* form);
  uint64_t bytes() const { return bytes_; }

 private:
  absl::flat_hash_map<std::string, uint32_t> numbers_;
  uint64_t bytes_ = 0;
};

}  // namespace graphnet::corpus_internal

#endif  // GRAPHNET_CORPUS_RANGE_FORM_H_
