// Code of archives that LibTorch's parser and compiler cannot take.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/base/limits.h"
#include "graphnet/formats/torchscript/archive_check.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/torchscript/archive_bytes.h"

namespace graphnet {
namespace {

TEST(ArchiveCheckTest, LimitsBrackets) {
  for (const auto& [open, close] :
       std::vector<std::pair<std::string, std::string>>{{"(", ")"}, {"[", "]"}, {"f(", ")"}}) {
    const auto nested = [&, open = open, close = close](int depth) {
      return CheckBody("    q = " + Repeat(open, depth) + "x" + Repeat(close, depth) + "\n");
    };
    EXPECT_OK(nested(kMaxNesting - 1));
    EXPECT_OK(nested(kMaxNesting));
    EXPECT_THAT(nested(kMaxNesting + 1), Refused("brackets are nested more than 200 deep"));
    EXPECT_THAT(nested(1000000), Refused("brackets are nested more than 200 deep"));
  }
  const auto type = [](int depth) {
    return CheckCode("class A:\n  a : " + Repeat("List[", depth) + "int" + Repeat("]", depth) +
                     "\n");
  };
  EXPECT_OK(type(kMaxNesting));
  EXPECT_THAT(type(kMaxNesting + 1), Refused("brackets"));
}

TEST(ArchiveCheckTest, LimitsIndentation) {
  const auto nested = [](int depth) {  // the class and the function are two levels
    std::string body;
    for (int i = 0; i < depth - 2; ++i) body += std::string(4 + i, ' ') + "if x:\n";
    return CheckBody(body + std::string(2 + depth, ' ') + "pass\n");
  };
  EXPECT_OK(nested(kMaxNesting - 1));
  EXPECT_OK(nested(kMaxNesting));
  EXPECT_THAT(nested(kMaxNesting + 1), Refused("blocks are nested more than 200 deep"));
}

TEST(ArchiveCheckTest, LimitsChains) {
  for (const char* link : {".a", "[0]", "()"}) {
    EXPECT_OK(CheckBody("    q = x" + Repeat(link, kMaxNesting - 1) + "\n")) << link;
    EXPECT_OK(CheckBody("    q = x" + Repeat(link, kMaxNesting) + "\n")) << link;
    EXPECT_THAT(CheckBody("    q = x" + Repeat(link, kMaxNesting + 1) + "\n"),
                Refused("a chain of more than 200"))
        << link;
  }
  EXPECT_FALSE(CheckCode("class A:\n  a : a" + Repeat(".a", 201) + "\n").ok());
}

TEST(ArchiveCheckTest, LimitsTheRecursionOfTheCompiler) {
  // Each definition is compiled in the middle of the one that mentions it.
  const auto functions = [](int count) {
    std::string code = "def f0(x: Tensor) -> Tensor:\n  return x\n";
    for (int i = 1; i < count; ++i) {
      absl::StrAppend(&code, "def f", i, "(x: Tensor) -> Tensor:\n  return __torch__.m.f", i - 1,
                      "(x)\n");
    }
    return CheckCode(code);
  };
  EXPECT_OK(functions(50));
  EXPECT_THAT(functions(1000), Refused("levels of recursion"));
  const auto classes = [](int count) {
    std::string code = "class C0:\n  a : int\n";
    for (int i = 1; i < count; ++i) {
      absl::StrAppend(&code, "class C", i, ":\n  a : __torch__.m.C", i - 1, "\n");
    }
    return CheckCode(code);
  };
  EXPECT_OK(classes(100));
  EXPECT_THAT(classes(1000), Refused("levels of recursion"));
  const auto methods = [](int count) {
    std::string code = kClass;
    for (int i = 0; i < count; ++i) {
      absl::StrAppend(&code, "  def f", i, "(self: __torch__.m.M) -> int:\n    return (self).f",
                      i + 1, "()\n");
    }
    return CheckCode(code);
  };
  EXPECT_OK(methods(50));
  EXPECT_THAT(methods(1000), Refused("levels of recursion"));
  // Definitions that mention each other.
  const auto cycle = [](int count) {
    std::string code;
    for (int i = 0; i < count; ++i) {
      absl::StrAppend(&code, "def f", i, "(x: Tensor) -> Tensor:\n  return __torch__.m.f",
                      (i + 1) % count, "(x)\n");
    }
    return CheckCode(code);
  };
  EXPECT_OK(cycle(50));
  EXPECT_THAT(cycle(1000), Refused("levels of recursion"));
}

TEST(ArchiveCheckTest, LimitsLoopsAndElements) {
  EXPECT_OK(CheckBody(Repeat("    while x:\n      pass\n", 200)));
  EXPECT_THAT(CheckBody(Repeat("    while x:\n      pass\n", 201)), Refused("loops"));
  EXPECT_OK(CheckBody("    q = [" + Repeat("1, ", 65535) + "]\n"));
  EXPECT_THAT(CheckBody("    q = [" + Repeat("1, ", 65536) + "]\n"), Refused("elements"));
  EXPECT_OK(CheckBody("    " + std::string(kMaxNameBytes - 1, 'a') + " = 1\n"));
  EXPECT_OK(CheckBody("    " + std::string(kMaxNameBytes, 'a') + " = 1\n"));
  EXPECT_THAT(CheckBody("    " + std::string(kMaxNameBytes + 1, 'a') + " = 1\n"),
              Refused("name is too long"));
  EXPECT_THAT(CheckBody("    q = annotate(Union[" + Repeat("int, ", 2000) + "], x)\n"),
              Refused("Union"));
}

TEST(ArchiveCheckTest, LimitsTheSizeOfFiles) {
  const std::string code = Code("");
  const auto sized = [&](size_t size) {
    return CheckCode(absl::StrCat(code, std::string(size - code.size(), ' ')));
  };
  EXPECT_OK(sized(kMaxTextFileBytes - 1));
  EXPECT_OK(sized(kMaxTextFileBytes));
  EXPECT_THAT(sized(kMaxTextFileBytes + 1),
              Refused("code/__torch__/m.py: larger than 67108864 bytes"));
  EXPECT_THAT(CheckWith("data.pkl", std::string(kMaxTextFileBytes + 1, 'N')),
              Refused("data.pkl: larger than 67108864 bytes"));
}

TEST(ArchiveCheckTest, RefusesTextThatTwoLexersMayReadDifferently) {
  for (const char* line : {"# a comment",
                           "x = 1 # type: (int) -> int",
                           "x = \\",
                           "\tx = 1",
                           "x = \"\"\"a\"\"\"",
                           "x = '''a'''",
                           "x = \"a\" \"b\"",
                           "x = \"a",
                           "x = \"a\\",
                           "x = \"\x01\"",
                           "x = \"\xc3\"",
                           "x = \"\xc3\xc3\xa4\"",
                           "x = \"\xe4\"",
                           "x = \"\\\xc3\xa4\"",
                           "\xc3\xa4 = 1",
                           "x = 0x1f",
                           "x = 1__torch__",
                           "x = 1e",
                           "x = 1.a",
                           "x = .5",
                           "x = ...",
                           "x = (1]",
                           "x = 1)",
                           "x = (1",
                           "x = 1;",
                           "x\r",
                           "x = $"}) {
    EXPECT_FALSE(CheckBody(absl::StrCat("    ", line, "\n")).ok()) << line;
  }
  EXPECT_FALSE(CheckBody(std::string("    x = 1\0\n", 11)).ok());
  // PyTorch writes names of attributes so.
  EXPECT_OK(CheckBody("    q = \"\xc3\xa4\"\n"));
  EXPECT_OK(CheckBody("    q = \"\"\n    r = '\"'\n    s = \"a\\\"b\\\\\"\n"));
  EXPECT_OK(CheckBody(Repeat("\n", 200)));
  EXPECT_THAT(CheckBody(Repeat("\n", 201)), Refused("blank lines"));
}

TEST(ArchiveCheckTest, RefusesWhatTheWriterDoesNotUse) {
  for (const char* line : {"q = x + x",
                           "q = x * x",
                           "q = - x",
                           "q = not x",
                           "q = x if x else x",
                           "q = x and x",
                           "q = x == x",
                           "q = [i for i in x]",
                           "q = (*x, *x)",
                           "f(*x)",
                           "q = lambda: x",
                           "q += 1",
                           "q = r = 1",
                           "q = x y",
                           "q = 1 2",
                           "assert x",
                           "raise x",
                           "del x",
                           "break",
                           "continue",
                           "global x",
                           "import os",
                           "for i in x:",
                           "for i, j in range(2):",
                           "elif x:",
                           "q = x[1:2]",
                           "q = x.if",
                           "return x\n    q = 1",
                           "class A:",
                           "q =",
                           "= q",
                           "q = (,)",
                           "q = f(,)",
                           "q = x.",
                           "q = {x}}",
                           "@x",
                           "if x: pass",
                           "else: pass",
                           "def f(a): pass",
                           "def f(a: int) -> int:",
                           "with x as y:",
                           "q : = 1"}) {
    EXPECT_FALSE(CheckBody(absl::StrCat("    ", line, "\n")).ok()) << line;
  }
  for (const char* code : {"x = 1\n",
                           "import os\n",
                           "op_version_set = 1.0\n",
                           "op_version_set = 1, 2\n",
                           "op_version_set = x\n",
                           "op_version_set = 1\nop_version_set = 1\n",
                           "  class A:\n    a : int\n",
                           "class A\n",
                           "class A(B):\n  a : int\n",
                           "class A:\n",
                           "class A:\na : int\n",
                           "class A:\n  a\n",
                           "class A:\n  a = 1\n",
                           "class A:\n  pass\n",
                           "class A:\n  a : int\n b : int\n",
                           "class A:\n  __annotations__[0] = int\n",
                           "class A:\n  __parameters__ = f()\n",
                           "class A:\n  __parameters__ = [1]\n",
                           "def f(x) -> int: return x\n",
                           "def f(x):\n  return x\n",
                           "def f(x) -> :\n  return x\n",
                           "def f() -> int:\n",
                           "def if() -> int:\n  return x\n",
                           "class A:\n  a : int\nclass A:\n  a : int\n"}) {
    EXPECT_FALSE(CheckCode(code).ok()) << code;
  }
}

// LibTorch expects certain statements in each kind of class. It reads parts that
// other statements do not have. "crashes" marks statements that crash it.
TEST(ArchiveCheckTest, KindsOfClassesHaveTheirOwnStatements) {
  EXPECT_OK(
      CheckCode("class A(Enum):\n  RED = 1\n  MINUS = -1\n  HALF = 0.5\n  TEXT = \"t\"\n"
                "class B(Interface):\n  def f(self) -> int:\n    pass\n"
                "class C(NamedTuple):\n  a : int\n"
                "class D(Module):\n  __annotations__ = []\n  a : Final[int] = -1\n"));
  const struct {
    const char* code;
    const char* message;
  } cases[] = {
      {"class A(Enum):\n  RED : int\n", ":2:7: ':'"},  // crashes
      {"class A(Enum):\n  RED : int = 1\n", ":2:7: ':'"},
      {"class A(Enum):\n  RED = [1]\n", ":2:11: the statement"},
      {"class A(Enum):\n  RED = inf\n", ":2:9: the statement"},
      {"class A(Enum):\n  RED = 1j\n", ":2:9: the statement"},
      {"class A(Enum):\n  RED = - 1j\n", ":2:11: the statement"},
      {"class A(Enum):\n  RED = 1\n  def f(self: int) -> int:\n    return 1\n", ":3:7: 'f'"},
      {"class A(NamedTuple):\n  a : int\n  def f(self: int) -> int:\n    return 1\n", ":3:7: 'f'"},
      {"class A(NamedTuple):\n  a : int = 3\n", ":2:11: '='"},
      {"class A(NamedTuple):\n  __parameters__ = [\"a\", ]\n", ":2:18: '='"},
      {"class A(NamedTuple):\n  __annotations__[\"a\"] = int\n", ":2:18: '['"},
      {"class A(Interface):\n  a : int\n", ":2:3: 'a'"},
      {"class A(Interface):\n  __parameters__ = []\n", ":2:3: '__parameters__'"},
      {"class A(Interface):\n  def f() -> int:\n    pass\n", ":2:7: 'f'"},  // crashes
      {"class A(Interface):\n  def f(self) -> int:\n    return 1\n", ":3:5: 'return'"},
      {"class A(Module):\n  def f() -> int:\n    return 1\n", ":2:7: 'f'"},
      {"class A(Module):\n  __parameters__ : int\n", ":2:18: ':'"},
      {"class A(Module):\n  __forward_hooks__ : int\n", ":2:21: ':'"},
      {"class A(Module):\n  __annotations__ : int\n", ":2:19: ':'"},
      {"class A:\n  a = 1\n", ":2:5: '='"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(CheckCode(c.code), Refused(absl::StrCat("m.py", c.message))) << c.code;
  }
  // The kind of a class does not apply to the next class or function.
  EXPECT_OK(
      CheckCode("class A(Interface):\n  def f(self) -> int:\n    pass\n"
                "def g(x: Tensor) -> Tensor:\n  y = x\n  return y\n"
                "class B:\n  a : int\n  def f(self: __torch__.m.B) -> int:\n    return 1\n"));
}

TEST(ArchiveCheckTest, RefusesEmptyIndices) {
  // LibTorch takes the first index without a check, and crashes if a tensor is indexed.
  EXPECT_THAT(CheckBody("    q = x[]\n"), Refused("m.py:11:11: ']'"));
  EXPECT_THAT(CheckBody("    q = [1][]\n"), Refused("m.py:11:13: ']'"));
  EXPECT_THAT(CheckBody("    x[] = x\n"), Refused("m.py:11:7: ']'"));
  EXPECT_OK(CheckBody("    q = x[1]\n    r = []\n    s = f()\n"));
}

TEST(ArchiveCheckTest, TypesAreNamesWithTypesInBrackets) {
  for (const char* type : {"int", "a.b.c", "List[int]", "Dict[str, List[a.b]]", "Tuple[()]",
                           "Tuple[Tuple[()], int]"}) {
    EXPECT_OK(CheckCode(absl::StrCat("class A:\n  a : ", type, "\n"))) << type;
  }
  for (const char* type : {"[int]", "[]", "List[]", "List[int][int]", "List[[int]]", ".a", "a..b",
                           "List[.a]", "a.[b]", "Tuple[()[]]"}) {
    EXPECT_THAT(CheckCode(absl::StrCat("class A:\n  a : ", type, "\n")),
                Refused("is not what PyTorch writes here"))
        << type;
  }
}

}  // namespace
}  // namespace graphnet
