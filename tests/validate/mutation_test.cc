// The validator notices damage of every kind to decompositions of the samples.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/file.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/validate/mutations.h"

namespace graphnet {
namespace {

TEST(MutationTest, AllDamageIsDetected) {
  std::map<std::string, MutationTotal> totals;
  std::vector<std::string> misses;
  Decomposition other;
  uint64_t seed = 0;
  for (const char* name : {"resnet", "gpt"}) {
    const auto sample =
        ReadSampleFile(absl::StrCat("samples/", name, ".pb"), /*with_weights=*/true);
    ASSERT_OK(sample);
    for (const Style style : {Style::kChain, Style::kDag}) {
      for (const PieceFormat format : {PieceFormat::kProtobuf, PieceFormat::kGraphNetFolder}) {
        absl::StatusOr<Sample> form = FolderFormOfSample(*sample);
        if (format == PieceFormat::kGraphNetFolder && !form.ok()) continue;
        const Sample& original = format == PieceFormat::kProtobuf ? *sample : *form;
        DecomposeConfig config;
        config.mode = DecomposeMode::kEqual;
        config.number = 4;
        config.cut.style = style;
        TryMutations(original, config, {.format = format}, other, ++seed, testing::TempDir(),
                     &totals, &misses);
        if (absl::StatusOr<Decomposition> made = Decompose(original, config); made.ok())
          other = *std::move(made);
      }
    }
  }
  EXPECT_TRUE(misses.empty()) << absl::StrJoin(misses, "\n");
  int64_t kinds = 0;
  for (const auto& [name, total] : totals) kinds += total.applied > 0 ? 1 : 0;
  EXPECT_GE(kinds, 60) << MutationTable(totals);
}

}  // namespace
}  // namespace graphnet
