"""Makes _core.pyi, from which type checkers and editors know the extension.

nanobind's stubgen writes it from the extension. stubgen does not know the types of Python objects,
so TYPES states them. A row without a match and a result without a row are errors of the build.
"""

import functools
import json
import re
import subprocess
import sys

HEADER = '''\
from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple, Union

from graphnet_ir._graphs import ArgsKwargsPair
from graphnet_ir.verbs import Verbs

Argument = Any
_DType = Union[DType, str, Any]
_Device = Union[Device, str, Any]
_Meta = Union[TensorMeta, Sequence[Any], None]


__version__: str
"""The version of graphnet."""


class Place(NamedTuple):
    """@Place@"""

    file: str
    line: int
    column: int


class Error(Exception):
    """@Error@"""

    kind: str
    place: Place | None
    format: str

'''

# Prints the docstrings that stubgen leaves out: those of C properties and of HEADER's classes.
TELL_DOCS = """
import json, types
from graphnet_ir import _core
docs = {name: getattr(_core, name).__doc__ for name in ("Error", "Place")}
for cls in filter(lambda thing: isinstance(thing, type), vars(_core).values()):
    for name, value in vars(cls).items():
        if isinstance(value, types.GetSetDescriptorType) and value.__doc__:
            docs[f"{cls.__name__}.{name}"] = value.__doc__
print(json.dumps(docs))
"""

# Prints the stub of the commands.
TELL_COMMANDS = """
import os
from graphnet_ir import commands
print('from __future__ import annotations\\n')
print('import os\\nfrom collections.abc import Callable, Sequence\\nfrom typing import Any\\n')
print('Path = str | os.PathLike[str]\\n')
for name, function in commands.functions().items():
    text = str(function.__signature__).replace("'", '')
    doc = function.__doc__.replace('\\n', '\\n    ').replace('\\n    \\n', '\\n\\n')
    print(f'def {name}{text}:\\n    \\"\\"\\"{doc}\\n    \\"\\"\\"\\n')
print('def functions() -> dict[str, Callable[..., Any]]:\\n    \\"\\"\\"Returns all of them.\\"\\"\\"')
"""

# The type of a property or of a function's result, and "name: type" of parameters that are objects.
TYPES = """
DType.__init__ -> None, name: _DType
Device.__init__ -> None, name: _Device
SymExpr.__(r?)(add|sub|mul|floordiv|mod|pow)__ -> SymExpr, arg: int | SymExpr
SymExpr.(min|max|eq|ne|lt|le|gt|ge) -> SymExpr, other: int | SymExpr
SymExpr.operands -> tuple[SymExpr, ...]
TensorMeta.__init__ -> None, dtype: _DType, shape: Sequence[int | SymExpr] | None, device: _Device |
  None
TensorMeta.dtype -> DType
TensorMeta.shape -> Any
TensorMeta.device -> Device | None
Node.name = str
Node.op -> str
Node.target = str
Node.args = tuple[Argument, ...]; Sequence[Argument]
Node.kwargs = Mapping[str, Argument]
Node.users -> Mapping[Node, None]
Node.graph -> Graph
Node.next -> Node | None
Node.prev -> Node | None
Node.update_arg -> None, arg: Argument
Node.update_kwarg -> None, key: str, arg: Argument
Node.insert_arg -> None, arg: Argument
Node.all_input_nodes -> list[Node]
Node.tensor_meta -> Any, meta: _Meta
Node.location -> tuple[str, int, int] | None, location: Sequence[Any] | None
Node.stack_trace -> str | None
Node.normalized_arguments -> ArgsKwargsPair | None, root: Any
Node.draw_spec -> dict[str, Any] | None, spec: dict[str, Any] | None
Node.meta -> MutableMapping[str, Any]
Node._own_meta -> dict[str, Any]
Node._own_meta_or_none -> dict[str, Any] | None
Node.replace_all_uses_with -> list[Node], delete_user_cb: Callable[[Node], bool] | None
NodeListIterator.__iter__ -> NodeListIterator
NodeListIterator.__next__ -> Node
InsertPoint.__enter__ -> InsertPoint
InsertPoint.__exit__ -> None, args: Any
Graph.owning_module -> Module
Graph.records -> list[dict[str, Any]]
Graph.placeholders -> list[Node]
Graph.output_node -> Node
Graph.find_node -> Node
Graph.find_nodes -> list[Node], target: str | Callable[..., Any] | None
Graph.placeholder -> Node, target: str
Graph.get_attr -> Node, qualified_name: str
Graph.call_function -> Node, the_function: str | Callable[..., Any], args: Sequence[Argument] |
  None, kwargs: Mapping[str, Argument] | None
Graph.call_method -> Node, method_name: str, args: Sequence[Argument] | None, kwargs: Mapping[str,
  Argument] | None
Graph.call_module -> Node, module_name: str, args: Sequence[Argument] | None, kwargs: Mapping[str,
  Argument] | None
Graph.output -> Node, result: Argument
Graph.create_node -> Node, target: str | Callable[..., Any], args: Sequence[Argument] | None,
  kwargs: Mapping[str, Argument] | None
Graph.node_copy -> Node, arg_transform: Callable[[Node], Node] | None
Graph.graph_copy -> Any, val_map: dict[Node, Node]
Graph.eliminate_dead_code -> bool, is_impure_node: Callable[[Node], bool] | None
Graph.unique_name -> str, candidate: str
Module.add_graph -> Graph, name: str
Module.graphs -> list[Graph]
Module.graph -> Graph
Module.find_graph -> Graph | None
Module.add_symbol -> SymExpr, name: str
Module.symbols -> dict[str, int | None]
Module.symbol -> SymExpr
Module.relations -> list[SymExpr]
Module.add_attribute -> None, name: str, tensor_meta: TensorMeta | None, draw_spec: dict[str, Any] |
  None
Module.attributes -> dict[str, dict[str, Any]]
Tensor.__init__ -> None, array: Any
Tensor.from_bytes -> Tensor, bytes: Any, dtype: _DType
Tensor.dtype -> DType
Tensor.shape -> tuple[int, ...]
Tensor.strides -> tuple[int, ...] | None
Tensor.__dlpack__ -> Any, kwargs: Any
Tensor.__dlpack_device__ -> tuple[int, int]
Sample.__init__ -> None, module: Module
Sample.module -> Module
Sample.graph -> Graph
Sample.provenance -> list[dict[str, Any]], parts: Sequence[dict[str, Any]]
Sample.weights -> dict[str, Tensor]
Sample.set_weight -> None, value: Any
Sample.copy -> Sample
(DType|Device|Layout|MemoryFormat|SymExpr|TensorMeta|Tensor|Module|Graph|Sample).__copy__ -> Any
(DType|Device|Layout|MemoryFormat|SymExpr|TensorMeta|Tensor|Module).__deepcopy__ -> Any, arg: Any
(DType|Device|Layout|MemoryFormat|SymExpr|TensorMeta|Tensor|Module|Graph|Node|Sample).__reduce__ ->
  tuple[Any, ...]
Tensor.__array__ -> Any, dtype: Any, copy: bool | None
_make_sym -> SymExpr, module: Module, operands: tuple[SymExpr, ...]
Sample.save -> list[str], path: str | os.PathLike[str], options: Any
save -> list[str], path: str | os.PathLike[str]
_check_replaceable -> None, folder: str | os.PathLike[str], is_own: Callable[[str, bool], bool]
find_samples -> list[str], paths: Sequence[str | os.PathLike[str]]
(Graph|Module|Sample)._repr_html_ -> str
load -> Sample, path: str | os.PathLike[str]
load_bytes -> Sample
parse -> Sample
folder_files -> dict[str, bytes]
formats -> list[dict[str, Any]]
passes -> list[dict[str, Any]]
find_matches -> list[list[Node]]
normal_form -> Sample
_run_passes -> list[dict[str, Any]]
_apply_rules -> list[tuple[str, int]]
_ArrowArray.__arrow_c_schema__ -> Any
_ArrowArray.__arrow_c_array__ -> tuple[Any, Any], requested_schema: Any
_corpus_rows -> _ArrowArray, items: Sequence[Sample | Module | bytes]
_corpus_rows_of_paths -> _ArrowArray, paths: Sequence[str | os.PathLike[str]]
_put_weights -> tuple[str, str], source: str | os.PathLike[str] | dict[str, Any]
_write_weights -> None, path: str | os.PathLike[str]
_read_weights -> None, path: str | os.PathLike[str]
_samples_at -> list[Sample], path: str | os.PathLike[str], places: Sequence[int]
_set_python_of_corpora -> None
_query_terms -> list[tuple[str, list[str]]]
_query_doubts -> list[str]
_call_kinds -> _ArrowArray, blobs: Sequence[bytes]
_work_classes -> list[str], meanings: Sequence[str]
_match_blobs -> list[int | str], blobs: Sequence[bytes]
_prefix_tokens -> _ArrowArray, features: Any
_near_pairs -> _ArrowArray, features: Any
_recurring -> tuple[list[tuple[int, list[int], int, int, int, list[str], str]], int, int,
  list[tuple[int, str]]], batches: Any
_operator_names -> list[list[str]], items: Sequence[Sample | Module | bytes]
_choose -> tuple[list[int], int, int, int, list[tuple[int, str]]], batches: Any, start: Sequence[str]
_commands -> list[dict[str, Any]]
_call_command -> tuple[int, str, str]
_diff -> dict[str, Any]
_decompose -> tuple[str, list[Sample], list[str]], folder: str | None
_load_pieces -> tuple[str | None, list[Sample]]
_compose -> Sample, pieces: Sequence[Sample], like: Sample | None
_validate_pieces -> str, pieces: Sequence[Sample]
ReadyProgram.run -> dict[str, Tensor]
ReadyProgram.state -> dict[str, Tensor]
_prepare -> ReadyProgram, values: dict[str, Tensor]
_explain -> list[tuple[str, float, int, str, str]], values: dict[str, Tensor], outputs: dict[str, Tensor]
_arguments -> Any
_with_shapes -> Sample, values: dict[str, Tensor]
"""


def rows():
    for line in filter(None, TYPES.replace("\n  ", " ").splitlines()):
        name, sign, rest = re.fullmatch(r"(\S+) (->|=) (.*)", line).groups()
        result, *parameters = re.split(r", (?=\w+: )", rest)
        kinds = dict(parameter.split(": ", 1) for parameter in parameters)
        yield name.replace(".", r"\."), sign == "=", result, kinds


def typed(text, docs):
    """Returns the stub with TYPES and docstrings inserted."""
    lines, cls = [], ""
    table = list(rows())
    unused = {name for name, *_ in table}
    for line in text.splitlines():
        if match := re.match(r"class (\w+)", line):
            cls = match[1] + "."
        elif re.match(r"(def|\w)", line):
            cls = ""
        match = re.match(r"\s*(?:def )?(\w+)(?:\(|: getset_descriptor)", line)
        name = cls + match[1] if match else ""
        for pattern, is_set, result, parameters in table:
            if not re.fullmatch(pattern, name):
                continue
            unused.discard(pattern)
            if "getset_descriptor" in line:
                given, _, taken = result.partition("; ") if is_set else (result, "", "")
                body = f'\n        """{docs[name]}"""\n' if name in docs else " ..."
                line = f"    @property\n    def {match[1]}(self) -> {given}:{body}"
                if is_set:
                    line += (
                        f"\n\n    @{match[1]}.setter\n    def {match[1]}(self, value: "
                        f"{taken or given}) -> None: ..."
                    )
                break
            is_setter = bool(lines) and lines[-1].strip().endswith(".setter")
            for parameter, kind in parameters.items():
                line = re.sub(
                    rf"\b{parameter}(: [\w.| \[\], ]*?)?(?=,|\)| = )",
                    f"{parameter}: {kind}",
                    line,
                    count=1,
                )
            if not is_setter:
                line = re.sub(
                    r"(?: -> .*?)?:( \.\.\.)?$", lambda m: f" -> {result}:{m[1] or ''}", line
                )
            break
        lines.append(line)
    if unused:
        raise SystemExit(f"make_stub: nothing is called {', '.join(sorted(unused))}")
    for line in lines:
        if "__eq__" not in line and re.search(
            r"-> (object|list|dict|tuple):|getset_descriptor\b|: object\b", line
        ):
            raise SystemExit(f"make_stub: TYPES does not say what this is: {line.strip()}")
    return "\n".join(lines) + "\n"


def run_beside(folder, *arguments):
    """Runs Python with the package in a folder and returns what it prints."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env={"PYTHONPATH": f"{folder}:" + ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise SystemExit(f"make_stub: {done.stderr}")
    return done.stdout


def make_commands_stub(folder):
    """Returns the text of commands.pyi: the functions of all commands of the tool."""
    return run_beside(folder, "-c", TELL_COMMANDS)


def make_stub(folder):
    """Returns the text of _core.pyi for the package graphnet_ir in a folder."""
    out = folder / "_core.pyi"
    run = functools.partial(run_beside, folder)
    run("-m", "nanobind.stubgen", "-q", "-P", "-m", "graphnet_ir._core", "-o", out)
    docs = json.loads(run("-c", TELL_DOCS))
    header = re.sub("@(Error|Place)@", lambda match: docs[match[1]], HEADER)
    # The methods of Verbs, which come from elsewhere, are imports to stubgen.
    body = re.sub(r"(?m)^(from|import) (.*\((?:\n +.*)*\n\)|.*)\n", "", out.read_text())
    body = re.sub(r"(?m)^class (Error|Place)\b.*\n(?:(?:    .*)?\n)*", "", body)
    body = body.replace("collections.abc.", "").replace("class Sample:", "class Sample(Verbs):")
    return header + typed(body, docs)


if __name__ == "__main__":
    import pathlib

    print(make_stub(pathlib.Path(sys.argv[1])), end="")
