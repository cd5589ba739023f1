// Samples made by hand for the tests of the protobuf form.
#ifndef GRAPHNET_TESTS_FORMATS_PROTOBUF_SAMPLE_FIXTURES_H_
#define GRAPHNET_TESTS_FORMATS_PROTOBUF_SAMPLE_FIXTURES_H_

#include "graphnet/ir/sample.h"

namespace graphnet {

// A few nodes, without anything special.
Sample MakeSmallSample();

// Something of everything that a sample can hold: all kinds of arguments, metas,
// expressions and draw specs, several graphs, unusual names, all fields.
Sample MakeFullSample();

// A network of `blocks` equal blocks, named and written as in GraphNet.
Sample MakeRealisticSample(int blocks);

}  // namespace graphnet

#endif  // GRAPHNET_TESTS_FORMATS_PROTOBUF_SAMPLE_FIXTURES_H_
