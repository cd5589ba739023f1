// Internal to the text form: reads the fields of a sample that come before its module.
#ifndef GRAPHNET_IR_TEXT_SAMPLE_PARSER_H_
#define GRAPHNET_IR_TEXT_SAMPLE_PARSER_H_

#include "graphnet/ir/sample.h"
#include "graphnet/ir/text/scanner.h"
#include "graphnet/ir/text/scratch.h"

namespace graphnet::text_internal {

// Reads the fields up to the first word that does not name one. Returns false if it failed; `in`
// then has the error.
bool ParseSampleFields(Scanner& in, Scratch& scratch, Sample* sample);

}  // namespace graphnet::text_internal

#endif  // GRAPHNET_IR_TEXT_SAMPLE_PARSER_H_
