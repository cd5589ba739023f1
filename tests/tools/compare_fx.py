#!/usr/bin/env python3
"""Sends graph modules of real models to a sample and back, and compares code and results.

    compare_fx.py [--kinds symbolic,dynamo,…] [--limit N] [--seconds N] [--each N] [--rows FILE]

The models are torchvision's, timm's and small configurations of transformers, as far as these
packages are installed. Of each one there are graph modules of torch.fx.symbolic_trace, of Dynamo,
of torch.export (its module and its graph, before and after decompositions), of make_fx, and of
AOTAutograd, forward and backward. `to_fx(from_fx(gm), root=gm)` must have the same code and yield
the same bits, and so must what a sample that was saved and loaded gives. One line a graph that
differs or is refused, and one line of counts at the end. The exit status is 0 if none differs.
With --rows a run goes on where the one before stopped: what each model and kind yielded is kept in
the file, and counted.
"""

from __future__ import annotations

import argparse
import collections
import copy
import functools
import json
import logging
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
import torch.fx
from torch.utils import _pytree as pytree

import graphnet_ir

# A graph module, and the inputs that it can be run on, if there are any.
Case = Tuple[torch.fx.GraphModule, Optional[Tuple[Any, ...]]]

TINY = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
            n_layer=2, n_head=4, n_embd=64, num_layers=2, num_heads=4, d_model=64, d_ff=128,
            d_kv=16, num_key_value_heads=2, head_dim=16, vocab_size=1000, encoder_layers=2,
            decoder_layers=2, use_cache=False, pad_token_id=0, bos_token_id=1, eos_token_id=2,
            embedding_size=64, dim=64, hidden_dim=128, n_heads=4, n_layers=2, emb_dim=64,
            decoder_ffn_dim=128, encoder_ffn_dim=128, moe_intermediate_size=32, num_experts=4,
            num_local_experts=4, n_routed_experts=4, intermediate_dim=128, ffn_dim=128)


MAX_PARAMETERS = 8_000_000


class TextModel(torch.nn.Module):
    """A model of transformers as a function of one tensor."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.model(input_ids=input_ids, return_dict=False)[0]
        return result


# --- Models ------------------------------------------------------------------------------------


def images(size: int) -> Tuple[torch.Tensor, ...]:
    return (torch.randn(2, 3, size, size),)


def torchvision_models() -> Iterator[Tuple[str, Callable[[], torch.nn.Module], Any]]:
    from torchvision import models

    for name in models.list_models(module=models):
        if models.get_model_weights(name).DEFAULT.meta["num_params"] > MAX_PARAMETERS:
            continue
        size = 299 if "inception" in name else 224 if name.startswith(("vit", "maxvit")) else 64
        yield (name, functools.partial(models.get_model, name, weights=None), images(size))


def timm_models() -> Iterator[Tuple[str, Callable[[], torch.nn.Module], Any]]:
    import timm

    small = [name for name in timm.list_models()
             if any(word in name for word in ("atto", "femto", "pico", "nano", "tiny", "mini",
                                              "small", "_xs", "xxs", "_050", "_035", "_lite"))]
    for name in small[::2]:
        config = timm.get_pretrained_cfg(name)
        size = config.input_size[-1] if config is not None and config.fixed_input_size else 64
        yield (name, functools.partial(timm.create_model, name), images(size))


def text_models() -> Iterator[Tuple[str, Callable[[], torch.nn.Module], Any]]:
    import transformers
    from transformers.models.auto import modeling_auto as auto

    def build(kind: str) -> torch.nn.Module:
        config = transformers.CONFIG_MAPPING[kind]()
        for key, value in TINY.items():
            if hasattr(config, key):
                setattr(config, key, value)
        return TextModel(transformers.MODEL_MAPPING[type(config)](config))

    # The others want images or sounds.
    masked, causal = auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES, auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    for kind in {**masked, **causal}:
        yield kind, functools.partial(build, kind), (torch.randint(3, 900, (1, 16)),)


def all_models() -> Iterator[Tuple[str, Callable[[], torch.nn.Module], Any]]:
    """Models of each source in turn."""
    sources: List[Iterator[Tuple[str, Callable[[], torch.nn.Module], Any]]] = []
    for source in (text_models, torchvision_models, timm_models):
        try:
            made = source()
            first = next(made)
        except ImportError as error:
            print(f"{source.__name__}: {error}")
            continue
        yield first
        sources.append(made)
    while sources:
        for made in list(sources):
            try:
                yield next(made)
            except StopIteration:
                sources.remove(made)


def is_small(build: Callable[[], torch.nn.Module]) -> bool:
    """Whether a model can be built, and has few enough parameters to be run often."""
    try:
        with torch.device("meta"):
            return sum(value.numel() for value in build().parameters()) < MAX_PARAMETERS
    except Exception:
        return False


def runs(build: Callable[[], torch.nn.Module], inputs: Any) -> bool:
    try:
        with torch.no_grad():
            build().eval()(*inputs)
    except Exception:
        return False
    return True


# --- Graph modules -----------------------------------------------------------------------------


def symbolic(model: torch.nn.Module, inputs: Tuple[Any, ...]) -> Iterator[Case]:
    yield torch.fx.symbolic_trace(model), inputs


def dynamo(model: torch.nn.Module, inputs: Tuple[Any, ...], dynamic: bool = False
           ) -> Iterator[Case]:
    cases: List[Case] = []

    def backend(gm: torch.fx.GraphModule, examples: List[Any]) -> Callable[..., Any]:
        sizes = [value.node.hint if isinstance(value, torch.SymInt) else value
                 for value in examples]
        cases.append((copy.copy(gm), None if any(v is None for v in sizes) else tuple(sizes)))
        return gm.forward

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(model, backend=backend, dynamic=dynamic)(*inputs)
    yield from cases


def dynamic(model: torch.nn.Module, inputs: Tuple[Any, ...]) -> Iterator[Case]:
    yield from dynamo(model, inputs, dynamic=True)


def exported(model: torch.nn.Module, inputs: Tuple[Any, ...]) -> Iterator[Case]:
    with torch.no_grad():
        program = torch.export.export(model, inputs, strict=False)
        yield program.module(), inputs
        values = {**program.constants, **program.state_dict}
        lifted = [values[spec.target] for spec in program.graph_signature.input_specs
                  if spec.target is not None]
        yield program.graph_module, (*lifted, *inputs)
        core = program.run_decompositions()
        yield core.module(), inputs


def aten(model: torch.nn.Module, inputs: Tuple[Any, ...]) -> Iterator[Case]:
    from torch.fx.experimental.proxy_tensor import make_fx

    with torch.no_grad():
        yield make_fx(model)(*inputs), inputs
        yield make_fx(model, tracing_mode="symbolic", _allow_non_fake_inputs=True)(*inputs), inputs


def training(model: torch.nn.Module, inputs: Tuple[Any, ...]) -> Iterator[Case]:
    from functorch.compile import aot_function, make_boxed_func

    graphs: List[torch.fx.GraphModule] = []
    calls: List[Tuple[Any, ...]] = []

    def compiler(gm: torch.fx.GraphModule, _: Any) -> Any:
        at = len(graphs)
        graphs.append(gm)
        calls.append(())

        def run(*args: Any) -> Any:
            calls[at] = pytree.tree_map(keep, args)
            return gm(*args)

        return make_boxed_func(run)

    state = {**dict(model.named_parameters()), **dict(model.named_buffers())}

    def function(state: Dict[str, torch.Tensor], *args: Any) -> Any:
        made = torch.func.functional_call(model, state, args)
        return pytree.tree_leaves(made)[0].float().square().mean()

    aot_function(function, fw_compiler=compiler, bw_compiler=compiler)(state, *inputs).backward()
    model.zero_grad()
    yield from zip(graphs, calls)


KINDS: Dict[str, Callable[[torch.nn.Module, Tuple[Any, ...]], Iterator[Case]]] = {
    "symbolic": symbolic, "dynamo": dynamo, "dynamic": dynamic, "export": exported, "aten": aten,
    "training": training}


# --- Comparing ---------------------------------------------------------------------------------


def keep(value: Any) -> Any:
    """A copy of a tensor with its strides."""
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def same_bits(a: Any, b: Any) -> bool:
    if not isinstance(a, torch.Tensor):
        return type(a) is type(b) and (a == b or a != a)
    if a.dtype != b.dtype or a.shape != b.shape or a.device != b.device:
        return False
    raw = [value.detach().resolve_conj().contiguous().flatten().view(torch.uint8)
           for value in (a, b)]
    return torch.equal(*raw)


def outcome(gm: torch.fx.GraphModule, inputs: Tuple[Any, ...]) -> List[Any]:
    """What a graph module yields, and what it writes to its inputs."""
    torch.manual_seed(0)
    copies = pytree.tree_map(keep, inputs)
    with torch.no_grad():
        result = gm(*copies)
    return [keep(leaf) for leaf in pytree.tree_leaves((result, copies))]


def state_of(gm: torch.fx.GraphModule) -> Dict[str, torch.Tensor]:
    return {name: keep(value) for name, value in gm.named_buffers()}


def check(gm: torch.fx.GraphModule, inputs: Optional[Tuple[Any, ...]]) -> str:
    sample = graphnet_ir.from_fx(gm)
    made = graphnet_ir.to_fx(sample, root=gm)
    if made.code != gm.code:
        lines = zip(gm.code.splitlines(), made.code.splitlines())
        return next((f"the code differs: {a[:150]} || {b[:150]}" for a, b in lines if a != b),
                    "the code differs in length")
    for (name, a), (_, b) in zip(bodies(gm), bodies(made)):
        if a.code != b.code:
            return f"the code of {name} differs"
    again = graphnet_ir.from_fx(made)
    if graphnet_ir.show(again, complete=True) != graphnet_ir.show(sample, complete=True):
        return "the sample differs on the way back"
    loaded = graphnet_ir.load_bytes(graphnet_ir.to_bytes(sample), "sample.pb")
    stored = graphnet_ir.to_fx(loaded, root=gm)
    if stored.code != gm.code:
        return "the code of the saved sample differs"
    if inputs is None:
        return "equal code"
    before = state_of(gm)
    try:
        expected = outcome(gm, inputs)
    except Exception:  # A graph that cannot be run on its own, of a generator's internals say.
        return "equal code"
    # Running may change buffers, which both sides share.
    with torch.no_grad():
        for name, value in before.items():
            gm.get_buffer(name).copy_(value)
    got = outcome(made, inputs)
    if len(got) != len(expected) or not all(map(same_bits, expected, got)):
        return "the results differ"
    return "equal"


def bodies(gm: torch.fx.GraphModule) -> List[Tuple[str, torch.fx.GraphModule]]:
    called = {str(node.target) for node in gm.graph.nodes if node.op == "get_attr"}
    return sorted((name, module) for name, module in gm.named_modules()
                  if name in called and isinstance(module, torch.fx.GraphModule))


def verdicts_of(name: str, kind: str, build: Callable[[], torch.nn.Module],
                inputs: Tuple[Any, ...]) -> Iterator[str]:
    """One verdict for each graph module of a model and kind; none if there is no such module."""
    try:
        torch.manual_seed(0)
        cases = list(KINDS[kind](build().eval(), inputs))
    except Exception as error:  # PyTorch itself cannot build or trace it.
        print(f"# {name} {kind}: {type(error).__name__} {str(error)[:100]!r}", flush=True)
        return
    for i, (gm, examples) in enumerate(cases):
        try:
            verdict = check(gm, examples)
        except graphnet_ir.Error as error:
            verdict = error.kind
            print(f"{name} {kind} {i}: {error.kind}: {str(error)[:200]}", flush=True)
        except Exception as error:
            verdict = "failed"
            print(f"{name} {kind} {i}: {type(error).__name__} {str(error)[:200]}", flush=True)
        if "differ" in verdict:
            print(f"{name} {kind} {i}: {verdict}", flush=True)
            verdict = "differs"
        yield verdict


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--limit", type=int, default=500, help="graph modules in all")
    parser.add_argument("--each", type=int, default=10**9, help="graph modules of each kind")
    parser.add_argument("--skip", type=int, default=0, help="models that are left out at first")
    parser.add_argument("--rows", default="", help="a file of what is done already")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time for all")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    done: Dict[Tuple[str, str], List[str]] = {}
    rows = open(args.rows, "a+", encoding="utf-8") if args.rows else None
    if rows is not None:
        rows.seek(0)
        done = {(row["model"], row["kind"]): row["verdicts"] for row in map(json.loads, rows)}
    counts: Dict[str, Dict[str, int]] = collections.defaultdict(collections.Counter)
    for (_, kind), verdicts in done.items():
        counts[kind].update(verdicts)
    end = time.monotonic() + args.seconds
    untraceable = sum(not verdicts for verdicts in done.values())
    for number, (name, build, inputs) in enumerate(all_models()):
        total = sum(n for kind in counts.values() for n in kind.values())
        if total >= args.limit or time.monotonic() > end:
            break
        # Images take long: of most such models there are two kinds, if none is asked for.
        is_brief = args.kinds == ",".join(KINDS) and inputs[0].ndim == 4 and number % 8
        kinds = [kind for kind in (("symbolic", "dynamo") if is_brief else args.kinds.split(","))
                 if (name, kind) not in done]
        if number < args.skip or not kinds or not is_small(build):
            continue
        print(f"# {name}: {total} graph modules so far", flush=True)
        if not runs(build, inputs):
            print(f"# {name} does not run on these inputs", flush=True)
            continue
        for kind in kinds:
            if time.monotonic() > end or sum(counts[kind].values()) >= args.each:
                continue
            verdicts = list(verdicts_of(name, kind, build, inputs))
            untraceable += not verdicts
            counts[kind].update(verdicts)
            if rows is not None:
                rows.write(json.dumps({"model": name, "kind": kind, "verdicts": verdicts}) + "\n")
                rows.flush()
    total = sum(n for kind in counts.values() for n in kind.values())
    failed = sum(n for of in counts.values() for verdict, n in of.items()
                 if verdict not in ("equal", "equal code", "unimplemented"))
    by_kind = "; ".join(
        f"{kind}: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(of.items()))
        for kind, of in counts.items())
    print(f"{total} graph modules, {failed} differ or failed; {untraceable} times PyTorch could "
          f"not trace; {by_kind}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
