#include "graphnet/formats/protobuf/sample_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/ir/text/equality.h"
#include "tests/formats/protobuf/sample_fixtures.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

std::string StreamOf(const std::vector<std::string>& samples) {
  std::ostringstream out;
  SampleWriter writer(&out);
  for (const std::string& sample : samples) EXPECT_TRUE(writer.WriteSerialized(sample).ok());
  EXPECT_TRUE(writer.Finish().ok());
  return out.str();
}

// Reads to the end. Returns the number of samples, or the error.
absl::StatusOr<uint64_t> Count(const std::string& bytes) {
  std::istringstream in(bytes);
  SampleReader reader(&in, "all.pbs");
  while (true) {
    absl::StatusOr<std::optional<Sample>> sample = reader.Next();
    if (!sample.ok()) {
      // Every later call fails, too.
      EXPECT_EQ(reader.Next().status().message(), "the stream of samples has failed before");
      return sample.status();
    }
    if (!*sample) return reader.num_samples();
  }
}

TEST(SampleStreamTest, RoundTrips) {
  std::ostringstream out;
  SampleWriter writer(&out);
  ASSERT_TRUE(writer.Write(MakeSmallSample()).ok());
  ASSERT_TRUE(writer.Write(MakeFullSample()).ok());
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_EQ(writer.num_samples(), 2u);

  std::istringstream in(out.str());
  SampleReader reader(&in, "all.pbs");
  for (const Sample& expected : {MakeSmallSample(), MakeFullSample()}) {
    absl::StatusOr<std::optional<Sample>> sample = reader.Next();
    ASSERT_TRUE(sample.ok()) << sample.status();
    ASSERT_TRUE(sample->has_value());
    EXPECT_TRUE(CheckEqual(expected, **sample).ok());
  }
  for (int i = 0; i < 2; ++i) {
    absl::StatusOr<std::optional<Sample>> end = reader.Next();
    ASSERT_TRUE(end.ok()) << end.status();
    EXPECT_FALSE(end->has_value());
  }
}

TEST(SampleStreamTest, MayBeEmpty) { EXPECT_EQ(Count(StreamOf({})).value(), 0u); }

TEST(SampleStreamTest, TruncationIsRefusedAtEveryByte) {
  const std::string sample = *SerializeSample(MakeSmallSample());
  const std::string bytes = StreamOf({sample, sample});
  EXPECT_EQ(Count(bytes).value(), 2u);
  for (size_t i = 0; i < bytes.size(); ++i) EXPECT_FALSE(Count(bytes.substr(0, i)).ok()) << i;
}

TEST(SampleStreamTest, EveryFlippedBitIsRefused) {
  const std::string sample = *SerializeSample(MakeSmallSample());
  std::string bytes = StreamOf({sample});
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
      EXPECT_FALSE(Count(bytes).ok()) << "byte " << i << ", bit " << bit;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
    }
  }
}

TEST(SampleStreamTest, MissingExchangedOrFurtherSamplesAreNoticed) {
  Sample sample = MakeSmallSample();
  const std::string a = *SerializeSample(sample);
  sample.name = "other";
  const std::string b = *SerializeSample(sample);
  const std::string ab = StreamOf({a, b});
  const std::string ba = StreamOf({b, a});
  const std::string end = ab.substr(ab.size() - 13);
  const std::string first = ab.substr(0, a.size() + 2);
  const std::string second = ab.substr(first.size(), ab.size() - first.size() - end.size());
  ASSERT_EQ(first + second + end, ab);
  EXPECT_THAT(std::string(Count(first + end).status().message()),
              HasSubstr("damaged: 2 samples were written"));
  EXPECT_THAT(std::string(Count(first + second + second + end).status().message()),
              HasSubstr("2 samples were"));
  EXPECT_THAT(std::string(Count(second + first + end).status().message()),
              HasSubstr("the checksum of the stream"));
  EXPECT_EQ(Count(ba).value(), 2u);
  EXPECT_THAT(std::string(Count(ab + ab).status().message()), HasSubstr("bytes after the end"));
  EXPECT_THAT(std::string(Count(first + second).status().message()),
              HasSubstr("truncated: the stream has no end"));
  EXPECT_THAT(std::string(Count(ab.substr(0, ab.size() - 1)).status().message()),
              HasSubstr("truncated: the end of the stream is incomplete"));
}

TEST(SampleStreamTest, AFalseSizeTakesNoMemory) {
  const std::string sample = *SerializeSample(MakeSmallSample());
  EXPECT_THAT(std::string(Count("\xfe\xff\xff\xff\x07" + sample).status().message()),
              HasSubstr("truncated"));
  EXPECT_THAT(std::string(Count("\xff\xff\xff\xff\x0f").status().message()),
              HasSubstr("too large"));
  EXPECT_THAT(std::string(Count("\xff\xff\xff\xff\xff\x01").status().message()),
              HasSubstr("no size"));
}

TEST(SampleStreamTest, MessagesSayWhichSample) {
  const std::string sample = *SerializeSample(MakeSmallSample());
  std::string bytes = StreamOf({sample, sample});
  bytes[sample.size() + 2 + 100] ^= 1;
  EXPECT_EQ(Count(bytes).status().message(), "all.pbs: sample 1: damaged: its checksum is wrong");
}

TEST(SampleStreamTest, WritesOnlySamplesAndNothingAfterTheEnd) {
  std::ostringstream out;
  SampleWriter writer(&out);
  EXPECT_FALSE(writer.WriteSerialized("junk").ok());
  EXPECT_FALSE(writer.Write(Sample()).ok());
  EXPECT_EQ(out.str(), "");
  EXPECT_TRUE(writer.Finish().ok());
  EXPECT_EQ(writer.Finish().message(), "the stream of samples is finished");
  EXPECT_EQ(writer.Write(MakeSmallSample()).message(), "the stream of samples is finished");
}

TEST(SampleStreamTest, SaysThatNothingCanBeWritten) {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  SampleWriter writer(&out);
  EXPECT_EQ(writer.Write(MakeSmallSample()).message(), "the stream of samples cannot be written");
  EXPECT_EQ(writer.Finish().message(), "the stream of samples cannot be written");
}

TEST(SampleStreamTest, IsRecognisedByContent) {
  const std::string sample = *SerializeSample(MakeSmallSample());
  EXPECT_TRUE(LooksLikeSampleStream(StreamOf({sample})));
  EXPECT_TRUE(LooksLikeSampleStream(StreamOf({sample}).substr(0, 12)));
  EXPECT_FALSE(LooksLikeSampleStream(StreamOf({})));
  EXPECT_FALSE(LooksLikeSampleStream(sample));
  EXPECT_FALSE(LooksLikeSampleStream(""));
}

}  // namespace
}  // namespace graphnet
