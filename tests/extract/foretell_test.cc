// Compares foretold breaks of small programs with a golden file and with runs.
// If UPDATE_GOLDEN is the path of foretold.golden, the file is rewritten.
#include "graphnet/extract/foretell.h"

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/extract/break_reason.h"
#include "graphnet/extract/capture.h"
#include "graphnet/extract/example_value.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "gtest/gtest.h"
#include "tests/extract/check_program.h"
#include "tests/extract/read_programs.h"
#include "torch/csrc/jit/api/module.h"

namespace graphnet {
namespace {

constexpr char kField[] = "tests/extract/foretold.txt";
constexpr char kGolden[] = "tests/extract/foretold.golden";

using Places = std::set<std::tuple<std::string, int64_t, int64_t>>;  // reason, line, column

absl::StatusOr<torch::jit::Module> Load(const std::string& source) {
  const std::string path = testing::TempDir() + "/program.pt";
  absl::Status saved = SaveProgram(source, path);
  if (!saved.ok()) return saved;
  return LoadTorchScriptModule(path, /*trust=*/true);
}

CaptureOptions OptionsOf(const TestProgram& program) {
  CaptureOptions options;
  options.break_on = program.break_on;
  options.max_unroll = program.max_unroll;
  options.custom_operators = true;
  options.print = [](const std::string&) {};
  return options;
}

absl::StatusOr<ForetoldBreaks> Foretell(const TestProgram& program) {
  const absl::StatusOr<torch::jit::Module> module = Load(program.source);
  if (!module.ok()) return module.status();
  return ForetellBreaks(*module, OptionsOf(program));
}

// Returns the breaks of a run.
absl::StatusOr<Places> BreaksOfRun(const TestProgram& program) {
  const absl::StatusOr<torch::jit::Module> module = Load(program.source);
  if (!module.ok()) return module.status();
  const auto& formals = module->get_method("forward").function().getSchema().arguments();
  std::vector<c10::IValue> inputs;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const absl::StatusOr<c10::IValue> value =
        MakeExampleValue(program.inputs[i], formals.at(i + 1).name(), 7, formals.at(i + 1).type());
    if (!value.ok()) return value.status();
    inputs.push_back(*value);
  }
  const absl::StatusOr<Capture> capture = CaptureProgram(*module, inputs, OptionsOf(program));
  if (!capture.ok()) return capture.status();
  if (!capture->status.ok()) return capture->status;
  Places places;
  for (const StitchStep& step : capture->manifest.steps) {
    if (step.subgraph < 0 && step.reason != BreakReason::kNone)
      places.insert({std::string(TextOf(step.reason).name), step.line, step.column});
  }
  return places;
}

Places PlacesOf(const ForetoldBreaks& foretold, bool only_certain) {
  Places places;
  for (const ForetoldBreak& told : foretold.breaks) {
    if (told.conditions.empty() || !only_certain)
      places.insert({std::string(TextOf(told.reason).name), told.place.line, told.place.column});
  }
  return places;
}

size_t NumShared(const Places& a, const Places& b) {
  size_t number = 0;
  for (const auto& place : a) number += b.contains(place) ? 1 : 0;
  return number;
}

std::string Text(const ForetoldBreaks& foretold) {
  static constexpr const char* kKinds[] = {"if so", "if not", "goes on", "is long", "depends"};
  std::string text;
  for (const ForetoldBreak& told : foretold.breaks) {
    absl::StrAppend(&text, std::string(TextOf(told.reason).name), ": ", told.op, " at line ",
                    told.place.line, told.conditions.empty() ? ", always" : "");
    for (const BreakCondition& condition : told.conditions) {
      absl::StrAppend(&text, ", line ", condition.place.line, " ",
                      kKinds[static_cast<int>(condition.kind)],
                      condition.on_data ? " (data)" : " (inputs)");
    }
    absl::StrAppend(&text, "\n");
  }
  if (foretold.always_raises) text += "raises\n";
  return text.empty() ? "nothing\n" : text;
}

TEST(Foretell, MatchesTheGoldenFile) {
  const std::vector<TestProgram> programs = ReadPrograms(kField);
  ASSERT_GE(programs.size(), 20u);
  const char* const update = std::getenv("UPDATE_GOLDEN");
  std::map<std::string, std::string> golden;
  for (auto& [name, text] : ReadSections(kGolden)) golden[name] = text;
  std::string written;
  for (const TestProgram& program : programs) {
    const absl::StatusOr<ForetoldBreaks> foretold = Foretell(program);
    ASSERT_TRUE(foretold.ok()) << program.name << ": " << foretold.status();
    absl::StrAppend(&written, "=== ", program.name, "\n", Text(*foretold));
    if (update == nullptr) {
      EXPECT_EQ(golden[program.name], Text(*foretold)) << program.name;
    }
  }
  if (update != nullptr) {
    ASSERT_TRUE(WriteFileAtomic(update, written).ok());
  }
}

// Nine of ten breaks that are foretold as certain happen, and nine of ten that happen are
// foretold.
TEST(Foretell, AgreesWithRuns) {
  std::vector<TestProgram> programs = ReadPrograms(kField);
  for (TestProgram& program : ReadPrograms("tests/extract/programs.txt")) {
    if (!program.cond && program.dynamic.empty()) programs.push_back(std::move(program));
  }
  ASSERT_GE(programs.size(), 100u);
  size_t certain = 0, certain_had = 0, had = 0, had_told = 0;
  for (const TestProgram& program : programs) {
    const absl::StatusOr<ForetoldBreaks> foretold = Foretell(program);
    ASSERT_TRUE(foretold.ok()) << program.name << ": " << foretold.status();
    const absl::StatusOr<Places> places = BreaksOfRun(program);
    if (!places.ok()) {
      ADD_FAILURE() << program.name << ": " << places.status();
      continue;
    }
    const Places of_certain = PlacesOf(*foretold, true), all = PlacesOf(*foretold, false);
    certain += of_certain.size();
    certain_had += NumShared(of_certain, *places);
    had += places->size();
    had_told += NumShared(*places, all);
    if (NumShared(of_certain, *places) < of_certain.size() ||
        NumShared(*places, all) < places->size()) {
      std::string text;
      for (const auto& [reason, line, column] : *places)
        absl::StrAppend(&text, reason, " at line ", line, ":", column, "\n");
      std::printf("%s\n  foretold:\n%s  a run has:\n%s", program.name.c_str(),
                  Text(*foretold).c_str(), text.c_str());
    }
  }
  std::printf("%zu of %zu certain ones happen, %zu of %zu that happen are foretold\n", certain_had,
              certain, had_told, had);
  EXPECT_GE(certain_had * 10, certain * 9);
  EXPECT_GE(had_told * 10, had * 9);
}

TEST(Foretell, RunsNothing) {
  const absl::StatusOr<torch::jit::Module> module = Load(R"(
def forward(self, x):
    self.count += 1
    self.buffer.add_(1)
    self.history.append(x)
    return x * int(self.weight.sum())
)");
  ASSERT_TRUE(module.ok()) << module.status();
  const absl::StatusOr<ForetoldBreaks> foretold = ForetellBreaks(*module);
  ASSERT_TRUE(foretold.ok()) << foretold.status();
  EXPECT_GE(foretold->breaks.size(), 4u);
  EXPECT_EQ(module->attr("count").toTensor().item<int64_t>(), 0);
  EXPECT_EQ(module->attr("buffer").toTensor().sum().item<float>(), 3);
  EXPECT_EQ(module->attr("history").toList().size(), 0u);
}

TEST(Foretell, IsBounded) {
  // Each method calls the one before it twice.
  std::string source = "def f0(self, x):\n    return x + 1\n";
  for (int i = 1; i < 40; ++i) {
    absl::StrAppend(&source, "def f", i, "(self, x):\n    return self.f", i - 1, "(self.f", i - 1,
                    "(x))\n");
  }
  source += "def forward(self, x):\n    return self.f39(x)\n";
  const absl::StatusOr<torch::jit::Module> module = Load(source);
  ASSERT_TRUE(module.ok()) << module.status();
  CaptureOptions options;
  options.max_steps = 100000;
  const absl::StatusOr<ForetoldBreaks> foretold = ForetellBreaks(*module, options);
  EXPECT_EQ(foretold.status().code(), absl::StatusCode::kInvalidArgument) << foretold.status();
  EXPECT_NE(foretold.status().message().find("foretelling takes more than 100000 steps"),
            std::string::npos)
      << foretold.status();
}

// Each tuple holds the one before it twice, so the printed text doubles each time.
TEST(Foretell, IsBoundedOnSharedValues) {
  std::string source = "def forward(self, x):\n    t0 = (x, x)\n";
  for (int i = 1; i < 14; ++i)
    absl::StrAppend(&source, "    t", i, " = (t", i - 1, ", t", i - 1, ")\n");
  source += "    print(t3)\n    return str(t13)\n";
  const absl::StatusOr<torch::jit::Module> module = Load(source);
  ASSERT_TRUE(module.ok()) << module.status();
  CaptureOptions options;
  options.max_steps = 10000;
  EXPECT_FALSE(ForetellBreaks(*module, options).ok());
}

TEST(Foretell, RefusesWhatItCannotFollow) {
  const absl::StatusOr<torch::jit::Module> module = Load("def forward(self, x):\n    return x\n");
  ASSERT_TRUE(module.ok()) << module.status();
  CaptureOptions options;
  options.method = "backward";
  EXPECT_EQ(ForetellBreaks(*module, options).status().code(), absl::StatusCode::kNotFound);
  options = {};
  options.max_unroll = 0;
  EXPECT_EQ(ForetellBreaks(*module, options).status().message(), "max_unroll must be at least 1");
  EXPECT_EQ(CaptureProgram(*module, {at::ones({1})}, options).status().message(),
            "max_unroll must be at least 1");
}

}  // namespace
}  // namespace graphnet
