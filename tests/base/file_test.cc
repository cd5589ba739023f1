#include "graphnet/base/file.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/file_test.XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string Path(const std::string& name) const { return JoinPath(root_, name); }
  // The folder contains only `names`, so no temporary files are left.
  void ExpectOnly(const std::vector<std::string>& names) {
    EXPECT_THAT(ListFolder(root_), IsOkAndHolds(testing::ElementsAreArray(names)));
  }

  std::string root_;
};

constexpr size_t kAnySize = 1 << 20;

TEST_F(FileTest, WritesAndReadsBack) {
  const std::string binary("a\0b\n\xff", 5);
  ASSERT_OK(WriteFileAtomic(Path("f"), binary));
  EXPECT_THAT(ReadFile(Path("f"), kAnySize), IsOkAndHolds(binary));
  ASSERT_OK(WriteFileAtomic(Path("f"), ""));
  EXPECT_THAT(ReadFile(Path("f"), kAnySize), IsOkAndHolds(""));
  ExpectOnly({"f"});
}

TEST_F(FileTest, ReadsUpToTheLimit) {
  ASSERT_OK(WriteFileAtomic(Path("f"), "12345"));
  EXPECT_THAT(ReadFile(Path("f"), 6), IsOkAndHolds("12345"));
  EXPECT_THAT(ReadFile(Path("f"), 5), IsOkAndHolds("12345"));
  EXPECT_THAT(ReadFile(Path("f"), 4), StatusIs(absl::StatusCode::kInvalidArgument,
                                               EndsWith("/f: 5 bytes; at most 4 are read")));
}

TEST_F(FileTest, RefusesWhatIsNoRegularFile) {
  EXPECT_THAT(ReadFile(root_, kAnySize),
              StatusIs(absl::StatusCode::kInvalidArgument, EndsWith(": not a regular file")));
  EXPECT_THAT(ReadFile("/dev/zero", kAnySize), StatusIs(absl::StatusCode::kInvalidArgument));
  // A pipe without a writer must not hang.
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(ReadFile(Path("pipe"), kAnySize), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ReadFile(Path("none"), kAnySize),
              StatusIs(absl::StatusCode::kNotFound, EndsWith("/none: No such file or directory")));
  EXPECT_THAT(ReadFile(Path("pipe/f"), kAnySize), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(FileTest, FollowsLinksWhenReading) {
  ASSERT_OK(WriteFileAtomic(Path("f"), "x"));
  ASSERT_EQ(symlink("f", Path("link").c_str()), 0);
  EXPECT_THAT(ReadFile(Path("link"), kAnySize), IsOkAndHolds("x"));
  EXPECT_THAT(ReadFile(Path("f"), kAnySize, Links::kRefused), IsOkAndHolds("x"));
  EXPECT_FALSE(ReadFile(Path("link"), kAnySize, Links::kRefused).ok());
}

// C would cut the name at the NUL, and so open another file.
TEST_F(FileTest, RefusesNulInNames) {
  const std::string name = Path(std::string("f\0g", 3));
  const auto is_refused =
      StatusIs(absl::StatusCode::kInvalidArgument, EndsWith("f\\x00g: NUL in a file name"));
  EXPECT_THAT(ReadFile(name, kAnySize), is_refused);
  EXPECT_THAT(WriteFileAtomic(name, "x"), is_refused);
  EXPECT_THAT(WriteFolderAtomic(name, true, [](const std::string&) { return absl::OkStatus(); }),
              is_refused);
  EXPECT_THAT(ListFolder(name), is_refused);
  ExpectOnly({});
}

TEST_F(FileTest, AFailedWriteLeavesTheOldContent) {
  ASSERT_OK(WriteFileAtomic(Path("f"), "old"));
  EXPECT_THAT(WriteFileAtomic(Path("f/g"), "x"), StatusIs(absl::StatusCode::kNotFound));
  std::filesystem::create_directory(Path("dir"));
  EXPECT_THAT(WriteFileAtomic(Path("dir"), "x"),
              StatusIs(absl::StatusCode::kInvalidArgument, EndsWith("/dir: is a folder")));
  EXPECT_THAT(ReadFile(Path("f"), kAnySize), IsOkAndHolds("old"));
  ExpectOnly({"dir", "f"});
}

TEST_F(FileTest, WritesThroughToDevices) {
  EXPECT_OK(WriteFileAtomic("/dev/null", "x"));
  EXPECT_THAT(WriteFileAtomic("/dev/full", "x"),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("No space left")));
}

TEST_F(FileTest, WritesLongNames) {
  const std::string name(255, 'n');
  ASSERT_OK(WriteFileAtomic(Path(name), "x"));
  EXPECT_THAT(ReadFile(Path(name), kAnySize), IsOkAndHolds("x"));
  EXPECT_FALSE(WriteFileAtomic(Path(name + "n"), "x").ok());
  ExpectOnly({name});
}

// Temporary files of a killed program, here with the very names that come next, do no harm.
TEST_F(FileTest, StepsAroundTemporariesLeftByOthers) {
  ASSERT_OK(WriteFileAtomic(Path("f"), "1"));
  std::vector<std::string> left;
  for (int i = 0; i < 50; ++i) {
    left.push_back(absl::StrCat("f.", getpid(), ".", i, ".tmp"));
    close(open(Path(left.back()).c_str(), O_CREAT | O_WRONLY, 0600));
  }
  ASSERT_OK(WriteFileAtomic(Path("f"), "2"));
  EXPECT_THAT(ReadFile(Path("f"), kAnySize), IsOkAndHolds("2"));
  for (const std::string& name : left) {
    EXPECT_THAT(ReadFile(Path(name), kAnySize), IsOkAndHolds("")) << name;
  }
}

absl::Status FillWithOneFile(const std::string& dir) {
  return WriteFileAtomic(JoinPath(dir, "file"), "new");
}

TEST_F(FileTest, MakesAFolder) {
  ASSERT_OK(WriteFolderAtomic(Path("d"), false, FillWithOneFile));
  EXPECT_THAT(ReadFile(Path("d/file"), kAnySize), IsOkAndHolds("new"));
  ASSERT_OK(WriteFolderAtomic(Path("e/"), false, FillWithOneFile));
  ExpectOnly({"d", "e"});
}

TEST_F(FileTest, AFolderThatFailsLeavesNothing) {
  const auto fail = [](const std::string& dir) {
    EXPECT_OK(WriteFileAtomic(JoinPath(dir, "file"), "x"));
    return absl::DataLossError("halfway");
  };
  EXPECT_THAT(WriteFolderAtomic(Path("d"), false, fail),
              StatusIs(absl::StatusCode::kDataLoss, "halfway"));
  ExpectOnly({});
  ASSERT_OK(WriteFolderAtomic(Path("d"), false, FillWithOneFile));
  EXPECT_THAT(WriteFolderAtomic(Path("d"), true, fail), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(ReadFile(Path("d/file"), kAnySize), IsOkAndHolds("new"));
  ExpectOnly({"d"});
}

TEST_F(FileTest, MakesTheFoldersThatAPathLiesIn) {
  ASSERT_OK(WriteFileAtomic(Path("a/b/f"), "x"));
  EXPECT_THAT(ReadFile(Path("a/b/f"), kAnySize), IsOkAndHolds("x"));
  ASSERT_OK(WriteFolderAtomic(Path("c//d/e/"), false, FillWithOneFile));
  EXPECT_THAT(ReadFile(Path("c/d/e/file"), kAnySize), IsOkAndHolds("new"));
  ExpectOnly({"a", "c"});
}

TEST_F(FileTest, AFailureLeavesNoFoldersThatWereMadeForIt) {
  ASSERT_OK(WriteFileAtomic(Path("a/f"), "x"));
  const auto fail = [](const std::string&) { return absl::DataLossError("halfway"); };
  EXPECT_THAT(WriteFolderAtomic(Path("a/b/c/d"), false, fail),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_FALSE(WriteFileAtomic(Path("e/" + std::string(256, 'n')), "x").ok());
  { ASSERT_OK(StagedFile::Write(Path("g/h/f"), "x").status()); }
  EXPECT_THAT(ListFolder(Path("a")), IsOkAndHolds(ElementsAre("f")));
  ExpectOnly({"a"});
}

TEST_F(FileTest, WritesContentsPartByPart) {
  ASSERT_OK(WriteFileAtomic(Path("f"), [](const ByteSink& sink) {
    for (const char* part : {"a", "", "bc"}) EXPECT_OK(sink(part));
    return absl::OkStatus();
  }));
  EXPECT_THAT(ReadFile(Path("f"), kAnySize), IsOkAndHolds("abc"));
  // A file with half of its content is not written.
  EXPECT_THAT(WriteFileAtomic(Path("f"),
                              [](const ByteSink& sink) {
                                EXPECT_OK(sink("half"));
                                return absl::AbortedError("no more");
                              }),
              StatusIs(absl::StatusCode::kAborted, "no more"));
  EXPECT_THAT(ReadFile(Path("f"), kAnySize), IsOkAndHolds("abc"));
  ExpectOnly({"f"});
  EXPECT_THAT(WriteFileAtomic("/dev/full", [](const ByteSink& sink) { return sink("x"); }),
              StatusIs(absl::StatusCode::kInternal));
}

TEST_F(FileTest, StagedFilesCanBeRead) {
  std::string temporary;
  {
    const absl::StatusOr<StagedFile> file = StagedFile::Write(Path("f"), "content");
    ASSERT_OK(file);
    temporary = file->temporary();
    EXPECT_THAT(ReadFile(temporary, kAnySize), IsOkAndHolds("content"));
  }
  EXPECT_FALSE(FileExists(temporary));
}

// Files that belong together: the second does not fit, so the first stays as it was.
TEST_F(FileTest, StagedFilesChangeNothingBeforeTheyAreCommitted) {
  ASSERT_OK(WriteFileAtomic(Path("a"), "old"));
  {
    absl::StatusOr<StagedFile> first = StagedFile::Write(Path("a"), "new");
    ASSERT_OK(first.status());
    const rlimit small = {.rlim_cur = 2, .rlim_max = RLIM_INFINITY};
    const rlimit any = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    std::signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const absl::Status second = StagedFile::Write(Path("b"), "long").status();
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &any), 0);
    EXPECT_THAT(second, StatusIs(absl::StatusCode::kInternal, HasSubstr("File too large")));
  }
  EXPECT_THAT(ReadFile(Path("a"), kAnySize), IsOkAndHolds("old"));
  ExpectOnly({"a"});
  absl::StatusOr<StagedFile> file = StagedFile::Write(Path("a"), "new");
  ASSERT_OK(file.status());
  ASSERT_OK(file->Commit());
  EXPECT_THAT(ReadFile(Path("a"), kAnySize), IsOkAndHolds("new"));
  ExpectOnly({"a"});
}

// A shell that stands in the folder goes on seeing what is written there.
TEST_F(FileTest, ReplacesWhatTheCurrentFolderHoldsAndNotTheFolder) {
  std::filesystem::create_directories(Path("d/old"));
  struct stat before;
  ASSERT_EQ(stat(Path("d").c_str(), &before), 0);
  const std::filesystem::path home = std::filesystem::current_path();
  std::filesystem::current_path(Path("d"));
  EXPECT_OK(WriteFolderAtomic(".", true, FillWithOneFile));
  const auto fail = [](const std::string&) { return absl::DataLossError("halfway"); };
  EXPECT_FALSE(WriteFolderAtomic(Path("d"), true, fail).ok());
  std::filesystem::current_path(home);
  struct stat after;
  ASSERT_EQ(stat(Path("d").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_THAT(ListFolder(Path("d")), IsOkAndHolds(ElementsAre("file")));
  ExpectOnly({"d"});
}

TEST_F(FileTest, ReplacesTheFolderThatALinkLeadsTo) {
  std::filesystem::create_directories(Path("d/old"));
  ASSERT_EQ(symlink("d", Path("link").c_str()), 0);
  ASSERT_OK(WriteFolderAtomic(Path("link"), true, FillWithOneFile));
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
  EXPECT_THAT(ListFolder(Path("d")), IsOkAndHolds(ElementsAre("file")));
  ExpectOnly({"d", "link"});
}

TEST_F(FileTest, ReplacesAFolderOnlyWhenAsked) {
  std::filesystem::create_directories(Path("d/old/deep"));
  ASSERT_OK(WriteFileAtomic(Path("d/old/f"), "x"));
  EXPECT_THAT(WriteFolderAtomic(Path("d"), false, FillWithOneFile),
              StatusIs(absl::StatusCode::kAlreadyExists, EndsWith("/d exists already")));
  EXPECT_TRUE(FileExists(Path("d/old/f")));
  ASSERT_OK(WriteFolderAtomic(Path("d"), true, FillWithOneFile));
  EXPECT_THAT(ListFolder(Path("d")), IsOkAndHolds(ElementsAre("file")));
  ExpectOnly({"d"});
}

// Makes root obey the modes of files, or ignore them again.
void ObeyModes(bool obey) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2];
  ASSERT_EQ(syscall(SYS_capget, &header, data), 0);
  data[0].effective = obey ? 0 : data[0].permitted;
  ASSERT_EQ(syscall(SYS_capset, &header, data), 0);
}

// The new folder is in place by then, as the caller wanted.
TEST_F(FileTest, AnOldFolderThatCannotBeDeletedIsNoFailure) {
  std::filesystem::create_directories(Path("d/old"));
  ASSERT_OK(WriteFileAtomic(Path("d/old/f"), "x"));
  ASSERT_EQ(chmod(Path("d/old").c_str(), 0500), 0);
  ObeyModes(true);
  const absl::Status status = WriteFolderAtomic(Path("d"), true, FillWithOneFile);
  ObeyModes(false);
  const std::vector<std::string> names = ListFolder(root_).value();
  for (const std::string& name : names) chmod(Path(name + "/old").c_str(), 0700);
  EXPECT_OK(status);
  EXPECT_THAT(ListFolder(Path("d")), IsOkAndHolds(ElementsAre("file")));
  EXPECT_EQ(names.size(), 2u);
}

TEST_F(FileTest, ReadsRanges) {
  ASSERT_OK(WriteFileAtomic(Path("f"), "0123456789"));
  absl::StatusOr<InputFile> opened = InputFile::Open(Path("f"));
  ASSERT_OK(opened.status());
  const InputFile file = *std::move(opened);
  EXPECT_EQ(file.size(), 10u);
  EXPECT_THAT(file.Read(3, 4), IsOkAndHolds("3456"));
  EXPECT_THAT(file.Read(0, 10), IsOkAndHolds("0123456789"));
  EXPECT_THAT(file.Read(8, 4), IsOkAndHolds("89"));
  EXPECT_THAT(file.Read(20, 4), IsOkAndHolds(""));
}

// A pipe as standard input, which gives its bytes in small portions.
TEST_F(FileTest, ReadsTheStandardInput) {
  const auto read = [&](size_t bytes, size_t max_bytes) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const int saved = dup(STDIN_FILENO);
    dup2(ends[0], STDIN_FILENO);
    std::thread writer([&] {
      for (size_t i = 0; i < bytes; i += 1000) {
        const std::string part(std::min<size_t>(1000, bytes - i), 'x');
        if (write(ends[1], part.data(), part.size()) < 0) break;
      }
      close(ends[1]);
    });
    absl::StatusOr<std::string> content = ReadFile("-", max_bytes);
    // Read the rest, so that the writer can end.
    for (char sink[4096]; ::read(STDIN_FILENO, sink, sizeof sink) > 0;) continue;
    writer.join();
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(ends[0]);
    return content;
  };
  const size_t large = (size_t{2} << 20) + 17;
  EXPECT_THAT(read(0, kAnySize), IsOkAndHolds(""));
  EXPECT_THAT(read(large, large), IsOkAndHolds(std::string(large, 'x')));
  EXPECT_THAT(read(large, large - 1), StatusIs(absl::StatusCode::kInvalidArgument,
                                               HasSubstr("the standard input: at most")));
}

TEST_F(FileTest, NeverReplacesWhatIsNoFolder) {
  ASSERT_OK(WriteFileAtomic(Path("f"), "precious"));
  ASSERT_EQ(symlink("f", Path("link").c_str()), 0);
  for (const char* name : {"f", "link"}) {
    EXPECT_THAT(WriteFolderAtomic(Path(name), true, FillWithOneFile),
                StatusIs(absl::StatusCode::kAlreadyExists,
                         EndsWith(" exists already and is not a folder")));
  }
  EXPECT_THAT(ReadFile(Path("f"), kAnySize), IsOkAndHolds("precious"));
  ExpectOnly({"f", "link"});
}

// Something takes the name while the folder is filled.
TEST_F(FileTest, DoesNotOverwriteWhatAppearsMeanwhile) {
  const auto status = WriteFolderAtomic(Path("d"), false, [&](const std::string& dir) {
    std::filesystem::create_directory(Path("d"));
    return FillWithOneFile(dir);
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(ListFolder(Path("d")), IsOkAndHolds(IsEmpty()));
  ExpectOnly({"d"});
}

// Something takes the folder away that is to be replaced.
TEST_F(FileTest, DoesNotReplaceWhatDisappearsMeanwhile) {
  std::filesystem::create_directory(Path("d"));
  const auto status = WriteFolderAtomic(Path("d"), true, [&](const std::string& dir) {
    std::filesystem::remove(Path("d"));
    return FillWithOneFile(dir);
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, HasSubstr("cannot replace ")));
  ExpectOnly({});
}

TEST_F(FileTest, ListsSorted) {
  for (const char* name : {"b", "a", ".hidden", "c"}) ASSERT_OK(WriteFileAtomic(Path(name), ""));
  EXPECT_THAT(ListFolder(root_), IsOkAndHolds(ElementsAre(".hidden", "a", "b", "c")));
  for (const char* name : {"none", "a"}) {
    EXPECT_THAT(ListFolder(Path(name)),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("cannot list ")));
  }
}

TEST_F(FileTest, CopiesWhole) {
  std::string content;
  for (int i = 0; i < 300000; ++i) content += "0123456\n";
  ASSERT_OK(WriteFileAtomic(Path("a"), content));
  EXPECT_OK(CopyFileAtomic(Path("a"), Path("deep/b")));
  EXPECT_THAT(ReadFile(Path("deep/b"), 1 << 24), IsOkAndHolds(content));
  EXPECT_THAT(ListFolder(Path("deep")), IsOkAndHolds(ElementsAre("b")));
  EXPECT_THAT(CopyFileAtomic(Path("none"), Path("c")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("cannot read ")));
  EXPECT_FALSE(FileExists(Path("c")));
  // A folder opens as a file does, and cannot be read.
  EXPECT_FALSE(CopyFileAtomic(root_, Path("c")).ok());
  EXPECT_FALSE(FileExists(Path("c")));
}

TEST(PathTest, NamesOfTemporaryFiles) {
  EXPECT_EQ(WithoutTemporary("d/a.pb.12.0.tmp"), "d/a.pb");
  for (const char* name :
       {"a.tmp", "a.0.tmp", "a.pb.12.0", "a.pb.x.0.tmp", ".1.2.tmp", "d/.1.2.tmp"})
    EXPECT_EQ(WithoutTemporary(name), name);
}

TEST_F(FileTest, TellsFilesFromFolders) {
  ASSERT_OK(WriteFileAtomic(Path("f"), ""));
  EXPECT_TRUE(FileExists(Path("f")));
  EXPECT_TRUE(FileExists(root_));
  EXPECT_FALSE(FileExists(Path("none")));
  EXPECT_TRUE(IsFolder(root_));
  EXPECT_FALSE(IsFolder(Path("f")));
  EXPECT_FALSE(IsFolder(Path("none")));
}

TEST(PathTest, JoinPath) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("/", "b"), "/b");
  EXPECT_EQ(JoinPath("a", "/b"), "a//b");
}

TEST(PathTest, BaseName) {
  EXPECT_EQ(BaseName("a/b"), "b");
  EXPECT_EQ(BaseName("a/b/"), "b");
  EXPECT_EQ(BaseName("a/b//"), "b");
  EXPECT_EQ(BaseName("b"), "b");
  EXPECT_EQ(BaseName("/b"), "b");
  EXPECT_EQ(BaseName("/"), "");
  EXPECT_EQ(BaseName(""), "");
}

}  // namespace
}  // namespace graphnet
