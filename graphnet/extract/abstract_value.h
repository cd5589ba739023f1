// Internal: what is known of a program's values before it runs (foretell.h).
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

// Facts of a tensor come in pairs. Of a value that may be one of several tensors both may hold.
enum TensorFact : uint8_t {
  // Facts about its memory:
  kKnown = 1,      // it is computed from constants alone
  kUnknown = 2,    // or not
  kAttribute = 4,  // it is that of a parameter or buffer
  kOther = 8,      // or not
  // Facts about the tensor itself:
  kFixedSizes = 16,  // its sizes follow from other sizes
  kDataSizes = 32,   // or depend on what tensors hold
  kBool = 64,        // its dtype
  kOtherDtype = 128,
};

struct AbstractValue {
  bool is_any = false;                  // false and nothing below: no value gets here
  std::optional<c10::IValue> constant;  // None, a number, a text, … if all runs have that
  bool may_be_none = false;             // beside what else it may be
  bool of_data = false;                 // a number that depends on what tensors hold
  uint8_t tensor = 0;                   // facts of itself, if it is a tensor; else 0
  int cell = -1;                        // of a tensor, list, dict, or object that the program makes
  std::shared_ptr<const std::vector<AbstractValue>> elements;  // of a tuple
  const c10::ivalue::Object* object = nullptr;                 // that is there before the program
  bool is_foreign = false;  // an object of a class that is written in C++
};

// The memory that values refer to. Values that may refer to one of two pieces make these one.
class AbstractMemory {
 public:
  // Every step through a value is charged to `budget`, which must outlive this. Once it is used up
  // nothing that is said here counts.
  explicit AbstractMemory(Budget* budget) : budget_(*budget) {}
  bool is_exhausted() const { return is_exhausted_; }
  bool Charge() { return !(is_exhausted_ |= !budget_.Charge(1)); }

  // Opens a part of the program that a run may leave out. Changes count as possible, not as
  // certain, until it is closed.
  void Open() { ++depth_; }
  void Close() { --depth_; }

  // --- Values --------------------------------------------------------------------
  static AbstractValue Constant(c10::IValue value);
  static AbstractValue Number(bool of_data);  // or a text
  AbstractValue Tensor(uint8_t facts);        // with memory of its own
  AbstractValue List(std::vector<AbstractValue> elements);
  // A list or dict of which it is not known how much it holds.
  AbstractValue Container(AbstractValue element);
  static AbstractValue Tuple(std::vector<AbstractValue> elements);
  AbstractValue NewObject();
  // Any value of the type.
  AbstractValue OfType(const c10::Type& type, int depth = 0);
  // A value that is there before the program.
  AbstractValue OfIValue(const c10::IValue& value, bool of_attribute, int depth = 0);

  // --- Facts ---------------------------------------------------------------------
  // Returns the facts of a tensor and of its memory.
  uint8_t FactsOf(const AbstractValue& tensor);
  void ForEachTensor(const AbstractValue& value,
                     absl::FunctionRef<void(const AbstractValue& tensor)> fn, int depth = 0);
  bool HoldsForeign(const AbstractValue& value, int depth = 0);
  // A list that holds these and no others, or null.
  const std::vector<AbstractValue>* ElementsOf(const AbstractValue& list);
  // Returns a value that stands for each element of a list or dict.
  AbstractValue ElementOf(const AbstractValue& container);
  // Numbers, texts, and short lists of them.
  std::optional<c10::IValue> ConstantOf(const AbstractValue& value, const c10::Type& type);
  bool AreSame(const AbstractValue& a, const AbstractValue& b, int depth = 0);
  // Counts changes of what was there when CountFrom was called; it returns what it replaces.
  size_t changes() const { return changes_; }
  size_t CountFrom(size_t num_cells) { return std::exchange(counted_, num_cells); }
  size_t num_cells() const { return cells_.size(); }

  // --- Changes -------------------------------------------------------------------
  // What is one or the other.
  AbstractValue Join(const AbstractValue& a, const AbstractValue& b, int depth = 0);
  // The tensor's memory takes what is not known.
  void Forget(const AbstractValue& tensor);
  // A list or dict may hold `element`, too.
  void Add(const AbstractValue& container, const AbstractValue& element);
  // A list or dict of a module, for those that change it.
  void MarkAsAttribute(const AbstractValue& container);
  bool IsAttribute(const AbstractValue& container);
  // Of an object that the program makes; null if it has not been set.
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
