#include "graphnet/evaluate/compiled_sample.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/evaluate/worker_process.h"
#include "graphnet/ir/text/parser.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorData Floats(const std::vector<float>& values) {
  return {.dtype = DType::kFloat32,
          .shape = {static_cast<int64_t>(values.size())},
          .bytes = std::make_shared<const std::string>(reinterpret_cast<const char*>(values.data()),
                                                       values.size() * sizeof(float))};
}

std::vector<float> Numbers(const TensorData& data) {
  std::vector<float> values(data.bytes->size() / sizeof(float));
  std::memcpy(values.data(), data.bytes->data(), values.size() * sizeof(float));
  return values;
}

Sample Scaled(float w) {
  Sample sample;
  sample.module = *ParseModule(
      "attribute w : f32[1]@cpu\n"
      "graph @forward(%x : f32[3]@cpu) {\n"
      "  %w = get_attr w : f32[1]@cpu\n"
      "  %y = aten.mul.Tensor(%x, %w) : f32[3]@cpu\n"
      "  return (%y,)\n"
      "}\n",
      "test");
  sample.weights["w"] = Floats({w});
  return sample;
}

class CompiledSampleTest : public testing::Test {
 protected:
  std::shared_ptr<SampleCompiler> Start(CompileCache* cache = nullptr, const char* how = "") {
    const auto compiler = TryStart(cache, how);
    EXPECT_TRUE(compiler.ok()) << compiler.status();
    return compiler.ok() ? *compiler : nullptr;
  }
  absl::StatusOr<std::shared_ptr<SampleCompiler>> TryStart(CompileCache* cache, const char* how) {
    WorkerHost host;
    host.exec = absl::StrCat("python3 ",
                             std::filesystem::absolute("tests/evaluate/scaling_worker.py").string(),
                             " ", how);
    return SampleCompiler::Start(&backend_, host, {.time = absl::Seconds(60)}, cache);
  }
  std::unique_ptr<CompileCache> OpenCache(const std::string& name) {
    auto cache = CompileCache::Open({.folder = absl::StrCat(testing::TempDir(), "/", name)});
    EXPECT_TRUE(cache.ok()) << cache.status();
    return cache.ok() ? *std::move(cache) : nullptr;
  }
  static std::vector<float> Run(CompiledSample& compiled, const std::vector<float>& x) {
    const absl::StatusOr<Outputs> outputs = compiled.Run({{"x", Floats(x)}}, /*seed=*/0);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() && outputs->size() == 1 ? Numbers((*outputs)[0]) : std::vector<float>();
  }

  const Backend backend_ = {.name = "scaling",
                            .description = "multiplies",
                            .kind = BackendKind::kCommand,
                            .reads = ProgramForm::kSample,
                            .files = {}};
};

TEST_F(CompiledSampleTest, OneWorkerHoldsManyPrograms) {
  const auto compiler = Start();
  ASSERT_NE(compiler, nullptr);
  auto twice = *compiler->Compile(Scaled(2));
  auto thrice = *compiler->Compile(Scaled(3));
  EXPECT_THAT(Run(*twice, {1, 2, 3}), ElementsAre(2, 4, 6));
  EXPECT_THAT(Run(*thrice, {1, 2, 3}), ElementsAre(3, 6, 9));
  twice.reset();
  EXPECT_THAT(Run(*thrice, {1, 1, 1}), ElementsAre(3, 3, 3));
}

TEST_F(CompiledSampleTest, TheNextWorkerLoadsCompiledPrograms) {
  const auto cache = OpenCache("next");
  for (const int64_t cached : {0, 1, 1}) {
    const auto compiler = Start(cache.get());
    ASSERT_NE(compiler, nullptr);
    auto compiled = *compiler->Compile(Scaled(2));
    EXPECT_EQ(compiler->num_cached(), cached);
    EXPECT_THAT(Run(*compiled, {1, 2, 3}), ElementsAre(2, 4, 6));
  }
  // Another weight makes another program.
  const auto compiler = Start(cache.get());
  auto compiled = *compiler->Compile(Scaled(4));
  EXPECT_EQ(compiler->num_cached(), 0);
  EXPECT_THAT(Run(*compiled, {1, 2, 3}), ElementsAre(4, 8, 12));
}

TEST_F(CompiledSampleTest, AnEntryThatTheWorkerRejectsIsCompiledAgain) {
  const auto cache = OpenCache("anew");
  auto first = *Start(cache.get())->Compile(Scaled(2));
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(testing::TempDir() + "/anew")) {
    if (file.path().filename() == "compiled") std::ofstream(file.path()) << "9";
  }
  const auto compiler = Start(cache.get());
  auto compiled = *compiler->Compile(Scaled(2));
  EXPECT_EQ(compiler->num_cached(), 0);
  EXPECT_THAT(Run(*compiled, {1, 2, 3}), ElementsAre(2, 4, 6));
}

TEST_F(CompiledSampleTest, AnEndedWorkerRunsNothing) {
  const auto compiler = Start(nullptr, "ENDS");
  ASSERT_NE(compiler, nullptr);
  auto twice = *compiler->Compile(Scaled(2));
  const auto error = [&] {
    return std::string(twice->Run({{"x", Floats({1})}}, /*seed=*/0).status().message());
  };
  EXPECT_THAT(error(), HasSubstr("exit: ended with code 3"));
  EXPECT_EQ(error(), "its worker has ended");
}

TEST_F(CompiledSampleTest, RefusesWorkersThatHoldOneProgram) {
  const auto compiler = TryStart(nullptr, "OLD");
  ASSERT_FALSE(compiler.ok());
  EXPECT_THAT(compiler.status().message(), HasSubstr("is of an older version"));
}

TEST_F(CompiledSampleTest, AWorkerInCppHoldsManyPrograms) {
  WorkerHost host;
  host.exec = std::filesystem::absolute("tests/evaluate/scaling_worker").string();
  const auto started = SampleCompiler::Start(&backend_, host, {.time = absl::Seconds(60)});
  ASSERT_TRUE(started.ok()) << started.status();
  auto twice = *(*started)->Compile(Scaled(2));
  auto thrice = *(*started)->Compile(Scaled(3));
  EXPECT_THAT(Run(*twice, {1, 2, 3}), ElementsAre(2, 4, 6));
  EXPECT_THAT(Run(*thrice, {1, 2, 3}), ElementsAre(3, 6, 9));
  TensorData integers = Floats({1, 2});
  integers.dtype = DType::kInt32;
  const auto failed = thrice->Run({{"x", integers}}, /*seed=*/0);
  EXPECT_EQ(failed.status().message(), "takes floats,");
  TensorData bools = integers;
  bools.dtype = DType::kBool;
  bools.shape = {8};
  EXPECT_EQ(thrice->Run({{"x", bools}}, /*seed=*/0).status().message(),
            "the worker failed without giving a reason");
  const auto other = thrice->Run({{"y", integers}}, /*seed=*/0);
  EXPECT_EQ(other.status().message(), "there is no input x");
  EXPECT_THAT(Run(*thrice, {1, 1, 1}), ElementsAre(3, 3, 3));
}

// Writes a file of one tensor.
std::string FileOf(const std::string& dtype, size_t size, const std::string& bytes,
                   const std::string& name = "x") {
  static int number = 0;
  std::string path = absl::StrCat(testing::TempDir(), "/", ++number, ".safetensors");
  const std::string header =
      absl::StrCat(R"({")", name, R"(": {"dtype": ")", dtype, R"(", "shape": [)", size,
                   R"(], "data_offsets": [0, )", bytes.size(), "]}}");
  const uint64_t length = header.size();
  std::ofstream(path, std::ios::binary)
      << std::string(reinterpret_cast<const char*>(&length), sizeof(length)) << header << bytes;
  return path;
}

TEST(WorkersInCpp, RefuseRequests) {
  const auto worker = WorkerProcess::Start(
      {.command = {std::filesystem::absolute("tests/evaluate/scaling_worker").string()},
       .folder = testing::TempDir()});
  ASSERT_TRUE(worker.ok()) << worker.status();
  const auto answer = [&](const std::string& verb, const std::string& inputs) {
    return *(*worker)->Ask(
        absl::StrCat(R"({"verb": ")", verb, R"(", "slot": 77, "order": ["x"], "inputs": ")", inputs,
                     R"(", "weights": ")", FileOf("F32", 1, "abcd", "w"), R"(", "outputs": ")",
                     inputs, R"(.out"})"),
        absl::Seconds(60));
  };
  EXPECT_THAT(answer("sing", ""), HasSubstr("there is no verb sing"));
  const std::string none = absl::StrCat(testing::TempDir(), "/none");
  EXPECT_THAT(answer("prepare", none), HasSubstr(absl::StrCat("cannot read ", none)));
  const std::string cut = FileOf("F32", 2, "abcd");
  EXPECT_THAT(answer("prepare", cut), HasSubstr(absl::StrCat(cut, " ends early")));
  EXPECT_THAT(answer("prepare", FileOf("F8_E5M2", 1, "a")), HasSubstr("a tensor of dtype F8_E5M2"));
  const std::string good = FileOf("U8", 4, "abcd");
  EXPECT_THAT(answer("prepare", good), HasSubstr("\"ok\":true"));
  EXPECT_THAT(answer("run", good), HasSubstr("changed its input x"));
}

}  // namespace
}  // namespace graphnet
