"""Reads the arguments of an MLIR program of `graphnet convert`, which are in the head of @main, on
one line or several."""
import re

import tensors

_HEAD = re.compile(r"func\.func @main\((.*?)\)\s*->", re.DOTALL)
_ARGUMENT = re.compile(r"%([^:\s]+): (!torch\.\w+(?:<\[[^\]]*\],[^>]*>|<[^>]*>)?)")


class Argument:
    def __init__(self, name, type_):
        self.name, self.is_tensor = name, type_.startswith("!torch.vtensor")


def read(path):
    """Returns the arguments of @main."""
    with open(path, encoding="utf-8") as file:
        head = _HEAD.search(file.read())
    return [Argument(*match) for match in _ARGUMENT.findall(head[1])] if head else []


def weights_of(arguments, inputs, path):
    """Returns the tensors after the inputs: attributes, whose values a file holds by name."""
    if len(arguments) <= inputs:
        return []
    values = {re.sub(r"[^A-Za-z0-9_.]", "_", name): tensor for name, tensor in tensors.read(path).items()}
    return [values[argument.name] for argument in arguments[inputs:]]


def first_error(done):
    """Returns the line of a compiler's output that says what is wrong."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    for line in lines:
        if "error:" in line:
            return line.split("error:", 1)[1].strip()
    if done.returncode < 0:
        return f"the compiler was killed by signal {-done.returncode}"
    return lines[0] if lines else f"the compiler ended with {done.returncode}"
