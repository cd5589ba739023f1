#include "graphnet/evaluate/remote_cache.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/base/digest.h"
#include "graphnet/base/file.h"
#include "graphnet/evaluate/compile_cache.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A cache with one entry, behind a web server that can misbehave.
class RemoteCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = absl::StrCat(testing::TempDir(), "/",
                         testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(root_);
    fs::create_directories(root_);
    origin_ = absl::StrCat(root_, "/origin");
    auto cache = CompileCache::Open({.folder = origin_});
    ASSERT_TRUE(cache.ok()) << cache.status();
    EXPECT_EQ(Ask(**cache), "made");
    const absl::StatusOr<std::string> digest = WriteCacheIndex(origin_);
    ASSERT_TRUE(digest.ok()) << digest.status();
    digest_ = *digest;

    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    server_ = fork();
    if (server_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      execlp("python3", "python3", "tests/evaluate/cache_server.py", origin_.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    FILE* said = fdopen(ends[0], "r");
    ASSERT_EQ(std::fscanf(said, "%d", &port_), 1);
    std::fclose(said);
  }
  void TearDown() override {
    kill(server_, SIGKILL);
    waitpid(server_, nullptr, 0);
  }

  std::string Url(const std::string& how) const {
    return absl::StrCat("http://127.0.0.1:", port_, "/", how);
  }
  absl::StatusOr<std::unique_ptr<RemoteCache>> OpenRemote(const std::string& url,
                                                          const std::string& digest,
                                                          const std::string& python = "python3") {
    return RemoteCache::Open({.url = url,
                              .digest = digest,
                              .python = python,
                              .patience = absl::Seconds(5),
                              .note = [this](const std::string& line) { notes_.push_back(line); }});
  }
  // Returns whether the entry was made or loaded, in a new local cache that fetches from the URL.
  std::string AskThrough(const std::string& url) {
    const absl::StatusOr<std::unique_ptr<RemoteCache>> remote = OpenRemote(url, digest_);
    EXPECT_TRUE(remote.ok()) << remote.status();
    if (!remote.ok()) return "";
    const std::string folder = absl::StrCat(root_, "/local", ++num_caches_);
    const auto fetch = [&](const std::string& name, const std::string& path) {
      return (*remote)->Fetch(name, path);
    };
    const auto cache = CompileCache::Open({.folder = folder, .fetch = fetch});
    EXPECT_TRUE(cache.ok()) << cache.status();
    std::string became = Ask(**cache);
    EXPECT_EQ(Ask(**cache), "loaded compiled");  // from the local cache now
    return became;
  }
  static std::string Ask(CompileCache& cache) {
    std::string became;
    const absl::StatusOr<bool> loaded = cache.LoadOrMake(
        {{"program", "p"}},
        [&](const std::string& path) {
          const absl::StatusOr<std::string> content = ReadFile(path, 1000);
          became = absl::StrCat("loaded ", content.ok() ? *content : "nothing");
          return absl::OkStatus();
        },
        [&](const std::string& path) {
          became = "made";
          std::ofstream(path) << "compiled";
          return absl::OkStatus();
        });
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return became;
  }

  std::string root_, origin_, digest_;
  std::vector<std::string> notes_;
  int num_caches_ = 0;
  pid_t server_ = -1;
  int port_ = 0;
};

TEST_F(RemoteCacheTest, AnEntryInTheIndexIsNotMadeAgain) {
  EXPECT_EQ(AskThrough(Url("good")), "loaded compiled");
  EXPECT_EQ(AskThrough(Url("good/")), "loaded compiled");
  EXPECT_TRUE(notes_.empty()) << notes_[0];
}

TEST_F(RemoteCacheTest, BytesThatDifferFromTheIndexAreNotLoaded) {
  EXPECT_EQ(AskThrough(Url("other")), "made");
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_THAT(notes_[0], HasSubstr("is not what the index says"));
}

TEST_F(RemoteCacheTest, AServerThatFailsIsNotedAndTheEntryIsMade) {
  for (const char* how : {"error", "silent", "elsewhere", "ftp", "endless"}) {
    notes_.clear();
    EXPECT_EQ(AskThrough(Url(how)), "made") << how;
    ASSERT_EQ(notes_.size(), 1u) << how;
    EXPECT_THAT(notes_[0], HasSubstr("is not used any more")) << how;
    if (how == std::string("ftp")) {
      EXPECT_THAT(notes_[0], HasSubstr("redirected to ftp://"));
    }
  }
  notes_.clear();
  EXPECT_EQ(AskThrough("http://127.0.0.1:1/closed"), "made");
  EXPECT_EQ(notes_.size(), 1u);
}

TEST_F(RemoteCacheTest, SaysWhyAnEntryIsNotFetched) {
  std::string name;
  for (const auto& file : fs::recursive_directory_iterator(origin_)) {
    if (file.path().filename() == "compiled") name = file.path().parent_path().filename();
  }
  const std::string path = absl::StrCat(root_, "/fetched");
  const auto other = OpenRemote(Url("other"), digest_);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ((*other)->Fetch(name, path).message(), "the bytes differ from the index");
  const auto gone = OpenRemote(Url("good"), digest_);
  ASSERT_TRUE(gone.ok()) << gone.status();
  fs::remove_all(absl::StrCat(origin_, "/entries"));
  EXPECT_THAT(std::string((*gone)->Fetch(name, path).message()), HasSubstr("404"));
  EXPECT_EQ((*gone)->Fetch(name, path).message(), "the server has failed");
}

TEST_F(RemoteCacheTest, AnInvalidAnswerOfTheProgramThatFetchesIsNoted) {
  const std::string program = absl::StrCat(root_, "/python");
  std::ofstream(program) << "#!/bin/sh\nread line\necho '[]' >&3\n";
  fs::permissions(program, fs::perms::owner_all);
  ASSERT_TRUE(OpenRemote(Url("good"), digest_, program).ok());
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_THAT(notes_[0], HasSubstr("the program that fetches gave an invalid answer"));
}

TEST_F(RemoteCacheTest, AnIndexOfAnotherVersionIsAnError) {
  const std::string index = R"({"version": 2, "entries": {}})";
  std::ofstream(absl::StrCat(origin_, "/index.json")) << index;
  EXPECT_THAT(std::string(OpenRemote(Url("good"), Sha256(index)).status().message()),
              HasSubstr("its index is not of this version of graphnet"));
}

TEST_F(RemoteCacheTest, AnIndexThatIsNotTrustedIsAnError) {
  const auto error = [&](const std::string& url, const std::string& digest) {
    return std::string(OpenRemote(url, digest).status().message());
  };
  EXPECT_THAT(error(Url("good"), std::string(64, 'a')), HasSubstr("is not the trusted one"));
  EXPECT_THAT(error(Url("good"), "abc"), HasSubstr("64 hexadecimal digits"));
  EXPECT_THAT(error("file:///etc", digest_), HasSubstr("expected a URL"));
  std::ofstream(absl::StrCat(origin_, "/index.json"), std::ios::app) << " ";
  EXPECT_THAT(error(Url("good"), digest_), HasSubstr("is not the trusted one"));
}

TEST_F(RemoteCacheTest, AnIndexListsOnlyIntactEntries) {
  for (const auto& file : fs::recursive_directory_iterator(origin_)) {
    if (file.path().filename() == "compiled") std::ofstream(file.path(), std::ios::app) << "!";
  }
  const absl::StatusOr<std::string> digest = WriteCacheIndex(origin_);
  ASSERT_TRUE(digest.ok()) << digest.status();
  EXPECT_NE(*digest, digest_);
  digest_ = *digest;
  EXPECT_EQ(AskThrough(Url("good")), "made");
  EXPECT_EQ(WriteCacheIndex(root_).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace graphnet
