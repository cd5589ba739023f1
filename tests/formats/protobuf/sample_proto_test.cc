#include "graphnet/formats/protobuf/sample_proto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/verifier.h"
#include "tests/formats/protobuf/sample_fixtures.h"

namespace graphnet {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Serialized(const Sample& sample) {
  absl::StatusOr<std::string> bytes = SerializeSample(sample);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.value_or("");
}

void ExpectRoundTrip(const Sample& sample) {
  const std::string bytes = Serialized(sample);
  absl::StatusOr<Sample> read = DeserializeSample(bytes, "test.pb");
  ASSERT_TRUE(read.ok()) << read.status();
  const absl::Status equal = CheckEqual(sample, *read);
  EXPECT_TRUE(equal.ok()) << equal;
  EXPECT_TRUE(Verify(*read->module).ok());
  // The sample that was read is written with the same bytes.
  EXPECT_EQ(Serialized(*read), bytes);
}

TEST(SampleProtoTest, RoundTrips) {
  ExpectRoundTrip(MakeSmallSample());
  ExpectRoundTrip(MakeFullSample());
  ExpectRoundTrip(MakeRealisticSample(1));
  ExpectRoundTrip(MakeRealisticSample(200));
}

TEST(SampleProtoTest, HashesOfAnyForm) {
  Sample sample = MakeSmallSample();
  for (const char* hash : {"", "00", "0", "abc", "ABCD", "deadbeef", "deadbeeg", "deadbeef\n"}) {
    sample.graph_hash = hash;
    ExpectRoundTrip(sample);
  }
}

TEST(SampleProtoTest, EqualSamplesGiveEqualBytes) {
  EXPECT_EQ(Serialized(MakeFullSample()), Serialized(MakeFullSample()));
  // The module's history does not matter. Here, its tables were filled in another order.
  Sample sample = MakeFullSample();
  sample.module = sample.module->Clone();
  EXPECT_EQ(Serialized(sample), Serialized(MakeFullSample()));
}

TEST(SampleProtoTest, IsSmall) {
  const Sample sample = MakeRealisticSample(100);
  // A block has nine nodes, for which model.py and weight_meta.py take some 6,000 bytes.
  EXPECT_LT(Serialized(sample).size(), 900u * 12);
}

TEST(SampleProtoTest, IsRecognisedByContent) {
  const std::string bytes = Serialized(MakeSmallSample());
  EXPECT_TRUE(LooksLikeSample(bytes));
  EXPECT_TRUE(LooksLikeSample(bytes.substr(0, 10)));
  EXPECT_FALSE(LooksLikeSample(bytes.substr(0, 9)));
  EXPECT_FALSE(LooksLikeSample(""));
  EXPECT_FALSE(LooksLikeSample("graphnet"));
}

TEST(SampleProtoTest, TruncationIsRefusedAtEveryByte) {
  const std::string bytes = Serialized(MakeSmallSample());
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(DeserializeSample(bytes.substr(0, i), "x").ok()) << i;
  }
}

TEST(SampleProtoTest, EveryFlippedBitIsRefused) {
  std::string bytes = Serialized(MakeSmallSample());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
      EXPECT_FALSE(DeserializeSample(bytes, "x").ok()) << "byte " << i << ", bit " << bit;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
    }
  }
}

TEST(SampleProtoTest, NewerVersionIsRefused) {
  std::string bytes = Serialized(MakeSmallSample());
  bytes[11] = 7;
  EXPECT_EQ(DeserializeSample(bytes, "file.pb").status().message(),
            "file.pb: written by graphnet format version 7; this program reads up to 1");
}

TEST(SampleProtoTest, MessagesAreOneCleanLine) {
  const absl::Status status = DeserializeSample("junk", "a\nb.pb").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message().find('\n'), std::string::npos) << status;
  EXPECT_THAT(std::string(status.message()), EndsWith("not a graphnet sample in protobuf form"));
}

// This file is frozen. It was written by the first released version of the format, and every later
// version must read it.
TEST(SampleProtoTest, ReadsVersion1) {
  absl::StatusOr<Sample> sample =
      ReadSampleFile("tests/formats/protobuf/testdata/version_1.pb", false);
  ASSERT_TRUE(sample.ok()) << sample.status();
  const absl::Status equal = CheckEqual(MakeFullSample(), *sample);
  EXPECT_TRUE(equal.ok()) << equal;
}

// --- Samples that cannot be written ------------------------------------------

TEST(SampleProtoTest, RefusesToWriteWhatItWouldNotRead) {
  Sample sample;
  EXPECT_THAT(std::string(SerializeSample(sample).status().message()),
              HasSubstr("the sample has no module"));
  sample.module = std::make_unique<Module>();
  EXPECT_THAT(std::string(SerializeSample(sample).status().message()), HasSubstr("invariant 1"));
  sample = MakeSmallSample();
  for (const char* name : {"", "/etc/passwd", "../x", "a//b", "a/..", "."}) {
    sample.extra_files = {{name, ""}};
    EXPECT_THAT(std::string(SerializeSample(sample).status().message()),
                HasSubstr("not the name of a file"))
        << name;
  }
}

TEST(SampleProtoTest, LengthOfNames) {
  for (const size_t size : {kMaxNameBytes - 1, kMaxNameBytes, kMaxNameBytes + 1}) {
    Sample sample = MakeSmallSample();
    sample.constraint_order = {std::string(size, 'n')};
    const absl::Status status = SerializeSample(sample).status();
    EXPECT_EQ(status.ok(), size <= kMaxNameBytes) << size;
    if (!status.ok()) {
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("a name of 65537 bytes is too long: nn"));
    }
    sample = MakeSmallSample();
    Graph* graph = sample.module->main();
    graph->set_insertion_point(graph->output());
    graph->CallFunction(std::string(size, 't'), {}, {}, "call");
    EXPECT_EQ(SerializeSample(sample).ok(), size <= kMaxNameBytes) << size;
    if (size <= kMaxNameBytes) ExpectRoundTrip(sample);
  }
}

TEST(SampleProtoTest, StringArgumentsMayBeLongerThanNames) {
  Sample sample = MakeSmallSample();
  Graph* graph = sample.module->main();
  graph->set_insertion_point(graph->output());
  const std::string text(3 * kMaxNameBytes, 's');
  graph->CallFunction("f", {absl::string_view(text)});
  ExpectRoundTrip(sample);
}

// The sample shares so much that the file would be a bomb to its reader.
TEST(SampleProtoTest, RefusesToWriteWhatUnfoldsTooFar) {
  Sample sample = MakeSmallSample();
  Graph* graph = sample.module->main();
  graph->set_insertion_point(graph->output());
  const std::vector<Argument> ones(10000, Argument(1));
  for (int i = 0; i < 1000; ++i) graph->CallFunction("f", {Argument::List(ones)});
  const absl::Status status = SerializeSample(sample).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the sample shares so much that "));
}

// --- Files -------------------------------------------------------------------

class SampleFileTest : public ::testing::Test {
 protected:
  static std::string Path(absl::string_view name) {
    return absl::StrCat(::testing::TempDir(), "/sample_file_test_", name);
  }
  static TensorData Floats(std::vector<int64_t> shape, const std::string& bytes) {
    return {DType::kFloat32, std::move(shape), std::make_shared<const std::string>(bytes)};
  }
};

TEST_F(SampleFileTest, WithoutWeights) {
  const Sample sample = MakeFullSample();
  const std::string path = Path("plain.pb");
  ASSERT_TRUE(WriteSampleFile(sample, path).ok());
  EXPECT_FALSE(FileExists(WeightsPath(path)));
  EXPECT_EQ(*ReadFile(path, kMaxProtoBytes), Serialized(sample));
  for (const bool with_weights : {false, true}) {
    absl::StatusOr<Sample> read = ReadSampleFile(path, with_weights);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(CheckEqual(sample, *read).ok());
  }
}

TEST_F(SampleFileTest, WithWeights) {
  Sample sample = MakeSmallSample();
  sample.weights["L_x_"] = Floats({2}, "abcdefgh");
  const std::string path = Path("weights.pb");
  ASSERT_TRUE(WriteSampleFile(sample, path).ok());
  absl::StatusOr<Sample> read = ReadSampleFile(path, true);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->weights.size(), 1u);
  EXPECT_EQ(*read->weights.at("L_x_").bytes, "abcdefgh");
  EXPECT_TRUE(ReadSampleFile(path, false)->weights.empty());

  // The weights are damaged, those of another sample, or missing.
  ASSERT_TRUE(WriteFileAtomic(WeightsPath(path), "other").ok());
  EXPECT_THAT(std::string(ReadSampleFile(path, true).status().message()),
              HasSubstr("not the weights that sample_file_test_weights.pb was written with"));
  EXPECT_TRUE(ReadSampleFile(path, false).ok());
  ASSERT_EQ(std::remove(WeightsPath(path).c_str()), 0);
  EXPECT_EQ(ReadSampleFile(path, true).status().code(), absl::StatusCode::kNotFound);
}

// A kill between the two renames leaves this state. Here, the second rename fails.
TEST_F(SampleFileTest, ReadsWeightsThatDoNotHaveTheirNameYet) {
  Sample sample = MakeSmallSample();
  sample.weights["L_x_"] = Floats({2}, "abcdefgh");
  const std::string path = Path("unnamed.pb");
  std::filesystem::create_directories(WeightsPath(path) + "/folder");
  EXPECT_FALSE(WriteSampleFile(sample, path).ok());
  absl::StatusOr<Sample> read = ReadSampleFile(path, /*with_weights=*/true);
  std::filesystem::remove_all(WeightsPath(path));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read->weights.at("L_x_").bytes, "abcdefgh");
  // After another write, all files have their names.
  EXPECT_TRUE(WriteSampleFile(sample, path).ok());
  EXPECT_TRUE(FileExists(WeightsPath(path)));
  for (const auto& entry : std::filesystem::directory_iterator(testing::TempDir()))
    EXPECT_THAT(entry.path().string(), Not(HasSubstr("unnamed.safetensors.")));
}

// If a writer is killed at any moment, one of its samples is left, with the weights of that sample.
TEST_F(SampleFileTest, AKilledWriterLeavesAPairThatFits) {
  const std::string folder = Path("killed");
  const std::string path = folder + "/x.pb";
  std::vector<Sample> samples(2);
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i] = MakeRealisticSample(static_cast<int>(20 * i + 20));
    samples[i].weights["L_x_"] = Floats({2}, i == 0 ? "abcdefgh" : "ijklmnop");
  }
  for (int round = 0; round < 100; ++round) {
    if (round % 10 == 0) std::filesystem::remove_all(folder);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (size_t i = 0;; i = 1 - i) {
        if (!WriteSampleFile(samples[i], path).ok()) _exit(1);
      }
    }
    usleep(static_cast<useconds_t>(500 + 97 * round));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    if (!FileExists(path)) {
      EXPECT_FALSE(FileExists(WeightsPath(path)));
      continue;
    }
    absl::StatusOr<Sample> read = ReadSampleFile(path, /*with_weights=*/true);
    ASSERT_TRUE(read.ok()) << read.status();
    const bool is_first = *read->weights.at("L_x_").bytes == "abcdefgh";
    EXPECT_TRUE(CheckEqual(samples[is_first ? 0 : 1], *read).ok());
  }
  std::filesystem::remove_all(folder);
}

TEST_F(SampleFileTest, WeightsNeedAFile) {
  Sample sample = MakeSmallSample();
  sample.weights["L_x_"] = Floats({}, "abcd");
  EXPECT_FALSE(WriteSampleFile(sample, "-").ok());
  EXPECT_FALSE(WriteSampleFile(sample, "/dev/stdout").ok());
}

TEST_F(SampleFileTest, WeightsMayBeInside) {
  Sample sample = MakeSmallSample();
  sample.weights["L_x_"] = Floats({2}, "abcdefgh");
  const absl::StatusOr<std::string> bytes = SerializeSampleWithWeights(sample);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const absl::StatusOr<Sample> back = DeserializeSample(*bytes, "inside");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(CheckEqual(sample, *back).ok());
  EXPECT_EQ(*back->weights.at("L_x_").bytes, "abcdefgh");
  const std::string path = Path("inside.pb");
  ASSERT_TRUE(WriteFileAtomic(path, *bytes).ok());
  EXPECT_EQ(ReadSampleFile(path, true)->weights.size(), 1u);
  EXPECT_TRUE(ReadSampleFile(path, false)->weights.empty());
  // Without weights, both functions give the same bytes.
  sample.weights.clear();
  EXPECT_EQ(*SerializeSampleWithWeights(sample), *SerializeSample(sample));
}

// PyTorch chooses between layouts by strides, those of dimensions of size 1 included.
TEST_F(SampleFileTest, KeepsTheStridesOfWeights) {
  const std::string path = Path("strided.pb");
  using Sizes = std::vector<int64_t>;
  for (const auto& [shape, strides] : std::vector<std::pair<Sizes, Sizes>>{{{2, 2}, {1, 2}},
                                                                           {{2, 1, 2}, {2, 1, 1}},
                                                                           {{4, 1}, {1, 7}},
                                                                           {{1, 1, 4}, {0, 9, 1}},
                                                                           {{2, 2}, {4, 1}},
                                                                           {{2, 2}, {0, 1}},
                                                                           {{2, 2}, {1, 1}},
                                                                           {{4}, {2}}}) {
    Sample sample = MakeSmallSample();
    sample.weights["L_x_"] = Floats(shape, "abcdefghijklmnop");
    sample.weights["L_x_"].strides = strides;
    ASSERT_TRUE(WriteSampleFile(sample, path).ok());
    const absl::StatusOr<Sample> back = ReadSampleFile(path, true);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->weights.at("L_x_").strides, strides);
    const absl::StatusOr<Sample> inside =
        DeserializeSample(*SerializeSampleWithWeights(sample), "inside");
    ASSERT_TRUE(inside.ok()) << inside.status();
    EXPECT_EQ(inside->weights.at("L_x_").strides, strides);
    EXPECT_TRUE(ReadSampleFile(path, false)->weights.empty());
  }
  for (const Sizes& strides :
       {Sizes{1}, Sizes{1, 1, 1}, Sizes{int64_t{1} << 40, 1}, Sizes{-1, 2}}) {
    Sample sample = MakeSmallSample();
    sample.weights["L_x_"] = Floats({2, 2}, "abcdefghijklmnop");
    sample.weights["L_x_"].strides = strides;
    ASSERT_TRUE(WriteSampleFile(sample, path).ok());
    EXPECT_THAT(std::string(ReadSampleFile(path, true).status().message()),
                HasSubstr("not the weights that"));
  }
}

// Tensors may share their bytes, and are written one after the other.
TEST_F(SampleFileTest, WeightsInsideAreLimited) {
  Sample sample = MakeSmallSample();
  const TensorData data = Floats({1 << 24}, std::string(size_t{1} << 26, '\0'));
  for (int i = 0; i < 32; ++i) sample.weights[absl::StrCat("w", i)] = data;
  const absl::Status status = SerializeSampleWithWeights(sample).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), AllOf(StartsWith("the sample takes 21474"),
                                                   HasSubstr(" bytes, more than protobuf ")));
}

TEST_F(SampleFileTest, NamesOfWeights) {
  EXPECT_EQ(WeightsPath("a/resnet18.pb"), "a/resnet18.safetensors");
  EXPECT_EQ(WeightsPath("a/resnet18"), "a/resnet18.safetensors");
  EXPECT_EQ(WeightsPath("a.pb/x.bin"), "a.pb/x.bin.safetensors");
}

TEST_F(SampleFileTest, MessagesNameTheFile) {
  const std::string path = Path("junk.pb");
  ASSERT_TRUE(WriteFileAtomic(path, "junk").ok());
  EXPECT_THAT(std::string(ReadSampleFile(path, false).status().message()),
              AllOf(StartsWith(path), HasSubstr("not a graphnet sample")));
}

}  // namespace
}  // namespace graphnet
