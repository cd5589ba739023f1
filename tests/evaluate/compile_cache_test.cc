#include "graphnet/evaluate/compile_cache.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "graphnet/base/file.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string Folder() {
  std::string folder = absl::StrCat(testing::TempDir(), "/",
                                    testing::UnitTest::GetInstance()->current_test_info()->name());
  fs::remove_all(folder);
  return folder;
}

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Asks for an entry whose content begins with `name`. Returns the content and whether it was
// loaded.
std::pair<std::string, bool> Ask(CompileCache& cache, const std::string& name, size_t bytes = 1) {
  std::string got;
  const std::string made = absl::StrCat(name, std::string(bytes, '.'));
  const absl::StatusOr<bool> loaded = cache.LoadOrMake(
      {{"program", name}},
      [&](const std::string& path) {
        got = Content(path);
        return absl::OkStatus();
      },
      [&](const std::string& path) {
        got = made;
        if (!path.empty()) std::ofstream(path) << made;
        return absl::OkStatus();
      });
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(got, made);
  return {got, loaded.ok() && *loaded};
}

std::vector<std::string> Files(const std::string& folder, const std::string& name) {
  std::vector<std::string> files;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (file.path().filename() == name) files.push_back(file.path());
  }
  return files;
}

TEST(CompileCache, AnEntryIsMadeOnce) {
  const std::string folder = Folder();
  const auto cache = *CompileCache::Open({.folder = folder});
  EXPECT_FALSE(Ask(*cache, "a").second);
  EXPECT_TRUE(Ask(*cache, "a").second);
  EXPECT_FALSE(Ask(*cache, "b").second);
  const auto again = *CompileCache::Open({.folder = folder});
  EXPECT_TRUE(Ask(*again, "b").second);
}

TEST(CompileCache, DamagedEntriesAreMadeAgain) {
  const std::string folder = Folder();
  const auto cache = *CompileCache::Open({.folder = folder});
  const auto damage = [&](const std::string& file, const std::string& content) {
    std::ofstream(Files(folder, file).at(0)) << content;
  };
  Ask(*cache, "a");
  const std::string entry = Content(Files(folder, "entry.json").at(0));
  for (const std::string& content : {std::string(), std::string("b."), std::string("a.x")}) {
    damage("compiled", content);
    EXPECT_FALSE(Ask(*cache, "a").second) << content;
    EXPECT_TRUE(Ask(*cache, "a").second);
  }
  for (const std::string& content :
       {std::string(), std::string("{"), std::string("[]"), entry.substr(0, entry.size() / 2),
        std::string("{\"made_of\":\"x\",\"bytes\":2,\"sha256\":\"\"}"),
        std::string("{\"made_of\":1,\"bytes\":\"2\",\"sha256\":[]}")}) {
    damage("entry.json", content);
    EXPECT_FALSE(Ask(*cache, "a").second) << content;
    EXPECT_TRUE(Ask(*cache, "a").second);
  }
  fs::remove(Files(folder, "compiled").at(0));
  EXPECT_FALSE(Ask(*cache, "a").second);
}

TEST(CompileCache, EntriesThatOthersMayHaveWrittenAreNotUsed) {
  const std::string folder = Folder();
  {
    const auto cache = *CompileCache::Open({.folder = folder});
    Ask(*cache, "a");
    chmod(Files(folder, "compiled").at(0).c_str(), 0666);
    EXPECT_FALSE(Ask(*cache, "a").second);
    EXPECT_TRUE(Ask(*cache, "a").second);
    // Replace the file by a link to the same bytes.
    const std::string compiled = Files(folder, "compiled").at(0);
    fs::rename(compiled, folder + "/elsewhere");
    fs::create_symlink(fs::absolute(folder + "/elsewhere"), compiled);
    EXPECT_FALSE(Ask(*cache, "a").second);
  }
  chmod(folder.c_str(), 0777);
  const auto cache = CompileCache::Open({.folder = folder});
  ASSERT_FALSE(cache.ok());
  EXPECT_THAT(cache.status().message(), HasSubstr("others may write to it"));
}

TEST(CompileCache, EntriesAreUsedWhateverTheUmask) {
  for (const mode_t mask : {0002, 0000, 0022, 0077}) {
    const mode_t before = umask(mask);
    const auto cache = *CompileCache::Open({.folder = Folder()});
    EXPECT_FALSE(Ask(*cache, "a").second);
    EXPECT_TRUE(Ask(*cache, "a").second) << "umask " << mask;
    umask(before);
  }
}

TEST(CompileCache, EntriesThatCannotBeKeptAreMadeEachTime) {
  const auto cache = *CompileCache::Open({.folder = Folder()});
  int made = 0;
  for (int i = 0; i < 2; ++i) {
    const bool loaded = *cache->LoadOrMake(
        {{"program", "a"}}, [](const std::string&) { return absl::OkStatus(); },
        [&](const std::string&) {
          ++made;
          return absl::OkStatus();
        });
    EXPECT_FALSE(loaded);
  }
  EXPECT_EQ(made, 2);
}

TEST(CompileCache, ErrorsOfMakingAreReturnedAndNotKept) {
  const std::string folder = Folder();
  const auto cache = *CompileCache::Open({.folder = folder});
  const absl::StatusOr<bool> loaded = cache->LoadOrMake(
      {{"program", "a"}}, [](const std::string&) { return absl::OkStatus(); },
      [&](const std::string& path) {
        std::ofstream(path) << "half";
        return absl::FailedPreconditionError("does not compile");
      });
  EXPECT_EQ(loaded.status().message(), "does not compile");
  EXPECT_TRUE(Files(folder, "compiled").empty());
  EXPECT_FALSE(Ask(*cache, "a").second);
}

TEST(CompileCache, TheLeastRecentlyUsedEntryGoesFirst) {
  const std::string folder = Folder();
  const auto cache = *CompileCache::Open({.folder = folder, .max_bytes = 2500});
  Ask(*cache, "a", 1000);
  absl::SleepFor(absl::Milliseconds(20));
  Ask(*cache, "b", 1000);
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_TRUE(Ask(*cache, "a", 1000).second);
  absl::SleepFor(absl::Milliseconds(20));
  Ask(*cache, "c", 1000);
  EXPECT_EQ(Files(folder, "compiled").size(), 2u);
  EXPECT_TRUE(Ask(*cache, "a", 1000).second);
  EXPECT_TRUE(Ask(*cache, "c", 1000).second);
  EXPECT_FALSE(Ask(*cache, "b", 1000).second);
}

// --- Many processes --------------------------------------------------------------

// Asks for random entries until it is killed, and logs each begin and end of making one.
[[noreturn]] void AskForever(const std::string& folder, const std::string& log, unsigned seed) {
  std::mt19937 draw(seed);
  const int notes = open(log.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
  const auto note = [&](const std::string& line) {
    if (write(notes, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(3);
  };
  const auto cache = CompileCache::Open({.folder = folder, .max_bytes = 40000});
  if (!cache.ok()) _exit(4);
  while (true) {
    const std::string name = absl::StrCat("program_", draw() % 12);
    const std::string expected = absl::StrCat(name, std::string(5000, name.back()));
    std::string got;
    const absl::StatusOr<bool> loaded = (*cache)->LoadOrMake(
        {{"program", name}},
        [&](const std::string& path) {
          got = Content(path);
          // Another process may remove the entry in the meantime.
          return got.empty() ? absl::NotFoundError("") : absl::OkStatus();
        },
        [&](const std::string& path) {
          note(absl::StrCat("begin ", name, " ", getpid(), "\n"));
          std::ofstream file(path);
          file << expected.substr(0, 2000) << std::flush;
          absl::SleepFor(absl::Milliseconds(3));
          file << expected.substr(2000);
          file.close();
          got = expected;
          note(absl::StrCat("end ", name, " ", getpid(), "\n"));
          return absl::OkStatus();
        });
    if (!loaded.ok()) _exit(5);
    if (got != expected) {
      note(absl::StrCat("wrong ", name, " ", getpid(), "\n"));
      _exit(6);
    }
    note(absl::StrCat(*loaded ? "loaded " : "made ", name, " ", getpid(), "\n"));
  }
}

TEST(CompileCache, EightProcessesKilledTwoHundredTimes) {
  const std::string folder = Folder(), log = absl::StrCat(testing::TempDir(), "/log");
  fs::remove(log);
  std::mt19937 draw(7);
  std::vector<pid_t> processes(8);
  std::set<std::string> killed;
  unsigned seed = 0;
  const auto start = [&] {
    const pid_t pid = fork();
    if (pid == 0) AskForever(folder, log, seed);
    ++seed;
    return pid;
  };
  for (pid_t& pid : processes) pid = start();
  for (int kills = 0; kills < 200 + 8; ++kills) {
    absl::SleepFor(absl::Milliseconds(kills < 200 ? draw() % 20 : 0));
    pid_t& pid = processes[kills < 200 ? draw() % 8 : static_cast<size_t>(kills) - 200];
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, WNOHANG), 0) << "ended by itself with " << status;
    kill(pid, SIGKILL);
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    killed.insert(absl::StrCat(pid));
    if (kills < 200) pid = start();
  }
  // No two processes make one entry at a time: if a process begins, the previous one has ended or
  // was killed and makes nothing more.
  std::map<std::string, std::string> making;  // the process by entry
  std::map<std::string, int> counts;
  for (const absl::string_view line : absl::StrSplit(Content(log), '\n', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    ASSERT_EQ(words.size(), 3u) << line;
    ++counts[words[0]];
    if (words[0] == "begin") {
      making[words[1]] = words[2];
    } else if (words[0] == "end") {
      EXPECT_EQ(making[words[1]], words[2]) << "two processes made " << words[1];
    }
  }
  EXPECT_EQ(counts["wrong"], 0);
  EXPECT_GT(counts["loaded"], 200);
  EXPECT_GT(counts["made"], 12);
}

}  // namespace
}  // namespace graphnet
