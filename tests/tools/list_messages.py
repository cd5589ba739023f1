#!/usr/bin/env python3
"""Finds the messages that a user can meet, and says which of them no test, page or example has.

    tests/tools/list_messages.py            all messages, in the order of the files
    tests/tools/list_messages.py --check    those without a trigger; exits with 1 if there are any

In C++, a message is the texts within the brackets of a call that makes an error or a note (MAKERS), that
are assigned to a variable such as `why` (FIELDS), that are returned, thrown or printed to the standard
error. In Python, it is what is raised, warned of or printed there. Code is not parsed: comments are
blanked, literals are masked, and brackets counted.

A message has a trigger if the longest of its literals stands in tests/, docs/, examples/ or README.md, if
a literal of a test is some words of it, or if tests/tools/messages_not_triggered.txt has it with the
reason why nothing can trigger it. Each side of `is_so ? "one" : "other"` needs a trigger of its own.
--check fails as well if text is printed to the standard error, or thrown, outside the files meant for it.
"""

import argparse
import ast
import bisect
import pathlib
import re
import subprocess
import sys
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ("graphnet", "python/bindings", "python/graphnet_ir")
TRIGGERS = ("tests", "docs", "examples", "README.md")
REASONS = "tests/tools/messages_not_triggered.txt"
# Where text may be printed to the standard error, or thrown: the errors, notes and progress of the
# tool, what ends the program, and the workers of compilers, which stand alone.
MAY_PRINT = re.compile(r"graphnet/(command/(messages|progress)\.cc|base/check\.h|evaluate/workers/.*)")
MAY_THROW = re.compile(r"graphnet/(evaluate/workers/.*|command/command_line\.cc)|python/bindings/.*")
# Where constants are parts of the help.
HAS_HELP = re.compile(r"graphnet/(cli|command|\w+/commands)/|python/")
FRAGMENT = 12  # bytes of a literal that tell one message from the others

MAKERS = (
    r"absl::Status(?:\s+\w+)?|(?!Is)\w*Error\w*|error|[Ff]ail\w*|[Rr]efuse\w*|Annotate|Bad|CannotRepresent|Conflict|"
    r"[Dd]iffers?|Expected\w*|Foreign|InEntry|Misfit|Named|No|No(?:Rule|Value)\w*|Nonsense|Raises?|RunsAtLoad|Save|"
    r"Unimplemented\w*|Unknown|Unlike|Unresolved|Wrong|AddUnknown|ConfigSays|Block|Keep|Tell|CheckDType|AddOperatorFacts|"
    r"Note|NoteLine|Warn|Say|Print(?:Note|Warning|Summary)|"
    r"\w*(?:notes|doubts|findings|problems|reasons)\w*(?:\(\))?(?:\.|->)(?:push_back|emplace_back)"
)
FIELDS = "message|why|why_not|reason|problem|wrong|note|doubt|what|error|refusal"
OPENING = re.compile(
    rf"(?<!\w)(?:{MAKERS})\(|(?<!\w)(?:{FIELDS}) \+?= ?|\bAbsl?StrAppend\(&(?:{FIELDS})\b|"
    r"\bconstexpr char k\w+\[\] = ?|\bconstexpr absl::string_view k\w+ = ?|"
    r"(?<!\w)(?:Add|AddFault)\(|\breturn\b|\bthrow\b|\bstd::cerr <<|\bfprintf\(stderr|\bfputs\("
)
LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|^[ \t]*#[ \t]*include[^\n]*|R"(?P<mark>[^()\\\s]{0,16})\((?P<raw>.*?)\)(?P=mark)"|'
    r'(?P<text>"(?:[^"\\\n]|\\.)*")|(?<!\w)\'(?:[^\'\\\n]|\\.)+\'',
    re.DOTALL | re.MULTILINE,
)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class Message(typing.NamedTuple):
    file: str
    line: int
    fragments: typing.Tuple[str, ...]  # literals, in their order


def is_sentence(text: str) -> bool:
    """Whether a literal is for a reader: two words, at least."""
    return re.search(r"[A-Za-z]{2,}[,:;]? [A-Za-z]{2,}|^[A-Za-z]+ $|^ [a-z]+", text) is not None


class Cpp:
    """A file of C++: its text without comments and with masked literals, and the literals by their place."""

    def __init__(self, text: str) -> None:
        self.literals: typing.List[typing.Tuple[int, int, str]] = []
        self.lines = [match.start() for match in re.finditer("\n", text)]
        self.masked = LITERAL.sub(self._mask, text)

    def _mask(self, match: "re.Match[str]") -> str:
        blank = re.sub(r"[^\n]", " ", match[0])
        if match["text"] is None and match["raw"] is None:
            return blank
        value = match["raw"]
        if value is None:
            value = re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[1]), match["text"][1:-1])
        last = self.literals[-1] if self.literals else None
        if last and not match.string[last[1]:match.start()].strip():  # adjacent literals are one
            self.literals[-1] = (last[0], match.end(), last[2] + value)
        else:
            self.literals.append((match.start(), match.end(), value))
        return '"' + blank[2:] + '"' if len(blank) > 1 else blank

    def line(self, place: int) -> int:
        return bisect.bisect_left(self.lines, place) + 1

    def end(self, place: int) -> int:
        """Where the expression ends that begins at a place."""
        depth = 0
        for found in re.compile(r"[(\[{]|[)\]}]|;").finditer(self.masked, place):
            depth += (found[0] in "([{") - (found[0] in ")]}")
            if depth < 0 or (depth == 0 and found[0] == ";"):
                return found.start()
        return len(self.masked)

    def within(self, begin: int, end: int) -> typing.List[typing.Tuple[int, str]]:
        first = bisect.bisect_left(self.literals, (begin, 0, ""))
        last = bisect.bisect_left(self.literals, (end, 0, ""))
        return [(place, value) for place, _, value in self.literals[first:last]]

    def messages(self, file: str) -> typing.Iterator[Message]:
        seen: typing.Set[int] = set()
        for found in OPENING.finditer(self.masked):
            begin = found.end()
            texts = [(place, value) for place, value in self.within(begin, self.end(begin)) if place not in seen]
            # What may be something else than a message.
            is_plain = re.match(r"return|throw|std|fp|const|Add", found[0]) is not None
            if found[0].startswith("const") and HAS_HELP.match(file):
                continue  # heads of --help
            if found[0] == "return" and re.search(r"(case [\w:]+|default):\s*$", self.masked[max(found.start() - 80, 0):found.start()]):
                continue  # a word for each of a kind
            if found[0] == "return" and not re.match(r'\s*(?:"|absl::StrCat\(|[\w.()>!=& -]*\?\s*")', self.masked[begin:begin + 80]):
                continue  # a call, which is looked at by itself
            kept = [(place, value) for place, value in texts if re.search(r"\w", value)]
            if not kept or (is_plain and not any(is_sentence(value) for _, value in kept)):
                continue
            if found[0].startswith(("return", "const")) and any("\n" in value.strip() for _, value in kept):
                continue  # a text of a file
            seen.update(place for place, _ in kept)
            chosen = [(place, value) for place, value in kept
                      if re.search(r"[?:]\s*$", self.masked[max(place - 20, begin):place]) and is_sentence(value)]
            for place, value in chosen:
                yield Message(file, self.line(place), (value,))
            if rest := tuple(value for place, value in kept if (place, value) not in chosen):
                yield Message(file, self.line(kept[0][0]), rest)

    def elsewhere(self, file: str) -> typing.Iterator[typing.Tuple[int, str]]:
        """Lines that print or throw where they should not."""
        for found in re.finditer(r"\b(std::cerr <<|f(?:printf|puts)\([^;]*\bstderr\b|throw\b(?=[^;]*\"))", self.masked):
            allowed = MAY_THROW if found[0] == "throw" else MAY_PRINT
            texts = self.within(found.start(), self.end(found.start()))
            if not allowed.fullmatch(file) and any(re.search(r"[A-Za-z]{3}", value) for _, value in texts):
                yield self.line(found.start()), "throws" if found[0] == "throw" else "prints"


def python_messages(files: typing.List[str]) -> typing.Iterator[Message]:
    def name_of(node: ast.expr) -> str:
        return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""

    def literals(node: ast.expr) -> typing.List[str]:
        return [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]

    trees = {file: ast.parse((ROOT / file).read_text(encoding="utf-8")) for file in files}
    # What is called to make what is raised is called elsewhere for the same.
    raised = {name_of(node.exc.func) for tree in trees.values() for node in ast.walk(tree)
              if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)}
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            name = name_of(node.func)
            to_stderr = name == "print" and any(
                keyword.arg == "file" and "stderr" in ast.unparse(keyword.value) for keyword in node.keywords)
            if name in raised or to_stderr or (name in ("warn", "exit", "error") and isinstance(node.func, ast.Attribute)):
                for argument in node.args:
                    sides = [argument.body, argument.orelse] if isinstance(argument, ast.IfExp) else [argument]
                    for side in sides:
                        found = [text for text in literals(side) if re.search(r"\w", text)]
                        if any(is_sentence(text) or re.search(r"\w+ |: ", text) for text in found):
                            yield Message(file, node.lineno, tuple(found))


def files_of(*folders: str) -> typing.List[str]:
    listed = subprocess.run(["git", "ls-files", "-z", "--", *folders], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return sorted(filter(None, listed.stdout.decode().split("\0")))


def plain(text: str) -> str:
    """How texts are compared: one space for any, and no backslashes of regular expressions."""
    return re.sub(r"\s+", " ", text.replace("\\", ""))


class Triggers:
    """The text of all that could trigger a message, the literals of tests, and the reasons."""

    def __init__(self) -> None:
        texts, self.literals = [], set()
        for file in files_of(*TRIGGERS):
            if file == REASONS or file.endswith("list_messages.py") or "/fuzz/" in file:
                continue
            try:
                text = (ROOT / file).read_text(encoding="utf-8")
            except (UnicodeDecodeError, IsADirectoryError):
                continue
            found = self.literals_of(file, text)
            texts.append(plain("\n".join(found) or text))
            # Of a regular expression, each part that is plain.
            parts = (re.sub(r"^\W+|\W+$", "", plain(part)) for literal in found if len(literal) < 300
                     for part in re.split(r"\.[*+]\??|\[.*?\]|\\d\+", literal))
            self.literals.update(part for part in parts if len(part) >= FRAGMENT and " " in part)
        self.text = "\n".join(texts)
        self.reasons: typing.Set[str] = set()
        for line in (ROOT / REASONS).read_text(encoding="utf-8").splitlines():
            if line.strip() and not line.startswith("#"):
                fragment, mark, reason = line.rpartition(" | ")
                if not mark or not reason.strip():
                    raise SystemExit(f"{REASONS}: no reason: {line}")
                self.reasons.add(plain(fragment))
        self.used: typing.Set[str] = set()

    @staticmethod
    def literals_of(file: str, text: str) -> typing.List[str]:
        if file.endswith((".cc", ".h")):
            return [value for _, _, value in Cpp(text).literals]
        if file.endswith(".py"):
            try:
                tree = ast.parse(text)
            except SyntaxError:
                return []
            return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        if file.endswith(".sh"):
            quoted = re.findall(r"'([^'\n]+)'|\"([^\"\n]+)\"", text)
            return [text, *(single or double for single, double in quoted)]
        return []

    def have(self, message: Message) -> bool:
        whole = plain("{…}".join(message.fragments))
        if reasons := [reason for reason in self.reasons if reason in whole]:
            self.used.update(reasons)
            return True
        for fragment in map(plain, message.fragments):
            words = [(found.start(), found.end()) for found in re.finditer(r"\w+", fragment)]
            for i, (begin, _) in enumerate(words):
                if any(fragment[begin:end] in self.literals for _, end in words[i + 1:] if end - begin >= FRAGMENT):
                    return True
        longest = max((plain(text).strip() for text in message.fragments), key=len)
        # printf's own marks stand between the literals of a format, too.
        longest = max(re.split(r"%[-+ #0]*[\d*]*(?:\.[\d*]+)?[hlzjt]*[a-zA-Z%]|\$\d", longest), key=len).strip()
        return len(longest) < FRAGMENT or longest in self.text


SAMPLE = r"""
#include "quotes.h"  // "no message"
absl::Status Check(const Node& node, const std::string& flag, int n) {
  /* return absl::NotFoundError("a comment is no message"); */
  const char quote = '"', backslash = '\\';
  if (n == 0) return Fail(node, "has no \"size\"" R"( (a, b))");
  if (n == 2) return absl::NotFoundError(absl::StrCat("there is no ", flag, "; name one"));
  if (n == 4) return NodeError(node, n > 5 ? "has one too many" : "has one too few");
  if (n == 5) return "it takes the size apart";
  RETURN_IF_ERROR(Check(node, "not a message", 0));
  std::fprintf(stderr, "note: %d calls are left\n", n);
}
"""
FOUND = [(6, ('has no "size" (a, b)',)), (7, ("there is no ", "; name one")), (8, ("has one too many",)),
         (8, ("has one too few",)), (9, ("it takes the size apart",)), (11, ("note: %d calls are left\n",))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="print what has no trigger, and exit with 1 if anything is wrong")
    options = parser.parse_args()
    sample = Cpp(SAMPLE)
    faults = []
    if [(line, texts) for _, line, texts in sample.messages("")] != FOUND or list(sample.elsewhere("")) != [(11, "prints")]:
        faults.append(f"the messages of SAMPLE are not found: {list(sample.messages(''))}")
    files = files_of(*SOURCES)
    messages = list(python_messages([file for file in files if file.endswith(".py")]))
    for file in files:
        if file.endswith((".cc", ".h")):
            source = Cpp((ROOT / file).read_text(encoding="utf-8"))
            messages += source.messages(file)
            faults += [f"{file}:{line}: {what} text where it should not" for line, what in source.elsewhere(file)]
    messages.sort()
    triggers = Triggers() if options.check else None
    missing = 0
    for message in messages:
        if triggers is None or not triggers.have(message):
            missing += 1
            print(f"{message.file}:{message.line}: " + "{…}".join(message.fragments).replace("\n", "\\n"))
    if triggers is None:
        print(f"{len(messages)} messages")
        return 0
    faults += [f"{REASONS}: no message has this fragment: {reason}" for reason in sorted(triggers.reasons - triggers.used)]
    for fault in faults:
        print(fault)
    print(f"{len(messages)} messages, {missing} have no trigger, {len(faults)} other faults")
    return 1 if missing or faults else 0


if __name__ == "__main__":
    sys.exit(main())
