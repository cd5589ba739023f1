#include "graphnet/corpus/range_walk.h"

#include <algorithm>
#include <random>

namespace graphnet::corpus_internal {
namespace {

constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;

uint64_t Reduced(uint64_t x) { return x >= kPrime ? x - kPrime : x; }

uint64_t Product(uint64_t x, uint64_t y) {
  const auto product = static_cast<unsigned __int128>(x) * y;
  return Reduced(static_cast<uint64_t>(product & kPrime) + static_cast<uint64_t>(product >> 61));
}

Fingerprint RandomPoint() {
  std::random_device device;
  std::uniform_int_distribution<uint64_t> draw(uint64_t{1} << 32, kPrime - 1);
  return {draw(device), draw(device)};
}

// The kinds of words, in their lowest bits. A list of words can be read from its beginning: the token
// of an operator says how many operands and labels follow.
enum Kind : uint64_t {
  kOperator,
  kInside,     // an operand in the range, by its distance
  kKnown,      // an operand outside that the range took before
  kPort,       // an operand outside that is an input of the piece
  kRead,       // an operand that is a get_attr in the piece
  kPlace,      // the place of that get_attr
  kLabel,      // a label
  kExtraPort,  // an input that no operator takes
  kExtraRead,  // a get_attr that no operator takes
  kOutputs,    // the end of the piece
};
constexpr int kKindBits = 4;
constexpr int kTokenBits = 32;

uint64_t Word(Kind kind, uint64_t value) { return value << kKindBits | kind; }
// The rank is below the limit of the work, 2^25 at the most.
uint64_t Word(Kind kind, uint64_t rank, uint32_t token) {
  return Word(kind, rank << kTokenBits | token);
}

// Inserts a number into a sorted list. Returns its place.
uint64_t Insert(uint32_t number, std::vector<uint32_t>* sorted) {
  const auto at = std::lower_bound(sorted->begin(), sorted->end(), number);
  const auto rank = static_cast<uint64_t>(at - sorted->begin());
  sorted->insert(at, number);
  return rank;
}

uint64_t RankOf(uint32_t number, const std::vector<uint32_t>& sorted) {
  return static_cast<uint64_t>(std::lower_bound(sorted.begin(), sorted.end(), number) -
                               sorted.begin());
}

uint32_t InsideId(uint32_t distance) { return 2 * distance; }
uint32_t OutsideId(uint32_t number) { return 2 * number + 1; }

}  // namespace

void ListPrint::Add(const Fingerprint& element) {
  sum_ = {Reduced(Product(sum_.a, point_.a) + element.a),
          Reduced(Product(sum_.b, point_.b) + element.b)};
}

FingerprintKeys::FingerprintKeys()
    : words(RandomPoint()), outputs(RandomPoint()), pieces(RandomPoint()) {}

void RangeWalk::Start(const RangeForm& form, uint32_t start) {
  form_ = &form;
  ++walk_;
  start_ = end_ = start;
  is_too_large_ = false;
  work_ = kLeastWork;
  words_ = ListPrint(keys_.words);
  outputs_ = {};
  outside_ = 0;
  numbered_.clear();
  pending_bodies_.clear();
  ports_.clear();
  reads_.clear();
  extras_.clear();
  const auto fit = [](auto* marks, size_t size) {
    if (marks->size() < size) marks->resize(size);
  };
  fit(&taken_, form.output + 1);
  fit(&is_output_, form.output + 1);
  fit(&is_extra_, form.output + 1);
  fit(&labels_, form.num_labels);
  fit(&touched_, form.memory.size());
}

bool RangeWalk::Extend() {
  const RangeForm& form = *form_;
  const uint32_t i = form.first_operator + end_;
  if (i >= form.output || is_too_large_ || form.stops_at(end_)) return false;
  work_ += kMaxWorkPerOperator;
  const uint32_t begin = form.first_operator + start_;
  AddNode(i);
  Touch(i, /*with_ports=*/true);
  for (const uint32_t operand : form.operands(i)) {
    Touch(operand, /*with_ports=*/true);
    if (form.last_use[operand] != i) continue;
    RemoveOutput(operand,
                 operand >= begin ? InsideId(operand - begin) : OutsideId(taken_[operand].number));
  }
  if (form.last_use[i] > i) AddOutput(i, InsideId(i - begin));
  if (++end_ == form.num_operators()) AddEnd();
  return !is_too_large_;
}

void RangeWalk::AddNode(uint32_t node) {
  Add(Word(kOperator, form_->nodes[node].token));
  for (const uint32_t operand : form_->operands(node)) AddOperand(operand);
  AddLabels(form_->nodes[node]);
}

// The last piece returns what the graph returns.
void RangeWalk::AddEnd() {
  const uint32_t begin = form_->first_operator + start_;
  if (!form_->output_is_plain) AddNode(form_->output);
  for (const uint32_t operand : form_->operands(form_->output)) {
    Touch(operand, /*with_ports=*/false);
    if (!form_->output_is_plain || operand >= begin) continue;
    if (taken_[operand].walk == walk_) {
      AddOutput(operand, OutsideId(taken_[operand].number));
    } else {
      AddExtra(operand);
    }
  }
}

std::optional<Fingerprint> RangeWalk::Piece() {
  if (is_too_large_) return std::nullopt;
  const ListPrint words = words_;
  const uint64_t work = work_;
  const size_t numbered = numbered_.size();
  AddExtras(form_->first_operator + end_);
  if (end_ < form_->num_operators() || form_->output_is_plain) {
    Add(Word(kOutputs, form_->output_target));
    words_.Add(outputs_);
  }
  // The next range goes on from where this one was, and may give the labels of extras other numbers.
  for (; numbered_.size() > numbered; numbered_.pop_back()) labels_[numbered_.back()].walk = 0;
  work_ = work;
  const Fingerprint piece = std::exchange(words_, words).get();
  if (std::exchange(is_too_large_, false)) return std::nullopt;
  return piece;
}

void RangeWalk::Add(uint64_t word) { words_.Add({word, word}); }

bool RangeWalk::Charge(uint64_t work) {
  if (work > work_) {
    is_too_large_ = true;
    return false;
  }
  work_ -= work;
  return true;
}

// Adds the labels of a word and of the bodies that it refers to, by the order of their first use.
void RangeWalk::AddLabels(const RangeForm::Word& word) {
  const auto add = [this](const RangeForm::Word& next) {
    for (const uint32_t label : form_->labels(next)) {
      if (!Charge(1)) return;
      Mark& mark = labels_[label];
      if (mark.walk != walk_) {
        mark = {walk_, static_cast<uint32_t>(numbered_.size())};
        numbered_.push_back(label);
        if (label < form_->bodies.size()) pending_bodies_.push_back(label);
      }
      Add(Word(kLabel, mark.number));
    }
  };
  if (word.labels == 0) return;
  add(word);
  while (!pending_bodies_.empty()) {
    const RangeForm::Word& body = form_->bodies[pending_bodies_.back()];
    pending_bodies_.pop_back();
    Add(Word(kOperator, body.token));
    add(body);
  }
}

bool RangeWalk::IsRead(uint32_t node) const {
  if (!form_->is_get_attr(node)) return false;
  const int32_t c = form_->memory_of(node);
  return c == RangeForm::kNoMemory ||
         form_->memory[static_cast<size_t>(c)].first_write >= form_->first_operator + start_;
}

void RangeWalk::AddOperand(uint32_t node) {
  if (!Charge(1)) return;
  const uint32_t begin = form_->first_operator + start_;
  if (node >= begin) return Add(Word(kInside, node - begin));
  Mark& mark = taken_[node];
  if (mark.walk == walk_) return Add(Word(kKnown, mark.number));
  if (!Charge((ports_.size() + reads_.size()) / 64)) return;
  mark = {walk_, outside_++};
  if (IsRead(node)) {
    const uint32_t behind = form_->behind[node - form_->num_placeholders];
    Add(Word(kRead, Insert(node, &reads_), form_->nodes[node].token));
    Add(Word(kPlace, behind > begin ? behind - begin : 0));
    AddLabels(form_->nodes[node]);
  } else {
    Add(Word(kPort, Insert(node, &ports_), form_->ports[node].token));
    AddLabels(form_->ports[node]);
  }
  if (is_extra_[node] == walk_) {
    is_extra_[node] = 0;
    extras_.erase(std::lower_bound(extras_.begin(), extras_.end(), node));
  }
  // A piece hands on what it takes in memory that is written to.
  const int32_t c = form_->memory_of(node);
  if (c == RangeForm::kNoMemory || form_->memory[static_cast<size_t>(c)].last_write < begin) return;
  if (form_->last_use[node] >= form_->first_operator + end_)
    AddOutput(node, OutsideId(mark.number));
}

// Notes that the range touches the memory of a value. As CutRanges does, it reads the get_attrs of
// memory that no operator before it writes to. With `with_ports`, it takes all values of memory that
// is written to in it or later.
void RangeWalk::Touch(uint32_t node, bool with_ports) {
  const int32_t c = form_->memory_of(node);
  if (c == RangeForm::kNoMemory || std::exchange(touched_[static_cast<size_t>(c)], walk_) == walk_)
    return;
  const uint32_t begin = form_->first_operator + start_;
  const RangeForm::Memory& memory = form_->memory[static_cast<size_t>(c)];
  if (memory.last_write < begin) return;
  for (const uint32_t member : memory.members) {
    if (member >= begin || !Charge(1)) return;
    if (taken_[member].walk == walk_) continue;
    const uint32_t last_use = form_->last_use[member];
    if (IsRead(member) ? last_use == 0 : !with_ports || last_use < begin) continue;
    AddExtra(member);
  }
}

void RangeWalk::AddExtra(uint32_t node) {
  if (is_extra_[node] == walk_ || !Charge(1 + extras_.size() / 64)) return;
  is_extra_[node] = walk_;
  Insert(node, &extras_);
}

void RangeWalk::AddExtras(uint32_t end) {
  const uint32_t begin = form_->first_operator + start_;
  for (const uint32_t extra : extras_) {
    const bool is_output = form_->last_use[extra] >= end;
    if (IsRead(extra)) {
      const uint32_t behind = std::min(form_->behind[extra - form_->num_placeholders], end);
      Add(Word(kExtraRead, RankOf(extra, reads_), form_->nodes[extra].token));
      Add(Word(kPlace, (behind > begin ? behind - begin : 0) * 2 + (is_output ? 1 : 0)));
      AddLabels(form_->nodes[extra]);
    } else {
      Add(Word(kExtraPort, RankOf(extra, ports_), form_->ports[extra].token));
      Add(Word(kPlace, is_output ? 1 : 0));
      AddLabels(form_->ports[extra]);
    }
  }
}

void RangeWalk::AddOutput(uint32_t node, uint32_t id) {
  if (std::exchange(is_output_[node], walk_) == walk_) return;
  const Fingerprint& power = Power(id);
  outputs_ = {Reduced(outputs_.a + power.a), Reduced(outputs_.b + power.b)};
}

void RangeWalk::RemoveOutput(uint32_t node, uint32_t id) {
  if (is_output_[node] != walk_) return;
  is_output_[node] = 0;
  const Fingerprint& power = Power(id);
  outputs_ = {Reduced(outputs_.a + kPrime - power.a), Reduced(outputs_.b + kPrime - power.b)};
}

const Fingerprint& RangeWalk::Power(uint32_t id) {
  if (powers_.empty()) powers_.push_back(keys_.outputs);
  while (powers_.size() <= id) {
    const Fingerprint& last = powers_.back();
    powers_.push_back({Product(last.a, keys_.outputs.a), Product(last.b, keys_.outputs.b)});
  }
  return powers_[id];
}

}  // namespace graphnet::corpus_internal
