#include "graphnet/formats/corpus/corpus_reader.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/corpus/corpus_process.h"

namespace graphnet {
namespace {

constexpr int kMaxSeconds = 300;  // for one answer
constexpr uint64_t kMaxListBytes = uint64_t{1} << 30;

// The processes that read corpora, by path.
class Readers {
 public:
  static Readers& Get() {
    static auto* readers = new Readers;
    return *readers;
  }

  absl::StatusOr<std::string> Ask(const std::string& path, absl::string_view request,
                                  uint64_t max_bytes) {
    if (absl::c_any_of(request, absl::ascii_iscntrl))
      return absl::NotFoundError("there is no such graph, tag or view");
    const absl::MutexLock lock(&mutex_);
    std::unique_ptr<CorpusProcess>& reader = readers_[path];
    if (reader == nullptr || reader->is_dead() || !reader->is_ours()) {
      ASSIGN_OR_RETURN(reader,
                       CorpusProcess::Start("graphnet_ir.corpus.reading", path, kMaxSeconds));
    }
    RETURN_IF_ERROR(reader->Send(absl::StrCat(request, "\n")));
    return reader->Receive(max_bytes);
  }

 private:
  absl::Mutex mutex_;
  std::map<std::string, std::unique_ptr<CorpusProcess>> readers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

bool IsCorpusFolder(const std::string& path) {
  const std::string manifest = JoinPath(path, "corpus.json");
  if (!FileExists(manifest) || IsFolder(manifest)) return false;
  const std::array<absl::string_view, 3> tables = {"graphs", "sources", "jsons"};
  return absl::c_any_of(tables, [&](absl::string_view table) {
    return IsFolder(JoinPath(path, absl::StrCat(table, ".lance")));
  });
}

absl::StatusOr<std::vector<std::string>> ListCorpus(const std::string& path,
                                                    const std::string& selection) {
  ASSIGN_OR_RETURN(const std::string answer,
                   Readers::Get().Ask(path, absl::StrCat("list ", selection), kMaxListBytes));
  return absl::StrSplit(answer, '\n', absl::SkipEmpty());
}

absl::StatusOr<std::string> ReadCorpusGraph(const std::string& path, const std::string& selection,
                                            const std::string& graph, bool weights) {
  return Readers::Get().Ask(
      path, absl::StrCat(weights ? "weights " : "graph ", selection, "/", graph), kMaxProtoBytes);
}

}  // namespace graphnet
