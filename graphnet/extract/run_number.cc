#include "graphnet/extract/run_number.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "graphnet/extract/ivalue_tree.h"

namespace graphnet::extract {

using c10::IValue;

IValue ValueOf(c10::intrusive_ptr<RunNumber> number) {
  const bool is_int = number->is_int();
  c10::SymNode node(std::move(number));
  return is_int ? IValue(c10::SymInt(std::move(node))) : IValue(c10::SymFloat(std::move(node)));
}

const RunNumber* RunNumberOf(const IValue& value) {
  if (value.isSymInt())
    return dynamic_cast<const RunNumber*>(value.toSymInt().toSymNodeImplUnowned());
  if (value.isSymFloat())
    return dynamic_cast<const RunNumber*>(value.toSymFloat().toSymNodeImplUnowned());
  return nullptr;
}

bool HasRunNumbers(const std::vector<IValue>& values) {
  return absl::c_any_of(values, [](const IValue& value) {
    return AnyLeaf(value, [](const IValue& leaf) { return RunNumberOf(leaf) != nullptr; });
  });
}

}  // namespace graphnet::extract
