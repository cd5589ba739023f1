// make_archive OUT.pt [libfoo.so]: stores the program on standard input as a TorchScript archive;
// it may call the operators of the library.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "graphnet/interp/torch/operator_library.h"
#include "tests/extract/check_program.h"

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  const std::string source(std::istreambuf_iterator<char>(std::cin), {});
  absl::Status status = argc == 3 ? graphnet::LoadOperatorLibrary(argv[2]) : absl::OkStatus();
  if (status.ok()) status = graphnet::SaveProgram(source, argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 2;
}
