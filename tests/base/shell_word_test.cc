#include "graphnet/base/shell_word.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

namespace graphnet {
namespace {

// Returns the words that bash reads.
std::string Read(const std::string& word) {
  const std::string name = testing::TempDir() + "/words.sh";
  FILE* const script = std::fopen(name.c_str(), "w");
  EXPECT_NE(script, nullptr);
  std::fputs(("printf '<%s>' " + word + "\n").c_str(), script);
  std::fclose(script);
  FILE* const shell = popen(("bash " + name).c_str(), "r");
  std::string read;
  std::array<char, 256> part;
  for (size_t n; (n = std::fread(part.data(), 1, part.size(), shell)) > 0;)
    read.append(part.data(), n);
  EXPECT_EQ(pclose(shell), 0) << word;
  return read;
}

TEST(ShellWordTest, BashReadsTheText) {
  for (const std::string text : {"a",
                                 "",
                                 "a b",
                                 "it's",
                                 "$(touch x)",
                                 "`id`",
                                 "a;b",
                                 "-x",
                                 "~",
                                 "*",
                                 "a\nb",
                                 "\\",
                                 "!x",
                                 "#a",
                                 "a\x1b[31m'\\",
                                 "\x01"
                                 "7",
                                 "日本",
                                 "\xe2\x80\xa8",
                                 "a&b|c>d",
                                 "{a,b}",
                                 "\"$x\"",
                                 "'",
                                 "=",
                                 "%"}) {
    EXPECT_EQ(Read(ShellWord(text)), "<" + text + ">") << ShellWord(text);
  }
}

TEST(ShellWordTest, PlainPathsStayAsTheyAre) {
  EXPECT_EQ(ShellWord("log/torch.jsonl"), "log/torch.jsonl");
  EXPECT_EQ(ShellWord("a b"), "'a b'");
}

}  // namespace
}  // namespace graphnet
