// The values of a partial evaluation, and the lists, tuples and dicts that they hold.
#ifndef GRAPHNET_PASSES_PARTIAL_EVALUATION_VALUES_H_
#define GRAPHNET_PASSES_PARTIAL_EVALUATION_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/node.h"
#include "graphnet/ir/shared_walk.h"

namespace graphnet::evaluation {

struct Container;

// The value of a node: an argument that refers to new nodes, or a list, tuple or dict.
struct Value {
  Argument argument;
  Container* container = nullptr;  // shared by all values that are this object
  bool is_number_tensor = false;   // a number that the program holds in a tensor

  bool is_container() const { return container != nullptr; }
  bool is_constant() const {
    return !is_container() && !argument.is_node() && !argument.is_graph();
  }
  // Constants that no tensor holds.
  bool is_none() const { return is_plain() && argument.is_none(); }
  bool is_int() const { return is_plain() && argument.is_int(); }
  bool is_number() const { return is_plain() && argument.is_number(); }
  bool is_string() const { return is_plain() && argument.is_string(); }

 private:
  bool is_plain() const { return !is_container() && !is_number_tensor; }
};

struct Container {
  std::vector<Value> elements;  // keys and values of a dict alternate
  Argument::Kind kind = Argument::Kind::kList;
  const Node* maker = nullptr;  // the call that makes it, if a later one may change it
  bool is_literal = false;      // written as an argument, so that no call can change it

  bool is_list() const { return kind == Argument::Kind::kList; }
  bool is_tuple() const { return kind == Argument::Kind::kTuple; }
  bool is_dict() const { return kind == Argument::Kind::kDict; }
};

// Makes containers and texts, and limits how far they grow.
class Values {
 public:
  // Charges `count` before that many elements are visited or made; false if the limit is exceeded.
  bool Charge(uint64_t count);
  bool is_too_long() const { return is_too_long_; }

  // The values live as long as this object.
  Value Make(Argument::Kind kind, std::vector<Value> elements, const Node* maker = nullptr);
  Value List(std::vector<Value> elements, const Node* maker = nullptr) {
    return Make(Argument::Kind::kList, std::move(elements), maker);
  }
  Value Tuple(std::vector<Value> elements) {
    return Make(Argument::Kind::kTuple, std::move(elements));
  }
  // Texts can double from call to call: each may have kMaxTextBytes, and the bytes of all are
  // charged. Returns nullopt for one that is too long.
  std::optional<Value> Text(absl::string_view text);
  static constexpr size_t kMaxTextBytes = size_t{1} << 16;

  // Returns the container that a value is; a new one for a constant list, tuple or dict; null for
  // other values.
  Container* ContainerOf(const Value& value);
  // Returns the elements of a list or tuple of known length.
  std::optional<std::vector<Value>> ElementsOf(const Value& value);

  // Calls visit(Container&) for the container that a value is, if any, and for all in it, until
  // it returns false. Returns false if a container holds itself.
  template <typename Visit>
  bool ForEachContainer(const Value& value, Visit&& visit) {
    if (!value.is_container()) return true;
    SharedWalk<Container*> walk;
    bool goes_on = true;
    return walk.Run(
        value.container,
        [&](Container* whole, auto&& add) {
          goes_on = goes_on && visit(*whole) && Charge(whole->elements.size());
          if (!goes_on) return;
          for (const Value& element : whole->elements) {
            if (element.is_container()) add(element.container);
          }
        },
        [](Container*) {});
  }
  // Returns whether `container` would contain itself if it took `value`.
  bool Holds(const Value& value, const Container& container);
  // Checks the limit before a value is written out, where shared parts are repeated.
  bool MayWriteOut(const Value& value);
  // Returns whether two values are the same numbers, texts and tensors.
  bool AreSame(const Value& a, const Value& b);

  Arena* arena() { return &arena_; }

 private:
  // Limit of visited nodes and elements: a small program may unroll far, and nested lists even
  // further.
  static constexpr uint64_t kMaxSteps = 2'000'000;

  Arena arena_;
  std::deque<Container> containers_;
  Budget steps_{kMaxSteps};
  bool is_too_long_ = false;
};

}  // namespace graphnet::evaluation

#endif  // GRAPHNET_PASSES_PARTIAL_EVALUATION_VALUES_H_
