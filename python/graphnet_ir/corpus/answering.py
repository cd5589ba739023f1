"""Answers to graphnet's C++ library, which starts modules of this package as programs (reading,
writing) and talks to them through a socket.

An answer is a letter (o: as asked, n: not found, p: cannot be done here, d: damaged), the number of bytes
as 8 bytes in little-endian order, and the bytes.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

from graphnet_ir._core import Error


def answer(work: Callable[[], bytes]) -> tuple[bytes, bytes]:
    """Returns the letter and the bytes of an answer that a function makes."""
    try:
        return b"o", work()
    except Error as error:
        letter = {"not_found": b"n", "failed_precondition": b"p"}.get(error.kind, b"d")
        return letter, str(error).encode("utf-8", "replace")
    except Exception as error:  # The engine has many kinds of errors.
        return b"d", " ".join(f"{type(error).__name__}: {error}".split()).encode("utf-8", "replace")


def send(channel: socket.socket, letter: bytes, data: bytes) -> None:
    channel.sendall(letter + struct.pack("<Q", len(data)) + data)
