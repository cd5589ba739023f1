#include "graphnet/passes/partial_evaluation/values.h"

#include <utility>

#include "graphnet/base/limits.h"

namespace graphnet::evaluation {
namespace {

constexpr size_t kTextBytesPerStep = 64;  // Texts of a step take about as much as a value.

}  // namespace

bool Values::Charge(uint64_t count) {
  is_too_long_ |= !steps_.Charge(count);
  return !is_too_long_;
}

Value Values::Make(Argument::Kind kind, std::vector<Value> elements, const Node* maker) {
  containers_.push_back({std::move(elements), kind, maker});
  return {Argument(), &containers_.back()};
}

std::optional<Value> Values::Text(absl::string_view text) {
  if (text.size() > kMaxTextBytes || !Charge(text.size() / kTextBytesPerStep)) return std::nullopt;
  return Value{Argument(arena_.Copy(text))};
}

Container* Values::ContainerOf(const Value& value) {
  if (value.is_container()) return value.container;
  const Argument::Kind kind = value.argument.kind();
  if (kind != Argument::Kind::kList && kind != Argument::Kind::kTuple &&
      kind != Argument::Kind::kDict)
    return nullptr;
  std::vector<Value> elements;
  for (const Argument& element : value.argument.elements()) elements.push_back({element});
  Container* const made = Make(kind, std::move(elements)).container;
  made->is_literal = true;
  return made;
}

std::optional<std::vector<Value>> Values::ElementsOf(const Value& value) {
  const Container* const container = ContainerOf(value);
  if (container == nullptr || container->is_dict() || !Charge(container->elements.size()))
    return std::nullopt;
  return container->elements;
}

bool Values::Holds(const Value& value, const Container& container) {
  bool holds = false;
  const bool is_finite = ForEachContainer(value, [&](const Container& whole) {
    holds |= &whole == &container;
    return !holds;
  });
  return holds || !is_finite;
}

bool Values::MayWriteOut(const Value& value) {
  if (!value.is_container()) return !is_too_long_;
  Expansions<const Container*> expansions;
  const std::optional<Expansion> all =
      expansions.Of(value.container, [](const Container* whole, auto&& add) -> uint64_t {
        for (const Value& element : whole->elements) {
          if (element.is_container()) add(element.container);
        }
        return whole->elements.size();
      });
  if (!all || all->height > kMaxNesting) is_too_long_ = true;
  return !is_too_long_ && Charge(all->size);
}

bool Values::AreSame(const Value& a, const Value& b) {
  if (!a.is_container() && !b.is_container())
    return a.argument == b.argument && a.is_number_tensor == b.is_number_tensor;
  const Container* const x = ContainerOf(a);
  const Container* const y = ContainerOf(b);
  if (x == nullptr || y == nullptr || x->elements.size() != y->elements.size()) return false;
  for (size_t i = 0; i < x->elements.size(); ++i) {
    if (!Charge(1) || !AreSame(x->elements[i], y->elements[i])) return false;
  }
  return true;
}

}  // namespace graphnet::evaluation
