#include "graphnet/evaluate/backend_options.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

TEST(BackendOptionsTest, OptionsStandInBraces) {
  const auto backend = BackendOfText("inductor{mode=max-autotune; dynamic = true}");
  ASSERT_TRUE(backend.ok()) << backend.status();
  EXPECT_EQ(backend->name, "inductor");
  EXPECT_EQ(backend->shown(), "inductor{mode=max-autotune; dynamic = true}");
  EXPECT_EQ(OptionsText(*backend), "mode=max-autotune;dynamic=true");
  EXPECT_EQ(FileNameOf(*backend), "inductor{mode=max-autotune; dynamic = true}");
}

TEST(BackendOptionsTest, WithoutOptionsItIsTheRow) {
  for (const char* text : {"nope", "nope{}", "inductor{ }"}) {
    const auto backend = BackendOfText(text);
    ASSERT_TRUE(backend.ok()) << backend.status();
    EXPECT_EQ(backend->shown(), backend->name);
    EXPECT_EQ(OptionsText(*backend), "");
  }
}

void ExpectRefused(const std::string& text, const std::string& message) {
  const auto backend = BackendOfText(text);
  ASSERT_FALSE(backend.ok()) << text;
  EXPECT_EQ(backend.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(backend.status().message()), HasSubstr(message)) << text;
}

TEST(BackendOptionsTest, RefusesWhatABackendDoesNotHave) {
  ExpectRefused("inductr{mode=default}", "there is no backend inductr");
  ExpectRefused("inductor{mod=default}",
                "backend inductor has no option mod; it has mode, dynamic, threads");
  ExpectRefused("nope{threads=1}", "backend nope has no option threads; it takes none");
  ExpectRefused("inductor{mode=fast}", "mode is not fast but default|reduce-overhead|");
  ExpectRefused("inductor{mode}", "mode is not  but default|");
  ExpectRefused("torch{threads=0}", "threads is not 0 but a whole number from 1 on");
  ExpectRefused("torch{threads=9999999999}", "a whole number from 1 on");
  ExpectRefused("torch{threads=1;threads=2}", "threads is given twice");
  ExpectRefused("torch{threads=1", "a } ends its options");
  ExpectRefused("torch{threads=1}x", "a } ends its options");
}

TEST(BackendOptionsTest, EveryOptionOfTheTableCanBeGiven) {
  size_t options = 0;
  for (const Backend& backend : Backends()) {
    for (const BackendOption& option : backend.options) {
      ++options;
      EXPECT_NE(option.description, "");
      const std::string value(option.values.empty() ? "1" : option.values.back());
      const std::string text =
          std::string(backend.name) + "{" + std::string(option.name) + "=" + value + "}";
      EXPECT_TRUE(BackendOfText(text).ok()) << text;
    }
  }
  EXPECT_GE(options, 7u);
}

}  // namespace
}  // namespace graphnet
