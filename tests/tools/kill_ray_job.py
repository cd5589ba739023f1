#!/usr/bin/env python3
"""Kills nodes and the driver of a job on Ray, and compares its results with those of a local pool.

    PY kill_ray_job.py CORPUS [--nodes 4] [--driver-kills 2] [--worker-kills 2] [--node-kills 2]

PY has graphnet_ir[corpus,ray]. The corpus gets two jobs. The driver is killed with SIGKILL, and with
it its nodes; the job then goes on. In the last run processes that do tasks are killed, and then
nodes. The files of both jobs must be the same, byte for byte. Meanwhile nothing may listen to other
machines, and /dev/shm gets no file.
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from graphnet_ir.corpus import Corpus

FUNCTION = '''
import graphnet_ir


def work(sample):
    return {"hash_without_metas": graphnet_ir.canonical_hash(sample), "text_bytes": len(str(sample))}
'''


def processes(word):
    """Returns the processes whose command line has a word."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and word in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def heard_elsewhere():
    """Returns the sockets of Ray's processes that listen to other machines, as the kernel's lines."""
    sockets = set()
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and b"graphnet-ray-" in (entry / "environ").read_bytes():
                sockets |= {os.readlink(file) for file in (entry / "fd").iterdir()}
        except OSError:
            pass
    lines = [line for name in ("tcp", "tcp6") for line in
             pathlib.Path("/proc/net", name).read_text().splitlines()[1:]]
    fields = [line.split() for line in lines]
    ours = [line for line in fields if line[3] == "0A" and f"socket:[{line[9]}]" in sockets]
    if not ours:
        sys.exit("no process of Ray listens: this check sees nothing")
    # 127.0.0.1, the same in the form of version 6, and ::1.
    own = re.compile("(0{16}FFFF0000)?0100007F:|0{24}01000000:")
    return [" ".join(line) for line in ours if not own.match(line[1])]


def workers():
    """Returns the processes that do tasks now."""
    return [number for number in processes(b"ray::run_task") if b"graphnet-ray-" in
            pathlib.Path(f"/proc/{number}/environ").read_bytes()]


def raylets():
    return [number for number in processes(b"/raylet/raylet\0") if b"graphnet-ray-" in
            pathlib.Path(f"/proc/{number}/cmdline").read_bytes()]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--driver-kills", type=int, default=2)
    parser.add_argument("--worker-kills", type=int, default=2)
    parser.add_argument("--node-kills", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    draw = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        function = pathlib.Path(folder, "function.py")
        function.write_text(FUNCTION)
        run = [sys.executable, "-m", "graphnet_ir.corpus", "map", str(args.corpus), "--function",
               f"{function}:work", "--name"]
        jobs = args.corpus / "jobs"
        for name in ("local", "ray"):
            shutil.rmtree(jobs / name, ignore_errors=True)
        begin = time.monotonic()
        subprocess.run([*run, "local"], check=True, stderr=subprocess.DEVNULL)
        print(f"local: {time.monotonic() - begin:.0f} s", flush=True)
        parts = sorted(path.name for path in (jobs / "local").glob("part-*"))

        def done():
            return len(list((jobs / "ray").glob("part-*")))

        killed_drivers = killed_workers = killed_nodes = 0
        shared = set(os.listdir("/dev/shm"))
        while True:
            driver = subprocess.Popen([*run, "ray", "--ray", f"local:{args.nodes}"],
                                      stderr=subprocess.PIPE, text=True, start_new_session=True)
            at = done() + draw.randrange(1, max(2, len(parts) // 4))
            while driver.poll() is None:
                time.sleep(0.2)
                if killed_drivers < args.driver_kills:
                    if done() >= at:
                        if elsewhere := heard_elsewhere():
                            sys.exit(f"Ray listens to other machines: {elsewhere}")
                        if more := set(os.listdir("/dev/shm")) - shared:
                            sys.exit(f"/dev/shm has {more}")
                        driver.send_signal(signal.SIGKILL)
                        killed_drivers += 1
                        print(f"driver killed after {done()} of {len(parts)} tasks", flush=True)
                        break
                elif killed_workers < args.worker_kills:
                    if busy := workers():
                        os.kill(draw.choice(busy), signal.SIGKILL)
                        killed_workers += 1
                        print(f"worker killed after {done()} of {len(parts)} tasks", flush=True)
                        time.sleep(2)
                elif killed_nodes < args.node_kills and done() >= at + killed_nodes:
                    # Not the first, which has Ray's own state.
                    others = sorted(raylets())[1:]
                    if others:
                        os.kill(draw.choice(others), signal.SIGKILL)
                        killed_nodes += 1
                        print(f"node killed after {done()} of {len(parts)} tasks", flush=True)
            code = driver.wait()
            if code not in (0, -signal.SIGKILL):
                sys.exit(f"the job ended with {code}: {driver.stderr.read()[-2000:]}")
            if code == 0:
                break
            deadline = time.monotonic() + 60
            while raylets():
                if time.monotonic() > deadline:
                    sys.exit("nodes outlive the driver")
                time.sleep(0.2)
        for name in parts:
            if (jobs / "local" / name).read_bytes() != (jobs / "ray" / name).read_bytes():
                sys.exit(f"{name} differs")
        if parts != sorted(path.name for path in (jobs / "ray").glob("part-*")):
            sys.exit("there are other tasks")
        corpus = Corpus(args.corpus)
        if lost := corpus.count(where="text_bytes IS NULL"):
            sys.exit(f"{lost} graphs have no column of the job")
        print(f"{len(parts)} tasks are the same after {killed_drivers} kills of the driver, "
              f"{killed_workers} of workers and {killed_nodes} of nodes")


if __name__ == "__main__":
    main()
