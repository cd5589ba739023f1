"""The headers that are public."""

# The rows of the table in docs/library.md; //tests/headers compares.
PUBLIC_HEADERS = [
    "//graphnet/base:report.h",
    "//graphnet/base:status.h",
    "//graphnet/base:version.h",
    "//graphnet/cli:call.h",
    "//graphnet/decompose:compose.h",
    "//graphnet/decompose:decomposer.h",
    "//graphnet/decompose:folder.h",
    "//graphnet/extract:capture.h",
    "//graphnet/facts:shapes/operator_facts.h",
    "//graphnet/formats:formats.h",
    "//graphnet/formats:libtorch.h",
    "//graphnet/formats:pt2/model_runner.h",
    "//graphnet/identity:diff.h",
    "//graphnet/interp:inputs/draw.h",
    "//graphnet/interp:executable.h",
    "//graphnet/interp:prepare.h",
    "//graphnet/interp:torch/tensors.h",
    "//graphnet/ir:canonical_hash.h",
    "//graphnet/ir:module.h",
    "//graphnet/ir:node_table.h",
    "//graphnet/ir:outline.h",
    "//graphnet/ir:sample.h",
    "//graphnet/ir:verifier.h",
    "//graphnet/paddle:formats.h",
    "//graphnet/passes:pass.h",
    "//graphnet/passes:pattern.h",
    "//graphnet/passes:pipeline.h",
    "//graphnet/passes:value.h",
    "//graphnet/ir:text/parser.h",
    "//graphnet/ir:text/printer.h",
    "//graphnet/validate:numeric.h",
    "//graphnet/validate:structure.h",
]

# Headers that are public because these include them.
INCLUDED_HEADERS = [
    "//:graphnet/graphnet.h",
    "//:graphnet/graphnet_torch.h",
    "//graphnet/command:result.h",
    "//graphnet/ir:argument.h",
    "//graphnet/ir:graph.h",
    "//graphnet/ir:node.h",
    "//graphnet/ir:tensor_meta.h",
]
