#include "graphnet/formats/pt2/input_check.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graphnet/formats/pt2/importer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/pt2/program_builder.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

absl::Status Check(std::vector<int64_t> shape, const std::string& from = "",
                   const std::string& to = "") {
  ArchiveFiles files = ProgramFiles();
  if (!from.empty()) {
    std::string& json = files["models/model.json"];
    EXPECT_NE(json.find(from), std::string::npos) << from;
    json = absl::StrReplaceAll(json, {{from, to}});
  }
  const auto sample = ImportPt2(ArchiveOf(files), "m.pt2");
  if (!sample.ok()) return sample.status();
  TensorData x;
  x.dtype = DType::kFloat32;
  x.shape = std::move(shape);
  return CheckProgramInputs(*sample, {{"x", x}});
}

TEST(InputCheck, ChecksLikeTheProgramsModule) {
  EXPECT_OK(Check({3, 2}));
  EXPECT_OK(Check({7, 2}));
  EXPECT_OK(Check({1, 2}));  // below 2: PyTorch does not insist
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(Check({3}), StatusIs(kInvalid, "input x has 1 dimensions, the program takes 2"));
  EXPECT_THAT(Check({3, 3}),
              StatusIs(kInvalid,
                       "input x: size 1 is 3, the program takes 2; dynamic_shapes of torch.export, "
                       "or opt -p generalize-dims, lets a size vary"));
  EXPECT_THAT(Check({9, 2}),
              StatusIs(kInvalid, "input x: size 0 is 9, the program takes no more than 8"));
  EXPECT_THAT(Check({4, 2}), StatusIs(kInvalid,
                                      "the inputs violate a guard of the program: "
                                      "['x'].size()[0] % 2 == 1"));
  EXPECT_THAT(Check({3, 2}, "\"min_val\": 2", "\"min_val\": 5"),
              StatusIs(kInvalid, "input x: size 0 is 3, the program takes no less than 5"));
}

TEST(InputCheck, ChecksRelatedSizes) {
  constexpr char kSymbol[] = "Symbol('s0', positive=True, integer=True)";
  const std::string twice = std::string("Mul(Integer(2), ") + kSymbol + ")";
  constexpr char kGuard[] = "L['x'].size()[0] % 2 == 1";
  const auto check = [&](std::vector<int64_t> shape) {
    ArchiveFiles files = ProgramFiles();
    std::string& json = files["models/model.json"];
    json = absl::StrReplaceAll(json, {{kSymbol, twice}, {kGuard, "True"}});
    const auto sample = ImportPt2(ArchiveOf(files), "m.pt2");
    EXPECT_OK(sample);
    TensorData x;
    x.shape = std::move(shape);
    return CheckProgramInputs(*sample, {{"x", x}});
  };
  EXPECT_OK(check({6, 2}));
  EXPECT_THAT(check({7, 2}), StatusIs(absl::StatusCode::kInvalidArgument,
                                      "input x: size 0 is 7, the program takes a multiple of 2"));
  EXPECT_THAT(check({18, 2}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "input x: size 0 is 18, the program takes no more than 8 for s0 of it"));
}

// generalize-dims may have made a symbol of a number in the program.
TEST(InputCheck, AcceptsSizesThatBecameSymbols) {
  ArchiveFiles files = ProgramFiles();
  const auto sample = ImportPt2(ArchiveOf(files), "m.pt2");
  ASSERT_OK(sample);
  TensorData x;
  x.shape = {3, 5};
  EXPECT_THAT(CheckProgramInputs(*sample, {{"x", x}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("size 1 is 5")));
  for (Node* input : sample->module->main()->placeholders()) {
    if (input->target() != "x") continue;
    TensorMeta meta = *input->tensor_meta();
    std::vector<Dim> shape(meta.shape.begin(), meta.shape.end());
    sample->module->AddSymbol("S1", 2);
    shape[1] = Dim(sample->module->SymSymbol("S1"));
    meta.shape = shape;
    input->set_meta(sample->module->InternValueMeta(meta));
  }
  EXPECT_OK(CheckProgramInputs(*sample, {{"x", x}}));
  x.shape = {9, 5};
  EXPECT_THAT(CheckProgramInputs(*sample, {{"x", x}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("size 0 is 9")));
}

TEST(InputCheck, IgnoresOtherSamples) {
  Sample sample;
  sample.module = std::make_unique<Module>();
  EXPECT_OK(CheckProgramInputs(sample, {}));
  sample.extra_files[std::string(kProgramFile)] = "{";
  EXPECT_FALSE(CheckProgramInputs(sample, {}).ok());
}

}  // namespace
}  // namespace graphnet
