"""Plans how to build a fetched model, and how large it will be. Nothing is loaded."""

from __future__ import annotations

import copy
import importlib
from dataclasses import dataclass
from typing import Any

from graphnet_ir.harvest.failures import Failure, described, first_line

# Keys of configurations that concern a run or files. The graph does not depend on them, or they
# would need the network.
_LEFT_OUT = (
    "auto_map",
    "quantization_config",
    "torch_dtype",
    "dtype",
    "_name_or_path",
    "name_or_path",
    "transformers_version",
    "_attn_implementation",
    "attn_implementation",
    "_attn_implementation_autoset",
    "_commit_hash",
    "custom_pipelines",
)
_LAYERS = (
    "num_hidden_layers",
    "n_layer",
    "n_layers",
    "num_layers",
    "encoder_layers",
    "decoder_layers",
    "num_decoder_layers",
    "num_encoder_layers",
    "layers_per_block",
)
BYTES_PER_PARAMETER = 4 * 3  # its value, the copy that verify restores, and initialisation


@dataclass
class Plan:
    """A way to build a model."""

    how: dict[str, Any]  # argument of script_of
    config: Any  # the source of inputs
    make: Any  # a function that builds the model; None if only the script can
    architecture: str


def cleaned(config: Any) -> Any:
    """Returns a copy without keys that name other files, in all its parts."""
    if isinstance(config, dict):
        kept = {key: cleaned(value) for key, value in config.items() if key not in _LEFT_OUT}
        if "use_pretrained_backbone" in kept:
            kept["use_pretrained_backbone"] = False
        return kept
    return [cleaned(item) for item in config] if isinstance(config, list) else config


def shrunk(config: Any) -> Any:
    """Returns a copy with half the layers, or the same if no number of layers is above 1."""
    if isinstance(config, list):
        return [shrunk(item) for item in config]
    if not isinstance(config, dict):
        return config
    made = {key: shrunk(value) for key, value in config.items()}
    for key in _LAYERS:
        count = config.get(key)
        if isinstance(count, int) and count > 1:
            made[key] = count // 2
            for other, value in config.items():  # a list with one entry for each layer
                if isinstance(value, list) and len(value) == count:
                    made[other] = value[: count // 2]
    return made


def plan(job: dict[str, Any], facts: dict[str, Any]) -> Plan:
    """Plans how the model of a job is built. Raises Failure."""
    library = facts["library"]
    how = {
        "id": job["id"],
        "place": job["place"],
        "revision": facts["revision"],
        "seed": job["seed"],
        "form": library,
    }
    try:
        return _PLANS[library](job, facts, how)
    except ImportError as error:
        raise Failure("missing_package", first_line(str(error))) from error


def _transformers(job: dict[str, Any], facts: dict[str, Any], how: dict[str, Any]) -> Plan:
    given = facts["config"]
    if given.get("auto_map"):
        return _remote(job, facts, how)
    transformers = importlib.import_module("transformers")

    config = cleaned(given)
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in transformers.CONFIG_MAPPING:
        raise Failure(
            "unknown_architecture" if kind else "no_configuration",
            f"transformers has no model_type {kind!r}"
            if kind
            else "the configuration names no model_type",
        )
    made = _configuration(transformers.CONFIG_MAPPING[kind], config)
    cls = _class_of(transformers, config.get("architectures"), transformers.PreTrainedModel)
    if cls is None:
        cls = transformers.MODEL_MAPPING.get(type(made), None)
        cls = cls[0] if isinstance(cls, (list, tuple)) else cls
    if cls is None:
        raise Failure("unknown_architecture", f"transformers builds no model of {kind}")
    how.update(config=config, type=kind, architecture=cls.__name__)
    return Plan(how, made, lambda: cls(copy.deepcopy(made)), cls.__name__)


def _class_of(module: Any, names: Any, base: type) -> Any | None:
    """Returns the first class of models that a list names, if the library has it."""
    for name in names if isinstance(names, list) else []:
        found = (
            getattr(module, name, None) if isinstance(name, str) and name.isidentifier() else None
        )
        if isinstance(found, type) and issubclass(found, base):
            return found
    return None


def _configuration(cls: Any, config: dict[str, Any]) -> Any:
    try:
        return cls.from_dict(copy.deepcopy(config))
    except Exception as error:
        raise Failure("bad_configuration", described(error)) from error


def _remote(job: dict[str, Any], facts: dict[str, Any], how: dict[str, Any]) -> Plan:
    if not job["trusted"]:
        raise Failure(
            "remote_code",
            "the configuration has an auto_map: its code runs only with --trust-remote-code",
        )
    dynamic = importlib.import_module("transformers.dynamic_module_utils")
    names = facts["config"]["auto_map"]
    models = (
        [name for key, name in names.items() if key.startswith("AutoModel")]
        if isinstance(names, dict)
        else []
    )
    if not models or not isinstance(names.get("AutoConfig"), str):
        raise Failure("bad_configuration", "auto_map names no AutoConfig, or no AutoModel")
    config = cleaned(facts["config"])
    how.update(
        form="remote",
        config=config,
        repository=facts["repository"],
        config_class=names["AutoConfig"],
        model_class=models[0],
    )

    def load(name: str) -> Any:
        try:
            return dynamic.get_class_from_dynamic_module(
                name, facts["repository"], revision=facts["revision"]
            )
        except ImportError:
            raise
        except Exception as error:
            raise Failure("build", described(error)) from error

    made = _configuration(load(names["AutoConfig"]), config)
    cls = load(models[0])
    return Plan(how, made, lambda: cls(copy.deepcopy(made)), cls.__name__)


def _diffusers(job: dict[str, Any], facts: dict[str, Any], how: dict[str, Any]) -> Plan:
    diffusers = importlib.import_module("diffusers")
    name = facts["config"].get("_class_name")
    cls = _class_of(diffusers, [name], diffusers.ModelMixin)
    if cls is None:
        raise Failure("unknown_architecture", f"diffusers has no model {name!r}")
    config = cleaned(facts["config"])
    how.update(config=config, architecture=name)
    return Plan(how, config, lambda: cls.from_config(copy.deepcopy(config)), str(name))


def _timm(job: dict[str, Any], facts: dict[str, Any], how: dict[str, Any]) -> Plan:
    timm = importlib.import_module("timm")

    name = facts["config"].get("architecture")
    if not isinstance(name, str) or not timm.is_model(name):
        raise Failure("unknown_architecture", f"timm has no model {name!r}")
    arguments = {key: value for key, value in facts["config"].items() if key == "num_classes"}
    how.update(architecture=name, arguments=arguments)
    size = timm.get_pretrained_cfg(name)
    shape = facts["config"].get("pretrained_cfg", {}).get("input_size") or (
        size.input_size if size else (3, 224, 224)
    )
    return Plan(
        how,
        {"image_size": list(shape[1:]), "num_channels": shape[0]},
        lambda: timm.create_model(name, pretrained=False, **arguments),
        name,
    )


def _torchvision(job: dict[str, Any], facts: dict[str, Any], how: dict[str, Any]) -> Plan:
    torchvision = importlib.import_module("torchvision")

    name = facts["config"]["name"]
    how.update(architecture=name)
    entry = next(iter(torchvision.models.get_model_weights(name)), None)
    said = None if entry is None else getattr(entry.transforms(), "crop_size", None)
    crop = said[0] if isinstance(said, (list, tuple)) and said else 224
    return Plan(
        how, {"image_size": crop}, lambda: torchvision.models.get_model(name, weights=None), name
    )


def _python(job: dict[str, Any], facts: dict[str, Any], how: dict[str, Any]) -> Plan:
    how.update(text=facts["config"]["text"], name=facts["config"]["name"])
    return Plan(how, {}, None, facts["config"]["name"])


_PLANS = {
    "transformers": _transformers,
    "diffusers": _diffusers,
    "timm": _timm,
    "torchvision": _torchvision,
    "python": _python,
}


def count_parameters(model: Any) -> int:
    return int(sum(parameter.numel() for parameter in model.parameters()))


def foretell(make: Any) -> int | None:
    """Returns the number of parameters, from a model on the meta device; None if that fails."""
    import torch

    try:
        with torch.device("meta"):
            model = make()
    except Exception:
        return None
    return count_parameters(model)


def fit(job: dict[str, Any], facts: dict[str, Any]) -> tuple[Plan, dict[str, Any]]:
    """Returns a plan within the limits of the job, and the facts found. If the job allows it, the
    layers are halved until the model fits. Raises Failure."""
    halvings = 0
    while True:
        made = plan(job, facts)
        count = None if made.make is None else foretell(made.make)
        memory = (count or 0) * BYTES_PER_PARAMETER
        if count is None or (count <= job["max_parameters"] and memory <= job["max_memory"]):
            return made, {"parameters": count, "halvings": halvings}
        smaller = shrunk(facts["config"]) if job["shrink"] else facts["config"]
        if smaller == facts["config"]:
            raise Failure(
                "too_large",
                f"{count:,} parameters, which take {memory / 1e9:.1f} GB, "
                f"are more than {job['max_parameters']:,} or "
                f"{job['max_memory'] / 1e9:.1f} GB",
            )
        facts = {**facts, "config": smaller}
        halvings += 1
