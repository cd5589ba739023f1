// Compares calls through the cache with calls of the module.
#include "graphnet/extract/cache.h"

#include <string>
#include <vector>

#include "ATen/ATen.h"
#include "absl/strings/match.h"
#include "graphnet/extract/reference.h"
#include "graphnet/extract/samples.h"
#include "graphnet/interp/torch/tensors.h"
#include "gtest/gtest.h"
#include "tests/extract/store_and_load.h"
#include "torch/csrc/jit/ir/irparser.h"

namespace graphnet {
namespace {

using c10::IValue;
using Inputs = std::vector<IValue>;

torch::jit::Module Define(const std::string& source) {
  torch::jit::Module module("Program");
  module.register_buffer("buffer", at::ones({3}));
  module.register_attribute("scale", c10::FloatType::get(), IValue(1.5));
  module.define(source);
  return module;
}

// Calls both and compares the results.
void Check(torch::jit::Module& module, CaptureCache& cache, const Inputs& a, const Inputs& b) {
  const IValue expected = module.forward(a);
  const absl::StatusOr<IValue> found = cache.Call(b);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(expected.toTensor().equal(found->toTensor()))
      << expected.toTensor() << " against " << found->toTensor();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].toTensor().equal(b[i].toTensor())) << i;
}
void Check(torch::jit::Module& module, CaptureCache& cache, const Inputs& inputs) {
  Inputs copies;
  for (const IValue& input : inputs) copies.push_back(input.deepcopy());
  Check(module, cache, inputs, copies);
}

TEST(CaptureCache, CapturesUpToItsLimitThenRunsTheModule) {
  const std::string source = "def forward(self, x):\n    return torch.relu(x) * x.size(0)\n";
  torch::jit::Module module = Define(source);
  CaptureCache cache(Define(source));
  for (int64_t size = 1; size <= 22; ++size) Check(module, cache, {at::randn({size})});
  EXPECT_EQ(cache.num_entries(), 20u);
  EXPECT_EQ(cache.counters().captures, 20);
  EXPECT_EQ(cache.counters().misses, 22);
  EXPECT_EQ(cache.counters().fallbacks, 2);
  EXPECT_EQ(cache.counters().hits, 0);
  // The n-th call met n - 1 captures, the last two met 20.
  EXPECT_EQ(cache.counters().guard_failures, 19 * 20 / 2 + 20 + 20);
  ASSERT_EQ(cache.reasons().size(), 20u);
  EXPECT_EQ(cache.reasons()[0], "x: expected sizes [1], found sizes [22]");
  Check(module, cache, {at::randn({7})});
  EXPECT_EQ(cache.counters().hits, 1);
  EXPECT_EQ(cache.counters().captures, 20);
}

// A call beyond the limit refuses the operators that capturing refuses.
TEST(CaptureCache, RefusesTheSameOperatorsBeyondItsLimit) {
  CaptureCache cache(Define("def forward(self, x):\n"
                            "    return torch.from_file('/nowhere', None, x.size(0))\n"),
                     {}, {.max_entries = 0});
  const absl::StatusOr<IValue> result = cache.Call({at::ones({3})});
  ASSERT_FALSE(result.ok());
  EXPECT_TRUE(absl::StrContains(result.status().message(), "reach beyond the program's values"))
      << result.status();
  EXPECT_EQ(cache.counters().fallbacks, 1);
}

// A store may throw, which becomes a status.
TEST(CaptureCache, GuardsOfMissingStateAreErrors) {
  struct Empty : AttributeStore {
    IValue Get(const std::string&, const std::string& name) override {
      TORCH_CHECK(false, "no attribute ", name);
    }
    void Set(const std::string&, const std::string&, IValue) override {}
  };
  const absl::StatusOr<Capture> capture = CaptureProgram(
      Define("def forward(self, x):\n    self.scale = self.scale + 1.0\n    return x\n"),
      {at::ones({3})});
  ASSERT_TRUE(capture.ok() && capture->status.ok()) << capture.status();
  std::vector<StitchedProgram::Subgraph> subgraphs;
  for (const Capture::Subgraph& subgraph : capture->subgraphs)
    subgraphs.push_back({subgraph.module.get(), subgraph.attributes});
  const auto program =
      StitchedProgram::Make(capture->manifest, std::move(subgraphs), capture->constants,
                            capture->objects, std::make_unique<Empty>());
  ASSERT_TRUE(program.ok()) << program.status();
  const absl::Status status = (*program)->CheckGuards({at::ones({3})});
  EXPECT_TRUE(absl::StrContains(status.message(), "no attribute scale")) << status;
}

TEST(CaptureCache, EachFailedGuardSaysWhy) {
  CaptureCache cache(Define("def forward(self, x, n: int):\n    return x * n * self.scale\n"));
  const auto reason = [&](const Inputs& inputs) {
    EXPECT_TRUE(cache.Call(inputs).ok());
    return cache.reasons().empty() ? "" : cache.reasons()[0];
  };
  const at::Tensor x = at::ones({2, 3});
  EXPECT_EQ(reason({x, 1}), "");
  EXPECT_EQ(reason({x, 1}), "");
  EXPECT_EQ(cache.counters().hits, 1);
  EXPECT_EQ(reason({x, 2}), "n: expected 1, found 2");
  EXPECT_EQ(reason({x.to(at::kDouble), 1}), "x: expected Float, found Double");
  EXPECT_EQ(reason({at::ones({3}), 1}), "x: expected rank 2, found rank 1");
  EXPECT_EQ(reason({at::ones({2, 3}).requires_grad_(), 1}),
            "x: expected a tensor that requires no gradient, found requires_grad");
}

// A parameter that a call leaves out is one that the capture takes.
TEST(CaptureCache, CountsArguments) {
  CaptureCache cache(Define("def forward(self, x, n: int = 1):\n    return x * n\n"));
  EXPECT_TRUE(cache.Call({at::ones({2}), 1}).ok());
  EXPECT_TRUE(cache.Call({at::ones({2})}).ok());
  EXPECT_EQ(cache.reasons(), std::vector<std::string>({"expected 2 inputs, found 1"}));
}

TEST(CaptureCache, NoticesAnAssignedNumber) {
  torch::jit::Module module = Define("def forward(self, x):\n    return x * self.scale\n");
  CaptureCache cache(module);
  Check(module, cache, {at::ones({3})});
  module.setattr("scale", IValue(2.5));
  Check(module, cache, {at::ones({3})});
  EXPECT_EQ(cache.reasons(), std::vector<std::string>({"attribute scale has changed"}));
}

// Operations are replayed in order on the tensors of the call.
TEST(CaptureCache, NoticesAnotherParameter) {
  const std::string source = "def forward(self, x):\n    return x * self.buffer\n";
  torch::jit::Module module = Define(source);
  CaptureCache cache(module);
  Check(module, cache, {at::ones({3})});
  module.setattr("buffer", at::full({3}, 4.0));
  Check(module, cache, {at::ones({3})});
  ASSERT_EQ(cache.reasons().size(), 1u);
  EXPECT_EQ(cache.reasons()[0], "attribute buffer has changed");
}

TEST(CaptureCache, ArgumentsThatShareMemoryNeedNoGuard) {
  const std::string source =
      "def forward(self, x, y):\n    x.add_(1)\n    z = y * 2\n    y.mul_(3)\n    return x + z\n";
  torch::jit::Module module = Define(source);
  CaptureCache cache(Define(source));
  Check(module, cache, {at::arange(3.), at::ones({3})});
  const at::Tensor a = at::arange(4.), b = at::arange(4.);
  Check(module, cache, {a.slice(0, 0, 3), a.slice(0, 1, 4)}, {b.slice(0, 0, 3), b.slice(0, 1, 4)});
  Check(module, cache, {a.slice(0, 0, 3), a.slice(0, 0, 3)}, {b.slice(0, 0, 3), b.slice(0, 0, 3)});
  EXPECT_EQ(cache.counters().hits, 2);
  // The input may also share memory with the module's buffer.
  const std::string other = "def forward(self, x):\n    x.add_(1)\n    return x + self.buffer\n";
  torch::jit::Module first = Define(other), second = Define(other);
  CaptureCache cached(second);
  Check(first, cached, {at::ones({3})});
  Check(first, cached, {first.attr("buffer")}, {second.attr("buffer")});
  EXPECT_EQ(cached.counters().hits, 1);
}

TEST(CaptureCache, SizesThatDependOnDataAreNotConstant) {
  const std::string source = "def forward(self, x):\n    y = x[x > 0]\n    return y * y.size(0)\n";
  torch::jit::Module module = Define(source);
  CaptureCache cache(Define(source));
  Check(module, cache, {at::tensor({1., 2., -1.})});
  Check(module, cache, {at::tensor({1., -2., -1.})});
  const std::string rows =
      "def forward(self, x):\n    rows = x[x[:, 0] > 0].unbind(0)\n    return rows[0] * "
      "len(rows)\n";
  torch::jit::Module unbound = Define(rows);
  CaptureCache unbound_cache(Define(rows));
  Check(unbound, unbound_cache, {at::tensor({1., 2., 3.}).view({3, 1})});
  Check(unbound, unbound_cache, {at::tensor({1., -2., 3.}).view({3, 1})});
}

TEST(CaptureCache, StridesOfATensorAreNotConstant) {
  const std::string source =
      "def forward(self, x):\n    if x.is_contiguous():\n        return x * 2\n    return x * 3\n";
  torch::jit::Module module = Define(source);
  CaptureCache cache(Define(source));
  Check(module, cache, {at::ones({2, 2})});
  Check(module, cache, {at::ones({2, 2}).t()});
  Check(module, cache, {at::ones({2, 2})});
  EXPECT_EQ(cache.counters().captures, 1 + 1);
}

// --- Backends ----------------------------------------------------------------------

// A compiler that counts. It makes an interpreter on a copy of the graph, with the weights of that
// time.
class CountingCompiler {
 public:
  SubgraphCompiler compile() {
    return [this](const Sample& sample) -> absl::StatusOr<std::shared_ptr<Executable>> {
      if (refuses_) return absl::UnimplementedError("not today");
      ++compiled_;
      auto made = std::make_shared<Compiled>(*this);
      made->module = sample.module->Clone();
      CompileOptions options;
      for (const auto& [name, data] : sample.weights)
        options.attributes[name] = *ToTensor(data, c10::Device(c10::kCPU));
      made->executable = *graphnet::Compile(*made->module, options);
      return made;
    };
  }
  void Refuse() { refuses_ = true; }
  int compiled() const { return compiled_; }
  int runs() const { return runs_; }

 private:
  struct Compiled final : Executable {
    explicit Compiled(CountingCompiler& counter) : counter(counter) {}
    // NOLINTNEXTLINE(google-default-arguments): as the base class has it.
    absl::StatusOr<std::vector<IValue>> Run(std::vector<IValue> inputs,
                                            const RunOptions& options = {}) override {
      ++counter.runs_;
      return executable->Run(std::move(inputs), options);
    }
    size_t num_instructions() const override { return 1; }
    CountingCompiler& counter;
    std::unique_ptr<Module> module;
    std::unique_ptr<Executable> executable;
  };

  bool refuses_ = false;
  int compiled_ = 0;
  int runs_ = 0;
};

TEST(CaptureCacheBackend, CompilesEachSubgraphOnce) {
  // The second subgraph is the same whatever n is.
  const std::string source =
      "def forward(self, x, n: int):\n"
      "    y = x * self.buffer * n\n"
      "    if y.sum() > 0:\n"
      "        y = torch.relu(y)\n"
      "    return y + self.buffer\n";
  torch::jit::Module module = Define(source);
  CountingCompiler compiler;
  CaptureCache cache(Define(source), {}, {.compile = compiler.compile()});
  const at::Tensor x = at::tensor({1.F, -2.F, 3.F});
  for (const int64_t n : {1, 1, 2, 2, 1}) {
    const absl::StatusOr<IValue> found = cache.Call({x, n});
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(found->toTensor().equal(module.forward({x, n}).toTensor()));
  }
  EXPECT_EQ(cache.counters().captures, 2);
  EXPECT_EQ(cache.counters().hits, 3);
  EXPECT_EQ(compiler.compiled(), 3);
  EXPECT_EQ(cache.counters().compilations, 3);
  EXPECT_EQ(compiler.runs(), 3 * 2);
}

// A number from a tensor is an input of the second subgraph, so that other data hits.
TEST(CaptureCacheBackend, SubgraphsTakeNumbers) {
  const std::string source =
      "def forward(self, x):\n"
      "    n = int(x.sum())\n"
      "    f = float(x.max())\n"
      "    return torch.relu(x * n) + f\n";
  torch::jit::Module module = Define(source);
  CountingCompiler compiler;
  CaptureCache cache(Define(source), {}, {.compile = compiler.compile()});
  for (const float data : {1.F, 2.F, -3.F}) Check(module, cache, {at::full({3}, data)});
  EXPECT_EQ(cache.counters().captures, 1);
  EXPECT_EQ(cache.counters().hits, 2);
  EXPECT_TRUE(cache.interpreted(0).empty());
  EXPECT_EQ(compiler.runs(), 2 * compiler.compiled());
}

TEST(CaptureCacheBackend, RecompilesAfterAWriteToAWeight) {
  const std::string source = "def forward(self, x):\n    return x * self.buffer\n";
  torch::jit::Module module = Define(source), other = Define(source);
  CountingCompiler compiler;
  CaptureCache cache(module, {}, {.compile = compiler.compile()});
  Check(other, cache, {at::ones({3})});
  Check(other, cache, {at::ones({3})});
  module.attr("buffer").toTensor().mul_(5);
  other.attr("buffer").toTensor().mul_(5);
  Check(other, cache, {at::ones({3})});
  EXPECT_EQ(cache.reasons(),
            std::vector<std::string>({"attribute buffer was written to since it was compiled"}));
  Check(other, cache, {at::ones({3})});
  EXPECT_EQ(cache.num_entries(), 1u);
  EXPECT_EQ(compiler.compiled(), 2);
  EXPECT_EQ(cache.counters().hits, 2);
}

TEST(CaptureCacheBackend, ARefusedSubgraphIsInterpreted) {
  const std::string source = "def forward(self, x):\n    return x * self.buffer\n";
  torch::jit::Module module = Define(source);
  CountingCompiler compiler;
  compiler.Refuse();
  CaptureCache cache(Define(source), {}, {.compile = compiler.compile()});
  Check(module, cache, {at::ones({3})});
  Check(module, cache, {at::ones({3})});
  ASSERT_EQ(cache.interpreted(0).size(), 1u);
  EXPECT_EQ(cache.interpreted(0)[0].subgraph, "subgraph_0");
  EXPECT_EQ(cache.interpreted(0)[0].why, "not today");
  EXPECT_EQ(cache.counters().hits, 1);
  EXPECT_EQ(cache.counters().compilations, 0);
}

// There is a guard after a print, so no call is replayed, and nothing is compiled.
TEST(CaptureCacheBackend, ACaptureThatIsNotKeptIsNotCompiled) {
  const std::string source =
      "def forward(self, x):\n    print(1)\n    if x.sum() > 0:\n        return x * 2\n    return "
      "x\n";
  torch::jit::Module module = Define(source);
  CountingCompiler compiler;
  CaptureCache cache(Define(source), {}, {.compile = compiler.compile()});
  Check(module, cache, {at::ones({3})});
  Check(module, cache, {at::ones({3})});
  EXPECT_EQ(cache.num_entries(), 0u);
  EXPECT_EQ(compiler.compiled(), 0);
}

// Each program writes, draws or shares, so that a compiler that only maps values to values would
// change what it does.
TEST(CaptureCacheBackend, InterpretsSubgraphsThatWriteDrawOrShare) {
  const auto why = [](const std::string& body, const Inputs& inputs) -> std::string {
    torch::jit::Module module = Define("def forward(self, x):\n" + body);
    CountingCompiler compiler;
    CaptureCache cache(Define("def forward(self, x):\n" + body), {},
                       {.compile = compiler.compile()});
    EXPECT_TRUE(cache.Call({inputs[0].deepcopy()}).ok());
    at::manual_seed(1);
    const IValue expected = module.forward({inputs[0].deepcopy()});
    at::manual_seed(1);
    const absl::StatusOr<IValue> found = cache.Call({inputs[0].deepcopy()});
    EXPECT_TRUE(found.ok()) << found.status();
    if (found.ok()) {
      EXPECT_EQ(DifferenceOf(expected, *found), "") << body;
    }
    EXPECT_EQ(cache.counters().captures, 1);
    return cache.interpreted(0).empty() ? "" : cache.interpreted(0)[0].why;
  };
  const Inputs x = {at::tensor({1.F, -2.F, 3.F})};
  EXPECT_EQ(why("    return torch.relu(x)\n", x), "");
  EXPECT_EQ(why("    x.mul_(2)\n    return x + 1\n", x), "it writes to %x");
  EXPECT_EQ(why("    return torch.dropout(x, 0.5, True)\n", x), "%dropout draws random numbers");
  EXPECT_EQ(why("    return x.view(3, 1)\n", x), "its result %view may share memory with %x");
  EXPECT_EQ(why("    y = x * 2\n    return y, y.view(3, 1)\n", {at::ones({3})}),
            "its result %view may share memory with %y");
}

// --- Dynamic sizes ---------------------------------------------------------------

std::vector<std::string> RelationsOf(const Capture& capture) {
  std::vector<std::string> texts;
  for (const auto& relation : capture.manifest.relations) texts.push_back(relation.text);
  return texts;
}

// Captures the program for 4 rows and replays it for 2, 5 and 9, also from a folder.
void CheckDynamic(const std::string& body, const std::vector<std::string>& relations,
                  size_t num_subgraphs = 1) {
  const std::string source = "def forward(self, x):\n" + body;
  torch::jit::Module module = Define(source);
  CaptureOptions options;
  options.dynamic.push_back({0, 0, "batch"});
  options.print = [](const std::string&) {};
  CaptureCache cache(Define(source), options);
  for (const int64_t rows : {4, 2, 5, 9, 4}) Check(module, cache, {at::randn({rows, 6})});
  ASSERT_EQ(cache.num_entries(), 1u)
      << source << (cache.reasons().empty() ? "" : cache.reasons()[0]);
  EXPECT_EQ(cache.counters().hits, 4) << source;
  const Capture& capture = cache.entry(0);
  EXPECT_EQ(RelationsOf(capture), relations) << source;
  EXPECT_EQ(capture.subgraphs.size(), num_subgraphs) << source;
  const absl::StatusOr<ExtractedProgram> samples = ToSamples(capture, "dynamic");
  ASSERT_TRUE(samples.ok()) << samples.status();
  for (const ExtractFormat format : {ExtractFormat::kProtobuf, ExtractFormat::kGraphNetFolder}) {
    const absl::StatusOr<LoadedProgram> loaded = StoreAndLoad(*samples, format);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    for (const int64_t rows : {3, 4}) {
      const Inputs inputs = {at::randn({rows, 6})};
      StitchedProgram::RunOptions run;
      run.print = [](const std::string&) {};
      const absl::StatusOr<IValue> found = loaded->program->Run(inputs, run);
      ASSERT_TRUE(found.ok()) << found.status() << source;
      EXPECT_TRUE(module.forward(inputs).toTensor().equal(found->toTensor())) << source;
    }
  }
}

TEST(DynamicSizes, AreSymbolsInTheCapture) {
  CheckDynamic("    return torch.relu(x) + 1\n", {"batch >= 2"});
  CheckDynamic("    return x.view(x.size(0) * 2, -1).sum(1)\n", {"batch >= 2"});
  CheckDynamic("    a, b = x.shape\n    return x.reshape([b, a]) * (a - 1) + x.numel() // 3\n",
               {"batch >= 2"});
  CheckDynamic("    y = torch.cat([x, x])\n    return torch.zeros([y.size(0), 2]) + y[:, 0:2]\n",
               {"batch >= 2"});
  CheckDynamic("    if x.size(0) > 1:\n        return x * len(x)\n    return x\n",
               {"batch >= 2", "batch > 1"});
  CheckDynamic("    if x.size(0) == 7:\n        return x\n    return -x\n",
               {"batch >= 2", "batch != 7"}, 1);
}

TEST(DynamicSizes, PassThroughBreaks) {
  CheckDynamic("    y = x * 2\n    print(x.size(0))\n    return y.view(y.size(0) * y.size(1))\n",
               {"batch >= 2"}, 2);
  CheckDynamic(
      "    n = x.size(0)\n    y = torch.relu(x)\n    print(y.sum())\n"
      "    return torch.ones([n, n]).matmul(y)\n",
      {"batch >= 2"}, 2);
}

// Returns the relations of the rows in a capture.
std::vector<std::string> RelationsFor(const std::string& body, int64_t rows = 4) {
  CaptureOptions options;
  options.dynamic.push_back({0, 0, "batch"});
  const absl::StatusOr<Capture> capture =
      CaptureProgram(Define("def forward(self, x):\n" + body), {at::randn({rows, 6})}, options);
  EXPECT_TRUE(capture.ok() && capture->status.ok()) << capture.status();
  return RelationsOf(*capture);
}

TEST(DynamicSizes, ArePinnedWhereTheyAreUsedAsNumbers) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(RelationsFor("    for i in range(x.size(0)):\n        x = x + i\n    return x\n"),
            Texts({"batch >= 2", "batch == 4"}));
  EXPECT_EQ(RelationsFor("    return x * float(x.size(0))\n"), Texts({"batch >= 2", "batch == 4"}));
  EXPECT_EQ(RelationsFor("    return x + torch.ones([4, 1])\n"),
            Texts({"batch >= 2", "batch == 4"}));
  EXPECT_EQ(RelationsFor("    return x.split(1)[0]\n"), Texts({"batch >= 2", "batch == 4"}));
}

TEST(DynamicSizes, ArePinnedIfTheyAreLinearOnlyNearby) {
  using Texts = std::vector<std::string>;
  const Texts pinned4 = {"batch >= 2", "batch == 4"};
  const Texts pinned40 = {"batch >= 2", "batch == 40"};
  // The size is clamped: smaller, or larger, inputs have another one.
  EXPECT_EQ(RelationsFor("    y = x[:3]\n    return y * y.size(0)\n"), pinned4);
  EXPECT_EQ(RelationsFor("    y = x[:30]\n    return y * y.size(0)\n"), pinned4);
  // The size is rounded, so slightly larger inputs have the same.
  EXPECT_EQ(RelationsFor("    y = x[::32]\n    return y * y.size(0)\n", 40), pinned40);
  EXPECT_EQ(RelationsFor("    y = x[::2]\n    return y * y.size(0)\n"), pinned4);
  EXPECT_EQ(RelationsFor("    return x.sum() * len(x.chunk(4))\n", 40), pinned40);
  // The size is unused.
  EXPECT_EQ(RelationsFor("    return x[:3] * 2\n"), Texts({"batch >= 2"}));
}

TEST(DynamicSizes, AreNotPinnedBySizesThatDependOnData) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(RelationsFor("    return x.view(x.size(0) * 6) * x.sum().item()\n"),
            Texts({"batch >= 2"}));
  EXPECT_EQ(RelationsFor("    y = x[x > 0]\n    return y * y.size(0)\n"), Texts({"batch >= 2"}));
}

TEST(DynamicSizes, ListsOfTheCallerHoldNumbers) {
  torch::jit::Module module = Define(
      "def forward(self, x, sizes: List[int]):\n    sizes.append(x.size(0))\n    return x\n");
  CaptureOptions options;
  options.dynamic.push_back({0, 0, "batch"});
  c10::List<int64_t> sizes;
  const absl::StatusOr<Capture> capture =
      CaptureProgram(module, {at::ones({4, 6}), sizes}, options);
  ASSERT_TRUE(capture.ok() && capture->status.ok()) << capture.status();
  ASSERT_EQ(sizes.size(), 1u);
  EXPECT_TRUE(IValue(sizes).toListRef()[0].isInt());
  EXPECT_EQ(RelationsOf(*capture), std::vector<std::string>({"batch >= 2", "batch == 4"}));
}

TEST(DynamicSizes, MayHaveTheFormOfTracing) {
  torch::jit::Module module("Program");
  auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(R"IR(
graph(%self : Tensor, %x : Tensor):
  %zero : int = prim::Constant[value=0]()
  %minus : int = prim::Constant[value=-1]()
  %size : int = aten::size(%x, %zero)
  %tensor : Tensor = prim::NumToTensor(%size)
  %number : int = aten::Int(%tensor)
  %shape : int[] = prim::ListConstruct(%number, %minus)
  %result : Tensor = aten::view(%x, %shape)
  return (%result))IR",
                      graph.get());
  graph->inputs()[0]->setType(module.type());
  module.type()->addMethod(
      module._ivalue()->compilation_unit()->create_function({"Program.forward"}, graph));
  CaptureOptions options;
  options.dynamic.push_back({0, 0, "batch"});
  CaptureCache cache(module, options);
  for (const int64_t rows : {4, 7}) Check(module, cache, {at::randn({rows, 2, 3})});
  EXPECT_EQ(cache.counters().hits, 1);
}

// LibTorch's compiler makes no such slices, but a graph can have them.
TEST(Capture, RefusesASliceOutOfBounds) {
  torch::jit::Module module("Program");
  auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(R"IR(
graph(%self : Tensor, %x : Tensor):
  %pair : (Tensor, Tensor) = prim::TupleConstruct(%x, %x)
  %slice : (Tensor) = prim::TupleSlice[beg=1, end=3](%pair)
  return (%slice))IR",
                      graph.get());
  graph->inputs()[0]->setType(module.type());
  module.type()->addMethod(
      module._ivalue()->compilation_unit()->create_function({"Program.forward"}, graph));
  const absl::StatusOr<Capture> capture = CaptureProgram(module, {at::ones({2})}, {});
  ASSERT_TRUE(capture.ok()) << capture.status();
  EXPECT_TRUE(absl::StrContains(capture->status.message(), "the slice is out of bounds"))
      << capture->status;
}

TEST(DynamicSizes, RefuseBadOptions) {
  const auto error = [](CaptureOptions::DynamicSize size) {
    CaptureOptions options;
    options.dynamic = {std::move(size)};
    return std::string(CaptureProgram(Define("def forward(self, x, n: int):\n    return x + n\n"),
                                      {at::ones({4}), 1}, options)
                           .status()
                           .message());
  };
  EXPECT_EQ(error({0, 1, "s"}), "dynamic size s: there is no dimension 1: the tensor has rank 1");
  EXPECT_EQ(error({1, 0, "s"}), "dynamic size s: input 1 is not a tensor");
  EXPECT_EQ(error({7, 0, "s"}), "dynamic size s: input 7 is not a tensor");
  EXPECT_EQ(error({0, 0, "s t"}), "dynamic size s t: not a valid name");
}

TEST(DynamicSizes, AreGuarded) {
  const std::string source =
      "def forward(self, x, y):\n    if x.size(0) > 8:\n        return x * 2 + y\n    return x + "
      "y\n";
  torch::jit::Module module = Define(source);
  CaptureOptions options;
  options.dynamic = {{0, 0, "batch"}, {1, 0, "batch"}};
  CaptureCache cache(Define(source), options);
  Check(module, cache, {at::ones({4, 1}), at::ones({4, 1})});
  Check(module, cache, {at::ones({5, 1}), at::ones({5, 1})});
  EXPECT_EQ(cache.counters().hits, 1);
  Check(module, cache, {at::ones({9, 1}), at::ones({9, 1})});
  EXPECT_EQ(cache.reasons(),
            std::vector<std::string>({"sizes: expected batch <= 8, found batch = 9"}));
  EXPECT_EQ(cache.counters().captures, 2);
  // 1 has a meaning of its own, and the name stands for one size.
  Check(module, cache, {at::ones({1, 1}), at::ones({1, 1})});
  Check(module, cache, {at::ones({1, 1}), at::ones({5, 1})});
  EXPECT_EQ(cache.reasons()[0], "y: expected size 0 to be 1, found 5");
  EXPECT_EQ(cache.counters().captures, 4);
}

// --- Branches --------------------------------------------------------------------

bool HasCond(const Capture& capture) {
  for (const Capture::Subgraph& subgraph : capture.subgraphs) {
    for (const Node* node : subgraph.module->main()->nodes()) {
      if (node->is_call_function("torch.cond")) return true;
    }
  }
  return false;
}

// Captures the program in a run that takes the branch, and in one that does not, and replays each
// capture for both.
bool BecomesCond(const std::string& body) {
  const std::string source = "def forward(self, x):\n" + body;
  CaptureOptions options;
  options.cond = true;
  options.print = [](const std::string&) {};
  bool is_cond = true;
  for (const int sign : {1, -1}) {
    torch::jit::Module module = Define(source);
    CaptureCache cache(Define(source), options);
    Check(module, cache, {at::full({3}, 2. * sign)});
    Check(module, cache, {at::full({3}, -3. * sign)});
    Check(module, cache, {at::full({3}, 4. * sign)});
    for (size_t i = 0; i < cache.num_entries(); ++i) is_cond &= HasCond(cache.entry(i));
    is_cond &= cache.num_entries() == 1 && cache.counters().hits == 2;
  }
  return is_cond;
}

TEST(Cond, CapturesBothBranches) {
  EXPECT_TRUE(BecomesCond("    if bool(x.sum() > 0):\n        x = x + 1\n    return x * 2\n"));
  EXPECT_TRUE(
      BecomesCond("    if bool(x.sum() > 0):\n        x = x + 1\n        y = x * 2\n"
                  "    else:\n        y = x\n        x = y - self.buffer\n"
                  "    return x * y\n"));
  // The program then writes to a tensor that may be the input.
  EXPECT_TRUE(
      BecomesCond("    if bool(x.sum() > 0):\n        y = x\n    else:\n        y = x * 2\n"
                  "    y.add_(1)\n    return x + y\n"));
  // A branch may contain calls, loops and branches on numbers.
  EXPECT_TRUE(
      BecomesCond("    if bool(x.sum() > 0):\n        for i in range(3):\n"
                  "            if i != 1:\n                x = x + i\n    return x\n"));
}

TEST(Cond, OtherBranchesBreakTheGraph) {
  const auto branch = [](const std::string& statement) {
    return BecomesCond("    y = x * 2\n    if bool(x.sum() > 0):\n        " + statement +
                       "\n        y = y + 1\n    return y + x\n");
  };
  EXPECT_TRUE(branch("y = y * 3"));
  EXPECT_FALSE(branch("print(1)"));
  EXPECT_FALSE(branch("y.mul_(2)"));
  EXPECT_FALSE(branch("self.scale = 2.0"));
  EXPECT_FALSE(branch("self.buffer += 1"));
  EXPECT_FALSE(branch("y = y * y.max().item()"));
  EXPECT_FALSE(branch("y = y + torch.rand([3]) * 0"));
  EXPECT_FALSE(branch("y = torch.stack([y, y])"));  // another shape
  EXPECT_FALSE(branch("y = y[y > 0].sum() + y if bool(y.sum() > 1) else y"));
}

}  // namespace
}  // namespace graphnet
