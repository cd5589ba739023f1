// Bindings of the rows, queries, choices and near duplicates of a corpus.
#ifndef GRAPHNET_PYTHON_BINDINGS_CORPUS_H_
#define GRAPHNET_PYTHON_BINDINGS_CORPUS_H_

#include "nanobind/nanobind.h"
#include "python/bindings/errors.h"

namespace graphnet {

void BindCorpus(nb::module_& m);
// Near duplicates, which BindCorpus binds, too.
void BindNear(nb::module_& m);

}  // namespace graphnet

#endif  // GRAPHNET_PYTHON_BINDINGS_CORPUS_H_
