#include "graphnet/view/pair_page.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graphnet/base/json.h"
#include "graphnet/base/markup.h"
#include "graphnet/view/layout.h"
#include "graphnet/view/page_text.h"

namespace graphnet {
namespace {

absl::flat_hash_map<const Node*, size_t> NumbersOfBoxes(const Picture& picture) {
  absl::flat_hash_map<const Node*, size_t> numbers;
  for (size_t b = 0; b < picture.boxes.size(); ++b) {
    if (picture.boxes[b].node != nullptr) numbers.emplace(picture.boxes[b].node, b);
  }
  return numbers;
}

}  // namespace

std::string WritePairPage(const PageSide& left, const PageSide& right,
                          absl::Span<const std::pair<const Node*, const Node*>> pairs) {
  const auto in_left = NumbersOfBoxes(left.picture), in_right = NumbersOfBoxes(right.picture);
  Json numbers = Json::List();
  for (const auto& [a, b] : pairs) {
    const auto i = in_left.find(a), j = in_right.find(b);
    if (i == in_left.end() || j == in_right.end()) continue;
    numbers.push_back(i->second);
    numbers.push_back(j->second);
  }
  Json pages = Json::List();
  for (const PageSide& side : {left, right})
    pages.push_back(WritePage(side.picture, LayOut(side.picture), side.options));
  const Json data = Json::Object({{"pages", std::move(pages)}, {"pairs", std::move(numbers)}});
  const std::string title = absl::StrCat(left.picture.title, " and ", right.picture.title);
  return absl::StrReplaceAll(PairPageText(), {{"@TITLE@", XmlText(title)},
                                              {"@DATA@", data.DumpForScript()},
                                              {"@SCRIPT@", PairScriptText()}});
}

}  // namespace graphnet
