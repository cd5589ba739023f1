// Files of small TorchScript programs, and what is expected of each.
#ifndef GRAPHNET_TESTS_EXTRACT_READ_PROGRAMS_H_
#define GRAPHNET_TESTS_EXTRACT_READ_PROGRAMS_H_

#include <string>
#include <utility>
#include <vector>

#include "tests/extract/check_program.h"

namespace graphnet {

// The sections of a file that begin with "=== head".
std::vector<std::pair<std::string, std::string>> ReadSections(const std::string& path);

// Those whose heads are "name | inputs | operators to break on | option": "--cond",
// "--max-unroll N", or the name of dimension 0 of the first input.
std::vector<TestProgram> ReadPrograms(const std::string& path);

}  // namespace graphnet

#endif  // GRAPHNET_TESTS_EXTRACT_READ_PROGRAMS_H_
