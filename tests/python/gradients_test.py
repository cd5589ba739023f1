"""differentiate: the graphs of a training step beside eager autograd, and what is refused."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from typing import Any

import torch

import graphnet_ir
from graphnet_ir.gradients import Compared
from graphnet_ir.gradients.batch import _Process
from graphnet_ir.gradients.differentiating import _compared
from graphnet_ir.gradients.refusal import Refusal

TOOL = pathlib.Path(sys.executable).parent / "graphnet"
PYTORCH = pathlib.Path(__file__).resolve().parent.parent / "pytorch"

MLP = """
graph @forward(
  %x : f32[3, 4] {mean = 0.0, std = 5.0},
  %w : f32[8, 4] as torch.nn.parameter.Parameter {mean = 0.0, std = 5.0},
  %b : f32[8] as torch.nn.parameter.Parameter {mean = 0.0, std = 5.0}
) {
  %h = torch.nn.functional.linear(%x, %w, %b)
  %r = torch.relu(%h)
  %s = torch.softmax(%r, -1)
  %t = .transpose(%s, 0, 1)
  return (%s, %t)
}
"""


SYMBOLIC = """
symbol S0 = 1
symbol S1 = 4
graph @forward(
  %x "L_x_" : i64[S0, S1] {data = [1, 2, 3, 4]},
  %w "L_self_words" : f32[10, 6] as torch.nn.parameter.Parameter {mean = 0.0, std = 1.0},
  %p "L_self_positions" : f32[16, 6] as torch.nn.parameter.Parameter {mean = 0.0, std = 1.0}
) {
  %e = torch.nn.functional.embedding(%x, %w)
  %a = torch.arange(0, 4)
  %q = torch.nn.functional.embedding(%a, %p)
  %s = operator.add(%e, %q)
  %v = .view(%s, 1, 4, 2, 3)
  %t = .transpose(%v, 1, 2)
  %u = .transpose(%t, 2, 3)
  %z = torch.matmul(%t, %u)
  return (%z, %e)
}
"""


def parsed(body: str, returned: str = "%y") -> graphnet_ir.Sample:
    return graphnet_ir.parse(
        "graph @forward(%x : f32[3, 4] {mean = 0.0, std = 5.0}, "
        "%w : f32[3, 4] as torch.nn.parameter.Parameter {mean = 0.0, std = 5.0}) "
        f"{{\n{body}\n  return ({returned},)\n}}\n")


class Differentiated(unittest.TestCase):
    def step(self, made: Any, inputs: list[torch.Tensor], tangents: list[torch.Tensor]
             ) -> tuple[tuple[torch.Tensor, ...], tuple[torch.Tensor, ...]]:
        """The results and gradients of the two graphs, with what is saved passed on by its names."""
        results = graphnet_ir.run(made.train_forward, *inputs)
        own = len(results) - len(made.saved)
        names = [node.target for node in made.train_backward.graph.placeholders]
        self.assertEqual(names[:len(made.saved)], made.saved)
        gradients = graphnet_ir.run(made.train_backward, *results[own:], *tangents)
        return results[:own], gradients

    def test_gradients_are_those_of_autograd(self) -> None:
        sample = graphnet_ir.parse(MLP)
        made = graphnet_ir.differentiate(sample)
        self.assertEqual((made.learned, made.tangents), (["w", "b"], [0, 1]))
        self.assertTrue(made.compared.in_bits)
        self.assertEqual(made.compared.values, 4)
        self.assertEqual(graphnet_ir.canonical_hash(made.eval_forward),
                         graphnet_ir.canonical_hash(sample))
        self.assertEqual([(node.target, node.type) for node in made.train_forward.graph.placeholders],
                         [(node.target, node.type) for node in sample.graph.placeholders])
        torch.manual_seed(1)
        x, w, b = torch.randn(3, 4), torch.randn(8, 4), torch.randn(8)
        tangents = [torch.randn(3, 8), torch.randn(8, 3)]
        results, gradients = self.step(made, [x, w, b], tangents)
        w.requires_grad_()
        b.requires_grad_()
        y = torch.softmax(torch.relu(torch.nn.functional.linear(x, w, b)), -1)
        expected = torch.autograd.grad([y, y.T], [w, b], tangents)
        for found, wanted in zip([*results, *gradients], [y, y.T, *expected]):
            self.assertTrue(torch.equal(found, wanted))

    def test_weights_are_saved_rather_than_their_transposes(self) -> None:
        made = graphnet_ir.differentiate(graphnet_ir.parse(MLP), inputs=True)
        self.assertEqual(made.learned, ["x", "w", "b"])
        self.assertTrue({"x", "w"} <= set(made.saved), made.saved)
        self.assertEqual(len(made.saved), len(set(made.saved)))

    def test_random_masks_are_those_of_the_forward_graph(self) -> None:
        made = graphnet_ir.differentiate(parsed(
            "  %d = torch.nn.functional.dropout(%w, 0.5, True)\n  %y = torch.mul(%d, %x)"))
        self.assertTrue(made.compared.in_bits)

    def test_writes_to_inputs_become_results(self) -> None:
        made = graphnet_ir.differentiate(parsed(
            "  %a = .add_(%x, 1.0)\n  %y = torch.mul(%a, %w)"))
        self.assertEqual(made.compared.values, 3)  # y, what x becomes, the gradient of w
        self.assertTrue(made.compared.in_bits)

    def test_results_that_are_views_or_inputs(self) -> None:
        made = graphnet_ir.differentiate(parsed(
            "  %y = torch.mul(%x, %w)\n  %v = .view(%y, 4, 3)\n  %n = operator.getitem(%x, 0)",
            "%y, %v, %v, %x, %n"))
        self.assertTrue(made.compared.in_bits)
        self.assertEqual(made.tangents, [0, 1, 2])
        targets = [node.target for node in made.train_forward.graph.nodes]
        self.assertNotIn("aten.clone.default", targets)
        self.assertNotIn("aten.detach.default", targets)

    def test_numbers_and_sizes_that_are_data(self) -> None:
        made = graphnet_ir.differentiate(parsed(
            "  %s = torch.sum(%x)\n  %n = .item(%s)\n  %f = torch.full((3, 4), %n)\n"
            "  %i = torch.nonzero(%x)\n  %m = torch.mul(%f, %w)\n"
            "  %y = torch.add(%m, 1.0)", "%y, %i"))
        self.assertTrue(made.compared.in_bits)
        targets = [node.target for node in made.train_forward.graph.nodes]
        self.assertIn("aten._local_scalar_dense.default", targets)
        self.assertIn("aten.nonzero.default", targets)

    def test_attributes_are_parameters(self) -> None:
        traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(3, 4),
                                                             torch.nn.Tanh()).eval())
        exported = torch.export.export(traced, (torch.ones(2, 3),))
        made = graphnet_ir.differentiate(graphnet_ir.from_exported(exported))
        self.assertEqual(len(made.learned), 2)
        self.assertTrue(made.compared.in_bits)

    def refused(self, sample: graphnet_ir.Sample, *words: str) -> None:
        with self.assertRaises(graphnet_ir.Error) as raised:
            graphnet_ir.differentiate(sample)
        for word in words:
            self.assertIn(word, str(raised.exception))
        self.assertEqual(raised.exception.kind, "unimplemented")

    def test_refusals_name_the_operator(self) -> None:
        self.refused(parsed("  %y = torch.igamma(%w, %x)"), "has no derivative", "igamma")
        self.refused(parsed("  %e = torch.equal(%w, %x)\n  %y = torch.mul(%w, %e)"),
                     "is not traced", "aten.equal.default", "node e")
        self.refused(parsed("  %y = torch.argmax(%w)"), "has no gradient: "
                     "no result depends on a parameter by operators with gradients")
        self.refused(parsed("  %y = torch.matmul(%w, %x)"), "does not run", "node y")
        self.refused(graphnet_ir.parse("graph @f(%x : f32[3]) {\n  %y = torch.relu(%x)\n"
                                       "  return (%y,)\n}"),
                     "has no parameter: no input is a parameter of floats")
        numbers = ", ".join(map(str, range(1001)))
        self.refused(parsed(f"  %c = torch.tensor(({numbers}))\n  %s = torch.sum(%w)\n"
                            "  %y = torch.mul(%c, %s)"), "it holds a constant of 1001 elements")

    def test_what_differs_is_refused(self) -> None:
        ones, nothing = torch.ones(3), lambda: [None]
        exact = torch.ones(3, dtype=torch.float64)
        self.assertEqual(_compared([(ones, ones.clone())], nothing), Compared(1, 1, 0.0))
        self.assertEqual(_compared([(ones + 1e-6, ones)], nothing).equal, 0)
        for made in (ones[:2], ones.double()):
            with self.assertRaisesRegex(Refusal, "value 0 has another shape or dtype than in eager autograd"):
                _compared([(made, ones)], nothing)
        for made in (ones + 0.01, ones * torch.nan, ones * torch.inf):
            for ideal in (None, exact):
                with self.assertRaisesRegex(Refusal, "value 0 is .* from eager autograd, relative to its size"):
                    _compared([(made, ones)], lambda: [ideal])
        # Both are rounding of nothing.
        self.assertEqual(_compared([(ones * 2e-9, ones * -1e-9)], lambda: [exact * 0]).near, 1)

    def test_symbols_stay_sizes(self) -> None:
        made = graphnet_ir.differentiate(graphnet_ir.parse(SYMBOLIC))
        self.assertEqual((made.symbols, made.fixed), (["S0", "S1"], ""))
        # At the example and two other sizes: two results and two gradients.
        self.assertEqual((made.compared.values, made.compared.in_bits), (12, True))
        self.assertEqual(made.train_backward.module.symbols, {"S0": 1, "S1": 4})
        self.assertEqual([str(size) for size in made.train_forward.graph.placeholders[0].tensor_meta.shape],
                         ["S0", "S1"])
        torch.manual_seed(1)
        words, positions = torch.randn(10, 6), torch.randn(16, 6)
        for batch, length in ((1, 4), (2, 7), (5, 16)):
            x = torch.randint(0, 10, (batch, length))
            tangents = [torch.randn(batch, 2, length, length), torch.randn(batch, length, 6)]
            results, gradients = self.step(made, [x, words, positions], tangents)
            ask = [words.clone().requires_grad_(), positions.clone().requires_grad_()]
            e = torch.nn.functional.embedding(x, ask[0])
            s = e + torch.nn.functional.embedding(torch.arange(length), ask[1])
            t = s.view(batch, length, 2, 3).transpose(1, 2)
            z = t @ t.transpose(2, 3)
            expected = torch.autograd.grad([z, e], ask, tangents)
            for found, wanted in zip([*results, *gradients], [z, e, *expected]):
                self.assertTrue(torch.equal(found, wanted))

    def test_sizes_that_only_one_input_has(self) -> None:
        made = graphnet_ir.differentiate(graphnet_ir.parse("""symbol S0 = 3
graph @forward(%x : f32[S0, 4], %w : f32[1, 4] as torch.nn.parameter.Parameter) {
  %e = .expand(%w, 3, 4)
  %s = operator.add(%x, %e)
  %y = torch.mean(%s, 0)
  return (%y,)
}
"""))
        self.assertEqual((made.symbols, made.saved, made.fixed), (["S0"], ["x"], ""))
        x, w = torch.randn(7, 4), torch.randn(1, 4, requires_grad=True)
        tangent = torch.randn(4)
        _, gradients = self.step(made, [x, w.detach()], [tangent])
        expected = torch.autograd.grad((x + w.expand(7, 4)).mean(0), w, tangent)
        torch.testing.assert_close(gradients[0], expected[0])

    def test_symbols_that_cannot_be_kept(self) -> None:
        made = graphnet_ir.differentiate(graphnet_ir.parse("""symbol S0 = 3
graph @forward(%x : f32[S0, 4], %w : f32[3, 4] as torch.nn.parameter.Parameter) {
  %y = torch.mul(%x, %w)
  return (%y,)
}
"""))
        self.assertEqual((made.symbols, made.compared.values), ([], 2))
        self.assertIn("a size that grows with one that does not", made.fixed)
        made = graphnet_ir.differentiate(graphnet_ir.parse("""symbol S0 = 3
graph @forward(%x : f32[S0, 4], %z : f32[2*S0, 4], %w : f32[1, 4] as torch.nn.parameter.Parameter) {
  %c = torch.cat((%x, %z), 0)
  %y = torch.mul(%c, %w)
  return (%y,)
}
"""))
        self.assertEqual((made.symbols, made.fixed), ([], "input z has a size that is computed"))
        made = graphnet_ir.differentiate(graphnet_ir.parse("""symbol S0 = 40
graph @forward(%x : f32[1, 2, S0], %w : f32[3, 2, 35] as torch.nn.parameter.Parameter) {
  %y = torch.conv1d(%x, %w)
  return (%y,)
}
"""))
        self.assertIn("the graph runs at fewer than two other sizes: ", made.fixed)

    def test_modes_are_put_back(self) -> None:
        with torch.no_grad():
            graphnet_ir.differentiate(parsed("  %y = torch.mul(%w, %x)"))
            self.assertFalse(torch.is_grad_enabled())
        self.assertTrue(torch.is_grad_enabled())


class Batch(unittest.TestCase):
    def setUp(self) -> None:
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.folder = pathlib.Path(self.place.name)
        (self.folder / "in").mkdir()

    def write(self, **samples: graphnet_ir.Sample) -> None:
        for name, sample in samples.items():
            sample.save(str(self.folder / "in" / name), format="graphnet")

    def call(self, *words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([str(TOOL), "differentiate", *map(str, words)], cwd=self.folder,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def rows(self, out: str = "out") -> dict[str, Any]:
        lines = (self.folder / out / "gradients.jsonl").read_text().splitlines()
        return {row["name"]: row for row in map(json.loads, lines)}

    def good(self) -> graphnet_ir.Sample:
        return graphnet_ir.parse(MLP)

    def test_a_bad_sample_does_not_end_the_batch(self) -> None:
        self.write(a=self.good(), b=parsed("  %y = torch.equal(%w, %x)\n  %z = torch.mul(%w, %y)", "%z"),
                   c=parsed("  %y = torch.mul(%w, %x)"))
        broken = self.folder / "in" / "broken"
        broken.mkdir()
        (broken / "graph_net.json").write_text("{}")
        (broken / "model.py").write_text("class\n")
        done = self.call("in", "-o", "out", "-j", 2, code=2)
        self.assertIn("4 samples: 2 differentiated, 2 of them equal to eager autograd in bits, "
                      "2 refused\n", done.stdout)
        self.assertIn("  1 is not traced: aten.equal.default\n", done.stdout)
        self.assertIn("FAIL in/b: is not traced: node y: ", done.stderr)
        self.assertEqual({name: row.get("cause") for name, row in self.rows().items()},
                         {"a": None, "c": None, "b": "is not traced", "broken": "cannot be read"})
        self.assertEqual(sorted(os.listdir(self.folder / "out")),
                         ["eval_forward", "gradients.jsonl", "train_backward", "train_forward"])
        for tree in ("eval_forward", "train_forward", "train_backward"):
            self.assertEqual(sorted(os.listdir(self.folder / "out" / tree)), ["a", "c"])
        # Nothing is done twice, and what is told of all samples is the same.
        before = (self.folder / "out" / "gradients.jsonl").read_bytes()
        again = self.call("in", "-o", "out", "--resume", code=2)
        self.assertEqual(again.stdout, done.stdout)
        self.assertEqual((self.folder / "out" / "gradients.jsonl").read_bytes(), before)
        # PyTorch runs the text of the graphs, and has the same gradients.
        compared = subprocess.run(
            [sys.executable, str(PYTORCH / "compare.py"), "gradients", str(self.folder / "out")],
            cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((compared.returncode, compared.stdout.splitlines()[-1]),
                         (0, "2 equal, 0 different, 2 skipped"), compared.stdout + compared.stderr)

    def test_symbols_in_folders(self) -> None:
        self.write(a=graphnet_ir.parse(SYMBOLIC))
        done = self.call("in", "-o", "out")
        self.assertIn("1 keep their symbols as sizes; 0 have the sizes of the example alone", done.stdout)
        row = self.rows()["a"]
        self.assertEqual((row["symbols"], row["fixed"], row["values"]), (["S0", "S1"], "", 12))
        constraints = (self.folder / "out/train_backward/a/input_tensor_constraints.py").read_text()
        self.assertIn("{S0: 1, S1: 4}", constraints)
        compared = subprocess.run(
            [sys.executable, str(PYTORCH / "compare.py"), "gradients", str(self.folder / "out"),
             "--sizes", "--graphnet", str(TOOL)],
            cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(compared.returncode, 0, compared.stdout + compared.stderr)
        self.assertIn("12 values, ", compared.stdout)
        self.assertIn("; 2 runs at other sizes", compared.stdout)
        self.call("in", "-o", "fixed", "--no-symbols")
        self.assertEqual(self.rows("fixed")["a"]["symbols"], [])

    def test_symbols_that_end_the_process(self) -> None:
        self.write(a=graphnet_ir.parse(SYMBOLIC))
        # A process that ends whenever symbols are to be kept.
        (self.folder / "sitecustomize.py").write_text("""import os
import sys
if "-m" in sys.orig_argv:
    from graphnet_ir.gradients import differentiating
    original = differentiating.differentiate_sample
    def stand_in(sample, symbols=True, **options):
        if symbols:
            os._exit(3)
        return original(sample, symbols=symbols, **options)
    if "graphnet_ir.gradients.worker" in sys.orig_argv:
        differentiating.differentiate_sample = stand_in
""")
        with unittest.mock.patch.dict(os.environ, PYTHONPATH=str(self.folder)):
            done = self.call("in", "-o", "out")
        self.assertIn("0 keep their symbols as sizes; 1 have the sizes of the example alone", done.stdout)
        row = self.rows()["a"]
        self.assertEqual((row["symbols"], row["values"]), ([], 4))
        self.assertIn("with symbols, it ends the process: ", row["fixed"])

    def test_symbols_that_exceed_a_limit(self) -> None:
        folder = self.folder / "work"
        folder.mkdir()
        (folder / "claim0").touch()
        process = _Process.__new__(_Process)
        process.__dict__.update(ended=False, _folder=str(folder), _seconds=1e9, _number=None, _begun=0.0,
                                _done=0, _has_symbols=False)
        told = ['{"begin": 0}', '{"symbols": 0}']
        process._group = unittest.mock.Mock(code=None)
        process._group.drain.side_effect = lambda: (told, True)
        process._group.over.return_value = ("time", "more than 3 seconds")
        self.assertEqual(process.look(), [])
        self.assertEqual((folder / "fixed0").read_text(),
                         "with symbols, it exceeds the limit of time: more than 3 seconds")
        self.assertFalse((folder / "claim0").exists())
        # Without symbols, it is refused.
        (folder / "claim0").touch()
        told.pop()
        process.ended = False
        ((number, row),) = process.look()
        self.assertEqual((number, row["cause"]), (0, "exceeds the limit of time"))

    def test_a_benchmark_takes_both_halves(self) -> None:
        self.write(a=self.good())
        self.call("in/a", "-o", "out")
        for tree in ("train_forward", "train_backward"):
            judged = graphnet_ir.bench(str(self.folder / "out" / tree / "a"), ["nope"], warmup=0,
                                       trials=1, out=str(self.folder / tree))
            self.assertEqual([record["status"] for record in judged.records()], ["correct"])

    def test_lists_names_and_limits(self) -> None:
        self.write(a=self.good(), b=self.good())
        (self.folder / "other").mkdir()
        self.good().save(str(self.folder / "other" / "a"), format="graphnet")
        (self.folder / "list.txt").write_text("# samples\nin/a\n\nother/a\nnowhere\n")
        done = self.call("--list", "list.txt", "-o", "out", "--json", code=2)
        self.assertIn("nowhere", done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual({row["name"] for row in told["samples"]}, {"in/a", "other/a"})
        self.assertEqual((told["passed"], told["failed"]), (2, 0))
        (self.folder / "list.txt").write_text("a  # below IN\n")
        self.call("in", "--list", "list.txt", "-o", "below")
        self.assertEqual(set(self.rows("below")), {"a"})
        (self.folder / "list.txt").write_text("a\n../other/a\n")
        self.assertIn("list.txt: ../other/a is not a path below IN",
                      self.call("in", "--list", "list.txt", "-o", "new", code=2).stderr)
        (self.folder / "list.txt").write_text("a\na\n")
        self.assertIn("list.txt: a is there twice",
                      self.call("in", "--list", "list.txt", "-o", "new", code=2).stderr)
        (self.folder / "list.txt").write_text("# none\n")
        self.assertIn("list.txt: names no sample",
                      self.call("in", "--list", "list.txt", "-o", "new", code=2).stderr)
        told = json.loads(self.call("in/a", "other/a", "-o", "twice", "--json", code=1).stdout)
        self.assertEqual((told["passed"], told["failed"]), (1, 1))
        self.assertIn("has the name of another", [row.get("cause") for row in told["samples"]])
        self.call("in", "-o", "slow", "--max-seconds", "0.001", code=1)
        self.assertEqual({row["cause"] for row in self.rows("slow").values()},
                         {"exceeds the limit of time"})
        self.assertIn(" is not empty; use --resume to go on with it",
                      self.call("in", "-o", "out", code=2).stderr)
        self.assertIn(" has other files, such as ", self.call("in", "-o", "other", code=2).stderr)
        self.assertIn("needs samples", self.call("-o", "new", code=2).stderr)

    def test_ctrl_c_ends_all(self) -> None:
        self.write(a=self.good())
        process = subprocess.Popen([str(TOOL), "differentiate", "in", "-o", "out"], cwd=self.folder,
                                   stderr=subprocess.PIPE, text=True)
        work = self.folder / "out" / ".work" / "work.json"
        end = time.monotonic() + 100
        while time.monotonic() < end and not work.exists():
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1]
        self.assertEqual((process.returncode, said), (130, "graphnet: interrupted; --resume goes on\n"))
        self.assertEqual(sorted(os.listdir(self.folder / "out")), ["gradients.jsonl"])

    def test_a_killed_run_goes_on(self) -> None:
        self.write(**{f"s{i}": parsed(f"  %a = torch.mul(%w, {i}.5)\n  %y = torch.mul(%a, %x)")
                      for i in range(6)})
        process = subprocess.Popen([str(TOOL), "differentiate", "in", "-o", "out"], cwd=self.folder)
        rows = self.folder / "out" / "gradients.jsonl"
        end = time.monotonic() + 100
        while time.monotonic() < end and not (rows.exists() and rows.read_bytes().count(b"\n") >= 2):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        with rows.open("ab") as file:
            file.write(b'{"name": "s9", "pa')  # as if it was killed while it wrote
        end = time.monotonic() + 60
        while time.monotonic() < end:
            done = subprocess.run([str(TOOL), "differentiate", "in", "-o", "out", "--resume"],
                                  cwd=self.folder, capture_output=True, text=True, check=False)
            if "another process writes" not in done.stderr:
                break
            time.sleep(0.2)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(self.rows()), [f"s{i}" for i in range(6)])
        self.assertEqual(len(rows.read_bytes().splitlines()), 6)


if __name__ == "__main__":
    unittest.main()
