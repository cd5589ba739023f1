// random_programs FIRST LAST: checks the programs of these seeds; exits with 1 if a program
// differs from its subgraphs.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/extract/check_program.h"
#include "tests/extract/random_program.h"

int main(int argc, char** argv) {
  const uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const uint64_t last = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2000;
  size_t failed = 0;
  for (uint64_t seed = first; seed < last; ++seed) {
    const graphnet::TestProgram program = graphnet::RandomProgram(seed);
    const auto text = graphnet::CheckProgram(program);
    if (text.ok()) continue;
    ++failed;
    std::printf("seed %llu: %s\n%s\n", static_cast<unsigned long long>(seed),
                std::string(text.status().message()).c_str(), program.source.c_str());
  }
  std::printf("%llu programs, %zu failed\n", static_cast<unsigned long long>(last - first), failed);
  return failed > 0 ? 1 : 0;
}
