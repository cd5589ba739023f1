// Writes a picture as JSON for Google's Model Explorer: one collection with a graph for the main
// graph and one for each body. Modules are its namespaces, which it folds and lays out.
#ifndef GRAPHNET_VIEW_MODEL_EXPLORER_H_
#define GRAPHNET_VIEW_MODEL_EXPLORER_H_

#include <string>

#include "graphnet/view/picture.h"

namespace graphnet {

// Returns the JSON.
std::string WriteModelExplorer(const Picture& picture);

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_MODEL_EXPLORER_H_
