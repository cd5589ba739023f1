#include "graphnet/view/layout.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"

namespace graphnet {
namespace {

constexpr int kOrderSweeps = 6;
constexpr int kPlaceSweeps = 8;
// The number of these sweeps that use the links above, then those below; the others use both at
// once.
constexpr int kFirstSweeps = 3;
// The pull of a box to the middle, relative to its links' pull. It keeps rows from drifting aside.
constexpr double kMiddle = 0.06;
constexpr double kBendMiddle = 0.02;    // of a bend
constexpr double kFrameMiddle = 0.5;    // of a frame
constexpr double kAlmostStraight = 10;  // the largest shift that is removed
// Limit of the bends in a frame. Beyond it, the longest arrows are drawn without bends.
constexpr size_t kBendsAnItem = 6;
constexpr size_t kMoreBends = 1000;

bool IsBend(const LayoutItem& item) { return item.kind >= LayoutItem::kEntry; }

// Returns how strongly a link pulls at its ends. Long lines should be straight first, then chains;
// links that lead sideways to a long line need not be.
double Weight(const LayoutItem& a, const LayoutItem& b, bool is_chain) {
  if (IsBend(a) && IsBend(b)) return 8;
  return is_chain ? 4 : IsBend(a) || IsBend(b) ? 0.3 : 1;
}

double Gap(const LayoutItem& a, const LayoutItem& b) {
  return IsBend(a) || IsBend(b) ? kBendGap : kBoxGap;
}

// Lays out one frame whose inner frames have been laid out.
class FramePlacer {
 public:
  explicit FramePlacer(FrameLayout* frame) : frame_(*frame) {}

  void Place() {
    if (frame_.items.empty()) return;
    FindRows();
    AddBends();
    FillRows();
    FindNeighbours();
    OrderRows();
    PlaceRows();
    FindHeights();
  }

 private:
  // Items of a row that touch.
  struct Block {
    double sum;  // of weight times desired place
    double weight;
    size_t count;
    double place() const { return sum / weight; }
  };

  LayoutItem& item(int i) { return frame_.items[static_cast<size_t>(i)]; }
  const std::vector<int>& links_above(int i) const { return above_[static_cast<size_t>(i)]; }
  const std::vector<int>& links_below(int i) const { return below_[static_cast<size_t>(i)]; }
  LayoutLink& link(int i) { return frame_.links[static_cast<size_t>(i)]; }

  // Collects the links above and below each item. Far links do not pull.
  void FindNeighbours() {
    above_.assign(frame_.items.size(), {});
    below_.assign(frame_.items.size(), {});
    for (size_t i = 0; i < frame_.links.size(); ++i) {
      const LayoutLink& l = frame_.links[i];
      if (l.far) continue;
      above_[static_cast<size_t>(l.to)].push_back(static_cast<int>(i));
      below_[static_cast<size_t>(l.from)].push_back(static_cast<int>(i));
    }
  }

  void FindRows() {
    FindNeighbours();
    const size_t n = frame_.items.size();
    const bool has_entry = absl::c_any_of(
        frame_.items, [](const LayoutItem& i) { return i.kind == LayoutItem::kEntry; });
    std::vector<size_t> waits_for(n);
    std::vector<int> order;
    order.reserve(n);
    for (size_t i = 0; i < n; ++i) {
      waits_for[i] = above_[i].size();
      frame_.items[i].row = has_entry && frame_.items[i].kind != LayoutItem::kEntry ? 1 : 0;
      if (waits_for[i] == 0) order.push_back(static_cast<int>(i));
    }
    int last = 0;
    for (size_t next = 0; next < order.size(); ++next) {
      const int i = order[next];
      if (item(i).kind != LayoutItem::kExit) last = std::max(last, item(i).row);
      for (const int l : links_below(i)) {
        LayoutItem& to = item(link(l).to);
        to.row = std::max(to.row, item(i).row + 1);
        if (--waits_for[static_cast<size_t>(link(l).to)] == 0) order.push_back(link(l).to);
      }
    }
    for (LayoutItem& i : frame_.items) {
      if (i.kind == LayoutItem::kExit) i.row = last + 1;
    }
    // Items without operands stand right above their first user.
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      if (item(*it).kind >= LayoutItem::kEntry || !links_above(*it).empty()) continue;
      int first = -1;
      for (const int l : links_below(*it)) {
        const int row = item(link(l).to).row;
        if (first < 0 || row < first) first = row;
      }
      if (first > 0) item(*it).row = first - 1;
    }
  }

  void AddBends() {
    // Sort the links by origin and value, the nearest first.
    absl::c_sort(frame_.links, [this](const LayoutLink& a, const LayoutLink& b) {
      return std::make_tuple(a.from, a.value, item(a.to).row, a.to) <
             std::make_tuple(b.from, b.value, item(b.to).row, b.to);
    });
    struct Chain {
      size_t begin = 0;
      size_t end = 0;
      size_t bends = 0;
      bool far = false;
    };
    std::vector<Chain> chains;
    size_t bends = 0;
    for (size_t i = 0; i < frame_.links.size();) {
      Chain chain;
      chain.begin = i;
      const LayoutLink& first = frame_.links[i];
      while (i < frame_.links.size() && frame_.links[i].from == first.from &&
             frame_.links[i].value == first.value)
        ++i;
      chain.end = i;
      chain.bends = static_cast<size_t>(
          std::max(0, item(frame_.links[i - 1].to).row - item(first.from).row - 1));
      bends += chain.bends;
      chains.push_back(chain);
    }
    const size_t most = kBendsAnItem * frame_.items.size() + kMoreBends;
    if (bends > most) {
      std::vector<Chain*> longest;
      for (Chain& chain : chains) longest.push_back(&chain);
      absl::c_stable_sort(longest,
                          [](const Chain* a, const Chain* b) { return a->bends > b->bends; });
      for (size_t i = 0; bends > most; ++i) {
        longest[i]->far = true;
        bends -= longest[i]->bends;
      }
    }
    std::vector<LayoutLink> links;
    for (const Chain& chain : chains) {
      const LayoutLink first = frame_.links[chain.begin];
      int at = first.from;
      double at_x = first.from_x;
      for (size_t i = chain.begin; i < chain.end; ++i) {
        LayoutLink l = frame_.links[i];
        if (chain.far) {
          l.far = item(l.to).row > item(l.from).row + 1;
          links.push_back(l);
          continue;
        }
        while (item(at).row + 1 < item(l.to).row) {
          LayoutItem bend;
          bend.index = l.value;
          bend.row = item(at).row + 1;
          const int made = static_cast<int>(frame_.items.size());
          frame_.items.push_back(bend);
          links.push_back({at, made, l.value, false, at_x, 0});
          at = made;
          at_x = 0;
        }
        links.push_back({at, l.to, l.value, false, at_x, l.to_x});
      }
    }
    absl::c_stable_sort(links, [this](const LayoutLink& a, const LayoutLink& b) {
      return item(a.from).row < item(b.from).row;
    });
    frame_.links = std::move(links);
  }

  void FillRows() {
    int last = 0;
    for (const LayoutItem& i : frame_.items) last = std::max(last, i.row);
    frame_.rows.assign(static_cast<size_t>(last) + 1, {});
    for (size_t i = 0; i < frame_.items.size(); ++i) {
      frame_.rows[static_cast<size_t>(frame_.items[i].row)].push_back(static_cast<int>(i));
    }
  }

  // Returns the number of pairs of links that cross if their ends are at `position_`.
  size_t Crossings() const {
    size_t crossings = 0;
    std::vector<std::pair<double, double>> ends;
    std::vector<double> lower;
    std::vector<size_t> tree;
    for (const std::vector<int>& row : frame_.rows) {
      ends.clear();
      lower.clear();
      for (const int i : row) {
        for (const int l : links_below(i)) {
          const LayoutLink& link = frame_.links[static_cast<size_t>(l)];
          ends.push_back(
              {position_[static_cast<size_t>(link.from)], position_[static_cast<size_t>(link.to)]});
          lower.push_back(ends.back().second);
        }
      }
      if (ends.size() < 2) continue;
      absl::c_sort(ends);
      absl::c_sort(lower);
      lower.erase(std::unique(lower.begin(), lower.end()), lower.end());
      // For each place, the number of links so far that end at or before it (a Fenwick tree).
      tree.assign(lower.size() + 1, 0);
      size_t seen = 0;
      for (const auto& [from, to] : ends) {
        const size_t place =
            static_cast<size_t>(std::lower_bound(lower.begin(), lower.end(), to) - lower.begin()) +
            1;
        size_t before = 0;
        for (size_t t = place; t > 0; t -= t & (~t + 1)) before += tree[t];
        crossings += seen - before;
        for (size_t t = place; t < tree.size(); t += t & (~t + 1)) ++tree[t];
        ++seen;
      }
    }
    return crossings;
  }

  void OrderRows() {
    position_.assign(frame_.items.size(), 0);
    const auto number = [&](const std::vector<int>& row) {
      for (size_t k = 0; k < row.size(); ++k) {
        position_[static_cast<size_t>(row[k])] = static_cast<double>(k);
      }
    };
    for (const std::vector<int>& row : frame_.rows) number(row);
    if (absl::c_all_of(frame_.rows, [](const std::vector<int>& r) { return r.size() < 2; })) return;
    std::vector<std::vector<int>> best = frame_.rows;
    size_t fewest = Crossings();
    std::vector<std::pair<double, int>> keyed;
    for (int sweep = 0; sweep < kOrderSweeps && fewest > 0; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (size_t r = 0; r < frame_.rows.size(); ++r) {
        std::vector<int>& row = frame_.rows[down ? r : frame_.rows.size() - 1 - r];
        if (row.size() < 2) continue;
        keyed.clear();
        for (const int i : row) {
          const std::vector<int>& links = down ? links_above(i) : links_below(i);
          double sum = 0;
          for (const int l : links) {
            // The place of the link on a wide item counts, too.
            const LayoutLink& a = link(l);
            const int other = down ? a.from : a.to;
            const double width = item(other).width;
            const double part = width > 0 ? (down ? a.from_x : a.to_x) / width : 0;
            sum += position_[static_cast<size_t>(other)] + 0.9 * part;
          }
          keyed.push_back({links.empty() ? position_[static_cast<size_t>(i)]
                                         : sum / static_cast<double>(links.size()),
                           i});
        }
        std::stable_sort(keyed.begin(), keyed.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        for (size_t k = 0; k < row.size(); ++k) row[k] = keyed[k].second;
        number(row);
      }
      const size_t now = Crossings();
      if (now < fewest) {
        fewest = now;
        best = frame_.rows;
      }
    }
    frame_.rows = std::move(best);
    for (const std::vector<int>& row : frame_.rows) number(row);
  }

  void PlaceRows() {
    for (const std::vector<int>& row : frame_.rows) {
      double x = 0;
      for (size_t k = 0; k < row.size(); ++k) {
        if (k > 0) x += Gap(item(row[k - 1]), item(row[k]));
        item(row[k]).x = x;
        x += item(row[k]).width;
      }
      for (const int i : row) item(i).x -= x / 2;
    }
    for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
      const bool both = sweep >= kFirstSweeps;
      for (const std::vector<int>& row : frame_.rows) PlaceRow(row, true, both);
      for (size_t r = frame_.rows.size(); r-- > 0;) PlaceRow(frame_.rows[r], both, true);
    }
    for (const std::vector<int>& row : frame_.rows) Straighten(row);
    double left = item(frame_.rows[0][0]).x;
    for (const std::vector<int>& row : frame_.rows) left = std::min(left, item(row[0]).x);
    double right = 0;
    for (const std::vector<int>& row : frame_.rows) {
      for (const int i : row) item(i).x -= left;
      right = std::max(right, item(row.back()).x + item(row.back()).width);
    }
    frame_.width = right;
  }

  // Moves items of a row slightly, where there is room, so that a line from above is straight.
  void Straighten(const std::vector<int>& row) {
    for (size_t k = 0; k < row.size(); ++k) {
      LayoutItem& own = item(row[k]);
      double shift = kAlmostStraight;
      for (const int l : links_above(row[k])) {
        const LayoutItem& other = item(link(l).from);
        const double needed = other.x + link(l).from_x - link(l).to_x - own.x;
        if (std::abs(needed) < std::abs(shift)) shift = needed;
      }
      if (shift == kAlmostStraight || shift == 0) continue;
      const double x = own.x + shift;
      if (k > 0) {
        const LayoutItem& left = item(row[k - 1]);
        if (x < left.x + left.width + Gap(left, own)) continue;
      }
      if (k + 1 < row.size()) {
        const LayoutItem& right = item(row[k + 1]);
        if (x + own.width + Gap(own, right) > right.x) continue;
      }
      own.x = x;
    }
  }

  // Places the items of a row as near to where their links pull them as their order and widths
  // allow: least squares, pooling items that would overlap.
  void PlaceRow(const std::vector<int>& row, bool use_above, bool use_below) {
    std::vector<Block>& blocks = blocks_;
    blocks.clear();
    offsets_.clear();
    double offset = 0;
    for (size_t k = 0; k < row.size(); ++k) {
      const LayoutItem& own = item(row[k]);
      if (k > 0) offset += item(row[k - 1]).width + Gap(item(row[k - 1]), own);
      offsets_.push_back(offset);
      double sum = 0;
      double weight = 0;
      const auto pull = [&](int l, bool up) {
        const LayoutLink& a = link(l);
        const LayoutItem& other = item(up ? a.from : a.to);
        const double w =
            Weight(own, other, links_below(a.from).size() == 1 && links_above(a.to).size() == 1);
        const double there = other.x + (up ? a.from_x : a.to_x);
        sum += w * (there - (up ? a.to_x : a.from_x));
        weight += w;
      };
      if (use_above) {
        for (const int l : links_above(row[k])) pull(l, true);
      }
      if (use_below) {
        for (const int l : links_below(row[k])) pull(l, false);
      }
      if (weight == 0) {
        weight = 0.05;
        sum = weight * own.x;
      } else {
        // The middle of all rows is at 0.
        const double middle = weight * (IsBend(own)                      ? kBendMiddle
                                        : own.kind == LayoutItem::kFrame ? kFrameMiddle
                                                                         : kMiddle);
        sum -= middle * own.width / 2;
        weight += middle;
      }
      blocks.push_back({sum - weight * offset, weight, 1});
      while (blocks.size() > 1 && blocks[blocks.size() - 2].place() > blocks.back().place()) {
        Block& before = blocks[blocks.size() - 2];
        before.sum += blocks.back().sum;
        before.weight += blocks.back().weight;
        before.count += blocks.back().count;
        blocks.pop_back();
      }
    }
    size_t k = 0;
    for (const Block& block : blocks) {
      for (size_t c = 0; c < block.count; ++c, ++k) {
        item(row[k]).x = block.place() + offsets_[k];
      }
    }
  }

  void FindHeights() {
    const size_t n = frame_.rows.size();
    std::vector<double> slant(n, 0);
    for (const LayoutLink& l : frame_.links) {
      if (l.far) continue;
      double& most = slant[static_cast<size_t>(item(l.from).row)];
      most = std::max(most, std::abs(item(l.from).x + l.from_x - item(l.to).x - l.to_x));
    }
    double y = 0;
    frame_.row_y.clear();
    frame_.row_height.clear();
    for (size_t r = 0; r < n; ++r) {
      double height = 0;
      for (const int i : frame_.rows[r]) height = std::max(height, item(i).height);
      frame_.row_y.push_back(y);
      frame_.row_height.push_back(height);
      y += height;
      if (r + 1 < n) y += std::min(kRowGap + 0.08 * slant[r], kMaxRowGap);
    }
    frame_.row_y.push_back(y);
    frame_.height = y;
  }

  FrameLayout& frame_;
  std::vector<std::vector<int>> above_;  // links by item
  std::vector<std::vector<int>> below_;
  std::vector<double> position_;  // of items in their rows
  // Used by PlaceRow.
  std::vector<Block> blocks_;
  std::vector<double> offsets_;
};

}  // namespace

double TextWidth(absl::string_view text, double size, bool bold) {
  double em = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c & 0x80) != 0) {
      // Count each character once; characters of three bytes may be as wide as high.
      if ((c & 0xC0) == 0xC0) em += (c & 0xE0) == 0xC0 ? 0.7 : 1.0;
    } else if (absl::string_view("ijlI.,:;'|![]() ").find(c) != absl::string_view::npos) {
      em += 0.39;
    } else if (absl::string_view("frt-\"*\\/{}").find(c) != absl::string_view::npos) {
      em += 0.45;
    } else if (absl::string_view("mwMW@%").find(c) != absl::string_view::npos) {
      em += 0.97;
    } else if (c >= 'A' && c <= 'Z') {
      em += 0.71;
    } else {
      em += 0.63;
    }
  }
  return em * size * (bold ? 1.1 : 1);
}

PictureLayout LayOut(const Picture& picture) {
  PictureLayout layout;
  layout.boxes.resize(picture.boxes.size());
  layout.frames.resize(picture.frames.size());
  const int num_boxes = static_cast<int>(picture.boxes.size());

  std::vector<char> has_line(picture.boxes.size(), 0);
  for (const Arrow& arrow : picture.arrows) {
    if (!arrow.is_body) has_line[static_cast<size_t>(arrow.from)] = 1;
  }
  // Items of boxes and frames, in program order.
  std::vector<int> item_of_box(picture.boxes.size(), -1);
  std::vector<int> item_of_frame(picture.frames.size(), -1);
  const auto add = [&](int frame, LayoutItem::Kind kind, int index) {
    std::vector<LayoutItem>& items = layout.frames[static_cast<size_t>(frame)].items;
    LayoutItem item;
    item.kind = kind;
    item.index = index;
    items.push_back(item);
    return static_cast<int>(items.size()) - 1;
  };
  for (int b = 0; b < num_boxes; ++b) {
    const Box& box = picture.boxes[static_cast<size_t>(b)];
    item_of_box[static_cast<size_t>(b)] = add(box.frame, LayoutItem::kBox, b);
    for (int f = box.frame; f > 0 && item_of_frame[static_cast<size_t>(f)] < 0;
         f = picture.frames[static_cast<size_t>(f)].parent) {
      item_of_frame[static_cast<size_t>(f)] =
          add(picture.frames[static_cast<size_t>(f)].parent, LayoutItem::kFrame, f);
    }
    BoxLayout& place = layout.boxes[static_cast<size_t>(b)];
    place.width = TextWidth(box.title, kTitleSize, /*bold=*/true);
    place.height = kTitleHeight + kBoxPadding;
    const auto line = [&](absl::string_view text) {
      place.width = std::max(place.width, TextWidth(text, kTextSize));
      place.height += kLineHeight;
    };
    if (!box.name.empty()) line(box.name);
    for (const std::string& text : box.constants) line(text);
    for (const std::string& text : box.parameters) line(text);
    place.width = std::ceil(place.width + 2 * kBoxPadding);
    LayoutItem& item = layout.frames[static_cast<size_t>(box.frame)]
                           .items[static_cast<size_t>(item_of_box[static_cast<size_t>(b)])];
    item.width = place.width;
    item.height = place.height;
    place.shows_value =
        !box.value.empty() && (has_line[static_cast<size_t>(b)] != 0 || box.used_outside);
    if (place.shows_value) {
      item.width =
          std::max(item.width, place.width / 2 + kBoxValueLeft + TextWidth(box.value, kTextSize));
      item.height += kValueHeight;
    }
  }

  // An arrow is a link in each frame that it passes.
  std::vector<int> level(picture.frames.size(), 0);
  for (size_t f = 1; f < picture.frames.size(); ++f) {
    level[f] = level[static_cast<size_t>(picture.frames[f].parent)] + 1;
  }
  absl::flat_hash_map<std::pair<int, int>, int> entries;  // (frame, value): item
  absl::flat_hash_map<std::pair<int, int>, int> exits;
  const auto port = [&](auto& ports, LayoutItem::Kind kind, int frame, int value) {
    const auto [it, is_new] = ports.emplace(std::make_pair(frame, value), 0);
    if (is_new) it->second = add(frame, kind, value);
    return it->second;
  };
  for (const Arrow& arrow : picture.arrows) {
    int a = picture.boxes[static_cast<size_t>(arrow.from)].frame;
    int from = item_of_box[static_cast<size_t>(arrow.from)];
    int b = 0;
    int to = 0;
    if (arrow.is_body) {
      b = picture.frames[static_cast<size_t>(arrow.to)].parent;
      to = item_of_frame[static_cast<size_t>(arrow.to)];
    } else {
      b = picture.boxes[static_cast<size_t>(arrow.to)].frame;
      to = item_of_box[static_cast<size_t>(arrow.to)];
    }
    const int value = arrow.from + (arrow.is_body ? num_boxes : 0);
    const auto connect = [&](int frame, int link_from, int link_to) {
      layout.frames[static_cast<size_t>(frame)].links.push_back(
          {link_from, link_to, value, false, 0, 0});
    };
    while (a != b) {
      if (level[static_cast<size_t>(a)] >= level[static_cast<size_t>(b)]) {
        connect(a, from, port(exits, LayoutItem::kExit, a, value));
        from = item_of_frame[static_cast<size_t>(a)];
        a = picture.frames[static_cast<size_t>(a)].parent;
      } else {
        connect(b, port(entries, LayoutItem::kEntry, b, value), to);
        to = item_of_frame[static_cast<size_t>(b)];
        b = picture.frames[static_cast<size_t>(b)].parent;
      }
    }
    connect(a, from, to);
  }

  // Lay out inner frames first; parents come before their content.
  for (size_t f = layout.frames.size(); f-- > 0;) {
    FrameLayout& frame = layout.frames[f];
    for (LayoutItem& item : frame.items) {
      if (item.kind != LayoutItem::kFrame) continue;
      item.width = layout.frames[static_cast<size_t>(item.index)].width;
      item.height = layout.frames[static_cast<size_t>(item.index)].height;
    }
    absl::c_sort(frame.links, [](const LayoutLink& a, const LayoutLink& b) {
      return std::make_tuple(a.from, a.to, a.value) < std::make_tuple(b.from, b.to, b.value);
    });
    frame.links.erase(std::unique(frame.links.begin(), frame.links.end(),
                                  [](const LayoutLink& a, const LayoutLink& b) {
                                    return a.from == b.from && a.to == b.to && a.value == b.value;
                                  }),
                      frame.links.end());
    // The place on an item at which a value enters or leaves.
    const auto at = [&](int i, int value, const auto& ports) {
      const LayoutItem& item = frame.items[static_cast<size_t>(i)];
      if (item.kind == LayoutItem::kBox) {
        return layout.boxes[static_cast<size_t>(item.index)].width / 2;
      }
      if (item.kind != LayoutItem::kFrame) return 0.0;
      const auto it = ports.find(std::make_pair(item.index, value));
      if (it == ports.end()) return item.width / 2;
      const LayoutItem& inside =
          layout.frames[static_cast<size_t>(item.index)].items[static_cast<size_t>(it->second)];
      return kFramePadding + inside.x;
    };
    for (LayoutLink& l : frame.links) {
      l.from_x = at(l.from, l.value, exits);
      l.to_x = at(l.to, l.value, entries);
    }
    FramePlacer(&frame).Place();
    if (f == 0) continue;
    for (double& y : frame.row_y) y += kHeaderHeight;
    frame.height += kHeaderHeight + kFramePadding;
    frame.width =
        std::max(frame.width, TextWidth(picture.frames[f].label, kTextSize)) + 2 * kFramePadding;
  }
  for (size_t f = 0; f < layout.frames.size(); ++f) {
    const FrameLayout& frame = layout.frames[f];
    for (const LayoutItem& item : frame.items) {
      const double x = frame.x + (f > 0 ? kFramePadding : 0) + item.x;
      const double y = frame.y + frame.row_y[static_cast<size_t>(item.row)];
      const auto index = static_cast<size_t>(item.index);
      if (item.kind == LayoutItem::kBox) {
        layout.boxes[index].x = x;
        layout.boxes[index].y = y;
      } else if (item.kind == LayoutItem::kFrame) {
        layout.frames[index].x = x;
        layout.frames[index].y = y;
      }
    }
  }
  return layout;
}

}  // namespace graphnet
