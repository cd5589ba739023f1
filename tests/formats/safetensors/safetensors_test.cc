#include "graphnet/formats/safetensors/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "tests/base/peak_memory.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using Tensors = std::map<std::string, TensorData>;

TensorData Data(DType dtype, std::vector<int64_t> shape, std::string bytes) {
  return {dtype, std::move(shape), std::make_shared<const std::string>(std::move(bytes))};
}

// Returns a file with this header, without padding, and this data.
std::string File(absl::string_view header, absl::string_view data) {
  std::string out;
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(uint64_t{header.size()} >> (8 * i)));
  return absl::StrCat(out, header, data);
}

std::string Error(const std::string& bytes) {
  return std::string(ParseSafetensors(bytes, "f").status().message());
}

void ExpectRoundTrip(const Tensors& tensors) {
  absl::StatusOr<std::string> bytes = SerializeSafetensors(tensors);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  absl::StatusOr<Tensors> read = ParseSafetensors(*bytes, "f");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    ASSERT_TRUE(read->contains(name)) << name;
    EXPECT_EQ(read->at(name).dtype, tensor.dtype);
    EXPECT_EQ(read->at(name).shape, tensor.shape);
    EXPECT_EQ(*read->at(name).bytes, *tensor.bytes);
  }
}

TEST(SafetensorsTest, RoundTrips) {
  ExpectRoundTrip({});
  ExpectRoundTrip({{"a", Data(DType::kFloat32, {2}, "abcdefgh")}});
  ExpectRoundTrip({{"scalar", Data(DType::kFloat64, {}, "12345678")},
                   {"empty", Data(DType::kInt64, {3, 0, 5}, "")},
                   {"also empty", Data(DType::kBool, {0}, "")},
                   {"", Data(DType::kUInt8, {1}, "x")},
                   {"quotes \" \\ \n and é", Data(DType::kBFloat16, {1, 2, 1}, "abcd")}});
}

TEST(SafetensorsTest, EveryDTypeThatTheFormatHas) {
  Tensors tensors;
  int refused = 0;
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    const size_t bytes = static_cast<size_t>(DTypeBytes(dtype)) * 3;
    const TensorData tensor = Data(dtype, {3}, std::string(bytes, static_cast<char>(i)));
    const absl::StatusOr<std::string> one = SerializeSafetensors({{"x", tensor}});
    if (one.ok()) {
      tensors[std::string(DTypeName(dtype))] = tensor;
    } else {
      EXPECT_THAT(std::string(one.status().message()),
                  HasSubstr(absl::StrCat("tensor x: safetensors has no dtype ", DTypeName(dtype))));
      ++refused;
    }
  }
  EXPECT_EQ(tensors.size(), 21u);
  EXPECT_EQ(refused, kNumDTypes - 21);
  ExpectRoundTrip(tensors);
}

// These are the bytes that the reference implementation's own test expects.
TEST(SafetensorsTest, WritesLikeTheReferenceImplementation) {
  const std::string floats(24, '\0');
  EXPECT_EQ(*SerializeSafetensors({}), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  EXPECT_EQ(
      *SerializeSafetensors({{"attn.0", Data(DType::kFloat32, {1, 2, 3}, floats)}}),
      File("{\"attn.0\":{\"dtype\":\"F32\",\"shape\":[1,2,3],\"data_offsets\":[0,24]}}", floats));
  EXPECT_EQ(
      *SerializeSafetensors({{"attn0", Data(DType::kFloat32, {1, 1, 2, 3}, floats)}}),
      File("{\"attn0\":{\"dtype\":\"F32\",\"shape\":[1,1,2,3],\"data_offsets\":[0,24]}}       ",
           floats));
}

TEST(SafetensorsTest, TensorsAreAlignedToTheirElements) {
  EXPECT_EQ(*SerializeSafetensors({{"a", Data(DType::kBool, {1}, "b")},
                                   {"b", Data(DType::kFloat64, {1}, "dddddddd")},
                                   {"c", Data(DType::kFloat16, {1}, "hh")},
                                   {"d", Data(DType::kInt64, {1}, "llllllll")}}),
            File("{\"b\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]},"
                 "\"d\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[8,16]},"
                 "\"c\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[16,18]},"
                 "\"a\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[18,19]}}     ",
                 "ddddddddllllllllhhb"));
}

TEST(SafetensorsTest, ReadsFilesOfOtherWriters) {
  // The tensors are out of order, and there are metadata and white space.
  const absl::StatusOr<Tensors> tensors = ParseSafetensors(
      File("{ \"__metadata__\": {\"format\": \"pt\", \"dtype\": \"x\"},\n"
           "  \"b\": {\"data_offsets\": [2, 4], \"shape\": [2], \"dtype\": \"U8\"},\n"
           "  \"a\": {\"data_offsets\": [0, 2], \"dtype\": \"I8\", \"shape\": [1, 2]} }   ",
           "wxyz"),
      "f");
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  ASSERT_EQ(tensors->size(), 2u);
  EXPECT_EQ(*tensors->at("a").bytes, "wx");
  EXPECT_EQ(*tensors->at("b").bytes, "yz");
}

TEST(SafetensorsTest, RefusesDeviationsFromTheFormat) {
  const struct {
    const char* header;
    const char* data;
    const char* message;
  } cases[] = {
      {"", "", "does not begin with {"},
      {" {}", "", "does not begin with {"},
      {"[]", "", "does not begin with {"},
      {"{", "", "not JSON at byte"},
      {"{} x", "", "not JSON at byte"},
      {"{}{}", "", "not JSON at byte"},
      {"{\"a\":1}", "", "a number where the format allows none, after a"},
      {"{\"a\":null}", "", "null where the format allows none"},
      {"{\"a\":true}", "", "a truth value where"},
      {"{\"a\":[]}", "", "a list where"},
      {"{\"a\":{}}", "", "tensor a lacks its dtype, shape or data_offsets"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", "", "tensor a lacks"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":1}}", "x",
       "no such field: x"},
      {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "x",
       "dtype comes twice"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"shape\":[1],\"data_offsets\":[0,1]}}", "x",
       "shape comes twice"},
      {"{\"a\":{\"dtype\":{},\"shape\":[1],\"data_offsets\":[0,1]}}", "x", "an object where"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[[1]],\"data_offsets\":[0,1]}}", "x", "a list where"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1.0],\"data_offsets\":[0,1]}}", "x", "a float where"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,1]}}", "x",
       "a negative number where"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[\"1\"],\"data_offsets\":[0,1]}}", "x",
       "a string where"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":\"1\",\"data_offsets\":[0,1]}}", "x", "a string where"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[9223372036854775808],\"data_offsets\":[0,1]}}", "x",
       "a number beyond int64"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[99999999999999999999],\"data_offsets\":[0,1]}}", "x",
       "a float where"},
      {"{\"a\":{\"dtype\":\"F4\",\"shape\":[1],\"data_offsets\":[0,1]}}", "x",
       "tensor a: unknown dtype F4"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]}}", "x", "is not a pair"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,1]}}", "x", "is not a pair"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,1]}}", "x",
       "data_offsets 0 to 1 for 2 bytes"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,0]}}", "x",
       "data_offsets 1 to 0 for 1 bytes"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}", "xy",
       "begins at 1, but the tensor before it ends at 0"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "",
       "the tensors take 1 bytes, the file has 0"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "xy",
       "the tensors take 1 bytes, the file has 2"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
       "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
       "xyz", "tensor b: begins at 1, but the tensor before it ends at 2"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
       "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
       "xy", "two tensors are named a"},
      {"{\"__metadata__\":{\"a\":1}}", "", "a number where"},
      {"{\"__metadata__\":{\"a\":{}}}", "", "an object where"},
      {"{\"__metadata__\":{},\"__metadata__\":{}}", "", "__metadata__ comes twice"},
      {"{\"\xff\":{}}", "", "not JSON at byte"},
  };
  for (const auto& c : cases) {
    const std::string error = Error(File(c.header, c.data));
    EXPECT_THAT(error, HasSubstr(c.message)) << c.header;
    EXPECT_THAT(error, StartsWith("f: "));
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST(SafetensorsTest, RefusesSizesThatOverflow) {
  const auto shaped = [](absl::string_view shape) {
    return Error(File(
        absl::StrCat("{\"a\":{\"dtype\":\"F64\",\"shape\":[", shape, "],\"data_offsets\":[0,0]}}"),
        ""));
  };
  EXPECT_THAT(shaped("4294967296,4294967296"), HasSubstr("its shape is too large"));
  EXPECT_THAT(shaped("9223372036854775807,9223372036854775807,0"),
              HasSubstr("its shape is too large"));
  // A size of 0 does not excuse the others, since strides are products of them.
  EXPECT_THAT(shaped("0,4611686018427387904,4"), HasSubstr("its shape is too large"));
  EXPECT_THAT(shaped("1099511627776,0,2"), HasSubstr("its shape is too large"));
  EXPECT_EQ(shaped("1099511627776,0"), "");
  // The limit of elements, one less and one more.
  EXPECT_THAT(shaped("1099511627775"), HasSubstr("for 8796093022200 bytes"));
  EXPECT_THAT(shaped("1099511627776"), HasSubstr("for 8796093022208 bytes"));
  EXPECT_THAT(shaped("1099511627777"), HasSubstr("its shape is too large"));
  // The limit of the rank, one less and one more.
  for (const int rank : {kMaxRank - 1, kMaxRank, kMaxRank + 1}) {
    std::string shape = "0";
    for (int i = 1; i < rank; ++i) shape += ",1";
    EXPECT_EQ(shaped(shape).empty(), rank <= kMaxRank) << rank;
  }
}

TEST(SafetensorsTest, RefusesFalseHeaderSizes) {
  EXPECT_THAT(Error(""), HasSubstr("too short"));
  EXPECT_THAT(Error(std::string(7, '\0')), HasSubstr("too short"));
  EXPECT_THAT(Error(std::string(8, '\0')), HasSubstr("does not begin with {"));
  EXPECT_THAT(Error(std::string(8, '\xff')), HasSubstr("over the limit"));
  const auto sized = [](uint64_t size) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(size >> (8 * i)));
    return Error(bytes + "{}");
  };
  EXPECT_THAT(sized(3), HasSubstr("truncated: a header of 3 bytes in a file of 10"));
  EXPECT_EQ(sized(2), "");
  EXPECT_THAT(sized(1), HasSubstr("not JSON"));
  EXPECT_THAT(sized(kMaxSafetensorsHeaderBytes), HasSubstr("truncated"));
  EXPECT_THAT(sized(kMaxSafetensorsHeaderBytes + 1), HasSubstr("over the limit of 100000000"));
}

TEST(SafetensorsTest, DeepNestingIsRefusedWhereItBegins) {
  EXPECT_THAT(Error(File("{\"a\":" + std::string(1000000, '['), "")), HasSubstr("a list where"));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_THAT(Error(File(objects, "")), HasSubstr("no such field: a"));
}

TEST(SafetensorsTest, TruncationIsRefusedAtEveryByte) {
  const std::string bytes = *SerializeSafetensors(
      {{"a", Data(DType::kFloat32, {2}, "abcdefgh")}, {"b", Data(DType::kBool, {3}, "xyz")}});
  for (size_t i = 0; i < bytes.size(); ++i) EXPECT_NE(Error(bytes.substr(0, i)), "") << i;
}

TEST(SafetensorsTest, RefusesToWriteWhatIsNotATensor) {
  const struct {
    const char* name;
    TensorData tensor;
    const char* message;
  } cases[] = {
      {"x", {DType::kUInt8, {1}, nullptr}, "tensor x: has 0 bytes, but its shape needs 1"},
      {"x", Data(DType::kUInt16, {1}, "a"), "has 1 bytes, but its shape needs 2"},
      {"x", Data(DType::kUInt8, {-1}, ""), "its shape is too large"},
      {"x", Data(DType::kUInt8, std::vector<int64_t>(65, 1), "a"), "its shape is too large"},
      {"__metadata__", Data(DType::kUInt8, {1}, "a"), "the format uses this name itself"},
      {"\xff", Data(DType::kUInt8, {1}, "a"), "is not UTF-8"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(std::string(SerializeSafetensors({{c.name, c.tensor}}).status().message()),
                HasSubstr(c.message));
  }
  for (const size_t size : {kMaxNameBytes - 1, kMaxNameBytes, kMaxNameBytes + 1}) {
    EXPECT_EQ(SerializeSafetensors({{std::string(size, 'n'), Data(DType::kUInt8, {1}, "a")}}).ok(),
              size <= kMaxNameBytes);
  }
}

TEST(SafetensorsTest, LengthOfNamesThatAreRead) {
  for (const size_t size : {kMaxNameBytes - 1, kMaxNameBytes, kMaxNameBytes + 1}) {
    const std::string error =
        Error(File(absl::StrCat("{\"", std::string(size, 'n'),
                                "\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}"),
                   "x"));
    EXPECT_EQ(error, size <= kMaxNameBytes ? "" : "f: header: a name is too long") << size;
  }
}

TEST(SafetensorsTest, Files) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/safetensors_test.safetensors");
  const Tensors tensors = {{"a", Data(DType::kFloat32, {2}, "abcdefgh")}};
  ASSERT_TRUE(WriteSafetensorsFile(tensors, path).ok());
  absl::StatusOr<Tensors> read = ReadSafetensorsFile(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read->at("a").bytes, "abcdefgh");
  // The callback gets all bytes once and in order.
  std::string seen;
  ASSERT_TRUE(ReadSafetensorsFile(path, [&](absl::string_view part) {
                seen.append(part.data(), part.size());
              }).ok());
  EXPECT_EQ(seen, ReadFile(path, 1 << 20).value());
  ASSERT_TRUE(WriteFileAtomic(path, "junk").ok());
  EXPECT_THAT(std::string(ReadSafetensorsFile(path).status().message()), StartsWith(path));
}

TEST(SafetensorsTest, RefusesAFileThatShrinksWhileItIsRead) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/safetensors_shrinks.safetensors");
  ASSERT_TRUE(WriteSafetensorsFile({{"a", Data(DType::kFloat32, {2}, "abcdefgh")}}, path).ok());
  const absl::StatusOr<Tensors> read = ReadSafetensorsFile(
      path, [&](absl::string_view) { EXPECT_EQ(truncate(path.c_str(), 8), 0); });
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("truncated while it was read"));
}

#ifndef __SANITIZE_ADDRESS__  // which needs the whole address space
// Beside the result, at most one tensor is in memory a second time, and never the whole file.
TEST(SafetensorsTest, ReadsWithoutTheWholeFileInMemory) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/safetensors_large.safetensors");
  Tensors tensors;
  constexpr int64_t kBytes = int64_t{32} << 20;
  for (const char* name : {"a", "b", "c", "d"})
    tensors[name] = Data(DType::kUInt8, {kBytes}, std::string(kBytes, *name));
  ASSERT_TRUE(WriteSafetensorsFile(tensors, path).ok());
  tensors.clear();
  const auto read = [&] {
    // The limit is 128 MiB of tensors and half as much. The file and its copy would take 256 MiB.
    rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    std::ifstream file("/proc/self/statm");
    rlim_t pages = 0;
    file >> pages;
    limit.rlim_cur = pages * static_cast<rlim_t>(getpagesize()) + (rlim_t{192} << 20);
    if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(0);
    const absl::StatusOr<Tensors> result = ReadSafetensorsFile(path);
    std::_Exit(result.ok() && result->at("d").bytes->back() == 'd' ? 0 : 1);
  };
  EXPECT_EXIT(read(), testing::ExitedWithCode(0), "");
}
#endif

TEST(SafetensorsTest, LargeFilesAreInMemoryTensorByTensor) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/safetensors_mapped.safetensors");
  const std::string copy = absl::StrCat(::testing::TempDir(), "/safetensors_copy.safetensors");
  constexpr int64_t kTensor = int64_t{16} << 20;
  Tensors tensors;
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    tensors[name] = Data(DType::kUInt8, {kTensor}, std::string(kTensor, *name));
  tensors["g"] = Data(DType::kUInt8, {1}, "g");
  ASSERT_TRUE(WriteSafetensorsFile(tensors, path).ok());
  tensors.clear();
  size_t seen = 0;
  absl::StatusOr<Tensors> read;
  const std::optional<int64_t> peak = PeakGrowth([&] {
    int sum = 0;
    read = ReadSafetensorsFile(path, [&](absl::string_view part) {
      seen += part.size();
      sum = std::accumulate(part.begin(), part.end(), sum);
    });
    EXPECT_NE(sum, 0);
    EXPECT_TRUE(read.ok() && WriteSafetensorsFile(*read, copy).ok());
  });
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_LT(peak.value_or(0), kTensor + (int64_t{16} << 20));
  EXPECT_EQ(read->at("f").bytes->back(), 'f');
  EXPECT_EQ(*read->at("g").bytes, "g");
  const absl::StatusOr<std::string> written = ReadFile(copy, size_t{1} << 30);
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(seen, written->size());
  EXPECT_EQ(*written, ReadFile(path, size_t{1} << 30).value());
  // The errors of a large file are the same as those of any other.
  ASSERT_TRUE(
      WriteFileAtomic(path, absl::string_view(*written).substr(0, written->size() - 1)).ok());
  EXPECT_THAT(std::string(ReadSafetensorsFile(path).status().message()),
              testing::AllOf(StartsWith(path), HasSubstr("the file has")));
  std::remove(path.c_str());
  std::remove(copy.c_str());
}

// Other programs ignore the metadata.
TEST(SafetensorsTest, StridesAreInTheMetadata) {
  for (const std::vector<int64_t>& strides : std::vector<std::vector<int64_t>>{
           {1, 2}, {4, 2}, {0, 1}, {1, 1}, {0, 0}, {3, 1}, {512, 7}}) {
    Tensors tensors = {{"a \"b\"", Data(DType::kUInt8, {2, 3}, "abcdef")},
                       {"w", Data(DType::kUInt8, {2, 3}, "abcdef")}};
    tensors["a \"b\""].strides = strides;
    const absl::StatusOr<std::string> bytes = SerializeSafetensors(tensors);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const absl::StatusOr<Tensors> back = ParseSafetensors(*bytes, "x");
    ASSERT_TRUE(back.ok()) << back.status();
    const bool is_row_major = strides == std::vector<int64_t>{3, 1};
    EXPECT_EQ(back->at("a \"b\"").strides, is_row_major ? std::vector<int64_t>() : strides);
    EXPECT_EQ(*back->at("a \"b\"").bytes, "abcdef");
    EXPECT_TRUE(back->at("w").strides.empty());
  }
  for (const auto& [strides, what] : std::vector<std::pair<std::vector<int64_t>, std::string>>{
           {{1}, "they do not fit its shape"},
           {{1, 2, 3}, "they do not fit its shape"},
           {{-1, 1}, "they do not fit its shape"},
           {{int64_t{1} << 40, 1}, "they do not fit its shape"},
           {{INT64_MAX, INT64_MAX}, "they do not fit its shape"}}) {
    Tensors tensors = {{"w", Data(DType::kUInt8, {2, 3}, "abcdef")}};
    tensors["w"].strides = strides;
    EXPECT_THAT(
        std::string(ParseSafetensors(*SerializeSafetensors(tensors), "x").status().message()),
        HasSubstr(absl::StrCat("strides of w: ", what)));
  }
  const auto message = [](absl::string_view key, absl::string_view value) {
    const std::string header =
        absl::StrCat(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"__metadata__":{")",
                     key, R"(":")", value, R"("}})");
    std::string bytes(1, static_cast<char>(header.size()));
    absl::StrAppend(&bytes, std::string(7, '\0'), header, "x");
    return std::string(ParseSafetensors(bytes, "x").status().message());
  };
  EXPECT_THAT(message("graphnet.strides.w", "a"), HasSubstr("strides of w: they are no numbers"));
  EXPECT_THAT(message("graphnet.strides.w", ""), HasSubstr("strides of w: they are no numbers"));
  EXPECT_THAT(message("graphnet.strides.v", "1"),
              HasSubstr("strides of v: there is no such tensor"));
  EXPECT_EQ(message("format", "pt"), "");
  EXPECT_EQ(message("strides.w", "a"), "");
}

// Other programs find the pairs of torch.view_as_real.
TEST(SafetensorsTest, ComplexNumbersWithoutADTypeArePairs) {
  for (const auto& [dtype, part] :
       {std::make_pair(DType::kComplex32, "F16"), std::make_pair(DType::kComplex128, "F64")}) {
    const size_t width = static_cast<size_t>(DTypeBytes(dtype));
    Tensors tensors = {{"", Data(dtype, {}, std::string(width, 'a'))},
                       {"\"é", Data(dtype, {2, 3}, std::string(6 * width, 'b'))},
                       {"empty", Data(dtype, {0, 2}, "")},
                       {"x", Data(DType::kFloat64, {2}, std::string(16, 'c'))}};
    tensors["\"é"].strides = {1, 2};
    ExpectRoundTrip(tensors);
    const absl::StatusOr<std::string> bytes = SerializeSafetensors(tensors);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_THAT(*bytes, HasSubstr(absl::StrCat("{\"dtype\":\"", part, "\",\"shape\":[2,3,2]")));
    EXPECT_THAT(*bytes, HasSubstr(absl::StrCat("\"graphnet.dtype.empty\":\"", DTypeName(dtype))));
  }
  const auto message = [](absl::string_view tensor, absl::string_view metadata) {
    const std::string header =
        absl::StrCat("{\"w\":", tensor, ",\"__metadata__\":{", metadata, "}}");
    std::string bytes(1, static_cast<char>(header.size()));
    absl::StrAppend(&bytes, std::string(7, '\0'), header, std::string(16, 'x'));
    return std::string(ParseSafetensors(bytes, "x").status().message());
  };
  const std::string pair = R"({"dtype":"F64","shape":[2],"data_offsets":[0,16]})";
  EXPECT_EQ(message(pair, R"("graphnet.dtype.w":"complex128")"), "");
  EXPECT_THAT(message(pair, R"("graphnet.dtype.w":"complex32")"),
              HasSubstr("dtype of w: it has no"));
  EXPECT_THAT(message(pair, R"("graphnet.dtype.w":"int8")"), HasSubstr("no dtype of pairs"));
  EXPECT_THAT(message(pair, R"("graphnet.dtype.v":"complex128")"), HasSubstr("no such tensor"));
  EXPECT_THAT(message(R"({"dtype":"F64","shape":[2,1],"data_offsets":[0,16]})",
                      R"("graphnet.dtype.w":"complex128")"),
              HasSubstr("it has no pairs of that dtype's parts"));
  EXPECT_THAT(message(pair, R"("graphnet.dtype.w":"complex128","graphnet.dtype.w":"complex128")"),
              HasSubstr("it has no pairs"));
}

TEST(SafetensorsTest, StreamsNothingIfATensorIsRefused) {
  const Tensors tensors = {{"a", Data(DType::kUInt8, {1}, "a")},
                           {"b", {DType::kUInt8, {1}, nullptr}}};
  const absl::Status status = StreamSafetensors(tensors, [](absl::string_view) {
    ADD_FAILURE();
    return absl::OkStatus();
  });
  EXPECT_EQ(status, SerializeSafetensors(tensors).status());
  EXPECT_FALSE(status.ok());
}

}  // namespace
}  // namespace graphnet
