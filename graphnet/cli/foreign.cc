#include "graphnet/cli/foreign.h"

#include <cstdint>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/formats/archive/zip_reader.h"

namespace graphnet {
namespace {

constexpr char kTrace[] = "graphnet reads what torch.jit.trace(module, inputs).save(FILE) writes";

bool IsSafetensors(absl::string_view head) {
  if (head.size() < 10 || head[8] != '{') return false;
  uint64_t size = 0;
  std::memcpy(&size, head.data(), sizeof(size));
  return size < (uint64_t{1} << 30) && (head[9] == '"' || head[9] == '}');
}

// A ModelProto: ir_version, then usually the producer, field 2.
bool IsOnnx(absl::string_view head) {
  return head.size() > 8 && head[0] == '\x08' && head[1] > 0 && head[1] < 32 && head[2] == '\x12' &&
         static_cast<size_t>(head[3]) < 64;
}

// The first entry whose name ends so, or null.
const ZipEntry* FindEnding(const ZipReader& zip, absl::string_view ending) {
  for (const ZipEntry& entry : zip.entries()) {
    if (absl::EndsWith(entry.name, ending)) return &entry;
  }
  return nullptr;
}

}  // namespace

std::string DescribeForeignFile(absl::string_view head) {
  if (IsSafetensors(head))
    return "a safetensors file: it holds values, and no graph; --inputs takes it";
  if (IsOnnx(head)) {
    return absl::StrCat("an ONNX model, which graphnet does not read; ", kTrace);
  }
  if (absl::StartsWith(head, "\x80\x02") || absl::StartsWith(head, "\x80\x03") ||
      absl::StartsWith(head, "\x80\x04") || absl::StartsWith(head, "\x80\x05")) {
    return absl::StrCat("a pickle, which is never executed; ", kTrace);
  }
  if (absl::StartsWith(head, "GGUF")) return "a GGUF file: it holds weights, and no graph";
  if (absl::StartsWith(head, "\x89HDF")) return "an HDF5 file, which graphnet does not read";
  return "";
}

std::string DescribeForeignArchive(absl::string_view bytes) {
  const absl::StatusOr<ZipReader> zip = ZipReader::Open(bytes, "");
  if (!zip.ok()) return "";
  const ZipEntry* data = FindEnding(*zip, "data.pkl");
  if (data == nullptr || FindEnding(*zip, "constants.pkl") != nullptr) return "";
  const absl::StatusOr<std::string> pickle = zip->Read(*data);
  if (!pickle.ok()) return "";
  if (absl::StrContains(*pickle, "torch.fx")) {
    return absl::StrCat("a torch.fx.GraphModule that torch.save pickled; ", kTrace);
  }
  if (absl::StrContains(*pickle, "torch.nn.modules") || absl::StrContains(*pickle, "_parameters")) {
    return absl::StrCat("a module that torch.save pickled; ", kTrace);
  }
  return absl::StrCat(
      "tensors that torch.save wrote, such as a state_dict: it holds no graph. Load it into its "
      "module; ",
      kTrace);
}

}  // namespace graphnet
