#include "graphnet/formats/archive/stored_archive.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "graphnet/base/status.h"
#include "graphnet/formats/archive/zip_reader.h"
#include "graphnet/formats/archive/zip_writer.h"

namespace graphnet {

absl::StatusOr<SharedBytes> StoredArchive(const SharedBytes& archive,
                                          const std::string& name_for_messages) {
  ASSIGN_OR_RETURN(const ZipReader zip, ZipReader::Open(*archive, name_for_messages));
  ASSIGN_OR_RETURN(const uint64_t inflated, zip.InflatedBytes());
  bool is_deflated = inflated > 0;
  for (const ZipEntry& entry : zip.entries()) is_deflated |= entry.deflated;
  if (!is_deflated) return archive;

  std::string bytes;
  ZipWriter writer(&bytes);
  for (const ZipEntry& entry : zip.entries()) {
    if (entry.is_folder()) continue;
    if (entry.deflated) {
      ASSIGN_OR_RETURN(const std::string content, zip.Read(entry));
      writer.Add(entry.name, content);
    } else {
      ASSIGN_OR_RETURN(const absl::string_view content, zip.View(entry));
      writer.Add(entry.name, content);
    }
  }
  RETURN_IF_ERROR(writer.Finish());
  return SharedBytes(std::make_shared<const std::string>(std::move(bytes)));
}

}  // namespace graphnet
