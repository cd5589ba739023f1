#!/usr/bin/env python3
"""The worker of OpenVINO refuses programs that it cannot convert.

It is compiled from its source, as `graphnet backends --install openvino` does. Without OpenVINO, a
compiler or the header of nlohmann/json, this test is skipped."""
import ctypes
import glob
import json
import os
import pathlib
import struct
import subprocess
import tempfile

WORKERS = pathlib.Path("graphnet/evaluate/workers").absolute()
BACKENDS = os.environ.get("GRAPHNET_BACKENDS") or os.path.join(
    os.environ.get("HOME", "/nonexistent"), ".local/share/graphnet/backends")
FLOAT32, COMPLEX64 = 7, 10  # the numbers of dtypes in torch.export's schema


def compile_worker():
    """Loads the worker as a library; None if what it needs is not there."""
    found = glob.glob(os.path.join(BACKENDS, "openvino/lib/python3*/site-packages/openvino"))
    if not found:
        return None
    compiler = ["g++", "-O0", "-std=c++17", f"-I{WORKERS}", f"-I{found[0]}/include"]
    try:
        subprocess.run([*compiler, "-E", "-include", "nlohmann/json.hpp", "-x", "c++", os.devnull],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        return None
    libraries = glob.glob(f"{found[0]}/libs/libopenvino.so.*") + \
        glob.glob(f"{found[0]}/libs/libopenvino_pytorch_frontend.so.*")
    subprocess.run([*compiler, "-shared", "-fPIC", WORKERS / "openvino_worker.cc", *libraries,
                    f"-Wl,-rpath,{found[0]}/libs", "-o", "worker.so"], check=True)
    answer = ctypes.CDLL(os.path.abspath("worker.so")).graphnet_worker_answer
    answer.restype = ctypes.c_char_p
    return answer


def error_of(worker, program, **more):
    pathlib.Path("program.json").write_text(json.dumps(program))
    request = {"verb": "prepare", "program": "program.json", "inputs": "in.safetensors",
               "order": ["x"], **more}
    answer = json.loads(worker(json.dumps(request).encode()))
    return "" if answer["ok"] else answer["error"]


def tensor(*sizes, dtype=FLOAT32):
    """The description of a tensor; a size that is None is not known."""
    unknown = {"as_expr": {"expr_str": "s0"}}
    return {"dtype": dtype,
            "sizes": [unknown if size is None else {"as_int": size} for size in sizes]}


def named(name):
    return {"as_tensor": {"name": name}}


def call(target, *inputs, **more):
    """A call that makes the value y."""
    given = [{"name": "", "arg": named(name)} for name in inputs]
    given += [{"name": name, "arg": arg} for name, arg in more.items()]
    return {"target": "torch.ops." + target, "inputs": given, "outputs": [named("y")], "name": "y"}


def program(*nodes, x=tensor(4, 2), output="user_output", returns="y", input="x", **tensors):
    return {"graph_module": {
        "graph": {"nodes": nodes, "tensor_values": {input: x, **tensors}},
        "signature": {"input_specs": [{"user_input": {"arg": named(input)}}],
                      "output_specs": [{output: {"arg": named(returns)}}]}}}


def main():
    os.chdir(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
    worker = compile_worker()
    if worker is None:
        print("SKIPPED: it needs OpenVINO (graphnet backends --install openvino)")
        return
    header = json.dumps({"x": {"dtype": "F32", "shape": [4, 2], "data_offsets": [0, 32]}}).encode()
    pathlib.Path("in.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(32))
    relu = call("aten.relu.default", "x")
    scatter = "aten.slice_scatter.default"
    every_other = {"start": {"as_int": 0}, "end": {"as_int": 4}, "step": {"as_int": 2}}
    refused = [
        (program(relu, x=tensor(4, 2, dtype=COMPLEX64)), "OpenVINO does not support the dtype"),
        (program(relu, returns="z"), "nothing makes the value z"),
        (program(relu, output="buffer_mutation"),
         "the program writes to its inputs or weights: buffer_mutation"),
        (program(call("my.f.default", "x")), "not an operator of ATen: torch.ops.my.f.default"),
        (program(call(scatter, "x", "x", start={"as_sym_int": {"as_name": "x"}})),
         "slice_scatter with an argument that is not constant"),
        (program(call(scatter, "x", "x"), x=tensor(None, 2)), "slice_scatter with unknown sizes"),
        (program({**relu, "outputs": [named("part")]}, call(scatter, "x", "part", **every_other),
                 part=tensor(None, 2)), "slice_scatter with unknown sizes"),
    ]
    for given, message in refused:
        error = error_of(worker, given)
        assert error == message, f"{error}; expected: {message}"
    assert error_of(worker, program(relu, y=tensor(4, 2)), keep="kept") == ""
    # The kept model was compiled from a program whose input has another name.
    other = program(call("aten.relu.default", "z"), y=tensor(4, 2), input="z")
    error = error_of(worker, other, kept="kept")
    assert error == "the compiled model has an unknown input", error
    assert error_of(worker, program(relu, y=tensor(4, 2)), kept="kept") == ""
    print("PASSED")


main()
