"""Why a model was not harvested: classes that the exception carries, never read from a log."""

from __future__ import annotations

CLASSES = {
    "not_found": "The source has no such model.",
    "gated": "The model is behind an agreement that nobody signed here.",
    "network": "The model needs the network, which was not allowed or did not answer.",
    "no_configuration": "No configuration says how to build the model.",
    "bad_configuration": "The configuration is not one that can be read.",
    "pickled_weights": "The model is only there as a pickle, which is not executed.",
    "remote_code": "The model runs code of its repository, which was not allowed.",
    "unknown_architecture": "No installed library has the architecture.",
    "missing_package": "A package that the model imports is not installed.",
    "too_large": "The model has more parameters, or needs more memory, than is allowed.",
    "build": "The model raised an exception while it was built.",
    "inputs": "The model raised an exception for every input that fits its configuration.",
    "capture": "A graph of the model could not be captured.",
    "not_verified": "The replay of the captured graphs has other bits than eager execution.",
    "time": "The model took longer than is allowed.",
    "memory": "The model asked for more memory than is allowed.",
    "processes": "The model started more processes than are allowed, or left some behind.",
    "output": "The model printed more than is allowed.",
    "files": "The model wrote more to disk than is allowed.",
    "crashed": "The process of the model ended without a word.",
    "unexpected": "The harvest itself met an exception that it does not know.",
}
"""The classes of failures, each with its meaning."""

# A repair of the script may fix these.
REPAIRABLE = ("build", "inputs", "capture", "not_verified", "unknown_architecture")


class Failure(Exception):
    """Ends the harvest of a model. `kind` is a key of CLASSES."""

    def __init__(self, kind: str, message: str):
        assert kind in CLASSES, kind
        super().__init__(writable(message))
        self.kind = kind

    @property
    def message(self) -> str:
        """The first line of the reason."""
        return first_line(str(self)) or CLASSES[self.kind]


def described(error: BaseException) -> str:
    """Returns the type of an exception and its first line."""
    return f"{type(error).__name__}: {first_line(str(error))}"


def first_line(text: str) -> str:
    """Returns the first line that is not empty, at most 300 characters of it."""
    return next((line.strip()[:300] for line in text.splitlines() if line.strip()), "")


def writable(text: str) -> str:
    """Returns a text that every file can hold: bytes that are no text are written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()
