// The library without LibTorch. The headers that are included here and in graphnet_torch.h are
// public, and so are graphnet/base/status.h (whose macros RETURN_IF_ERROR and ASSIGN_OR_RETURN may
// clash with others) and graphnet/paddle/formats.h. docs/library.md has a line on each. All other
// headers are internal and may change at any time, even those that are installed because a public
// header includes them.
#ifndef GRAPHNET_GRAPHNET_H_
#define GRAPHNET_GRAPHNET_H_

#include "graphnet/base/version.h"
#include "graphnet/decompose/compose.h"
#include "graphnet/decompose/decomposer.h"
#include "graphnet/decompose/folder.h"
#include "graphnet/decompose/join_models.h"
#include "graphnet/decompose/partition.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/facts/shapes/infer_shapes.h"
#include "graphnet/facts/shapes/operator_facts.h"
#include "graphnet/formats/formats.h"
#include "graphnet/identity/diff.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/dataflow.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ir/outline.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/transform.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ir/weights.h"
#include "graphnet/ops/call_schema.h"
#include "graphnet/passes/pass.h"
#include "graphnet/passes/pattern.h"
#include "graphnet/passes/pipeline.h"
#include "graphnet/passes/value.h"
#include "graphnet/validate/structure.h"

#endif  // GRAPHNET_GRAPHNET_H_
