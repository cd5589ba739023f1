// Reads files of small TorchScript programs and their expected captures.
#ifndef GRAPHNET_TESTS_EXTRACT_READ_PROGRAMS_H_
#define GRAPHNET_TESTS_EXTRACT_READ_PROGRAMS_H_

#include <string>
#include <utility>
#include <vector>

#include "tests/extract/check_program.h"

namespace graphnet {

// Returns the sections of a file, each of which begins with "=== head".
std::vector<std::pair<std::string, std::string>> ReadSections(const std::string& path);

// Reads programs whose heads are "name | inputs | operators to break on | option". The option is
// "--cond", "--max-unroll N", or the name of dimension 0 of the first input.
std::vector<TestProgram> ReadPrograms(const std::string& path);

}  // namespace graphnet

#endif  // GRAPHNET_TESTS_EXTRACT_READ_PROGRAMS_H_
