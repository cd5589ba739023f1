"""Objects that __new__ alone has made stand for nothing: whatever is done with them raises or does
nothing, and never ends the process."""

import subprocess
import sys
import unittest

import graphnet_ir

# It runs in a process of its own, because what it looks for is the end of the process.
PROGRAM = r"""
import copy
import gc
import inspect
import operator
import pickle
import sys
import warnings

import graphnet_ir
from graphnet_ir import _core

warnings.simplefilter("ignore")
sample = graphnet_ir.parse("symbol s0 = 4\ngraph @f(%x : f32[s0]) {\n  %y = torch.relu(%x)\n"
                           "  return (%y,)\n}")
graph, module = sample.graph, sample.module
x, y, output = graph.nodes
calls = 0


def attempt(function, *args, **kwargs):
    global calls
    calls += 1
    try:
        return function(*args, **kwargs)
    except Exception as error:
        assert not isinstance(error, SystemError), (function, args, error)
        return None


classes = [thing for thing in vars(_core).values() if inspect.isclass(thing)]
assert len(classes) > 12, classes
made = []
for cls in classes:
    instance = attempt(cls.__new__, cls)
    if instance is None:
        continue
    made.append(instance)
    for name in dir(cls):
        print(cls.__name__, name, file=sys.stderr)
        value = attempt(getattr, instance, name)
        if name not in ("__class__", "__dict__"):
            attempt(setattr, instance, name, None)
            attempt(delattr, instance, name)
        if callable(value) and name not in ("__init_subclass__", "__subclasshook__", "__new__"):
            for args in ((), (1,), ("x",), (instance,), (x,), (graph, x), (0, x), ("x", "y", "z")):
                if name != "__init__":
                    attempt(value, *args)
    for act in (repr, str, hash, bool, len, iter, list, reversed, copy.copy, copy.deepcopy,
                pickle.dumps, dir, vars, sys.getsizeof, operator.index, abs, operator.neg,
                memoryview, bytes, format):
        attempt(act, instance)
    for act in (operator.eq, operator.ne, operator.lt, operator.le, operator.add, operator.mul,
                operator.floordiv, operator.mod, operator.pow, operator.contains, operator.getitem):
        for other in (instance, attempt(cls.__new__, cls), x, 3, None):
            attempt(act, instance, other)
            attempt(act, other, instance)
    if hasattr(cls, "__enter__"):
        attempt(lambda: instance.__enter__() and instance.__exit__(None, None, None))
    if hasattr(cls, "__next__"):
        attempt(next, instance)

# They are no arguments either.
for instance in made:
    for act in (
            lambda: graph.call_function("f", (instance,)), lambda: graph.call_function("f", ([instance],)),
            lambda: graph.output(instance), lambda: setattr(y, "args", (instance,)),
            lambda: setattr(y, "kwargs", {"a": instance}), lambda: setattr(y, "tensor_meta", instance),
            lambda: setattr(y, "name", instance), lambda: setattr(y, "draw_spec", instance),
            lambda: y.replace_all_uses_with(instance), lambda: y.replace_input_with(instance, instance),
            lambda: y.append(instance), lambda: y < instance, lambda: graph.erase_node(instance),
            lambda: graph.node_copy(instance), lambda: graph.graph_copy(instance, {}),
            lambda: graph.inserting_before(instance), lambda: module.add_relation(instance),
            lambda: module.add_attribute("w", instance), lambda: module.symbol("s0") + instance,
            lambda: graphnet_ir.TensorMeta(instance), lambda: graphnet_ir.TensorMeta("f32", instance),
            lambda: graphnet_ir.TensorMeta("f32", (instance,)),
            lambda: graphnet_ir.Sample(instance), lambda: sample.set_weight("w", instance),
            lambda: graphnet_ir.Tensor(instance), lambda: graphnet_ir.canonical_hash(instance),
            lambda: graphnet_ir.opt(instance, "dce"), lambda: graphnet_ir.diff(sample, instance),
            lambda: graphnet_ir.compose([instance]), lambda: graphnet_ir.save(instance, "/tmp/x.pb"),
            lambda: graphnet_ir.show(instance), lambda: graphnet_ir.to_bytes(instance),
            lambda: _core._prepare(instance, {}, 0, "cpu", [])):
        attempt(act)
gc.collect()
del made, instance
gc.collect()
graph.lint()
print(calls, "calls")
"""


class UnreadyTest(unittest.TestCase):

    def test_what_they_say(self) -> None:
        for name in ("args", "users", "next", "name"):
            with self.assertRaisesRegex(
                    TypeError, r"^this \S*Node was made by __new__ alone and stands for nothing$"):
                getattr(graphnet_ir.Node.__new__(graphnet_ir.Node), name)

    def test_whatever_is_done_with_unready_objects(self) -> None:
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                              check=False)
        last = done.stderr.splitlines()[-3:]
        self.assertEqual(done.returncode, 0, last)
        self.assertRegex(done.stdout, r"^\d{4,} calls\n$")


if __name__ == "__main__":
    unittest.main()
