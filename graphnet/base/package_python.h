// Finds the Python that does some of the tool's work: that of the package graphnet_ir.
#ifndef GRAPHNET_BASE_PACKAGE_PYTHON_H_
#define GRAPHNET_BASE_PACKAGE_PYTHON_H_

#include <string>

namespace graphnet {

struct PackagePython {
  std::string program;  // a path, or a name on the PATH
  // The folder with the package, for PYTHONPATH; empty if this Python finds it by itself.
  std::string package_folder;

  // Returns the PYTHONPATH of its processes: that folder before `path`.
  std::string SearchPath(const std::string& path) const;
};

// Returns the Python of the installed package that this program is part of: the program is
// PREFIX/lib/python3.N/site-packages/graphnet_ir/bin/graphnet. $GRAPHNET_PYTHON names another; without
// either it is python3.
PackagePython FindPackagePython();

}  // namespace graphnet

#endif  // GRAPHNET_BASE_PACKAGE_PYTHON_H_
