"""What a program in MLIR takes, as `graphnet convert` writes it: one argument a line or not, all in
the head of @main."""
import re

import tensors

_HEAD = re.compile(r"func\.func @main\((.*?)\)\s*->", re.DOTALL)
_ARGUMENT = re.compile(r"%([^:\s]+): (!torch\.\w+(?:<\[[^\]]*\],[^>]*>|<[^>]*>)?)")


class Argument:
    def __init__(self, name, type_):
        self.name, self.is_tensor = name, type_.startswith("!torch.vtensor")


def read(path):
    """The arguments of @main."""
    with open(path, encoding="utf-8") as file:
        head = _HEAD.search(file.read())
    return [Argument(*match) for match in _ARGUMENT.findall(head[1])] if head else []


def weights_of(arguments, inputs, path):
    """The tensors behind the inputs: attributes, whose values lie in a file by their names."""
    if len(arguments) <= inputs:
        return []
    values = {re.sub(r"[^A-Za-z0-9_.]", "_", name): tensor for name, tensor in tensors.read(path).items()}
    return [values[argument.name] for argument in arguments[inputs:]]


def first_error(done):
    """The line of a compiler's output that says what is wrong."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    for line in lines:
        if "error:" in line:
            return line.split("error:", 1)[1].strip()
    if done.returncode < 0:
        return f"the compiler died of signal {-done.returncode}"
    return lines[0] if lines else f"the compiler ended with {done.returncode}"
