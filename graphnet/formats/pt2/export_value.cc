#include "graphnet/formats/pt2/export_value.h"

#include <cstdint>
#include <memory>
#include <utility>

namespace graphnet::pt2 {

ExportValue ExportValue::Sequence(Kind kind, Elements elements) {
  // Lists may nest deeper than the stack allows, so they are released one after the other.
  const auto release = [](Elements* last) {
    static thread_local std::vector<std::unique_ptr<Elements>>* waiting = nullptr;
    std::unique_ptr<Elements> next(last);
    if (waiting != nullptr) return waiting->push_back(std::move(next));
    std::vector<std::unique_ptr<Elements>> all;
    waiting = &all;
    for (; next != nullptr;) {
      next.reset();  // Lists that only this one holds join `waiting`.
      if (all.empty()) break;
      next = std::move(all.back());
      all.pop_back();
    }
    waiting = nullptr;
  };
  ExportValue value;
  value.kind = kind;
  value.elements = std::shared_ptr<Elements>(new Elements(std::move(elements)), release);
  return value;
}

std::optional<Expansion> ExpansionOf(const ExportValue& value) {
  if (value.elements == nullptr) return Expansion{.size = 1};
  Expansions<const ExportValue::Elements*> expansions;
  return expansions.Of(value.elements.get(),
                       [](const ExportValue::Elements* whole, auto&& add) -> uint64_t {
                         for (const ExportValue& element : *whole) {
                           if (element.elements != nullptr) add(element.elements.get());
                         }
                         return whole->size();
                       });
}

}  // namespace graphnet::pt2
