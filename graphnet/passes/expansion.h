// Internal: what writes a call of a function as several calls of ATen.
#ifndef GRAPHNET_PASSES_EXPANSION_H_
#define GRAPHNET_PASSES_EXPANSION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/ir/module.h"
#include "graphnet/ops/schema.h"

namespace graphnet::expansion {

inline constexpr int64_t kMaxSize = int64_t{1} << 30;  // Its multiples fit an int64, too.

// Names the fact that is missing to expand a call, which then stays.
inline absl::Status Unknown(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(what, " is not known"));
}

// A call that is being expanded: its arguments, and the calls that take its place.
class Steps {
 public:
  using FactsOf = absl::FunctionRef<TensorFacts(const Node*)>;
  Steps(Node* call, const Schema& schema, FactsOf facts)
      : call_(call), schema_(schema), facts_(facts) {}

  // Returns the argument, or its default; None if there is no such parameter.
  Argument operator[](absl::string_view parameter) const {
    const Argument* const given = schema_.Given(*call_, parameter);
    if (given != nullptr) return *given;
    const SchemaArgument* const argument = schema_.FindArgument(parameter);
    return argument != nullptr ? argument->default_value : Argument();
  }
  bool Has(absl::string_view parameter) const { return !(*this)[parameter].is_none(); }
  bool IsTrue(absl::string_view parameter) const {
    const Argument value = (*this)[parameter];
    return value.is_bool() ? value.boolean() : value.is_int() && value.integer() != 0;
  }
  TensorFacts Facts(const Argument& a) const {
    return a.is_node() ? facts_(a.node()) : TensorFacts();
  }

  Argument Aten(absl::string_view overload, std::initializer_list<Argument> args,
                std::initializer_list<KwArg> kwargs = {}) {
    return Call(absl::StrCat("aten.", overload), args, kwargs);
  }
  // Returns a size, as a number if it is known.
  Argument Size(const Argument& tensor, int64_t dim) {
    const TensorFacts facts = Facts(tensor);
    const auto at = static_cast<size_t>(dim);
    if (facts.sizes.has_value() && at < facts.sizes->size() && (*facts.sizes)[at] >= 0)
      return (*facts.sizes)[at];
    return Aten("sym_size.int", {tensor, dim});
  }
  Argument Times(const Argument& size, int64_t factor) {
    if (size.is_int() && size.integer() <= kMaxSize) return size.integer() * factor;
    return Call("operator.mul", {size, factor}, {});
  }
  Argument List(std::vector<Argument> elements) {
    lists_.push_back(std::move(elements));
    return Argument::List(lists_.back());
  }

 private:
  Argument Call(absl::string_view target, std::initializer_list<Argument> args,
                std::initializer_list<KwArg> kwargs) {
    Node* const node = call_->graph()->CallFunction(target, args, kwargs, call_->name());
    node->set_location(call_->location());
    node->set_module_path(call_->module_path());
    return node;
  }

  Node* const call_;
  const Schema& schema_;
  const FactsOf facts_;
  std::deque<std::vector<Argument>> lists_;
};

// One value, or the elements of a tuple.
using Results = std::vector<Argument>;

// torch.lstm, gru, rnn_tanh and rnn_relu of tensors, not of packed sequences (expand_recurrent.cc).
absl::StatusOr<Results> Lstm(Steps& s);
absl::StatusOr<Results> Gru(Steps& s);
absl::StatusOr<Results> RnnTanh(Steps& s);
absl::StatusOr<Results> RnnRelu(Steps& s);

}  // namespace graphnet::expansion

#endif  // GRAPHNET_PASSES_EXPANSION_H_
