#include "graphnet/formats/archive/zip_reader.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/base/utf8.h"

namespace graphnet {
namespace {

// Record signatures and the sizes of the records' fixed parts.
constexpr uint32_t kLocalMagic = 0x04034b50;
constexpr uint32_t kCentralMagic = 0x02014b50;
constexpr absl::string_view kEndMark = "PK\5\6";
constexpr uint32_t kEnd64Magic = 0x06064b50;
constexpr uint32_t kLocator64Magic = 0x07064b50;
constexpr uint32_t kDescriptorMagic = 0x08074b50;
constexpr uint64_t kLocalSize = 30;
constexpr uint64_t kCentralSize = 46;
constexpr uint64_t kEndSize = 22;
constexpr uint64_t kEnd64Size = 56;
constexpr uint64_t kLocator64Size = 20;

// If a field has this value, the zip64 extra field has the true value.
constexpr uint32_t kIn64 = 0xFFFFFFFF;

// General purpose flags.
constexpr uint16_t kEncrypted = 1 << 0;
constexpr uint16_t kDeflateLevel = 3 << 1;  // says nothing about the content
constexpr uint16_t kHasDescriptor = 1 << 3;
constexpr uint16_t kUtf8Name = 1 << 11;

constexpr uint16_t kStoredMethod = 0;
constexpr uint16_t kDeflateMethod = 8;

// Deflate encodes at most 258 bytes in two bits.
constexpr uint64_t kMaxDeflateRatio = 1032;
// Weights become a little smaller, and text a few times. What is deflated by more is bounded.
constexpr uint64_t kUsualDeflateRatio = 4;

// Unix file types, in the upper half of the external attributes.
constexpr uint32_t kTypeMask = 0xF000;
constexpr uint32_t kFolderType = 0x4000;
constexpr uint32_t kFileType = 0x8000;
constexpr uint32_t kLinkType = 0xA000;

// The caller must have checked that the bytes are within the archive.
uint64_t Number(absl::string_view bytes, uint64_t offset, int width) {
  uint64_t value = 0;
  for (int i = width - 1; i >= 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[offset + i]);
  }
  return value;
}
uint16_t U16(absl::string_view bytes, uint64_t offset) {
  return static_cast<uint16_t>(Number(bytes, offset, 2));
}
uint32_t U32(absl::string_view bytes, uint64_t offset) {
  return static_cast<uint32_t>(Number(bytes, offset, 4));
}
uint64_t U64(absl::string_view bytes, uint64_t offset) { return Number(bytes, offset, 8); }

uint32_t Crc(uint32_t crc, absl::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// Finds the zip64 field in a list of extra fields. Refuses fields that say something else about name
// or content.
absl::Status ReadExtra(absl::string_view extra, absl::string_view* zip64) {
  *zip64 = absl::string_view();
  bool found = false;
  while (!extra.empty()) {
    if (extra.size() < 4) return absl::InvalidArgumentError("cut short");
    const uint16_t id = U16(extra, 0);
    const size_t size = U16(extra, 2);
    if (extra.size() - 4 < size) return absl::InvalidArgumentError("cut short");
    switch (id) {
      case 0x0001:
        if (found) return absl::InvalidArgumentError("two zip64 fields");
        found = true;
        *zip64 = extra.substr(4, size);
        break;
      case 0x7075:  // another name
      case 0x0017:  // encryption
      case 0x9901:
        return absl::InvalidArgumentError(
            absl::StrCat("kind 0x", absl::Hex(id), " is not supported"));
      default: break;  // PyTorch's padding ("FB"), times, owners
    }
    extra.remove_prefix(4 + size);
  }
  return absl::OkStatus();
}

// Returns what is wrong with a name; empty if nothing is.
absl::string_view NameProblem(absl::string_view name) {
  if (name.empty()) return "the name is empty";
  if (name.size() > kMaxNameBytes) return "the name is too long";
  if (name.find('\0') != name.npos) return "the name has a NUL";
  if (name.find('\\') != name.npos) return "the name has a backslash";
  if (!IsUtf8(name)) return "the name is not UTF-8";
  if (name.front() == '/') return "the name is an absolute path";
  absl::string_view path = name;
  if (path.back() == '/') path.remove_suffix(1);
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty()) return "the name has an empty component";
    if (part == "." || part == "..") return "the name has a component . or ..";
  }
  return "";
}

}  // namespace

absl::Status ZipReader::Error(uint64_t offset, absl::string_view message) const {
  return Annotate(absl::InvalidArgumentError(absl::StrCat("byte ", offset, ": ", message)), name_);
}

absl::Status ZipReader::Error(const ZipEntry& entry, absl::string_view message) const {
  return Annotate(Annotate(absl::InvalidArgumentError(message), entry.name), name_);
}

absl::StatusOr<ZipReader> ZipReader::Open(absl::string_view bytes, std::string name_for_messages) {
  ZipReader reader(bytes, std::move(name_for_messages));
  ASSIGN_OR_RETURN(const Directory directory, reader.FindDirectory());
  ASSIGN_OR_RETURN(std::vector<Header> headers, reader.ReadDirectory(directory));
  // The records must lie side by side. So there is no room for a record that the directory does not
  // list, and no byte belongs to two entries.
  std::sort(headers.begin(), headers.end(),
            [](const Header& a, const Header& b) { return a.offset < b.offset; });
  if ((headers.empty() ? directory.begin : headers.front().offset) != 0) {
    return reader.Error(0, "there are bytes before the first entry");
  }
  for (size_t i = 0; i < headers.size(); ++i) {
    const uint64_t next = i + 1 < headers.size() ? headers[i + 1].offset : directory.begin;
    RETURN_IF_ERROR(reader.CheckLocal(headers[i], next));
  }
  return reader;
}

absl::StatusOr<ZipReader::Directory> ZipReader::FindDirectory() const {
  // A comment of at most 65535 bytes may follow the end record. Some readers take the last record
  // that they find, others the first one that fits its comment. So the last mark of a record must be
  // that of the one that ends the file.
  const uint64_t size = bytes_.size();
  const uint64_t tail = size - std::min<uint64_t>(size, kEndSize + 0xFFFF);
  const size_t found = bytes_.substr(tail).rfind(kEndMark);
  const uint64_t end = tail + found;
  if (found == absl::string_view::npos || size - end < kEndSize ||
      size - end - kEndSize != U16(bytes_, end + 20)) {
    return Error(size,
                 "not a zip archive, cut short, or followed by other bytes: no "
                 "end record closes the file");
  }
  if (U16(bytes_, end + 4) != 0 || U16(bytes_, end + 6) != 0) {
    return Error(end, "the archive spans several disks");
  }
  if (U16(bytes_, end + 8) != U16(bytes_, end + 10)) {
    return Error(end, "the two entry counts differ");
  }
  Directory directory;
  directory.entries = U16(bytes_, end + 10);
  uint64_t directory_size = U32(bytes_, end + 12);
  directory.begin = U32(bytes_, end + 16);
  directory.end = end;

  // Some readers always look for the zip64 records, others only if a field above says so. So if the
  // archive has these records, they must agree with the fields above.
  if (end >= kLocator64Size + kEnd64Size && U32(bytes_, end - kLocator64Size) == kLocator64Magic) {
    const uint64_t locator = end - kLocator64Size;
    const uint64_t end64 = locator - kEnd64Size;
    if (U32(bytes_, locator + 4) != 0 || U64(bytes_, locator + 8) != end64 ||
        U32(bytes_, locator + 16) != 1) {
      return Error(locator, "the zip64 locator does not fit");
    }
    if (U32(bytes_, end64) != kEnd64Magic || U64(bytes_, end64 + 4) != kEnd64Size - 12 ||
        U32(bytes_, end64 + 16) != 0 || U32(bytes_, end64 + 20) != 0 ||
        U64(bytes_, end64 + 24) != U64(bytes_, end64 + 32)) {
      return Error(end64, "the zip64 end record does not fit");
    }
    const uint64_t entries64 = U64(bytes_, end64 + 32);
    const uint64_t size64 = U64(bytes_, end64 + 40);
    const uint64_t begin64 = U64(bytes_, end64 + 48);
    if ((directory.entries != 0xFFFF && directory.entries != entries64) ||
        (directory_size != kIn64 && directory_size != size64) ||
        (directory.begin != kIn64 && directory.begin != begin64)) {
      return Error(end64, "the two end records differ");
    }
    directory.entries = entries64;
    directory_size = size64;
    directory.begin = begin64;
    directory.end = end64;
  }
  if (directory.entries > kMaxArchiveEntries) {
    return Error(directory.end, absl::StrCat("more than ", kMaxArchiveEntries, " entries"));
  }
  if (directory.begin > directory.end || directory.end - directory.begin != directory_size) {
    return Error(directory.end, "the central directory does not end at the end record");
  }
  return directory;
}

absl::StatusOr<std::vector<ZipReader::Header>> ZipReader::ReadDirectory(
    const Directory& directory) {
  std::vector<Header> headers;
  uint64_t total = 0;
  uint64_t at = directory.begin;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    if (directory.end - at < kCentralSize || U32(bytes_, at) != kCentralMagic) {
      return Error(at, "a header of the central directory is missing");
    }
    const uint64_t name_size = U16(bytes_, at + 28);
    const uint64_t extra_size = U16(bytes_, at + 30);
    const uint64_t comment_size = U16(bytes_, at + 32);
    if (directory.end - at - kCentralSize < name_size + extra_size + comment_size) {
      return Error(at, "a header of the central directory is cut short");
    }
    ZipEntry entry;
    entry.name = bytes_.substr(at + kCentralSize, name_size);
    if (absl::string_view problem = NameProblem(entry.name); !problem.empty()) {
      return Error(at, absl::StrCat(problem, ": ", Printable(entry.name)));
    }
    if (U16(bytes_, at + 34) != 0) return Error(entry, "is on another disk");

    Header header;
    header.index = entries_.size();
    header.flags = U16(bytes_, at + 8);
    if (header.flags & kEncrypted) return Error(entry, "is encrypted");
    if (header.flags & ~(kDeflateLevel | kHasDescriptor | kUtf8Name)) {
      return Error(entry, "has unsupported flags");
    }
    // Without the flag, the meaning of bytes above 127 depends on the writer's locale.
    if (!(header.flags & kUtf8Name) &&
        std::any_of(entry.name.begin(), entry.name.end(), [](char c) { return c & 0x80; })) {
      return Error(entry, "the name is not marked as UTF-8");
    }
    const uint16_t method = U16(bytes_, at + 10);
    if (method != kStoredMethod && method != kDeflateMethod) {
      return Error(entry, absl::StrCat("has compression method ", method,
                                       "; only stored (0) and deflate (8) are "
                                       "supported"));
    }
    entry.deflated = method == kDeflateMethod;
    entry.crc = U32(bytes_, at + 16);
    entry.compressed_size = U32(bytes_, at + 20);
    entry.size = U32(bytes_, at + 24);
    header.offset = U32(bytes_, at + 42);

    const absl::string_view extra = bytes_.substr(at + kCentralSize + name_size, extra_size);
    absl::string_view zip64;
    if (absl::Status status = ReadExtra(extra, &zip64); !status.ok()) {
      return Error(entry, absl::StrCat("extra field: ", status.message()));
    }
    for (uint64_t* field : {&entry.size, &entry.compressed_size, &header.offset}) {
      if (*field != kIn64) continue;
      if (zip64.size() < 8) return Error(entry, "a zip64 size is missing");
      *field = U64(zip64, 0);
      zip64.remove_prefix(8);
    }
    if (!zip64.empty()) return Error(entry, "has an unneeded zip64 size");

    const uint32_t type = U32(bytes_, at + 38) >> 16 & kTypeMask;
    if (type == kLinkType) return Error(entry, "is a symbolic link");
    if (type != 0 && type != (entry.is_folder() ? kFolderType : kFileType)) {
      return Error(entry, "is neither a file nor a folder");
    }
    if (entry.is_folder() && entry.size != 0) {
      return Error(entry, "is a folder with data");
    }
    if (!entry.deflated && entry.size != entry.compressed_size) {
      return Error(entry, "is stored with two different sizes");
    }
    if (entry.compressed_size > bytes_.size()) {
      return Error(entry, "is larger than the file");
    }
    if (entry.deflated) {
      if (entry.size > kMaxDeflatedRecordBytes &&
          entry.size / kUsualDeflateRatio > entry.compressed_size) {
        return Error(
            entry, absl::StrCat("is larger than ", kMaxDeflatedRecordBytes,
                                " bytes and deflated by more than ", kUsualDeflateRatio, " times"));
      }
      if (entry.size / kMaxDeflateRatio > entry.compressed_size) {
        return Error(entry, "declares more bytes than it can inflate to");
      }
    }
    total +=
        entry.size;  // Does not overflow: a size is at most 4 times that of the file, or 256 MiB.
    if (total > kMaxArchiveBytes) {
      return Error(entry, absl::StrCat("the contents exceed ", kMaxArchiveBytes, " bytes"));
    }
    if (!index_.emplace(entry.name, entries_.size()).second) {
      return Error(entry, "occurs twice");
    }
    headers.push_back(header);
    entries_.push_back(entry);
    at += kCentralSize + name_size + extra_size + comment_size;
  }
  if (at != directory.end) {
    return Error(at, "the central directory has bytes that are not a header");
  }
  return headers;
}

absl::Status ZipReader::CheckLocal(const Header& header, uint64_t next) {
  ZipEntry& entry = entries_[header.index];
  const uint64_t at = header.offset;
  if (at > next || next - at < kLocalSize || next > bytes_.size()) {
    return Error(entry, "overlaps another entry");
  }
  if (U32(bytes_, at) != kLocalMagic) {
    return Error(entry, absl::StrCat("has no local header at byte ", at));
  }
  const uint64_t name_size = U16(bytes_, at + 26);
  const uint64_t extra_size = U16(bytes_, at + 28);
  const uint64_t room = next - at - kLocalSize;
  if (room < name_size + extra_size || room - name_size - extra_size < entry.compressed_size) {
    return Error(entry, "overlaps another entry");
  }
  const uint16_t method = entry.deflated ? kDeflateMethod : kStoredMethod;
  if (bytes_.substr(at + kLocalSize, name_size) != entry.name ||
      U16(bytes_, at + 6) != header.flags || U16(bytes_, at + 8) != method) {
    return Error(entry, "local header and central directory differ");
  }

  // With a descriptor, the CRC and sizes in the local header may be zero.
  const bool described = header.flags & kHasDescriptor;
  absl::string_view zip64;
  const absl::string_view extra = bytes_.substr(at + kLocalSize + name_size, extra_size);
  if (absl::Status status = ReadExtra(extra, &zip64); !status.ok()) {
    return Error(entry, absl::StrCat("local extra field: ", status.message()));
  }
  const uint32_t crc = U32(bytes_, at + 14);
  uint64_t compressed_size = U32(bytes_, at + 18);
  uint64_t size = U32(bytes_, at + 22);
  for (auto [field, right] :
       {std::pair(&size, entry.size), std::pair(&compressed_size, entry.compressed_size)}) {
    if (*field == kIn64 && zip64.size() >= 8) {
      *field = U64(zip64, 0);
      zip64.remove_prefix(8);
    }
    if (*field != right && !(described && *field == 0)) {
      return Error(entry, "local header and central directory differ in size");
    }
  }
  // PyTorch's writer leaves the sizes zero, but adds a zip64 field, even with the offset in it. So
  // each number must be right as one of the three.
  for (; !zip64.empty(); zip64.remove_prefix(8)) {
    if (zip64.size() < 8) return Error(entry, "local zip64 field: cut short");
    const uint64_t value = U64(zip64, 0);
    if (value != entry.size && value != entry.compressed_size && value != header.offset &&
        !(described && value == 0)) {
      return Error(entry, "local header and central directory differ in size");
    }
  }
  if (crc != entry.crc && !(described && crc == 0)) {
    return Error(entry, "local header and central directory differ in CRC");
  }

  entry.offset = at + kLocalSize + name_size + extra_size;
  uint64_t rest = entry.offset + entry.compressed_size;
  uint64_t rest_size = next - rest;
  if (described) {
    // A descriptor has 12 or 20 bytes, and maybe a signature before them.
    if ((rest_size == 16 || rest_size == 24) && U32(bytes_, rest) == kDescriptorMagic) {
      rest += 4;
      rest_size -= 4;
    }
    const int width = rest_size == 20 ? 8 : 4;
    if ((rest_size != 12 && rest_size != 20) || U32(bytes_, rest) != entry.crc ||
        Number(bytes_, rest + 4, width) != entry.compressed_size ||
        Number(bytes_, rest + 4 + width, width) != entry.size) {
      return Error(entry, "data descriptor and central directory differ");
    }
  } else if (rest_size != 0) {
    return Error(rest, "there are bytes that belong to no entry");
  }
  return absl::OkStatus();
}

const ZipEntry* ZipReader::Find(absl::string_view name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &entries_[it->second];
}

absl::Status ZipReader::Inflate(const ZipEntry& entry,
                                absl::FunctionRef<void(absl::string_view)> append) const {
  const absl::string_view input = Stored(entry);
  z_stream stream = {};
  // A negative value means a bare deflate stream, without zlib's header.
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    return absl::ResourceExhaustedError("zlib has no memory");
  }
  struct Ender {
    z_stream* stream;
    ~Ender() { inflateEnd(stream); }
  } ender{&stream};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
  uint64_t unread = input.size();  // bytes that zlib, which counts in 32 bits, does not know of yet

  std::array<char, 64 << 10> buffer;
  uint64_t size = 0;
  uint32_t crc = 0;
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = buffer.size();
    if (stream.avail_in == 0) {
      stream.avail_in = static_cast<uInt>(std::min<uint64_t>(unread, 1 << 30));
      unread -= stream.avail_in;
    }
    code = inflate(&stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END) {
      return Error(entry, "the deflated data is damaged or cut short");
    }
    const absl::string_view output(buffer.data(), buffer.size() - stream.avail_out);
    size += output.size();
    if (size > entry.size) {
      return Error(entry,
                   absl::StrCat("inflates to more than the declared ", entry.size, " bytes"));
    }
    crc = Crc(crc, output);
    append(output);
  }
  if (stream.avail_in != 0 || unread != 0) {
    return Error(entry, "the deflated data is followed by other bytes");
  }
  if (size != entry.size) {
    return Error(entry,
                 absl::StrCat("inflates to ", size, " bytes, not the ", entry.size, " declared"));
  }
  if (crc != entry.crc) return Error(entry, "wrong CRC");
  return absl::OkStatus();
}

absl::Status ZipReader::CheckContent(const ZipEntry& entry) const {
  if (entry.deflated) return Inflate(entry, [](absl::string_view) {});
  if (Crc(0, Stored(entry)) != entry.crc) return Error(entry, "wrong CRC");
  return absl::OkStatus();
}

absl::StatusOr<std::string> ZipReader::Read(const ZipEntry& entry) const {
  if (!entry.deflated) {
    ASSIGN_OR_RETURN(const absl::string_view content, View(entry));
    return std::string(content);
  }
  std::string content;
  content.reserve(entry.size);
  RETURN_IF_ERROR(
      Inflate(entry, [&](absl::string_view part) { content.append(part.data(), part.size()); }));
  return content;
}

absl::StatusOr<absl::string_view> ZipReader::View(const ZipEntry& entry) const {
  if (entry.deflated) return Error(entry, "is deflated, but must be stored");
  if (!verified_) RETURN_IF_ERROR(CheckContent(entry));
  return Stored(entry);
}

absl::StatusOr<absl::string_view> ZipReader::ViewUnchecked(const ZipEntry& entry) const {
  if (entry.deflated) return Error(entry, "is deflated, but must be stored");
  return Stored(entry);
}

absl::StatusOr<uint64_t> ZipReader::InflatedBytes() const {
  uint64_t size = 0;
  for (const ZipEntry& entry : entries_) {
    if (!entry.deflated) continue;
    size += entry.size;
    if (size > std::max(kMaxInflatedBytes, kUsualDeflateRatio * bytes_.size())) {
      return Error(
          entry, absl::StrCat("the deflated entries take more than ", kMaxInflatedBytes,
                              " bytes, and more than ", kUsualDeflateRatio, " times the archive"));
    }
  }
  return size;
}

absl::Status ZipReader::VerifyAll() {
  for (const ZipEntry& entry : entries_) {
    RETURN_IF_ERROR(CheckContent(entry));
  }
  verified_ = true;
  return absl::OkStatus();
}

}  // namespace graphnet
