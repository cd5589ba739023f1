// Random queries about calls that a module has, in many spellings, and what an index does with them.
#ifndef TESTS_CORPUS_RANDOM_QUERY_H_
#define TESTS_CORPUS_RANDOM_QUERY_H_

#include <random>
#include <string>
#include <vector>

#include "graphnet/corpus/query_terms.h"
#include "graphnet/corpus/row.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Returns a query that some call of the module matches, or nearly so. Empty if it has no calls.
std::string RandomQuery(const Module& module, std::mt19937* random);

// Returns whether an index would name the row for the terms.
bool HasTerms(const CorpusRow& row, const std::vector<QueryTerm>& terms);

}  // namespace graphnet

#endif  // TESTS_CORPUS_RANDOM_QUERY_H_
