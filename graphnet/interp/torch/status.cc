#include "graphnet/interp/torch/status.h"

#include <exception>
#include <new>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "c10/util/Exception.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

// Shortens LibTorch's messages, which have many lines; some point at source code.
std::string OneLine(absl::string_view text) {
  std::string out;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line == ":" || absl::StartsWith(line, "~")) continue;
    absl::StrAppend(&out, out.empty() ? "" : " ", line);
  }
  return out.empty() ? "no reason given" : Printable(out, 500);
}

}  // namespace

absl::Status CurrentExceptionStatus() {
  try {
    throw;
  } catch (const c10::Error& error) {
    return absl::InvalidArgumentError(OneLine(error.what_without_backtrace()));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(OneLine(error.what()));
  } catch (...) {
    return absl::InvalidArgumentError("an exception of unknown type");
  }
}

}  // namespace graphnet
