#include "graphnet/formats/pt2/exporter.h"

#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/pt2/importer.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "gtest/gtest.h"
#include "tests/base/peak_memory.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/pt2/program_builder.h"

namespace graphnet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string TextOf(const Module& module) {
  PrintOptions options;
  options.header = false;
  options.locations = false;
  options.module_paths = false;
  return PrintModule(module, options);
}

absl::StatusOr<Sample> Parse(const std::string& module) {
  Sample sample;
  sample.name = "m";
  ASSIGN_OR_RETURN(sample.module,
                   ParseModule(absl::StrCat("graphnet.module 1\n", module, "end\n"), "m.gn"));
  return sample;
}

TensorData Floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  return {DType::kFloat32, std::move(shape),
          std::make_shared<const std::string>(reinterpret_cast<const char*>(values.data()),
                                              values.size() * sizeof(float))};
}

// Writes the sample and reads it again.
absl::StatusOr<Sample> Again(const Sample& sample) {
  ASSIGN_OR_RETURN(const std::string bytes, ExportPt2ToString(sample));
  EXPECT_TRUE(LooksLikePt2(bytes));
  return ImportPt2(bytes, "m.pt2");
}

void ExpectSameWeights(const Sample& a, const Sample& b) {
  EXPECT_EQ(a.weights.size(), b.weights.size());
  for (const auto& [name, data] : a.weights) {
    const auto it = b.weights.find(name);
    ASSERT_NE(it, b.weights.end()) << name;
    EXPECT_EQ(it->second.dtype, data.dtype) << name;
    EXPECT_EQ(it->second.shape, data.shape) << name;
    EXPECT_EQ(it->second.strides, data.strides) << name;
    EXPECT_EQ(*it->second.bytes, *data.bytes) << name;
  }
}

// Returns the graph alone, written and read again.
std::string Written(const std::string& module) {
  const absl::StatusOr<Sample> sample = Parse(module);
  EXPECT_OK(sample);
  if (!sample.ok()) return "";
  const absl::StatusOr<Sample> again = Again(*sample);
  return again.ok() ? TextOf(*again->module) : std::string(again.status().message());
}

TEST(Pt2Exporter, WritesAnUnchangedProgramAsItWas) {
  const auto sample = ImportPt2(ArchiveOf(ProgramFiles()), "m.pt2");
  ASSERT_OK(sample);
  const auto again = Again(*sample);
  ASSERT_OK(again);
  EXPECT_OK(CheckEqual(*sample, *again, kExact));
  EXPECT_EQ(again->extra_files.at(std::string(kProgramFile)), ProgramJson());
  EXPECT_EQ(again->extra_files.at(std::string(kProgramWeightsFile)), WeightsConfigJson());
  ExpectSameWeights(*sample, *again);
}

TEST(Pt2Exporter, KeepsTheUsersFiles) {
  ArchiveFiles files = ProgramFiles();
  files["extra/labels.txt"] = "cat\ndog\n";
  files["extra/more/e.bin"] = std::string("\xff\0\x01", 3);
  const auto sample = ImportPt2(ArchiveOf(files), "m.pt2");
  ASSERT_OK(sample);
  const std::string& kept = sample->extra_files.at(std::string(kProgramExtraFiles));
  EXPECT_EQ(kept, R"({"labels.txt":"cat\ndog\n","more/e.bin":{"base64":"/wAB"}})");
  const auto again = Again(*sample);
  ASSERT_OK(again);
  EXPECT_EQ(again->extra_files.at(std::string(kProgramExtraFiles)), kept);

  for (const char* bad :
       {R"({"../a": ""})", R"({"": "a"})", R"({"a": 1})", "[]", "{", R"({"a": {"base64": "?"}})"}) {
    Sample changed = *ImportPt2(ArchiveOf(files), "m.pt2");
    changed.extra_files[std::string(kProgramExtraFiles)] = bad;
    EXPECT_THAT(ExportPt2ToString(changed).status().message(),
                HasSubstr("torch_export_extra_files.json"))
        << bad;
  }
}

// Programs that PyTorch wrote, exported with the original program and without it.
class Programs : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string path = absl::StrCat("tests/formats/pt2/testdata/", GetParam(), ".pt2");
    absl::StatusOr<Sample> sample = ImportPt2File(path);
    ASSERT_OK(sample);
    sample_ = *std::move(sample);
  }
  Sample sample_;
};

TEST_P(Programs, AreWrittenUnchanged) {
  auto again = Again(sample_);
  ASSERT_OK(again);
  again->name = sample_.name;
  EXPECT_OK(CheckEqual(sample_, *again, kExact));
  ExpectSameWeights(sample_, *again);
}

TEST_P(Programs, MeanTheSameWhenWrittenAnew) {
  // One name changes.
  sample_.module->main()->first()->set_name("renamed");
  const auto like = Again(sample_);
  ASSERT_OK(like);
  EXPECT_NE(like->extra_files.at(std::string(kProgramFile)),
            sample_.extra_files.at(std::string(kProgramFile)));
  EXPECT_OK(CheckEqual(*sample_.module, *like->module, {.metas = true, .attribute_names = false}));
}

INSTANTIATE_TEST_SUITE_P(OfPyTorch, Programs,
                         testing::Values("autocast_layer", "batch_norm_train_decomposed", "buffers",
                                         "cond_several", "dynamic_derived", "in_dict",
                                         "in_keywords", "map_several", "scan_tree",
                                         "shared_storage", "while_three"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Pt2Exporter, AnyGraphOfAtenCallsIsAProgram) {
  auto sample = Parse(R"(
attribute l.weight : f32[3, 2]@cpu as torch.nn.parameter.Parameter
attribute scale : f32[]@cpu
graph @forward(%x : f32[4, 3]@cpu) {
  %w = get_attr l.weight : f32[3, 2]@cpu
  %s = get_attr scale : f32[]@cpu
  %mm = aten.mm.default(%x, %w) : f32[4, 2]@cpu
  %mul_ = aten.mul_.Tensor(%mm, %s) : f32[4, 2]@cpu
  %max = aten.max.dim(%mul_, 1) : (f32[4]@cpu, i64[4]@cpu)
  %values = operator.getitem(%max, 0) : f32[4]@cpu
  %zeros = aten.zeros.default([2, 3], torch.float16, None, device("cpu")) : f16[2, 3]@cpu
  return {"v": %values, "rest": [%zeros, None, 2]}
}
)");
  ASSERT_OK(sample);
  sample->weights["l.weight"] = Floats({3, 2}, {1, 2, 3, 4, 5, 6});
  sample->weights["l.weight"].strides = {1, 3};
  sample->weights["scale"] = Floats({}, {0.5});
  sample->weights["x"] = Floats({4, 3}, std::vector<float>(12, 2));
  const auto again = Again(*sample);
  ASSERT_OK(again);
  // Keywords stay keywords, and the metas that follow from the text are written.
  EXPECT_EQ(TextOf(*again->module),
            R"(attribute l.weight : f32[3, 2]@cpu as torch.nn.parameter.Parameter
attribute scale : f32[]@cpu as torch.Tensor

graph @forward(
  %x : f32[4, 3]@cpu as torch.Tensor
) {
  %w = get_attr l.weight : f32[3, 2]@cpu
  %s = get_attr scale : f32[]@cpu
  %mm = aten.mm.default(%x, %w) : f32[4, 2]@cpu
  %mul_ = aten.mul_.Tensor(%mm, %s) : f32[4, 2]@cpu
  %max = aten.max.dim(%mul_, 1) : (f32[4]@cpu, i64[4]@cpu)
  %values = operator.getitem(%max, 0) : f32[4]@cpu
  %zeros = aten.zeros.default([2, 3], dtype = torch.float16, layout = None, device = device("cpu")) : f16[2, 3]@cpu
  return {"v": %values, "rest": [%zeros, None, 2]}
}
)");
  ExpectSameWeights(*sample, *again);
}

TEST(Pt2Exporter, ComputesKnownSizes) {
  EXPECT_EQ(Written(R"(
graph @forward(%x : f32[4, 6]@cpu) {
  %size = aten.size.int(%x, 1)
  %dim = aten.dim.default(%x)
  %ne = aten.ne.int(%dim, 2)
  %cond = torch.cond(%ne, @raises, @half, (%size,))
  %n = prim.NumToTensor.Scalar(%cond)
  %i = aten.Int.Tensor(%n)
  %list = prim.ListConstruct(2, %i)
  %append = aten.append.t(%list, 4)
  %view = aten.view.default(%x, %list) : f32[2, 3, 4]@cpu
  return %view
}
graph @raises(%n) {
  %raise = prim.RaiseException.default("no")
  return %n
}
graph @half(%n) {
  %half = aten.floordiv.int(%n, 2)
  return %half
}
)"),
            R"(graph @forward(
  %x : f32[4, 6]@cpu as torch.Tensor
) {
  %view = aten.view.default(%x, [2, 3, 4]) : f32[2, 3, 4]@cpu
  return %view
}
)");
}

TEST(Pt2Exporter, KeepsCallsForUnknownSizes) {
  EXPECT_EQ(Written(R"(
symbol s0 = 3
relation s0 <= 8
graph @forward(%x : f32[s0, 6]@cpu) {
  %size = aten.size.default(%x)
  %n = operator.getitem(%size, 0)
  %twice = operator.mul(%n, 2)
  %view = aten.view.default(%x, [%twice, 3]) : f32[2 * s0, 3]@cpu
  return %view
}
)"),
            R"(symbol s0 = 3
relation s0 <= 8

graph @forward(
  %x : f32[s0, 6]@cpu as torch.Tensor
) {
  %n = aten.sym_size.int(%x, 0)
  %twice = operator.mul(%n, 2)
  %view = aten.view.default(%x, [%twice, 3]) : f32[2*s0, 3]@cpu
  return %view
}
)");
}

// A Python program has both x.shape and x.size().
TEST(Pt2Exporter, ShapesAreSizes) {
  EXPECT_EQ(Written(R"(
symbol s0 = 3
graph @forward(%x : f32[s0, 6]@cpu) {
  %shape = builtins.getattr(%x, "shape")
  %n = operator.getitem(%shape, 0)
  %m = operator.getitem(%shape, 1)
  %left = operator.mod(%m, 4)
  %view = aten.view.default(%x, [%n, 3, %left]) : f32[s0, 3, 2]@cpu
  return %view
}
)"),
            R"(symbol s0 = 3

graph @forward(
  %x : f32[s0, 6]@cpu as torch.Tensor
) {
  %n = aten.sym_size.int(%x, 0)
  %view = aten.view.default(%x, [%n, 3, 2]) : f32[s0, 3, 2]@cpu
  return %view
}
)");
}

TEST(Pt2Exporter, SubscriptsAreViewsAndOneIndexing) {
  EXPECT_EQ(Written(R"(
graph @forward(%x : f32[4, 6, 5]@cpu, %i : i64[2]@cpu) {
  %a = operator.getitem(%x, (..., None, slice(1, None, 2))) : f32[4, 6, 1, 2]@cpu
  %b = operator.getitem(%x, (0, %i)) : f32[2, 5]@cpu
  %c = operator.setitem(%x, (slice(None, 2, None), 1), 7.0)
  return (%a, %b)
}
)"),
            R"(graph @forward(
  %x : f32[4, 6, 5]@cpu as torch.Tensor,
  %i : i64[2]@cpu as torch.Tensor
) {
  %a_unsqueeze = aten.unsqueeze.default(%x, 2) : f32[4, 6, 1, 5]@cpu
  %a_slice = aten.slice.Tensor(%a_unsqueeze, 3, 1, None, 2) : f32[4, 6, 1, 2]@cpu
  %b_select = aten.select.int(%x, 0, 0) : f32[6, 5]@cpu
  %b = aten.index.Tensor(%b_select, [%i]) : f32[2, 5]@cpu
  %c_slice = aten.slice.Tensor(%x, 0, None, 2, 1) : f32[2, 6, 5]@cpu
  %c_select = aten.select.int(%c_slice, 1, 1) : f32[2, 5]@cpu
  %fill_ = aten.fill_.Scalar(%c_select, 7.0) : f32[2, 5]@cpu
  return (%a_slice, %b)
}
)");
}

TEST(Pt2Exporter, LowersCallsThatAreNotAten) {
  EXPECT_THAT(Written(R"(
graph @forward(%x : f32[4]@cpu) {
  %y = torch.nn.functional.relu(%x) : f32[4]@cpu
  %z = .add(%y, 1) : f32[4]@cpu
  return %z
}
)"),
              AllOf(HasSubstr("aten.relu.default(%x)"), HasSubstr("aten.add.Scalar(%y, 1)")));
}

// Each turn of a loop may have sizes of its own.
TEST(Pt2Exporter, LoopsThatAreWrittenOutAreDescribed) {
  EXPECT_THAT(
      Written(R"(
graph @forward(%x : f32[2, 3]@cpu) {
  %d = prim.DictConstruct("a", %x, "b", %x) as "Dict[str, Tensor]"
  %v = aten.values.str(%d)
  %n = aten.len.t(%v)
  %loop = torch.ops.higher_order.while_loop(@cond, @body, (0, %x), (%v, %n))
  %y = operator.getitem(%loop, 1) : f32[8, 3]@cpu
  return %y
}

graph @cond(%i as int, %y, %v as "List[Tensor]", %n as int) {
  %lt = operator.lt(%i, %n)
  return %lt
}

graph @body(%i as int, %y, %v as "List[Tensor]", %n as int) {
  %e = aten.__getitem__.t(%v, %i)
  %c = aten.cat.default([%y, %e])
  %h = aten.chunk.default(%c, 2)
  %f = aten.__getitem__.t(%h, 0)
  %z = aten.cat.default([%c, %f])
  %j = operator.add(%i, 1)
  return (%j, %z)
}
)"),
      AllOf(HasSubstr("aten.cat.default([%x, %x]) : f32[4, 3]@cpu"), HasSubstr(": f32[6, 3]@cpu"),
            HasSubstr(": f32[8, 3]@cpu"), HasSubstr(": f32[12, 3]@cpu")));
}

TEST(Pt2Exporter, BranchesThatTakeNumbersHaveNamesOfTheirOwn) {
  const std::string text = Written(R"(
graph @forward(%x : f32[2]@cpu, %p : bool[]@cpu) {
  %a = torch.cond(%p, @taken, @other, (%x, 3)) : (f32[2]@cpu,)
  %b = operator.getitem(%a, 0) : f32[2]@cpu
  %c = torch.cond(%p, @taken, @other, (%b, 4)) : (f32[2]@cpu,)
  %d = operator.getitem(%c, 0) : f32[2]@cpu
  return %d
}

graph @taken(%x : f32[2]@cpu, %n as int) {
  %y = aten.mul.Scalar(%x, %n) : f32[2]@cpu
  return (%y,)
}

graph @other(%x : f32[2]@cpu, %n as int) {
  return (%x,)
}
)");
  EXPECT_THAT(text, AllOf(HasSubstr("aten.mul.Scalar(%x, 3)"), HasSubstr("aten.mul.Scalar(%x, 4)"),
                          HasSubstr("@taken_1, @other_1, [%b]")));
}

TEST(Pt2Exporter, TensorsWithoutDimensionsAreNumbersWhereThoseAreWanted) {
  for (const absl::string_view call :
       {"aten.constant_pad_nd.default(%x, [%p, 0], 1.0)", "aten.view.default(%x, [%p, -1])",
        "aten.slice.Tensor(%x, 0, 0, %p)", "aten.expand.default(%x, [2, %p, 3])",
        "aten.add.Scalar(%x, %p)", "aten.roll.default(%x, %p, [0])",
        "aten.full.default([%p, 2], %f)", "aten.arange.default(%p)"}) {
    const std::string text =
        Written(absl::StrCat("graph @forward(%x : f32[3]@cpu, %p : i64[]@cpu, %f : f32[]@cpu) {\n"
                             "  %y = ",
                             call, " : f32[3]@cpu\n  return (%y,)\n}\n"));
    EXPECT_THAT(text, HasSubstr("%item = aten.item.default(%p)")) << call;
    EXPECT_THAT(text, HasSubstr("%item")) << call;
  }
  // A tensor with dimensions, or of floats, is no size.
  EXPECT_THAT(Written("graph @forward(%x : f32[3]@cpu, %p : f32[]@cpu) {\n"
                      "  %y = aten.view.default(%x, [%p, -1]) : f32[3]@cpu\n  return (%y,)\n}\n"),
              HasSubstr("torch.export does not support lists of values of several kinds"));
}

TEST(Pt2Exporter, WritesCallsWithOut) {
  for (const absl::string_view call :
       {"aten.add.Scalar_out(%x, 1, out = %z)", "aten.add.out(%x, %x, out = %z)",
        "aten.div.out_mode(%x, %x, rounding_mode = \"floor\", out = %z)",
        "aten.clamp.out(%x, 0, 1, out = %z)", "aten.cat.out([%x], out = %z)",
        "aten.sum.IntList_out(%x, [0], out = %z)", "aten.prod.int_out(%x, 0, out = %z)",
        "aten.min.unary_out(%x, out = %z)", "aten.all.all_out(%x, out = %z)",
        "aten.pow.Scalar_out(2, %x, out = %z)", "aten.view_copy.out(%x, [4], out = %z)",
        "aten.sort.values(%x, 0, values = %z, indices = %i)"}) {
    const bool is_pair = absl::StrContains(call, "indices");
    EXPECT_THAT(
        Written(absl::StrCat("graph @forward(%x : f32[4]@cpu, %z : f32[4]@cpu, %i : i64[4]@cpu) {\n"
                             "  %y = ",
                             call, is_pair ? "" : " : f32[4]@cpu", "\n  return (%z, %i)\n}\n")),
        HasSubstr(absl::StrCat("= ", call)));
  }
}

TEST(Pt2Exporter, ExpandsANumberToAList) {
  EXPECT_THAT(Written(R"(
graph @forward(%x : f32[1, 2, 4, 4]@cpu) {
  %y = aten.avg_pool2d.default(%x, 2) : f32[1, 2, 2, 2]@cpu
  %z = aten.sum.dim_IntList(%y, 1) : f32[1, 2, 2]@cpu
  return %z
}
)"),
              AllOf(HasSubstr("aten.avg_pool2d.default(%x, [2, 2])"),
                    HasSubstr("aten.sum.dim_IntList(%y, [1])")));
}

TEST(Pt2Exporter, OmitsUnusedLists) {
  EXPECT_THAT(Written(R"(
graph @forward(%x : f32[4]@cpu, %n as torch.SymInt) {
  %none = operator.mul([None], %n)
  %y = aten.relu.default(%x) : f32[4]@cpu
  return %y
}
)"),
              AllOf(HasSubstr("aten.relu.default(%x)"), Not(HasSubstr("operator.mul"))));
}

TEST(Pt2Exporter, NamesACallThatCannotBeWritten) {
  const struct {
    const char* module;
    const char* error;
  } kCases[] = {
      {"graph @forward(%x) {\n  return %x\n}\n",
       "x (node x): its shape and dtype are not known; give them with --input"},
      {"graph @forward(%x : f32[2]) {\n  %y = aten.nonzero.default(%x)\n  return %y\n}\n",
       "aten.nonzero.default (node y): the shape and dtype of its value are not known"},
      {"attribute w : f32[2]\ngraph @forward(%x : f32[2]) {\n  %w = get_attr w\n  return %w\n}\n",
       "w (node w): the value of w is not known"},
      {"graph @forward(%x : f32[2]) {\n  %y = aten.foo.default(%x)\n  return %y\n}\n",
       "aten.foo.default (node y): torch.export does not support this call"},
      {"graph @forward(%x : i64[2], %n as int) {\n  %p = aten.pow.int(2, %n)\n"
       "  %y = aten.mul.Scalar(%x, %p) : f32[2]\n  return %y\n}\n",
       "aten.pow.int (node p): torch.export does not support this call"},
      {"graph @forward(%x as \"float\") {\n  return %x\n}\n",
       "x (node x): an input of type float: torch.export has only tensors and ints"},
      {"graph @forward(%x : f32[2]) {\n  return \"text\"\n}\n",
       "a program returns only tensors, numbers and None"},
      {"graph @forward(%x : f32[2]) {\n"
       "  %y = prim.RaiseException.default(\"no\")\n  return %x\n}\n",
       "prim.RaiseException.default (node y): it is reached"},
  };
  for (const auto& [module, error] : kCases) EXPECT_THAT(Written(module), HasSubstr(error));
}

// `count` lines, the i-th with i and i - 1 in the place of $ and #.
std::string Lines(const std::string& line, int count) {
  std::string lines;
  for (int i = 1; i <= count; ++i) {
    absl::StrAppend(&lines,
                    absl::StrReplaceAll(line, {{"$", absl::StrCat(i)}, {"#", absl::StrCat(i - 1)}}),
                    "\n");
  }
  return lines;
}

// `depth` bodies, each of which is called for both branches of the one before.
std::string Branches(int depth) {
  const auto graph = [&](const std::string& name, const std::string& next) {
    return absl::StrCat("graph @", name,
                        "(%p : bool[]@cpu, %x : f32[2]@cpu) {\n  %y = torch.cond(%p, @", next,
                        ", @", next,
                        ", (%p, %x)) : (f32[2]@cpu,)\n"
                        "  %z = operator.getitem(%y, 0) : f32[2]@cpu\n  return (%z,)\n}\n");
  };
  std::string text = graph("forward", "b1");
  for (int i = 1; i < depth; ++i)
    absl::StrAppend(&text, graph(absl::StrCat("b", i), absl::StrCat("b", i + 1)));
  return absl::StrCat(text, "graph @b", depth,
                      "(%p : bool[]@cpu, %x : f32[2]@cpu) {\n"
                      "  %z = aten.relu.default(%x) : f32[2]@cpu\n  return (%z,)\n}\n");
}

TEST(Pt2Exporter, LimitsTheCopiesOfBodies) {
  EXPECT_THAT(Written(Branches(5)), HasSubstr("torch.ops.higher_order.cond"));
  for (const int depth : {30, 150}) {
    EXPECT_THAT(Written(Branches(depth)),
                HasSubstr("torch.export needs a copy of each body wherever it is used"));
  }
}

TEST(Pt2Exporter, RefusesAWeightOfADTypeThatTorchExportLacks) {
  auto sample = Parse(R"(
attribute w : f32[2]@cpu
graph @forward(%x : f32[2]@cpu) {
  %w = get_attr w : f32[2]@cpu
  %y = aten.add.Tensor(%x, %w) : f32[2]@cpu
  return %y
}
)");
  ASSERT_OK(sample);
  sample->weights["w"] = Floats({2}, {1, 2});
  sample->weights["w"].dtype = DType::kQInt32;
  EXPECT_EQ(ExportPt2ToString(*sample).status().message(),
            "w: torch.export stores no tensors of dtype qint32");
}

TEST(Pt2Exporter, WeightsOfAFileAreWrittenOneAtATime) {
  constexpr int64_t kTensor = int64_t{16} << 20;
  std::string module;
  std::string graph = "graph @forward(%x : f32[4194304]@cpu) {\n";
  for (int i = 0; i < 6; ++i) {
    absl::StrAppend(&module, "attribute w", i, " : f32[4194304]@cpu\n");
    absl::StrAppend(&graph, "  %w", i, " = get_attr w", i, " : f32[4194304]@cpu\n");
    absl::StrAppend(&graph, "  %y", i, " = aten.add.Tensor(%x, %w", i, ") : f32[4194304]@cpu\n");
  }
  auto sample = Parse(absl::StrCat(module, graph, "  return (%y0, %y1, %y2, %y3, %y4, %y5)\n}\n"));
  ASSERT_OK(sample);
  for (int i = 0; i < 6; ++i) {
    sample->weights[absl::StrCat("w", i)] =
        Floats({kTensor / 4}, std::vector<float>(kTensor / 4, static_cast<float>(i)));
  }
  const std::string path = absl::StrCat(testing::TempDir(), "/large.pt2");
  const std::string copy = absl::StrCat(testing::TempDir(), "/copy.pt2");
  ASSERT_OK(ExportPt2(*sample, path));
  const std::string whole = *ExportPt2ToString(*sample);
  EXPECT_EQ(ReadFile(path, size_t{1} << 30).value(), whole);
  sample->weights.clear();
  const std::optional<int64_t> peak = PeakGrowth([&] {
    const auto again = ImportPt2File(path);
    ASSERT_OK(again);
    ASSERT_OK(ExportPt2(*again, copy));
  });
  EXPECT_LT(peak.value_or(0), kTensor + (int64_t{16} << 20));
  EXPECT_EQ(ReadFile(copy, size_t{1} << 30).value(), whole);
  std::remove(path.c_str());
  std::remove(copy.c_str());
}

TEST(Pt2Exporter, AnArchiveGivesItsGraph) {
  auto sample = Parse(
      "attribute w : f32[2]@cpu\ngraph @forward(%x : f32[2]@cpu) {\n  %w = get_attr w : "
      "f32[2]@cpu\n"
      "  %y = aten.add.Tensor(%x, %w) : f32[2]@cpu\n  return %y\n}\n");
  ASSERT_OK(sample);
  sample->weights["w"] = Floats({2}, {1, 2});
  const auto archive = PreparePt2(*sample);
  ASSERT_OK(archive);
  EXPECT_EQ(archive->weight_bytes(), 8u);
  const auto module = archive->ReadModule();
  ASSERT_OK(module);
  const auto again = ImportPt2(archive->ToString(), "m.pt2");
  ASSERT_OK(again);
  EXPECT_OK(CheckEqual(**module, *again->module, kExact));
  EXPECT_EQ(again->extra_files.at(std::string(kProgramFile)), archive->graph());
}

TEST(Pt2Exporter, SizesThatAreTooLargeBecomeSymbols) {
  // 2^40 terms; 20,000 sums, each of the one before.
  for (const auto& [line, count] : {std::pair("  %n$ = operator.add(%n#, %n#)", 40),
                                    std::pair("  %n$ = operator.mul(%n#, %n#)", 40),
                                    std::pair("  %n$ = operator.add(%n#, 1)", 20'000)}) {
    const auto sample =
        Parse(absl::StrCat("symbol s0 = 4\nrelation s0 >= 2\ngraph @forward(%x : f32[s0]@cpu) {\n"
                           "  %n0 = aten.sym_size.int(%x, 0)\n",
                           Lines(line, count), "  return (%x, %n", count, ")\n}\n"));
    ASSERT_OK(sample);
    const auto bytes = ExportPt2ToString(*sample);
    ASSERT_OK(bytes);
    EXPECT_LT(bytes->size(), size_t{64} << 20) << line;
    const auto again = ImportPt2(*bytes, "m.pt2");
    ASSERT_OK(again);
    EXPECT_THAT(TextOf(*again->module), HasSubstr(absl::StrCat("%n", count, " = operator.")));
    EXPECT_THAT(again->extra_files.at(std::string(kProgramFile)), HasSubstr("Symbol('u0"));
  }
}

TEST(Pt2Exporter, RefusesAnImpossibleElement) {
  for (const char* index : {"1000000000", "9223372036854775807", "4096"}) {
    EXPECT_THAT(Written(absl::StrCat("graph @forward(%x : f32[2]@cpu) {\n"
                                     "  %h = torch.ops.higher_order.foo(%x)\n"
                                     "  %y = operator.getitem(%h, ",
                                     index, ") : f32[2]@cpu\n  return (%y,)\n}\n")),
                HasSubstr(absl::StrCat("operator.getitem (node y): it takes element ", index)));
  }
}

TEST(Pt2Exporter, SizesOfOneRunAreNotWrittenAsNumbers) {
  const auto written = [](absl::string_view call) {
    return Written(absl::StrCat(
        "graph @forward(%x : f32[8, 4]@cpu, %p : i64[]@cpu) {\n",
        "  %i = aten.item.default(%p)\n  %y = ", call, "\n", "  %m = aten.sym_size.int(%y, 0)\n",
        "  %z = aten.zeros.default([%m]) : f32[2]@cpu\n  return (%z,)\n}\n"));
  };
  for (const char* call : {"aten.slice.Tensor(%x, 0, 0, %i, 1) : f32[2, 4]@cpu",
                           "aten.zeros.default([%i, 4]) : f32[2, 4]@cpu",
                           "aten.constant_pad_nd.default(%x, [0, 0, %i, 0]) : f32[10, 4]@cpu"}) {
    EXPECT_THAT(written(call),
                AllOf(HasSubstr("aten.sym_size.int(%y, 0)"), HasSubstr("aten.zeros.default([%m])")))
        << call;
  }
  EXPECT_THAT(written("aten.relu.default(%x) : f32[8, 4]@cpu"),
              HasSubstr("aten.zeros.default([8])"));
}

TEST(Pt2Exporter, LimitsTheSizeOfNestedLists) {
  const auto written = [](const std::string& lines, const std::string& returned) {
    return Written(absl::StrCat("graph @forward(%x : f32[2]@cpu) {\n", lines, "  return (%x, ",
                                returned, ")\n}\n"));
  };
  const std::string first = "  %l0 = prim.ListConstruct(%x)\n";
  for (const char* construct : {"List", "Tuple"}) {
    const std::string lists =
        first + Lines(absl::StrCat("  %l$ = prim.", construct, "Construct(%l#, %l#)"), 40);
    EXPECT_THAT(
        written(lists, "%l40"),
        HasSubstr("the program is too large with its loops, branches and lists written out"));
    // A list that is not returned is not written.
    EXPECT_THAT(written(lists, "%x"), HasSubstr("return (%x, %x)"));
  }
  EXPECT_THAT(written(first + Lines("  %l$ = aten.add.t(%l#, %l#)", 40), "%x"),
              HasSubstr("the program is too large with its loops, branches and lists written out"));
  const std::string text = "  %l0 = aten.format.default(\"{}\", \"aaaaaaaa\")\n";
  EXPECT_THAT(written(text + Lines("  %l$ = aten.format.default(\"{} {}\", %l#, %l#)", 40), "%x"),
              HasSubstr("it is not known ahead of time"));
  EXPECT_THAT(written("  %a = prim.ListConstruct(1)\n  %l = aten.mul.left_t(%a, 300000)\n", "%l"),
              HasSubstr("the structure that it returns is too large"));
  // The nesting is deeper than the stack.
  EXPECT_THAT(written(first + Lines("  %l$ = prim.ListConstruct(%l#)", 100'000), "%x"),
              HasSubstr("return (%x, %x)"));
  EXPECT_THAT(written(first + Lines("  %l$ = prim.ListConstruct(%l#)", 100'000), "%l100000"),
              HasSubstr("the program is too large with its loops, branches and lists written out"));
}

TEST(Pt2Exporter, RefusesAListThatHoldsItself) {
  for (const char* lines : {"  %l = prim.ListConstruct(%x)\n  %m = aten.append.t(%l, %l)\n",
                            "  %l = prim.ListConstruct(%x)\n  %m = aten._set_item.t(%l, 0, %l)\n",
                            "  %l = prim.ListConstruct(%x)\n  %t = prim.TupleConstruct(%l, 1)\n"
                            "  %m = aten.append.t(%l, %t)\n"}) {
    EXPECT_THAT(
        Written(absl::StrCat("graph @forward(%x : f32[2]@cpu) {\n", lines, "  return (%x,)\n}\n")),
        HasSubstr("(node m): torch.export does not support this call"));
  }
}

// PyTorch evaluates symbols, guards and names, so a text of a file must be none of its own.
TEST(Pt2Exporter, TextsThatPyTorchEvaluatesAreChecked) {
  for (const std::string name :
       {"s0', integer=True) if not exit() else Symbol('s0", "s0'", "s 0", "s0)", "0s", "s\n0"}) {
    Sample sample;
    sample.module = std::make_unique<Module>();
    sample.module->AddSymbol(name, 3);
    Graph* const graph = sample.module->AddGraph("forward");
    const Dim dim = sample.module->SymSymbol(name);
    Node* const x = graph->Placeholder("x", "x");
    x->set_meta(sample.module->InternValueMeta(
        {.dtype = DType::kFloat32, .has_shape = true, .shape = {&dim, 1}}));
    graph->Output(x);
    EXPECT_THAT(ExportPt2ToString(sample).status().message(),
                HasSubstr(" has no name of Python, which torch.export needs; rename it"))
        << name;
  }
  // PyTorch writes the name of an attribute between quotes into the code that it runs.
  auto quoted = Parse(
      "attribute \"w'\" : f32[2]@cpu\ngraph @forward(%x : f32[2]@cpu) {\n  %w = get_attr \"w'\" : "
      "f32[2]@cpu\n  %y = aten.add.Tensor(%x, %w) : f32[2]@cpu\n  return %y\n}\n");
  ASSERT_OK(quoted);
  quoted->weights["w'"] = Floats({2}, {1, 2});
  EXPECT_THAT(ExportPt2ToString(*quoted).status().message(),
              HasSubstr("the program that would be written"));
  // A program that is written as it was read has its own texts.
  const auto original = ImportPt2(ArchiveOf(ProgramFiles()), "m.pt2");
  ASSERT_OK(original);
  for (const std::string guard :
       {"exit()", "__import__('os').system('ls')", "L['x'].size()[0] == exec('1')",
        "(lambda: exit)()", "L['x']()", "[exit][0]()", "L['x'].size()[0]  == 1 or eval('1')"}) {
    ArchiveFiles files = ProgramFiles();
    files["models/model.json"] =
        absl::StrReplaceAll(files["models/model.json"], {{"L['x'].size()[0] % 2 == 1", guard}});
    const auto sample = ImportPt2(ArchiveOf(files), "m.pt2");
    ASSERT_OK(sample);
    const auto written = PreparePt2(*sample);
    if (written.ok()) {
      EXPECT_FALSE(absl::StrContains(written->ToString(), guard)) << guard;
      EXPECT_GT(written->num_dropped_guards(), 0) << guard;
    }
  }
  const auto same = PreparePt2(*original);
  ASSERT_OK(same);
  EXPECT_EQ(same->num_dropped_guards(), 0);
  EXPECT_TRUE(absl::StrContains(*ExportPt2ToString(*original), "L['x'].size()[0] % 2 == 1"));
}

}  // namespace
}  // namespace graphnet
