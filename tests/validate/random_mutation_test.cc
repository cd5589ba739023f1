// The validator notices any single fault in chains of random modules without being told where the
// pieces come from.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/ir/graph.h"
#include "graphnet/validate/structure.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/ir/text/random_module.h"

namespace graphnet {
namespace {

const StructureOptions kAsChain = {.cut = {.style = Style::kChain}};

constexpr uint64_t kSeeds = 1000;

class Mutation {
 public:
  Mutation(uint64_t seed, std::vector<Sample>* pieces) : random_(seed), pieces_(*pieces) {}

  // Damages the pieces. Returns a description, or "" if it was not possible.
  std::string Apply() {
    const size_t i = Below(pieces_.size());
    switch (Below(8)) {
      case 0:
        pieces_.erase(pieces_.begin() + static_cast<ptrdiff_t>(i));
        return absl::StrCat("dropped piece ", i);
      case 1: {
        Sample copy;
        copy.module = pieces_[i].module->Clone();
        if (NumOperators(*copy.module->main()) == 0) return "";
        pieces_.insert(pieces_.begin() + static_cast<ptrdiff_t>(i), std::move(copy));
        return absl::StrCat("doubled piece ", i);
      }
      case 2:
        if (i + 1 >= pieces_.size()) return "";
        std::swap(pieces_[i], pieces_[i + 1]);
        return absl::StrCat("swapped pieces ", i, " and ", i + 1);
      case 3: return ReverseOutputs(i);
      default: return ChangeOperator(i);
    }
  }

 private:
  size_t Below(size_t n) { return static_cast<size_t>(random_() % n); }

  std::string ReverseOutputs(size_t i) {
    Node* output = pieces_[i].module->main()->output();
    if (!output->args()[0].is_tuple()) return ChangeOperator(i);
    const absl::Span<const Argument> elements = output->args()[0].elements();
    const std::vector<Argument> reversed(elements.rbegin(), elements.rend());
    if (Argument::Tuple(reversed) == output->args()[0]) return ChangeOperator(i);
    output->set_args({Argument::Tuple(reversed)});
    return absl::StrCat("reversed the outputs of piece ", i);
  }

  std::string ChangeOperator(size_t i) {
    std::vector<Node*> calls;
    for (Graph* graph : pieces_[i].module->graphs()) {
      for (Node* node : graph->nodes()) {
        if (node->is_call()) calls.push_back(node);
      }
    }
    if (calls.empty()) return "";
    Node* node = calls[Below(calls.size())];
    const std::string name(node->name());
    switch (Below(4)) {
      case 0:
        node->set_target(absl::StrCat(node->target(), "_"));
        return absl::StrCat("target of ", name);
      case 1: {
        std::vector<Argument> args(node->args().begin(), node->args().end());
        args.push_back(int64_t{1});
        node->set_args(args);
        return absl::StrCat("arguments of ", name);
      }
      case 2: {
        if (node->graph() != pieces_[i].module->main() || node->has_uses()) return "";
        node->graph()->EraseNode(node);
        pieces_[i].module->EraseUnusedGraphs();
        return absl::StrCat("erased ", name);
      }
      default: {
        TensorMeta meta;
        meta.dtype = DType::kComplex128;
        if (node->tensor_meta() != nullptr && *node->tensor_meta() == meta) return "";
        node->set_meta(pieces_[i].module->InternValueMeta(meta));
        return absl::StrCat("meta of ", name);
      }
    }
  }

  std::mt19937_64 random_;
  std::vector<Sample>& pieces_;
};

TEST(RandomMutationTest, AllAreDetected) {
  int applied = 0;
  for (uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Sample original = RandomSample(seed);
    auto pieces = DecomposeChain(original, EqualCuts(*original.module->main(), 4));
    ASSERT_OK(pieces);
    for (Sample& piece : *pieces) piece.provenance.clear();
    ASSERT_OK(ValidateStructure(original, *pieces, kAsChain).status());
    const std::string what = Mutation(seed, &*pieces).Apply();
    if (what.empty()) continue;
    ++applied;
    EXPECT_FALSE(ValidateStructure(original, *pieces, kAsChain).ok()) << what;
  }
  EXPECT_GT(applied, static_cast<int>(kSeeds) / 2);
}

}  // namespace
}  // namespace graphnet
