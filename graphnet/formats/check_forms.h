// Checks that a sample stays the same in every form that can hold it, as `graphnet check` does.
#ifndef GRAPHNET_FORMATS_CHECK_FORMS_H_
#define GRAPHNET_FORMATS_CHECK_FORMS_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"

namespace graphnet {

// What is known of a sample that was checked.
struct FormsOutcome {
  std::string folder_na;  // why a folder cannot hold the sample; empty if it can
  size_t nodes = 0;
};

// Loads and verifies the sample at `path`, and converts it to text, protobuf and a GraphNet folder
// and back; a program of torch.export also to an archive. Checks calls against PyTorch's schemas if
// `calls` is true. The first form that fails is the error.
absl::Status CheckForms(const std::string& path, bool trust, bool calls, FormsOutcome* outcome);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_CHECK_FORMS_H_
