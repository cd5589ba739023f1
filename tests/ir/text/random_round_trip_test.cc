// Prints and parses random modules and samples.

#include <cstdint>
#include <memory>
#include <string>

#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/ir/text/random_module.h"

namespace graphnet {
namespace {

constexpr uint64_t kSeeds = 1500;

void ExpectRoundTrip(const Module& module) {
  const std::string text = PrintModule(module);
  const auto parsed = ParseModule(text, "random");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message() << "\n" << text;
  EXPECT_EQ(CheckEqual(module, **parsed, kExact), absl::OkStatus()) << text;
  EXPECT_EQ(PrintModule(**parsed), text);
}

TEST(RandomRoundTripTest, ValidModules) {
  for (uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::unique_ptr<Module> module = RandomModule(seed);
    EXPECT_EQ(Verify(*module), absl::OkStatus());
    ExpectRoundTrip(*module);
  }
}

TEST(RandomRoundTripTest, InvalidModules) {
  for (uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    ExpectRoundTrip(*RandomModule(seed, {.invalid = true}));
  }
}

TEST(RandomRoundTripTest, DeepArguments) {
  for (uint64_t seed = 0; seed < 100 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    ExpectRoundTrip(*RandomModule(seed, {.max_graphs = 1, .max_argument_depth = 30}));
  }
}

TEST(RandomRoundTripTest, ManyNodes) {
  ExpectRoundTrip(*RandomModule(1, {.max_graphs = 20, .max_nodes = 3000}));
}

TEST(RandomRoundTripTest, Samples) {
  for (uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Sample sample = RandomSample(seed, {.max_graphs = 1, .max_nodes = 3});
    const std::string text = PrintSample(sample);
    const auto parsed = ParseSample(text, "random");
    ASSERT_TRUE(parsed.ok()) << parsed.status().message() << "\n" << text;
    EXPECT_EQ(CheckEqual(sample, *parsed), absl::OkStatus()) << text;
    EXPECT_EQ(PrintSample(*parsed), text);
  }
}

// The structure preset is canonical: it does not change when it is read back.
TEST(RandomRoundTripTest, Structure) {
  for (uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::string text =
        PrintModule(*RandomModule(seed, {.invalid = seed % 2 == 1}), PrintOptions::Structure());
    const auto parsed = ParseModule(text, "random");
    ASSERT_TRUE(parsed.ok()) << parsed.status().message() << "\n" << text;
    EXPECT_EQ(PrintModule(**parsed, PrintOptions::Structure()), text);
  }
}

// A damaged text is refused, or the module that is read from it prints and parses again. It never
// crashes the parser.
TEST(RandomRoundTripTest, DamagedText) {
  for (uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::string whole = PrintSample(RandomSample(seed, {.invalid = true}));
    for (size_t step = 1; step < 40; ++step) {
      std::string text = whole;
      const size_t at = (seed * 7919 + step * 104729) % text.size();
      switch (step % 4) {
        case 0: text[at] = static_cast<char>(step * seed); break;
        case 1: text.erase(at, 1 + step % 5); break;
        case 2: text.insert(at, text.substr(at, 1 + step)); break;
        case 3: text.resize(at); break;
      }
      const auto parsed = ParseSample(text, "damaged");
      if (!parsed.ok()) continue;
      const std::string printed = PrintSample(*parsed);
      const auto again = ParseSample(printed, "printed");
      ASSERT_TRUE(again.ok()) << again.status().message() << "\n" << printed;
      EXPECT_EQ(PrintSample(*again), printed);
    }
  }
}

// A text that was cut is refused.
TEST(RandomRoundTripTest, CutText) {
  for (uint64_t seed = 0; seed < 20 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::string whole = PrintSample(RandomSample(seed, {.max_graphs = 2, .max_nodes = 4}));
    for (size_t size = 1; size + 1 < whole.size(); ++size) {
      EXPECT_FALSE(ParseSample(absl::string_view(whole).substr(0, size), "cut").ok()) << size;
    }
  }
}

}  // namespace
}  // namespace graphnet
