// Fingerprints of ranges: two ranges have one fingerprint if the pieces that CutRanges makes of them
// have one CanonicalHash with metas.
//
//   RangeWalk walk(keys);
//   walk.Start(form, 3);
//   while (walk.Extend()) Use(walk.end(), walk.Piece());  // [3, 4), [3, 5), …
#ifndef GRAPHNET_CORPUS_RANGE_WALK_H_
#define GRAPHNET_CORPUS_RANGE_WALK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "graphnet/corpus/range_form.h"

namespace graphnet::corpus_internal {

// Two polynomials of what a piece consists of, each at a random point of the field of integers modulo
// 2^61 - 1. So different pieces have one fingerprint with a probability of less than 2^-80, whoever
// chose them.
struct Fingerprint {
  uint64_t a = 0;
  uint64_t b = 0;

  friend bool operator==(const Fingerprint& x, const Fingerprint& y) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Fingerprint& f) {
    return H::combine(std::move(h), f.a, f.b);
  }
};

// The random points, which are drawn once for all ranges that are to be compared.
struct FingerprintKeys {
  FingerprintKeys();
  Fingerprint words;    // for the list of words
  Fingerprint outputs;  // for the set of outputs
  Fingerprint pieces;   // for a list of fingerprints
};

// The fingerprint of a list, of which each element is two numbers below 2^61.
class ListPrint {
 public:
  explicit ListPrint(const Fingerprint& point) : point_(point) {}
  void Add(const Fingerprint& element);
  const Fingerprint& get() const { return sum_; }

 private:
  Fingerprint point_;
  Fingerprint sum_ = {1, 1};  // so that the number of elements counts
};

// Makes the fingerprints of the ranges that begin at one place, each from the one before.
class RangeWalk {
 public:
  // `keys` must outlive this.
  explicit RangeWalk(const FingerprintKeys& keys) : keys_(keys), words_(keys.words) {}

  // Goes to the empty range before an operator. The form must live until the next Start.
  void Start(const RangeForm& form, uint32_t start);
  // Takes the next operator. Returns false if there is none, if no range has it, or if the range would take, read or
  // return more values than kMaxWorkPerOperator for each operator, or kLeastWork.
  bool Extend();
  // The range is [start, end).
  uint32_t end() const { return end_; }
  bool has_next() const { return end_ < form_->num_operators() && !form_->stops_at(end_); }
  // Returns whether Extend ended at a limit.
  bool is_too_large() const { return is_too_large_; }
  // Returns the fingerprint of the piece, or nothing beyond a limit. A cut must be allowed at both
  // ends.
  std::optional<Fingerprint> Piece();
  // Returns the fingerprint of the operators alone. If it differs, so do the pieces of this range and
  // of all that go on from it.
  const Fingerprint& Stem() const { return words_.get(); }

  static constexpr uint64_t kLeastWork = 4096;
  static constexpr uint64_t kMaxWorkPerOperator = 64;

 private:
  // A number that a node or label has in the walk with the number `walk`.
  struct Mark {
    uint64_t walk = 0;
    uint32_t number = 0;
  };

  void Add(uint64_t word);
  void AddLabels(const RangeForm::Word& word);
  void AddNode(uint32_t node);
  void AddOperand(uint32_t node);
  void AddEnd();
  void AddExtra(uint32_t node);
  void Touch(uint32_t node, bool with_ports);
  void AddExtras(uint32_t end);
  void AddOutput(uint32_t node, uint32_t id);
  void RemoveOutput(uint32_t node, uint32_t id);
  bool IsRead(uint32_t node) const;
  const Fingerprint& Power(uint32_t id);
  bool Charge(uint64_t work);

  const FingerprintKeys& keys_;
  std::vector<Fingerprint> powers_;  // of keys_.outputs
  const RangeForm* form_ = nullptr;
  uint64_t walk_ = 0;
  uint32_t start_ = 0;
  uint32_t end_ = 0;
  bool is_too_large_ = false;
  uint64_t work_ = 0;  // what the walk may still do
  ListPrint words_;
  Fingerprint outputs_;
  uint32_t outside_ = 0;             // how many nodes outside of the range have a number
  std::vector<Mark> taken_;          // by node outside: the number
  std::vector<Mark> labels_;         // by label: the number
  std::vector<uint32_t> numbered_;   // the labels that have one
  std::vector<uint64_t> is_output_;  // by node: the walk in which it is one
  std::vector<uint64_t> is_extra_;   // by node: the walk in which it is in extras_
  std::vector<uint64_t> touched_;    // by memory: the walk that has touched it
  // The nodes outside that operators of the range take: ports and get_attrs, each in order.
  std::vector<uint32_t> ports_;
  std::vector<uint32_t> reads_;
  // The nodes outside that the piece takes or reads though none of its operators takes them: because
  // of the memory that it touches, or because the graph returns them.
  std::vector<uint32_t> extras_;
  std::vector<uint32_t> pending_bodies_;
};

}  // namespace graphnet::corpus_internal

#endif  // GRAPHNET_CORPUS_RANGE_WALK_H_
