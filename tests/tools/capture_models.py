"""Captures models of torchvision, timm or transformers as they are, and proves each capture.

usage: capture_models.py --source torchvision|timm|transformers [--count N] [--names A,B]
                         [--seconds S] [--gigabytes G] [--out FOLDER] [--graphnet TOOL]

Needs torch, the source's package and graphnet_ir. Each model runs in a process of its own, first
without verify, which says what capturing costs, then with it. The table in Markdown has: graphs;
operators; breaks by reason; seconds of the first call; what capturing added to them in percent;
whether the replay by graphnet's interpreter yields eager's bits, or why not.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List, Tuple


def choose(source: str, count: int) -> List[str]:
    """Names of small models, spread over all that there are."""
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
    step = max(1, len(names) // count)
    return names[::step][:count]


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
    model = transformers.MODEL_MAPPING[type(config)](config)
    size = sum(parameter.numel() for parameter in model.parameters())
    if size > 3e8:
        raise ValueError(f"{size} parameters are too many")
    if model.main_input_name == "pixel_values":
        image = getattr(config, "image_size", 224) or 224
        image = image if isinstance(image, (list, tuple)) else (image, image)
        return model, (), {"pixel_values": torch.randn(1, getattr(config, "num_channels", 3),
                                                       *image)}
    kwargs: Dict[str, Any] = {"input_ids": torch.randint(3, 900, (1, 16))}
    if getattr(config, "is_encoder_decoder", False):
        kwargs["decoder_input_ids"] = torch.randint(3, 900, (1, 8))
    return model, (), kwargs


def capture(source: str, name: str, out: str) -> Dict[str, Any]:
    """Captures one model, in this process."""
    import torch

    from graphnet_ir.capture import extract

    torch.manual_seed(0)
    row: Dict[str, Any] = {"name": name}
    try:
        model, args, kwargs = build(source, name)
        model.eval()
        with torch.no_grad():
            model(*args, **kwargs)
    except Exception as error:
        return {**row, "state": "no model", "why": f"{type(error).__name__}: {error}"[:150]}
    import torch._dynamo.eval_frame  # noqa: F401 (its imports are no cost of a capture)
    with torch.no_grad():
        torch.compile(torch.nn.Linear(2, 2), backend=lambda gm, _: gm.forward)(torch.ones(1, 2))
        first = extract(model, name=name.replace("/", "_"))
        begin = time.perf_counter()
        first(*args, **kwargs)
        row["seconds"] = time.perf_counter() - begin
        row["own"] = first.capture.seconds
        torch._dynamo.reset()
        second = extract(model, name=name.replace("/", "_"), workspace=out, verify=True)
        try:
            second(*args, **kwargs)
        except Exception as error:
            row.update(state="differs", why=f"{type(error).__name__}: {error}"[:300])
    graphs = second.capture.graphs
    row.update(graphs=len(graphs), ops=sum(graph.num_ops for graph in graphs),
               lost=sum(graph.sample is None for graph in graphs),
               breaks=collections.Counter(graph.ended.reason for graph in graphs
                                          if graph.ended.is_break))
    for call in second.capture.verified:
        row.setdefault("why", "; ".join(call.notes + call.differences)[:300])
        row.setdefault("state", "equal" if call.equal and not call.notes else
                       "equal, not all by the interpreter" if call.equal else
                       "Dynamo's bits, not eager's" if call.equal_to_dynamo else "differs")
    return row


def limited(args: argparse.Namespace, name: str) -> Dict[str, Any]:
    """One model in a process with limits."""
    limit = int(args.gigabytes * 2**30)
    command = [sys.executable, os.path.abspath(__file__), "--source", args.source, "--one", name,
               "--out", args.out]
    begin = time.perf_counter()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=args.seconds,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    except subprocess.TimeoutExpired:
        return {"name": name, "state": "limit", "why": f"{args.seconds} seconds"}
    rows = [line for line in done.stdout.splitlines() if line.startswith('{"name"')]
    if not rows:
        last = (done.stderr.strip().splitlines() or ["?"])[-1]
        return {"name": name, "state": "ended", "why": f"exit {done.returncode}: {last[:150]}"}
    row: Dict[str, Any] = json.loads(rows[-1])
    if args.graphnet and "graphs" in row and row["graphs"]:
        check = subprocess.run([args.graphnet, "check", os.path.join(args.out, name)],
                               capture_output=True, text=True)
        row["check"] = check.stdout.strip().splitlines()[-1:] or [check.stderr.strip()[:150]]
    row["all"] = time.perf_counter() - begin
    return row


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True,
                        choices=("torchvision", "timm", "transformers"))
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--names", default="")
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--gigabytes", type=float, default=12)
    parser.add_argument("--out", default="")
    parser.add_argument("--graphnet", default="")
    parser.add_argument("--prelude", default=os.environ.get("CAPTURE_PRELUDE", ""))
    parser.add_argument("--one", default="")
    args = parser.parse_args()
    if args.prelude:  # a file that is run first, as an environment may need
        os.environ["CAPTURE_PRELUDE"] = args.prelude
        spec = importlib.util.spec_from_file_location("capture_prelude", args.prelude)
        assert spec is not None and spec.loader is not None
        sys.modules["capture_prelude"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["capture_prelude"])
    if args.one:
        print(json.dumps(capture(args.source, args.one, args.out)))
        return 0
    if not args.out:
        args.out = tempfile.mkdtemp()
    names = args.names.split(",") if args.names else choose(args.source, args.count)
    print("| model | graphs | operators | breaks | seconds | added | replay | check |")
    print("|---|---|---|---|---|---|---|---|")
    states: Dict[str, int] = collections.Counter()
    costs: List[float] = []
    for name in names:
        row = limited(args, name)
        states[row["state"]] += 1
        breaks = ", ".join(f"{count} {reason[:60]}" for reason, count
                           in row.get("breaks", {}).items())
        added = ""
        if "own" in row:
            costs.append(row["own"] / (row["seconds"] - row["own"]))
            added = f"{100 * costs[-1]:.1f} %"
        why = f": {row['why']}" if row.get("why") else ""
        print(f"| {name} | {row.get('graphs', '')} | {row.get('ops', '')} | {breaks} | "
              f"{row.get('seconds', 0):.1f} | {added} | {row['state']}{why} | "
              f"{' '.join(row.get('check', []))} |".replace("\n", " "), flush=True)
    print("\n" + ", ".join(f"{count} {state}" for state, count in sorted(states.items())))
    if costs:
        print(f"capturing added {100 * sum(costs) / len(costs):.1f} % on the average, at most "
              f"{100 * max(costs):.1f} %")
    return 0 if set(states) <= {"equal", "no model", "limit"} else 1


if __name__ == "__main__":
    sys.exit(main())
