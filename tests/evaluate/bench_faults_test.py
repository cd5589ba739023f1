#!/usr/bin/env python3
"""Benchmarks with workers that break and a tool that is killed: no sample is lost, none counts
twice, each counts as its fault is to be counted, and no process is left.

    tests/evaluate/bench_faults_test.py GRAPHNET [SAMPLES] [SEED]

SAMPLES samples (200), whose names say what a worker does with them (tests/evaluate/faulty_worker.py); two
backends; the tool is killed after a random time, again and again, and goes on until it is done.
"""

import collections
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

FAULTS = {
    "never_none": "correct",
    "prepare_crash": "compile_fail",
    "run_crash": "runtime_fail",
    "time_crash": "runtime_fail",
    "prepare_hang": "compile_fail",
    "run_hang": "runtime_fail",
    "time_kill": "runtime_fail",
    "prepare_kill": "compile_fail",
    "run_abort": "runtime_fail",
    "run_fork": "runtime_fail",
    "run_orphan": "correct",
    "run_garbage": "runtime_fail",
    "run_shapes": "shape_mismatch",
    "run_inputs": "runtime_fail",
    "prepare_refuse": "compile_fail",
}
MODEL = "graphnet.module 1\n\ngraph @forward(%x : f32[2, 3]) {\n  return (%x,)\n}\nend\n"


def left(folder):
    """Processes that workers below the folder have left."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if f"GRAPHNET_WORKER_FOLDER={folder}".encode() in file.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def main() -> int:
    graphnet = os.path.abspath(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    chance = random.Random(seed)
    worker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faulty_worker.py")
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        expected = {}
        for i in range(count):
            fault = chance.choice(list(FAULTS))
            path = f"{folder}/in/{i}/x_{fault}.gn"
            os.makedirs(os.path.dirname(path))
            with open(path, "w") as file:
                file.write(MODEL)
            expected[path] = FAULTS[fault]
        command = [
            graphnet,
            "bench",
            f"{folder}/in",
            "--backend",
            "exec,nope",
            "--exec",
            f"{sys.executable} {os.path.abspath(worker)} name",
            "--exec-reads",
            "graphnet",
            "--warmup",
            "0",
            "--trials",
            "1",
            "--timeout",
            "2",
            "--resume",
            f"{folder}/out",
        ]
        kills = 0
        while True:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            try:
                output, _ = process.communicate(timeout=chance.expovariate(1 / 5))
                break
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                kills += 1
        if process.returncode != 0:
            sys.exit(f"graphnet exits with {process.returncode}: {output.decode()[-500:]}")

        wrong = []
        for backend in ("exec", "nope"):
            lines = [json.loads(line) for line in open(f"{folder}/out/{backend}.jsonl")]
            times = collections.Counter(line["path"] for line in lines)
            with open(f"{folder}/out/{backend}.log") as file:
                begun = collections.Counter(
                    line.split(" [Processing] ", 1)[1].rstrip("\n")
                    for line in file
                    if " [Processing] " in line
                )
            for path in expected:
                if times[path] != 1 or begun[path] != 1:
                    wrong.append(
                        f"{backend}: {path}: {times[path]} lines, {begun[path]} in the log"
                    )
            wrong += [
                f"{backend}: {path}: nobody asked for it"
                for path in times | begun
                if path not in expected
            ]
            for line in lines:
                status = expected[line["path"]] if backend == "exec" else "correct"
                if line["status"] != status:
                    wrong.append(
                        f"{backend}: {line['path']}: {line['status']} "
                        f"({line.get('reason')}), expected is {status}"
                    )
        time.sleep(0.1)
        wrong += [f"process {pid} is left" for pid in left(folder)]
        if os.path.exists(f"{folder}/out/.scratch"):
            wrong.append(".scratch is left")
        print("\n".join(wrong[:20]))
        print(f"{count} samples, tool killed {kills} times: {len(wrong)} wrong")
        return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
