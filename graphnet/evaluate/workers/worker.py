"""The code that all workers in Python share: requests and answers (docs/evaluation_reference.md).

    class MyWorker(worker.Worker):
        name = "mine"
        def version(self): return mine.__version__
        def prepare(self, program, inputs): self.run_it = mine.compile(program)
        def run(self, inputs): return self.run_it(*inputs)

    worker.serve(MyWorker())
"""
import json
import logging
import os
import random
import sys
import time
import traceback
import warnings

import tensors


class Failure(Exception):
    """A failure at stage "compile", "run" or "inputs"."""

    def __init__(self, stage, message):
        super().__init__(message)
        self.stage = stage


class Worker:
    """A compiler. `load` makes its values from the tensors of a file."""
    name = ""

    def version(self):
        raise NotImplementedError

    def devices(self):
        return ["cpu"]

    def prepare(self, program, inputs):
        """Compiles the file for inputs like these. `self.request` is the whole request."""
        raise NotImplementedError

    def run(self, inputs):
        """Returns the outputs of one call: a list of values, or of anything that `unload` takes."""
        raise NotImplementedError

    def option(self, name, default=None):
        """Returns the text of an option of the backend."""
        return self.request.get("options", {}).get(name, default)

    def proof(self):
        """Returns one line that proves that the compiler ran the program."""
        return ""

    def compiled(self):
        """Returns the number of parts that the compiler made of the program; None if it has no
        other way to run a program than to compile it, or if there is nothing to compile."""
        return None

    def kernels(self, program, inputs):
        """Returns the number of kernels that the compiler makes of the file."""
        raise Failure("compile", f"{self.name} does not say how many kernels it makes")

    def close(self):
        """Drops the program."""

    def export(self, program, out, inputs, outputs):
        """Writes the program to the file `out`, with these names, in the compiler's own format."""
        raise NotImplementedError

    # --- Values that are not arrays of NumPy override these.

    def load(self, tensor):
        return tensor.numpy()

    def unload(self, output):
        return tensors.of(output)

    def seed(self, number):
        random.seed(number)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(number % 2**32)

    def wait(self):
        """Waits until all results are computed."""

    def event(self):
        """Returns a mark that has `record()` and, when both are past, `elapsed_time(later)` in
        milliseconds by the clock of the device; None if the device has no clock."""
        return None

    def kernel_time(self, inputs):
        """Runs once more. Returns the outputs and the milliseconds that the kernels of the device
        took; None if nothing tells, and no outputs if it did not run."""
        return [], None

    def poison(self, outputs, inputs):
        """Overwrites the outputs, but not memory that the next call reads."""
        numpy = sys.modules.get("numpy")
        for output in outputs:
            if numpy is None or not isinstance(output, numpy.ndarray) or not output.flags.writeable:
                continue
            if any(numpy.may_share_memory(output, value) for value in inputs
                   if isinstance(value, numpy.ndarray)):
                continue
            output.fill(numpy.nan if output.dtype.kind in "fc" else -1 if output.dtype.kind in "iV"
                        else 1)


class _Server:
    def __init__(self, worker):
        self.worker = worker
        self.order = []
        self.loaded = None  # read by the last request: the file, its tensors, their values

    def hello(self, request):
        return {"name": self.worker.name, "version": self.worker.version(),
                "devices": self.worker.devices(), "slots": True}

    def prepare(self, request):
        self.worker.request = request
        self.order = request["order"]
        self.loaded = None
        values = self.values(request["inputs"])
        self.worker.seed(request["seed"])
        return self.staged("compile", lambda: self.worker.prepare(request["program"], values)) or {}

    def run(self, request):
        values = self.values(request["inputs"])
        outputs = self.staged("run", lambda: self.call(values, request["seed"]))
        # Otherwise PyTorch would be compared with itself.
        if self.worker.compiled() == 0:
            raise Failure("compile", f"compiled nothing: {self.worker.proof()}")
        self.staged("run", lambda: self.write(request["outputs"], outputs))
        for name, value in zip(self.order, values):
            before = self.loaded[1][name]
            if bytes(self.worker.unload(value).data) != bytes(before.data):
                self.loaded = None
                raise Failure("run", f"changed its input {name}")
        return {"proof": self.worker.proof()}

    def time(self, request):
        values = self.values(request["inputs"])
        answer = {"ms": []}
        for trial in range(-request["warmup"], request["trials"]):
            self.worker.seed(request["seed"])
            first, last = self.worker.event(), self.worker.event()
            self.worker.wait()
            begin = time.perf_counter()
            if first is not None:
                first.record()
            outputs = self.staged("run", lambda: self.worker.run(values))
            if first is not None:
                last.record()
            self.staged("run", self.worker.wait)
            took = 1e3 * (time.perf_counter() - begin)
            if trial >= 0:
                answer["ms"].append(took)
                if first is not None:
                    answer.setdefault("gpu", []).append(first.elapsed_time(last))
            if trial == request["trials"] - 1:
                self.staged("run", lambda: self.write(request["outputs"], outputs))
            self.worker.poison(outputs, values)
        kernel = self.kernel_times(request, values)
        return {**answer, "kernel": kernel} if kernel else answer

    def kernel_times(self, request, values):
        """Runs the trials once more, as a profiler would slow down those that the clocks measure."""
        times = []
        for _ in range(request["trials"]):
            self.worker.seed(request["seed"])
            self.worker.wait()
            try:
                outputs, took = self.worker.kernel_time(values)
            except Exception:  # pylint: disable=broad-except  # the program ran, but not profiled
                traceback.print_exc()
                return []
            self.worker.poison(outputs, values)
            if took is None:
                return []
            times.append(took)
        return times

    def export(self, request):
        return self.staged("compile", lambda: self.worker.export(
            request["program"], request["out"], request["inputs"], request["outputs"])) or {}

    def kernels(self, request):
        self.worker.request = request
        self.order = request["order"]
        self.loaded = None
        values = self.values(request["inputs"])
        return {"kernels": self.staged(
            "compile", lambda: self.worker.kernels(request["program"], values))}

    def close(self, request):
        self.loaded = None
        self.worker.close()
        return {}

    # Returns the values of a file, which is read again only if it has changed.
    def values(self, path):
        state = os.stat(path)
        key = (path, state.st_mtime_ns, state.st_size, state.st_ino)
        if self.loaded is None or self.loaded[0] != key:
            self.loaded = None
            try:
                read = tensors.read(path)
                values = [self.worker.load(read[name]) for name in self.order]
            except Exception as error:
                raise Failure("inputs", described(error)) from error
            self.loaded = (key, read, values)
        return self.loaded[2]

    def call(self, values, seed):
        self.worker.seed(seed)
        outputs = self.worker.run(values)
        self.worker.wait()
        return outputs

    def write(self, path, outputs):
        tensors.write(path, {str(i): self.worker.unload(o) for i, o in enumerate(outputs)})

    @staticmethod
    def staged(stage, work):
        _said.last = ""
        try:
            return work()
        except Failure:
            raise
        except Exception as error:
            traceback.print_exc()
            raise Failure(stage, described(error)) from error


class _Said(logging.Handler):
    """Keeps the last warning that was logged or issued, as some errors only refer to it."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.last = ""
        show = warnings.showwarning

        def keep(message, *args, **kwargs):
            self.last = first_line(message)
            show(message, *args, **kwargs)

        warnings.showwarning = keep
        # Loggers of PyTorch do not propagate their records.
        for name in ("", "torch"):
            logging.getLogger(name).addHandler(self)

    def emit(self, record):
        self.last = first_line(record.getMessage())


_said = _Said()


def first_line(text):
    return next((line.strip() for line in str(text).splitlines() if line.strip()), "")


def described(error):
    """Returns the error in one line, with the last warning before it."""
    text = f"{type(error).__name__}: {first_line(error)}"[:1000]
    return f"{text}; before it: {_said.last[:500]}" if _said.last else text


def serve(worker):
    """Answers requests until there are no more. Each slot has a worker and a program of its own."""
    servers = {0: _Server(worker)}
    with os.fdopen(3, "w") as answers:
        os.set_inheritable(3, False)
        for line in sys.stdin:
            request = json.loads(line)
            try:
                slot = request.get("slot", 0)
                if slot not in servers:
                    servers[slot] = _Server(type(worker)())
                answer = {"ok": True, **getattr(servers[slot], request["verb"])(request)}
            except Failure as failure:
                answer = {"ok": False, "stage": failure.stage, "error": str(failure)}
            except Exception as error:
                traceback.print_exc()
                answer = {"ok": False, "stage": "run", "error": described(error)}
            sys.stdout.flush()
            sys.stderr.flush()
            answers.write(json.dumps(answer) + "\n")
            answers.flush()
