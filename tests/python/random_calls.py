"""Calls the IR at random, from several threads: whatever comes may raise, and must not crash.

    random_calls.py [--seed N] [--calls N] [--threads N]

Run under AddressSanitizer, this shows that no object of Python refers to memory that is gone.
"""

import argparse
import copy
import gc
import pickle
import random
import threading
from typing import Any, Callable, List

import graphnet_ir
from graphnet_ir import Graph, Module, Node, Sample, SymExpr, TensorMeta, _core
from graphnet_ir.running import ReadyProgram, has_torch

runs = has_torch()  # Under sanitizers there is no torch.
try:
    import pyarrow
except ImportError:
    pyarrow = None

TEXT = """
symbol s0 = 4
graph @forward(%x : f32[4, 3]@cpu, %w : f32[3, 3]) {
  %mm = torch.mm(%x, %w)
  %relu = torch.relu(%mm)
  %cond = torch.cond(True, @yes, @no, (%relu,))
  %add = operator.add(%relu, %cond)
  return (%add, [%mm])
}
graph @yes(%a) {
  return %a
}
graph @no(%a) {
  %b = torch.neg(%a)
  return %b
}
"""


class Caller:
    """Holds objects, and calls what they have with others of them."""

    def __init__(self, seed: int, shared: List[Any]):
        self.random = random.Random(seed)
        self.pool: List[Any] = [graphnet_ir.parse(TEXT)] + shared
        self.calls = self.raised = 0

    def pick(self, kind: type) -> Any:
        found = [value for value in self.pool if isinstance(value, kind)]
        return self.random.choice(found) if found else self.argument(9)

    def argument(self, depth: int = 0) -> Any:
        choice = self.random.randrange(14 if depth < 3 else 9)
        if choice < 4:
            return self.random.choice(self.pool)
        if choice < 9:
            return self.random.choice([None, True, 3, -1 << 62, 1.5, 2j, "x", "", ..., slice(1, 2),
                                       "torch.relu", "s0", object(), float("nan"), "ü" * 9])
        elements = [self.argument(depth + 1) for _ in range(self.random.randrange(4))]
        if choice < 11:
            return elements
        if choice < 13:
            return tuple(elements)
        return {str(i): element for i, element in enumerate(elements)}

    def keep(self, value: Any) -> None:
        values = list(value)[:5] if isinstance(value, (list, tuple, dict)) else [value]
        for one in values:
            if isinstance(one, (Node, Graph, Module, Sample, SymExpr, TensorMeta,
                                ReadyProgram)) or (
                    hasattr(one, "__next__")):
                self.pool.append(one)
        if len(self.pool) > 60:
            for _ in range(30):
                self.pool.pop(self.random.randrange(len(self.pool)))
            self.pool.append(graphnet_ir.parse(TEXT))

    def actions(self) -> List[Callable[[], Any]]:
        pick, argument = self.pick, self.argument
        return [
            lambda: list(pick(Graph).nodes), lambda: iter(pick(Graph).nodes),
            lambda: next(self.random.choice([p for p in self.pool if hasattr(p, "__next__")])),
            lambda: pick(Graph).erase_node(pick(Node)), lambda: pick(Node).args,
            lambda: pick(Node).kwargs, lambda: pick(Node).users, lambda: pick(Node).next,
            lambda: setattr(pick(Node), "args", argument()),
            lambda: setattr(pick(Node), "kwargs", argument()),
            lambda: setattr(pick(Node), "name", argument()),
            lambda: setattr(pick(Node), "target", argument()),
            lambda: setattr(pick(Node), "tensor_meta", argument()),
            lambda: setattr(pick(Node), "draw_spec", argument()),
            lambda: setattr(pick(Node), "location", argument()),
            lambda: pick(Node).meta.update({"key": argument()}),
            lambda: dict(pick(Node).meta), lambda: pick(Node).format_node(),
            lambda: pick(Node).replace_all_uses_with(pick(Node)),
            lambda: pick(Node).replace_all_uses_with(pick(Node), lambda n: self.act()),
            lambda: pick(Node).replace_input_with(pick(Node), pick(Node)),
            lambda: pick(Node).append(pick(Node)), lambda: pick(Node).prepend(pick(Node)),
            lambda: pick(Node).update_arg(self.random.randrange(-2, 3), argument()),
            lambda: pick(Node).insert_arg(self.random.randrange(3), argument()),
            lambda: pick(Graph).placeholder(argument()),
            lambda: pick(Graph).get_attr(argument()),
            lambda: pick(Graph).call_function("f", argument(), argument()),
            lambda: pick(Graph).call_method("view", argument()),
            lambda: pick(Graph).output(argument()),
            lambda: pick(Graph).inserting_before(pick(Node)).__enter__(),
            lambda: pick(Graph).inserting_after(pick(Node)).__exit__(),
            lambda: pick(Graph).node_copy(pick(Node), lambda n: pick(Node)),
            lambda: pick(Graph).graph_copy(pick(Graph), {pick(Node): pick(Node)}),
            lambda: pick(Graph).eliminate_dead_code(),
            lambda: pick(Graph).eliminate_dead_code(lambda n: self.act()),
            lambda: pick(Graph).lint(), lambda: pick(Graph).find_nodes(op="call_function"),
            lambda: pick(Graph).find_nodes(target=self.random.choice(["neg", "relu", argument()])),
            lambda: pick(Node).normalized_arguments(
                normalize_to_only_use_kwargs=self.random.choice([True, False])),
            lambda: pick(Node).stack_trace, lambda: graphnet_ir.viz(pick(Graph), module=argument()),
            lambda: pick(Graph).records(), lambda: pick(Graph)._repr_html_(),
            lambda: pick(Graph).owning_module, lambda: pick(Module).graphs,
            lambda: pick(Module).erase_unused_graphs(), lambda: pick(Module).add_graph("g"),
            lambda: pick(Module).add_symbol("s1", 3), lambda: pick(Module).symbol("s0"),
            lambda: pick(Module).add_relation(pick(SymExpr).le(pick(SymExpr))),
            lambda: pick(Module).add_attribute(argument(), argument()),
            lambda: pick(Module).attributes, lambda: str(pick(Module)),
            lambda: pick(SymExpr) * pick(SymExpr) + 1, lambda: pick(SymExpr).operands,
            lambda: TensorMeta("float32", argument()), lambda: pick(Sample).module,
            lambda: Sample(pick(Module)), lambda: pick(Sample).copy(),
            lambda: pick(Sample).graph, lambda: graphnet_ir.canonical_hash(pick(Sample)),
            lambda: graphnet_ir.opt(pick(Sample), "dce,cse").sample,
            lambda: graphnet_ir.diff(pick(Sample), pick(Sample)).differences,
            lambda: graphnet_ir.decompose(pick(Sample), pieces=2).pieces,
            lambda: graphnet_ir.compose([pick(Sample), pick(Sample)]),
            lambda: graphnet_ir.validate(pick(Sample), [pick(Sample)]),
            lambda: graphnet_ir.normal_form(pick(Sample)),
            lambda: self.table(_core._corpus_rows([pick(Sample), pick(Module), argument()])),
            lambda: self.table(_core._corpus_rows([graphnet_ir.to_bytes(pick(Sample)), b"no"])),
            lambda: self.table(_core._corpus_rows_of_paths(["/nowhere", argument()])),
            lambda: _core._match_blobs("relu(mm())", [graphnet_ir.to_bytes(pick(Sample)), b"no"]),
            lambda: _core._match_blobs(argument(), [argument(), argument()]),
            lambda: _core._query_terms(argument()),
            lambda: self.table(_core._near_pairs(self.features(), self.random.random())),
            lambda: self.table(_core._prefix_tokens(self.features(), self.random.random())),
            lambda: graphnet_ir.recurring([pick(Sample), pick(Module), b"no"],
                                          self.random.choice(["range", "module"])),
            lambda: _core._recurring([[argument()], argument()], argument(), 1, 9, 9, 1 << 20),
            lambda: graphnet_ir.to_bytes(pick(Sample)), lambda: gc.collect(),
            lambda: copy.copy(self.random.choice(self.pool)),
            lambda: copy.deepcopy(self.random.choice(self.pool)),
            lambda: pickle.loads(pickle.dumps(self.random.choice(self.pool))),
            lambda: pick(Sample).set_weight("w", memoryview(bytearray(36)).cast("f", (3, 3))),
            lambda: pick(Sample).load_weights(
                {"w": memoryview(bytearray(36)).cast("f", (3, 3)), "x": argument()}, partial=True),
            lambda: pick(Sample).erase_weight("w"), lambda: pick(Sample).weights["w"].bytes,
            lambda: self.exported(pick(Sample).weights["w"]),
            lambda: graphnet_ir.Tensor(pick(Sample).weights["w"]), lambda: str(pick(Sample)),
            lambda: pick(Graph).graph_copy(pick(Graph), {}),
            lambda: setattr(pick(Node), "tensor_meta", TensorMeta("f32", (pick(SymExpr) + 1, 3))),
            *([lambda: self.pool.append(graphnet_ir.prepare(pick(Sample))),
               lambda: pick(ReadyProgram).run(), lambda: pick(ReadyProgram).state(),
               lambda: graphnet_ir.shapes(pick(Sample))] if runs else []),
        ]

    def exported(self, tensor: Any) -> Any:
        """Gives a tensor to another library by DLPack, with or without a copy."""
        copies = self.random.choice([None, True, False])
        if runs:
            import torch

            return torch.from_dlpack(tensor, copy=copies)
        return tensor.__dlpack__(copy=copies)

    def features(self) -> Any:
        lists = [sorted(self.random.sample(range(40), self.random.randrange(12)))
                 for _ in range(self.random.randrange(20))]
        choice = self.random.randrange(3 if pyarrow else 2)
        if choice == 2:
            column = pyarrow.array(lists, pyarrow.list_(pyarrow.uint64()))
            return column[self.random.randrange(len(lists) + 1):]
        return lists if choice else [*lists, self.argument()]

    def table(self, rows: Any) -> None:
        """Gives rows to another library by Arrow's C interface, or drops what it would take."""
        if not pyarrow or self.random.randrange(2):
            rows.__arrow_c_schema__()
            rows.__arrow_c_array__()
            return
        array = pyarrow.array(rows)
        del rows
        array.validate(full=True)
        array[len(array) // 2:].to_pylist()

    def act(self) -> bool:
        """Makes one call. Returns True, as a callback that agrees does."""
        self.calls += 1
        try:
            self.keep(self.random.choice(self.actions())())
        except RecursionError:
            raise
        except Exception:  # pylint: disable=broad-except
            self.raised += 1
        return True

    def run(self, calls: int) -> None:
        while self.calls < calls:
            try:
                self.act()
            except RecursionError:
                pass


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    sample = graphnet_ir.parse(TEXT)
    # A program that is run from all threads.
    ready = graphnet_ir.parse("graph @f(%x : f32[4, 3]) {\n  %y = torch.relu(%x)\n  return (%y,)\n}")
    ready.set_weight("w", memoryview(bytearray(36)).cast("f", (3, 3)))
    programs = [graphnet_ir.prepare(ready)] if runs else []
    shared: List[Any] = [*programs, ready, sample, sample.module, sample.graph, *sample.graph.nodes]
    callers = [Caller(args.seed * 1000 + i, shared) for i in range(args.threads)]
    threads = [threading.Thread(target=caller.run, args=(args.calls // args.threads,))
               for caller in callers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    calls = sum(caller.calls for caller in callers)
    raised = sum(caller.raised for caller in callers)
    assert 0 < raised < calls
    print(f"{calls} calls from {args.threads} threads, {raised} of which raised, no crash")


if __name__ == "__main__":
    main()
