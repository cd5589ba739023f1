"""What tests of captures share: small programs, and a folder for what is captured."""

import contextlib
import io
import json
import os
import tempfile
import unittest

import torch
from torch import nn

from graphnet_ir import extract


def three_breaks(x):
    y = torch.relu(x) + 1
    print("one")
    y = y * 2
    if y.sum() > 0:
        y = y - 1
    n = y.max().item()
    return y * n


class Net(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        return self.drop(self.norm(self.fc(x))).relu()


def quietly(function, *args, **kwargs):
    with contextlib.redirect_stdout(io.StringIO()):
        return function(*args, **kwargs)


def manifest(folder):
    with open(os.path.join(folder, "stitch.json"), encoding="utf-8") as file:
        return json.load(file)


@extract(name="decorated")
class Decorated(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x)


@extract
def decorated_function(x):
    return x + 1


class CaptureCase(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(0)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.workspace = folder.name

    def assert_proved(self, capture, calls=1):
        self.assertEqual(len(capture.verified), calls)
        for call in capture.verified:
            self.assertEqual(call.differences, [])
            self.assertTrue(call.equal)
            self.assertEqual(call.notes, [])
            self.assertGreater(call.runs, 0)
