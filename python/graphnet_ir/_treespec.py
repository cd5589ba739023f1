"""Writes and reads how the arguments of a call are packed, a TreeSpec of torch.utils._pytree.

The text is the JSON of torch's treespec_dumps, but a named tuple comes with its fields. torch's own
reader imports every module that the text names. This one imports nothing: it takes the containers
of Python, and classes that this process has registered already. In place of any other class comes
a dict or a tuple of the same leaves.
"""

from __future__ import annotations

import builtins
import collections
import enum
import json
import keyword
import sys
from typing import Any

from torch.utils import _pytree as pytree

_VERSION = 1
_NAMED = "collections.namedtuple"
# Types of which a defaultdict may make values.
_FACTORIES = ("bool", "complex", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple")


def dumps(spec: Any) -> str:
    """Returns the text of a TreeSpec. Raises NotImplementedError, TypeError or ValueError for a
    class that is registered without a name, and for a context that is no JSON."""
    return json.dumps([_VERSION, _plain(spec)])


def loads(text: str) -> Any:
    """Returns the TreeSpec of a text. Raises ValueError for a text that does not follow the form."""
    try:
        version, tree = json.loads(text)
        if version != _VERSION:
            raise ValueError(f"unknown version {version}")
        return _spec(tree)
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError) as error:
        raise ValueError(f"not the packing of arguments: {error!r}") from error


def _plain(spec: Any) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    made: dict[str, Any]
    if spec.type is collections.namedtuple:
        kind = spec.context
        made = {
            "type": _NAMED,
            "context": {
                "name": f"{kind.__module__}.{kind.__qualname__}",
                "fields": list(kind._fields),
            },
        }
    else:
        # torch writes a node without children, which are written here.
        alone = pytree.TreeSpec(spec.type, spec.context, [])
        made = json.loads(pytree.treespec_dumps(alone, _VERSION))[1]
    made["children_spec"] = [_plain(child) for child in spec.children()]
    return made


def _spec(tree: dict[str, Any]) -> Any:
    name, context = tree["type"], tree["context"]
    children = [_spec(child) for child in tree["children_spec"]]
    if name is None:
        if children or context is not None:
            raise ValueError("a leaf has no parts")
        return pytree.treespec_leaf()
    if not isinstance(name, str):
        raise ValueError("the name of a type is not a text")
    if name == "builtins.dict":
        return pytree.TreeSpec(dict, _keys(_parsed(context), len(children)), children)
    if name == "collections.OrderedDict":
        return pytree.TreeSpec(
            collections.OrderedDict, _keys(_parsed(context), len(children)), children
        )
    if name == "collections.defaultdict":
        return _default_dict(context, children)
    if name == "collections.deque":
        longest = _parsed(context)
        if longest is not None and (type(longest) is not int or longest < len(children)):
            raise ValueError("the length of a deque is not a number that it can have")
        return pytree.TreeSpec(collections.deque, longest, children)
    if name == _NAMED:
        return pytree.TreeSpec(collections.namedtuple, _named(context, len(children)), children)
    kind: Any = pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE.get(name)
    known: Any = pytree.SUPPORTED_SERIALIZED_TYPES.get(kind)
    # Code that a class has for its context is not for texts of strangers.
    if known is not None and known.from_dumpable_context is None:
        return pytree.TreeSpec(kind, _parsed(context), children)
    return _instead_of_class(context, children)


def _instead_of_class(context: Any, children: list[Any]) -> Any:
    """Returns a dict if the context of a class names the leaves, and else a tuple."""
    try:
        keys = _parsed(context)
        # A dataclass has two lists: the fields that are there, and those that are None.
        if isinstance(keys, list) and len(keys) == 2 and all(isinstance(k, list) for k in keys):
            keys = keys[0]
        if keys and all(isinstance(key, str) for key in keys):
            return pytree.TreeSpec(dict, _keys(keys, len(children)), children)
    except (TypeError, ValueError):
        pass
    return pytree.TreeSpec(tuple, None, children)


def _parsed(context: Any) -> Any:
    """Returns a context, which is JSON within the JSON."""
    if not isinstance(context, str):
        raise ValueError("the context of a type is not a text")
    return json.loads(context, object_hook=_enum)


def _enum(fields: dict[str, Any]) -> Any:
    """Returns a member of an enum if its module is imported already, else its name."""
    if "__enum__" not in fields:
        raise ValueError("a context holds an object")
    module, _, path = str(fields["fqn"]).partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        # getattr could run code: some modules import others when they are asked for a name.
        found = getattr(found, "__dict__", {}).get(part)
    if isinstance(found, type) and issubclass(found, enum.Enum):
        member = found.__members__.get(str(fields["name"]))
        if member is not None:
            return member
    return f"{path}.{fields['name']}"


def _keys(keys: Any, count: int) -> list[Any]:
    if not isinstance(keys, list) or len(keys) != count or len(set(keys)) != count:
        raise ValueError("a dict has other keys than values")
    return keys


def _default_dict(context: Any, children: list[Any]) -> Any:
    keys = _keys(json.loads(json.dumps(context["dict_context"]), object_hook=_enum), len(children))
    factory = context["default_factory_name"]
    if context["default_factory_module"] == "builtins" and factory in _FACTORIES:
        return pytree.TreeSpec(
            collections.defaultdict, [getattr(builtins, factory), keys], children
        )
    return pytree.TreeSpec(dict, keys, children)


def _named(context: Any, count: int) -> Any:
    """Returns the class of a named tuple: the registered one of that name, or a new one."""
    name, fields = (
        (context, None) if isinstance(context, str) else (context["name"], context["fields"])
    )
    known = pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE.get(name)
    if known is not None and pytree.is_namedtuple_class(known) and len(known._fields) == count:
        return known
    if fields is None:
        fields = [f"field{i}" for i in range(count)]
    if len(fields) != count or not all(isinstance(f, str) and f.isascii() for f in (name, *fields)):
        raise ValueError("a named tuple has other fields than values")
    last = name.rpartition(".")[2]
    if not last.isidentifier() or keyword.iskeyword(last):
        last = "NamedTuple"
    # The names are checked: namedtuple makes code of them.
    return collections.namedtuple(last, fields)
