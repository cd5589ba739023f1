#!/usr/bin/env python3
"""A harvest that is killed again and again publishes what an undisturbed one does.

usage: kill_harvest.py [SOURCE] [--kills N] [--seed N] [--folder F] [--prelude FILE.py] [-- OPTION…]

Without SOURCE, makes a folder in the layout of the hub's cache: small models of many families, without
weights, and broken ones: its constructor raises; its forward raises, hangs, forks, asks for 50 GB, prints
without end; no configuration; code of its own (auto_map); gated; a duplicate; only pickled weights. It needs
transformers, and runs the prelude before that is imported. The code of repositories of `broken` runs only
with --trust-remote-code 'broken/*'.

Harvests SOURCE once whole, and once killed N times at random moments, with SIGKILL. Compares samples and index byte for byte, how each model ended, and
that a run on a finished harvest changes nothing. Prints the ends, then `0 differ` or what differs.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import os
import random
import runpy
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List, Optional, Tuple


# The kind of a model, its class in transformers, and what its configuration has besides small
# sizes.
MODELS: List[Tuple[str, str, Dict[str, Any]]] = [
    # Text
    ("bert", "BertForMaskedLM", {}),
    ("gpt2", "GPT2LMHeadModel", {}),
    ("llama", "LlamaForCausalLM", {}),
    ("mistral", "MistralForCausalLM", {}),
    ("mamba", "MambaForCausalLM", {"state_size": 8, "time_step_rank": 8}),
    # Mixture of experts
    ("mixtral", "MixtralForCausalLM", {"num_local_experts": 4}),
    ("qwen2_moe", "Qwen2MoeForCausalLM", {"num_experts": 4, "moe_intermediate_size": 32,
                                          "shared_expert_intermediate_size": 32}),
    # Seq2seq
    ("t5", "T5ForConditionalGeneration", {}),
    ("bart", "BartForConditionalGeneration", {}),
    # Vision
    ("vit", "ViTForImageClassification", {"image_size": 32, "patch_size": 8}),
    ("convnext", "ConvNextForImageClassification", {"hidden_sizes": [16, 32, 48, 64],
                                                    "depths": [1, 1, 1, 1], "image_size": 64,
                                                    "num_hidden_layers": 4}),
    ("swin", "SwinModel", {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4],
                           "image_size": 64, "window_size": 4}),
    ("dinov2", "Dinov2Model", {"image_size": 56}),
    # Video
    ("videomae", "VideoMAEModel", {"image_size": 32, "patch_size": 8, "num_frames": 4}),
    # Audio
    ("wav2vec2", "Wav2Vec2ForCTC", {"conv_dim": [16, 16, 16], "conv_kernel": [10, 3, 3],
                                    "conv_stride": [5, 2, 2], "num_feat_extract_layers": 3,
                                    "num_conv_pos_embeddings": 16,
                                    "num_conv_pos_embedding_groups": 4}),
    ("whisper", "WhisperForConditionalGeneration", {"max_source_positions": 32,
                                                    "num_mel_bins": 16,
                                                    "max_target_positions": 64,
                                                    "decoder_start_token_id": 1}),
    # Multimodal
    ("clip", "CLIPModel", {"text_config": {"vocab_size": 1000, "hidden_size": 64,
                                           "intermediate_size": 128, "num_hidden_layers": 2,
                                           "num_attention_heads": 4},
                           "vision_config": {"hidden_size": 64, "intermediate_size": 128,
                                             "num_hidden_layers": 2, "num_attention_heads": 4,
                                             "image_size": 32, "patch_size": 8}}),
    ("llava", "LlavaForConditionalGeneration",
     {"image_token_index": 990, "vision_feature_layer": -1,
      "text_config": {"model_type": "llama", "vocab_size": 1000, "hidden_size": 64,
                      "intermediate_size": 128, "num_hidden_layers": 2,
                      "num_attention_heads": 4, "num_key_value_heads": 4},
      "vision_config": {"model_type": "clip_vision_model", "hidden_size": 64,
                        "intermediate_size": 128, "num_hidden_layers": 2,
                        "num_attention_heads": 4, "image_size": 32, "patch_size": 8}}),
    # Time series
    ("patchtst", "PatchTSTForPrediction", {"num_input_channels": 2, "context_length": 32,
                                           "patch_length": 4, "patch_stride": 4,
                                           "prediction_length": 8}),
    # Decisions
    ("decision_transformer", "DecisionTransformerModel", {"hidden_size": 32}),
]
SMALL = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
             n_layer=2, n_head=4, n_embd=64, num_layers=2, num_heads=4, d_model=64, d_ff=128,
             d_kv=16, num_key_value_heads=2, head_dim=16, vocab_size=1000, encoder_layers=2,
             decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
             encoder_ffn_dim=128, decoder_ffn_dim=128, pad_token_id=0, bos_token_id=1,
             eos_token_id=2)
UNET = {
    "_class_name": "UNet2DConditionModel", "_diffusers_version": "0.30.0", "sample_size": 16,
    "in_channels": 4, "out_channels": 4, "block_out_channels": [32, 64], "layers_per_block": 1,
    "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D"], "norm_num_groups": 8,
    "up_block_types": ["CrossAttnUpBlock2D", "UpBlock2D"], "cross_attention_dim": 32,
    "attention_head_dim": 8,
}
VAE = {
    "_class_name": "AutoencoderKL", "_diffusers_version": "0.30.0", "sample_size": 32,
    "block_out_channels": [16, 32], "layers_per_block": 1, "latent_channels": 4,
    "norm_num_groups": 8, "down_block_types": ["DownEncoderBlock2D", "DownEncoderBlock2D"],
    "up_block_types": ["UpDecoderBlock2D", "UpDecoderBlock2D"],
}
CODE = '''
import os
import time

import torch
from transformers import PretrainedConfig, PreTrainedModel


class Config(PretrainedConfig):
    model_type = "broken"


class Net(PreTrainedModel):
    config_class = Config

    def __init__(self, config):
        super().__init__(config)
        self.linear = torch.nn.Linear(8, 8)
        self.post_init()

    def forward(self, input_ids):
        x = self.linear(torch.ones(1, 8))
{lines}
        return x
'''
BROKEN = {
    "raises": "        raise RuntimeError('a forward that raises')",
    "hangs": "        while True:\n            time.sleep(1)",
    "forks": "        for _ in range(200):\n            if os.fork() == 0:\n"
             "                time.sleep(600)\n                os._exit(0)",
    "fifty-gigabytes": "        x = x + torch.ones(50 * 2**30 // 4).sum()",
    "prints": "        while True:\n            print('and on and on' * 100)",
}


class Folder:
    def __init__(self, path: str):
        self.path = path

    def add(self, id: str, files: Dict[str, Any], licence: Optional[str] = "apache-2.0",
            card: str = "") -> None:
        home = os.path.join(self.path, "models--" + id.replace("/", "--"))
        texts = {name: value if isinstance(value, str) else json.dumps(value, indent=2) + "\n"
                 for name, value in files.items()}
        if licence is not None or card:
            said = f"license: {licence}\n" if licence else ""
            texts["README.md"] = f"---\n{said}{card}---\n# {id}\n"
        revision = hashlib.sha1(json.dumps(texts).encode()).hexdigest()
        for name, text in texts.items():
            # Files of a snapshot are links into blobs, as huggingface_hub makes them.
            blob = hashlib.sha1(text.encode()).hexdigest()
            os.makedirs(os.path.join(home, "blobs"), exist_ok=True)
            with open(os.path.join(home, "blobs", blob), "w", encoding="utf-8") as file:
                file.write(text)
            link = os.path.join(home, "snapshots", revision, name)
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(os.path.relpath(os.path.join(home, "blobs", blob), os.path.dirname(link)),
                       link)
        os.makedirs(os.path.join(home, "snapshots", revision), exist_ok=True)
        os.makedirs(os.path.join(home, "refs"))
        with open(os.path.join(home, "refs", "main"), "w", encoding="ascii") as file:
            file.write(revision)


def configuration(kind: str, architecture: str, given: Dict[str, Any]) -> Dict[str, Any]:
    from transformers import CONFIG_MAPPING

    plain = CONFIG_MAPPING[kind]()
    small = {key: value for key, value in SMALL.items()
             if isinstance(getattr(plain, key, None), int)}
    return {"architectures": [architecture], "model_type": kind, **small, **given}


def make_hub(path: str) -> None:
    """Makes the folder of models, fine ones and broken ones."""
    folder = Folder(path)
    licences = ("apache-2.0", "mit", "bsd-3-clause")
    for i, (kind, architecture, given) in enumerate(MODELS):
        config = configuration(kind, architecture, given)
        folder.add(f"fine/{architecture}", {"config.json": config}, licences[i % 3])
    wanted = [*BROKEN, "constructor", "no-configuration", "auto-map", "gated", "duplicate", "pickled",
              "unknown", "no-licence", "pipeline", "timm"]
    bert = configuration("bert", "BertForMaskedLM", {})
    for name in wanted:
        id = f"broken/{name}"
        if name in BROKEN or name == "auto-map":
            config = {"model_type": "broken", "architectures": ["Net"],
                      "auto_map": {"AutoConfig": "net.Config", "AutoModel": "net.Net"}}
            code = CODE.replace("{lines}", BROKEN.get(name, ""))
            folder.add(id if name in BROKEN else "other/auto-map",
                       {"config.json": config, "net.py": code})
        elif name == "constructor":
            folder.add(id, {"config.json": {**bert, "hidden_size": 65}})
        elif name == "no-configuration":
            folder.add(id, {"model.safetensors": ""})
        elif name == "gated":
            folder.add(id, {}, card="extra_gated_prompt: Please agree.\n")
        elif name == "duplicate":
            folder.add("other/duplicate", {"config.json": bert})
        elif name == "pickled":
            folder.add(id, {"pytorch_model.bin": "cos\nsystem\n(S'touch pickle-was-run'\ntR."})
        elif name == "unknown":
            folder.add(id, {"config.json": {"model_type": "no-such-model"}})
        elif name == "no-licence":
            folder.add("other/no-licence", {"config.json": {**bert, "num_hidden_layers": 1}},
                       None)
        elif name == "pipeline":
            folder.add("fine/pipeline", {
                "model_index.json": {"_class_name": "StableDiffusionPipeline",
                                     "unet": ["diffusers", "UNet2DConditionModel"],
                                     "vae": ["diffusers", "AutoencoderKL"],
                                     "scheduler": ["diffusers", "DDIMScheduler"]},
                "unet/config.json": UNET, "vae/config.json": VAE})
        elif name == "timm":
            folder.add("fine/timm", {"config.json": {
                "architecture": "resnet10t", "num_classes": 10,
                "pretrained_cfg": {"input_size": [3, 64, 64]}}})


def content(folder: str) -> Dict[str, bytes]:
    found = {}
    for top in ("samples", "index.jsonl"):
        path = os.path.join(folder, top)
        files = [path] if os.path.isfile(path) else [
            os.path.join(at, name) for at, _, names in os.walk(path) for name in names]
        for file in files:
            with open(file, "rb") as opened:
                found[os.path.relpath(file, folder)] = opened.read()
    return found


def ends(folder: str) -> Dict[str, Tuple[str, str]]:
    with sqlite3.connect(os.path.join(folder, "journal.sqlite")) as journal:
        return {id: (stage, failure or "") for id, stage, failure in journal.execute(
            "SELECT id, stage, failure FROM models ORDER BY number")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source", nargs="?", default="")
    parser.add_argument("--prelude", default="")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", default="")
    words = [*sys.argv[1:], "--"]
    split = words.index("--")
    args = parser.parse_args(words[:split])
    folder = args.folder or tempfile.mkdtemp()
    if not args.source:
        if args.prelude:
            runpy.run_path(args.prelude)
        args.source = os.path.join(folder, "hub")
        make_hub(args.source)
    command = [sys.executable, "-m", "graphnet_ir.harvest", args.source,
               *words[split + 1:-1], "-o"]
    whole, killed = os.path.join(folder, "whole"), os.path.join(folder, "killed")

    begin = time.monotonic()
    if not os.path.exists(os.path.join(whole, "report.html")):
        subprocess.run([*command, whole], check=True)
    seconds = time.monotonic() - begin
    print(f"whole: {seconds:.0f} s", flush=True)

    draw = random.Random(args.seed)
    kills = runs = 0
    while True:
        runs += 1
        process = subprocess.Popen([*command, killed], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            # Before the last kill it should not come to its end.
            process.wait(draw.uniform(1, 20) if kills < args.kills else None)
            if process.returncode != 0:
                print(f"run {runs} ended with {process.returncode}")
                return 1
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1

    before = {name: os.stat(os.path.join(killed, name)).st_mtime_ns for name in content(killed)}
    subprocess.run([*command, killed], check=True, stdout=subprocess.DEVNULL)
    after = {name: os.stat(os.path.join(killed, name)).st_mtime_ns for name in content(killed)}
    differences: List[str] = []
    if before != after:
        differences.append("a run on a finished harvest changed files")
    first, second = content(whole), content(killed)
    differences += [name for name in sorted({*first, *second})
                    if first.get(name) != second.get(name)]
    ended, again = ends(whole), ends(killed)
    differences += [f"{id}: {ended.get(id)} and {again.get(id)}" for id in {*ended, *again}
                    if ended.get(id) != again.get(id)]
    for (stage, failure), count in sorted(collections.Counter(ended.values()).items()):
        print(f"{count} {stage} {failure}".rstrip())
    for difference in differences:
        print(f"differs: {difference}")
    print(f"{len(ended)} models, {len(first)} files, killed {kills} times: "
          f"{len(differences)} differ")
    return 1 if differences or kills < args.kills else 0


if __name__ == "__main__":
    sys.exit(main())
