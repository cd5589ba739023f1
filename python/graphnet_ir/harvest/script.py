"""The script of a model: complete Python that builds it, makes its inputs and captures it."""

from __future__ import annotations

import pprint
import re
from typing import Any

_HEAD = '''"""Captures {id} at revision {revision} with random weights.

usage: capture.py [FOLDER]

Made by `graphnet harvest`; needs {needs} and graphnet_ir.
"""

import sys

import torch
{imports}
import graphnet_ir

'''

_INPUTS = """

def inputs():
    torch.manual_seed({seed})
    return {{{inputs}}}
"""

_CAPTURE = '''

def capture(model, workspace):
    """Captures a call, and proves the capture by a replay."""
    extracted = graphnet_ir.capture(model, name={place!r}, workspace=workspace, verify=True)
    with torch.no_grad():
        extracted(**inputs())
    return extracted.capture


if __name__ == "__main__":
    capture(build(), sys.argv[1] if len(sys.argv) > 1 else ".").explain()
'''

_BUILD = {
    "transformers": """import transformers

CONFIG = {config}


def build():
    torch.manual_seed({seed})
    config = transformers.CONFIG_MAPPING[{type!r}].from_dict(CONFIG)
    return transformers.{architecture}(config).eval()
""",
    "remote": '''from transformers.dynamic_module_utils import get_class_from_dynamic_module

CONFIG = {config}


def repository_class(name):
    """A class of the repository {repository}, whose code runs here."""
    return get_class_from_dynamic_module(name, {repository!r}, revision={revision!r})


def build():
    torch.manual_seed({seed})
    config = repository_class({config_class!r}).from_dict(CONFIG)
    return repository_class({model_class!r})(config).eval()
''',
    "diffusers": """import diffusers

CONFIG = {config}


def build():
    torch.manual_seed({seed})
    return diffusers.{architecture}.from_config(CONFIG).eval()
""",
    "timm": """import timm


def build():
    torch.manual_seed({seed})
    return timm.create_model({architecture!r}, pretrained=False, **{arguments}).eval()
""",
    "torchvision": """import torchvision


def build():
    torch.manual_seed({seed})
    return torchvision.models.get_model({architecture!r}, weights=None).eval()
""",
}

_PYTHON = """

# --- Added by `graphnet harvest` ------------------------------------------------------------------
import sys

import torch

import graphnet_ir

(_MODEL,) = [model for model in models() if model.name == {name!r}]


def build():
    torch.manual_seed({seed})
    return _MODEL.build().eval()


def inputs():
    torch.manual_seed({seed})
    return _MODEL.inputs()
"""


def script_of(how: dict[str, Any], inputs: dict[str, str]) -> str:
    """Returns the script. how: `form`, a key of _BUILD or python, and the names in its text.
    inputs: an expression for each argument."""
    capture = _CAPTURE.format(place=how["place"])
    if how["form"] == "python":
        text = str(how["text"]).rstrip("\n")
        return f"{text}\n" + _PYTHON.format(name=how["name"], seed=how["seed"]) + capture
    texts = {**how, "id": _plain(how["id"]), "revision": _plain(how["revision"])}
    texts["config"] = pprint.pformat(how.get("config"), width=96, sort_dicts=False)
    body = _BUILD[how["form"]].format(**texts)
    imports, _, build = body.partition("\n")
    head = _HEAD.format(
        id=texts["id"],
        revision=texts["revision"],
        imports=imports,
        needs="transformers" if how["form"] == "remote" else how["form"],
    )
    arguments = "".join(f"\n        {name!r}: {value}," for name, value in inputs.items())
    return (
        head
        + build.strip("\n")
        + "\n"
        + _INPUTS.format(seed=how["seed"], inputs=arguments + "\n    ")
        + capture
    )


def _plain(text: str) -> str:
    """Returns the text in a form that is safe in a docstring."""
    return re.sub(r"[^\w./:@+-]", "_", text)
