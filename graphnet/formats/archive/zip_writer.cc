#include "graphnet/formats/archive/zip_writer.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

namespace graphnet {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint32_t kLocal = 0x04034b50;
constexpr uint32_t kCentral = 0x02014b50;
constexpr uint32_t kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50;
constexpr uint32_t kLocator64 = 0x07064b50;
constexpr uint16_t kZip64Field = 1;
constexpr uint16_t kPaddingField = 0x4246;  // "FB", as PyTorch pads
constexpr uint16_t kDate = 0x0021;          // 1980-01-01
constexpr uint32_t kMax32 = 0xffffffff;

template <typename T>
void Put(T value, std::string* out) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    *out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
}

bool Is32(uint64_t value) { return value < kMax32; }
uint32_t Clip(uint64_t value) { return Is32(value) ? static_cast<uint32_t>(value) : kMax32; }

// Returns the checksum of `content` after bytes whose checksum is `before`.
uint32_t Crc(absl::string_view content, uint32_t before) {
  constexpr size_t kStep = size_t{1} << 30;
  uLong crc = before;
  while (!content.empty()) {
    const absl::string_view part = content.substr(0, kStep);
    crc = crc32(crc, reinterpret_cast<const Bytef*>(part.data()), static_cast<uInt>(part.size()));
    content.remove_prefix(part.size());
  }
  return static_cast<uint32_t>(crc);
}

// Appends the fields, up to the length of the name, that local headers and directory headers share.
void PutHeader(uint64_t size, uint32_t crc, size_t name, bool is_64, std::string* out) {
  Put<uint16_t>(is_64 ? 45 : 20, out);  // version that is needed
  Put<uint16_t>(0x0800, out);           // names are UTF-8
  Put<uint16_t>(0, out);                // stored
  Put<uint16_t>(0, out);                // time
  Put<uint16_t>(kDate, out);
  Put<uint32_t>(crc, out);
  Put<uint32_t>(Clip(size), out);
  Put<uint32_t>(Clip(size), out);
  Put<uint16_t>(static_cast<uint16_t>(name), out);
}

}  // namespace

ZipWriter::ZipWriter(std::string* bytes)
    : ZipWriter([bytes](absl::string_view part) {
        bytes->append(part.data(), part.size());
        return absl::OkStatus();
      }) {}

void ZipWriter::Send(absl::string_view bytes) {
  sent_ += bytes.size();
  if (status_.ok()) status_ = sink_(bytes);
}

void ZipWriter::Add(absl::string_view name, absl::string_view content) {
  Add(name, {SharedBytes(nullptr, content)});
}

void ZipWriter::Add(absl::string_view name, absl::Span<const SharedBytes> parts) {
  if (!status_.ok()) return;
  Entry entry{std::string(name), sent_, 0, 0};
  for (const SharedBytes& part : parts) {
    entry.size += part->size();
    entry.crc = Crc(*part, entry.crc);
    part.Release();
  }
  std::string extra;
  if (!Is32(entry.size)) {
    Put<uint16_t>(kZip64Field, &extra);
    Put<uint16_t>(16, &extra);
    Put<uint64_t>(entry.size, &extra);
    Put<uint64_t>(entry.size, &extra);
  }
  const uint64_t unpadded = entry.offset + 30 + name.size() + extra.size() + 4;
  const uint64_t padding = (kAlignment - unpadded % kAlignment) % kAlignment;
  Put<uint16_t>(kPaddingField, &extra);
  Put<uint16_t>(static_cast<uint16_t>(padding), &extra);
  extra.append(padding, 'Z');
  std::string header;
  Put<uint32_t>(kLocal, &header);
  PutHeader(entry.size, entry.crc, name.size(), !Is32(entry.size), &header);
  Put<uint16_t>(static_cast<uint16_t>(extra.size()), &header);
  header.append(name.data(), name.size());
  header += extra;
  Send(header);
  for (const SharedBytes& part : parts) {
    Send(*part);
    part.Release();
  }
  entries_.push_back(std::move(entry));
}

absl::Status ZipWriter::Finish() {
  const uint64_t begin = sent_;
  std::string bytes;
  for (const Entry& entry : entries_) {
    std::string fields;
    if (!Is32(entry.size)) {
      Put<uint64_t>(entry.size, &fields);
      Put<uint64_t>(entry.size, &fields);
    }
    if (!Is32(entry.offset)) Put<uint64_t>(entry.offset, &fields);
    std::string extra;
    if (!fields.empty()) {
      Put<uint16_t>(kZip64Field, &extra);
      Put<uint16_t>(static_cast<uint16_t>(fields.size()), &extra);
      extra += fields;
    }
    Put<uint32_t>(kCentral, &bytes);
    Put<uint16_t>(fields.empty() ? 20 : 45, &bytes);  // version that made it
    PutHeader(entry.size, entry.crc, entry.name.size(), !fields.empty(), &bytes);
    Put<uint16_t>(static_cast<uint16_t>(extra.size()), &bytes);
    Put<uint16_t>(0, &bytes);  // comment
    Put<uint16_t>(0, &bytes);  // disk
    Put<uint16_t>(0, &bytes);  // internal attributes
    Put<uint32_t>(0, &bytes);  // external attributes
    Put<uint32_t>(Clip(entry.offset), &bytes);
    bytes += entry.name;
    bytes += extra;
  }
  const uint64_t end = begin + bytes.size();
  const uint64_t count = entries_.size();
  if (!Is32(begin) || !Is32(end - begin) || count >= 0xffff) {
    Put<uint32_t>(kEnd64, &bytes);
    Put<uint64_t>(44, &bytes);  // bytes in the rest of the record
    Put<uint16_t>(45, &bytes);
    Put<uint16_t>(45, &bytes);
    Put<uint32_t>(0, &bytes);
    Put<uint32_t>(0, &bytes);
    Put<uint64_t>(count, &bytes);
    Put<uint64_t>(count, &bytes);
    Put<uint64_t>(end - begin, &bytes);
    Put<uint64_t>(begin, &bytes);
    Put<uint32_t>(kLocator64, &bytes);
    Put<uint32_t>(0, &bytes);
    Put<uint64_t>(end, &bytes);
    Put<uint32_t>(1, &bytes);
  }
  const auto short_count = static_cast<uint16_t>(std::min<uint64_t>(count, 0xffff));
  Put<uint32_t>(kEnd, &bytes);
  Put<uint16_t>(0, &bytes);
  Put<uint16_t>(0, &bytes);
  Put<uint16_t>(short_count, &bytes);
  Put<uint16_t>(short_count, &bytes);
  Put<uint32_t>(Clip(end - begin), &bytes);
  Put<uint32_t>(Clip(begin), &bytes);
  Put<uint16_t>(0, &bytes);
  Send(bytes);
  return status_;
}

}  // namespace graphnet
