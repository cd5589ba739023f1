#include "graphnet/corpus/near.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "python/bindings/arrow.h"
#include "python/bindings/corpus.h"
#include "python/bindings/errors.h"
#include "python/bindings/long_call.h"

namespace graphnet {
namespace {

// The features of many graphs.
struct FeatureLists {
  std::vector<uint64_t> features;
  std::vector<size_t> ends;

  std::vector<FeatureList> Spans() const {
    std::vector<FeatureList> spans;
    size_t begin = 0;
    for (const size_t end : ends) {
      spans.push_back(absl::MakeConstSpan(features).subspan(begin, end - begin));
      begin = end;
    }
    return spans;
  }
};

// Reads a list of lists, or a column of Arrow.
FeatureLists FeaturesIn(nb::handle lists) {
  FeatureLists all;
  const auto end_list = [&all] {
    const auto begin =
        all.features.begin() + static_cast<ptrdiff_t>(all.ends.empty() ? 0 : all.ends.back());
    if (std::adjacent_find(begin, all.features.end(), std::greater_equal<>()) !=
        all.features.end()) {
      Raise(PyExc_ValueError,
            absl::StrCat("the features of graph ", all.ends.size(), " are not in ascending order"));
    }
    all.ends.push_back(all.features.size());
  };
  if (nb::hasattr(lists, "__arrow_c_array__")) {
    ReadArrowLists(lists, [&](absl::Span<const uint64_t> list) {
      all.features.insert(all.features.end(), list.begin(), list.end());
      end_list();
    });
    return all;
  }
  for (const nb::handle list : TupleOf(lists)) {
    for (const nb::handle feature : TupleOf(list))
      all.features.push_back(nb::cast<uint64_t>(feature));
    end_list();
  }
  return all;
}

nb::object TokensOf(nb::handle lists, double threshold) {
  const FeatureLists all = FeaturesIn(lists);
  ArrowColumn tokens("", ArrowColumn::kList, {ArrowColumn("item", ArrowColumn::kUInt64)});
  for (const FeatureList features : all.Spans()) {
    const FeatureList first = ValueOrRaise(PrefixTokens(features, threshold));
    for (const uint64_t token : first) tokens.child(0).AppendNumber(token);
    tokens.EndEntry();
  }
  return ToArrow(std::move(tokens));
}

nb::object PairsOf(nb::handle lists, double threshold) {
  auto all = std::make_shared<const FeatureLists>(FeaturesIn(lists));
  const std::vector<NearPair> found = ValueOrRaise(
      LongCall(Locks(), [all, threshold] { return NearPairs(all->Spans(), threshold); }));
  ArrowColumn pairs("", ArrowColumn::kStruct,
                    {ArrowColumn("a", ArrowColumn::kInt32), ArrowColumn("b", ArrowColumn::kInt32),
                     ArrowColumn("jaccard", ArrowColumn::kDouble)});
  for (const NearPair& pair : found) {
    pairs.child(0).AppendNumber(pair.a);
    pairs.child(1).AppendNumber(pair.b);
    pairs.child(2).AppendNumber(pair.jaccard);
    pairs.EndEntry();
  }
  return ToArrow(std::move(pairs));
}

}  // namespace

void BindNear(nb::module_& m) {
  m.def("_prefix_tokens", TokensOf, nb::arg("features"), nb::arg("threshold"),
        "Returns the features that each graph shares with every graph that is as near.");
  m.def("_near_pairs", PairsOf, nb::arg("features"), nb::arg("threshold"),
        "Returns all pairs of graphs whose features have at least this Jaccard index.");
}

}  // namespace graphnet
