// Bindings of samples and tensors as Python objects.
#ifndef GRAPHNET_PYTHON_BINDINGS_SAMPLE_H_
#define GRAPHNET_PYTHON_BINDINGS_SAMPLE_H_

#include <string>
#include <vector>

#include "graphnet/ir/sample.h"
#include "nanobind/nanobind.h"
#include "python/bindings/objects.h"

namespace graphnet {

// A view of a module as a sample: the same C++ object with other fields visible.
struct SampleObject {
  nb::object owner;  // a Module
  ModuleObject& get() const { return nb::cast<ModuleObject&>(owner); }
};

nb::object MakeSample(Sample sample, nb::object base = {}, bool is_verified = true);
nb::object CopySample(const SampleObject& self);  // Sample.copy
// Returns a text without the middle of it if it has hundreds of lines, and without the ends of
// lines of thousands of bytes.
std::string Shortened(const std::string& text);

struct TensorObject {
  TensorData data;
};

// Reads an object that has __dlpack__ or a buffer. Its bytes are not copied if they are contiguous.
TensorData ReadTensor(nb::handle value);

// Returns an independent sample with a clone of the module. It shares the weights. The module must
// verify.
Sample WholeCopyOf(const Sample& sample);

// Borrows samples as an array, for functions that take a span of them, and gives them back when it
// is destroyed. The modules keep their addresses.
class BorrowedSamples {
 public:
  explicit BorrowedSamples(const std::vector<ModuleObject*>& modules);
  BorrowedSamples(BorrowedSamples&&) noexcept = default;
  BorrowedSamples& operator=(BorrowedSamples&&) = delete;
  ~BorrowedSamples();
  std::vector<Sample>& get() { return samples_; }

 private:
  std::vector<Sample> samples_;
};

void BindTensor(nb::module_& m);
void BindSample(nb::module_& m);
// Functions that load, save, rewrite, cut and run samples.
void BindOperations(nb::module_& m);
void BindCommands(nb::module_& m);
void BindRuns(nb::module_& m);

}  // namespace graphnet

#endif  // GRAPHNET_PYTHON_BINDINGS_SAMPLE_H_
