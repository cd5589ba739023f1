#include "graphnet/base/output_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/base/file.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Such a writer makes plan.json, and folders part_0, part_1, … with a model.py each.
bool IsOwn(absl::string_view path, bool is_folder) {
  if (is_folder) return absl::StartsWith(path, "part_") && !absl::StrContains(path, "/");
  return path == "plan.json" ||
         (absl::StartsWith(path, "part_") && absl::EndsWith(path, "/model.py"));
}

class OutputFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/output_folder_test.XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    ASSERT_OK(WriteFileAtomic(Path("plan.json"), "old"));
    ASSERT_OK(WriteFileAtomic(Path("part_0/model.py"), "old"));
  }
  void TearDown() override {
    chmod(Path("part_0").c_str(), 0777);
    std::filesystem::remove_all(root_);
  }

  std::string Folder() const { return JoinPath(root_, "out"); }
  std::string Path(const std::string& name) const { return JoinPath(Folder(), name); }
  absl::Status Write() {
    return ReplaceFolder(Folder(), IsOwn, [](const std::string& folder) {
      return WriteFileAtomic(JoinPath(folder, "plan.json"), "new");
    });
  }
  void ExpectRefused(const std::string& entry) {
    const absl::Status status = Write();
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kAlreadyExists,
                         HasSubstr(absl::StrCat("/out: not replaced, as it holds ", entry))));
    EXPECT_THAT(ReadFile(Path("plan.json"), 10), IsOkAndHolds("old"));
    EXPECT_THAT(ReadFile(Path("part_0/model.py"), 10), IsOkAndHolds("old"));
  }

  std::string root_;
};

TEST_F(OutputFolderTest, ReplacesWhatItsWriterWrites) {
  // A killed writer has left these.
  ASSERT_OK(WriteFileAtomic(Path("plan.json.12.0.tmp"), "half"));
  ASSERT_OK(WriteFileAtomic(Path("part_1.12.1.tmp/model.py"), "half"));
  ASSERT_OK(WriteFileAtomic(Path("new.12.2.tmp/part_1/model.py"), "half"));
  ASSERT_OK(Write());
  EXPECT_THAT(ListFolder(Folder()), IsOkAndHolds(ElementsAre("plan.json")));
  ASSERT_OK(Write());
  std::filesystem::remove_all(Folder());
  ASSERT_OK(Write());
  EXPECT_THAT(ListFolder(root_), IsOkAndHolds(ElementsAre("out")));
}

TEST_F(OutputFolderTest, RefusesForeignEntriesAtEveryDepth) {
  for (const std::string name :
       {"thesis.txt", "part_0/thesis.txt", "part_0/more/model.py", ".hidden", "part_0/.model.py",
        "plan.json.tmp", "plan.json.1.tmp", "thesis.txt.1.2.tmp", "new.1.2.tmp/thesis.txt",
        "part_0/new.1.2.tmp/model.py", "zoo/plan.json"}) {
    SCOPED_TRACE(name);
    ASSERT_OK(WriteFileAtomic(Path(name), "mine"));
    ExpectRefused("");
    EXPECT_THAT(ReadFile(Path(name), 10), IsOkAndHolds("mine"));
    const std::string first = name.substr(0, name.find('/'));
    std::filesystem::remove_all(first == "part_0" ? Path(name) : Path(first));
    if (first == "part_0") {
      for (const char* made : {"part_0/more", "part_0/new.1.2.tmp"})
        std::filesystem::remove_all(Path(made));
    }
  }
  EXPECT_OK(Write());
}

TEST_F(OutputFolderTest, NamesTheFirstForeignEntry) {
  ASSERT_OK(WriteFileAtomic(Path("part_0/b.txt"), "mine"));
  ASSERT_OK(WriteFileAtomic(Path("part_0/c.txt"), "mine"));
  ASSERT_OK(WriteFileAtomic(Path("z.txt"), "mine"));
  ExpectRefused("part_0/b.txt");
}

TEST_F(OutputFolderTest, RefusesWhatIsNoFileAndNoFolder) {
  ASSERT_OK(WriteFileAtomic(JoinPath(root_, "mine/model.py"), "mine"));
  const std::string link = Path("part_1");
  ASSERT_EQ(symlink("../mine", link.c_str()), 0);
  ExpectRefused("part_1, a link");
  ASSERT_EQ(unlink(link.c_str()), 0);
  ASSERT_EQ(symlink("nowhere", link.c_str()), 0);
  ExpectRefused("part_1, a link");
  ASSERT_EQ(unlink(link.c_str()), 0);
  ASSERT_EQ(mkfifo(Path("part_0/model.pipe").c_str(), 0600), 0);
  ExpectRefused("part_0/model.pipe, a special file");
  ASSERT_EQ(unlink(Path("part_0/model.pipe").c_str()), 0);
  ASSERT_EQ(mkdir(Path("part_1").c_str(), 0777), 0);
  ASSERT_EQ(mkdir(Path("part_1/model.py").c_str(), 0777), 0);
  ExpectRefused("part_1/model.py");
  EXPECT_THAT(ReadFile(JoinPath(root_, "mine/model.py"), 10), IsOkAndHolds("mine"));
}

TEST_F(OutputFolderTest, ExaminesTheFolderBehindALink) {
  const std::string link = JoinPath(root_, "link");
  ASSERT_EQ(symlink("out", link.c_str()), 0);
  const auto fill = [](const std::string& folder) {
    return WriteFileAtomic(JoinPath(folder, "plan.json"), "new");
  };
  ASSERT_OK(WriteFileAtomic(Path("mine"), "mine"));
  EXPECT_THAT(ReplaceFolder(link, IsOwn, fill),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("link: not replaced")));
  ASSERT_EQ(unlink(Path("mine").c_str()), 0);
  EXPECT_OK(ReplaceFolder(link, IsOwn, fill));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_THAT(ListFolder(Folder()), IsOkAndHolds(ElementsAre("plan.json")));
}

TEST_F(OutputFolderTest, RefusesAFileAndALinkToNothing) {
  for (const std::string name : {"file", "dangling"}) {
    const std::string path = JoinPath(root_, name);
    if (name == "file") {
      ASSERT_OK(WriteFileAtomic(path, "mine"));
    } else {
      ASSERT_EQ(symlink("nowhere", path.c_str()), 0);
    }
    EXPECT_THAT(CheckReplaceable(path, IsOwn),
                StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("is not a folder")));
  }
}

TEST_F(OutputFolderTest, RefusesAFolderThatCannotBeListed) {
  if (geteuid() == 0) GTEST_SKIP() << "the superuser can list every folder";
  ASSERT_EQ(chmod(Path("part_0").c_str(), 0), 0);
  EXPECT_THAT(Write(), StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("part_0")));
}

TEST_F(OutputFolderTest, SeesWhatOthersWriteMeanwhile) {
  EXPECT_THAT(ReplaceFolder(Folder(), IsOwn,
                            [&](const std::string& folder) {
                              EXPECT_OK(WriteFileAtomic(Path("thesis.txt"), "mine"));
                              return WriteFileAtomic(JoinPath(folder, "plan.json"), "new");
                            }),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("thesis.txt")));
  EXPECT_THAT(ReadFile(Path("thesis.txt"), 10), IsOkAndHolds("mine"));
  EXPECT_THAT(ReadFile(Path("plan.json"), 10), IsOkAndHolds("old"));
  EXPECT_THAT(ListFolder(root_), IsOkAndHolds(ElementsAre("out")));
}

TEST_F(OutputFolderTest, ReplacesTheCurrentFolder) {
  const std::string before = std::filesystem::current_path().string();
  std::filesystem::current_path(Folder());
  const auto fill = [](const std::string& folder) {
    return WriteFileAtomic(JoinPath(folder, "plan.json"), "new");
  };
  EXPECT_OK(ReplaceFolder(".", IsOwn, fill));
  EXPECT_OK(WriteFileAtomic("thesis.txt", "mine"));
  EXPECT_THAT(ReplaceFolder(".", IsOwn, fill),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("thesis.txt")));
  std::filesystem::current_path(before);
  EXPECT_THAT(ListFolder(Folder()), IsOkAndHolds(ElementsAre("plan.json", "thesis.txt")));
}

}  // namespace
}  // namespace graphnet
