// Makes samples for the tests of the protobuf form.
#ifndef GRAPHNET_TESTS_FORMATS_PROTOBUF_SAMPLE_FIXTURES_H_
#define GRAPHNET_TESTS_FORMATS_PROTOBUF_SAMPLE_FIXTURES_H_

#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns a sample of a few nodes without anything special.
Sample MakeSmallSample();

// Returns a sample with everything that a sample can hold: all kinds of arguments, metas,
// expressions and draw specs, several graphs, unusual names, all fields.
Sample MakeFullSample();

// Returns a network of `blocks` equal blocks, named and written as in GraphNet.
Sample MakeRealisticSample(int blocks);

}  // namespace graphnet

#endif  // GRAPHNET_TESTS_FORMATS_PROTOBUF_SAMPLE_FIXTURES_H_
