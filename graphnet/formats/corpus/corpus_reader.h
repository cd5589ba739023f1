// Reads the graphs of a corpus (docs/corpus.md). The engine of its tables has no library in C++, so a
// process of Python with the package graphnet_ir[corpus] reads them, one for each corpus, until this
// process ends.
#ifndef GRAPHNET_FORMATS_CORPUS_CORPUS_READER_H_
#define GRAPHNET_FORMATS_CORPUS_CORPUS_READER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace graphnet {

// Returns whether the folder at `path` is a corpus. It has a file corpus.json and at least one of
// its three tables, since the others may be lost.
bool IsCorpusFolder(const std::string& path);

// Returns the names of the graphs in the corpus at `path`, such as "resnet18-3ef4095fe98f2cde", in
// their order. `selection` is empty or begins with "#": "#v1" is a tag, "#view=small" a view, and
// "#v1#view=small" both. NotFound if there is no such tag or view, FailedPrecondition if no Python
// with the package is found, DataLoss if the corpus is damaged.
absl::StatusOr<std::vector<std::string>> ListCorpus(const std::string& path,
                                                    const std::string& selection);

// Returns a graph as a protobuf sample (formats/protobuf/sample_proto.h). `graph` ends in its hash,
// of which 16 hexadecimal digits are enough. NotFound if it is not in the selection; other errors as
// of ListCorpus. `weights`: with the values of its weights, if the corpus has them. Thread-safe.
absl::StatusOr<std::string> ReadCorpusGraph(const std::string& path, const std::string& selection,
                                            const std::string& graph, bool weights);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_CORPUS_CORPUS_READER_H_
