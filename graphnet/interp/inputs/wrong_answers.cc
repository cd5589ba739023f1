#include "graphnet/interp/inputs/wrong_answers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/interp/inputs/numbers.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/node_table.h"

namespace graphnet {
namespace {

constexpr size_t kMostListed = 4;

bool IsInput(const Node& node) {
  return node.op() == Op::kPlaceholder || node.op() == Op::kGetAttr;
}

// Returns the value of which a node is a view, or the node itself.
const Node* RootOf(const Node* node) {
  while (!IsInput(*node)) {
    const MemoryUse use = MemoryUseOf(*node);
    const bool has_one = !use.shared.empty() && absl::c_all_of(use.shared, [&](const Node* shared) {
      return shared == use.shared.front();
    });
    if (!has_one || !use.written.empty()) break;
    node = use.shared.front();
  }
  return node;
}

// The elements of a tensor as numbers; complex ones are two numbers each.
class Elements {
 public:
  explicit Elements(const TensorData& data) : numbers_(NumbersOf(data.dtype)) {
    if (numbers_.read == nullptr) numbers_ = Numbers::Plain<uint8_t>();
    if (!data.bytes) return;
    bytes_ = data.bytes->data();
    size_ = data.bytes->size() / numbers_.bytes;
  }
  size_t size() const { return size_; }
  size_t numbers_each() const { return numbers_.is_complex ? 2 : 1; }
  double operator[](size_t i) const { return numbers_.read(bytes_ + i * numbers_.bytes); }

 private:
  Numbers numbers_;
  const char* bytes_ = nullptr;
  size_t size_ = 0;
};

// How the elements of an input lie in an output: element i of the output is element
// i / stride % size of the input.
struct Spread {
  size_t stride = 1;
  size_t size = 0;
};

size_t CountOf(absl::Span<const int64_t> shape) {
  size_t count = 1;
  for (const int64_t size : shape) count *= static_cast<size_t>(std::max<int64_t>(size, 0));
  return count;
}

// Returns the ways in which a tensor of shape `from` may fill one of shape `to`.
std::vector<Spread> SpreadsOf(absl::Span<const int64_t> from, absl::Span<const int64_t> to) {
  while (!from.empty() && from.front() == 1) from.remove_prefix(1);
  std::vector<Spread> spreads;
  const size_t count = CountOf(from);
  if (count < 2) return spreads;
  if (count == CountOf(to) ||
      (from.size() <= to.size() && from == to.subspan(to.size() - from.size()))) {
    spreads.push_back({1, count});
  }
  // A bias of channels.
  while (!from.empty() && from.back() == 1) from.remove_suffix(1);
  if (from.size() != 1) return spreads;
  size_t stride = 1;
  for (size_t d = to.size(); d-- > 0; stride *= static_cast<size_t>(to[d])) {
    if (to[d] == from[0] && stride > 1) spreads.push_back({stride, count});
  }
  return spreads;
}

// Tries answers for one output.
class Trial {
 public:
  Trial(const TensorData& expected, absl::Span<const Tolerance> rising)
      : expected_(expected), rising_(rising) {}

  const Elements& expected() const { return expected_; }

  // Keeps the answer if it passes earlier than those before.
  void Try(const std::string& what, absl::FunctionRef<double(size_t)> answer) {
    const size_t most = best_.found() ? best_.tolerance : rising_.size();
    size_t level = 0;
    for (size_t i = 0; i < expected_.size(); ++i) {
      const double right = expected_[i];
      const double given = answer(i);
      if (right == given || (std::isnan(right) && std::isnan(given))) continue;
      const double difference = std::abs(right - given);
      if (!std::isfinite(difference)) return;
      while (level < most &&
             difference > rising_[level].atol + rising_[level].rtol * std::abs(right))
        ++level;
      if (level == most) return;
    }
    if (level < most) best_ = {what, level};
  }

  WrongAnswer best() const { return best_; }

 private:
  const Elements expected_;
  const absl::Span<const Tolerance> rising_;
  WrongAnswer best_;
};

void TryConstant(Trial* trial) {
  const Elements& expected = trial->expected();
  double least = expected[0];
  double greatest = expected[0];
  for (size_t i = 1; i < expected.size(); ++i) {
    least = std::min(least, expected[i]);
    greatest = std::max(greatest, expected[i]);
  }
  const double middle = least == greatest ? least : least / 2 + greatest / 2;
  trial->Try("a constant", [&](size_t) { return middle; });
}

}  // namespace

std::vector<OutputForm> FormsOfOutputs(const Module& module) {
  std::vector<OutputForm> forms;
  const Graph* const main = module.main();
  if (main == nullptr || main->output() == nullptr) return forms;
  NodeTable<bool> depends(module);
  for (const Node* node : main->nodes()) {
    bool any = IsInput(*node);
    node->ForEachOperand([&](const Node* operand) { any |= depends[operand]; });
    depends[node] = any;
  }
  ForEachArgument(main->output()->args()[0], [&](const Argument& argument) {
    if (!argument.is_node()) return;
    const Node* const root = RootOf(argument.node());
    forms.push_back(
        {root, IsInput(*root) ? std::string(root->target()) : "", depends[argument.node()]});
  });
  return forms;
}

WrongAnswer FindWrongAnswer(absl::Span<const TensorData> outputs, size_t i,
                            absl::Span<const OutputForm> forms,
                            const std::map<std::string, TensorData>& values,
                            absl::Span<const Tolerance> rising) {
  const TensorData& output = outputs[i];
  const auto form_of = [&](size_t j) {
    return forms.size() == outputs.size() ? forms[j] : OutputForm();
  };
  const OutputForm form = form_of(i);
  Trial trial(output, rising);
  const Elements& expected = trial.expected();
  if (expected.size() == 0 || !form.depends_on_input || !form.input.empty()) return trial.best();
  const size_t n = expected.size();
  const size_t each = expected.numbers_each();
  trial.Try("zeros", [](size_t) { return 0.0; });
  if (n > each) TryConstant(&trial);
  for (const auto& [name, value] : values) {
    if (value.dtype != output.dtype) continue;
    const Elements elements(value);
    for (const Spread& spread : SpreadsOf(value.shape, output.shape)) {
      if (spread.size * each > elements.size()) continue;
      trial.Try(absl::StrCat("input ", Printable(name)), [&](size_t k) {
        return elements[k / each / spread.stride % spread.size * each + k % each];
      });
    }
  }
  if (n > each) {
    trial.Try("its elements in another order", [&](size_t k) { return expected[n - 1 - k]; });
    trial.Try("its elements in another order", [&](size_t k) { return expected[(k + each) % n]; });
  }
  for (size_t j = 0; j < outputs.size(); ++j) {
    if (j == i || outputs[j].dtype != output.dtype || outputs[j].shape != output.shape) continue;
    if (form.value != nullptr && form_of(j).value == form.value) continue;
    // Equal bits may be one value under two names, as after a write.
    if (outputs[j].bytes && output.bytes && *outputs[j].bytes == *output.bytes) continue;
    const Elements other(outputs[j]);
    trial.Try(absl::StrCat("output ", j), [&](size_t k) { return other[k]; });
  }
  return trial.best();
}

bool IsFinite(const TensorData& tensor) {
  const Elements elements(tensor);
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!std::isfinite(elements[i])) return false;
  }
  return true;
}

std::vector<PassedAnswer> PassedAnswers(absl::Span<const WrongAnswer> answers) {
  std::vector<PassedAnswer> passed;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].found()) passed.emplace_back(i, answers[i].what);
  }
  return passed;
}

std::string DescribeWrongAnswers(absl::Span<const PassedAnswer> passed) {
  std::string text;
  for (const auto& [output, answer] : passed.subspan(0, kMostListed)) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", answer, " would have passed as o", output);
  }
  if (passed.size() > kMostListed)
    absl::StrAppend(&text, ", and more as ", passed.size() - kMostListed, " other outputs");
  return text;
}

}  // namespace graphnet
