"""Models for harvest_test.py: fine ones, and some of each kind that a harvest must end."""

import os
import socket
import subprocess
import sys
import time

import torch

from graphnet_ir.harvest import PythonModel


class Small(torch.nn.Module):
    """A layer and what `extra` makes of its result."""

    def __init__(self, extra, width=4):
        super().__init__()
        self.linear = torch.nn.Linear(4, width)
        self.extra = extra

    def forward(self, x):
        return self.extra(torch.relu(self.linear(x)))


def broken_graph(x):
    if x.sum() > 1e9:
        return x
    return x * 2


def raising(x):
    raise ValueError("a forward that raises\nand says more")


def hanging(x):
    while True:
        time.sleep(1)


def forking(x):
    for _ in range(100):
        if os.fork() == 0:
            os.setsid()  # leaves the group
            time.sleep(600)
            os._exit(0)
    return x


def leaving(x):
    if os.fork() == 0:
        time.sleep(600)
        os._exit(0)
    return x


def hungry(x):
    return x + torch.ones(50 * 2**30 // 4).sum()


def growing(x):
    held = []
    while True:
        held.append(bytearray(b"1") * 50_000_000)


def printing(x):
    while True:
        print("on and on" * 1000)


def writing(x):
    with open("much", "wb") as file:
        while True:
            file.write(bytes(1_000_000))


def calling(x):
    socket.create_connection(("127.0.0.1", 9))
    return x


def exiting(x):
    os._exit(3)


def crashing(x):
    os.abort()


def lying(x):
    os.write(int(sys.argv[2]), b"no progress\n")  # where the process tells its progress
    return x


def surrogates(x):
    raise ValueError(os.fsdecode(b"\xff") + "\ud83d")


def replaced(x):
    os.execve("/bin/sh", ["sh", "-c", "sleep 600 & exit 3"], {})


def hidden(x):
    # A child of a child, in a session and an environment of its own.
    subprocess.run(["/bin/sh", "-c", "setsid sleep 600 & exit 0"], env={}, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return x


def mute(x):
    os.close(int(sys.argv[2]))
    return x


def boasting(x):
    os.write(int(sys.argv[2]), b'{"stage": "published", "facts": {"licence": "mine"}}\n')
    return x


def unpickling(x):
    with open("models--org--net/weights.bin", "rb") as file:
        return x + len(file.read())


EXTRAS = {
    "fine": torch.sigmoid, "breaks": broken_graph, "duplicate": torch.sigmoid,
    "raising": raising, "hanging": hanging, "forking": forking, "leaving": leaving,
    "hungry": hungry, "growing": growing, "printing": printing, "writing": writing,
    "calling": calling, "exiting": exiting, "crashing": crashing, "lying": lying,
    "unpickling": unpickling, "surrogates": surrogates, "replaced": replaced, "hidden": hidden,
    "mute": mute, "boasting": boasting,
}


def models():
    only = os.environ.get("HARVEST_MODELS")
    for name, extra in EXTRAS.items():
        if only is None or name in only.split(","):
            yield PythonModel(name, lambda extra=extra: Small(extra),
                              lambda: {"x": torch.randn(2, 4)}, "mit")
    if only is None or "wide" in only.split(","):
        yield PythonModel("wide", lambda: Small(torch.sigmoid, 8), lambda: {"x": torch.randn(2, 4)},
                          "mit")
    if only is None or "unlicensed" in only.split(","):
        yield PythonModel("unlicensed", lambda: Small(torch.tanh), lambda: {"x": torch.randn(2, 4)})
    if only is None or "idle" in only.split(","):
        yield PythonModel("idle", torch.nn.Identity, lambda: {"input": torch.randn(2, 4)}, "mit")
