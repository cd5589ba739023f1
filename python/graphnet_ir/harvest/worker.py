"""The process of one model: analyses it, writes its script, runs it. Started by runner.py.

It sends its progress as lines of JSON through a pipe: {"stage": …, "facts": …}, and if it fails, at
the end {"failure": a class, "message": …}. What the model prints goes elsewhere.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import sys
from collections.abc import Iterator
from typing import Any

from graphnet_ir.harvest.failures import Failure, described, first_line
from graphnet_ir.harvest.loading import load_file, run_prelude

# Address space that PyTorch and its libraries reserve without using it.
ADDRESS_ROOM = 16 << 30


class Refused(PermissionError):
    """The model asked for something forbidden. kind: a class of failures.CLASSES."""

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind


def _limit(job: dict[str, Any]) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for what, most in (
        (resource.RLIMIT_FSIZE, job["max_file"]),
        (resource.RLIMIT_AS, job["max_memory"] + ADDRESS_ROOM),
    ):
        resource.setrlimit(what, (most, most))
    if sys.platform == "linux":
        import ctypes

        # The model ends when its harvest ends, for any reason.
        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL


def _refuse(job: dict[str, Any]) -> None:
    """Stops things that a configuration may not ask for. It does not confine trusted code."""

    def hook(event: str, args: Any) -> None:
        if event in ("socket.connect", "socket.getaddrinfo") and not job["network"]:
            target = args[0] if event == "socket.getaddrinfo" else args[1]
            if not isinstance(target, (bytes, str)) or event == "socket.getaddrinfo":
                raise Refused("network", f"the model asked for the network ({target})")
        if event == "open" and not job["pickles"] and isinstance(args[0], str):
            if args[0].endswith((".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")) and any(
                part.startswith("models--") for part in args[0].split(os.sep)
            ):
                raise Refused(
                    "pickled_weights",
                    f"{os.path.basename(args[0])} is a pickle, which is not executed",
                )

    sys.addaudithook(hook)


def failure_of(error: BaseException, otherwise: str) -> Failure:
    """Returns the class of an exception, by its type and by those of its causes."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, Failure):
            return seen
        if isinstance(seen, Refused):
            return Failure(seen.kind, str(seen))
        # PyTorch has no exception type of its own for a lack of memory.
        if isinstance(seen, MemoryError) or "can't allocate memory" in str(seen):
            return Failure("memory", first_line(str(seen)) or "out of memory")
        if isinstance(seen, OSError) and seen.errno in (errno.EFBIG, errno.ENOSPC, errno.EDQUOT):
            return Failure("files", str(seen))
        if isinstance(seen, ModuleNotFoundError) and otherwise == "build":
            return Failure("missing_package", str(seen))
        seen = seen.__cause__ or seen.__context__
    return Failure(otherwise, described(error))


class Worker:
    def __init__(self, folder: str, events: int):
        self.folder = folder
        self.events = events
        self.process = os.getpid()
        with open(os.path.join(folder, "job.json"), encoding="utf-8") as file:
            self.job: dict[str, Any] = json.load(file)
        self.script = os.path.join(folder, "capture.py")

    def tell(self, **what: Any) -> None:
        self.end_if_forked()
        os.write(self.events, json.dumps(what).encode() + b"\n")

    def end_if_forked(self) -> None:
        """Ends a child that the model forked, which must not send anything."""
        if os.getpid() != self.process:
            os._exit(0)

    @contextlib.contextmanager
    def model_code(self, otherwise: str) -> Iterator[None]:
        """Runs code of the model. An exception becomes a Failure, of the class `otherwise` if its
        type does not decide, and a child that the code forked ends."""
        try:
            yield
        except Exception as error:
            self.end_if_forked()
            raise failure_of(error, otherwise) from error
        self.end_if_forked()

    def run(self) -> None:
        try:
            if not os.path.exists(self.script):
                self.analyse()
            elif self.job["stage"] == "fetched":
                self.look_at_repaired()
            self.capture()
        except BaseException as error:
            self.end_if_forked()
            if isinstance(error, KeyboardInterrupt):
                raise
            found = failure_of(error, "build")
            self.tell(failure=found.kind, message=found.message)

    # --- Analysis ---------------------------------------------------------------------------------

    def analyse(self) -> None:
        """Finds out how the model is built and called, and writes the script."""
        from graphnet_ir.harvest.building import count_parameters, fit

        plan, facts = fit(self.job, self.job["facts"])
        # Write the script before it is known to run, so that it can be inspected and repaired.
        self.write_script(plan.how, {})
        script = self.load()
        model = self.build(script)
        family, chosen = "other", dict[str, str]()
        if plan.make is None:  # The script has inputs of its own.
            self.try_call(model, script.inputs)
        else:
            family, chosen = self.choose(plan, model)
            self.write_script(plan.how, chosen)
        if facts["parameters"] is None:
            facts["parameters"] = count_parameters(model)
        self.tell(
            stage="analysed",
            facts={**facts, "family": family, "inputs": chosen, "architecture": plan.architecture},
        )

    def look_at_repaired(self) -> None:
        """Analyses a script that a repair changed before its model was analysed."""
        from graphnet_ir.harvest import inputs
        from graphnet_ir.harvest.building import count_parameters

        script = self.load()
        model = self.build(script)
        self.try_call(model, script.inputs)
        self.tell(
            stage="analysed",
            facts={
                "parameters": count_parameters(model),
                "halvings": 0,
                "inputs": {},
                "architecture": type(model).__name__,
                "family": inputs.family_of(
                    self.job["facts"]["library"],
                    getattr(model, "config", {}),
                    getattr(model, "main_input_name", ""),
                    inputs.parameters_of(model.forward),
                ),
            },
        )

    def choose(self, plan: Any, model: Any) -> tuple[str, dict[str, str]]:
        """Returns the family, and the first set of inputs with which the model runs."""
        from graphnet_ir.harvest import inputs

        library = self.job["facts"]["library"]
        parameters = inputs.parameters_of(model.forward)
        if library in ("timm", "torchvision"):
            name = next(iter(parameters), "x")
            made = inputs.Rules(plan.config, library, 1).pixel_values()
            return "vision", self.first_that_runs(plan, model, [{name: made or ""}])
        # The model's own configuration also has the defaults that the file leaves out.
        plan.config = getattr(model, "config", None) or plan.config
        family = inputs.family_of(
            library, plan.config, getattr(model, "main_input_name", ""), parameters
        )
        sets = list(inputs.input_sets(family, plan.config, library, parameters))
        if family == "multimodal":
            sets = self.with_image(plan, model) + sets
        if not sets:
            raise Failure("inputs", "no rule makes the arguments " + ", ".join(parameters))
        return family, self.first_that_runs(plan, model, sets)

    def with_image(self, plan: Any, model: Any) -> list[dict[str, str]]:
        """Returns a text with as many image tokens as the model makes from an image."""
        from graphnet_ir.harvest import inputs

        tried = inputs.image_inputs(plan.config, 1)
        features = getattr(model, "get_image_features", None)
        if tried is None or features is None:
            return []
        import torch

        try:
            with torch.no_grad():
                made = features(pixel_values=eval(tried["pixel_values"], {"torch": torch}))
            while not isinstance(made, torch.Tensor):
                made = made.pooler_output if hasattr(made, "pooler_output") else made[0]
            count = made.numel() // made.shape[-1]
        except Exception:
            self.end_if_forked()
            return []
        found = inputs.image_inputs(plan.config, count)
        return [] if found is None else [found]

    def first_that_runs(self, plan: Any, model: Any, sets: list[dict[str, str]]) -> dict[str, str]:
        import torch

        first: Failure | None = None
        for tried in sets:
            try:
                self.try_call(
                    model,
                    lambda: {name: eval(text, {"torch": torch}) for name, text in tried.items()},
                )
                return tried
            except Failure as failure:
                if failure.kind != "inputs":
                    raise
                if first is None:
                    first = failure
                    self.write_script(plan.how, tried)
        assert first is not None
        raise first

    def try_call(self, model: Any, inputs: Any) -> None:
        import torch

        torch.manual_seed(self.job["seed"])
        with self.model_code("inputs"), torch.no_grad():
            model(**inputs())

    # --- The script -------------------------------------------------------------------------------

    def write_script(self, how: dict[str, Any], chosen: dict[str, str]) -> None:
        from graphnet_ir.harvest.script import script_of

        with open(self.script + ".new", "w", encoding="utf-8") as file:
            file.write(script_of(how, chosen))
        os.replace(self.script + ".new", self.script)

    def load(self) -> Any:
        with self.model_code("build"):
            return load_file("capture", self.script)

    def build(self, script: Any) -> Any:
        with self.model_code("build"):
            return script.build()

    def capture(self) -> None:
        import graphnet_ir

        script = self.load()
        model = self.build(script)
        with self.model_code("capture"):
            try:
                captured = script.capture(model, os.path.join(self.folder, "captured"))
            except graphnet_ir.Error as error:
                if error.kind != "internal":
                    raise
                self.tell(stage="captured")
                raise Failure("not_verified", str(error)) from error
        if not captured.kept():
            raise Failure("capture", "the model computes nothing that a graph could hold")
        self.tell(
            stage="captured",
            facts={
                "graphs": len(captured.kept()),
                "operators": sum(graph.num_ops for graph in captured),
            },
        )
        runs = captured.verified
        self.tell(
            stage="verified",
            facts={
                "equal": all(run.equal for run in runs),
                "notes": sorted({note for run in runs for note in run.notes}),
            },
        )


def main() -> None:
    folder, events = sys.argv[1], int(sys.argv[2])
    worker = Worker(folder, events)
    _limit(worker.job)
    if worker.job["prelude"]:
        run_prelude(worker.job["prelude"])
    import torch

    torch.set_num_threads(1)
    _refuse(worker.job)
    worker.run()


if __name__ == "__main__":
    main()
