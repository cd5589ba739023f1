// The worker of XLA with stand-ins for PJRT and torch-mlir-opt. They show that it keeps to the
// protocol and refuses what it cannot compile, and not that XLA compiles anything.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "graphnet/evaluate/worker.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

namespace fs = std::filesystem;

class XlaWorkerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(testing::TempDir(), "/",
                           testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
    folder_ = fs::absolute(folder_).string();
    inputs_ = folder_ + "/in.safetensors";
    const std::string header = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  )";
    const uint64_t size = header.size();
    std::ofstream file(inputs_, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&size), 8);
    file << header << "abcdefgh";
    file.close();
    const fs::path plugin = fs::absolute("tests/evaluate/xla_cpu_pjrt.so");
    ProcessOptions options;
    options.command = {fs::absolute("tests/evaluate/xla_worker").string()};
    options.folder = folder_;
    options.environment = {{"LD_LIBRARY_PATH", plugin.parent_path().string()},
                           {"PATH", absl::StrCat(folder_, ":", getenv("PATH"))}};
    auto worker = Worker::Start(options, absl::Seconds(20));
    ASSERT_OK(worker);
    worker_ = *std::move(worker);
    // It hands on the text as it is.
    Install("cp torch.mlir stablehlo.mlir");
  }

  // Makes the program torch-mlir-opt.
  void Install(const std::string& script) const {
    const std::string path = folder_ + "/torch-mlir-opt";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(path, fs::perms::owner_all);
  }

  absl::Status Prepare(const std::string& text) {
    PrepareRequest request;
    request.program = folder_ + "/program.mlir";
    std::ofstream(request.program) << text;
    request.inputs = inputs_;
    request.order = {"x"};
    return worker_->Prepare(request);
  }
  std::string ErrorOf(const std::string& text) { return std::string(Prepare(text).message()); }
  absl::StatusOr<std::string> Run() {
    return worker_->Run(inputs_, folder_ + "/out.safetensors", /*seed=*/0);
  }

  std::string folder_, inputs_;
  std::unique_ptr<Worker> worker_;
};

constexpr char kProgram[] =
    "module {\n"
    "  func.func @main(%x: !torch.vtensor<[2],f32>) -> (!torch.vtensor<[2],f32>) {\n"
    "    return %x : !torch.vtensor<[2],f32>\n"
    "  }\n"
    "}\n";

TEST_F(XlaWorkerTest, CompilesAndRuns) {
  ASSERT_OK(Prepare(kProgram));
  const absl::StatusOr<std::string> proof = Run();
  ASSERT_OK(proof);
  EXPECT_EQ(*proof, "0 operations of StableHLO by PJRT's stand-in");
  std::ifstream file(folder_ + "/out.safetensors", std::ios::binary);
  const std::string outputs{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(outputs, testing::EndsWith("abcdefgh"));
}

TEST_F(XlaWorkerTest, RefusesProgramsThatItCannotRead) {
  EXPECT_EQ(ErrorOf("module {}"), "the program has no @main");
  EXPECT_EQ(ErrorOf("func.func @main(%x) -> () {}"), "an argument of @main has no type");
  EXPECT_EQ(
      ErrorOf("func.func @main(%n: !torch.int) -> (!torch.int) {\n  return %n : !torch.int\n}"),
      "StableHLO takes no numbers: n");
}

TEST_F(XlaWorkerTest, SaysWhatTorchMlirOptSays) {
  Install("echo 'torch.mlir:1:2: error: no such operator' >&2; exit 1");
  EXPECT_EQ(ErrorOf(kProgram), "StableHLO: no such operator");
  Install("exit 1");
  EXPECT_EQ(ErrorOf(kProgram), "StableHLO: torch-mlir-opt fails");
}

TEST_F(XlaWorkerTest, RefusesOutputsThatTheFileFormatLacks) {
  Install("echo complex128 >stablehlo.mlir");
  ASSERT_OK(Prepare(kProgram));
  EXPECT_EQ(Run().status().message(), "an output has a dtype that .safetensors does not support");
}

}  // namespace
}  // namespace graphnet
