"""Makes the TorchScript sample models that lie beside this file.

Every model is a small-width version of a well-known architecture, written here
in plain torch. Weights and example inputs come from a fixed seed. Each model is
saved as NAME.pt, then loaded again and compared with the eager module.

Usage:
    python samples/make_samples.py [--out samples]

Last step (optional): with `--graphnet PATH_TO_BINARY`, the graphnet tool is run
as `PATH_TO_BINARY convert NAME.pt NAME.pb` for each of the saved files.
"""

import argparse
import collections
import io
import math
import os
import pathlib
import subprocess
import sys
import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

# ---------------------------------------------------------------- ResNet


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut, projected where shapes differ."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample: Optional[nn.Module] = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                nn.BatchNorm2d(outputs),
            )

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x
        if self.downsample is not None:
            shortcut = self.downsample(x)
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += shortcut
        return self.relu(y)


class ResNet(nn.Module):
    """ResNet-18 layout."""

    def __init__(self, width: int = 8, classes: int = 10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = self._stage(width, width, 1)
        self.layer2 = self._stage(width, 2 * width, 2)
        self.layer3 = self._stage(2 * width, 4 * width, 2)
        self.layer4 = self._stage(4 * width, 8 * width, 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(8 * width, classes)

    @staticmethod
    def _stage(inputs: int, outputs: int, stride: int) -> nn.Sequential:
        return nn.Sequential(
            BasicBlock(inputs, outputs, stride), BasicBlock(outputs, outputs, 1)
        )

    def forward(self, image: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(image))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


# ---------------------------------------------------------------- ViT


class VitBlock(nn.Module):
    """Pre-norm transformer encoder block."""

    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(
            nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)
        )

    def forward(self, x: Tensor) -> Tensor:
        b, t, c = x.shape
        qkv = self.qkv(self.norm1(x)).reshape(b, t, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    """ViT with a class token and learned position embeddings."""

    def __init__(
        self,
        image: int = 64,
        patch: int = 8,
        dim: int = 48,
        depth: int = 4,
        heads: int = 4,
        classes: int = 10,
    ):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, patch, patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        patches = (image // patch) ** 2
        self.pos_embed = nn.Parameter(torch.zeros(1, patches + 1, dim))
        self.blocks = nn.Sequential(
            *(VitBlock(dim, heads) for _ in range(depth))
        )
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patch_embed(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], dim=1)
        x = self.norm(self.blocks(x + self.pos_embed))
        return self.head(x[:, 0])


# ---------------------------------------------------------------- BERT


class BertOutput(NamedTuple):
    last_hidden_state: Tensor
    pooler_output: Tensor


class BertLayer(nn.Module):
    """Post-norm encoder layer with attention written as matmul and softmax."""

    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)
        self.dense = nn.Linear(dim, dim)
        self.attention_norm = nn.LayerNorm(dim, eps=1e-12)
        self.intermediate = nn.Linear(dim, 4 * dim)
        self.output = nn.Linear(4 * dim, dim)
        self.output_norm = nn.LayerNorm(dim, eps=1e-12)
        self.dropout = nn.Dropout(0.1)

    def _split(self, x: Tensor) -> Tensor:
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        q = self._split(self.query(x))
        k = self._split(self.key(x))
        v = self._split(self.value(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1))
        weights = self.dropout(torch.softmax(scores + bias, dim=-1))
        y = torch.matmul(weights, v).transpose(1, 2).flatten(2)
        x = self.attention_norm(x + self.dropout(self.dense(y)))
        y = self.output(F.gelu(self.intermediate(x)))
        return self.output_norm(x + self.dropout(y))


class Bert(nn.Module):
    """BERT encoder; the mask and the segment ids may be left out."""

    def __init__(
        self,
        vocabulary: int = 256,
        context: int = 64,
        dim: int = 48,
        depth: int = 4,
        heads: int = 4,
    ):
        super().__init__()
        self.token = nn.Embedding(vocabulary, dim, padding_idx=0)
        self.position = nn.Embedding(context, dim)
        self.segment = nn.Embedding(2, dim)
        self.norm = nn.LayerNorm(dim, eps=1e-12)
        self.dropout = nn.Dropout(0.1)
        self.layers = nn.ModuleList(BertLayer(dim, heads) for _ in range(depth))
        self.pooler = nn.Linear(dim, dim)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Optional[Tensor] = None,
        token_type_ids: Optional[Tensor] = None,
    ) -> BertOutput:
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        positions = torch.arange(input_ids.size(1), device=input_ids.device)
        x = self.token(input_ids) + self.segment(token_type_ids)
        x = self.dropout(self.norm(x + self.position(positions)))
        bias = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * -10000.0
        for layer in self.layers:
            x = layer(x, bias)
        return BertOutput(x, torch.tanh(self.pooler(x[:, 0])))


# ---------------------------------------------------------------- GPT


class GptBlock(nn.Module):
    """Pre-norm decoder block that attends to cached keys and values."""

    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.norm2 = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def forward(
        self, x: Tensor, past_k: Tensor, past_v: Tensor
    ) -> Tuple[Tensor, Tensor, Tensor]:
        b, t, c = x.shape
        qkv = self.qkv(self.norm1(x)).view(b, t, 3 * self.heads, -1)
        q, k, v = qkv.transpose(1, 2).chunk(3, dim=1)
        k = torch.cat([past_k, k], dim=2)
        v = torch.cat([past_v, v], dim=2)
        # Only the prompt, for which the cache is empty, has several queries.
        y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        y = self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))
        return x + y, k, v


class Gpt(nn.Module):
    """GPT-2 style decoder with greedy generation and a key/value cache."""

    def __init__(
        self,
        vocabulary: int = 256,
        context: int = 64,
        dim: int = 48,
        depth: int = 4,
        heads: int = 4,
        eos: int = 0,
    ):
        super().__init__()
        self.context = context
        self.dim = dim
        self.heads = heads
        self.eos = eos
        self.token = nn.Embedding(vocabulary, dim)
        self.position = nn.Embedding(context, dim)
        self.blocks = nn.ModuleList(GptBlock(dim, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocabulary, bias=False)

    def decode(
        self, tokens: Tensor, keys: List[Tensor], values: List[Tensor]
    ) -> Tensor:
        """Returns the logits after the last token and extends the cache."""
        start = keys[0].size(2)
        end = start + tokens.size(1)
        positions = torch.arange(start, end, device=tokens.device)
        x = self.token(tokens) + self.position(positions)
        for i, block in enumerate(self.blocks):
            x, keys[i], values[i] = block(x, keys[i], values[i])
        return self.head(self.norm(x[:, -1]))

    def forward(self, tokens: Tensor, max_new_tokens: int = 12) -> Tensor:
        empty = torch.zeros(
            [tokens.size(0), self.heads, 0, self.dim // self.heads],
            device=tokens.device,
        )
        keys = [empty for _ in range(len(self.blocks))]
        values = [empty for _ in range(len(self.blocks))]
        latest = tokens
        for _ in range(min(max_new_tokens, self.context - tokens.size(1))):
            logits = self.decode(latest, keys, values)
            latest = logits.argmax(dim=-1, keepdim=True)
            tokens = torch.cat([tokens, latest], dim=1)
            if bool((latest == self.eos).all()):
                break
        return tokens


# ---------------------------------------------------------------- Detector


def nms(boxes: Tensor, scores: Tensor, max_overlap: float) -> Tensor:
    """Greedy non-maximum suppression; returns the kept indices, best first."""
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    order = torch.argsort(scores, dim=0, descending=True)
    kept: List[Tensor] = []
    while order.numel() > 0:
        best = order[0]
        kept.append(best)
        if order.numel() == 1:
            break
        order = order[1:]
        low = torch.maximum(boxes[best, :2], boxes[order, :2])
        high = torch.minimum(boxes[best, 2:], boxes[order, 2:])
        overlap = (high - low).clamp(min=0).prod(dim=1)
        iou = overlap / (areas[best] + areas[order] - overlap)
        order = order[iou <= max_overlap]
    return torch.stack(kept)


class DetectionHead(nn.Module):
    """Anchor-free head: class scores and distances to the four box sides."""

    def __init__(self, width: int, classes: int):
        super().__init__()
        self.tower = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1),
            nn.GroupNorm(4, width),
            nn.SiLU(),
        )
        self.logits = nn.Conv2d(width, classes, 3, padding=1)
        self.sides = nn.Conv2d(width, 4, 3, padding=1)

    def forward(self, x: Tensor, stride: int) -> Tuple[Tensor, Tensor]:
        y = self.tower(x)
        rows = (torch.arange(x.size(2), device=x.device) + 0.5) * stride
        columns = (torch.arange(x.size(3), device=x.device) + 0.5) * stride
        grid_y, grid_x = torch.meshgrid([rows, columns], indexing="ij")
        centers = torch.stack([grid_x, grid_y], dim=-1).view(-1, 2)
        sides = F.softplus(self.sides(y)).flatten(2).transpose(1, 2) * stride
        low, high = centers - sides[..., :2], centers + sides[..., 2:]
        boxes = torch.cat([low, high], dim=-1)
        return self.logits(y).flatten(2).transpose(1, 2).sigmoid(), boxes


class Detector(nn.Module):
    """Backbone, two-level feature pyramid, shared head and NMS."""

    def __init__(self, width: int = 16, classes: int = 4):
        super().__init__()
        self.min_score = 0.6
        self.max_overlap = 0.5
        self.max_candidates = 32
        self.strides = [8, 16]
        self.stem = nn.Sequential(
            self._down(3, width),
            self._down(width, width),
            self._down(width, width),
        )
        self.deep = self._down(width, 2 * width)
        self.lateral3 = nn.Conv2d(width, width, 1)
        self.lateral4 = nn.Conv2d(2 * width, width, 1)
        self.head = DetectionHead(width, classes)

    @staticmethod
    def _down(inputs: int, outputs: int) -> nn.Sequential:
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, 2, 1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.SiLU(),
        )

    def select(self, boxes: Tensor, scores: Tensor) -> Dict[str, Tensor]:
        """Picks the final detections of one image."""
        best, labels = scores.max(dim=1)
        found = torch.nonzero(best > self.min_score).squeeze(1)
        if found.numel() == 0:
            return {
                "boxes": boxes.new_zeros([0, 4]),
                "scores": best[found],
                "labels": labels[found],
            }
        if found.numel() > self.max_candidates:
            found = found[best[found].topk(self.max_candidates).indices]
        boxes, best, labels = boxes[found], best[found], labels[found]
        # Boxes of different classes are moved apart, so that none overlap.
        span = boxes.max() - boxes.min() + 1.0
        shift = labels.to(boxes.dtype)[:, None] * span
        kept = nms(boxes + shift, best, self.max_overlap)
        return {
            "boxes": boxes[kept],
            "scores": best[kept],
            "labels": labels[kept],
        }

    def forward(self, images: Tensor) -> List[Dict[str, Tensor]]:
        c3 = self.stem(images)
        p4 = self.lateral4(self.deep(c3))
        p3 = self.lateral3(c3)
        p3 = p3 + F.interpolate(p4, size=p3.shape[-2:], mode="nearest")
        scores: List[Tensor] = []
        boxes: List[Tensor] = []
        for level, stride in zip([p3, p4], self.strides):
            level_scores, level_boxes = self.head(level, stride)
            scores.append(level_scores)
            boxes.append(level_boxes)
        all_scores = torch.cat(scores, dim=1)
        height, width = images.shape[-2:]
        limit = torch.tensor([width, height] * 2, device=images.device)
        all_boxes = torch.minimum(torch.cat(boxes, dim=1).clamp(min=0), limit)
        results: List[Dict[str, Tensor]] = []
        for i in range(images.size(0)):
            results.append(self.select(all_boxes[i], all_scores[i]))
        return results


# ---------------------------------------------------------------- U-Net


class DoubleConv(nn.Sequential):
    """(3x3 convolution, batch norm, ReLU) twice."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        )


class UNet(nn.Module):
    """U-Net with transposed convolutions on the way up."""

    def __init__(self, inputs: int = 1, outputs: int = 2, width: int = 8):
        super().__init__()
        widths = [width, 2 * width, 4 * width]
        bottom = 8 * width
        self.down = nn.ModuleList(
            DoubleConv(a, b) for a, b in zip([inputs] + widths, widths)
        )
        self.pool = nn.MaxPool2d(2)
        self.bottom = DoubleConv(widths[-1], bottom)
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(2 * w, w, 2, 2) for w in reversed(widths)
        )
        self.merge = nn.ModuleList(
            DoubleConv(2 * w, w) for w in reversed(widths)
        )
        self.head = nn.Conv2d(width, outputs, 1)

    def forward(self, image: Tensor) -> Tensor:
        x = image
        skips = []
        for down in self.down:
            skips.append(down(x))
            x = self.pool(skips[-1])
        x = self.bottom(x)
        for up, merge, skip in zip(self.up, self.merge, reversed(skips)):
            x = merge(torch.cat([skip, up(x)], dim=1))
        return self.head(x)


# ---------------------------------------------------------------- Making


def image_inputs(*shape: int) -> Callable[[torch.Generator], Tuple[Any, ...]]:
    return lambda generator: (torch.rand(shape, generator=generator) * 2 - 1,)


def bert_inputs(generator: torch.Generator) -> Tuple[Any, ...]:
    ids = torch.randint(1, 256, (2, 16), generator=generator)
    mask = (torch.arange(16) < torch.tensor([[16], [11]])).long()
    segments = (torch.arange(16) >= 7).long().expand(2, 16) * mask
    return ids * mask, mask, segments


def gpt_inputs(generator: torch.Generator) -> Tuple[Any, ...]:
    return torch.randint(1, 256, (1, 8), generator=generator), 12


class Sample(NamedTuple):
    """How one file is made."""

    make: Callable[[], nn.Module]
    script: bool  # torch.jit.script if true, else torch.jit.trace.
    inputs: Callable[[torch.Generator], Tuple[Any, ...]]


SAMPLES = {
    "resnet": Sample(ResNet, True, image_inputs(1, 3, 64, 64)),
    "vit": Sample(VisionTransformer, False, image_inputs(1, 3, 64, 64)),
    "bert": Sample(Bert, True, bert_inputs),
    "gpt": Sample(Gpt, True, gpt_inputs),
    "detector": Sample(Detector, True, image_inputs(2, 3, 64, 64)),
    "unet": Sample(UNet, False, image_inputs(1, 1, 64, 64)),
}


def initialize(module: nn.Module, generator: torch.Generator) -> None:
    """Fills all weights and running statistics with uniform random numbers."""
    for name, value in sorted(module.state_dict().items()):
        if not value.is_floating_point():
            continue
        if value.dim() > 1:
            bound = math.sqrt(3 * value.shape[0] / value.numel())
            value.uniform_(-bound, bound, generator=generator)
        elif name.endswith(("weight", "running_var")):
            value.uniform_(0.5, 1.5, generator=generator)
        else:
            value.uniform_(-0.1, 0.1, generator=generator)


def node_kinds(module: torch.jit.ScriptModule) -> Dict[str, int]:
    """Counts the nodes of the inlined graph by kind, nested blocks included."""
    graph = module.graph.copy()
    torch._C._jit_pass_inline(graph)
    counts: Dict[str, int] = collections.Counter()
    blocks = [graph]
    while blocks:
        for node in blocks.pop().nodes():
            counts[node.kind()] += 1
            blocks.extend(node.blocks())
    return counts


def describe(module: torch.jit.ScriptModule, inputs: Tuple[Any, ...]) -> str:
    """The inputs in graphnet's words, a line each."""
    dtypes = {torch.float32: "f32", torch.int64: "i64"}
    lines = []
    for argument, value in zip(module.forward.schema.arguments[1:], inputs):
        if isinstance(value, int):
            text = f"int={value}"
        else:
            text = f"{dtypes[value.dtype]}{list(value.shape)}".replace(" ", "")
            if not value.is_floating_point():
                text += f":{value.min()}..{value.max()}"
        lines.append(f"{argument.name}={text}\n")
    return "".join(lines)


def save(
    module: torch.jit.ScriptModule, inputs: Tuple[Any, ...], path: pathlib.Path
) -> None:
    """Saves without the debug records, which hold paths of this machine.

    Nodes of the loaded graph then refer to the code inside the archive.
    """
    buffer = io.BytesIO()
    extra = {"graphnet_inputs": describe(module, inputs)}
    torch.jit.save(module, buffer, _extra_files=extra)
    buffer.seek(0)
    reader = torch._C.PyTorchFileReader(buffer)
    writer = torch._C.PyTorchFileWriter(str(path))
    for name in reader.get_all_records():
        # The writer adds a serialization id that fits the remaining records.
        if not name.endswith((".debug_pkl", "serialization_id")):
            record = reader.get_record(name)
            writer.write_record(name, record, len(record))
    writer.write_end_of_file()


def make_sample(name: str, sample: Sample, path: pathlib.Path) -> None:
    """Saves one model and checks the file against the eager module."""
    generator = torch.Generator().manual_seed(0)
    module = sample.make().eval().requires_grad_(False)
    initialize(module, generator)
    inputs = sample.inputs(generator)
    expected = module(*inputs)
    if sample.script:
        scripted = torch.jit.script(module)
    else:
        scripted = torch.jit.trace(module, inputs)
    save(scripted, inputs, path)

    loaded = torch.jit.load(path)
    for _ in range(3):  # The executor specializes the graph in the first runs.
        torch.testing.assert_close(loaded(*inputs), expected)
    kinds = node_kinds(loaded)
    print(
        f"{name}: {path.stat().st_size} bytes, {sum(kinds.values())} nodes,"
        f" {len(kinds)} kinds, {kinds['prim::If']} prim::If,"
        f" {kinds['prim::Loop']} prim::Loop"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        default=pathlib.Path(__file__).parent,
        help="folder for the files (default: the folder of this script)",
    )
    parser.add_argument(
        "--graphnet",
        metavar="PATH_TO_BINARY",
        help="graphnet tool; if given, it converts each NAME.pt to NAME.pb",
    )
    args = parser.parse_args()

    # TorchScript writes the constants of a module in the order of a set of
    # strings: same bytes need the same hash seed, which Python reads at start.
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, *sys.argv])

    warnings.filterwarnings("ignore", message=".*torch.jit.*deprecated.*")
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    for name, sample in SAMPLES.items():
        make_sample(name, sample, args.out / f"{name}.pt")
    if args.graphnet:
        for name in SAMPLES:
            source, target = args.out / f"{name}.pt", args.out / f"{name}.pb"
            command = [args.graphnet, "convert", source, target]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
