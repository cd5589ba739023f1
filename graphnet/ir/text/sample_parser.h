// Internal to the text form: reads the fields of a sample that stand before its
// module.
#ifndef GRAPHNET_IR_TEXT_SAMPLE_PARSER_H_
#define GRAPHNET_IR_TEXT_SAMPLE_PARSER_H_

#include "graphnet/ir/sample.h"
#include "graphnet/ir/text/scanner.h"
#include "graphnet/ir/text/scratch.h"

namespace graphnet::text_internal {

// Up to the first word that is no field. False: `in` has the error.
bool ParseSampleFields(Scanner& in, Scratch& scratch, Sample* sample);

}  // namespace graphnet::text_internal

#endif  // GRAPHNET_IR_TEXT_SAMPLE_PARSER_H_
