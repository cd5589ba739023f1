"""capture(): wraps a function, a module or a class so that each of its calls is captured."""

from __future__ import annotations

import copy
import copyreg
import functools
import os
import sys
from collections.abc import Callable
from typing import Any

import torch

from graphnet_ir.live.capture import Capture

_disable: Any = torch._dynamo.disable
_reconstructor: Any = copyreg._reconstructor  # type: ignore[attr-defined]


class Captured:
    """The result of capture for what is no module of Python: calls go through its capture; all else
    is the wrapped object's, also what is set."""

    _OWN = frozenset(
        ("capture", "__wrapped__", "_compiled", "_call", "_how", *functools.WRAPPER_ASSIGNMENTS)
    )

    def __init__(
        self, target: Callable[..., Any], capture: Capture, *, dynamic: bool | None, fullgraph: bool
    ):
        self.capture = capture
        self.__wrapped__ = target
        if not isinstance(target, torch.nn.Module):
            functools.update_wrapper(self, target, updated=())
        self._how: dict[str, Any] = {"dynamic": dynamic, "fullgraph": fullgraph}
        self._compiled = torch.compile(
            target, backend=capture.compile, dynamic=dynamic, fullgraph=fullgraph
        )

        # Inside of another compiled program, Dynamo does not trace this.
        self._call = _disable(capture.call, recursive=False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(self.__wrapped__, self._compiled, args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Binds a decorated method to its object."""
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name in self._OWN:
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._OWN:
            object.__setattr__(self, name, value)
        else:
            setattr(self.__wrapped__, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__wrapped__, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Captured:
        """Copies the wrapped object; the copy goes on with the same capture."""
        return Captured(copy.deepcopy(self.__wrapped__, memo), self.capture, **self._how)

    def __copy__(self) -> Captured:
        return Captured(copy.copy(self.__wrapped__), self.capture, **self._how)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Is stored as its name if that names it, and otherwise as the wrapped object."""
        if _named(self) is self:
            return self.__qualname__
        return _stored, (self.__wrapped__,)

    def __repr__(self) -> str:
        return f"<graphnet_ir.capture of {self.__wrapped__!r}>"


def _stored(value: Any) -> Any:
    """Returns what a file has in the place of an Captured."""
    return value


def _named(value: Any) -> Any:
    """Returns what the program has under the name of a function or class; None if nothing."""
    try:
        return functools.reduce(
            getattr, value.__qualname__.split("."), sys.modules[value.__module__]
        )
    except (AttributeError, KeyError):
        return None


def capture(
    target: Any = None,
    *,
    name: str | None = None,
    workspace: str | os.PathLike[str] | None = None,
    dynamic: bool | None = None,
    fullgraph: bool = False,
    backward: bool = False,
    weights: bool = False,
    statistics: bool = True,
    verify: bool = False,
    to: str | None = None,
) -> Any:
    """Captures the graphs of each call of a function, a module or the modules of a class.

        model = graphnet_ir.capture(name="resnet18", workspace="out")(model)

        @graphnet_ir.capture(workspace="out")
        def step(x): ...

    The result is called as before, and its attribute `capture` is a Capture. Each call that makes
    new graphs writes WORKSPACE/NAME (docs/capture.md). Nothing is written without a workspace and
    without the variable GRAPH_NET_EXTRACT_WORKSPACE.

    dynamic, fullgraph: as in torch.compile. backward: also keeps AOTAutograd's forward and backward
    graphs. weights: keeps the values of parameters and inputs, with to='protobuf'; by default,
    to='graphnet' writes GraphNet folders, which hold no weights. statistics: describes the values.
    verify: makes each call twice, once as it is and once with graphnet's interpreter in the place
    of each graph, and raises Error if a bit differs, or if a graph that ran was not kept.
    """
    if target is None:
        return functools.partial(
            capture,
            name=name,
            workspace=workspace,
            dynamic=dynamic,
            fullgraph=fullgraph,
            backward=backward,
            weights=weights,
            statistics=statistics,
            verify=verify,
            to=to,
        )
    if workspace is None:
        workspace = os.environ.get("GRAPH_NET_EXTRACT_WORKSPACE") or None
    title = name or getattr(target, "__name__", None) or type(target).__name__
    kept = Capture(
        title.strip("<>"),
        workspace,
        backward=backward,
        weights=weights,
        statistics=statistics,
        verify=verify,
        to=to,
    )
    if isinstance(target, type) and issubclass(target, torch.nn.Module):
        return _capturing_class(target, kept, dynamic, fullgraph)
    if not callable(target):
        raise TypeError(
            f"capture takes a function, a module or a class of modules, not {type(target).__name__}"
        )
    if isinstance(target, torch.nn.Module) and not isinstance(target, torch.jit.ScriptModule):
        made: Any = object.__new__(_capturing_class(type(target), kept, dynamic, fullgraph))
        made.__dict__ = target.__dict__  # One module with two classes: what one sets, both have.
        return made
    return Captured(target, kept, dynamic=dynamic, fullgraph=fullgraph)


def _capturing_class(cls: Any, capture: Capture, dynamic: bool | None, fullgraph: bool) -> Any:
    """Returns a class of the same name, whose modules capture their calls."""

    class Capturing(cls):  # type: ignore[misc]
        # Not in __dict__, which the module of the original class shares.
        __slots__ = ("_graphnet_through",)

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            through = getattr(self, "_graphnet_through", None)
            if through is None:
                through = Captured(_plain(self), capture, dynamic=dynamic, fullgraph=fullgraph)
                object.__setattr__(self, "_graphnet_through", through)
            return through(*args, **kwargs)

        def __deepcopy__(self, memo: dict[int, Any]) -> Any:
            made = object.__new__(type(self))
            memo[id(self)] = made
            object.__setattr__(made, "__dict__", copy.deepcopy(_plain(self), memo).__dict__)
            return made

        def __copy__(self) -> Any:
            made = object.__new__(type(self))
            object.__setattr__(made, "__dict__", copy.copy(_plain(self)).__dict__)
            return made

        def __reduce_ex__(self, protocol: Any) -> Any:
            """Is stored as a module of the class that the program has under the name."""
            plain = _plain(self)
            kind = type(self) if _named(type(self)) is type(self) else cls
            # As pickle does it; its usual function refuses an object of another class.
            state = plain.__getstate__() if hasattr(plain, "__getstate__") else plain.__dict__
            return _reconstructor, (kind, object, None), state

    def _plain(module: Any) -> Any:
        """Returns the module of the original class with the same attributes."""
        plain = object.__new__(cls)
        plain.__dict__ = module.__dict__
        return plain

    Capturing.__name__, Capturing.__qualname__ = cls.__name__, cls.__qualname__
    Capturing.__module__, Capturing.__doc__ = cls.__module__, cls.__doc__
    Capturing.capture = capture
    return Capturing


extract = capture  # its earlier name
