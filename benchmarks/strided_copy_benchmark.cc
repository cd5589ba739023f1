// Measures how views are made contiguous, on one thread: StridedCopy against ATen's copy, and
// against a loop that finds each element's place by dividing its number.
//
//   strided_copy_benchmark
//
// Prints 42 layouts of float32, most of 200,000 to 4,000,000 elements, and medians over them; then
// the medians for other widths. Each time is the least of several rounds, in which the three take
// turns.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ATen.h"
#include "ATen/Parallel.h"
#include "c10/core/InferenceMode.h"
#include "graphnet/base/strided_copy.h"

namespace graphnet {
namespace {

struct Layout {
  std::string name;
  at::Tensor view;
};

std::vector<Layout> Layouts(at::ScalarType dtype) {
  const auto make = [&](const std::vector<int64_t>& sizes) {
    return at::randint(0, 100, sizes).to(dtype);
  };
  std::vector<Layout> layouts;
  const auto add = [&](std::string name, const at::Tensor& view) {
    layouts.push_back({std::move(name), view});
  };
  for (const int64_t n : {256, 1000, 1024, 1537}) {
    add("transpose " + std::to_string(n), make({n, n}).t());
  }
  add("transpose 3 x 500000", make({3, 500000}).t());
  add("transpose 500000 x 3", make({500000, 3}).t());
  add("transpose 17 x 40000", make({17, 40000}).t());
  add("transpose 40000 x 17", make({40000, 17}).t());
  for (const int64_t channels : {3, 16, 64, 256}) {
    const at::Tensor image = make({4, channels, 56, 56});
    add("nchw to nhwc, " + std::to_string(channels), image.permute({0, 2, 3, 1}));
    add("nhwc to nchw, " + std::to_string(channels),
        make({4, 56, 56, channels}).permute({0, 3, 1, 2}));
  }
  for (const int64_t width : {32, 64, 128}) {
    add("heads apart, " + std::to_string(width), make({2, 384, 12, width}).transpose(1, 2));
    add("keys transposed, " + std::to_string(width), make({2, 12, 384, width}).transpose(2, 3));
  }
  add("weights oihw to hwio", make({256, 128, 3, 3}).permute({2, 3, 1, 0}));
  add("weights hwio to oihw", make({3, 3, 128, 256}).permute({3, 2, 0, 1}));
  add("all reversed, 4", make({40, 30, 20, 10}).permute({3, 2, 1, 0}));
  add("all reversed, 6", make({12, 11, 10, 9, 8, 7}).permute({5, 4, 3, 2, 1, 0}));
  add("middle turned round", make({64, 32, 16, 32}).permute({0, 2, 1, 3}));
  add("window shuffle", make({8, 7, 8, 7, 96}).permute({0, 2, 1, 3, 4}));
  add("pixel shuffle", make({4, 16, 4, 4, 64, 64}).permute({0, 1, 4, 2, 5, 3}));
  add("columns of a wide matrix", make({2000, 3000}).slice(1, 100, 1100));
  add("each second column", make({1000, 2000}).slice(1, 0, 2000, 2));
  add("each third row", make({3000, 500}).slice(0, 0, 3000, 3));
  add("crop of images", make({16, 3, 256, 256}).slice(2, 16, 240).slice(3, 16, 240));
  add("each second pixel", make({4, 16, 224, 224}).slice(2, 0, 224, 2).slice(3, 0, 224, 2));
  add("bias over rows", make({1, 1000}).expand({1000, 1000}));
  add("mask over columns", make({1000, 1}).expand({1000, 1000}));
  add("heads repeated", make({2, 4, 1, 128, 64}).expand({2, 4, 8, 128, 64}));
  add("diagonals", make({300, 1000, 10}).diagonal(0, 1, 2));
  add("unfolded", make({16, 4000}).unfold(1, 16, 1));
  add("short rows", make({100000, 12}).slice(1, 2, 9));
  add("thin slice of the last", make({100000, 12}).slice(1, 4, 6));
  add("dense", make({1000, 1000}));
  return layouts;
}

// The baseline, which finds the place of each element by division.
template <typename T>
void CopyByDividing(const at::Tensor& view, at::Tensor* to) {
  const T* const from = static_cast<const T*>(view.const_data_ptr());
  T* const out = static_cast<T*>(to->mutable_data_ptr());
  const auto sizes = view.sizes(), strides = view.strides();
  const int64_t rank = view.dim(), count = view.numel();
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = 0;
    for (int64_t d = rank - 1; d >= 0; --d) {
      at += rest % sizes[d] * strides[d];
      rest /= sizes[d];
    }
    out[i] = from[at];
  }
}

double Milliseconds(const std::function<void()>& fn) {
  const auto begin = std::chrono::steady_clock::now();
  fn();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <typename T>
bool Measure(at::ScalarType dtype, bool print) {
  constexpr int kRounds = 15;
  std::vector<double> by_dividing, by_aten;
  std::string slowest;  // the slowest layout against ATen
  for (const Layout& layout : Layouts(dtype)) {
    at::Tensor ours = at::empty(layout.view.sizes(), layout.view.options());
    at::Tensor theirs = at::empty_like(ours), slow = at::empty_like(ours);
    double least[3] = {1e9, 1e9, 1e9};
    for (int round = 0; round < kRounds; ++round) {
      least[0] = std::min(least[0], Milliseconds([&] {
                            StridedCopy(layout.view.element_size(), layout.view.sizes(),
                                        layout.view.const_data_ptr(), layout.view.strides(),
                                        ours.mutable_data_ptr(), ours.strides());
                          }));
      least[1] = std::min(least[1], Milliseconds([&] { theirs.copy_(layout.view); }));
      if (round >= 5) continue;  // Few rounds are enough for the slow baseline.
      least[2] = std::min(least[2], Milliseconds([&] { CopyByDividing<T>(layout.view, &slow); }));
    }
    if (std::memcmp(ours.const_data_ptr(), theirs.const_data_ptr(), ours.nbytes()) != 0) {
      std::printf("%s: other bits than ATen's\n", layout.name.c_str());
      return false;
    }
    by_aten.push_back(least[1] / least[0]);
    if (by_aten.back() == *std::min_element(by_aten.begin(), by_aten.end())) slowest = layout.name;
    by_dividing.push_back(least[2] / least[0]);
    if (print) {
      std::printf("%-26s %9lld %8.3f %8.3f %8.3f %7.2f %7.2f\n", layout.name.c_str(),
                  static_cast<long long>(layout.view.numel()), least[0], least[1], least[2],
                  by_aten.back(), by_dividing.back());
    }
  }
  std::printf(
      "%s, %zu layouts: median %.2f times as fast as ATen (least %.2f: %s), %.2f as dividing "
      "(least %.2f)\n",
      c10::toString(dtype), by_aten.size(), Median(by_aten),
      *std::min_element(by_aten.begin(), by_aten.end()), slowest.c_str(), Median(by_dividing),
      *std::min_element(by_dividing.begin(), by_dividing.end()));
  return true;
}

}  // namespace
}  // namespace graphnet

int main() {
  at::set_num_threads(1);
  const c10::InferenceMode no_gradients;
  std::printf("%-26s %9s %8s %8s %8s %7s %7s\n", "layout", "elements", "ms", "ATen", "dividing",
              "x ATen", "x div.");
  const bool equal = graphnet::Measure<uint32_t>(at::kFloat, true) &&
                     graphnet::Measure<uint8_t>(at::kByte, false) &&
                     graphnet::Measure<uint16_t>(at::kHalf, false) &&
                     graphnet::Measure<uint64_t>(at::kDouble, false);
  return equal ? 0 : 1;
}
