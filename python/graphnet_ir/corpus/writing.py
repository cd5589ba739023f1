"""Adds samples to a corpus for graphnet's C++ library, which starts this module as a program:

    python -P -m graphnet_ir.corpus.writing CORPUS

Standard input is a socket. The first answer (answering.py) says that the corpus is open, which is made
if nothing is there. Then come samples, each as four texts: what the user gave, the path of the
input at or below it, the path that the sample has in the corpus, and the sample in protobuf form. A
text is its size as 8 bytes in little-endian order, and its bytes. When nothing more comes, all is
committed. The last answer is the result in JSON, the same as a line of text, and a line for each
sample that was refused.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

from graphnet_ir.corpus import answering

Given = tuple[str, str, str, bytes]
"""The four texts of a sample."""


def samples(file: BinaryIO) -> Iterator[Given]:
    """Yields samples. One without its end, since the other process was killed, does not count."""
    while True:
        texts: list[bytes] = []
        for _ in range(4):
            head = file.read(8)
            size = int.from_bytes(head, "little")
            texts.append(file.read(size))
            if len(head) < 8 or len(texts[-1]) < size:
                return
        root, path, below = map(os.fsdecode, texts[:3])
        yield root, path, below, texts[3]


def main() -> None:
    """Answers twice, or once if the corpus cannot be opened."""
    opened: list[Any] = []

    def open_corpus() -> bytes:
        # The engines are imported here, so that one that is missing is an answer.
        from graphnet_ir.corpus.receiving import Receiver

        opened.append(Receiver(sys.argv[1]))
        return b""

    with (
        socket.socket(fileno=sys.stdin.fileno()) as channel,
        channel.makefile("rb") as file,
        contextlib.suppress(BrokenPipeError),
    ):  # Nobody may be left to hear it.
        answering.send(channel, *answering.answer(open_corpus))
        for receiver in opened:
            answering.send(
                channel,
                *answering.answer(lambda: receiver.add(samples(file)).encode("utf-8", "replace")),
            )


if __name__ == "__main__":
    main()
