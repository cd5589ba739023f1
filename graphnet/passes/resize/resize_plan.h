// Writes a graph at other sizes: numbers that follow a symbol become those of the size.
#ifndef GRAPHNET_PASSES_RESIZE_RESIZE_PLAN_H_
#define GRAPHNET_PASSES_RESIZE_RESIZE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

class SizeFollower;

// How a sample changes with the sizes of its symbols.
//
//   ASSIGN_OR_RETURN(auto plan, ResizePlan::Make(&sample, {{4, 16}, {1, 256}}, infer));
//   for (size_t i = 0; i < plan->size(); ++i) {
//     if (plan->status(i).ok()) RETURN_IF_ERROR(plan->Apply(i));  // changes the sample
//   }
class ResizePlan {
 public:
  // Finds how the numbers of `sample`, whose inputs have symbols with examples, follow them. Each of
  // `rows` has one size for each symbol, in the order of Module::symbols(). `infer` is called for
  // the graph, and for calls that no rule knows. FailedPrecondition if a number does not follow at
  // any size, or no input has a symbol; InvalidArgument if a row has another number of sizes, or one
  // that is not above 0. The metas of calls become those of the recorded sizes. O(nodes · rows), some
  // times over. The sample must outlive the plan.
  static absl::StatusOr<std::unique_ptr<ResizePlan>> Make(
      Sample* sample, const std::vector<std::vector<int64_t>>& rows, const InferSizes& infer);
  ~ResizePlan();

  size_t size() const { return rows_.size(); }
  // Returns why a row is impossible: OK, or FailedPrecondition with the call that prevents it.
  const absl::Status& status(size_t row) const;
  // Makes the sample that of a row: arguments, metas, examples of symbols, draw specs. Rows may be
  // applied in any order, one after the other.
  absl::Status Apply(size_t row);

  // Infers the sizes of all values of a row that is applied, and compares them with those that were
  // followed. FailedPrecondition names the first call that differs, or cannot take its sizes.
  absl::Status Check(size_t row, const InferSizes& infer);

  // The numbers that change, and the inputs that are no data and get other sizes: tables of
  // positions that would be too short.
  size_t num_numbers() const;
  size_t num_tables() const;

 private:
  ResizePlan(Sample* sample, std::vector<std::vector<int64_t>> rows);
  absl::Status Plan(const InferSizes& infer);
  void InsertExpansions();
  const ValueMeta* MetaAt(const ValueMeta& meta, const struct Extent& extent, size_t point);

  Sample& sample_;
  std::vector<std::vector<int64_t>> rows_;
  std::unique_ptr<SizeFollower> follower_;
  // The numbers in arguments: the index of the argument among those that are no aggregates.
  struct Change;
  std::vector<Change> changes_;
  struct Input;
  std::vector<Input> inputs_;
  struct Meta;
  std::vector<Meta> metas_;
};

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_RESIZE_RESIZE_PLAN_H_
