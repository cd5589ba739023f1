#include "graphnet/interp/measure_stability.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ATen/Functions.h"
#include "absl/container/flat_hash_map.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/torch/comparison.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/types.h"

namespace graphnet {
namespace {

// Sums up the numbers that are finite.
double SumOfSquares(const at::Tensor& numbers) {
  return numbers.nan_to_num(0, 0, 0).square().sum().item<double>();
}

// Sums up how far random rounding moves the values of nodes.
class SpreadsOfValues {
 public:
  explicit SpreadsOfValues(int64_t budget) : budget_(budget) {}

  // Takes a value of a run; -1 is the one without random rounding.
  absl::Status See(int run, const Node& node, const c10::IValue& value) {
    if (!node.is_call() || !value.isTensor() || !IsReadable(value.toTensor()))
      return absl::OkStatus();
    const at::Tensor& tensor = value.toTensor();
    if (DigitsOf(DTypeOf(tensor.scalar_type())) == 0) return absl::OkStatus();
    return Guarded([&] {
      run < 0 ? Keep(node, tensor) : Compare(node, tensor);
      return absl::OkStatus();
    });
  }

  Stability Finish() {
    Stability made;
    made.left_out = left_out_;
    for (const Node* node : order_) {
      const Entry& entry = entries_.at(node);
      StableValue& value = made.values.emplace_back();
      value.node = node;
      value.dtype = entry.dtype;
      const double most = DigitsOf(entry.dtype);
      value.digits = most;
      if (entry.runs > 0 && entry.sum > 0) {
        const double spread = entry.sum / static_cast<double>(entry.runs);
        value.digits = std::clamp(std::log10(entry.squares / spread) / 2, 0.0, most);
      }
      value.lost = most - value.digits;
      digits_[node] = value.digits;
      const double given = std::min(most, DigitsOfOperands(*node, 0));
      value.lost_here = std::max(0.0, given - value.digits);
    }
    return made;
  }

 private:
  struct Entry {
    DType dtype = DType::kUnknown;
    at::Tensor kept;
    double squares = 0;  // of the elements
    double sum = 0;      // of the squares of all distances
    size_t runs = 0;
  };

  void Keep(const Node& node, const at::Tensor& tensor) {
    const at::Tensor plain = PlainTensor(tensor);
    const auto bytes = static_cast<int64_t>(plain.nbytes());
    if (bytes > budget_) {
      ++left_out_;
      return;
    }
    budget_ -= bytes;
    order_.push_back(&node);
    Entry& entry = entries_[&node];
    entry.dtype = DTypeOf(tensor.scalar_type());
    entry.kept = OwnMemory(plain, tensor);
    entry.squares = SumOfSquares(DoublesOf(entry.kept));
  }

  void Compare(const Node& node, const at::Tensor& tensor) {
    const auto it = entries_.find(&node);
    if (it == entries_.end()) return;
    Entry& entry = it->second;
    const at::Tensor plain = PlainTensor(tensor);
    if (plain.sizes() != entry.kept.sizes() || plain.scalar_type() != entry.kept.scalar_type())
      return;
    entry.sum += SumOfSquares(DoublesOf(plain).sub(DoublesOf(entry.kept)));
    ++entry.runs;
  }

  // The fewest digits of the operands. Those of a tuple or of a number are those of its own operands;
  // inputs and weights have all.
  double DigitsOfOperands(const Node& node, int depth) {
    constexpr int kMaxDepth = 100;
    double fewest = std::numeric_limits<double>::infinity();
    for (const Node* operand : node.operands()) {
      auto it = digits_.find(operand);
      if (it == digits_.end()) {
        const double digits = depth < kMaxDepth ? DigitsOfOperands(*operand, depth + 1)
                                                : std::numeric_limits<double>::infinity();
        it = digits_.insert_or_assign(operand, digits).first;
      }
      fewest = std::min(fewest, it->second);
    }
    return fewest;
  }

  int64_t budget_;
  size_t left_out_ = 0;
  std::vector<const Node*> order_;
  absl::flat_hash_map<const Node*, Entry> entries_;
  absl::flat_hash_map<const Node*, double> digits_;
};

}  // namespace

absl::StatusOr<Stability> MeasureStability(const RunAgain& run, uint64_t seed) {
  SpreadsOfValues spreads(AvailableMemoryBytes() / 4);
  MeasureRoundingOptions options;
  options.seed = seed;
  options.deciding_runs = 0;
  options.observer = [&](int number, const Node& node, const c10::IValue& value) {
    return spreads.See(number, node, value);
  };
  RETURN_IF_ERROR(MeasureRounding(run, options).status());
  return spreads.Finish();
}

}  // namespace graphnet
