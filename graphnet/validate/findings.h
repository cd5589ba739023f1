// Internal to the validator: collects findings.
#ifndef GRAPHNET_VALIDATE_FINDINGS_H_
#define GRAPHNET_VALIDATE_FINDINGS_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/validate/structure.h"

namespace graphnet::validate_internal {

class Findings {
 public:
  explicit Findings(StructureReport* report) : report_(report) {}

  void Add(StructureError error, int piece, absl::string_view where, std::string message) {
    size_t same = 0;
    for (const StructureFinding& finding : report_->findings) same += finding.error == error ? 1 : 0;
    if (same >= kMaxFindings) return;
    report_->findings.push_back({error, piece, std::string(where), std::move(message)});
  }
  bool empty() const { return report_->findings.empty(); }

 private:
  StructureReport* report_;
};

// How messages write a value.
inline std::string ValueName(absl::string_view name) { return absl::StrCat("%", Printable(name)); }

}  // namespace graphnet::validate_internal

#endif  // GRAPHNET_VALIDATE_FINDINGS_H_
