"""Computation graphs of PyTorch: import, look at, check, cut and convert."""
from graphnet_ir._core import version

__version__ = version()
