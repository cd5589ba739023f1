"""Starts nodes of Ray on this machine: `python -m graphnet_ir.corpus.ray_nodes COUNT FOLDER TOLD`.

It writes the address to the descriptor TOLD when all nodes are there, and runs until it is killed.
Ray keeps to this machine because of the settings of ray_pool.py, which it finds in its environment,
and what Ray would keep in /dev/shm is in FOLDER.

`ray start` does not make such nodes: with these settings it refuses a second node, and without them
it listens on all addresses of the machine. Ray's class for clusters on one machine does.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

_OBJECTS = 80 << 20  # bytes; a job hands over nothing


def main() -> None:
    count, folder, told = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    from ray.cluster_utils import Cluster  # type: ignore[import-not-found,import-untyped,unused-ignore]

    node: dict[str, Any] = {
        "node_ip_address": "127.0.0.1",
        "num_cpus": 1,
        "plasma_directory": folder,
        "object_store_memory": _OBJECTS,
    }
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    for _ in range(count - 1):
        cluster.add_node(wait=False, **node)
    cluster.wait_for_nodes()
    with os.fdopen(told, "w") as file:
        file.write(json.dumps({"address": cluster.address}) + "\n")
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
