"""Lists the models of a hub for one task, those that are fetched most first."""

from __future__ import annotations

import importlib
import json
import os
import re
import urllib.parse
import urllib.request
from collections.abc import Iterator

_PAGE = 1000  # models in an answer
_MOST_BYTES = 64 << 20  # of an answer
_SECONDS = 60.0
_ID = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)
_NEXT = re.compile(r'<([^>]+)>\s*;\s*rel="next"')


def endpoint() -> str:
    """Returns the address of the hub: $HF_ENDPOINT, or the one that huggingface_hub knows."""
    named = os.environ.get("HF_ENDPOINT", "")
    if not named:
        try:
            named = importlib.import_module("huggingface_hub.constants").ENDPOINT
        except ImportError:
            raise ValueError("--hub needs the package huggingface_hub, or $HF_ENDPOINT") from None
    if not named.startswith(("http://", "https://")):
        raise ValueError(f"$HF_ENDPOINT is no address: {named}")
    return named.rstrip("/")


def _answers(url: str, token: str | None) -> Iterator[list[object]]:
    """Yields the pages of an answer. What is no list of JSON is a ValueError."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    host = urllib.parse.urlsplit(url).netloc
    while url:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=_SECONDS
        ) as answer:
            text = answer.read(_MOST_BYTES + 1)
            link = _NEXT.search(answer.headers.get("Link") or "")
        found = json.loads(text) if len(text) <= _MOST_BYTES else None
        if not isinstance(found, list):
            raise ValueError(f"{host} answered with something else than a list of models")
        yield found
        url = link[1] if link else ""
        if url and urllib.parse.urlsplit(url).netloc != host:
            raise ValueError(f"{host} continues its list elsewhere")  # The token is not for others.


def listed(task: str, top: int, token: str | None = None) -> list[tuple[str, int]]:
    """Returns the ids of the first `top` models of a task and how often each was fetched.

    Models that only some may read are left out. Raises OSError if the hub cannot be reached.
    """
    query = urllib.parse.urlencode(
        {"pipeline_tag": task, "sort": "downloads", "direction": -1, "limit": min(top, _PAGE)}
    )
    models: list[tuple[str, int]] = []
    for page in _answers(f"{endpoint()}/api/models?{query}", token):
        for model in page:
            row = model if isinstance(model, dict) else {}
            name, downloads = row.get("id"), row.get("downloads")
            if not isinstance(name, str) or not _ID.fullmatch(name):
                continue
            if row.get("private") or row.get("gated") or len(models) == top:
                continue
            models.append((name, downloads if isinstance(downloads, int) else 0))
        if len(models) == top:
            break
    return models
