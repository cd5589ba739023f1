#!/usr/bin/env python3
"""Writes programs of transformers, with inputs and PyTorch's outputs, for check_field_programs.py.

    make_field_models.py FOLDER [NAME…]

The long form of make_field_programs.py: real models of the library with few and narrow layers, as
torch.export takes them without a wrapper: ModelOutput comes out, sizes are dynamic where the model
permits it, and one has a static cache. Needs torch, transformers, and a torchvision of the same build
or none. A model that torch.export
refuses is printed with the reason.
"""

import argparse
import pathlib
import sys
import warnings

import torch
import transformers
from torch.export import Dim

import make_pt2_programs as common

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()

SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, num_key_value_heads=2,
             head_dim=8, vocab_size=100, n_layer=2, n_head=4, n_embd=32, num_layers=2, num_heads=4, d_model=32, d_ff=64,
             d_kv=8, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
             encoder_ffn_dim=64, decoder_ffn_dim=64, dim=32, n_layers=2, n_heads=4, hidden_dim=64, embedding_size=32,
             max_position_embeddings=64, image_size=32, patch_size=8, depths=[1, 1], hidden_sizes=[8, 16],
             embed_dim=16, window_size=4, pad_token_id=0, bos_token_id=1, eos_token_id=2, state_size=4,
             num_experts=4, num_local_experts=4, num_experts_per_tok=2, num_mel_bins=16, max_source_positions=20,
             max_target_positions=32, decoder_start_token_id=1)
TEXT = ["llama", "qwen2", "qwen3", "gemma", "phi", "gpt2", "opt", "gpt_neox", "bloom", "mistral", "mixtral", "bert",
        "roberta", "distilbert", "albert", "electra", "mpnet", "xlm-roberta", "mamba"]
IMAGES = ["vit", "deit", "beit", "swin", "resnet", "convnext", "dinov2", "regnet"]
PAIRS = ["t5", "bart", "marian"]


def configuration(name):
    config = transformers.CONFIG_MAPPING[name]()
    for key, value in SMALL.items():
        if isinstance(getattr(config, key, None), type(value)):
            try:
                setattr(config, key, value)
            except Exception:  # noqa: BLE001 (a property)
                pass
    config.use_cache = False
    return config


def model(name):
    config = configuration(name)
    kind = transformers.MODEL_MAPPING[type(config)]
    config._attn_implementation = "sdpa" if kind._supports_sdpa else "eager"
    return kind(config).eval()


def ids(*shape):
    return torch.randint(3, 90, shape)


class StaticCache(torch.nn.Module):
    """What transformers makes for executables: caches are buffers."""

    def __init__(self):
        super().__init__()
        from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

        config = configuration("llama")
        config.use_cache = True
        language = transformers.AutoModelForCausalLM.from_config(config).eval()
        language.generation_config = transformers.GenerationConfig(
            use_cache=True, cache_implementation="static", max_length=16, cache_config={"batch_size": 1, "max_cache_len": 16})
        self.inner = TorchExportableModuleWithStaticCache(language)

    def forward(self, input_ids, cache_position):
        return self.inner(input_ids=input_ids, cache_position=cache_position)


def programs():
    auto = {0: Dim.AUTO, 1: Dim.AUTO}
    for name in TEXT:
        yield name, lambda n=name: model(n), [((ids(2, 9),), {}), ((ids(3, 7),), {})], auto
    for name in IMAGES:
        yield name, lambda n=name: model(n), [((torch.randn(2, 3, 32, 32),), {}), ((torch.randn(3, 3, 32, 32),), {})], {0: Dim.AUTO}
    for name in PAIRS:
        yield name, lambda n=name: model(n), [((), {"input_ids": ids(2, 9), "decoder_input_ids": ids(2, 5)})], None
    yield "llama_static_cache", StaticCache, [((ids(1, 1), torch.tensor([0])), {}), ((ids(1, 1), torch.tensor([3])), {})], None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    made = refused = 0
    for name, build, calls, dynamic in programs():
        if options.names and name not in options.names:
            continue
        torch.manual_seed(0)
        path = options.folder / f"{name}.pt2"
        try:
            module = build()
            export = {} if dynamic is None else {"dynamic_shapes": (dynamic,)}
            with torch.no_grad():
                program = torch.export.export(module, common.copied(calls[0][0]), common.copied(calls[0][1]), strict=False, **export)
            torch.export.save(program, str(path))
            with torch.no_grad():
                common.write_calls(name, common.Program(module, calls), path, options.folder)
            made += 1
        except Exception as error:  # noqa: BLE001 (of torch.export itself)
            refused += 1
            print(f"not made  {name}: {type(error).__name__}: {str(error).strip().splitlines()[0][:300]}", flush=True)
            for left in options.folder.glob(f"{name}.*"):
                left.unlink()
    print(f"{made} made, {refused} that torch.export or transformers does not make")
    return made == 0


if __name__ == "__main__":
    sys.exit(main())
