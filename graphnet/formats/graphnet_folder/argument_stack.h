// ArgumentStack: the arguments of the expression that is being parsed. Elements
// are pushed as they come; a closed bracket turns the topmost ones into a list
// whose address stays valid until Reset.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_ARGUMENT_STACK_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_ARGUMENT_STACK_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "graphnet/ir/argument.h"

namespace graphnet {

class ArgumentStack {
 public:
  size_t size() const { return stack_.size(); }
  void Push(const Argument& arg) { stack_.push_back(arg); }
  // The elements from `base` on; valid until the next Push.
  absl::Span<const Argument> From(size_t base) const {
    return absl::MakeConstSpan(stack_).subspan(base);
  }
  void Pop(size_t base) { stack_.resize(base); }

  // Takes the elements from `base` on off the stack and keeps them.
  absl::Span<const Argument> Close(size_t base) {
    const size_t n = stack_.size() - base;
    if (n > left_) {
      const size_t size = std::max(n, kBlock);
      blocks_.push_back(std::make_unique<Argument[]>(size));
      next_ = blocks_.back().get();
      left_ = size;
    }
    Argument* const out = next_;
    std::copy_n(stack_.data() + base, n, out);
    next_ += n;
    left_ -= n;
    stack_.resize(base);
    return absl::MakeConstSpan(out, n);
  }

  // Forgets everything; the first block is used again.
  void Reset() {
    stack_.clear();
    if (blocks_.empty()) return;
    blocks_.resize(1);
    next_ = blocks_[0].get();
    left_ = kBlock;  // It has at least that many.
  }

 private:
  static constexpr size_t kBlock = 1024;

  std::vector<Argument> stack_;
  std::vector<std::unique_ptr<Argument[]>> blocks_;
  Argument* next_ = nullptr;
  size_t left_ = 0;
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_ARGUMENT_STACK_H_
