// Tests Load, Save and the registry. The tests of each format check its bytes.
#include "graphnet/formats/formats.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/torch_functions.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

constexpr char kText[] = R"(graph @forward(%x : f32[2, 3]) {
  %y = aten.relu.default(%x) : f32[2, 3]
  return (%y,)
}
)";

std::string PathOf(const std::string& name) {
  const std::string folder =
      JoinPath(testing::TempDir(), testing::UnitTest::GetInstance()->current_test_info()->name());
  (void)WriteFolderAtomic(folder, /*replace=*/false,
                          [](const std::string&) { return absl::OkStatus(); });
  return JoinPath(folder, name);
}

Sample MakeSample() { return *ParseSample(kText, "test.gn"); }

TEST(FormatsTest, SavesByTheEndingAndLoadsByTheContent) {
  const Sample sample = MakeSample();
  const std::vector<std::pair<std::string, std::string>> files = {{"a.pb", "protobuf"},
                                                                  {"a.gn", "text"},
                                                                  {"a.txt", "text"},
                                                                  {"a.pt2", "pt2"},
                                                                  {"a", "graphnet"}};
  for (const auto& [name, format] : files) {
    const std::string path = PathOf(name);
    ASSERT_TRUE(Save(sample, path).ok()) << name << Save(sample, path);
    const auto recognised = Recognise(path);
    ASSERT_TRUE(recognised.ok()) << recognised.status();
    EXPECT_EQ((*recognised)->name, format);
    const absl::StatusOr<Sample> loaded = Load(path);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->module->main()->num_nodes(), 3u) << name;
  }
  // The name of a file says nothing of its content.
  const std::string renamed = PathOf("b.pt");
  ASSERT_TRUE(Save(sample, renamed, {.format = "text"}).ok());
  EXPECT_EQ((*Recognise(renamed))->name, "text");
}

TEST(FormatsTest, RemovesTheEnding) {
  EXPECT_EQ(WithoutEnding("a/b.pb"), "a/b");
  EXPECT_EQ(WithoutEnding("b.pt2"), "b");
  EXPECT_EQ(WithoutEnding("b.pth"), "b");
  EXPECT_EQ(WithoutEnding("b.txt.pb"), "b.txt");
  EXPECT_EQ(WithoutEnding("resnet50.a1_in1k"), "resnet50.a1_in1k");
  EXPECT_EQ(WithoutEnding("a/resnet18/"), "a/resnet18");
  EXPECT_EQ(WithoutEnding("a/.pb"), "a/.pb");
  EXPECT_EQ(WithoutEnding(".pb"), ".pb");
}

TEST(FormatsTest, LoadsBytesInMemory) {
  const absl::StatusOr<Sample> sample = LoadBytes(kText, "net.gn");
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_EQ(PrintModule(*sample->module), PrintModule(*MakeSample().module));
  EXPECT_THAT(std::string(LoadBytes("graph @f(", "net.gn").status().message()),
              HasSubstr("net.gn:1:"));
  const absl::Status nothing = LoadBytes("%PDF-1.4", "paper").status();
  EXPECT_TRUE(IsUnusable(nothing));
  EXPECT_THAT(std::string(nothing.message()), HasSubstr("paper: a PDF document"));
}

TEST(FormatsTest, ErrorsHavePlaceAndFormat) {
  const absl::Status text = LoadBytes("graphnet.module 1\ngraph @f(\n", "net.gn").status();
  ASSERT_TRUE(PlaceOf(text).has_value()) << text;
  EXPECT_EQ(PlaceOf(text)->file, "net.gn");
  EXPECT_EQ(PlaceOf(text)->line, 3);
  EXPECT_EQ(FormatOfError(text), "text");
  EXPECT_FALSE(IsUnusable(text));
  // The place is in a file of the folder.
  const std::string folder = PathOf("damaged");
  ASSERT_TRUE(Save(MakeSample(), folder).ok());
  const std::string model = JoinPath(folder, "model.py");
  ASSERT_TRUE(WriteFileAtomic(model, "import torch\nclass GraphModule(\n").ok());
  const absl::Status python = Load(folder).status();
  ASSERT_TRUE(PlaceOf(python).has_value()) << python;
  EXPECT_EQ(PlaceOf(python)->file, model);
  EXPECT_GE(PlaceOf(python)->line, 2);
  EXPECT_EQ(FormatOfError(python), "graphnet");
  // No format was recognised.
  EXPECT_EQ(FormatOfError(LoadBytes("%PDF-1.4", "paper").status()), "");
}

TEST(FormatsTest, RefusesImpossibleRequests) {
  const Sample sample = MakeSample();
  EXPECT_EQ(Save(sample, PathOf("a.pb"), {.format = "word"}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Save(sample, "-", {.format = "graphnet"}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(IsUnusable(Load(PathOf("nothing")).status()));
  EXPECT_TRUE(absl::IsNotFound(Load(PathOf("nothing#part")).status()));
  // Only archives have parts.
  ASSERT_TRUE(Save(sample, PathOf("a.gn")).ok());
  EXPECT_TRUE(absl::IsNotFound(Load(PathOf("a.gn#part")).status()));
}

TEST(FormatsTest, WithoutLibTorchTheErrorSaysWhatToLink) {
  const absl::Status status = Save(MakeSample(), PathOf("a.pt"));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("UseLibTorch"));
}

// Returns a format whose files begin like a zip archive. It must claim them before PyTorch's
// formats are asked.
Format MakeFormat(const std::string& name, const std::string& ending) {
  Format format;
  format.name = name;
  format.content = "a test";
  format.endings = {ending};
  format.sniff = [](Source& source) {
    return source.is_zip() && absl::StrContains(*source.head(), "test");
  };
  format.read = [](Source& source, const LoadOptions&) -> absl::StatusOr<Sample> {
    const std::string text = *source.text(1 << 20);
    if (absl::StrContains(text, "bad")) return absl::InvalidArgumentError("4: not so");
    if (!absl::StrContains(text, "empty")) return MakeSample();
    Sample sample;
    sample.module = std::make_unique<Module>();
    return sample;
  };
  format.write = [](const Sample&, const SaveOptions&, const ByteSink& sink) {
    const absl::Status first = sink("PK\x03\x04");
    return first.ok() ? sink("test") : first;
  };
  return format;
}

TEST(FormatsTest, UsesAddedFormats) {
  ASSERT_TRUE(RegisterFormat(MakeFormat("mine", ".mine")).ok());
  const std::string path = PathOf("a.mine");
  ASSERT_TRUE(Save(MakeSample(), path).ok());
  EXPECT_EQ(*ReadFile(path, 100), "PK\x03\x04test");
  EXPECT_EQ((*Recognise(path))->name, "mine");
  EXPECT_TRUE(Load(path).ok());
  const auto found = FindInputs({PathOf("")});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, testing::ElementsAre(path));
  // Its errors get the name of the file, and its samples are verified.
  const absl::Status bad = LoadBytes("PK\x03\x04test bad", "b.mine").status();
  EXPECT_EQ(bad.message(), "b.mine:4: not so");
  EXPECT_EQ(PlaceOf(bad)->file, "b.mine");
  EXPECT_EQ(PlaceOf(bad)->line, 4);
  EXPECT_EQ(FormatOfError(bad), "mine");
  EXPECT_FALSE(LoadBytes("PK\x03\x04test empty", "c.mine").ok());

  EXPECT_EQ(RegisterFormat(MakeFormat("mine", ".other")),
            absl::AlreadyExistsError("there is already a format mine"));
  EXPECT_EQ(RegisterFormat(MakeFormat("other", ".pb")),
            absl::AlreadyExistsError("format other: ending .pb belongs to protobuf"));
  Format blind = MakeFormat("blind", ".blind");
  blind.sniff = nullptr;
  const absl::Status lacks = absl::InvalidArgumentError(
      "a format needs a name, both or neither of sniff and read, and a reader or a writer");
  EXPECT_EQ(RegisterFormat(blind), lacks);
  EXPECT_EQ(RegisterFormat({}), lacks);
}

// A format that is added claims its files while others load, and none of graphnet's own is asked
// before it.
TEST(FormatsTest, FormatsAreAddedWhileOthersLoad) {
  const std::string pb = PathOf("threads.pb");
  ASSERT_TRUE(Save(MakeSample(), pb).ok());
  std::atomic<bool> ends{false};
  std::atomic<int> failures{0}, loads{0};
  std::vector<std::thread> loaders;
  for (int i = 0; i < 3; ++i) {
    loaders.emplace_back([&] {
      while (!ends) {
        failures += Load(pb).ok() ? 0 : 1;
        // A zip archive that no format of graphnet's knows, unless one was added for it.
        failures += LoadBytes("PK\x03\x04none of these", "x").ok() ? 1 : 0;
        ++loads;
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    const std::string name = absl::StrCat("added", i), mark = absl::StrCat("mark", i, "!");
    Format format = MakeFormat(name, absl::StrCat(".", name));
    format.sniff = [mark](Source& source) {
      return source.is_zip() && absl::StrContains(*source.head(), mark);
    };
    ASSERT_TRUE(RegisterFormat(format).ok());
    const std::string bytes = absl::StrCat("PK\x03\x04", mark);
    EXPECT_TRUE(LoadBytes(bytes, "x").ok()) << name;
    const absl::Status bad = LoadBytes(absl::StrCat(bytes, " bad"), "x").status();
    EXPECT_EQ(FormatOfError(bad), name) << bad;
  }
  while (loads < 10) std::this_thread::yield();
  ends = true;
  for (std::thread& loader : loaders) loader.join();
  EXPECT_EQ(failures, 0);
}

TEST(FormatsTest, SomeFormatsAreOnlyRead) {
  Format format = MakeFormat("old", ".old");
  format.sniff = [](Source&) { return false; };
  format.write = nullptr;
  ASSERT_TRUE(RegisterFormat(format).ok());
  EXPECT_EQ(Save(MakeSample(), "a.old", {.format = "old"}),
            absl::UnimplementedError("a.old: a test is only read"));
}

}  // namespace
}  // namespace graphnet
