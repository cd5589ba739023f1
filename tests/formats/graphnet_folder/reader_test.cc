#include "graphnet/formats/graphnet_folder/reader.h"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graphnet/base/file.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

GraphNetFileMap SmallSample() {
  return {
      {"model.py",
       "import torch\n\n\nclass GraphModule(torch.nn.Module):\n"
       "    def forward(self, s0: torch.SymInt, L_x_: torch.Tensor, L_w_: "
       "torch.nn.parameter.Parameter):\n"
       "        l_x_ = L_x_\n"
       "        l_w_ = L_w_\n"
       "        linear = torch._C._nn.linear(l_x_, l_w_, None);  l_x_ = l_w_ = None\n"
       "        return (linear,)\n"},
      {"weight_meta.py",
       "class Program_weight_tensor_meta_s0:\n    name = \"s0\"\n    shape = []\n    dtype = "
       "\"torch.int64\"\n"
       "    device = \"cpu\"\n    mean = None\n    std = None\n    data = [4]\n\n\n"
       "class Program_weight_tensor_meta_L_x_:\n    name = \"L_x_\"\n    shape = [4, 8]\n"
       "    dtype = \"torch.float32\"\n    device = \"cuda:0\"\n    mean = -0.000\n    std = "
       "1.234\n"
       "    min_val = 0\n    max_val = 1.5\n\n\n"
       "# a comment\nclass Program_weight_tensor_meta_L_w_:\n    name = (\n        \"L_w_\"\n    "
       ")\n"
       "    original_name = \"w\"\n    shape = [1, 2]\n    dtype = \"torch.float32\"\n    device = "
       "\"cpu\"\n"
       "    mean = float(\"nan\")\n    std = 0.000\n    data = [0.500000, -1.000000]\n"},
      {"input_meta.py", ""},
      {"input_tensor_constraints.py",
       "from sympy import Symbol, Expr, Rel, Eq\n\nS0 = Symbol(\"S0\")\n\n"
       "dynamic_dim_constraint_symbols = [S0]\n\n"
       "dynamic_dim_constraint_symbol2example_value = {S0: 4}\n\n"
       "dynamic_dim_constraint_relations = [Eq(S0 * 2, 8), S0 > 1]\n\n"
       "dynamic_dim_constraint_input_shapes = [\n    ([1, S0 // 2], \"L_w_\"),\n    ([S0, S0 * 2], "
       "\"L_x_\"),\n"
       "    ([], \"s0\"),\n]\n"},
      {"graph_net.json", "{\"framework\": \"torch\", \"unknown\": {\"kept\": [1, 2]}}"},
      {"graph_hash.txt", "abc"},
      {"custom_op.py", "anything goes: it is only kept"},
  };
}

TEST(ReaderTest, ReadsEverything) {
  const auto sample = ParseGraphNetFiles(SmallSample(), "some/folder/small");
  ASSERT_EQ(sample.status(), absl::OkStatus());
  EXPECT_EQ(sample->name, "small");
  EXPECT_EQ(sample->graph_hash, "abc");
  EXPECT_TRUE(sample->has_constraints);
  EXPECT_TRUE(sample->constraint_order.empty());
  EXPECT_EQ(sample->extra_files.at("custom_op.py"), "anything goes: it is only kept");
  const Module& module = *sample->module;
  ASSERT_EQ(module.symbols().size(), 1u);
  EXPECT_EQ(module.symbols()[0].example, 4);
  ASSERT_EQ(module.relations().size(), 2u);
  const auto placeholders = module.main()->placeholders();
  EXPECT_EQ(PrintMeta(*placeholders[1]->meta()), "f32[S0, S0*2]@cuda:0");
  EXPECT_EQ(placeholders[1]->draw_spec()->max, Argument(1.5));
  EXPECT_TRUE(std::signbit(placeholders[1]->draw_spec()->mean));
  EXPECT_EQ(placeholders[2]->draw_spec()->original_name, "w");
  EXPECT_TRUE(std::isnan(placeholders[2]->draw_spec()->mean));
}

// The file is empty in GraphNet's own samples for tests.
TEST(ReaderTest, GraphNetJsonMayBeEmpty) {
  for (const char* json : {"", "{}", " \n"}) {
    GraphNetFileMap files = SmallSample();
    files["graph_net.json"] = json;
    const auto sample = ParseGraphNetFiles(files, "d");
    ASSERT_EQ(sample.status(), absl::OkStatus());
    const auto written = GraphNetFiles(*sample);
    ASSERT_EQ(written.status(), absl::OkStatus());
    const auto back = ParseGraphNetFiles(*written, "d");
    ASSERT_EQ(back.status(), absl::OkStatus());
    EXPECT_EQ(CheckEqual(*sample->module, *back->module), absl::OkStatus());
  }
}

// black, ruff and isort wrap long lines, and people spell short ones in many ways.
TEST(ReaderTest, ValuesMayBeSpelledInAnyWay) {
  const auto plain = ParseGraphNetFiles(SmallSample(), "d");
  ASSERT_EQ(plain.status(), absl::OkStatus());
  const auto expect_same = [&](const char* file, const char* from, const char* to) {
    GraphNetFileMap files = SmallSample();
    files[file] = absl::StrReplaceAll(files[file], {{from, to}});
    ASSERT_NE(files[file], SmallSample()[file]) << from;
    const auto sample = ParseGraphNetFiles(files, "d");
    ASSERT_EQ(sample.status(), absl::OkStatus()) << to;
    EXPECT_EQ(CheckEqual(*plain->module, *sample->module), absl::OkStatus()) << to;
  };
  const char* const metas = "weight_meta.py";
  expect_same(metas, "\"L_x_\"", "(\n        \"L_\"\n        'x_'\n    )");
  expect_same(metas, "\"L_x_\"", "\"L\" '_x' \"_\"");
  expect_same(metas, "\"w\"", "(('w'))");
  expect_same(metas, "\"torch.float32\"",
              "(\n        'torch.'  # long\n        \"float32\"\n    )");
  expect_same(metas, "[4, 8]", "(\n        [\n            4,\n            8,\n        ]\n    )");
  expect_same(metas, "float(\"nan\")", "(float(\n        'nan',\n    ))");
  expect_same(metas, "= 1.5", "= ((1.5))");
  expect_same(metas, "data = [4]", "data = \\\n        [4]");
  expect_same(metas, "data = [4]", "data = [\n        4,\n    ]");
  expect_same(metas, "[0.500000, -1.000000]", "[\n        5e-1,  # half\n        -1.0,\n    ]");
  expect_same(metas, "-0.000", "-0.0e0");
  expect_same(metas, "1.234", "1_2.34e-1");
  expect_same(metas, "1.5", "1.50000000000000000000");
  expect_same(metas, "    mean = None\n", "\n\n    mean = None\n");
  const char* const constraints = "input_tensor_constraints.py";
  expect_same(constraints, "([], \"s0\")", "(\n        [],\n        \"s0\",\n    )");
  expect_same(constraints, "([], \"s0\")", "(\n        [],\n        's0',\n    )");
  expect_same(constraints, "([], \"s0\")", "([], \"\\x730\")");
  expect_same(constraints, "Symbol, Expr, Rel, Eq", "(\n    Eq,\n    Symbol,\n)");
  expect_same(constraints, "Symbol(\"S0\")", "(Symbol(\n    'S' \"0\",\n))");
  expect_same(constraints, "{S0: 4}", "(\n    {\n        S0: 4,\n    }\n)");
  expect_same(constraints, "Eq(S0 * 2, 8)", "Eq(\n    S0 * 2,\n    8,\n)");
  expect_same(constraints, "\"L_w_\"", "(\n    'L_'\n    \"w_\"\n),");
}

TEST(ReaderTest, WritesWhatItRead) {
  const auto sample = ParseGraphNetFiles(SmallSample(), "small");
  ASSERT_EQ(sample.status(), absl::OkStatus());
  const auto files = GraphNetFiles(*sample);
  ASSERT_EQ(files.status(), absl::OkStatus());
  const auto back = ParseGraphNetFiles(*files, "small");
  ASSERT_EQ(back.status(), absl::OkStatus());
  EqualityOptions options = kExact;
  options.locations = false;
  EXPECT_EQ(CheckEqual(*sample, *back, options), absl::OkStatus());
  EXPECT_EQ(files->at("graph_net.json"), SmallSample().at("graph_net.json"));
}

TEST(ReaderTest, FolderAppearsWholeAndIsNotConfusedWithOthers) {
  const std::string root = ::testing::TempDir() + "/folder_test";
  const auto sample = ParseGraphNetFiles(SmallSample(), "small");
  ASSERT_EQ(sample.status(), absl::OkStatus());
  ASSERT_EQ(WriteGraphNetFolder(*sample, root), absl::OkStatus());
  const auto back = ReadGraphNetFolder(root);
  ASSERT_EQ(back.status(), absl::OkStatus());
  EXPECT_EQ(back->name, "folder_test");
  // A sample is replaced. Any other folder is not.
  EXPECT_EQ(WriteGraphNetFolder(*sample, root), absl::OkStatus());
  ASSERT_EQ(std::remove((root + "/graph_net.json").c_str()), 0);
  EXPECT_TRUE(absl::IsAlreadyExists(WriteGraphNetFolder(*sample, root)));
}

TEST(ReaderTest, SavingInPlaceKeepsWhatIsNotOfTheSample) {
  const std::string root = ::testing::TempDir() + "/in_place_test";
  const auto sample = ParseGraphNetFiles(SmallSample(), "small");
  ASSERT_EQ(sample.status(), absl::OkStatus());
  ASSERT_EQ(WriteGraphNetFolder(*sample, root), absl::OkStatus());
  const std::string foreign[] = {"weights.safetensors", "model.pt",       "picture.png",
                                 ".git/HEAD",           "runs/1/log.txt", "data/custom_op.py"};
  for (const std::string& name : foreign)
    ASSERT_EQ(WriteFileAtomic(JoinPath(root, name), name), absl::OkStatus());
  ASSERT_EQ(symlink("picture.png", JoinPath(root, "link").c_str()), 0);
  ASSERT_EQ(WriteFileAtomic(JoinPath(root, "model.py"), "old"), absl::OkStatus());
  ASSERT_EQ(WriteGraphNetFolder(*sample, root), absl::OkStatus());
  for (const std::string& name : foreign) {
    const auto content = ReadFile(JoinPath(root, name), 100);
    ASSERT_EQ(content.status(), absl::OkStatus()) << name;
    EXPECT_EQ(*content, name);
  }
  EXPECT_EQ(unlink(JoinPath(root, "link").c_str()), 0);
  EXPECT_EQ(ReadGraphNetFolder(root).status(), absl::OkStatus());
  EXPECT_EQ(ListFolder(root)->size(), 7u + 6u);  // No temporary file is left.
  // A file of the sample that is something else is not replaced, and nothing else is.
  ASSERT_EQ(std::remove(JoinPath(root, "graph_hash.txt").c_str()), 0);
  ASSERT_EQ(symlink("picture.png", JoinPath(root, "graph_hash.txt").c_str()), 0);
  ASSERT_EQ(WriteFileAtomic(JoinPath(root, "model.py"), "old"), absl::OkStatus());
  EXPECT_TRUE(absl::IsAlreadyExists(WriteGraphNetFolder(*sample, root)));
  EXPECT_EQ(*ReadFile(JoinPath(root, "model.py"), 100), "old");
}

TEST(ReaderTest, AModelOfSomebodyElseIsNotReplaced) {
  const std::string root = ::testing::TempDir() + "/other_test";
  const auto sample = ParseGraphNetFiles(SmallSample(), "small");
  for (const std::string name : {"model.py", "graph_net.json", "graph_hash.txt"}) {
    ASSERT_EQ(WriteFileAtomic(JoinPath(root, name), "mine"), absl::OkStatus());
    EXPECT_TRUE(absl::IsAlreadyExists(WriteGraphNetFolder(*sample, root))) << name;
    EXPECT_EQ(*ReadFile(JoinPath(root, name), 100), "mine");
    ASSERT_EQ(std::remove(JoinPath(root, name).c_str()), 0);
  }
  EXPECT_EQ(WriteGraphNetFolder(*sample, root), absl::OkStatus());
}

// Replaces a part of one file, and names the error that this causes.
struct Damage {
  const char* file;
  const char* from;
  const char* to;
  const char* message;
};
class DamageTest : public ::testing::TestWithParam<Damage> {};

TEST_P(DamageTest, IsNamed) {
  GraphNetFileMap files = SmallSample();
  std::string& text = files[GetParam().file];
  ASSERT_NE(text.find(GetParam().from), std::string::npos);
  text.replace(text.find(GetParam().from), std::string(GetParam().from).size(), GetParam().to);
  const auto sample = ParseGraphNetFiles(files, "d");
  ASSERT_FALSE(sample.ok());
  EXPECT_EQ(sample.status().message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    WeightMeta, DamageTest,
    ::testing::Values(
        Damage{"weight_meta.py", "name = \"s0\"", "name = \"s1\"",
               "d/weight_meta.py:2:12: the class is named after 's0', the record after 's1'"},
        Damage{"weight_meta.py", "[4, 8]", "[4, -8]",
               "d/weight_meta.py:13:17: expected a size that is not negative, found '-'"},
        Damage{"weight_meta.py", "[4, 8]", "[4, 9223372036854775807]",
               "d/weight_meta.py:13:17: the tensor has too many elements"},
        Damage{"weight_meta.py", "torch.int64", "torch.int65",
               "d/weight_meta.py:4:13: expected a dtype such as \"torch.float32\""},
        Damage{"weight_meta.py", "\"cuda:0\"", "\"cuda:x\"",
               "d/weight_meta.py:15:14: expected a device such as \"cuda:0\""},
        Damage{"weight_meta.py", "data = [4]", "data = [4, 5]",
               "d/weight_meta.py:8:12: the data has 2 elements, the shape 1"},
        Damage{"weight_meta.py", "data = [4]", "data = [x]",
               "d/weight_meta.py:8:13: expected a number, found 'x'"},
        Damage{"weight_meta.py", "data = [4]", "color = 4",
               "d/weight_meta.py:8:5: unknown field 'color'"},
        Damage{"weight_meta.py", "data = [4]", "mean = 4",
               "d/weight_meta.py:8:5: field 'mean' is given twice"},
        Damage{"weight_meta.py", "    shape = []\n", "",
               "d/weight_meta.py:1:1: the record has no field 'shape'"},
        Damage{"weight_meta.py", "class Program_weight_tensor_meta_s0",
               "import os\nclass Program_weight_tensor_meta_s0",
               "d/weight_meta.py:1:1: expected a class, found 'import'"},
        Damage{"weight_meta.py", "Program_weight_tensor_meta_L_x_:\n    name = \"L_x_\"",
               "Program_weight_tensor_meta_s0:\n    name = \"s0\"",
               "d/weight_meta.py:12:12: a second record of 's0'"},
        Damage{"weight_meta.py", "Program_weight_tensor_meta_L_x_:\n    name = \"L_x_\"",
               "Program_weight_tensor_meta_q:\n    name = \"q\"",
               "d/weight_meta.py:12:12: forward has no argument 'q'"},
        Damage{
            "model.py", "self, s0", "self, more: torch.Tensor, s0",
            "d/model.py:5:23: argument 'more' has no record in weight_meta.py or input_meta.py"}));

INSTANTIATE_TEST_SUITE_P(
    OtherFiles, DamageTest,
    ::testing::Values(
        Damage{"input_tensor_constraints.py", "[S0, S0 * 2]", "[S0, S0]",
               "d/input_tensor_constraints.py:13:5: the shape of 'L_x_' at the example values is "
               "not the one in "
               "weight_meta.py"},
        Damage{"input_tensor_constraints.py", "S0 > 1", "S0 > 4",
               "d/input_tensor_constraints.py:9:52: the example values break the relation"},
        Damage{
            "input_tensor_constraints.py", "([], \"s0\")", "([], \"q\")",
            "d/input_tensor_constraints.py:14:10: 'q' is not an argument of forward, or is listed "
            "twice"},
        Damage{"input_tensor_constraints.py", "Eq(S0 * 2, 8)", "Eq(S0 * 2, )",
               "d/input_tensor_constraints.py:9:48: expected a symbol, found ')'"},
        Damage{"input_tensor_constraints.py", "S0 = Symbol", "import os\nS0 = Symbol",
               "d/input_tensor_constraints.py:3:8: expected '=' after the name, found 'os'"},
        Damage{"graph_net.json", "{\"framework\"", "[\"framework\"",
               "d/graph_net.json:1:1: expected a JSON object"},
        Damage{"graph_net.json", "[1, 2]", "[1, 2", "d/graph_net.json:1:49: malformed JSON"}));

// Shapes without symbols are read without tokens if they have the usual spelling.
TEST(ReaderTest, PlacesAreRightAfterPlainShapes) {
  const auto read = [](const char* first, const char* last, const char* behind) {
    GraphNetFileMap files = SmallSample();
    std::string& text = files["input_tensor_constraints.py"];
    text.resize(text.find("dynamic_dim_constraint_input_shapes"));
    absl::StrAppend(&text, "dynamic_dim_constraint_input_shapes = [\n    ", first, ",\n",
                    "    (\n        [1, 2],\n        \"L_w_\",\n    ),\n    ", last, ",\n]\n",
                    behind);
    return std::string(ParseGraphNetFiles(files, "d").status().message());
  };
  const char* const right = "([S0, 8], \"L_x_\")";
  EXPECT_EQ(read("([], \"s0\")", right, ""), "");
  const std::string file = "d/input_tensor_constraints.py:";
  EXPECT_EQ(read("([], \"s0\")", "([S0, 8], \"q\")", ""),
            file + "17:15: 'q' is not an argument of forward, or is listed twice");
  EXPECT_EQ(read("([], \"s0\")", "([1, 2], \"L_w_\")", ""),
            file + "17:14: 'L_w_' is not an argument of forward, or is listed twice");
  EXPECT_EQ(read("([], \"s0\")", "([1, 2], 3)", ""),
            file + "17:14: expected the name of an argument, found '3'");
  EXPECT_EQ(
      read("([3], \"s0\")", right, ""),
      file + "12:5: the shape of 's0' at the example values is not the one in weight_meta.py");
  // All brackets are closed.
  EXPECT_EQ(read("([], \"s0\")", right, "x = 1\n"), file + "19:1: unknown variable 'x'");
}

TEST(ReaderTest, MissingFilesAreNamed) {
  for (const char* name : {"model.py", "weight_meta.py", "graph_net.json"}) {
    GraphNetFileMap files = SmallSample();
    files.erase(name);
    EXPECT_EQ(ParseGraphNetFiles(files, "d").status().message(),
              absl::StrCat("d: the sample has no file ", name));
  }
  for (const char* name : {"input_meta.py", "graph_hash.txt"}) {
    GraphNetFileMap files = SmallSample();
    files.erase(name);
    EXPECT_EQ(ParseGraphNetFiles(files, "d").status(), absl::OkStatus());
  }
}

TEST(ReaderTest, RefusesSymbolicLinks) {
  const std::string root = ::testing::TempDir() + "/links_test";
  const auto sample = ParseGraphNetFiles(SmallSample(), "small");
  ASSERT_EQ(sample.status(), absl::OkStatus());
  ASSERT_EQ(WriteGraphNetFolder(*sample, root), absl::OkStatus());
  ASSERT_EQ(WriteFileAtomic(root + ".json", "{}"), absl::OkStatus());
  const auto read = [&root] { return ReadGraphNetFolder(root).status(); };
  // A file that is not read may be a link.
  ASSERT_EQ(symlink("../links_test.json", (root + "/other").c_str()), 0);
  EXPECT_EQ(read(), absl::OkStatus());
  for (const char* name : {"more.json", "graph_net.json"}) {
    const std::string path = absl::StrCat(root, "/", name);
    (void)std::remove(path.c_str());
    ASSERT_EQ(symlink("../links_test.json", path.c_str()), 0);
    EXPECT_EQ(read().message(), path + ": is a symbolic link, which a sample may not have");
    ASSERT_EQ(std::remove(path.c_str()), 0);
  }
}

TEST(ReaderTest, DeepJsonIsRefused) {
  GraphNetFileMap files = SmallSample();
  files["graph_net.json"] = absl::StrCat("{\"a\": ", std::string(1000000, '['));
  EXPECT_THAT(std::string(ParseGraphNetFiles(files, "d").status().message()),
              HasSubstr("nests more than 256 deep"));
}

// These modules do not come from a folder.
TEST(WriterTest, HoldsAttributesBodiesAndUnknownInputs) {
  const auto module = ParseModule(
      "attribute fc.weight : f32[2, 2]@cpu as torch.nn.parameter.Parameter {mean = 0.5, std = "
      "0.25}\n"
      "graph @main(%\"input.1\") {\n"
      "  %w = get_attr fc.weight\n"
      "  %lambda = aten.linear.default(%\"input.1\", %w)\n"
      "  %cond = torch.cond(%lambda, @yes, @no, (%lambda,))\n"
      "  %torch = operator.getitem(%cond, 0)\n"
      "  %twice = operator.iadd(%torch, 1)\n"
      "  %late = operator.mul(%torch, %twice)\n"
      "  return (%late,)\n}\n"
      "graph @yes(%a) {\n  return (%a,)\n}\n"
      "graph @no(%a) {\n  %n = operator.neg(%a)\n  return (%n,)\n}\n",
      "m");
  ASSERT_EQ(module.status(), absl::OkStatus());
  Sample sample;
  sample.name = "m";
  sample.module = (*module)->Clone();
  const auto form = FolderFormOfSample(sample);
  ASSERT_EQ(form.status(), absl::OkStatus());
  const auto files = GraphNetFiles(sample);
  ASSERT_EQ(files.status(), absl::OkStatus());
  const auto back = ParseGraphNetFiles(*files, "m");
  ASSERT_EQ(back.status(), absl::OkStatus()) << files->at("model.py");
  EqualityOptions options = kExact;
  options.locations = false;
  EXPECT_EQ(CheckEqual(*form, *back, options), absl::OkStatus()) << files->at("model.py");
  EXPECT_THAT(files->at("model.py"), HasSubstr("aten = torch.ops.aten\n"));
  EXPECT_THAT(files->at("model.py"), HasSubstr("twice = operator.iadd(torch_1, 1)"));
  EXPECT_THAT(files->at("weight_meta.py"), HasSubstr("original_name = \"fc.weight\""));
}

TEST(WriterTest, SaysWhatAFolderCannotHold) {
  std::string many_keywords = "graph @f(%x) {\n  %y = torch.g(";
  for (int i = 0; i < 256; ++i) absl::StrAppend(&many_keywords, i > 0 ? ", k" : "k", i, " = %x");
  many_keywords += ")\n  return %y\n}\n";
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"graph @f(%x) {\n  %y = call_module fc(%x)\n  return %y\n}\n",
       "node y: a folder cannot hold calls of submodules"},
      {"graph @f(%x) {\n  %y = foo(%x)\n  return %y\n}\n",
       "node y: target foo has no Python spelling"},
      {"symbol s = 1\ngraph @f(%x) {\n  %y = .view(%x, sym(s))\n  return %y\n}\n",
       "node y: a folder cannot hold symbolic integers as arguments"},
      {"graph @f(%x) {\n  %y = torch.g([\"\\xff\"])\n  return %y\n}\n",
       "node y: a folder cannot hold strings that are not UTF-8"},
      {"symbol \"n-1\" = 4\ngraph @f(%x) {\n  return %x\n}\n",
       "symbol n-1: a name that Python cannot spell"},
      {many_keywords.c_str(), "node y: 256 keyword arguments; a folder can hold 255"},
  };
  for (const auto& c : cases) {
    const auto module = ParseModule(c.text, "m");
    ASSERT_EQ(module.status(), absl::OkStatus());
    Sample sample;
    sample.module = (*module)->Clone();
    EXPECT_EQ(GraphNetFiles(sample).status(), absl::UnimplementedError(c.message));
  }
}

TEST(WriterTest, RefusesFilesWithoutAConfiguration) {
  GraphNetFileMap files = SmallSample();
  files.erase("graph_net.json");
  const std::string path = ::testing::TempDir() + "/no_configuration";
  EXPECT_EQ(WriteGraphNetFiles(files, path),
            absl::InvalidArgumentError("the sample lacks graph_net.json"));
  EXPECT_FALSE(FileExists(path));
}

}  // namespace
}  // namespace graphnet
