#!/usr/bin/env python3
"""Lists every message that a user can meet, and says which of them nothing triggers.

    tests/tools/list_messages.py [--markdown]         all messages, in the order of the files
    tests/tools/list_messages.py --untriggered        those that no test, page or example has
    tests/tools/list_messages.py --style [--worst N]  those that break the style, the worst first
    tests/tools/list_messages.py --check              fails if a rule is broken

Messages are found by rules, not by lists of names:

error    what is given to absl::…Error or absl::Status, or as the text of a function that makes a
         status of it in any case (NodeError, Annotate, Fail, …)
finding  what is given as the parameter `message`, `why`, … of another function
note     what is given to Note, Warn, Say and the functions of graphnet/cli/messages.h, pushed to
         notes, or printed after "note:", "warning:"
part     text that such a message contains: of a variable or field such as `why` or `reason`, of a
         variable that a message names, or returned by a function that it calls
throw    what a program in C++ throws
print    other text on the standard error
help     descriptions of commands and options
raise    what Python raises, or gives to a function that makes what is raised
warn     what Python warns of or prints to the standard error

What is computed is between braces. A message has a trigger if its longest literal fragment stands
in tests/, docs/, examples/ or README.md, if a literal of a test is some words of it, or if
tests/tools/messages_not_triggered.txt has it with the reason why nothing can trigger it. --check
fails if a message has no trigger, or if text is printed to the standard error, or thrown in C++,
outside the files that are meant for it.
"""

import argparse
import ast
import collections
import dataclasses
import io
import itertools
import pathlib
import re
import subprocess
import sys
import tokenize

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cpp_source import Source  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ("graphnet", "python/bindings", "python/graphnet_ir")
TRIGGERS = ("tests", "docs", "examples", "README.md")
REASONS_NAME = "tests/tools/messages_not_triggered.txt"
REASONS = ROOT / REASONS_NAME
# Where text may be printed to the standard error, or thrown: the errors, notes and progress of the
# tool, what ends the program, and the workers of compilers, which stand alone.
MAY_PRINT = re.compile(r"graphnet/(cli/(messages|progress)\.cc|base/check\.h|evaluate/workers/.*)")
MAY_THROW = re.compile(r"graphnet/(evaluate/workers/.*|cli/options\.cc)|python/bindings/.*")
FRAGMENT = 12  # bytes of a literal that tell one message from the others

TEXT_TYPE = re.compile(r"string|constchar\*")
NAMES_OF_TEXT = {"message", "why", "why_not", "reason", "problem", "wrong", "note", "doubt"}
FIELDS_OF_TEXT = NAMES_OF_TEXT | {"what", "error", "refusal"}
NOTERS = {
    "Note", "Warn", "Say", "PrintNote", "PrintWarning", "PrintSummary", "PrintError", "NoteLine"}
PRINTERS = {"printf", "fprintf", "fputs", "puts", "print", "PrintF", "FPrintF"}
TO_INNER = {"string", "string_view", "move", "c_str", "AlphaNum"}
CONCATENATES = {"StrCat", "StrFormat", "Substitute"}
NO_SUCCESS = ("OkStatus", "RETURN_IF_ERROR", "ASSIGN_OR_RETURN")


@dataclasses.dataclass(frozen=True, order=True)
class Message:
    file: str
    line: int
    kind: str
    text: str  # what is computed between braces
    fragments: tuple[str, ...]  # the literals, in their order
    has_place: bool = False  # a function of the project adds what it is about


@dataclasses.dataclass
class Maker:
    file: str
    positions: set
    kind: str


def is_sentence(text):
    """Whether a literal is for a reader: two words, at least."""
    return re.search(r"[A-Za-z]{2,}[,:;]? [A-Za-z]{2,}|^[A-Za-z]+ $|^ [a-z]+", text) is not None


# An expression is a list of variants, each a list of pieces: ("literal", text), ("value", name).
def joined(variants_of_parts, most=8):
    return [
        list(itertools.chain(*choice))
        for choice in itertools.islice(itertools.product(*variants_of_parts), most)
    ]


def merged(pieces):
    out = []
    for kind, text in pieces:
        if out and kind == out[-1][0] == "literal":
            out[-1] = ("literal", out[-1][1] + text)
        elif text or kind == "value":
            out.append((kind, text))
    return out


def text_of(pieces):
    return "".join(text if kind == "literal" else "{" + text + "}" for kind, text in pieces)


class Cpp:
    """The messages of files in C++."""

    def __init__(self, files):
        self.sources = {file: Source((ROOT / file).read_text(encoding="utf-8")) for file in files}
        self.messages = set()
        self.elsewhere = []  # printed or thrown where it should not be
        self.constants = self._constants()
        self.texts = collections.defaultdict(list)  # functions that return text, by name
        self.own = collections.defaultdict(set)  # names of functions, by file
        for file, source in self.sources.items():
            for function in source.functions:
                self.own[file].add(function.name)
                if (
                    TEXT_TYPE.search(function.result)
                    and "map<" not in function.result
                    and "Status" not in function.result
                ):
                    self.texts[function.name].append((file, function))
        self.makers = collections.defaultdict(list)
        self._find_makers()
        self.wanted, self.variables = set(), set()
        for file in files:
            self._list(file)
        self._list_parts()

    def _constants(self):
        found = {}
        for file, source in self.sources.items():
            for i, token in enumerate(source.tokens):
                if (
                    token.kind == "name"
                    and re.match(r"k[A-Z]", token.text)
                    and not source.is_sign(i - 1, ".")
                ):
                    j = source.partner[i + 1] + 1 if source.is_sign(i + 1, "[") else i + 1
                    if not source.is_sign(j, "="):
                        continue
                    value = source.tokens[j + 1]
                    if value.kind == "string" and source.is_sign(j + 2, ";"):
                        found[file, token.text] = found[None, token.text] = value.text
                    else:
                        found.setdefault((file, token.text), None)  # a constant of another type
        return found

    # Makers: functions that make a status of a text.
    def _maker_at(self, file, i):
        """What the call at token i, a name before a bracket, makes: a Maker or None."""
        source = self.sources[file]
        name = source.tokens[i].text
        if source.is_sign(i - 1, "::") and source.is_name(i - 2, "absl"):
            if name.endswith("Error") and not name.startswith("Is"):
                return Maker("", {0}, "error")
            if name == "Status":
                return Maker("", {1}, "error")
            return None
        makers = self.makers.get(name)
        if not makers:
            return None
        here = [maker for maker in makers if maker.file == file]
        if not here and name not in self.own[file]:
            folder = file.rsplit("/", 1)[0]
            here = [maker for maker in makers if maker.file.rsplit("/", 1)[0] == folder] or makers
        if not here:
            return None
        return Maker(here[0].file, set().union(*(maker.positions for maker in here)), here[0].kind)

    def _calls(self, file, begin, end):
        source = self.sources[file]
        for i in range(begin, end):
            if source.is_name(i) and source.is_sign(i + 1, "("):
                yield i
            elif (
                source.is_name(i, "Status")
                and source.is_name(i + 1)
                and source.is_sign(i + 2, "(")
                and source.is_sign(i - 1, "::")
            ):
                yield i  # absl::Status status(code, text)

    def _arguments(self, file, i):
        source = self.sources[file]
        return source.arguments(i + 1 if source.is_sign(i + 1, "(") else i + 2)

    def _find_makers(self):
        changed = True
        candidates = [
            (file, function)
            for file, source in self.sources.items()
            for function in source.functions
            if any(TEXT_TYPE.search(kind) for kind, _ in function.parameters)
        ]
        while changed:
            changed = False
            for file, function in candidates:
                positions, kind = self._positions(file, function)
                if not positions:
                    continue
                before = next(
                    (maker for maker in self.makers[function.name] if maker.file == file), None
                )
                if before is None:
                    self.makers[function.name].append(Maker(file, positions, kind))
                    changed = True
                elif not positions <= before.positions:
                    before.positions |= positions
                    changed = True

    def _positions(self, file, function):
        """The parameters of a function that always become a message, and its kind."""
        source = self.sources[file]
        texts = {
            name: i
            for i, (kind, name) in enumerate(function.parameters)
            if TEXT_TYPE.search(kind) and name and "*" not in kind.replace("char*", "")
        }
        named = {i for name, i in texts.items() if name in NAMES_OF_TEXT}
        body = source.tokens[function.body[0] : function.body[1]]
        result = re.sub(r"^(static|inline|virtual)+", "", function.result)
        makes = result == "absl::Status" or (function.is_lambda and not result)
        if not makes:
            return (named, "finding") if named and "Status" not in function.result else (set(), "")
        if any(token.text in NO_SUCCESS for token in body if token.kind == "name"):
            return set(), ""
        flows = {name: {i} for name, i in texts.items()}
        found = set()
        for i in range(*function.body):
            if not source.is_name(i):
                continue
            # A variable that is made of a parameter is one.
            if source.is_sign(i + 1, "=") and not source.is_sign(i + 2, "="):
                end = next(
                    (j for j in range(i, function.body[1]) if source.is_sign(j, ";")),
                    function.body[1],
                )
                made = set().union(
                    *(
                        flows.get(source.tokens[j].text, set())
                        for j in range(i + 2, end)
                        if source.is_name(j)
                    )
                )
                if made:
                    flows.setdefault(source.tokens[i].text, set()).update(made)
        for i in self._calls(file, *function.body):
            maker = self._maker_at(file, i)
            if maker is None or maker.kind == "finding":
                continue
            for position, (begin, end) in enumerate(self._arguments(file, i)):
                if position in maker.positions:
                    for j in range(begin, end):
                        if source.is_name(j):
                            found |= flows.get(source.tokens[j].text, set())
        return found, "error"

    # Texts.
    def _short(self, file, begin, end):
        names = [
            token.text
            for token in self.sources[file].tokens[begin:end]
            if token.kind == "name"
            and token.text
            not in (
                "absl",
                "std",
                "Printable",
                "StrJoin",
                "first",
                "StrCat",
                "size",
                "graphnet",
                "c_str",
            )
        ]
        return (
            names[-1]
            if len(names) and self.sources[file].is_sign(end - 1, ")") and len(names) < 3
            else (names[0] if names else "…")
        )

    def variants(self, file, begin, end):
        """The variants of the text that the expression of these tokens makes."""
        source = self.sources[file]
        while begin < end and source.is_sign(begin, "(") and source.partner[begin] == end - 1:
            begin, end = begin + 1, end - 1
        if begin >= end:
            return [[]]
        first = source.tokens[begin]
        if end == begin + 1:
            if first.kind == "string":
                return [[("literal", first.text)]]
            if first.kind == "char":
                return [[("literal", first.text[1:-1].replace("\\n", "\n"))]]
            if first.kind == "name":
                constant = self.constants.get(
                    (file, first.text), self.constants.get((None, first.text))
                )
                if constant is not None:
                    return [[("literal", constant)]]
                self.variables.add((file, begin))
            return [[("value", first.text)]]
        question = source.split(begin, end, "?")
        if len(question) > 1:
            # Of a ? b : c ? d : e, what is before the first colon and after.
            colon = source.split(question[1][0], end, ":")
            return (
                [*self.variants(file, *colon[0]), *self.variants(file, colon[0][1] + 1, end)]
                if len(colon) > 1
                else [[("value", self._short(file, begin, end))]]
            )
        plus = source.split(begin, end, "+")
        if len(plus) > 1:
            return joined([self.small(file, *part) for part in plus])
        if source.is_sign(end - 1, "}") and source.is_sign(begin, "{"):
            parts = source.split(begin + 1, end - 1)
            return (
                self.variants(file, *parts[0])
                if len(parts) == 1
                else joined([self.small(file, *part) for part in parts])
            )
        if source.is_sign(end - 1, ")"):
            opening = source.partner[end - 1]
            if source.is_name(opening - 1):
                name = source.tokens[opening - 1].text
                arguments = source.arguments(opening)
                chain = all(
                    source.tokens[j].kind == "name" or source.tokens[j].text == "::"
                    for j in range(begin, opening)
                )
                if chain and name in CONCATENATES and arguments:
                    if name == "StrCat":
                        return joined([self.small(file, *part) for part in arguments])
                    return [self._formatted(file, arguments)]
                if chain and name in TO_INNER and len(arguments) == 1:
                    return self.variants(file, *arguments[0])
                if name in self.texts:
                    self.wanted.add(name)
                if name == "c_str" and source.is_sign(opening - 2, "."):
                    return self.variants(file, begin, opening - 2)
                given = [self.variants(file, *argument) for argument in arguments]
                # A function of the file that adds to a sentence what it is about.
                if chain and name in self.own[file]:
                    for variants in given:
                        if any(
                            what == "literal" and is_sentence(text) for what, text in variants[0]
                        ):
                            return variants
        return [[("value", self._short(file, begin, end))]]

    def small(self, file, begin, end):
        """The same; alternatives that are no sentences are one value, "a|b"."""
        variants = self.variants(file, begin, end)
        if len(variants) > 1 and not any(
            kind == "literal" and is_sentence(text) for pieces in variants for kind, text in pieces
        ):
            return [[("value", "|".join(text_of(pieces) for pieces in variants))]]
        return variants

    def _formatted(self, file, arguments):
        parts = self.variants(file, *arguments[0])[0]
        text = text_of(parts)
        values = iter(self._short(file, *argument) for argument in arguments[1:])
        for argument in arguments[1:]:
            self.variants(file, *argument)
        out, last = [], 0
        for match in re.finditer(r"%%|%[-+ #0]*[\d*]*(?:\.[\d*]+)?[hlzjt]*[a-zA-Z]|\$\d", text):
            out.append(("literal", text[last : match.start()]))
            out.append(("literal", "%") if match[0] == "%%" else ("value", next(values, "…")))
            last = match.end()
        return [*out, ("literal", text[last:])]

    def _add(self, file, i, kind, variants, has_place=False, sentence=False):
        for pieces in variants:
            pieces = merged(pieces)
            literals = [
                text for what, text in pieces if what == "literal" and re.search(r"\w", text)
            ]
            if not literals or (sentence and not any(is_sentence(text) for text in literals)):
                continue
            self.messages.add(
                Message(
                    file,
                    self.sources[file].tokens[i].line,
                    kind,
                    text_of(pieces),
                    tuple(literals),
                    has_place,
                )
            )

    def _list(self, file):
        source = self.sources[file]
        size = len(source.tokens)
        for i, token in enumerate(source.tokens):
            if token.kind != "name":
                continue
            if token.text == "throw" and not source.is_sign(i + 1, ";"):
                end = next(j for j in range(i, size) if source.is_sign(j, ";"))
                literals = [j for j in range(i, end) if source.tokens[j].kind == "string"]
                if literals and source.is_sign(end - 1, ")"):
                    arguments = source.arguments(source.partner[end - 1])
                    texts = joined([self.small(file, *part) for part in arguments[-1:]])
                    self._add(file, i, "throw", texts, has_place=len(arguments) > 1)
                    if not MAY_THROW.fullmatch(file):
                        self.elsewhere.append((file, token.line, "throws"))
                continue
            if token.text in FIELDS_OF_TEXT and source.is_sign(i + 1, "="):
                end = self._end(source, i + 2)
                self._add(file, i, "part", self.variants(file, i + 2, end), sentence=True)
                continue
            if token.text == "cerr" and source.is_sign(i + 1, "<"):
                end = next(j for j in range(i, size) if source.is_sign(j, ";"))
                self._print(
                    file,
                    i,
                    joined([self.small(file, *part) for part in source.split(i + 1, end, "<")]),
                )
                continue
            opening = i + 1
            if source.is_name(i + 1) and token.text == "Status" and source.is_sign(i - 1, "::"):
                opening = i + 2
            if not source.is_sign(opening, "("):
                continue
            self._call(file, i, opening)

    @staticmethod
    def _end(source, i):
        while i < len(source.tokens) and not (
            source.tokens[i].kind == "sign" and source.tokens[i].text in ";,)]}"
        ):
            i = source.partner.get(i, i) + 1
        return i

    def _call(self, file, i, opening):
        source, name = self.sources[file], self.sources[file].tokens[i].text
        arguments = source.arguments(opening)
        is_member = source.is_sign(i - 1, ".") or source.is_sign(i - 1, "->")
        maker = self._maker_at(file, i)
        if maker is not None:
            texts = [
                self.variants(file, *argument)
                for position, argument in enumerate(arguments)
                if position in maker.positions
            ]
            texts = [
                text
                for text in texts
                if any(kind == "literal" for pieces in text for kind, _ in pieces)
            ]
            # The function decides which text stands between two arguments.
            spaced = [part for text in texts for part in ([[("value", "…")]], text)][1:]
            self._add(file, i, maker.kind, joined(spaced), has_place=bool(maker.file))
            return
        if name in NOTERS and arguments:
            self._add(
                file, i, "note", self.variants(file, *arguments[0]), has_place=len(arguments) > 1
            )
        elif (
            name in ("push_back", "emplace_back")
            and is_member
            and arguments
            and source.is_name(i - 2)
            and re.search(r"notes|doubts|findings|problems|reasons", source.tokens[i - 2].text)
        ):
            self._add(file, i, "note", self.variants(file, *arguments[0]))
        elif name in PRINTERS and arguments:
            is_error = any(
                source.is_name(begin, "stderr") and end == begin + 1 for begin, end in arguments
            )
            parts = [
                part
                for part in arguments
                if part[1] > part[0] + 1 or source.tokens[part[0]].kind in ("string", "name")
            ]
            texts = [
                part
                for part in parts
                if any(source.tokens[j].kind == "string" for j in range(*part))
            ]
            if texts:
                is_format = name.lower().endswith("printf")
                first = parts.index(texts[0])
                variants = (
                    [self._formatted(file, parts[first:])]
                    if is_format
                    else self.variants(file, *texts[0])
                )
                if is_error or re.match(r"(graphnet: )?(note|warning):", text_of(variants[0])):
                    self._print(file, i, variants)
        elif re.fullmatch(r"add_(subcommand|flag\w*|option\w*)|Add\w*Options?", name) or (
            is_member and name in ("description", "footer")
        ):
            for argument in arguments:
                if any(source.tokens[j].kind in ("string", "name") for j in range(*argument)):
                    variants = [
                        pieces
                        for pieces in self.variants(file, *argument)
                        if not text_of(pieces).startswith("-")
                    ]
                    self._add(file, argument[0], "help", variants, has_place=True, sentence=True)
        elif name in ("Validator", "check", "transform", "each"):
            for j in range(opening, source.partner[opening]):
                if source.is_name(j, "return"):
                    self._add(
                        file,
                        j,
                        "error",
                        self.variants(file, j + 1, self._end(source, j + 1)),
                        sentence=True,
                    )

    def _print(self, file, i, variants):
        if any(
            is_sentence(text) or re.search(r"[A-Za-z]{3}", text)
            for pieces in variants
            for kind, text in pieces
            if kind == "literal"
        ):
            if not MAY_PRINT.fullmatch(file):
                self.elsewhere.append(
                    (
                        file,
                        self.sources[file].tokens[i].line,
                        "prints " + text_of(variants[0]).strip(),
                    )
                )
        pieces = [
            [
                ("literal", text.removesuffix("\n")) if part == "literal" else (part, text)
                for part, text in variant
            ]
            for variant in variants
        ]
        is_note = any(
            re.match(r"(graphnet: )?(note|warning):", text_of(variant)) for variant in pieces
        )
        self._add(file, i, "note" if is_note else "print", pieces, sentence=not is_note)

    def _list_parts(self):
        """Lists the texts of the variables and functions that messages name."""
        done_functions, done_variables = set(), set()
        while True:
            functions, variables = self.wanted - done_functions, self.variables - done_variables
            if not functions and not variables:
                return
            done_functions |= functions
            done_variables |= variables
            for name in functions:
                for file, function in self.texts[name]:
                    source = self.sources[file]
                    for i in range(*function.body):
                        if source.is_name(i, "return"):
                            self._add(
                                file,
                                i,
                                "part",
                                self.variants(file, i + 1, self._end(source, i + 1)),
                                sentence=True,
                            )
            for file, i in variables:
                source, name = self.sources[file], self.sources[file].tokens[i].text
                function = source.function_at(i)
                if function is None or name in ("stderr", "stdout", "true", "false", "nullptr"):
                    continue
                for j in range(*function.body):
                    if not source.is_name(j, name):
                        continue
                    if source.is_sign(j + 1, "=") and not source.is_sign(j + 2, "="):
                        self._add(
                            file,
                            j,
                            "part",
                            self.variants(file, j + 2, self._end(source, j + 2)),
                            sentence=True,
                        )
                    elif source.is_sign(j + 1, "+") and source.is_sign(j + 2, "="):
                        self._add(
                            file,
                            j,
                            "part",
                            self.variants(file, j + 3, self._end(source, j + 3)),
                            sentence=True,
                        )
                    elif (
                        source.is_sign(j - 1, "&")
                        and source.is_sign(j - 2, "(")
                        and source.is_name(j - 3, "StrAppend")
                    ):
                        parts = source.arguments(j - 2)[1:]
                        self._add(
                            file,
                            j,
                            "part",
                            joined([self.small(file, *part) for part in parts]),
                            sentence=True,
                        )


class Python:
    """The messages of files in Python."""

    def __init__(self, files):
        self.messages = set()
        trees = {file: ast.parse((ROOT / file).read_text(encoding="utf-8")) for file in files}
        # What is called to make what is raised is called elsewhere for the same.
        raised = {
            self._name(node.exc.func)
            for tree in trees.values()
            for node in ast.walk(tree)
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
        }
        for file, tree in trees.items():
            for node in ast.walk(tree):
                if not isinstance(node, ast.Call):
                    continue
                name = self._name(node.func)
                if name in raised:
                    self._add(file, node, "raise", node.args, has_place=False)
                elif name in ("warn", "exit", "error") and isinstance(node.func, ast.Attribute):
                    self._add(file, node, "warn", node.args)
                elif name == "print" and any(
                    keyword.arg == "file" and "stderr" in ast.unparse(keyword.value)
                    for keyword in node.keywords
                ):
                    self._add(file, node, "warn", node.args)
                elif name in ("add_argument", "ArgumentParser", "add_parser"):
                    self._add(
                        file,
                        node,
                        "help",
                        [
                            keyword.value
                            for keyword in node.keywords
                            if keyword.arg in ("help", "description", "epilog")
                        ],
                    )

    @staticmethod
    def _name(node):
        return (
            node.attr
            if isinstance(node, ast.Attribute)
            else node.id if isinstance(node, ast.Name) else ""
        )

    def _variants(self, node):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return [[("literal", node.value)]]
        if isinstance(node, ast.JoinedStr):
            return joined([self._variants(part) for part in node.values])
        if isinstance(node, ast.FormattedValue):
            return [[("value", ast.unparse(node.value))]]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return joined([self._variants(node.left), self._variants(node.right)])
        if isinstance(node, ast.IfExp):
            return [*self._variants(node.body), *self._variants(node.orelse)]
        return [[("value", ast.unparse(node))]]

    def _add(self, file, call, kind, arguments, has_place=True):
        for argument in arguments:
            for pieces in self._variants(argument):
                pieces = merged(pieces)
                literals = [
                    text for what, text in pieces if what == "literal" and re.search(r"\w", text)
                ]
                if any(is_sentence(text) or re.search(r"\w+ |: ", text) for text in literals):
                    self.messages.add(
                        Message(
                            file, call.lineno, kind, text_of(pieces), tuple(literals), has_place
                        )
                    )


def files_of(*folders):
    found = (
        subprocess.run(
            ["git", "ls-files", "-z", "--", *folders], cwd=ROOT, check=True, stdout=subprocess.PIPE
        )
        .stdout.decode()
        .split("\0")
    )
    return sorted(file for file in found if file)


def plain(text):
    """How texts are compared: one space for any, and no backslashes of regular expressions."""
    return re.sub(r"\s+", " ", text.replace("\\", ""))


def literals_of_python(text):
    """The literals of a file, adjacent ones joined."""
    out, last = [], None
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING:
                match = re.match(r"(?s)\w*('''|\"\"\"|'|\")(.*)\1$", token.string)
                if last == tokenize.STRING:
                    out[-1] += match[2]
                else:
                    out.append(match[2])
            if token.type not in (tokenize.NL, tokenize.COMMENT):
                last = token.type
    except (tokenize.TokenError, IndentationError):
        return [text]
    return out


def without_ends(text):
    """A text from its first word to its last."""
    return re.sub(r"^\W+|\W+$", "", text)


def corpus_of_triggers():
    """The text of all that could trigger a message, and the literals of tests."""
    out, literals = [], set()
    mine = {"tests/tools/list_messages.py", "tests/tools/list_messages_test.py", REASONS_NAME}
    for file in files_of(*TRIGGERS):
        if file in mine or "/fuzz/" in file:
            continue
        try:
            text = (ROOT / file).read_text(encoding="utf-8")
        except (UnicodeDecodeError, IsADirectoryError):
            continue
        if file.endswith((".cc", ".h")):
            found = [token.text for token in Source(text).tokens if token.kind == "string"]
        elif file.endswith(".py"):
            found = literals_of_python(text)
        elif file.endswith(".sh"):
            quoted = re.findall(r"'([^'\n]+)'|\"([^\"\n]+)\"", text)
            found = [text, *(single or double for single, double in quoted)]
        else:
            found = []
        text = "\n".join(found) or text
        out.append(plain(text))
        # Of a regular expression, each part that is plain.
        literals.update(
            without_ends(plain(part))
            for literal in found
            if len(literal) < 300
            for part in re.split(r"\.[*+]\??|\[.*?\]|\\d\+", literal)
        )
    return "\n".join(out), {
        literal for literal in literals if len(literal) >= FRAGMENT and " " in literal
    }


def read_reasons():
    """Fragments that nothing can trigger, each with the reason."""
    reasons = {}
    for line in REASONS.read_text(encoding="utf-8").splitlines() if REASONS.exists() else []:
        if line.strip() and not line.startswith("#"):
            fragment, mark, reason = line.rpartition(" | ")
            if not mark or not reason.strip():
                raise SystemExit(f"{REASONS.name}: no reason: {line}")
            reasons[plain(fragment)] = reason
    return reasons


def is_part_expected(message, literals):
    """Whether a test expects some words of the message."""
    for fragment in message.fragments:
        fragment = plain(fragment)
        words = [(match.start(), match.end()) for match in re.finditer(r"\w+", fragment)]
        for first, (begin, _) in enumerate(words):
            for _, end in words[first + 1 :]:
                if end - begin >= FRAGMENT and fragment[begin:end] in literals:
                    return True
    return False


def is_triggered(message, corpus, literals):
    if is_part_expected(message, literals):
        return True
    fragments = sorted((plain(text).strip() for text in message.fragments), key=len, reverse=True)
    if len(fragments[0]) >= FRAGMENT and "{…}" not in message.text:
        return fragments[0] in corpus
    # All, near each other.
    parts = [plain(text).strip() for text in message.fragments]
    pattern = ".{0,80}?".join(re.escape(part) for part in parts)
    before = r"(?<!\w)" if re.match(r"\w", parts[0]) else ""
    after = r"(?!\w)" if re.search(r"\w$", parts[-1]) else ""
    return re.search(before + pattern + after, corpus) is not None



def untriggered(messages):
    (corpus, literals), reasons = corpus_of_triggers(), read_reasons()
    found, used, short = [], set(), 0
    for message in messages:
        if message.kind == "help":
            continue  # docs/commands.md is made of it
        text = plain(message.text)
        reason = next((fragment for fragment in reasons if fragment in text), None)
        if reason is not None:
            used.add(reason)
        elif not is_triggered(message, corpus, literals):
            found.append(message)
        elif all(len(plain(text).strip()) < FRAGMENT for text in message.fragments):
            short += 1
    return found, sorted(set(reasons) - used), short


OPENING = re.compile(r"(?i)^(?:note: |warning: )?(what|of|those|that|who|none|nobody|ditto)\b")
RULES = (
    ("opens with a fragment", 3, lambda m: OPENING.match(m.text)),
    ("nobody acts in it", 3, lambda m: re.search(r"(?i)\bnobody\b", m.text)),
    ("says 'such a'", 2, lambda m: re.search(r"(?i)\bsuch an?\b", m.text)),
    ("says 'mended'", 3, lambda m: re.search(r"(?i)\bmend(s|ed|ing)?\b", m.text)),
    ("says 'there is no such'", 3, lambda m: re.search(r"(?i)\bthere (is|are) no such\b", m.text)),
    (
        "says 'is no', 'is none of'",
        1,
        lambda m: re.search(r"(?i)\b(is|are) (no|none of)\b(?! longer)", m.text),
    ),
    ("ends with a full stop", 1, lambda m: re.search(r"[^.]\.$", m.text)),
    (
        "is longer than one line",
        2,
        lambda m: "\n" in m.text.strip("\n")
        or (m.kind != "help" and len(re.sub(r"\{.*?\}", "", m.text)) > 100),
    ),
    (
        "does not name what is wrong",
        1,
        lambda m: m.kind in ("error", "finding", "raise", "throw")
        and not m.has_place
        and "{" not in m.text
        and not re.search(r"['\"`]|--\w", m.text),
    ),
)


def print_style(messages, worst):
    broken = []
    counts = collections.Counter()
    for message in messages:
        rules = [(name, weight) for name, weight, breaks in RULES if breaks(message)]
        counts.update(name for name, _ in rules)
        if rules:
            broken.append(
                (-sum(weight for _, weight in rules), message, [name for name, _ in rules])
            )
    for _, message, names in sorted(broken)[:worst]:
        print(f"{message.file}:{message.line}: {one_line(message.text)}    [{'; '.join(names)}]")
    print()
    files = collections.Counter()
    for weight, message, _ in broken:
        files[message.file] -= weight
    for name, _, _ in RULES:
        print(f"{counts[name]:5} {name}")
    print(f"{len(broken):5} of {len(messages)} messages break the style; the worst files:")
    for file, weight in sorted(files.items(), key=lambda item: (-item[1], item[0]))[:15]:
        print(f"{weight:5} {file}")


def one_line(text):
    return text.replace("\n", "\\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--markdown", action="store_true", help="print the list as a table")
    parser.add_argument(
        "--untriggered", action="store_true", help="print the messages without a trigger"
    )
    parser.add_argument(
        "--style", action="store_true", help="print the messages that break the style"
    )
    parser.add_argument(
        "--worst", type=int, default=100, metavar="N", help="of --style, how many (100)"
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 if a rule is broken")
    options = parser.parse_args()

    files = files_of(*SOURCES)
    cpp = Cpp([file for file in files if file.endswith((".cc", ".h"))])
    python = Python([file for file in files if file.endswith(".py")])
    messages = sorted(cpp.messages | python.messages)
    kinds = collections.Counter(message.kind for message in messages)
    sums = f"{len(messages)} messages: " + ", ".join(
        f"{kinds[kind]} {kind}" for kind in sorted(kinds)
    )
    if options.style:
        print_style(messages, options.worst)
        return 0
    if options.untriggered or options.check:
        missing, unused, short = untriggered(messages)
        for message in missing:
            print(f"{message.file}:{message.line}: {message.kind}: {one_line(message.text)}")
        print(sums)
        print(f"{short} are too short to tell, and count as triggered")
        print(f"{len(missing)} have no trigger")
        if not options.check:
            return 0
        for fragment in unused:
            print(f"{REASONS.name}: no message has this fragment: {fragment}")
        for file, line, what in sorted(cpp.elsewhere):
            print(f"{file}:{line}: {one_line(what)}")
        print(f"{len(cpp.elsewhere)} places print or throw where they should not")
        return 1 if missing or unused or cpp.elsewhere else 0
    if options.markdown:
        print("| Place | Kind | Text |\n|---|---|---|")
    for message in messages:
        text = one_line(message.text)
        if options.markdown:
            text = text.replace("|", "\\|")
            print(f"| {message.file}:{message.line} | {message.kind} | `{text}` |")
        else:
            print(f"{message.file}:{message.line}: {message.kind}: {text}")
    print(sums, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
