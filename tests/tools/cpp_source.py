"""C++ as tokens, and the functions that a file defines: no more of C++ than list_messages.py needs.

Quotes, comments and brackets are read as the language has them; names are not looked up.
"""

import bisect
import dataclasses
import re

_TOKEN = re.compile(
    r"""
    (?P<space>  (?: \s | \\\n )+ )
  | (?P<comment> //[^\n]* | /\*.*?\*/ )
  | (?P<directive> \#[ \t]*(?:include|if|ifdef|ifndef|elif|else|endif|undef|pragma|error|line)\b
                  (?: \\\n | [^\n] )* )
  | (?P<raw>    (?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\((?P<body>.*?)\)(?P=mark)" )
  | (?P<string> (?:u8|[uUL])?"(?P<chars>(?:[^"\\\n]|\\.)*)" )
  | (?P<char>   (?:u8|[uUL])?'(?:[^'\\\n]|\\.)+' )
  | (?P<number> \.?\d (?: [eEpP][+-] | ['\w.] )* )
  | (?P<name>   [A-Za-z_]\w* )
  | (?P<sign>   :: | -> | . )
""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]+|[0-7]{1,3}|.)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_OPEN, _CLOSE = "([{", ")]}"
_NO_CALLS = {"if", "for", "while", "switch", "catch", "return", "sizeof", "decltype", "alignof"}


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str  # "string", "char", "number", "name" or "sign"
    text: str  # of a string: the value, all adjacent literals joined
    line: int


@dataclasses.dataclass
class Function:
    name: str
    scope: str  # the class that is named before it, or ""
    result: str  # the type as it is written, without spaces
    parameters: list[tuple[str, str]]  # type and name
    body: tuple[int, int]  # tokens of the body, without its braces
    is_lambda: bool


def _value_of(chars):
    def plain(match):
        code = match[1]
        if code[0] == "x":
            return chr(int(code[1:], 16))
        if code[0] in "01234567":
            return chr(int(code, 8))
        return _PLAIN.get(code, code)

    return _ESCAPE.sub(plain, chars)


class Source:
    """The tokens of a file, the partner of each bracket, and its functions."""

    def __init__(self, text):
        ends_of_lines = [match.start() for match in re.finditer("\n", text)]
        self.tokens = []
        for match in _TOKEN.finditer(text):
            kind = match.lastgroup
            if kind in ("space", "comment", "directive"):
                continue
            line = bisect.bisect_left(ends_of_lines, match.start()) + 1
            if kind in ("raw", "string"):
                value = match["body"] if kind == "raw" else _value_of(match["chars"])
                if self.tokens and self.tokens[-1].kind == "string":
                    before = self.tokens.pop()
                    self.tokens.append(Token("string", before.text + value, before.line))
                else:
                    self.tokens.append(Token("string", value, line))
            else:
                self.tokens.append(Token(kind, match[0], line))
        self.partner = self._match()
        self.functions = sorted(self._find_functions(), key=lambda found: found.body)

    def _match(self):
        partner, stack = {}, []
        for i, token in enumerate(self.tokens):
            if token.kind != "sign":
                continue
            if token.text in _OPEN:
                stack.append(i)
            elif token.text in _CLOSE:
                if not stack or _OPEN.index(self.tokens[stack[-1]].text) != _CLOSE.index(
                    token.text
                ):
                    raise ValueError(f"line {token.line}: {token.text} closes nothing")
                partner[stack[-1]], partner[i] = i, stack[-1]
                stack.pop()
        if stack:
            raise ValueError(f"line {self.tokens[stack[-1]].line}: the bracket is never closed")
        return partner

    def is_sign(self, i, text):
        return (
            0 <= i < len(self.tokens)
            and self.tokens[i].kind == "sign"
            and self.tokens[i].text == text
        )

    def is_name(self, i, text=None):
        return (
            0 <= i < len(self.tokens)
            and self.tokens[i].kind == "name"
            and text in (None, self.tokens[i].text)
        )

    def split(self, begin, end, separator=","):
        """The parts of [begin, end) between separators that are in no bracket."""
        parts, start, i = [], begin, begin
        while i < end:
            if self.tokens[i].kind == "sign":
                if self.tokens[i].text in _OPEN:
                    i = self.partner[i]
                elif self.tokens[i].text == separator:
                    parts.append((start, i))
                    start = i + 1
            i += 1
        if begin < end:
            parts.append((start, end))
        return parts

    def arguments(self, i):
        """Those of the call whose opening bracket is token i."""
        return self.split(i + 1, self.partner[i])

    def text(self, begin, end):
        return "".join(token.text for token in self.tokens[begin:end])

    def _parameters(self, i):
        found = []
        parts, depth = [], 0
        start = i + 1
        for j in range(i + 1, self.partner[i] + 1):
            token = self.tokens[j].text if self.tokens[j].kind == "sign" else ""
            depth += (token in ("(", "[", "{", "<")) - (token in (")", "]", "}", ">"))
            if j == self.partner[i] or (token == "," and depth == 0):
                parts.append((start, j))
                start = j + 1
        for begin, end in parts:
            end = next((j for j in range(begin, end) if self.is_sign(j, "=")), end)
            if end > begin and self.is_name(end - 1):
                found.append((self.text(begin, end - 1), self.tokens[end - 1].text))
            elif end > begin:
                found.append((self.text(begin, end), ""))
        return found

    def _body_after(self, i):
        """The opening brace of the body of a function whose parameters end before i, or None."""
        while i < len(self.tokens):
            if self.is_sign(i, "{"):
                return i
            if self.is_sign(i, "->"):
                while (
                    i < len(self.tokens) and not self.is_sign(i, "{") and not self.is_sign(i, ";")
                ):
                    i += 1
                continue
            if self.is_name(i) and self.tokens[i].text in (
                "const",
                "override",
                "final",
                "noexcept",
                "mutable",
            ):
                i += 1
                continue
            if self.is_sign(i, ":") and not self.is_sign(i - 1, ":"):
                # Members that a constructor sets; each with brackets.
                i += 1
                while i < len(self.tokens) and not self.is_sign(i, ";"):
                    if self.is_sign(i, "(") or (self.is_sign(i, "{") and self.is_name(i - 1)):
                        i = self.partner[i]
                    elif self.is_sign(i, "{"):
                        return i
                    i += 1
                return None
            return None
        return None

    def _find_functions(self):
        for i, token in enumerate(self.tokens):
            if not self.is_sign(i, "("):
                continue
            if self.is_sign(i - 1, "]"):
                at = self.partner[i - 1]
                if not (self.is_sign(at - 1, "=") and self.is_name(at - 2)):
                    continue
                brace = self._body_after(self.partner[i] + 1)
                if brace is not None:
                    yield Function(
                        self.tokens[at - 2].text,
                        "",
                        self.text(self.partner[i] + 1, brace).removeprefix("->"),
                        self._parameters(i),
                        (brace + 1, self.partner[brace]),
                        True,
                    )
                continue
            if not self.is_name(i - 1) or self.tokens[i - 1].text in _NO_CALLS:
                continue
            brace = self._body_after(self.partner[i] + 1)
            if brace is None:
                continue
            name, scope, begin = self.tokens[i - 1].text, "", i - 1
            while self.is_sign(begin - 1, "::") and self.is_name(begin - 2):
                scope = scope or self.tokens[begin - 2].text
                begin -= 2
            end = begin
            while begin > 0 and not (
                self.tokens[begin - 1].kind == "sign" and self.tokens[begin - 1].text in ";{}:)"
            ):
                begin -= 1
            yield Function(
                name,
                scope,
                self.text(begin, end),
                self._parameters(i),
                (brace + 1, self.partner[brace]),
                False,
            )

    def function_at(self, i):
        """The outermost function that holds token i, or None."""
        for function in self.functions:
            if function.body[0] <= i < function.body[1]:
                return function
            if function.body[0] > i:
                break
        return None
