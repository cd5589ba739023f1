"""Sources of models: plug-ins that list models and fetch the facts to build them.

A source is an object with `list()`, which yields Model, and `fetch(model)`, which yields facts:

    library        transformers, diffusers, timm, torchvision or python
    config         the configuration, as a dict
    revision       the revision of the source, as text
    licence        the licence, as text; None if it is unknown
    environment    variables that the process of the model gets

and raises Failure. Packages add sources by the entry point group `graphnet_ir.harvest_sources`,
each a callable of the text behind `NAME:` and of Access.
"""

from __future__ import annotations

import fnmatch
import hashlib
import importlib
import importlib.metadata
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from graphnet_ir._core import Error
from graphnet_ir._errors import made_error
from graphnet_ir.harvest.failures import Failure, described, first_line, writable
from graphnet_ir.loading import read_list

MAX_CONFIGURATION = 10_000_000  # bytes
MAX_CARD = 100_000  # bytes of the head of a card, and nodes of its YAML
MAX_LICENCE = 300  # letters
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib", ".npy")


@dataclass(frozen=True)
class Model:
    """A model of a source."""

    id: str  # the name that people use
    source: str
    part: str | None = None  # the folder of one model in a pipeline of diffusers


@dataclass(frozen=True)
class Access:
    """The resources that a source may use."""

    network: bool  # True if the network may be used
    downloads: str  # the folder for downloads
    token: str | None = None  # the token for the hub


class Source(Protocol):
    """A place where models come from."""

    def list(self) -> Iterator[Model]:
        """Yields the models, always in the same order."""

    def fetch(self, model: Model) -> dict[str, Any]:
        """Returns the facts that build the model (docs/harvest.md), or raises Failure."""


def open_source(text: str, access: Access) -> Source:
    """Returns a source by name: a folder in the layout of the hub's cache, a Python file that
    yields models, or NAME:WHAT with hub, torchvision, timm or the name of a plug-in."""
    if os.path.isdir(text):
        return HubFolder(text)
    if text.endswith(".py") and os.path.isfile(text):
        return PythonFile(text)
    name, colon, what = text.partition(":")
    known: dict[str, Callable[[str, Access], Source]] = {
        "hub": Hub,
        "torchvision": Torchvision,
        "timm": Timm,
    }
    if colon and name in known:
        return known[name](what, access)
    if colon:
        for point in importlib.metadata.entry_points(group="graphnet_ir.harvest_sources"):
            if point.name == name:
                made: Source = point.load()(what, access)
                return made
    raise made_error(
        "not_found",
        f"{text} is not a source: a folder in the layout of the hub's "
        "cache, a Python file, hub:ID, torchvision:NAME or timm:NAME",
    )


def listed_sources(path: str) -> list[str]:
    """Reads sources, one a line. The id of a model alone is one of the hub."""
    lines = read_list(path)
    return [f"hub:{line}" if _is_id(line) and not os.path.exists(line) else line for line in lines]


# --- The hub and its cache ------------------------------------------------------------------------


def _is_id(text: str) -> bool:
    """Returns whether a text is the id of a model: NAME or ORG/NAME. It names folders."""
    return re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)?", text) is not None and ".." not in text


class HubFolder:
    """models--ORG--NAME/snapshots/REVISION/config.json, as huggingface_hub lays it out."""

    def __init__(self, folder: str):
        self.folder = os.path.abspath(folder)
        self._homes: dict[str, str] = {}  # folders of repositories, by their ids
        try:
            names = sorted(os.listdir(self.folder))
        except OSError as error:
            raise made_error("failed_precondition", f"{folder}: {error.strerror}") from error
        for name in names:
            # What is no name of the hub's has a row, too.
            if name.startswith("models--"):
                id = writable(name[len("models--") :].replace("--", "/", 1)) or name
                while id in self._homes:
                    id += "'"
                self._homes[id] = name
        if not self._homes:
            raise made_error("not_found", f"{folder} has no folder models--ORG--NAME")

    def list(self) -> Iterator[Model]:
        for id in self._homes:
            yield from self._parts(id)

    def _parts(self, id: str) -> Iterator[Model]:
        """Returns the model, or the models of a pipeline of diffusers."""
        try:
            home, snapshot = self._snapshot(id)
            index = _read_json(home, snapshot, "model_index.json") or {}
        except Failure:
            index = {}
        # Schedulers and tokenizers have files of other names.
        parts = [
            name
            for name in sorted(index)
            if re.fullmatch(r"\w+", name)
            and os.path.isfile(os.path.join(home, snapshot, name, "config.json"))
        ]
        if not parts:
            yield Model(id, self.folder)
        for name in parts:
            yield Model(f"{id}/{name}", self.folder, name)

    def _snapshot(self, id: str) -> tuple[str, str]:
        """Returns the folder of a repository, and the path of its snapshot in it."""
        home = os.path.join(self.folder, self._homes[id])
        try:
            with open(os.path.join(home, "refs", "main"), encoding="ascii") as file:
                revision = file.read(200).strip()
        except (OSError, ValueError):
            try:
                revision = max(os.listdir(os.path.join(home, "snapshots")), default="")
            except OSError:
                revision = ""
        snapshot = os.path.join("snapshots", revision)
        if not re.fullmatch(r"\w[\w.-]*", revision) or not os.path.isdir(
            os.path.join(home, snapshot)
        ):
            raise Failure("not_found", f"{id} has no snapshot in {os.path.basename(self.folder)}")
        return home, snapshot

    def fetch(self, model: Model) -> dict[str, Any]:
        id = model.id if model.part is None else model.id.rpartition("/")[0]
        if id not in self._homes:
            raise Failure("not_found", f"{os.path.basename(self.folder)} has no model {id}")
        home, snapshot = self._snapshot(id)
        card = _read_card(home, snapshot)
        config = _read_json(home, snapshot, *([model.part] if model.part else []), "config.json")
        if config is None:
            raise _why_no_configuration(os.path.join(home, snapshot), card)
        return {
            "library": (
                "diffusers"
                if "_diffusers_version" in config
                else "timm"
                if "pretrained_cfg" in config and "architecture" in config
                else "transformers"
            ),
            "config": config,
            "revision": os.path.basename(snapshot),
            "repository": id,
            "licence": _licence(card),
            "environment": {"HF_HUB_CACHE": self.folder},
        }


class Hub:
    """A model of the hub by its id, fetched without its weights by huggingface_hub."""

    def __init__(self, what: str, access: Access):
        if not _is_id(what):
            raise made_error("invalid_argument", f"{what} is not the id of a model")
        self.id, self.access = what, access

    def list(self) -> Iterator[Model]:
        yield Model(self.id, "hub")

    def fetch(self, model: Model) -> dict[str, Any]:
        if not self.access.network:
            raise Failure("network", "the hub is asked only with --network")
        try:
            huggingface_hub = importlib.import_module("huggingface_hub")
            errors = importlib.import_module("huggingface_hub.errors")
        except ImportError:
            raise Failure("missing_package", "the hub needs the package huggingface_hub") from None
        for attempt in range(3):
            try:
                huggingface_hub.snapshot_download(
                    self.id,
                    cache_dir=self.access.downloads,
                    token=self.access.token,
                    allow_patterns=["*.json", "*.md", "*.py"],
                )
                break
            except errors.GatedRepoError as error:
                raise Failure("gated", str(error)) from None
            except errors.RepositoryNotFoundError as error:
                raise Failure("not_found", str(error)) from None
            except Exception as error:
                if attempt == 2:
                    raise Failure("network", described(error)) from None
                time.sleep(5)
        return HubFolder(self.access.downloads).fetch(model)


def _read_json(home: str, *path: str) -> dict[str, Any] | None:
    """Returns the object in a file of a repository; None if there is no file."""
    content = _read(home, *path)
    if content is None:
        return None
    name = os.path.basename(path[-1])
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Failure("bad_configuration", f"{name}: {first_line(str(error))}") from None
    if not isinstance(value, dict):
        raise Failure("bad_configuration", f"{name} is not an object")
    return value


def _read(home: str, *path: str) -> bytes | None:
    """Returns a file of the repository in the folder `home`; links must not lead out of it."""
    whole = os.path.join(home, *path)
    name = path[-1]
    if not os.path.isfile(whole):
        return None
    real = os.path.realpath(whole)
    if not real.startswith(os.path.realpath(home) + os.sep):
        raise Failure("bad_configuration", f"{name} is a link out of the repository")
    try:
        with open(real, "rb") as file:
            content = file.read(MAX_CONFIGURATION + 1)
    except OSError as error:
        raise Failure("bad_configuration", f"{name} cannot be read: {error.strerror}") from None
    if len(content) > MAX_CONFIGURATION:
        raise Failure("bad_configuration", f"{name} has more than {MAX_CONFIGURATION} bytes")
    return content


def _read_card(home: str, snapshot: str) -> dict[str, Any]:
    """Returns the data at the head of README.md, which is YAML between lines of ---. A card that
    cannot be read says nothing."""
    try:
        content = _read(home, snapshot, "README.md") or b""
    except Failure:
        return {}
    found = re.match(r"\s*---\r?\n(.*?)\r?\n---", content[:MAX_CARD].decode(errors="replace"), re.S)
    if found is None:
        return {}
    yaml = importlib.import_module("yaml")
    loader = yaml.SafeLoader(found.group(1))
    try:
        node = loader.get_single_node()
        if node is None or _size_of_yaml(node, {}) > MAX_CARD:
            return {}
        card = loader.construct_document(node)
    except Exception:  # of any kind: YAML makes dates, numbers and sets of texts
        return {}
    finally:
        loader.dispose()
    return card if isinstance(card, dict) else {}


def _size_of_yaml(node: Any, known: dict[int, int]) -> int:
    """Returns the number of nodes below a node, in which those that aliases share count each
    time. Raises RecursionError for a node that holds itself."""
    if id(node) not in known:
        below = node.value if isinstance(node.value, list) else []
        known[id(node)] = 1 + sum(
            _size_of_yaml(part, known)
            for item in below
            for part in (item if isinstance(item, tuple) else (item,))
        )
    return known[id(node)]


def _licence(card: dict[str, Any]) -> str | None:
    """Returns the licence that the card names; None if it names none."""
    said = card.get("license")
    names = said if isinstance(said, list) else [said]
    texts = [name.strip() for name in names if isinstance(name, str) and name.strip()]
    other = card.get("license_name")
    named = [
        other if name == "other" and isinstance(other, str) and other.strip() else name
        for name in texts
        if name.lower() not in ("unknown", "none")
    ]
    return " ".join(", ".join(named).split())[:MAX_LICENCE] or None


def _why_no_configuration(snapshot: str, card: dict[str, Any]) -> Failure:
    if any(str(key) == "gated" or str(key).startswith("extra_gated") for key in card):
        return Failure("gated", "the model's card asks for an agreement, and only the card is here")
    try:
        names: list[str] = sorted(os.listdir(snapshot))
    except OSError:
        names = []
    pickles = [name for name in names if name.endswith(PICKLES)]
    if pickles:
        return Failure("pickled_weights", f"no config.json, only {pickles[0]}, which is a pickle")
    return Failure("no_configuration", "no config.json")


# --- Libraries of models --------------------------------------------------------------------------


def _named(library: str, what: str, names: list[str]) -> Iterator[Model]:
    """Returns the names of the library that match a pattern of `what`, a list with commas."""
    for pattern in what.split(","):
        found = fnmatch.filter(names, pattern)
        if not found:
            raise made_error("not_found", f"{library} has no model {pattern}")
        for name in found:
            yield Model(f"{library}:{name}", library)


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise made_error(
            "failed_precondition", f"{name} cannot be imported: {first_line(str(error))}"
        ) from None


class Torchvision:
    """torchvision:resnet18, torchvision:vgg*"""

    def __init__(self, what: str, access: Access):
        self.what = what

    def list(self) -> Iterator[Model]:
        torchvision = _library("torchvision")
        yield from _named("torchvision", self.what, torchvision.models.list_models())

    def fetch(self, model: Model) -> dict[str, Any]:
        return {
            "library": "torchvision",
            "config": {"name": model.id.partition(":")[2]},
            "revision": importlib.metadata.version("torchvision"),
            "licence": "bsd-3-clause",
            "environment": {},
        }


class Timm:
    """timm:resnet18, timm:vit_tiny*"""

    def __init__(self, what: str, access: Access):
        self.what = what

    def list(self) -> Iterator[Model]:
        yield from _named("timm", self.what, _library("timm").list_models())

    def fetch(self, model: Model) -> dict[str, Any]:
        return {
            "library": "timm",
            "config": {"architecture": model.id.partition(":")[2]},
            "revision": importlib.metadata.version("timm"),
            "licence": "apache-2.0",
            "environment": {},
        }


class PythonFile:
    """FILE.py with a function models(), which yields harvest.PythonModel."""

    def __init__(self, path: str):
        self.path = os.path.abspath(path)
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self._licences: dict[str, str | None] = {}

    def list(self) -> Iterator[Model]:
        self._licences.clear()
        for number, (name, licence) in enumerate(_names_in(self.path)):
            again = name in self._licences
            id = f"{os.path.splitext(os.path.basename(self.path))[0]}:{name}"
            self._licences.setdefault(name, licence)
            # The name says which of the models it is, so there can be only one.
            yield Model(
                f"{id} (number {number + 1})" if again else id, self.path, _AGAIN if again else None
            )

    def fetch(self, model: Model) -> dict[str, Any]:
        name = model.id.partition(":")[2]
        if model.part == _AGAIN:
            raise Failure("not_found", "the file yields an earlier model with this name")
        if not self._licences:
            self._licences = dict(_names_in(self.path))
        if name not in self._licences:
            raise Failure("not_found", f"{os.path.basename(self.path)} yields no model {name}")
        return {
            "library": "python",
            "config": {"name": name, "text": self.text},
            "revision": hashlib.sha256(self.text.encode()).hexdigest()[:16],
            "licence": self._licences[name],
            "environment": {},
        }


_AGAIN = "again"


def _names_in(path: str) -> list[tuple[str, str | None]]:
    """Returns names and licences of the models that a file yields. The user's file is run."""
    import runpy

    try:
        models = runpy.run_path(path).get("models")
        if models is None:
            raise made_error("invalid_argument", f"{path} has no function models()")
        return [(model.name, model.licence) for model in models()]
    except Error:
        raise
    except Exception as error:
        raise made_error("invalid_argument", f"{path}: {described(error)}") from error
