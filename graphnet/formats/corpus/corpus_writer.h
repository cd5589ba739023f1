// Adds samples to a corpus (docs/corpus.md), by a process of Python that runs until then.
//
//   ASSIGN_OR_RETURN(auto writer, CorpusWriter::Open("corpus"));
//   RETURN_IF_ERROR(writer->Add({.root = "models", .path = "models/a.pt2"}, "a/subgraph_0", bytes));
//   ASSIGN_OR_RETURN(CorpusAddition done, writer->Finish());
#ifndef GRAPHNET_FORMATS_CORPUS_CORPUS_WRITER_H_
#define GRAPHNET_FORMATS_CORPUS_CORPUS_WRITER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/corpus/corpus_process.h"

namespace graphnet {

// The input that a sample was made of. The corpus gives the sample its source, model, revision and
// licence.
struct CorpusOrigin {
  std::string root;  // what was given: the input itself, or the folder or corpus that has it
  std::string path;  // empty for the standard input
};

// Tells what an addition did, as `graphnet corpus add` does.
struct CorpusAddition {
  std::string json;                // its numbers, as an object
  std::string summary;             // the same as a line of text
  std::vector<std::string> notes;  // the samples that were refused, with their reasons, and others
  bool is_complete = false;        // no sample was refused
};

class CorpusWriter {
 public:
  // Opens a corpus, or makes one if nothing is there.
  static absl::StatusOr<std::unique_ptr<CorpusWriter>> Open(const std::string& corpus);

  // Adds a sample in protobuf form (formats/protobuf/sample_proto.h), which the corpus keeps under
  // the path `below`. Samples are committed many at a time. An error ends the addition.
  absl::Status Add(const CorpusOrigin& origin, absl::string_view below, absl::string_view sample);
  // Commits what is not committed yet. No other call may follow.
  absl::StatusOr<CorpusAddition> Finish();

 private:
  CorpusWriter(std::string corpus, std::unique_ptr<CorpusProcess> process)
      : corpus_(std::move(corpus)), process_(std::move(process)) {}
  // Returns an error with the name of the corpus.
  absl::Status Named(const absl::Status& status) const;

  std::string corpus_;
  std::unique_ptr<CorpusProcess> process_;
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_CORPUS_CORPUS_WRITER_H_
