// Tests what is on disk after an incomplete write.
#include "graphnet/extract/folder.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/ir/text/parser.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

constexpr int kSubgraphs = 8;

ExtractedProgram MakeProgram() {
  ExtractedProgram program;
  program.manifest.name = "net";
  program.manifest.inputs.push_back({"x", {.kind = ValueTree::Kind::kTensor, .number = 0}});
  program.manifest.tensors[0] = {DType::kFloat32, "cpu", {3}};
  for (int i = 0; i < kSubgraphs; ++i) {
    absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(
        "attribute w : f32[1000]@cpu\n"
        "graph @forward(%x : f32[3]@cpu) {\n  %w = get_attr w : f32[1000]@cpu\n"
        "  %y = aten.relu.default(%x) : f32[3]@cpu\n  return (%y, %w)\n}\n",
        "m");
    if (!module.ok()) std::abort();
    Sample sample;
    sample.name = "net";
    sample.module = *std::move(module);
    sample.weights["w"] = {DType::kFloat32, {1000}, std::make_shared<std::string>(4000, 'x')};
    program.subgraphs.push_back(std::move(sample));
    program.manifest.subgraphs.push_back({absl::StrCat("subgraph_", i), "hash", -1, 1});
    StitchStep step;
    step.subgraph = i;
    step.inputs = {i};
    step.outputs = {i + 1};
    program.manifest.steps.push_back(step);
  }
  program.manifest.result = {.kind = ValueTree::Kind::kTensor, .number = kSubgraphs};
  return program;
}

std::string Scratch() {
  const char* scratch = std::getenv("TEST_TMPDIR");
  return absl::StrCat(scratch != nullptr ? scratch : "/tmp", "/folder_", getpid());
}

// Checks that there is no program or a complete one, and that each subgraph is complete. Returns
// the number of subgraphs.
int CheckWhole(const std::string& folder) {
  if (IsExtracted(folder)) {
    const absl::StatusOr<ExtractedProgram> program = ReadExtracted(folder);
    EXPECT_TRUE(program.ok()) << program.status();
  }
  int found = 0;
  for (int i = 0; i < kSubgraphs; ++i) {
    const std::string path = absl::StrCat(folder, "/subgraph_", i, ".pb");
    if (!FileExists(path)) continue;
    ++found;
    const absl::StatusOr<Sample> sample = ReadSampleFile(path, /*with_weights=*/true);
    EXPECT_TRUE(sample.ok()) << sample.status();
  }
  return found;
}

TEST(Folder, KilledWhileWriting) {
  const ExtractedProgram program = MakeProgram();
  const std::string folder = Scratch();
  int partial = 0;
  for (int delay = 0; delay < 60; ++delay) {
    std::filesystem::remove_all(folder);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      // Write again and again, so that the kill comes at any point.
      while (true) WriteExtracted(program, folder, ExtractFormat::kProtobuf).IgnoreError();
    }
    usleep(static_cast<useconds_t>(500 + 137 * delay));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const int found = CheckWhole(folder);
    partial += found < kSubgraphs || !IsExtracted(folder) ? 1 : 0;
    // Leftover files are not in the way.
    EXPECT_TRUE(WriteExtracted(program, folder, ExtractFormat::kProtobuf).ok());
    EXPECT_TRUE(IsExtracted(folder));
    EXPECT_EQ(CheckWhole(folder), kSubgraphs);
  }
  EXPECT_GT(partial, 0) << "no run was killed while it wrote";
  std::filesystem::remove_all(folder);
}

// Limits the size of files, which has the effect of a full disk.
TEST(Folder, NoRoomForAFile) {
  const ExtractedProgram program = MakeProgram();
  const std::string folder = Scratch();
  for (const rlim_t room : {0, 100, 3000}) {
    std::filesystem::remove_all(folder);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      signal(SIGXFSZ, SIG_IGN);
      const rlimit limit = {room, room};
      setrlimit(RLIMIT_FSIZE, &limit);
      const absl::Status status = WriteExtracted(program, folder, ExtractFormat::kProtobuf);
      _exit(status.ok() || status.message().empty() ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "room for " << room;
    EXPECT_FALSE(IsExtracted(folder));
    CheckWhole(folder);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace graphnet
