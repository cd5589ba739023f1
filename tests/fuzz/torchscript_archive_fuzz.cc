// Checks bytes as a TorchScript archive. The input is data.pkl, constants.pkl, code/__torch__.py
// and its .debug_pkl, joined by lines of "####"; the checksums of the archive are computed. The
// archive check refuses it with one line or accepts it, and gives the same answer a second time.
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/check.h"
#include "graphnet/formats/torchscript/archive_check.h"

namespace {

void Append(std::string* out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

// A zip archive of stored entries.
std::string Zip(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string archive, directory;
  for (const auto& [name, content] : entries) {
    const size_t offset = archive.size();
    std::string header;      // the common part of the local header and the directory
    Append(&header, 20, 2);  // version needed
    header.append(8, '\0');  // flags, method, time, date
    Append(&header, crc32(0, reinterpret_cast<const Bytef*>(content.data()), content.size()), 4);
    Append(&header, content.size(), 4);
    Append(&header, content.size(), 4);
    Append(&header, name.size(), 2);
    Append(&header, 0, 2);  // extra field
    absl::StrAppend(&archive, absl::string_view("PK\3\4", 4), header, name, content);
    absl::StrAppend(&directory, absl::string_view("PK\1\2\24\0", 6), header);
    directory.append(10, '\0');  // comment, disk, attributes
    Append(&directory, offset, 4);
    directory += name;
  }
  const size_t offset = archive.size();
  absl::StrAppend(&archive, directory, absl::string_view("PK\5\6\0\0\0\0", 8));
  Append(&archive, entries.size(), 2);
  Append(&archive, entries.size(), 2);
  Append(&archive, directory.size(), 4);
  Append(&archive, offset, 4);
  Append(&archive, 0, 2);
  return archive;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphnet;  // NOLINT
  std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<std::pair<std::string, std::string>> entries = {
      {"m/version", "3\n"},
      {"m/byteorder", "little"},
      {"m/data/0", std::string(64, '\0')},
      {"m/data/2", std::string(12, '\0')},
      {"m/constants/0.storage", std::string(12, '\0')}};
  for (const char* name :
       {"data.pkl", "constants.pkl", "code/__torch__.py", "code/__torch__.py.debug_pkl"}) {
    const size_t end = text.find("####\n");
    entries.emplace_back(absl::StrCat("m/", name), text.substr(0, end));
    text = end == std::string::npos ? "" : text.substr(end + 5);
  }
  if (entries.back().second.empty()) entries.pop_back();
  const std::string archive = Zip(entries);
  CHECK(LooksLikeTorchScript(archive));
  const absl::Status status = CheckTorchScriptArchive(archive, "fuzz").status();
  CHECK(status.message().find('\n') == absl::string_view::npos);
  CHECK(CheckTorchScriptArchive(archive, "fuzz").status() == status);
  return 0;
}
