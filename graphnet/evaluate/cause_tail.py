

# --- The module above fails with a compiler. This file needs PyTorch alone:
#
#     COMPILER=inductor pytest FILE      fails if the compiler, a backend of torch.compile, still does
#     python FILE --compiler NAME        the same without pytest
#
# The compiler may be a function of your own, as FILE.py:FUNCTION or MODULE:FUNCTION. It takes the module
# and a list of its inputs, and returns what is called with them.
import base64
import importlib
import importlib.util
import os
import sys
import unittest
import zlib


def _value(name):
    """A value of the sample; a large one is drawn, the same each time."""
    dtype, shape, data, mean, std = VALUES[name]
    dtype = getattr(torch, dtype)
    if data is None and not dtype.is_floating_point:
        return torch.zeros(shape, dtype=dtype)
    if data is None:
        generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
        return (torch.randn(shape, generator=generator) * std + mean).to(dtype)
    raw = torch.frombuffer(bytearray(base64.b64decode(data)), dtype=torch.uint8) if data else None
    value = torch.empty(shape, dtype=dtype) if raw is None else raw.view(dtype).reshape(shape).clone()
    return value.item() if name in NUMBERS else value


def _compiled(compiler, module, inputs):
    if ":" not in compiler:
        try:
            return torch.compile(module, backend=compiler)
        except torch._dynamo.exc.InvalidBackend as missing:
            raise unittest.SkipTest(str(missing))
    place, function = compiler.rsplit(":", 1)
    if place.endswith(".py"):
        spec = importlib.util.spec_from_file_location("compiler_of_the_test", place)
        made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
    else:
        made = importlib.import_module(place)
    return getattr(made, function)(module, inputs)


def _run(module):
    """Returns the outputs, and the inputs as they are afterwards: a sample may write to them."""
    torch.manual_seed(SEED)
    inputs = [_value(name) for name in NAMES]
    with torch.no_grad():
        return torch.utils._pytree.tree_leaves((module(*inputs), inputs))


def check(compiler):
    module = GraphModule().eval()
    expected = _run(module)
    actual = _run(_compiled(compiler, module, [_value(name) for name in NAMES]))
    assert len(actual) == len(expected), f"{len(actual)} results, not {len(expected)}"
    for got, wanted in zip(actual, expected):
        torch.testing.assert_close(got, wanted, equal_nan=True)


def test_cause():
    compiler = os.environ.get("COMPILER", COMPILER)
    if not compiler:
        raise unittest.SkipTest("set COMPILER to a backend of torch.compile, or to FILE.py:FUNCTION")
    check(compiler)


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "--compiler":
        os.environ["COMPILER"] = sys.argv[2]
    try:
        test_cause()
    except unittest.SkipTest as skipped:
        sys.exit(str(skipped))
    print("the compiler is right")
