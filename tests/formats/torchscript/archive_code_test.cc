// Code of archives that would run when LibTorch only loads it.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/formats/torchscript/archive_check.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/torchscript/archive_bytes.h"

namespace graphnet {
namespace {

TEST(ArchiveCheckTest, AcceptsTheLanguageOfTheWriter) {
  EXPECT_OK(CheckBody(R"(    _0 = uninitialized(int)
    if torch.__isnot__(y, None):
      y0 = unchecked_cast(Tensor, y)
    else:
      if torch.gt(torch.dim(x), 1):
        pass
      else:
        _2 = torch.format("bad \"dim\" {}\n", torch.dim(x))
        ops.prim.RaiseException(_2, "builtins.ValueError")
      y0 = x
    ml = self.other
    _00 = getattr(ml, "0")
    x1 = (_00).forward(x, )
    _4, n, = 0, -1.5e-07
    _5 = True
    while _5:
      _5, _4 = torch.lt(_4, 10), torch.add(_4, 1)
    for i in range(torch.len([x, y0])):
      z = 1.+2.j
    def __forked_function():
      return __torch__.m.fk(x1, )
    fu = fork(__forked_function)
    x4 = torch.wait(fu)
    with _00:
      x5 = (x4, -inf, nan, {"a": [1, 2], "b": annotate(List[int], [])}, ())
    self.other = 3
    s = CONSTANTS.c0
    col = __torch__.m.Color.RED
    w = ((self).other(x, ))[0][1]
    t = torch.device("cpu")
    v : Optional[int] = None
)"));
  EXPECT_OK(CheckCode(absl::StrCat(kClass, R"(class Color(Enum):
  RED = 1
  BLUE = 2
class Iface(ModuleInterface):
  def forward(self, x: Tensor) -> Tensor:
    pass
class NT(NamedTuple):
  a : Tensor
  b : Optional[str]
class Hooked(Module):
  __parameters__ = []
  __buffers__ = []
  __forward_hooks__ = ["hk", ]
  def hk(self: __torch__.m.Hooked,
    out: Tensor) -> Tensor:
    return out
class Helper:
  x : int
  def __init__(self: __torch__.m.Helper,
    x: int) -> NoneType:
    self.x = x
    return None
def fn(x: Tensor,
    k: int=3,
    name: str=CONSTANTS.c0,
    dev: Optional[Device]=torch.device("cpu"),
    c: __torch__.m.Color=__torch__.m.Color.RED,
    l: List[int]=annotate(List[int], []),
    t: Tuple[int, float]=(1, -2.5),
    e: Tuple[()]=(),
    f: float=-inf) -> Tensor:
  return x
)")));
}

TEST(ArchiveCheckTest, RefusesSetState) {
  const auto set_state = [](absl::string_view body) {
    return CheckCode(absl::StrCat(kClass, "  def __setstate__(self: __torch__.m.M, x: int) -> ",
                                  "NoneType:\n", body, "    return None\n"));
  };
  EXPECT_OK(set_state("    self.other = x\n    _0 = (self).set((x)[0], (x)[1], )\n"));
  for (const char* body :
       {"    self.weight = torch.from_file(\"f\", True, 9)\n",
        "    self.weight = ops.aten.from_file(\"f\", True, 9)\n", "    _0 = __torch__.m.f(x)\n",
        "    while x:\n      pass\n", "    if x:\n      pass\n    else:\n      pass\n",
        "    _0 = getattr(self, \"other\")\n", "    self.weight = CONSTANTS.c0\n"}) {
    EXPECT_THAT(set_state(body), Refused("m.pt: code/__torch__/m.py:8:7: defines __setstate__"))
        << body;
  }
  EXPECT_FALSE(CheckCode("def __setstate__(x: int) -> NoneType:\n  return None\n").ok());
  for (const char* name : {"__setstate__", "__getstate__"}) {
    EXPECT_THAT(CheckBody(absl::StrCat("    (self).", name, "(x, )\n")), Refused("mentions __"));
    EXPECT_THAT(CheckBody(absl::StrCat("    getattr(self, \"", name, "\")(x, )\n")),
                Refused("mentions __"));
  }
  EXPECT_THAT(CheckCode("class M:\n  __forward_hooks__ = [\"h\"]\n"),
              Refused("code/__torch__/m.py:1: the hook 'h'"));
}

TEST(ArchiveCheckTest, RefusesDefaultsThatRunWhenTheFileIsLoaded) {
  for (const char* value :
       {"torch.from_file(\"f\", True, 9)", "ops.aten.from_file(\"f\", True, 9)", "__torch__.m.f()",
        "__torch__.torch.device(\"cpu\")", "__torch__.m.annotate(1, 2)", "torch.device(f(\"cpu\"))",
        "[f(1)]", "(torch.rand)([2])", "CONSTANTS.c0.add_(1)", "getattr(torch, \"rand\")([2])",
        "fork(__torch__.m.f)", "[1][0]", "\"a\".upper()", "1 + 1", "[i for i in range(9)]", "f",
        ""}) {
    EXPECT_FALSE(CheckCode(absl::StrCat("def g(x: Tensor,\n    y: Tensor=", value,
                                        ") -> Tensor:\n  return x\n"))
                     .ok())
        << value;
    EXPECT_FALSE(CheckCode(absl::StrCat("class A:\n  y : Final[Tensor] = ", value, "\n")).ok())
        << value;
  }
  // LibTorch evaluates the type here by mistake.
  EXPECT_THAT(CheckCode("class A(NamedTuple):\n  a : torch.rand([2]) = Tensor\n"),
              Refused("m.py:2:17: '(' is not"));
  EXPECT_THAT(CheckCode("def g(x: torch.rand([2])) -> Tensor:\n  return x\n"), Refused("'('"));
  EXPECT_THAT(CheckCode("def g(x: Tensor) -> torch.rand([2]):\n  return x\n"), Refused("'('"));
}

TEST(ArchiveCheckTest, RefusesTorchClasses) {
  EXPECT_THAT(CheckBody("    q = __torch__.torch.classes.a.B(x)\n"), Refused("torch.classes"));
  // Types of packed parameters are taken, but no object of them is made.
  const std::string packed = "__torch__.torch.classes.rnn.CellParamsBase";
  EXPECT_OK(CheckCode("class A:\n  a : " + packed + "\n"));
  EXPECT_OK(CheckBody("    q = annotate(List[" + packed + "], [])\n"));
  EXPECT_THAT(CheckBody("    q = " + packed + "(x)\n"), Refused("torch.classes"));
  EXPECT_THAT(CheckCode("class A:\n  a : a." + packed + "\n"), Refused("torch.classes"));
  EXPECT_THAT(CheckCode("class A:\n  a : " + packed + ".B\n"), Refused("torch.classes"));
  EXPECT_THAT(CheckBody("    q = __torch__ . torch . classes . a(x)\n"), Refused("torch.classes"));
  EXPECT_THAT(CheckBody("    q = annotate(\"torch.classes.a.B\", x)\n"), Refused("torch.classes"));
  EXPECT_THAT(CheckCode("class A:\n  a : __torch__.torch.classes.a.B\n"), Refused("torch.classes"));
  EXPECT_THAT(CheckCode("class A:\n  a : \"torch.classes.a.B\"\n"), Refused("is not what"));
  EXPECT_THAT(CheckWith("code/__torch__/torch/classes/a.py", "class B:\n  a : int\n"),
              Refused("torch.classes"));
  EXPECT_OK(CheckBody("    q = self.classes\n"));
}

TEST(ArchiveCheckTest, RefusesWhatTheCompilerFoldsForAnyTime) {
  for (const char* call : {"torch.zfill(\"a\", 9)", "ops.aten.center(\"a\", 9)", "\"a\".ljust(9)",
                           "(\"a\").rjust(9)", "getattr(x, \"factorial\")(9)",
                           "CONSTANTS.c0.replace(\"a\", x)", "CONSTANTS.x0.zfill(9)"}) {
    EXPECT_THAT(CheckBody(absl::StrCat("    q = ", call, "\n")), Refused("may run when")) << call;
  }
  EXPECT_OK(CheckBody("    q = (self).center(x)\n    r = self.center\n"));
  // The function is called under another name or as a value.
  for (const char* line : {"g = torch.add", "g = str", "g = getattr", "g = [torch.add]",
                           "a, getattr = x, x", "return torch.add"}) {
    EXPECT_FALSE(CheckBody(absl::StrCat("    ", line, "\n")).ok()) << line;
  }
  // PyTorch calls a variable like the submodule that it holds.
  EXPECT_OK(CheckCode(absl::StrCat(Code("    q = x\n"),
                                   "  def other(self: __torch__.m.M,\n"
                                   "    x: Tensor) -> Tensor:\n"
                                   "    q = torch.relu(x)\n"
                                   "    torch = self.torch\n"
                                   "    return (torch).forward(q, )\n")));
  EXPECT_OK(
      CheckBody("    y = annotate(int, 1)\n    annotate = self.annotate\n"
                "    z = (annotate).forward(y, )\n"));
  EXPECT_THAT(CheckBody("    torch = self.torch\n    y = torch.add(x, x)\n"),
              Refused("a variable hides 'torch'"));
  EXPECT_THAT(CheckBody("    torch = self.torch\n    y = torch(x)\n"),
              Refused("a variable hides 'torch'"));
  EXPECT_THAT(CheckBody("    annotate = x\n    y = annotate(str, \"a\")\n"),
              Refused("a variable hides 'annotate'"));
}

TEST(ArchiveCheckTest, RefusesStringsThatDouble) {
  const auto doubled = [](const std::string& start, const std::string& step, int times) {
    std::string body = "    s0 = " + start + "\n";
    for (int i = 0; i < times; ++i) {
      body += absl::StrCat("    s", i + 1, " = ", step, "(s", i, ", s", i, ")\n");
    }
    return body;
  };
  EXPECT_OK(CheckBody(doubled("\"a\"", "torch.add", 20)));
  EXPECT_THAT(CheckBody(doubled("\"a\"", "torch.add", 21)), Refused("string grows too long"));
  for (const char* start : {"torch.str(1)", "CONSTANTS.c0", "__torch__.m.Color.RED.name",
                            "self.text", "getattr(self, \"text\")", "str(1)"}) {
    EXPECT_THAT(CheckCode(Code(doubled(start, "torch.add", 30)) +
                          "class Color(Enum):\n  RED = 1\n"
                          "class B:\n  text : Final[str] = \"abc\"\n"),
                Refused("string grows too long"))
        << start;
  }
  // A tensor that is added to itself is not a string, even if a string was an argument.
  EXPECT_OK(CheckBody(doubled("torch.pad(x, [1], \"constant\")", "torch.add", 200)));
}

// MultiheadAttention passes strings through its branches like this.
TEST(ArchiveCheckTest, AllowsStringsThatAreHandedOver) {
  const auto handed = [](const std::string& step, int times) {
    std::string body = "    s, t = \"abc\", \"def\"\n";
    for (int i = 0; i < times; ++i) absl::StrAppend(&body, "    ", step, "\n");
    return body;
  };
  EXPECT_OK(CheckBody(handed("s, t = t, s", 300)));
  EXPECT_OK(CheckBody(handed("a, s, t, b = True, t, s, x", 300)));
  EXPECT_THAT(CheckBody(handed("s, t = torch.add(s, t), torch.add(t, s)", 30)),
              Refused("string grows too long"));
  EXPECT_THAT(CheckBody(handed("u = (s, t)\n    s, t = u\n    v = torch.add(s, t)", 300)),
              Refused("grows too"));
}

TEST(ArchiveCheckTest, RefusesTuplesThatDouble) {
  const auto doubled = [](const std::string& step, int times) {
    std::string body = "    t0 = (x, x)\n";
    for (int i = 0; i < times; ++i) {
      body += absl::StrReplaceAll(
          step, {{"$new", absl::StrCat("t", i + 1)}, {"$old", absl::StrCat("t", i)}});
    }
    return body;
  };
  // LibTorch's analysis of aliases visits the elements of a tuple twice.
  for (const char* step :
       {"    $new = ($old, x)\n", "    $new = ($old,)\n", "    $new = ($old, $old)\n",
        "    $new = $old, $old\n", "    $new = ([$old], [$old])\n",
        "    u = torch.__getitem__([$old], 0)\n    $new = (u, u)\n",
        "    u, v = $old, $old\n    $new = (u, v)\n",
        "    def f():\n      return ($old, $old)\n    $new = torch.wait(fork(f))\n",
        "    $new = annotate(Any, ($old, $old))\n"}) {
    EXPECT_OK(CheckBody(doubled(step, 8))) << step;
    EXPECT_THAT(CheckBody(doubled(step, 30)), Refused("tuple's type grows")) << step;
  }
  std::string named = "class N0(NamedTuple):\n  a : int\n";
  for (int i = 1; i < 30; ++i) {
    absl::StrAppend(&named, "class N", i, "(NamedTuple):\n  a : __torch__.m.N", i - 1,
                    "\n  b : __torch__.m.N", i - 1, "\n");
  }
  EXPECT_THAT(CheckCode(named), Refused("NamedTuple of more than"));
}

}  // namespace
}  // namespace graphnet
