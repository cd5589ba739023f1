"""Runs a program by compilers, through the workers of `graphnet bench` (graphnet/evaluate/workers)."""

import json
import os
import pathlib
import re
import selectors
import subprocess
import sys

from sample_text import Failed, Program, call, targets_of

HERE = pathlib.Path(__file__).resolve().parent
WORKERS = HERE.parents[1] / "graphnet" / "evaluate" / "workers"
COMPILERS = {
    "Inductor": WORKERS / "inductor_worker.py",
    "ONNX Runtime": WORKERS / "onnxruntime_worker.py",
    "OpenVINO": HERE / "openvino_program.py",
    "TVM": WORKERS / "tvm_worker.py",
}
# The others run 16-bit floats in float32, or not at all.
TAKE_NARROW = ("Inductor",)
SECONDS = 60  # of each request


class Compiler:
    """A worker that goes on to the next program, and is started again if it ends."""

    def __init__(self, name, folder):
        self.name, self.folder, self.process = name, pathlib.Path(folder), None
        self.folder.mkdir(parents=True, exist_ok=True)

    def start(self):
        read, write = os.pipe()
        environment = dict(os.environ, PYTHONPATH=str(WORKERS))
        # The worker writes its answers to descriptor 3.
        command = f'exec "$0" "$1" 3>&{write}'
        self.process = subprocess.Popen(
            ["bash", "-c", command, sys.executable, str(COMPILERS[self.name])],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=self.folder, env=environment, pass_fds=[write], text=True)
        os.close(write)
        self.answers = os.fdopen(read)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.answers, selectors.EVENT_READ)

    def ask(self, **request):
        if self.process is None or self.process.poll() is not None:
            self.start()
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except OSError as error:
            self.stop()
            raise Failed(f"{self.name}: {error}") from error
        line = self.answers.readline() if self.selector.select(SECONDS) else ""
        if not line:
            self.stop()
            raise Failed(f"{self.name}: ended, or takes too long")
        answer = json.loads(line)
        if not answer["ok"]:
            raise Failed(f"{self.name}: {answer['error'][:200]}")

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
            self.answers.close()

    def run(self, case):
        """Returns the file of the outputs for the values of a case."""
        program, order = exported(case)
        out = case.folder / "compiled.safetensors"
        out.unlink(missing_ok=True)
        self.ask(verb="prepare", program=str(program), inputs=str(case.values), order=order,
                 device="cpu", seed=0)
        self.ask(verb="run", inputs=str(case.values), outputs=str(out), seed=0)
        return named_outputs(out)


def exported(case):
    """The case as a .pt2 whose weights are inputs, and the names of the inputs in order."""
    path = case.folder / "exported.pt2"
    plain = case.folder / "exported.gn"
    if not path.exists():
        text = case.program.read_text()
        plain.write_text(re.sub(r" as torch\.nn\.parameter\.Parameter", "", text))
        call(case.graphnet, "opt", plain, "--passes", "specialize,dce", "-o", plain)
        call(case.graphnet, "convert", plain, path)
    return path, targets_of(Program(plain.read_text()))


def named_outputs(path):
    """Gives the outputs the names that `graphnet run -o` gives them."""
    from safetensors.torch import load_file, save_file
    tensors = load_file(path)
    save_file({f"o{name}": value.contiguous() for name, value in tensors.items()}, path)
    return path


def sharded(case, ranks):
    """Returns the file of the outputs of the program whose weights are divided over ranks along the terms
    of its products and convolutions. All ranks run in one process."""
    import torch
    from safetensors.torch import load_file, save_file
    exported(case)
    outputs = load_file(case.outputs)
    gathered = [word for name in outputs for word in ("--gather", name)]
    said = None
    for layouts in (("*:-1,0", "*:-1,0,-1,-1"), ("*:-1,0",), ("*:-1,0,-1,-1",)):
        layout = [word for text in layouts for word in ("--shard", text)]
        try:
            said = json.loads(call(case.graphnet, "shard", case.folder / "exported.gn", "--mesh", ranks,
                                   "--inputs", case.values, *layout, *gathered, "--json",
                                   codes=(0, 1)))
            break
        except Failed as error:
            if "can be laid out" not in str(error):
                raise
    if said is None or "all_reduce" not in said["communication"]:
        raise Failed(f"no sum is divided over {ranks} ranks")
    made = {}
    for row in said["checked"]:
        if "elements" in row:
            like = outputs[row["name"]]
            numbers = torch.tensor([float(element) for element in row["elements"]], dtype=torch.float64)
            made[row["name"]] = numbers.to(like.dtype).reshape(like.shape)
    if made.keys() != outputs.keys():
        raise Failed("some outputs were not gathered")
    out = case.folder / "sharded.safetensors"
    save_file(made, out)
    return out
