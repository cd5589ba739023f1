#include "graphnet/formats/corpus/corpus_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

constexpr uint64_t kMaxAnswerBytes = uint64_t{1} << 30;

// Returns the size of a text as 8 bytes in little-endian order.
std::string SizeBytes(absl::string_view text) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes.push_back(static_cast<char>(static_cast<uint64_t>(text.size()) >> (8 * i)));
  return bytes;
}

}  // namespace

absl::Status CorpusWriter::Named(const absl::Status& status) const {
  return Annotate(status, Printable(corpus_, 1000));
}

absl::StatusOr<std::unique_ptr<CorpusWriter>> CorpusWriter::Open(const std::string& corpus) {
  // A commit may take any time.
  ASSIGN_OR_RETURN(std::unique_ptr<CorpusProcess> process,
                   CorpusProcess::Start("graphnet_ir.corpus.writing", corpus, /*max_seconds=*/0));
  std::unique_ptr<CorpusWriter> writer(new CorpusWriter(corpus, std::move(process)));
  RETURN_IF_ERROR(writer->Named(writer->process_->Receive(kMaxAnswerBytes).status()));
  return writer;
}

absl::Status CorpusWriter::Add(const CorpusOrigin& origin, absl::string_view below,
                               absl::string_view sample) {
  const std::string head = absl::StrCat(SizeBytes(origin.root), origin.root, SizeBytes(origin.path),
                                        origin.path, SizeBytes(below), below, SizeBytes(sample));
  for (const absl::string_view part : {absl::string_view(head), sample})
    RETURN_IF_ERROR(Named(process_->Send(part)));
  return absl::OkStatus();
}

absl::StatusOr<CorpusAddition> CorpusWriter::Finish() {
  process_->EndSending();
  const absl::StatusOr<std::string> answer = process_->Receive(kMaxAnswerBytes);
  RETURN_IF_ERROR(Named(answer.status()));
  std::vector<std::string> lines = absl::StrSplit(*answer, '\n');
  lines.resize(std::max<size_t>(lines.size(), 2));
  CorpusAddition done = {.json = lines[0], .summary = lines[1]};
  done.notes.assign(lines.begin() + 2, lines.end());
  done.is_complete = absl::c_none_of(
      done.notes, [](const std::string& note) { return absl::StartsWith(note, "refused "); });
  return done;
}

}  // namespace graphnet
