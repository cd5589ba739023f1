// The processor of this machine, as /proc/cpuinfo describes it.
#ifndef GRAPHNET_EVALUATE_PROCESSOR_H_
#define GRAPHNET_EVALUATE_PROCESSOR_H_

#include <string>

namespace graphnet {

// Returns the processor's name, such as "AMD EPYC 7B13", or "unknown".
std::string ProcessorName();
// Returns the instruction sets by which compilers choose code, or "unknown".
std::string ProcessorFeatures();

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_PROCESSOR_H_
