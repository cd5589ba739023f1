// The compiler of scaling_worker.py as a worker in C++. It fails without a word on
// bools, and writes to inputs of bytes.
#include <fstream>
#include <string>
#include <vector>

#include "graphnet/evaluate/workers/worker.h"

namespace {

class ScalingWorker : public worker::Worker {
 public:
  std::string name() const override { return "scaling"; }
  std::string version() const override { return "1"; }
  void Prepare(const worker::Json& request, const std::vector<worker::Tensor>&) override {
    const worker::Tensor w = worker::ReadTensors(request.at("weights").get<std::string>()).at("w");
    std::memcpy(&factor_, w.data(), sizeof(factor_));
  }
  void SetInputs(const std::vector<worker::Tensor>& inputs) override { x_ = inputs.at(0); }
  void Run() override {
    if (x_.dtype == "BOOL") throw worker::Failure("run", "");
    if (x_.dtype == "U8") {
      ++*x_.data();
      y_ = x_;
      return;
    }
    if (x_.dtype != "F32") throw worker::Failure("run", "takes floats,\nnot " + x_.dtype);
    y_ = {x_.dtype, x_.shape, nullptr, 0};
    y_.Allocate(x_.bytes);
    for (size_t at = 0; at < x_.bytes; at += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, x_.data() + at, sizeof(value));
      value *= factor_;
      std::memcpy(y_.data() + at, &value, sizeof(value));
    }
  }
  std::vector<worker::Tensor> Outputs() override { return {y_}; }
  std::string Proof() const override { return ""; }
  void Close() override {}

 private:
  float factor_ = 0;
  worker::Tensor x_, y_;
};

}  // namespace

int main() { return worker::Serve<ScalingWorker>(); }
