#!/usr/bin/env python3
"""Makes a corpus for tests/python/corpus_test.py to read, whatever version of graphnet comes.

usage: make_corpus_fixture.py FOLDER

Runs with a Python that has the wheel with its extra `corpus`. tests/python/corpus_v1 and corpus_v2
were made once, by the first graphnet that wrote this version, and are never made again. A new version
of the format gets a folder of its own. corpus_v1 has no weights.
"""

import array
import datetime
import sys

import graphnet_ir
from graphnet_ir.corpus import Corpus

GRAPHS = {
    "attention": "graph @forward(%q : f32[2, 4, 8], %k : f32[2, 8, 4]) {\n"
                 "  %m = torch.matmul(%q, %k)\n"
                 "  %s = torch.nn.functional.softmax(%m, dim = -1)\n  return (%s,)\n}\n",
    "branch": "graph @forward(%x : f16[2, 2]) {\n  %a = .relu(%x)\n  %b = operator.add(%a, 1)\n"
              "  return (%b,)\n}\n",
    "larger": "graph @forward(%x : f16[9, 9]) {\n  %a = .relu(%x)\n  %b = operator.add(%a, 1)\n"
              "  return (%b,)\n}\n",
    "groups": "graph @forward(%x : f32[1, 4, 8, 8], %w : f32[4, 1, 3, 3]) {\n"
              "  %c = torch.conv2d(%x, %w, groups = 4)\n  %r = torch.relu_(%c)\n"
              "  return (%r,)\n}\n",
}


def main() -> None:
    corpus = Corpus.create(sys.argv[1])
    samples = []
    for name, text in GRAPHS.items():
        sample = graphnet_ir.parse(text)
        sample.name = name
        sample.graph_net_json = '{"source": "made", "model_name": "%s"}' % name
        samples.append(sample)
    samples[3].set_weight("w", array.array("f", range(36)))
    corpus.add(samples, licence="apache-2.0")
    corpus.add(samples[:1], source="elsewhere")
    corpus.compact()
    # Files of versions that nobody opens would only make it larger.
    for table in (corpus.jsons, corpus.graphs, corpus.sources):
        table.dataset.checkout_latest()
        table.dataset.cleanup_old_versions(older_than=datetime.timedelta(0), delete_unverified=True)
    corpus.tag("v1")


if __name__ == "__main__":
    main()
