// Calls that write their results to tensors that they are given.
#ifndef GRAPHNET_PASSES_FUNCTIONAL_OUT_ARGUMENTS_H_
#define GRAPHNET_PASSES_FUNCTIONAL_OUT_ARGUMENTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "graphnet/ir/module.h"

namespace graphnet {

struct OutCall {
  // A keyword that names a tensor, or all tensors in a list or tuple.
  struct Keyword {
    std::string name;
    size_t place;  // its index among the keywords of the call
  };
  // Takes one result out of several.
  struct Item {
    Node* made;                 // the new call of getitem, which the copy reads
    std::vector<Node*> others;  // those that the graph had, which nothing reads any more
  };

  Node* call = nullptr;
  std::string target;             // the original target, such as aten.add.out
  std::vector<Keyword> keywords;  // one for each copy, or one for all
  bool is_list = false;           // the one keyword of several tensors is a list, not a tuple
  std::vector<Node*> copies;      // of each result, to its tensor
  std::vector<Item> items;        // one for each copy, or none if the call has one result
};

// Rewrites torch.add(x, y, out=z) as aten.copy_(z, torch.add(x, y)), and a call with several
// results, of which each user takes one, as a copy of each. That is the same if z has the sizes and
// the dtype of the sum and the call reads no other part of z.
std::vector<OutCall> SplitOutCalls(Module* module);
// Undoes SplitOutCalls for the calls whose copies all still exist.
void JoinOutCalls(const std::vector<OutCall>& calls);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_FUNCTIONAL_OUT_ARGUMENTS_H_
