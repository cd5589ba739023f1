// Internal to the validator: collects findings.
#ifndef GRAPHNET_VALIDATE_FINDINGS_H_
#define GRAPHNET_VALIDATE_FINDINGS_H_

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/validate/report.h"

namespace graphnet::validate_internal {

class Findings {
 public:
  explicit Findings(ValidationReport* report) : report_(report) {}

  void Add(ErrorClass error, int piece, absl::string_view where, std::string message) {
    report_->Add(error, piece, where, std::move(message));
  }
  bool empty() const { return report_->findings.empty(); }

 private:
  ValidationReport* report_;
};

// How messages write a value.
inline std::string ValueName(absl::string_view name) { return absl::StrCat("%", Printable(name)); }

}  // namespace graphnet::validate_internal

#endif  // GRAPHNET_VALIDATE_FINDINGS_H_
