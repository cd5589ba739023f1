#!/usr/bin/env python3
"""Captures models of torchvision, timm and transformers as they are, and proves each capture.

usage: capture_models.py --source torchvision|timm|transformers [--count N] [--names A,B]
                         [--modules N] [--rows FILE] [--out FOLDER] [--graphnet TOOL] …

Needs torch, the source's package and graphnet_ir. Models are chosen evenly among the small ones
that the source lists; one that is large after all, or that cannot be built or run with a plain
call, makes room for the next one. Each model runs in a process of its own. Its row says: graphs;
operators; breaks by reason; processor seconds of Dynamo in the first call; what capturing added to
these in percent; whether the replay by graphnet's interpreter yields eager's bits, or why not. Rows
are added to FILE as JSON, and who is there already is not run again.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import importlib.util
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from typing import Any, Callable, Dict, Iterator, List, Tuple

Row = Dict[str, Any]
MAX_PARAMETERS = 75_000_000  # models with more are left out


# --- Models ------------------------------------------------------------------------------------


def candidates(source: str) -> List[str]:
    """Names of small models, evenly spread: each prefix of the list is spread over all."""
    if source == "torchvision":
        import torchvision

        large = ("vit_", "128gf", "32gf", "16gf", "b5", "b6", "b7", "_l", "vgg", "101", "152",
                 "161", "201", "169", "swin_b", "swin_s", "swin_v2_b", "swin_v2_s")
        names = [name for name in torchvision.models.list_models(module=torchvision.models)
                 if not any(word in name for word in large)]
    elif source == "timm":
        import timm

        names = [name for name in timm.list_models()
                 if any(word in name for word in ("tiny", "nano", "atto", "pico", "femto", "xxs",
                                                  "_xs", "_050", "_s0", "18"))
                 and not any(word in name for word in ("384", "512", "448", "so150m", "naflex"))]
    else:
        import transformers

        names = [name for name, config in transformers.CONFIG_MAPPING.items()
                 if config in transformers.MODEL_MAPPING]
    spread: List[str] = []
    step = 1
    while step < len(names):
        step *= 2
    while step:
        spread += [name for name in names[::step] if name not in spread]
        step //= 2
    return spread


def build(source: str, name: str) -> Tuple[Any, Tuple[Any, ...], Dict[str, Any]]:
    """A model with small random weights, and a call of it."""
    import torch

    if source == "torchvision":
        import torchvision

        size = 299 if "inception" in name else 224
        return (torchvision.models.get_model(name, weights=None), (torch.randn(1, 3, size, size),),
                {})
    if source == "timm":
        import timm

        model = timm.create_model(name, pretrained=False)
        return model, (torch.randn(1, *model.default_cfg["input_size"]),), {}
    import transformers

    config = transformers.CONFIG_MAPPING[name]()
    small = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                 n_layer=2, n_head=4, n_embd=64, num_layers=2, num_heads=4, d_model=64, d_ff=128,
                 d_kv=16, num_key_value_heads=2, head_dim=16, vocab_size=1000, encoder_layers=2,
                 decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                 encoder_ffn_dim=128, decoder_ffn_dim=128, pad_token_id=0, bos_token_id=1,
                 eos_token_id=2)
    for key, value in small.items():
        if hasattr(config, key):
            try:
                setattr(config, key, value)
            except Exception:  # some keys are computed
                pass
    make = transformers.MODEL_MAPPING[type(config)]
    with torch.device("meta"):
        size = sum(parameter.numel() for parameter in make(config).parameters())
    if size > MAX_PARAMETERS:
        raise ValueError(f"{size} parameters are too many")
    model = make(config)
    if model.main_input_name == "pixel_values":
        image = getattr(config, "image_size", 224) or 224
        image = image if isinstance(image, (list, tuple)) else (image, image)
        return model, (), {"pixel_values": torch.randn(1, getattr(config, "num_channels", 3),
                                                       *image)}
    kwargs: Dict[str, Any] = {"input_ids": torch.randint(3, 900, (1, 16))}
    if getattr(config, "is_encoder_decoder", False):
        kwargs["decoder_input_ids"] = torch.randint(3, 900, (1, 8))
    return model, (), kwargs


# --- One model ---------------------------------------------------------------------------------


class Clock:
    """Processor seconds that a function takes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.seconds = 0.0
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        begin = time.process_time()
        try:
            return self._function(*args, **kwargs)
        finally:
            self.seconds += time.process_time() - begin


def prepare() -> None:
    """What a first capture does once, and is no cost of a model."""
    import torch
    import torch._dynamo.eval_frame  # noqa: F401

    import graphnet_ir
    import graphnet_ir.live.capture

    graphnet_ir.live.capture.clock = time.process_time
    torch.set_num_threads(1)
    with torch.no_grad():
        graphnet_ir.capture(torch.nn.Linear(2, 2))(torch.ones(1, 2))


def capture(source: str, name: str, out: str, max_modules: int) -> Row:
    """Captures one model, in this process."""
    import torch

    import graphnet_ir
    import graphnet_ir.live.verifying

    torch.manual_seed(0)
    row: Row = {"source": source, "name": name}
    try:
        model, args, kwargs = build(source, name)
        if len(list(model.modules())) > max_modules:
            raise ValueError("too many modules")
        if sum(parameter.numel() for parameter in model.parameters()) > MAX_PARAMETERS:
            raise ValueError("too many parameters")
        model.eval()
        with torch.no_grad():
            model(*args, **kwargs)
    except Exception as error:
        return {**row, "state": "no model", "why": f"{type(error).__name__}: {error}"[:150]}
    prepare()
    extracted = graphnet_ir.capture(model, name=name.replace("/", "_"), verify=True)
    # Dynamo takes what the compiled call does, but what the interpreter does in it.
    compiled = extracted._compiled = Clock(extracted._compiled)
    replay = Clock(graphnet_ir.live.verifying.Replay.run)
    graphnet_ir.live.verifying.Replay.run = lambda *args: replay(*args)  # type: ignore[method-assign]
    with torch.no_grad():
        try:
            extracted(*args, **kwargs)
        except Exception as error:
            row.update(state="differs", why=f"{type(error).__name__}: {error}"[:300])
    found = extracted.capture
    row.update(graphs=len(found), ops=sum(graph.num_ops for graph in found), own=found.seconds,
               dynamo=compiled.seconds - replay.seconds - found.seconds,
               lost=[graph.why_not for graph in found if graph.sample is None],
               breaks=collections.Counter(graph.ended.reason for graph in found
                                          if graph.ended.is_break))
    for call in found.verified:
        row.setdefault("why", "; ".join(call.notes + call.differences)[:300])
        row.setdefault("state", "equal" if call.equal and not call.notes else
                       "equal, not all by the interpreter" if call.equal else
                       "Dynamo's bits, not eager's" if call.equal_to_dynamo else "differs")
    if row["lost"]:
        row["state"] = "not all kept"
    row["folder"] = found.save(out)
    return row


def in_own_process(run: Callable[[], Row], seconds: int, gigabytes: float) -> Row:
    """What a function returns in a process that is forked for it, within limits."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            limit = int(gigabytes * 2**30)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            signal.alarm(seconds)
            os.close(reader)
            with os.fdopen(writer, "w") as pipe:
                json.dump(run(), pipe)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == -signal.SIGALRM:
        return {"state": "limit", "why": f"{seconds} seconds"}
    if status:
        return {"state": "ended", "why": f"exit {status}"}
    row: Row = json.loads(text)
    return row


# --- Many models -------------------------------------------------------------------------------


def read_rows(paths: List[str]) -> Iterator[Row]:
    for path in paths:
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                yield from map(json.loads, file)


def is_model(row: Row) -> bool:
    return str(row["state"]) != "no model"


def run_source(args: argparse.Namespace) -> List[Row]:
    importlib.import_module(args.source)  # so that no process does it again
    importlib.import_module("graphnet_ir.live.capture")
    rows = [row for row in read_rows([args.rows]) if row["source"] == args.source]
    known = {row["name"] for row in rows}
    names = args.names.split(",") if args.names else candidates(args.source)
    with open(args.rows, "a", encoding="utf-8") as file:
        for name in names:
            if not args.names and sum(map(is_model, rows)) >= args.count:
                break
            if name in known:
                continue
            row = {"source": args.source, "name": name,
                   **in_own_process(lambda: capture(args.source, name, args.out, args.modules),
                                    args.seconds, args.gigabytes)}
            if args.graphnet and row.get("folder"):
                check = subprocess.run([args.graphnet, "check", row["folder"]], text=True,
                                       capture_output=True, check=False)
                row["check"] = (check.stdout.strip().splitlines() or [check.stderr[:150]])[-1]
                if check.returncode:
                    row["state"] = "not valid"
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(json.dumps(row), file=sys.stderr, flush=True)
    return rows


def print_sums(rows: List[Row]) -> None:
    models = [row for row in rows if is_model(row)]
    for row in models:
        if row["state"] != "equal":
            print(f"{row['name']}: {row['state']}: {row.get('why', '')}".replace("\n", " "))
    states = collections.Counter(row["state"] for row in models)
    costs = [100 * row["own"] / row["dynamo"] for row in models if row.get("dynamo")]
    if costs:
        print(f"capturing added {statistics.median(costs):.1f} % to Dynamo's time in the median, at most "
              f"{max(costs):.1f} %")
    print(f"{len(models)} models, {sum(row.get('graphs', 0) for row in models)} graphs of "
          f"{sum(row.get('ops', 0) for row in models)} operators: "
          + ", ".join(f"{count} {state}" for state, count in sorted(states.items())))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", choices=("torchvision", "timm", "transformers"))
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--names", default="")
    parser.add_argument("--modules", type=int, default=250, help="of a model, at most")
    parser.add_argument("--rows", default="")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--gigabytes", type=float, default=16)
    parser.add_argument("--out", default="")
    parser.add_argument("--graphnet", default="")
    parser.add_argument("--prelude", default="", help="a file that is run first")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    if args.prelude:
        spec = importlib.util.spec_from_file_location("capture_prelude", args.prelude)
        assert spec is not None and spec.loader is not None
        sys.modules["capture_prelude"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["capture_prelude"])
    with tempfile.TemporaryDirectory() as folder:
        args.out = args.out or folder
        args.rows = args.rows or os.path.join(folder, "rows.jsonl")
        rows = run_source(args)
        print_sums(rows)
    return 0 if {row["state"] for row in rows} <= {"equal", "no model", "limit"} else 1


if __name__ == "__main__":
    sys.exit(main())
