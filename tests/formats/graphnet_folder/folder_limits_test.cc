// Tests the readers of a sample folder one below, at and one above their limits.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/formats/graphnet_folder/parsers.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

std::string Repeat(absl::string_view text, size_t n) {
  std::string out;
  for (size_t i = 0; i < n; ++i) absl::StrAppend(&out, text);
  return out;
}

std::string Model(absl::string_view body = "") {
  return absl::StrCat(
      "import torch\n"
      "class GraphModule(torch.nn.Module):\n"
      "    def forward(self, x: torch.Tensor, y: torch.Tensor):\n",
      body, "        return x\n");
}

std::string Record(absl::string_view name, absl::string_view shape, absl::string_view more = "") {
  return absl::StrCat("class Program_weight_tensor_meta_", name, ":\n    name = \"", name,
                      "\"\n    shape = [", shape, "]\n    dtype = \"torch.uint8\"\n",
                      "    device = \"cpu\"\n", more);
}

GraphNetFileMap Files() {
  return {{"model.py", Model()},
          {"weight_meta.py", absl::StrCat(Record("x", "2"), Record("y", "3"))},
          {"graph_net.json", "{}"}};
}

// Reads the sample with one file replaced or added.
absl::Status With(const std::string& file, const std::string& content) {
  GraphNetFileMap files = Files();
  files[file] = content;
  return ParseGraphNetFiles(files, "d").status();
}
absl::Status WithShapes(absl::string_view x, absl::string_view y = "3") {
  return With("weight_meta.py", absl::StrCat(Record("x", x), Record("y", y)));
}
absl::Status WithBody(absl::string_view statement) {
  return With("model.py", Model(absl::StrCat("        ", statement, "\n")));
}
absl::Status WithConstraints(absl::string_view relations, absl::string_view shapes = "",
                             absl::string_view example = "4", absl::string_view symbol = "S0") {
  return With(
      "input_tensor_constraints.py",
      absl::StrCat(symbol, " = Symbol(\"", symbol, "\")\n", "dynamic_dim_constraint_symbols = [",
                   symbol, "]\n", "dynamic_dim_constraint_symbol2example_value = {", symbol, ": ",
                   example, "}\n", "dynamic_dim_constraint_relations = [", relations, "]\n",
                   "dynamic_dim_constraint_input_shapes = [", shapes, "]\n"));
}

auto Refused(const std::string& message) {
  return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message));
}

TEST(FolderLimitsTest, BytesOfAFile) {
  const std::string folder = ::testing::TempDir() + "/folder_limits";
  ASSERT_OK(WriteFolderAtomic(folder, true, [](const std::string& to) {
    for (const auto& [name, content] : Files()) {
      absl::Status status = WriteFileAtomic(JoinPath(to, name), content);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }));
  const std::string model = Model();
  const std::string path = JoinPath(folder, "model.py");
  for (const int delta : {-1, 0}) {
    const size_t size = kMaxTextFileBytes + static_cast<size_t>(delta);
    ASSERT_OK(WriteFileAtomic(path, absl::StrCat(std::string(size - model.size(), '\n'), model)));
    EXPECT_OK(ReadGraphNetFolder(folder)) << delta;
  }
  ASSERT_OK(WriteFileAtomic(path, std::string(kMaxTextFileBytes + 1, '\n')));
  EXPECT_THAT(ReadGraphNetFolder(folder),
              Refused("/model.py: 67108865 bytes; at most 67108864 are read"));
  ASSERT_OK(WriteFileAtomic(path, model));
  // All extra files together have one limit.
  ASSERT_OK(WriteFileAtomic(JoinPath(folder, "a.txt"), "12345"));
  for (const size_t rest : {6, 5, 4}) {
    ASSERT_OK(
        WriteFileAtomic(JoinPath(folder, "b.txt"), std::string(kMaxTextFileBytes - rest, 'b')));
    if (rest >= 5) {
      EXPECT_OK(ReadGraphNetFolder(folder)) << rest;
    } else {
      EXPECT_THAT(ReadGraphNetFolder(folder),
                  Refused("the additional files together are too large"));
    }
  }
}

TEST(FolderLimitsTest, NestingOfOperators) {
  for (const char* chain : {"-", "x ** "}) {
    const auto nested = [&](int depth) {
      // The first ** is parsed by a loop. Only those to its right nest.
      const size_t count = static_cast<size_t>(chain[0] == '-' ? depth : depth + 1);
      return WithBody(absl::StrCat("z = ", Repeat(chain, count), "x"));
    };
    EXPECT_OK(nested(kMaxNesting - 1)) << chain;
    EXPECT_OK(nested(kMaxNesting)) << chain;
    EXPECT_THAT(nested(kMaxNesting + 1), Refused("operators nest too deep")) << chain;
  }
}

TEST(FolderLimitsTest, NestingOfFunctions) {
  const auto nested = [](int depth) {
    std::string body;
    for (int i = 0; i < depth; ++i) {
      absl::StrAppend(&body, std::string(8 + static_cast<size_t>(i), ' '), "def f", i, "(a):\n");
    }
    for (int i = depth; i > 0; --i) {
      absl::StrAppend(&body, std::string(8 + static_cast<size_t>(i), ' '), "return a\n");
    }
    Module module;
    return ParseModelPy(Model(body), "model.py", Framework::kTorch, &module);
  };
  EXPECT_OK(nested(kMaxNesting - 1));
  EXPECT_OK(nested(kMaxNesting));
  EXPECT_THAT(nested(kMaxNesting + 1), Refused("functions nest too deep"));
  EXPECT_THAT(nested(10000), Refused("functions nest too deep"));
}

// The depth is half the limit, because each level may nest a sum in a product.
TEST(FolderLimitsTest, NestingOfConstraints) {
  constexpr int kLimit = kMaxNesting / 2;
  const std::pair<const char*, const char*> kForms[] = {
      {"(", ")"}, {"-", ""}, {"S0 + ", ""}, {"S0 * ", ""}, {"S0 ** ", ""}, {"Max(1, ", ")"}};
  for (const auto& [open, close] : kForms) {
    const auto nested = [open = open, close = close](int depth) {
      const size_t n = static_cast<size_t>(depth);
      // The symbol has no example value, so the relation is not evaluated.
      return With("input_tensor_constraints.py",
                  absl::StrCat("S0 = Symbol(\"S0\")\ndynamic_dim_constraint_symbols = [S0]\n"
                               "dynamic_dim_constraint_relations = [S0 < ",
                               Repeat(open, n), "S0", Repeat(close, n), "]\n"));
    };
    EXPECT_OK(nested(kLimit - 1)) << open;
    EXPECT_OK(nested(kLimit)) << open;
    EXPECT_THAT(nested(kLimit + 1), Refused("input_tensor_constraints.py:3:")) << open;
    EXPECT_THAT(nested(100000), Refused(" deep")) << open;
  }
}

TEST(FolderLimitsTest, NestingOfJson) {
  const auto nested = [](int depth) {
    const size_t n = static_cast<size_t>(depth - 1);
    return With("graph_net.json", absl::StrCat("{\"a\": ", Repeat("[", n), Repeat("]", n), "}"));
  };
  EXPECT_OK(nested(kMaxJsonDepth - 1));
  EXPECT_OK(nested(kMaxJsonDepth));
  EXPECT_THAT(nested(kMaxJsonDepth + 1),
              Refused("d/graph_net.json:1:1: JSON nests more than 256 deep"));
}

TEST(FolderLimitsTest, BytesOfNames) {
  for (const int delta : {-1, 0, 1}) {
    const std::string name(kMaxNameBytes + static_cast<size_t>(delta), 'n');
    const auto expect = [&](const absl::Status& status, const char* message) {
      if (delta <= 0) {
        EXPECT_OK(status) << delta;
      } else {
        EXPECT_THAT(status, Refused(message));
      }
    };
    expect(With("weight_meta.py",
                absl::StrCat(Record("x", "2", absl::StrCat("    original_name = \"", name, "\"\n")),
                             Record("y", "3"))),
           "d/weight_meta.py:6:21: the string is too long");
    expect(WithBody(absl::StrCat(name, " = torch.relu(x)")),
           "d/model.py:4:9: the name is too long");
    expect(WithBody(absl::StrCat("z = torch.relu(x, ", name, "=1)")),
           "d/model.py:4:27: the name is too long");
    expect(WithConstraints("", "", "4", name), ":1:1: the name is too long");
  }
}

TEST(FolderLimitsTest, Integers) {
  EXPECT_OK(WithBody("z = torch.f(9223372036854775806, -9223372036854775807)"));
  EXPECT_OK(WithBody("z = torch.f(9223372036854775807, -9223372036854775808)"));
  for (const char* value : {"9223372036854775808", "-9223372036854775809",
                            "-(-9223372036854775808)", "- -9223372036854775808"}) {
    EXPECT_THAT(WithBody(absl::StrCat("z = torch.f(", value, ")")),
                Refused("the integer does not fit in 64 bits"))
        << value;
  }
  const auto data = [](absl::string_view value) {
    return With("weight_meta.py",
                absl::StrCat(Record("x", "1", absl::StrCat("    data = [", value, "]\n")),
                             Record("y", "3")));
  };
  EXPECT_OK(data("9223372036854775807"));
  EXPECT_OK(data("-9223372036854775808"));
  EXPECT_THAT(data("9223372036854775808"),
              Refused("weight_meta.py:6:13: the integer does not fit"));
  EXPECT_THAT(data("-9223372036854775809"),
              Refused("weight_meta.py:6:14: the integer does not fit"));
  // The error is at the size that does not fit, not at the size before it.
  EXPECT_THAT(WithShapes("4, 9223372036854775808"),
              Refused("weight_meta.py:3:17: the integer does not fit"));
  EXPECT_THAT(WithShapes("4, 9223372036854775809"),
              Refused("weight_meta.py:3:17: the integer does not fit"));
  EXPECT_OK(WithConstraints("S0 > 1", "", "9223372036854775807"));
  EXPECT_THAT(WithConstraints("S0 > 1", "", "9223372036854775808"),
              Refused("expected an integer, found '9223372036854775808'"));
  EXPECT_OK(WithConstraints("S0 < 9223372036854775807"));
  EXPECT_THAT(WithConstraints("S0 < 9223372036854775808"), Refused("does not fit"));
}

TEST(FolderLimitsTest, Rank) {
  for (const int delta : {-1, 0, 1}) {
    const size_t rank = static_cast<size_t>(kMaxRank + delta);
    const std::string ones = absl::StrCat(Repeat("1, ", rank - 1), "1");
    const absl::Status status = WithShapes(ones);
    // A constraint has at most as many sizes as the limit allows. Below it, the shape is refused
    // because it differs from the record's.
    const absl::Status constrained = WithConstraints("", absl::StrCat("([", ones, "], \"x\")"));
    if (delta <= 0) {
      EXPECT_OK(status) << delta;
      EXPECT_THAT(constrained, Refused("is not the one in weight_meta.py")) << delta;
    } else {
      EXPECT_THAT(status, Refused("weight_meta.py:3:206: the tensor has too many dimensions"));
      EXPECT_THAT(constrained, Refused("the tensor has too many dimensions"));
    }
  }
}

TEST(FolderLimitsTest, ElementsOfATensor) {
  // The other tensor is empty, so that both together stay within the limit of a sample.
  EXPECT_OK(WithShapes(absl::StrCat(kMaxTensorElements - 1), "0"));
  EXPECT_OK(WithShapes(absl::StrCat(kMaxTensorElements), "0"));
  for (const std::string& shape :
       {absl::StrCat(kMaxTensorElements + 1), absl::StrCat(kMaxTensorElements, ", 2"),
        std::string("4294967296, 4294967296"), absl::StrCat("0, ", kMaxTensorElements + 1),
        absl::StrCat(kMaxTensorElements + 1, ", 0"), std::string("9223372036854775807, 3, 0")}) {
    EXPECT_THAT(WithShapes(shape, "0"), Refused("d/weight_meta.py:3:")) << shape;
    EXPECT_THAT(WithShapes(shape, "0"), Refused("the tensor has too many elements")) << shape;
  }
}

TEST(FolderLimitsTest, DeclaredBytesOfASample) {
  const std::string large = absl::StrCat(kMaxSampleBytes - 10);
  EXPECT_OK(WithShapes(large, "9"));
  EXPECT_OK(WithShapes(large, "10"));
  EXPECT_THAT(WithShapes(large, "11"),
              Refused("d/weight_meta.py:8:13: the tensors of the sample together are too large"));
}

}  // namespace
}  // namespace graphnet
