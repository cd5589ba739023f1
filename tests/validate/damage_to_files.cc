// Damage to the bytes of the files on disk.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "tests/validate/damage.h"

namespace graphnet {

namespace {

std::vector<std::string> FilesBelow(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

int PieceOfPath(const std::string& folder, const std::string& path) {
  const std::string name = std::filesystem::path(path).lexically_relative(folder).begin()->string();
  const size_t at = name.rfind('_');
  if (at == std::string::npos || !absl::StartsWith(name, "subgraph_")) return -1;
  return std::atoi(name.c_str() + at + 1);
}

using BytesChange = std::function<std::string(Random& random, std::string* bytes)>;

MutationKind OnFile(const std::string& name, const std::string& only, const BytesChange& change) {
  return {name, nullptr, [only, change](Random& random, const std::string& folder) -> Damage {
            std::vector<std::string> files = FilesBelow(folder);
            std::erase_if(files, [&](const std::string& path) {
              return !absl::StrContains(path, only) || std::filesystem::file_size(path) == 0;
            });
            if (files.empty()) return {};
            const std::string path = Any(random, files);
            std::string bytes = ReadFile(path, size_t{1} << 32).value();
            const std::string what = change(random, &bytes);
            if (what.empty()) return {};
            if (!WriteFileAtomic(path, bytes).ok()) return {};
            return {absl::StrCat(what, " of ", BaseName(path)), PieceOfPath(folder, path)};
          }};
}

std::string FlipBit(Random& random, std::string* bytes) {
  const size_t at = Below(random, bytes->size());
  (*bytes)[at] = static_cast<char>((*bytes)[at] ^ (1 << Below(random, 8)));
  return absl::StrCat("flipped a bit of byte ", at);
}

std::string Truncate(Random& random, std::string* bytes) {
  bytes->resize(Below(random, bytes->size()));
  return absl::StrCat("cut after ", bytes->size(), " bytes");
}

}  // namespace

std::vector<MutationKind> FileDamage() {
  std::vector<MutationKind> kinds;
  const auto add = [&](MutationKind kind) { kinds.push_back(std::move(kind)); };
  add(OnFile("file truncated", "", Truncate));
  add(OnFile("piece truncated", "subgraph_", Truncate));
  add(OnFile("configuration truncated", "decompose_config", Truncate));
  add(OnFile("bit flipped", "", FlipBit));
  add(OnFile("bit flipped in a graph", "subgraph_", FlipBit));
  add(OnFile("bit flipped in the configuration", "decompose_config", FlipBit));
  add(OnFile("file emptied", "subgraph_", [](Random&, std::string* bytes) -> std::string {
    bytes->clear();
    return "emptied";
  }));
  add({"file deleted", nullptr, [](Random& random, const std::string& folder) -> Damage {
         std::vector<std::string> files = FilesBelow(folder);
         const std::string path = Any(random, files);
         std::filesystem::remove(path);
         return {absl::StrCat("deleted ", BaseName(path)), PieceOfPath(folder, path)};
       }});
  return kinds;
}

}  // namespace graphnet
