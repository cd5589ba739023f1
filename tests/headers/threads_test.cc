// Threads use the public functions at once: they read one sample, extend the registries while
// others look things up in them, and write a file that others read. `--config=tsan` runs this under
// ThreadSanitizer, which reports each race, even if the results are right.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/graphnet.h"
#include "graphnet/ops/foreign_operators.h"
#include "graphnet/paddle/formats.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

constexpr int kThreads = 4;

// Calls work(0), …, work(kThreads - 1) at once, each in a thread of its own.
void Together(const std::function<void(int)>& work) {
  std::latch begin(kThreads);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      begin.arrive_and_wait();
      work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

Sample Loaded(const std::string& path) {
  absl::StatusOr<Sample> sample = Load(path, {.values_if_there = true});
  EXPECT_OK(sample);
  return sample.ok() ? *std::move(sample) : Sample();
}

// What public functions say about a sample without changing it.
std::vector<std::string> Answers(const Sample& sample) {
  const Module& module = *sample.module;
  const Graph* graph = module.main();
  std::vector<std::string> answers;
  for (const Node* node : graph->nodes()) {
    if (graph->FindNode(node->name()) != node) answers.emplace_back(node->name());
  }
  answers.push_back(CanonicalHash(module));
  answers.push_back(PrintSample(sample));
  answers.push_back(Verify(module).ToString());
  answers.push_back(PrintDiff(DiffModules(module, module)));
  DecomposeConfig config;
  config.number = 3;
  if (const absl::StatusOr<Decomposition> cut = Decompose(sample, config); cut.ok()) {
    for (const Sample& piece : cut->pieces) answers.push_back(CanonicalHash(*piece.module));
    answers.push_back(
        ValidateStructure(sample, cut->pieces, {.cut = config.cut}).status().ToString());
  } else {
    answers.push_back(cut.status().ToString());
  }
  return answers;
}

TEST(ThreadsTest, ReadOneSample) {
  for (const char* path : {"samples/bert.pb", "samples/gpt.pb", "samples/resnet.pb"}) {
    const std::vector<std::string> expected = Answers(Loaded(path));
    const Sample shared = Loaded(path);  // Nothing has filled its caches yet.
    Together([&](int) { EXPECT_EQ(Answers(shared), expected); });
  }
}

TEST(ThreadsTest, RewriteCopiesOfOneSample) {
  const Sample shared = Loaded("samples/vit.pb");
  const absl::StatusOr<Pipeline> pipeline = ParsePipeline("explicit-operators,cse,dce");
  ASSERT_OK(pipeline);
  std::vector<std::string> hashes(kThreads);
  Together([&](int i) {
    absl::StatusOr<std::unique_ptr<Module>> copy =
        ParseModule(PrintModule(*shared.module), absl::StrCat(i));
    ASSERT_OK(copy);
    const auto steps = RunPipeline(*pipeline, copy->get());
    ASSERT_OK(steps);
    hashes[i] = CanonicalHash(**copy);
  });
  EXPECT_EQ(std::count(hashes.begin(), hashes.end(), hashes[0]), kThreads);
}

// Reads "NAME TEXT", which no other format begins with.
Format FormatOf(const std::string& name) {
  Format format;
  format.name = name;
  format.title = name;
  format.content = name;
  format.endings = {absl::StrCat(".", name)};
  format.sniff = [name](Source& source) {
    const absl::StatusOr<absl::string_view> head = source.head();
    return head.ok() && absl::StartsWith(*head, absl::StrCat(name, " "));
  };
  format.read = [](Source&, const LoadOptions&) -> absl::StatusOr<Sample> {
    return absl::UnimplementedError("read by the format that was added");
  };
  return format;
}

TEST(ThreadsTest, ExtendTheRegistriesThatOthersRead) {
  constexpr absl::string_view kText =
      "graph @forward(%x : f32[2, 3]) {\n"
      "  %y = thread0.f0.default(%x)\n"
      "  %z = torch.relu(%y)\n"
      "  return (%z,)\n"
      "}\n";
  const std::string expected = CanonicalHash(**ParseModule(kText, "text"));
  const std::vector<const Format*> own = Formats();
  Together([&](int thread) {
    if (thread == 0) {
      EXPECT_OK(UsePaddle());
    }
    for (int i = 0; i < 20; ++i) {
      const std::string name = absl::StrCat("thread", thread, "x", i);
      EXPECT_OK(RegisterFormat(FormatOf(name)));
      EXPECT_OK(AddOperatorFacts(
          absl::StrCat("= relu thread", thread, "::f", i, "(Tensor self) -> Tensor")));
      AddForeignOperator(absl::StrCat("thread", thread, "::g", i, "(Tensor x) -> Tensor"));

      const absl::StatusOr<Sample> sample = LoadBytes(kText, "text");
      ASSERT_OK(sample);
      EXPECT_EQ(CanonicalHash(*sample->module), expected);
      const std::string bytes = absl::StrCat(name, " of a graph");
      EXPECT_EQ(LoadBytes(bytes, "bytes").status().code(), absl::StatusCode::kUnimplemented);
      EXPECT_NE(FindFormat(name), nullptr);
      EXPECT_EQ(FormatOfPath(absl::StrCat("x.", name)), nullptr);  // It cannot be written.
      EXPECT_OK(ParsePipeline("dce,cse"));
    }
  });
  // Graphnet's own formats stay behind all that were added.
  const std::vector<const Format*> after = Formats();
  ASSERT_GE(after.size(), own.size() + kThreads * 20);
  EXPECT_TRUE(std::equal(own.rbegin(), own.rend(), after.rbegin()));
}

TEST(ThreadsTest, WriteAFileThatOthersRead) {
  const Sample bert = Loaded("samples/bert.pb");
  const Sample gpt = Loaded("samples/gpt.pb");
  for (const char* ending : {".pb", ".gn"}) {
    const std::string path = absl::StrCat(testing::TempDir(), "/threads", ending);
    ASSERT_OK(Save(bert, path));
    const std::string first = CanonicalHash(*Loaded(path).module);
    ASSERT_OK(Save(gpt, path));
    const std::string second = CanonicalHash(*Loaded(path).module);
    Together([&](int thread) {
      for (int i = 0; i < 5; ++i) {
        if (thread < 2) {
          EXPECT_OK(Save(thread == 0 ? bert : gpt, path));
        } else {
          const absl::StatusOr<Sample> sample = Load(path);
          ASSERT_OK(sample);
          const std::string hash = CanonicalHash(*sample->module);
          EXPECT_TRUE(hash == first || hash == second);
        }
      }
    });
  }
}

}  // namespace
}  // namespace graphnet
