#!/usr/bin/env python3
"""Tests that list_messages.py reads C++ and Python as they are, by files of a few lines."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import list_messages  # noqa: E402

CPP = r"""
#include "quotes.h"  // "no message"
constexpr char kHint[] = "; name one";
absl::Status Fail(const Node& node, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(node.name(), ": ", what));
}
std::string WhyNot(int n) {
  if (n == 1) return "it takes the size apart";
  return "";
}
absl::Status Check(const Node& node, const std::string& flag, int n) {
  const auto bad = [&](absl::string_view text) { return absl::DataLossError(text); };
  /* return absl::NotFoundError("a comment is no message"); */
  const char quote = '"', backslash = '\\';
  if (n == 0) return Fail(node, "has no \"size\"" R"( (a, b))");
  if (n == 1) return bad("the file ends early");
  if (n == 2) return absl::NotFoundError(absl::StrCat("there is no ", flag, n > 1 ? "s" : "", kHint));
  if (n == 3) return absl::NotFoundError(WhyNot(n));
  if (n == 4) return Fail(node, n > 5 ? "has one too many" : "has one too few");
  RETURN_IF_ERROR(Check(node, "not a message", 0));
  std::fprintf(stderr, "note: %d calls of %s are left\n", n, flag.c_str());
  command->add_flag("--quiet", quiet, "Print nothing");
  return absl::OkStatus();
}
"""
PYTHON = """
def refuse(what):
    return ValueError(what)

def f(n):
    "raise no message"
    if n: raise refuse(f"the size {n} is " "too large")
    return refuse("the size is missing")
"""


class ListMessages(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        root, list_messages.ROOT = list_messages.ROOT, pathlib.Path(self.folder.name)
        self.addCleanup(setattr, list_messages, "ROOT", root)

    def found(self, reader, text):
        (list_messages.ROOT / "file").write_text(text)
        self.read = reader(["file"])
        return {(message.kind, message.text) for message in self.read.messages}

    def test_cpp(self):
        self.assertEqual(
            self.found(list_messages.Cpp, CPP),
            {
                ("error", 'has no "size" (a, b)'),
                ("error", "the file ends early"),
                ("error", "there is no {flag}{s|}; name one"),
                ("part", "it takes the size apart"),
                ("error", "has one too many"),
                ("error", "has one too few"),
                ("note", "note: {n} calls of {flag} are left"),
                ("help", "Print nothing"),
            },
        )
        self.assertEqual([line for _, line, _ in self.read.elsewhere], [21])

    def test_python(self):
        self.assertEqual(
            self.found(list_messages.Python, PYTHON),
            {
                ("raise", "the size {n} is too large"),
                ("raise", "the size is missing"),
            },
        )

    def test_bracket_that_is_never_closed(self):
        with self.assertRaisesRegex(ValueError, "line 2: the bracket is never closed"):
            self.found(list_messages.Cpp, "int a;\nvoid f() {")

    def test_style(self):
        message = list_messages.Message(
            "file", 1, "error", "what is no tensor.", ("what is no tensor.",)
        )
        broken = [name for name, _, breaks in list_messages.RULES if breaks(message)]
        self.assertEqual(
            broken,
            [
                "opens with a fragment",
                "says 'is no', 'is none of'",
                "ends with a full stop",
                "does not name what is wrong",
            ],
        )

    def test_trigger(self):
        message = list_messages.Message(
            "file", 1, "error", "{x} is of the size {n}, not {m}", (" is of the size ", ", not ")
        )
        triggered = list_messages.is_triggered
        self.assertTrue(triggered(message, "%x is of the size 3, not 4", set()))
        self.assertFalse(triggered(message, "", {"of the size"}))
        self.assertTrue(triggered(message, "", {"is of the size"}))
        self.assertFalse(triggered(message, "is of the shape", set()))
        short = list_messages.Message("file", 1, "error", "{x}: takes {n}", (": takes ", " bytes"))
        self.assertTrue(triggered(short, "%x: takes 3 bytes", set()))

    def test_trigger_of_two_arguments(self):
        text = """
absl::Status Check(const Sample& sample) {
  const auto fail = [](absl::string_view option, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": the sample ", what));
  };
  return fail("--mesh", "is not one of many");
}
"""
        self.found(list_messages.Cpp, text)
        message = next(made for made in self.read.messages if "--mesh" in made.text)
        self.assertEqual(message.text, "--mesh{…}is not one of many")
        triggered = list_messages.is_triggered
        self.assertTrue(triggered(message, "--mesh: the sample is not one of many", set()))
        self.assertFalse(triggered(message, "--stage: the sample is not one of many", set()))


if __name__ == "__main__":
    unittest.main()
