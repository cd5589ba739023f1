// A process of Python with the package graphnet_ir[corpus], which works on a corpus (docs/corpus.md):
// the engine of its tables has no library in C++. CorpusReader and CorpusWriter say what it is told.
#ifndef GRAPHNET_FORMATS_CORPUS_CORPUS_PROCESS_H_
#define GRAPHNET_FORMATS_CORPUS_CORPUS_PROCESS_H_

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// Says which Python works on corpora, and the folder in which it finds the package graphnet_ir; empty
// if it finds it by itself. Without this call, that is $GRAPHNET_PYTHON, else the Python beside the
// package that this program is part of, else python3. Call it before the first corpus is used.
void SetPythonOfCorpora(const std::string& python, const std::string& package_folder);

class CorpusProcess {
 public:
  // Starts a module of the package, such as "graphnet_ir.corpus.reading", with the path of a corpus.
  // FailedPrecondition if there is no such Python. An answer that takes longer than `max_seconds`,
  // unless that is 0, counts as the end of the process.
  static absl::StatusOr<std::unique_ptr<CorpusProcess>> Start(const std::string& module,
                                                              const std::string& corpus,
                                                              int max_seconds);
  CorpusProcess(const CorpusProcess&) = delete;
  CorpusProcess& operator=(const CorpusProcess&) = delete;
  // Without its socket, the process ends by itself.
  ~CorpusProcess() { close(socket_); }

  // Sends bytes. Fails if the process has ended.
  absl::Status Send(absl::string_view bytes);
  // Says that nothing more will be sent.
  void EndSending();
  // Returns the next answer, or the error that it says. FailedPrecondition if the process has ended
  // before any answer, which means that it lacks the package; DataLoss if it ended later.
  absl::StatusOr<std::string> Receive(uint64_t max_bytes);

  // Returns whether this process started it. A forked one has a copy of the socket.
  bool is_ours() const { return owner_ == getpid(); }
  // After this, each call fails.
  bool is_dead() const { return is_dead_; }

 private:
  CorpusProcess(int socket, pid_t pid, std::string python)
      : socket_(socket), pid_(pid), python_(std::move(python)) {}
  absl::Status ReceiveBytes(char* into, uint64_t size);
  absl::Status Died();

  int socket_;
  pid_t pid_;
  pid_t owner_ = getpid();
  std::string python_;
  bool has_answered_ = false;
  bool is_dead_ = false;
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_CORPUS_CORPUS_PROCESS_H_
