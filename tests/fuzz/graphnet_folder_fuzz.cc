// The parsers of a GraphNet folder. The input is model.py, weight_meta.py and
// input_tensor_constraints.py, joined by lines of "####". What is accepted must
// be written and read back to the same sample.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/ir/text/equality.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphnet;  // NOLINT
  std::string text(reinterpret_cast<const char*>(data), size);
  GraphNetFileMap files = {{"graph_net.json", "{}"}};
  for (const char* name : {"model.py", "weight_meta.py", "input_tensor_constraints.py"}) {
    const size_t end = text.find("####\n");
    files[name] = text.substr(0, end);
    text = end == std::string::npos ? "" : text.substr(end + 5);
  }
  const auto sample = ParseGraphNetFiles(files, "fuzz");
  if (!sample.ok()) return 0;
  const auto form = FolderFormOfSample(*sample);
  if (!form.ok()) return 0;
  const auto written = GraphNetFiles(*sample);
  if (!written.ok()) return 0;
  const auto back = ParseGraphNetFiles(*written, "fuzz");
  absl::Status status = back.status();
  EqualityOptions options = kExact;
  options.locations = false;
  if (back.ok()) status = CheckEqual(*form, *back, options);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n%s\n", status.ToString().c_str(), written->at("model.py").c_str());
    std::abort();
  }
  return 0;
}
