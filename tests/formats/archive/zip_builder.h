// Builds zip archives for tests: valid ones, and ones with false fields.
#ifndef TESTS_FORMATS_ARCHIVE_ZIP_BUILDER_H_
#define TESTS_FORMATS_ARCHIVE_ZIP_BUILDER_H_

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace graphnet {

struct ZipFileSpec {
  std::string name;
  std::string content;
  bool deflated = false;
  // Bytes of the data descriptor: 12, 16, 20 or 24; 0 for none.
  int descriptor = 0;
  // Aligns the content to 64 bytes as PyTorch's writer does.
  bool padded = false;

  // False values that the archive has in place of the true ones.
  std::optional<uint32_t> crc;
  std::optional<uint32_t> size;
  std::optional<uint32_t> compressed_size;
  std::optional<uint16_t> method;
  std::optional<uint32_t> offset;  // offset of the local header
  uint16_t flags = 0;
  uint32_t attributes = 0;
  std::string extra;
  std::string comment;
  // Values that only the local header has.
  std::optional<std::string> local_name;
  std::optional<uint32_t> local_crc;
  std::optional<uint32_t> local_size;
  uint16_t local_flags = 0;
  std::string local_extra;
  bool unlisted = false;  // True if the central directory lacks the file.
};

struct ZipSpec {
  std::vector<ZipFileSpec> files;
  bool zip64 = false;  // adds the zip64 end record and locator
  // Bytes between the parts.
  std::string before_files;
  std::string after_files;
  std::string after_directory;
  std::string comment;
  std::string after_end;
  // False values that the end record has in place of the true ones.
  std::optional<uint32_t> directory_offset;
  std::optional<uint16_t> entries;
};

// Returns `value` in `width` bytes, little-endian.
inline std::string Bytes(uint64_t value, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

inline std::string Deflate(const std::string& content) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = content.size();
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = out.size();
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline uint32_t CrcOf(const std::string& content) {
  return crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
}

inline std::string MakeZip(const ZipSpec& spec) {
  std::string out = spec.before_files;
  std::string directory;
  uint64_t listed = 0;
  for (const ZipFileSpec& file : spec.files) {
    const std::string data = file.deflated ? Deflate(file.content) : file.content;
    const uint32_t crc = file.crc.value_or(CrcOf(file.content));
    const uint32_t size = file.size.value_or(file.content.size());
    const uint32_t compressed_size = file.compressed_size.value_or(data.size());
    const uint16_t method = file.method.value_or(file.deflated ? 8 : 0);
    const uint16_t flags = file.flags | (file.descriptor > 0 ? 8 : 0);
    const uint32_t offset = file.offset.value_or(out.size());
    const std::string& local_name = file.local_name.value_or(file.name);
    std::string local_extra = file.extra + file.local_extra;
    if (file.padded) {
      const size_t start = out.size() + 30 + local_name.size() + local_extra.size() + 4;
      const size_t padding = (64 - start % 64) % 64;
      local_extra += "FB" + Bytes(padding, 2) + std::string(padding, 'Z');
    }
    // With a descriptor, the CRC and sizes in the local header are zero.
    const bool zero = file.descriptor > 0;
    out += "PK\3\4" + Bytes(20, 2) + Bytes(flags | file.local_flags, 2) + Bytes(method, 2) +
           Bytes(0, 4) + Bytes(file.local_crc.value_or(zero ? 0 : crc), 4) +
           Bytes(zero ? 0 : compressed_size, 4) +
           Bytes(file.local_size.value_or(zero ? 0 : size), 4) + Bytes(local_name.size(), 2) +
           Bytes(local_extra.size(), 2) + local_name + local_extra + data;
    if (file.descriptor % 8 == 0 && file.descriptor > 0) out += "PK\7\b";
    if (file.descriptor > 0) {
      const int width = file.descriptor >= 20 ? 8 : 4;
      out += Bytes(crc, 4) + Bytes(compressed_size, width) + Bytes(size, width);
    }
    if (file.unlisted) continue;
    ++listed;
    directory += "PK\1\2" + Bytes(0x0314, 2) + Bytes(20, 2) + Bytes(flags, 2) + Bytes(method, 2) +
                 Bytes(0, 4) + Bytes(crc, 4) + Bytes(compressed_size, 4) + Bytes(size, 4) +
                 Bytes(file.name.size(), 2) + Bytes(file.extra.size(), 2) +
                 Bytes(file.comment.size(), 2) + Bytes(0, 4) + Bytes(file.attributes, 4) +
                 Bytes(offset, 4) + file.name + file.extra + file.comment;
  }
  out += spec.after_files;
  const uint64_t begin = out.size();
  out += directory + spec.after_directory;
  if (spec.zip64) {
    const uint64_t end64 = out.size();
    out += "PK\6\6" + Bytes(44, 8) + Bytes(45, 2) + Bytes(45, 2) + Bytes(0, 8) + Bytes(listed, 8) +
           Bytes(listed, 8) + Bytes(directory.size(), 8) + Bytes(begin, 8);
    out += "PK\6\7" + Bytes(0, 4) + Bytes(end64, 8) + Bytes(1, 4);
  }
  const uint64_t shown = std::min<uint64_t>(listed, 0xFFFF);
  out += "PK\5\6" + Bytes(0, 4) + Bytes(spec.entries.value_or(shown), 2) +
         Bytes(spec.entries.value_or(shown), 2) + Bytes(directory.size(), 4) +
         Bytes(spec.directory_offset.value_or(begin), 4) + Bytes(spec.comment.size(), 2) +
         spec.comment + spec.after_end;
  return out;
}

}  // namespace graphnet

#endif  // TESTS_FORMATS_ARCHIVE_ZIP_BUILDER_H_
