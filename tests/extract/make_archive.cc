// make_archive OUT.pt: the program on standard input as a TorchScript archive.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "tests/extract/check_program.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string source(std::istreambuf_iterator<char>(std::cin), {});
  const absl::Status status = graphnet::SaveProgram(source, argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 2;
}
