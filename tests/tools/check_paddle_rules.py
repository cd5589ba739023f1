"""Asks Paddle whether it has what graphnet/paddle/paddle_rules.txt says it has.

  check_paddle_rules.py [RULES]

Run by a Python that has Paddle. Each call of the table must be of a function, or of a method
of Tensor, that Paddle has, under keywords that its signature has; what a decorator takes
besides its signature, which inspect cannot see, is called. Prints what is wrong and exits
with 1, or the number of rules.
"""

import inspect
import pathlib
import re
import sys
import warnings

import paddle

RULES = pathlib.Path(__file__).parents[2] / "graphnet/paddle/paddle_rules.txt"
OURS = {"complement", "subscript", "last_axes", "axes", "per_axis", "dtype_of", "several",
        "positive", "grown", "cropped", "reduction", "slice", "not", "list", "tuple of values"}
PYTHON = ("operator.", "builtins.", "math.")

# Keywords that only a decorator takes, and a call that shows it.
DECORATED = {
    "paddle.transpose": lambda: list(paddle.transpose(paddle.ones([2, 3]), dim0=0, dim1=1).shape)
    == [3, 2],
}


def calls(text):
    """(function, keywords) of each call in `text`, nested ones too."""
    stack = []
    token = re.compile(r"\s+|([\w.*]*)\(|([\w]+)=|(\))|(,)|\"[^\"]*\"|[^,()=]+")
    found = []
    for match in token.finditer(text):
        if match[1] is not None:
            stack.append((match[1] or "tuple of values", []))
        elif match[2] and stack:
            stack[-1][1].append(match[2])
        elif match[3]:
            found.append(stack.pop())
    if stack:
        raise ValueError(text)
    return found


def rules(path):
    """(name, function, keywords) of each call."""
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        head, call = line.split(": ", 1)
        names = head.split(" when ")[0].split()[1:]
        if "(" not in call or call.startswith("!"):
            continue
        for name in names:
            last = name.rsplit(".", 1)[-1]
            for function, keywords in calls(call):
                yield name, function.replace("*", last), keywords


def find(function):
    """What Paddle has under that name; None if there is none."""
    if function.startswith("."):
        return getattr(paddle.Tensor, function[1:], None)
    value = paddle
    for part in function.split(".")[1:]:
        value = getattr(value, part, None)
    return value


def fault(function, keywords):
    if function in OURS or function.startswith(PYTHON):
        return None
    found = find(function)
    if found is None:
        return "is not in Paddle"
    try:
        parameters = inspect.signature(found).parameters
    except ValueError:
        parameters = None
    if parameters is None:
        return None if not keywords else "has no signature"
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return None
    unknown = [keyword for keyword in keywords if keyword not in parameters]
    if unknown and function in DECORATED and DECORATED[function]():
        return None
    return f"takes no {', '.join(unknown)}: {', '.join(parameters)}" if unknown else None


def main():
    warnings.simplefilter("ignore")
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else RULES
    faults = set()
    count = 0
    for name, function, keywords in rules(path):
        count += 1
        why = fault(function, keywords)
        if why:
            faults.add(f"{name}: {function} {why}")
    for line in sorted(faults):
        print(line)
    if not faults:
        print(f"{count} calls are as Paddle {paddle.__version__} has them")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
