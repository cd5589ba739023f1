// Internal to the text form: reads the fields of a sample that stand before its
// module.
#ifndef GRAPHNET_TEXT_SAMPLE_PARSER_H_
#define GRAPHNET_TEXT_SAMPLE_PARSER_H_

#include "graphnet/ir/sample.h"
#include "graphnet/text/scanner.h"
#include "graphnet/text/scratch.h"

namespace graphnet::text_internal {

// Up to the first word that is no field. False: `in` has the error.
bool ParseSampleFields(Scanner& in, Scratch& scratch, Sample* sample);

}  // namespace graphnet::text_internal

#endif  // GRAPHNET_TEXT_SAMPLE_PARSER_H_
