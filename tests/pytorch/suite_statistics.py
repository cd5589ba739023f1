"""The suite of compare.py on `graphnet run --stats`, beside the values of torch.fx's interpreter."""

import csv
import io
import json
from typing import Dict, Optional

import torch
from torch import nn

import in_pytorch
from compare import Run, Suite


class Odd(nn.Module):
    """Values with zeros, nan, infinities, few elements, and other dtypes."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.net(x)
        odd = torch.log(torch.relu(y)) + torch.sqrt(y)
        whole = (y * 10).round().to(torch.int32)
        few = y.flatten()[:1] * 3
        turned = y.transpose(1, 3).bfloat16()
        return odd, whole, few, turned, y > 0, torch.relu(y).sum()


def expected(value: torch.Tensor) -> Dict[str, object]:
    """What torch says of a tensor."""
    finite = value.double()
    finite = finite[finite.isfinite()]
    found: Dict[str, object] = {
        "dtype": str(value.dtype), "shape": list(value.shape), "num_elements": value.numel(),
        "num_zeros": int((value == 0).sum()), "num_nan": int(value.isnan().sum()), "num_inf": int(value.isinf().sum())}
    if finite.numel() > 0:
        found.update(min=finite.min().item(), max=finite.max().item(), mean=finite.mean().item(),
                     std=finite.std().item() if finite.numel() > 1 else 0.0)
    return found


def difference(wanted: Dict[str, object], row: Dict[str, object]) -> str:
    for key, value in wanted.items():
        there = row.get(key)
        if key == "dtype":
            names = {"torch.float32": "f32", "torch.int32": "i32", "torch.bool": "b8", "torch.bfloat16": "bf16"}
            value = names[str(value)] if there != "bool" else "bool"
        exact = not isinstance(value, float) or key in ("min", "max")
        if there is None or (there != value if exact else abs(there - value) > 1e-9 * (1 + abs(value))):
            return f"{key}: {value} in torch, {there} here"
    return ""


class Statistics(Suite):
    """Measures each value of a program by torch, and compares it with what `graphnet run --stats` says; the
    numbers of modules are those of all their values together."""

    def run(self, run: Run) -> Optional[str]:
        torch.manual_seed(0)
        torch.set_num_threads(1)
        x = torch.randn(2, 3, 40, 40)
        program = torch.export.export(Odd().eval(), (x,))
        torch.export.save(program, run.scratch / "odd.pt2")
        in_pytorch.write_safetensors({"x": x}, run.scratch / "x.safetensors")
        words = ["run", run.scratch / "odd.pt2", "--inputs", run.scratch / "x.safetensors", "--threads", 1]
        rows = json.loads(run.graphnet(*words, "--stats", "--json"))["samples"][0]["stats"]
        by_node = {row["node"]: row for row in rows}
        values = {}
        modules: Dict[str, list] = {}

        class Watching(torch.fx.Interpreter):
            def run_node(self, node: torch.fx.Node) -> object:
                value = super().run_node(node)
                if node.op == "call_function" and isinstance(value, torch.Tensor):
                    values[node.name] = value.clone()
                return value

        with torch.no_grad():
            state = [program.state_dict[spec.target] for spec in program.graph_signature.input_specs if spec.target]
            Watching(program.graph_module).run(*state, x)
        for name, value in values.items():
            if name not in by_node:
                run.tell(name, "is not told")
                continue
            run.tell(name, difference(expected(value), by_node[name]))
            modules.setdefault(by_node[name]["module"], []).append(value.flatten().double())
        for row in json.loads(run.graphnet(*words, "--stats-by", "module", "--json"))["samples"][0]["stats"]:
            if row["module"] not in modules or row["num_values"] != len(modules[row["module"]]):
                continue
            wanted = expected(torch.cat(modules[row["module"]]))
            del wanted["dtype"], wanted["shape"]
            run.tell(f"module {row['module']}", difference(wanted, row))
        lines = list(csv.DictReader(io.StringIO(run.graphnet(*words, "--stats", "--csv"))))
        run.tell("csv", "" if [line["node"] for line in lines] == list(by_node) else "has other rows")
        return None
