#include "graphnet/formats/protobuf/sample_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/protobuf/envelope.h"
#include "graphnet/formats/protobuf/sample_proto.h"

namespace graphnet {
namespace {

using proto_internal::Crc32;

// Bytes that are read at a time, so that a false size takes no memory.
constexpr size_t kChunk = size_t{1} << 20;

std::string LittleEndian(uint64_t value, size_t bytes) {
  std::string out;
  for (size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
  return out;
}

uint64_t FromLittleEndian(absl::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

}  // namespace

absl::Status SampleWriter::Put(absl::string_view bytes) {
  out_->write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out_->good()) return absl::UnavailableError("the stream of samples cannot be written");
  return absl::OkStatus();
}

absl::Status SampleWriter::Write(const Sample& sample) {
  ASSIGN_OR_RETURN(const std::string bytes, SerializeSample(sample));
  return WriteSerialized(bytes);
}

absl::Status SampleWriter::WriteSerialized(absl::string_view bytes) {
  if (finished_) return absl::FailedPreconditionError("the stream of samples is finished");
  RETURN_IF_ERROR(proto_internal::Unwrap(bytes).status());
  std::string size;
  for (uint64_t rest = bytes.size();; rest >>= 7) {
    size.push_back(static_cast<char>((rest & 0x7f) | (rest >= 0x80 ? 0x80 : 0)));
    if (rest < 0x80) break;
  }
  RETURN_IF_ERROR(Put(size));
  RETURN_IF_ERROR(Put(bytes));
  checksum_ = Crc32(LittleEndian(proto_internal::EnvelopeChecksum(bytes), 4), checksum_);
  ++num_samples_;
  return absl::OkStatus();
}

absl::Status SampleWriter::Finish() {
  if (finished_) return absl::FailedPreconditionError("the stream of samples is finished");
  finished_ = true;
  const std::string count = LittleEndian(num_samples_, 8);
  RETURN_IF_ERROR(Put(
      absl::StrCat(absl::string_view("\0", 1), count, LittleEndian(Crc32(count, checksum_), 4))));
  out_->flush();
  return out_->good() ? absl::OkStatus()
                      : absl::UnavailableError("the stream of samples cannot be written");
}

absl::Status SampleReader::Fail(absl::string_view what) {
  failed_ = true;
  return ErrorAt(name_, 0, 0, absl::StrCat("sample ", num_samples_, ": ", what));
}

bool SampleReader::ReadBytes(size_t count, std::string* out) {
  out->clear();
  while (out->size() < count) {
    const size_t had = out->size();
    const size_t more = std::min(count - had, kChunk);
    out->resize(had + more);
    in_->read(out->data() + had, static_cast<std::streamsize>(more));
    if (static_cast<size_t>(in_->gcount()) != more) return false;
  }
  return true;
}

absl::StatusOr<std::optional<std::string>> SampleReader::ReadEnd() {
  std::string tail;
  if (!ReadBytes(12, &tail)) return Fail("truncated: the end of the stream is incomplete");
  const absl::string_view count = absl::string_view(tail).substr(0, 8);
  if (FromLittleEndian(count) != num_samples_) {
    return Fail(absl::StrCat("damaged: ", FromLittleEndian(count), " samples were written"));
  }
  if (FromLittleEndian(absl::string_view(tail).substr(8)) != Crc32(count, checksum_)) {
    return Fail("damaged: the checksum of the stream is wrong");
  }
  if (in_->peek() != std::istream::traits_type::eof()) return Fail("damaged: bytes after the end");
  at_end_ = true;
  return std::optional<std::string>();
}

absl::StatusOr<std::optional<std::string>> SampleReader::NextSerialized() {
  if (failed_) return absl::FailedPreconditionError("the stream of samples has failed before");
  if (at_end_) return std::optional<std::string>();
  uint64_t size = 0;
  for (int shift = 0;; shift += 7) {
    const int byte = in_->get();
    if (byte == std::istream::traits_type::eof()) return Fail("truncated: the stream has no end");
    size |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
    if (shift == 28) return Fail("damaged: no size of a sample");
  }
  if (size == 0) return ReadEnd();
  if (size > kMaxProtoBytes) return Fail(absl::StrCat("a size of ", size, " bytes is too large"));
  std::string bytes;
  if (!ReadBytes(size, &bytes)) return Fail("truncated: the stream ends within it");
  const absl::Status status = proto_internal::Unwrap(bytes).status();
  if (!status.ok()) return Fail(status.message());
  checksum_ = Crc32(LittleEndian(proto_internal::EnvelopeChecksum(bytes), 4), checksum_);
  ++num_samples_;
  return std::optional<std::string>(std::move(bytes));
}

absl::StatusOr<std::optional<Sample>> SampleReader::Next() {
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes, NextSerialized());
  if (!bytes) return std::optional<Sample>();
  absl::StatusOr<Sample> sample =
      DeserializeSample(*bytes, absl::StrCat(name_, ": sample ", num_samples_ - 1));
  if (!sample.ok()) {
    failed_ = true;
    return sample.status();
  }
  return std::optional<Sample>(*std::move(sample));
}

bool LooksLikeSampleStream(absl::string_view bytes) {
  for (size_t i = 0; i < std::min<size_t>(bytes.size(), 5); ++i) {
    if (static_cast<unsigned char>(bytes[i]) >= 0x80) continue;
    return (i > 0 || bytes[0] != 0) && proto_internal::HasMagic(bytes.substr(i + 1));
  }
  return false;
}

}  // namespace graphnet
