// Internal: facts about a program's values that are known before it runs (foretell.h).
#ifndef GRAPHNET_EXTRACT_ABSTRACT_VALUE_H_
#define GRAPHNET_EXTRACT_ABSTRACT_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "graphnet/ir/shared_walk.h"

namespace graphnet::extract {

// Facts about a tensor come in pairs. Both facts of a pair may hold for a value that may be one of
// several tensors.
enum TensorFact : uint8_t {
  // Facts about the tensor's memory:
  kKnown = 1,      // it is computed from constants alone
  kUnknown = 2,    // it is not
  kAttribute = 4,  // it belongs to a parameter or buffer
  kOther = 8,      // it does not
  // Facts about the tensor itself:
  kFixedSizes = 16,  // its sizes follow from other sizes
  kDataSizes = 32,   // its sizes depend on the data of tensors
  kBool = 64,        // its dtype is bool
  kOtherDtype = 128,
};

struct AbstractValue {
  bool is_any = false;                  // false, with all defaults below: no run has a value here
  std::optional<c10::IValue> constant;  // None, a number, a string, … if all runs have the same
  bool may_be_none = false;             // it may be None instead
  bool of_data = false;                 // a number that depends on the data of tensors
  uint8_t tensor = 0;                   // the tensor's own facts; 0 if it is not a tensor
  int cell = -1;                        // of a tensor, list, dict, or object that the program makes
  std::shared_ptr<const std::vector<AbstractValue>> elements;  // of a tuple
  const c10::ivalue::Object* object = nullptr;  // an object that exists before the program runs
  bool is_foreign = false;                      // an object of a class that is written in C++
};

// The memory that values refer to. If a value may refer to either of two cells, they are merged.
class AbstractMemory {
 public:
  // Every step through a value is charged to `budget`, which must outlive this. Once the budget is
  // used up, the results mean nothing.
  explicit AbstractMemory(Budget* budget) : budget_(*budget) {}
  bool is_exhausted() const { return is_exhausted_; }
  bool Charge() { return !(is_exhausted_ |= !budget_.Charge(1)); }

  // Opens a part of the program that a run may skip. Until it is closed, changes count as possible,
  // not as certain.
  void Open() { ++depth_; }
  void Close() { --depth_; }

  // --- Values --------------------------------------------------------------------
  static AbstractValue Constant(c10::IValue value);
  static AbstractValue Number(bool of_data);  // or a string
  AbstractValue Tensor(uint8_t facts);        // with memory of its own
  AbstractValue List(std::vector<AbstractValue> elements);
  // Returns a list or dict of unknown length, each element of which is like `element`.
  AbstractValue Container(AbstractValue element);
  static AbstractValue Tuple(std::vector<AbstractValue> elements);
  AbstractValue NewObject();
  // Returns a value that stands for any value of the type.
  AbstractValue OfType(const c10::Type& type, int depth = 0);
  // Returns a value that exists before the program runs.
  AbstractValue OfIValue(const c10::IValue& value, bool of_attribute, int depth = 0);

  // --- Facts ---------------------------------------------------------------------
  // Returns the facts of a tensor and of its memory.
  uint8_t FactsOf(const AbstractValue& tensor);
  void ForEachTensor(const AbstractValue& value,
                     absl::FunctionRef<void(const AbstractValue& tensor)> fn, int depth = 0);
  bool HoldsForeign(const AbstractValue& value, int depth = 0);
  // Returns the elements of a list if they are known one by one, else null.
  const std::vector<AbstractValue>* ElementsOf(const AbstractValue& list);
  // Returns a value that stands for each element of a list or dict.
  AbstractValue ElementOf(const AbstractValue& container);
  // Returns the value if it is the same in all runs: a number, a string, or a short list of them.
  std::optional<c10::IValue> ConstantOf(const AbstractValue& value, const c10::Type& type);
  bool AreSame(const AbstractValue& a, const AbstractValue& b, int depth = 0);
  // The number of changes to the first `num_cells` cells, as the last CountFrom set it. CountFrom
  // returns the number that it replaces.
  size_t changes() const { return changes_; }
  size_t CountFrom(size_t num_cells) { return std::exchange(counted_, num_cells); }
  size_t num_cells() const { return cells_.size(); }

  // --- Changes -------------------------------------------------------------------
  // Returns a value that stands for either.
  AbstractValue Join(const AbstractValue& a, const AbstractValue& b, int depth = 0);
  // Records that unknown data is written to the tensor's memory.
  void Forget(const AbstractValue& tensor);
  // Records that a list or dict may hold `element`, too.
  void Add(const AbstractValue& container, const AbstractValue& element);
  // Marks a list or dict that belongs to a module: changing it breaks the graph.
  void MarkAsAttribute(const AbstractValue& container);
  bool IsAttribute(const AbstractValue& container);
  // Returns an attribute of an object that the program makes; null if it has not been set.
  const AbstractValue* Attribute(const AbstractValue& object, const std::string& name);
  void SetAttribute(const AbstractValue& object, const std::string& name, AbstractValue value);

 private:
  struct Cell {
    int parent = -1;
    int depth = 0;
    bool is_merged = false;
    uint8_t facts = 0;
    bool is_attribute = false;
    AbstractValue element;
    std::optional<std::vector<AbstractValue>> exact;
    std::map<std::string, AbstractValue> attributes;
  };
  int Make(Cell cell);
  int Find(int cell);
  int Merge(int a, int b, int depth);
  void SetFacts(int cell, uint8_t facts);
  void CountChange(int cell) { changes_ += static_cast<size_t>(cell) < counted_ ? 1 : 0; }

  Budget& budget_;
  bool is_exhausted_ = false;
  int depth_ = 0;
  size_t changes_ = 0;
  size_t counted_ = 0;
  std::deque<Cell> cells_;
  absl::flat_hash_map<const c10::StorageImpl*, int> storages_;
};

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_ABSTRACT_VALUE_H_
