"""Runs samples of Paddle, each once on drawn inputs: `convert --to paddle --paddle-python`.

Answers requests like the workers of compilers (docs/evaluation_reference.md): `prepare` reads the sample, an
absolute path of a folder, and draws its inputs; `run` runs it. Inputs follow the records of
input_meta.py and weight_meta.py: their data, or integers between their bounds, or numbers with
their mean and deviation.
"""
import gc
import json
import os
import sys


class Failure(Exception):
    """An error in a stage: "compile" or "run"."""

    def __init__(self, stage, error):
        super().__init__(f"{type(error).__name__}: {first_line(error)}")
        self.stage = stage


def first_line(error):
    """Returns the most useful line, since Paddle's errors begin with a stack of its own code."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    summary = next((line for line in lines if "Error:" in line), lines[0] if lines else "")
    return summary[:500]


def records(sample):
    """Returns the records of the files that exist, by name."""
    found = {}
    for name in ("input_meta.py", "weight_meta.py"):
        path = os.path.join(sample, name)
        if os.path.isfile(path):
            scope = {}
            with open(path, encoding="utf-8") as file:
                exec(compile(file.read(), path, "exec"), scope)
            found.update({value.name: value for value in scope.values() if isinstance(value, type)})
    return found


def draw(record, random):
    """Draws a tensor by its record."""
    import numpy
    import paddle

    dtype = record.dtype.removeprefix("paddle.")
    shape = list(record.shape)
    data = getattr(record, "data", None)
    low, high = getattr(record, "min_val", None), getattr(record, "max_val", None)
    if dtype == "bool":
        value = random.random(shape) > 0.5 if data is None else data
        return paddle.to_tensor(numpy.asarray(value, "bool").reshape(shape))
    if "int" in dtype and low is not None and high is not None:
        return paddle.to_tensor(random.integers(low, high, shape, endpoint=True).astype(dtype))
    if data is not None:
        wide = "float32" if dtype == "bfloat16" else dtype
        return paddle.to_tensor(numpy.asarray(data, wide).reshape(shape)).astype(dtype)
    mean, deviation = getattr(record, "mean", None), getattr(record, "std", None)
    mean, deviation = mean or 0.0, 0.1 if deviation is None else deviation
    value = random.standard_normal(shape, "float32") * (0.2 * deviation) + mean
    if "complex" not in dtype:
        value = numpy.clip(numpy.nan_to_num(value, nan=0.0), -100 if low is None else low,
                           100 if high is None else high)
    return paddle.to_tensor(numpy.asarray(value, "float32")).astype(dtype)


class Runner:
    def __init__(self):
        self.model, self.inputs = None, []

    def hello(self, request):
        import paddle

        paddle.device.set_device("cpu")
        return {"name": "paddle", "version": paddle.__version__, "devices": ["cpu"]}

    def prepare(self, request):
        try:
            self.load(request["program"], request["seed"])
        except Exception as error:
            raise Failure("compile", error) from error
        return {}

    def load(self, sample, seed):
        import numpy
        import paddle

        self.close({})
        path = os.path.join(sample, "model.py")
        with open(path, encoding="utf-8") as file:
            text = file.read().replace('"gpu:0"', '"cpu"')
        program = {"__name__": "sample"}
        exec(compile(text, path, "exec"), program)
        self.model = program["GraphModule"]()
        self.model.eval()
        known, random = records(sample), numpy.random.default_rng(seed)
        forward = self.model.forward
        paddle.seed(seed)
        for name in forward.__code__.co_varnames[1:forward.__code__.co_argcount]:
            value = draw(known[name], random)
            # A symbolic size is a number.
            self.inputs.append(value.item() if forward.__annotations__.get(name) is int else value)

    def run(self, request):
        import paddle

        try:
            with paddle.no_grad():
                self.model(*self.inputs)
        except Exception as error:
            raise Failure("run", error) from error
        finally:
            self.close({})
        return {"proof": ""}

    def close(self, request):
        self.model, self.inputs = None, []
        gc.collect()
        return {}


def main():
    runner = Runner()
    with os.fdopen(3, "w") as answers:
        os.set_inheritable(3, False)
        for line in sys.stdin:
            request = json.loads(line)
            try:
                answer = {"ok": True, **getattr(runner, request["verb"])(request)}
            except Failure as failure:
                answer = {"ok": False, "stage": failure.stage, "error": str(failure)}
            except Exception as error:
                answer = {"ok": False, "stage": "run",
                          "error": f"{type(error).__name__}: {first_line(error)}"}
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


main()
