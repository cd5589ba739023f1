// Tests badly behaved programs called dot in place of Graphviz's.
#include "graphnet/view/graphviz.h"

#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

// Sets PATH to a folder that contains only a dot with this script.
void Install(const std::string& script) {
  const std::string folder = absl::StrCat(testing::TempDir(), "/", std::rand());
  mkdir(folder.c_str(), 0700);
  if (!script.empty()) {
    const std::string path = absl::StrCat(folder, "/dot");
    std::ofstream(path) << "#!/bin/bash\n" << script << "\n";
    chmod(path.c_str(), 0700);
  }
  setenv("PATH", folder.c_str(), 1);
}

TEST(Graphviz, GetsTheTextAndGivesThePicture) {
  Install("echo \"$1:\"; while read -r line; do echo \"$line\"; done");
  const auto drawn = RunGraphviz("digraph {\n}\n", "svg");
  ASSERT_TRUE(drawn.ok()) << drawn.status().message();
  EXPECT_EQ(*drawn, "-Tsvg:\ndigraph {\n}\n");
}

TEST(Graphviz, IsNotInstalled) {
  Install("");
  EXPECT_TRUE(absl::IsNotFound(RunGraphviz("digraph {}", "svg").status()));
}

TEST(Graphviz, Fails) {
  Install("printf 'syntax \\033[31merror\\nmore\\n' >&2; exit 1");
  const absl::Status status = RunGraphviz("digraph {}", "svg").status();
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_EQ(status.message(), "Graphviz has failed: syntax \\x1b[31merror");
  Install("kill -9 $$");
  EXPECT_EQ(RunGraphviz("digraph {}", "svg").status().message(), "Graphviz has failed");
  Install("exit 0");  // without drawing anything
  EXPECT_FALSE(RunGraphviz("digraph {}", "svg").ok());
}

TEST(Graphviz, TakesTooLong) {
  Install("while true; do :; done");
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status = RunGraphviz("digraph {}", "svg", std::chrono::seconds(1)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_EQ(status.message(), "Graphviz did not finish within 1 s");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace graphnet
