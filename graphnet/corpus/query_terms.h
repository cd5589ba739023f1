// The words that an index must have of a graph in which a query matches.
//
//   ASSIGN_OR_RETURN(const CallQuery query, CallQuery::Parse("relu(conv2d(groups=384))"));
//   for (const QueryTerm& term : TermsOf(query)) …  // edges has conv2d>relu, args has conv2d.groups=384
//
// A graph that lacks a term has no match, so an index gives candidates, and CallQuery::Find says which
// of them match. Not everything that a query asks is a term: "?", and <, <=, >, >= and != are none, nor
// are constants by position and comparisons with a constant that may be a parameter's default, because
// a call may omit those.
#ifndef GRAPHNET_CORPUS_QUERY_TERMS_H_
#define GRAPHNET_CORPUS_QUERY_TERMS_H_

#include <string>
#include <vector>

#include "graphnet/passes/call_query.h"

namespace graphnet {

// A column of CorpusRow, and words of which it has at least one: a rank is a number as text.
struct QueryTerm {
  std::string column;  // targets, args, edges, dtypes or ranks
  std::vector<std::string> any_of;
};

// Returns terms that all hold of the row of every module in which the query matches, without
// repetitions.
std::vector<QueryTerm> TermsOf(const CallQuery& query);

}  // namespace graphnet

#endif  // GRAPHNET_CORPUS_QUERY_TERMS_H_
