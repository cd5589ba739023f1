#include "graphnet/decompose/schemes.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/decompose/chain_testing.h"

namespace graphnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Cuttable {
  explicit Cuttable(absl::string_view text)
      : sample(ParseFragment(text)), index(*sample.module->main()), regions(index) {}
  const Sample sample;
  const GraphIndex index;
  const Regions regions;
};

constexpr absl::string_view kTuple = R"(
graph @forward(%x) {
  %a = torch.relu(%x)
  %split = torch.chunk(%a, 2)
  %b = operator.getitem(%split, 0)
  %c = operator.getitem(%split, 1)
  %d = operator.add(%b, %c)
  %e = torch.relu(%d)
  return %e
}
)";

TEST(CutsEveryTest, CountsOperatorsAndKeepsTuplesWhole) {
  const Cuttable g(kTuple);
  EXPECT_THAT(CutsEvery(1, g.regions, 6), ElementsAre(1, 4, 5));
  EXPECT_THAT(CutsEvery(2, g.regions, 6), ElementsAre(4));
  EXPECT_THAT(CutsEvery(5, g.regions, 6), ElementsAre(5));
  EXPECT_THAT(CutsEvery(6, g.regions, 6), IsEmpty());
  EXPECT_THAT(CutsEvery(int64_t{1} << 62, g.regions, 6), IsEmpty());
}

TEST(AllowedCutsTest, SortsMovesAndMerges) {
  const Cuttable g(kTuple);
  EXPECT_THAT(AllowedCuts({5, 3, 2, 0, 6, 1}, g.regions, 6), ElementsAre(1, 4, 5));
}

constexpr absl::string_view kModules = R"(
graph @forward(
  %x,
  %w0 "L_self_modules_layer1_modules_0_modules_conv_parameters_weight_",
  %w1 "L_self_modules_layer1_modules_1_modules_conv_parameters_weight_",
  %w2 "L_self_modules_fc_parameters_weight_"
) {
  %zero = torch.neg(%x)
  %a = torch.conv2d(%zero, %w0)
  %b = torch.relu(%a)
  %c = torch.conv2d(%b, %w1)
  %d = torch.relu(%c)
  %e = torch.nn.functional.linear(%d, %w2)
  return %e
}
)";

TEST(ModuleCutsTest, ByTheParametersThatOperatorsTake) {
  const Cuttable g(kModules);
  // An operator without parameters goes with the one before it; the first ones go with the one
  // after them.
  EXPECT_THAT(*ModuleCuts(1, g.index, g.regions), ElementsAre(5));
  EXPECT_THAT(*ModuleCuts(2, g.index, g.regions), ElementsAre(3, 5));
  EXPECT_THAT(*ModuleCuts(100, g.index, g.regions), ElementsAre(3, 5));
}

TEST(ModuleCutsTest, ByTheirOwnPaths) {
  const Cuttable g(
      "graph @f(%x) {\n  %a = torch.relu(%x)\n  %b = torch.relu(%a)\n  return %b\n}\n");
  EXPECT_THAT(
      ModuleCuts(1, g.index, g.regions).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no operator has a module path")));
  g.index.node(1)->set_module_path("encoder.0");
  g.index.node(2)->set_module_path("encoder.1");
  EXPECT_THAT(*ModuleCuts(1, g.index, g.regions), IsEmpty());
  EXPECT_THAT(*ModuleCuts(2, g.index, g.regions), ElementsAre(1));
}

TEST(NodesOfModuleTest, AllThatIsBelow) {
  const Cuttable g(kModules);
  const auto operators = [&](absl::string_view path) {
    std::vector<int64_t> numbers;
    const auto nodes = NodesOfModule(path, g.index);
    for (const Node* node : *nodes) numbers.push_back(g.index.operator_of(g.index.IndexOf(node)));
    return numbers;
  };
  EXPECT_THAT(operators("layer1"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(operators("layer1.1"), ElementsAre(3, 4));
  EXPECT_THAT(operators("fc"), ElementsAre(5));
  for (const absl::string_view wrong : {"layer", "layer1.2", ""}) {
    EXPECT_THAT(
        NodesOfModule(wrong, g.index).status(),
        StatusIs(absl::StatusCode::kNotFound, HasSubstr("no operator belongs to the module")));
  }
}

TEST(NodesOfModuleTest, TheModuleThatIsMeant) {
  const Cuttable g(
      "graph @forward(%x) {\n  %a = torch.relu(%x) in model.encoder.layer.0.output\n"
      "  %b = torch.neg(%a) in model.encoder.layer.1.output\n  return (%b,)\n}\n");
  EXPECT_THAT(
      NodesOfModule("encoder.layer.1", g.index).status(),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("; did you mean model.encoder.layer.1?")));
}

constexpr absl::string_view kBranches = R"(
graph @forward(%x, %y) {
  %a = torch.relu(%x)
  %other = torch.neg(%y)
  %b = torch.relu(%a)
  %c = operator.add(%b, %other)
  %d = torch.relu(%c)
  return %d
}
)";

TEST(RangeOfValuesTest, HoldsAllBetween) {
  const Cuttable g(kBranches);
  const auto range = [&](const std::vector<std::string>& in, const std::vector<std::string>& out) {
    const absl::StatusOr<Range> r = RangeOfValues(in, out, g.index, g.regions);
    return r.ok() ? absl::StrCat("[", r->start, ", ", r->end, ")")
                  : std::string(r.status().message());
  };
  EXPECT_EQ(range({"a"}, {"c"}), "[2, 4)");
  EXPECT_EQ(range({"%a"}, {"%b"}), "[2, 3)");
  EXPECT_EQ(range({"x"}, {"c"}), "[0, 4)");
  EXPECT_EQ(range({"y"}, {"c"}), "[1, 4)");
  EXPECT_EQ(range({}, {"b"}), "[0, 3)");
  EXPECT_EQ(range({"a", "other"}, {"d"}), "[2, 5)");
  EXPECT_EQ(range({"c"}, {"a"}), "no operator lies between the inputs and the outputs");
  EXPECT_EQ(range({"a"}, {"a"}), "no operator lies between the inputs and the outputs");
  EXPECT_EQ(range({"q"}, {"a"}), "the graph has no value q");
}

TEST(RangeOfValuesTest, RefusesToPartTuples) {
  const Cuttable g(kTuple);
  EXPECT_THAT(
      RangeOfValues({"split"}, {"e"}, g.index, g.regions).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("parts the tuple that split")));
}

}  // namespace
}  // namespace graphnet
