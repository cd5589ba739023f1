#!/usr/bin/env python3
"""A worker that keeps the contract for programs that return their first input, until it breaks it.

    faulty_worker.py VERB:FAULT

With "name" instead, the name of a sample, x_VERB_FAULT.gn, selects the fault.
"""
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import time

answers = os.fdopen(3, "w")


def answer(text):
    answers.write(text + "\n")
    answers.flush()


def read(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        return header, file.read()


def write(path, name, dtype, shape, data):
    header = json.dumps({name: {"dtype": dtype, "shape": shape,
                                "data_offsets": [0, len(data)]}}).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + data)


def break_contract(fault, request):
    """Commits the fault. May answer nothing or only a part."""
    if fault == "crash":
        print("Error: about to crash", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    elif fault == "abort":
        os.abort()
    elif fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "exit":
        sys.exit(3)
    elif fault == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1000)
    elif fault == "close":
        answers.close()
        time.sleep(1000)
    elif fault == "garbage":
        answer("\x1b[31m{garbage")
    elif fault == "noverdict":
        answer('{"ok": "yes"}')
    elif fault == "deep":
        answer('{"ok":' + "[" * 100000)
    elif fault == "twice":
        answer('{"ok": true}\n{"ok": true}')
    elif fault == "endless":
        while True:
            answers.write("x" * 65536)
    elif fault == "refuse":
        answer(json.dumps({"ok": False, "stage": "compile", "error": "no such\nkernel"}))
    elif fault == "fork":
        # A child that leaves the group, keeps all files open and outlives its parent.
        if os.fork() == 0:
            os.setsid()
            time.sleep(1000)
        os._exit(1)
    elif fault == "orphan":
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
        return False
    elif fault == "memory":
        hog = bytearray(1 << 30)
        hog[::4096] = b"x" * len(hog[::4096])
        time.sleep(1000)
    elif fault == "print":
        text = "y" * (1 << 20)
        while True:
            print(text)
    elif fault == "file":
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        with open("big", "wb") as file:
            file.truncate(limit + 1)
    elif fault == "files":
        for i in range(1000):
            with open(f"big{i}", "wb") as file:
                file.truncate(64 << 20)
            time.sleep(0.01)
    elif fault == "disk":
        try:
            with open("/dev/full", "w") as file:
                file.write("x" * (1 << 20))
        except OSError as error:
            answer(json.dumps({"ok": False, "stage": "run", "error": f"OSError: {error}"}))
    elif fault == "noms":
        answer('{"ok": true, "ms": [1, "2"]}')
    elif fault == "badgpu":
        answer('{"ok": true, "ms": [1, 2], "gpu": [1, -1]}')
    elif fault == "textgpu":
        answer('{"ok": true, "ms": [1, 2], "gpu": "fast"}')
    elif fault == "shortkernel":
        answer('{"ok": true, "ms": [1, 2], "gpu": [1, 1], "kernel": [1]}')
    elif fault in ("shapes", "dtypes", "count", "nan", "torn", "wrong", "none", "clocks",
                   "slowclocks"):
        respond(request, fault)
    elif fault == "inputs":
        with open(request["inputs"], "r+b") as file:
            file.seek(-4, os.SEEK_END)
            file.write(b"\0\0\0\0")
        return False
    return True


def respond(request, how=""):
    reply = {"ok": True}
    verb = request["verb"]
    if verb == "hello":
        reply.update(name="faulty", version="1", devices=["cpu"])
    if verb == "prepare":
        respond.first = request["order"][0]
        print("Error: of no other request", file=sys.stderr, flush=True)
    if verb in ("run", "time"):
        header, data = read(request["inputs"])
        entry = header[respond.first]
        data = data[slice(*entry["data_offsets"])]
        name, dtype, shape = "0", entry["dtype"], entry["shape"]
        if how == "shapes":
            shape = [1, *shape]
        elif how == "dtypes":
            dtype = "I32"
        elif how == "count":
            name = "1"
        elif how == "nan":
            data = struct.pack("<f", float("nan")) * (len(data) // 4)
        elif how == "wrong":
            data = struct.pack("<f", 1e9) * (len(data) // 4)
        if how != "none":
            write(request["outputs"], name, dtype, shape, data)
        if how == "torn":
            os.truncate(request["outputs"], 20)
        if verb == "time":
            reply["ms"] = [1.0] * request["trials"]
            if how in ("clocks", "slowclocks"):  # no faults: times by more clocks
                gpu, kernel = (0.5, 0.25) if how == "clocks" else (1.0, 0.75)
                reply["gpu"] = [gpu] * request["trials"]
                reply["kernel"] = [kernel] * request["trials"]
    answer(json.dumps(reply))


def main():
    wanted = sys.argv[1]
    for line in sys.stdin:
        request = json.loads(line)
        if sys.argv[1] == "name" and request["verb"] == "prepare":
            wanted = ":".join(os.path.basename(request["program"]).split(".")[0].split("_")[1:])
        verb, _, fault = wanted.partition(":")
        if verb != request["verb"] or not break_contract(fault, request):
            respond(request)


main()
