"""Makes inputs of a model by its family, from its configuration and its forward's signature.

An input is the text of an expression of torch, so that the script of a model shows it. Each rule
makes one argument; the model is tried with several sets, and the first that runs is taken.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any

# Composite configurations keep those of their parts under these names.
PARTS = (
    "text_config",
    "vision_config",
    "audio_config",
    "decoder",
    "encoder",
    "backbone_config",
    "text_encoder",
    "audio_encoder",
    "llm_config",
    "thinker_config",
)
FAMILIES = (
    "text",
    "mixture of experts",
    "seq2seq",
    "vision",
    "video",
    "audio",
    "multimodal",
    "time series",
    "diffusion",
    "decisions",
    "other",
)


class Configuration:
    """Finds values of a configuration and of its parts by any of several names."""

    def __init__(self, config: Any):
        self.config = config

    def get(self, *names: str, default: Any = None) -> Any:
        parts = [_entry(self.config, part) for part in PARTS]
        places = [self.config, *parts, *(_entry(part, inner) for part in parts for inner in PARTS)]
        for place in places:
            for name in names:
                value = _entry(place, name)
                if value is not None:
                    return value
        return default

    def number(self, *names: str, default: int = 0) -> int:
        """Lets only numbers into the text of an expression."""
        value = self.get(*names, default=default)
        if isinstance(value, (list, tuple)) and value:
            value = value[-1]
        return value if isinstance(value, int) and not isinstance(value, bool) else default


def _entry(place: Any, name: str) -> Any:
    if place is None:
        return None
    return place.get(name) if isinstance(place, dict) else getattr(place, name, None)


def parameters_of(forward: Callable[..., Any]) -> dict[str, bool]:
    """Returns the names of a forward's parameters, and whether a call must give them."""
    return {
        name: parameter.default is inspect.Parameter.empty
        for name, parameter in inspect.signature(forward).parameters.items()
        if name != "self"
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }


def family_of(library: str, config: Any, main: str, parameters: dict[str, bool]) -> str:
    """One of FAMILIES. main: the name of the model's main input."""
    known = Configuration(config)
    images = {"pixel_values", "pixel_values_videos"} & set(parameters)
    sounds = {"input_features", "input_values", "audio_values"} & set(parameters)
    if library == "diffusers":
        return "diffusion"
    if "past_values" in parameters:
        return "time series"
    if "returns_to_go" in parameters:
        return "decisions"
    if "input_ids" in parameters and (images or sounds):
        return "multimodal"
    if main in sounds or sounds:
        return "audio"
    if images:
        return "video" if "pixel_values_videos" in images or known.get("num_frames") else "vision"
    if (
        known.number(
            "num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", default=0
        )
        > 1
    ):
        return "mixture of experts"
    if "decoder_input_ids" in parameters:
        return "seq2seq"
    return "text" if "input_ids" in parameters else "other"


# --- Rules: one argument each ---------------------------------------------------------------------


class Rules:
    """Makes arguments of one model. length: the length of its text. A public method makes the
    argument of its name."""

    def __init__(self, config: Any, library: str, length: int):
        self.known = Configuration(config)
        self.library = library
        self.length = length

    # Text

    def _tokens(self, length: int, *, vocabulary: int | None = None) -> str:
        if vocabulary is None:
            vocabulary = self.known.number("vocab_size", default=1000)
        low = min(3, max(0, vocabulary - 1))
        # Tokens of images and sounds in a text would stand for data that is missing.
        special = [
            value
            for name in (
                "image_token_id",
                "image_token_index",
                "video_token_id",
                "audio_token_id",
                "audio_token_index",
            )
            if isinstance(value := self.known.get(name), int) and value > low
        ]
        high = max(low + 1, min([vocabulary, *special]))
        return f"torch.randint({low}, {high}, (1, {length}))"

    def input_ids(self) -> str:
        return self._tokens(self.length)

    def attention_mask(self) -> str:
        return f"torch.ones(1, {self.length}, dtype=torch.int64)"

    def decoder_input_ids(self) -> str:
        decoder = _entry(self.known.config, "decoder")
        size = _entry(decoder, "vocab_size") or _entry(self.known.config, "decoder_vocab_size")
        return self._tokens(8, vocabulary=size if isinstance(size, int) else None)

    def bbox(self) -> str:
        return f"torch.randint(0, 500, (1, {self.length}, 4)).sort(dim=-1).values"

    def token_type_ids(self) -> str:
        return f"torch.zeros(1, {self.length}, dtype=torch.int64)"

    # Images

    def _image(self) -> tuple[int, int, int]:
        channels = self.known.number(
            "num_channels", "in_channels", "in_chans", "num_input_channels", default=3
        )
        size = self.known.get("image_size", "input_size", "img_size", "sample_size", default=224)
        if isinstance(size, dict):
            size = [size.get(key) for key in ("height", "width")]
        if isinstance(size, (list, tuple)):
            sizes = [value for value in size if isinstance(value, int)][-2:]
            return (channels, sizes[0], sizes[-1]) if sizes else (channels, 224, 224)
        return (channels, size, size) if isinstance(size, int) else (channels, 224, 224)

    def pixel_values(self) -> str | None:
        channels, height, width = self._image()
        frames = self.known.number("num_frames")
        if frames and not self.known.get("vocab_size"):
            return f"torch.randn(1, {frames}, {channels}, {height}, {width})"
        return f"torch.randn(1, {channels}, {height}, {width})"

    def pixel_values_videos(self) -> str:
        channels, height, width = self._image()
        frames = self.known.number("num_frames", "frames_per_clip", default=8)
        return f"torch.randn(1, {frames}, {channels}, {height}, {width})"

    # Sounds

    def input_values(self) -> str:
        mel, length = self.known.number("num_mel_bins"), self.known.number("max_length")
        if mel and length and not self.known.get("conv_dim"):
            return f"torch.randn(1, {length}, {mel})"
        channels = self.known.number("audio_channels")
        if channels:
            return f"torch.randn(1, {channels}, 4800)"
        return "torch.randn(1, 8000)"

    def input_features(self) -> str:
        mel = self.known.number("num_mel_bins", default=80)
        positions = self.known.number("max_source_positions")
        size = self.known.number("input_feat_per_channel")
        if size:
            return f"torch.randn(1, 64, {size * self.known.number('input_channels', default=1)})"
        size = self.known.number("feature_projection_input_dim")
        if size:
            return f"torch.randn(1, 64, {size})"
        size = self.known.number("spec_size")
        if size:
            return f"torch.randn(1, 1, {size * 4}, {mel})"
        if positions:
            return f"torch.randn(1, {mel}, {2 * positions})"
        return f"torch.randn(1, 64, {mel})"

    def decoder_input_values(self) -> str:
        return f"torch.randn(1, 8, {self.known.number('num_mel_bins', default=80)})"

    # Time series and decisions

    def _past(self) -> int:
        lags = self.known.get("lags_sequence")
        numbers = [lag for lag in lags if isinstance(lag, int)] if isinstance(lags, list) else []
        length = self.known.number("context_length", "prediction_length", default=32)
        return length + max(numbers, default=0)

    def past_values(self) -> str:
        channels = self.known.number("num_input_channels")
        if channels:
            return f"torch.randn(1, {self.known.number('context_length', default=32)}, {channels})"
        size = self.known.number("input_size", default=1)
        return f"torch.randn(1, {self._past()}{'' if size == 1 else f', {size}'})"

    def past_time_features(self) -> str:
        return f"torch.randn(1, {self._past()}, {self._time_features()})"

    def _time_features(self) -> int:
        return self.known.number("num_time_features", default=0)

    def past_observed_mask(self) -> str | None:
        return (
            None
            if self.known.get("num_input_channels")
            else f"torch.ones_like({self.past_values()})".replace("randn", "zeros")
        )

    def future_values(self) -> str | None:
        if self.known.get("num_input_channels"):
            return None
        size = self.known.number("input_size", default=1)
        return (
            f"torch.randn(1, {self.known.number('prediction_length', default=8)}"
            f"{'' if size == 1 else f', {size}'})"
        )

    def future_time_features(self) -> str:
        length = self.known.number("prediction_length", default=8)
        return f"torch.randn(1, {length}, {self._time_features()})"

    def static_categorical_features(self) -> str | None:
        count = self.known.number("num_static_categorical_features", default=0)
        return f"torch.zeros(1, {count}, dtype=torch.int64)" if count else None

    def static_real_features(self) -> str | None:
        count = self.known.number("num_static_real_features", default=0)
        return f"torch.randn(1, {count})" if count else None

    def states(self) -> str:
        return f"torch.randn(1, 8, {self.known.number('state_dim', default=17)})"

    def actions(self) -> str:
        return f"torch.randn(1, 8, {self.known.number('act_dim', default=4)})"

    def rewards(self) -> str:
        return "torch.randn(1, 8, 1)"

    def returns_to_go(self) -> str:
        return "torch.randn(1, 8, 1)"

    def timesteps(self) -> str:
        return "torch.arange(8).reshape(1, 8)"

    # Diffusion

    def _latent(self) -> str:
        size = self.known.get("sample_size", default=32)
        sizes = (
            [value for value in size if isinstance(value, int)]
            if isinstance(size, (list, tuple))
            else [size if isinstance(size, int) else 32] * 2
        )
        channels = self.known.number("in_channels", default=4)
        return f"torch.randn(1, {channels}, {', '.join(map(str, sizes))})"

    def sample(self) -> str:
        return self._latent()

    def hidden_states(self) -> str | None:
        return self._latent() if self.library == "diffusers" else None

    def timestep(self) -> str:
        return "torch.tensor([10])"

    def encoder_hidden_states(self) -> str | None:
        size = self.known.number("cross_attention_dim", "joint_attention_dim", "caption_channels")
        return f"torch.randn(1, 8, {size})" if size and self.library == "diffusers" else None

    def pooled_projections(self) -> str | None:
        size = self.known.number("pooled_projection_dim")
        return f"torch.randn(1, {size})" if size else None

    def class_labels(self) -> str | None:
        classes = self.known.number("num_embeds_ada_norm", "num_class_embeds")
        return f"torch.randint(0, {classes}, (1,))" if classes else None


def made_by(rules: Rules, name: str) -> str | None:
    """Returns the expression for an argument; None if no rule makes it."""
    rule = None if name.startswith("_") else vars(Rules).get(name)
    made: str | None = None if rule is None else rule(rules)
    return made


# --- Sets of arguments ----------------------------------------------------------------------------

# The arguments that a family's call gives if the forward has them.
GIVEN = {
    "text": ("input_ids", "attention_mask", "bbox"),
    "mixture of experts": ("input_ids", "attention_mask"),
    "seq2seq": ("input_ids", "attention_mask", "decoder_input_ids"),
    "vision": ("pixel_values",),
    "video": ("pixel_values", "pixel_values_videos"),
    "audio": ("input_values", "input_features", "decoder_input_ids", "decoder_input_values"),
    "multimodal": (
        "input_ids",
        "attention_mask",
        "bbox",
        "pixel_values",
        "input_features",
        "input_values",
    ),
    "time series": (
        "past_values",
        "past_time_features",
        "past_observed_mask",
        "static_categorical_features",
        "static_real_features",
        "future_values",
        "future_time_features",
    ),
    "diffusion": (
        "sample",
        "hidden_states",
        "timestep",
        "encoder_hidden_states",
        "pooled_projections",
        "class_labels",
    ),
    "decisions": ("states", "actions", "rewards", "returns_to_go", "timesteps"),
    "other": (),
}


def input_sets(
    family: str, config: Any, library: str, parameters: dict[str, bool]
) -> Iterator[dict[str, str]]:
    """Returns sets of arguments to try, the largest first, without repeats."""
    seen: list[dict[str, str]] = []
    for length in _lengths(config):
        rules = Rules(config, library, length)
        needed = [name for name, must in parameters.items() if must]
        given = [name for name in GIVEN[family] if name in parameters]
        full = {
            name: made
            for name in dict.fromkeys(given + needed)
            if (made := made_by(rules, name)) is not None
        }
        tries = [full, {name: made for name, made in full.items() if name != "attention_mask"}]
        if family == "multimodal":
            # The text alone, then each other input alone.
            tries.append(
                {
                    name: made
                    for name, made in full.items()
                    if name in ("input_ids", "attention_mask", "bbox")
                }
            )
            tries += [
                {name: full[name]}
                for name in full
                if name not in ("input_ids", "attention_mask", "bbox")
            ]
        if family == "time series":
            tries.append(
                {name: made for name, made in full.items() if not name.startswith("future")}
            )
            tries.append({"past_values": full.get("past_values", "")})
        if family in ("audio", "vision", "video"):
            tries.append(
                {name: made for name, made in full.items() if not name.startswith("decoder")}
            )
        for tried in tries:
            if tried and all(tried.values()) and tried not in seen:
                seen.append(tried)
                yield tried


def _lengths(config: Any) -> list[int]:
    """Returns lengths of text to try: a short one, then multiples of blocks of attention."""
    known = Configuration(config)
    lengths = [16, 64, 128]
    shape = known.get("axial_pos_shape")
    if isinstance(shape, (list, tuple)) and all(isinstance(size, int) for size in shape):
        lengths.insert(0, math.prod(shape))
    longest = known.get("max_position_embeddings", "n_positions", "n_ctx")
    if isinstance(longest, int) and longest > 1:
        lengths = [length for length in lengths if length <= longest] or [longest // 2]
    return lengths


def image_inputs(config: Any, count: int) -> dict[str, str] | None:
    """Returns a text with an image of `count` tokens, if the configuration names its token."""
    known = Configuration(config)
    token = known.get("image_token_id", "image_token_index")
    if not isinstance(token, int) or not 0 < count < 5000:
        return None
    rules = Rules(config, "transformers", 8)
    pixels = rules.pixel_values()
    if pixels is None:
        return None
    text = f"torch.cat([torch.full((1, {count}), {token}), {rules.input_ids()}], dim=1)"
    return {
        "input_ids": text,
        "pixel_values": pixels,
        "attention_mask": f"torch.ones(1, {count + 8}, dtype=torch.int64)",
    }
