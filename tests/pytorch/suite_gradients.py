"""The suite of compare.py about the graphs of a training step."""

import argparse
import json
import pathlib
import re
import shutil
from typing import Any, Dict, List, Optional

import torch

from compare import Run, Suite
from in_pytorch import arguments, draw, load, one_line, parameters, read_metas

# What rounding may make of a gradient, relative to its largest element, or to that of all gradients.
ROUNDING = {torch.float16: 5e-2, torch.bfloat16: 1e-1, torch.float32: 1e-3, torch.float64: 1e-8}


def called(model: Any, inputs: Dict[str, Any], seed: int) -> List[torch.Tensor]:
    torch.manual_seed(seed)
    return list(model(**arguments(model, inputs)))


class Gradients(Suite):
    """compare.py gradients TREE [--count N]

    The forward and backward graphs that `graphnet differentiate -o TREE` wrote, beside autograd.

    The text of eval_forward/NAME runs in PyTorch with parameters that require gradients. The text of
    train_forward/NAME and train_backward/NAME runs in PyTorch, too, on the same inputs. graphnet has no
    part in this. Gradients must be those of autograd, within rounding: eager kernels may take other
    paths on tensors that need gradients. Samples that were refused are skipped, with the reason.

    With --sizes, graphs whose sizes are symbols run at two other sizes, too, beside what
    `graphnet resize` makes of eval_forward/NAME there."""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("tree", type=pathlib.Path)
        parser.add_argument("--count", type=int, help="the first samples alone")
        parser.add_argument("--threads", type=int, default=1)
        parser.add_argument("--sizes", action="store_true", help="at two other sizes, too")

    def run(self, run: Run) -> Optional[str]:
        torch.set_num_threads(run.args.threads)
        lines = (run.args.tree / "gradients.jsonl").read_text().splitlines()
        in_bits, values, largest, sizes = 0, 0, 0.0, 0
        for row in list(map(json.loads, lines))[: run.args.count]:
            if "cause" in row:
                run.tell(row["name"], f"skipped: {row['cause']}: {row['message']}")
                continue
            try:
                apart = self.differences(run.args.tree, row, run.args.tree / "eval_forward" / row["name"], run.args.seed)
                for i, place in enumerate(self.resized(run, row) if run.args.sizes and row["symbols"] else []):
                    at = self.differences(run.args.tree, row, place, run.args.seed)
                    apart.update({f"{name} at size {i + 1}": part for name, part in at.items()})
                    sizes += 1
            except Exception as error:  # Whatever a model raises is a result.
                run.tell(row["name"], one_line(error))
                continue
            values += len(apart)
            in_bits += sum(part == 0 for part in apart.values())
            largest = max([largest, *apart.values()])
            wrong = {name: part for name, part in apart.items() if not part <= 1}
            run.tell(row["name"], ", ".join(f"{name} is off by {part:.3g} of what rounding may do"
                                            for name, part in list(wrong.items())[:3]))
        return f"{values} values, {in_bits} of them equal in bits, at most {largest:.2g} of what rounding may do apart" + (
            f"; {sizes} runs at other sizes" if run.args.sizes else "")

    def resized(self, run: Run, row: Dict[str, Any]) -> List[pathlib.Path]:
        """The sample at two other sizes of its symbols."""
        whole = run.args.tree / "eval_forward" / row["name"]
        text = (whole / "input_tensor_constraints.py").read_text()
        listed = re.search(r"example_value = \{(.*?)\}", text, re.DOTALL)
        sizes = [int(size) for size in re.findall(r":\s*(\d+)", listed[1] if listed else "")]
        rows = [[size + 1 if size < 16 else size // 2 for size in sizes], [2 * size if size < 16 else size for size in sizes]]
        table, out = run.scratch / "sizes.txt", run.scratch / "resized"
        table.write_text("".join(" ".join(map(str, one)) + "\n" for one in rows))
        shutil.rmtree(out, ignore_errors=True)
        run.graphnet("resize", whole, "--sizes", table, "--no-run", "-o", out)
        return [out / str(i) / whole.name for i in range(len(rows))]

    def differences(self, tree: pathlib.Path, row: Dict[str, Any], place: pathlib.Path, seed: int) -> Dict[str, float]:
        """How far each result and gradient is from autograd's of the sample at a place, as a part of what rounding may do."""
        name = row["name"]
        whole = load(place)
        metas = read_metas(place)
        given = {each: draw(metas[each], seed) for each in parameters(whole)}
        taking = {each: value.clone().requires_grad_(each in row["gradients"]) for each, value in given.items()}
        with torch.enable_grad():
            expected = [part for part in called(whole, taking, seed)]
        generator = torch.Generator().manual_seed(seed)
        tangents = [torch.randn(expected[i].shape, generator=generator).to(expected[i].dtype) for i in row["tangents"]]
        wanted = torch.autograd.grad([expected[i] for i in row["tangents"]],
                                     [taking[each] for each in row["gradients"]], tangents, allow_unused=True)
        forward = load(tree / "train_forward" / name)
        backward = load(tree / "train_backward" / name)
        # The gradients are in the graph itself.
        with torch.no_grad():
            made = called(forward, {each: value.clone() for each, value in given.items()}, seed)
            saved = made[len(made) - len(row["saved"]):]
            gradients = backward(*saved, *tangents)
        found = dict(zip((f"result {i}" for i in range(len(expected))), zip(made, expected)))
        for each, gradient, other in zip(row["gradients"], gradients, wanted):
            found[each] = (gradient, torch.zeros_like(gradient) if other is None else other)
        most = max(float(other.abs().max()) for _, other in found.values() if other.is_floating_point() and other.numel())
        return {each: self.apart(one.detach(), other.detach(), most) for each, (one, other) in found.items()}

    @staticmethod
    def apart(one: torch.Tensor, other: torch.Tensor, most: float) -> float:
        if one.dtype != other.dtype or one.shape != other.shape:
            return float("inf")
        if torch.equal(one, other) or not one.numel():
            return 0.0
        if one.dtype not in ROUNDING:
            return float("inf")
        off = (one.double() - other.double()).abs()
        off = off.masked_fill(one.isnan() & other.isnan() | (one == other), 0.0).nan_to_num(torch.inf)
        # A sum that cancels out is rounded like its terms.
        scale = max(float(other.double().abs().nan_to_num(0.0).max()), 1e-3 * most)
        return float(off.max()) / (ROUNDING[one.dtype] * scale or 1.0)
