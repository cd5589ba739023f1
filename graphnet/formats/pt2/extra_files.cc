#include "graphnet/formats/pt2/extra_files.h"

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/status.h"
#include "graphnet/base/utf8.h"
#include "graphnet/formats/pt2/json.h"
#include "graphnet/formats/pt2/json_writer.h"

namespace graphnet::pt2 {
namespace {

bool IsRelativePath(absl::string_view name) {
  for (const absl::string_view part : absl::StrSplit(name, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return name.find('\0') == name.npos && name.find('\\') == name.npos;
}

}  // namespace

std::string PackExtraFiles(const std::map<std::string, std::string>& files) {
  JsonWriter json;
  json.StartObject();
  for (const auto& [name, content] : files) {
    json.Member(name);
    if (IsUtf8(content)) {
      json.String(content);
      continue;
    }
    json.StartObject();
    json.Member("base64").String(absl::Base64Escape(content));
    json.EndObject();
  }
  json.EndObject();
  return std::string(json.text());
}

absl::StatusOr<std::map<std::string, std::string>> UnpackExtraFiles(absl::string_view json) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(std::string(json)));
  std::map<std::string, std::string> files;
  RETURN_IF_ERROR(
      document.root().ForEachMember([&](absl::string_view name, Json content) -> absl::Status {
        if (!IsRelativePath(name)) {
          return absl::InvalidArgumentError(
              absl::StrCat(Printable(name), " is not a valid name of a file in an archive"));
        }
        std::string& file = files[std::string(name)];
        if (content.is_there() && content.kind() == Json::Kind::kString) {
          file = std::string(*content.String());
          return absl::OkStatus();
        }
        Json field;
        RETURN_IF_ERROR(ReadFields(content, {{"base64", &field}}));
        ASSIGN_OR_RETURN(const absl::string_view text, field.String());
        if (absl::Base64Unescape(text, &file)) return absl::OkStatus();
        return absl::InvalidArgumentError(absl::StrCat(Printable(name), " is not base64"));
      }));
  return files;
}

}  // namespace graphnet::pt2
