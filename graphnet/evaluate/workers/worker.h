// The code that workers in C++ share: requests, answers, tensors in .safetensors files
// (docs/evaluation_reference.md). It is compiled when a backend is installed, so it uses nlohmann/json and
// the standard library only, nothing of graphnet. Compilers' libraries throw exceptions.
#ifndef GRAPHNET_EVALUATE_WORKERS_WORKER_H_
#define GRAPHNET_EVALUATE_WORKERS_WORKER_H_

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

namespace worker {

using Json = nlohmann::json;

// A failure at stage "compile", "run" or "inputs".
struct Failure : std::runtime_error {
  Failure(std::string stage, const std::string& what)
      : std::runtime_error(what), stage(std::move(stage)) {}
  std::string stage;
};

// A tensor in row-major order, aligned to 64 bytes. Copies share the memory.
struct Tensor {
  std::string dtype;  // as .safetensors writes it: "F32"
  std::vector<int64_t> shape;
  std::shared_ptr<char> memory;
  size_t bytes = 0;

  char* data() const { return memory.get(); }
  bool is_float() const {
    return dtype[0] == 'F' || (dtype[0] == 'B' && dtype[1] == 'F') || dtype[0] == 'C';
  }

  void Allocate(size_t size) {
    bytes = size;
    memory.reset(static_cast<char*>(std::aligned_alloc(64, (size + 64) / 64 * 64)), std::free);
    if (memory == nullptr) throw Failure("inputs", "out of memory");
  }
};

inline size_t ElementBytes(const std::string& dtype) {
  static const std::map<std::string, size_t> sizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"I16", 2}, {"U16", 2}, {"F16", 2}, {"BF16", 2},
      {"I32", 4},  {"U32", 4}, {"F32", 4}, {"C64", 8}, {"F64", 8}, {"I64", 8}, {"U64", 8}};
  const auto it = sizes.find(dtype);
  if (it == sizes.end()) throw Failure("inputs", "a tensor of dtype " + dtype);
  return it->second;
}

inline size_t BytesOf(const std::string& dtype, const std::vector<int64_t>& shape) {
  size_t bytes = ElementBytes(dtype);
  for (const int64_t size : shape) bytes *= static_cast<size_t>(size);
  return bytes;
}

inline std::map<std::string, Tensor> ReadTensors(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  uint64_t length = 0;
  file.read(reinterpret_cast<char*>(&length), sizeof(length));
  if (!file || length > (uint64_t{1} << 30)) throw Failure("inputs", "cannot read " + path);
  std::string text(length, ' ');
  file.read(text.data(), static_cast<std::streamsize>(length));
  const Json header = Json::parse(text);
  std::map<std::string, Tensor> tensors;
  for (const auto& [key, entry] : header.items()) {
    if (key == "__metadata__") continue;
    Tensor tensor;
    tensor.dtype = entry.at("dtype").get<std::string>();
    tensor.shape = entry.at("shape").get<std::vector<int64_t>>();
    tensor.Allocate(BytesOf(tensor.dtype, tensor.shape));
    file.seekg(
        static_cast<std::streamoff>(8 + length + entry.at("data_offsets").at(0).get<uint64_t>()));
    file.read(tensor.data(), static_cast<std::streamsize>(tensor.bytes));
    if (!file) throw Failure("inputs", path + " ends early");
    tensors[key] = std::move(tensor);
  }
  return tensors;
}

// Writes tensors under the names "0", "1", … to a file, which appears whole or not at all.
inline void WriteTensors(const std::vector<Tensor>& tensors, const std::string& path) {
  const std::string part = path + ".part";
  std::ofstream file(part, std::ios::binary);
  Json header = Json::object();
  size_t end = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    header[std::to_string(i)] = {{"dtype", tensors[i].dtype},
                                 {"shape", tensors[i].shape},
                                 {"data_offsets", {end, end + tensors[i].bytes}}};
    end += tensors[i].bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t length = text.size();
  file.write(reinterpret_cast<const char*>(&length), sizeof(length));
  file << text;
  for (const Tensor& tensor : tensors)
    file.write(tensor.data(), static_cast<std::streamsize>(tensor.bytes));
  file.close();
  if (!file || std::rename(part.c_str(), path.c_str()) != 0)
    throw Failure("run", "cannot write " + path);
}

// Fills the memory with nan, or with bits that are all ones (true for bool).
inline void Poison(const std::string& dtype, char* data, size_t bytes) {
  const auto fill = [&](auto value) {
    for (size_t at = 0; at + sizeof(value) <= bytes; at += sizeof(value))
      std::memcpy(data + at, &value, sizeof(value));
  };
  if (dtype == "F32" || dtype == "C64") return fill(std::numeric_limits<float>::quiet_NaN());
  if (dtype == "F64") return fill(std::numeric_limits<double>::quiet_NaN());
  if (dtype == "F16") return fill(uint16_t{0x7e00});
  if (dtype == "BF16") return fill(uint16_t{0x7fc0});
  std::memset(data, dtype == "BOOL" ? 1 : 0xff, bytes);
}

// A compiler and the one program that it holds.
class Worker {
 public:
  virtual ~Worker() = default;
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  // Compiles the program of a request for inputs like these.
  virtual void Prepare(const Json& request, const std::vector<Tensor>& inputs) = 0;
  // Sets the inputs of the next calls.
  virtual void SetInputs(const std::vector<Tensor>& inputs) = 0;
  // Runs one call to its end.
  virtual void Run() = 0;
  // Returns copies of the outputs of the last call.
  virtual std::vector<Tensor> Outputs() = 0;
  virtual void PoisonOutputs() {}
  virtual std::string Proof() const = 0;
  // Returns the part of an exception's text that says what is wrong. Only its first line is sent.
  virtual std::string Message(const std::string& text) const { return text; }
  virtual void Close() = 0;
};

inline std::string OneLine(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) break;
  }
  return line.substr(0, 1000);
}

class Server {
 public:
  explicit Server(Worker* worker) : worker_(*worker) {}

  Json Answer(const Json& request) {
    const std::string verb = request.at("verb");
    try {
      if (verb == "hello")
        return {{"ok", true},
                {"name", worker_.name()},
                {"version", worker_.version()},
                {"devices", {"cpu"}},
                {"slots", true}};
      if (verb == "prepare") return Prepare(request);
      if (verb == "run") return Run(request);
      if (verb == "time") return Time(request);
      if (verb == "close") {
        worker_.Close();
        return {{"ok", true}};
      }
      throw Failure("run", "there is no verb " + verb);
    } catch (const Failure& failure) {
      return Refusal(failure.stage, failure.what());
    } catch (const std::exception& error) {
      std::cerr << error.what() << std::endl;
      return Refusal(verb == "prepare" ? "compile" : "run", worker_.Message(error.what()));
    }
  }

  static Json Refusal(const std::string& stage, const std::string& what) {
    return {{"ok", false}, {"stage", stage}, {"error", OneLine(what)}};
  }
  std::vector<Tensor> Read(const Json& request) const {
    const std::map<std::string, Tensor> read = ReadTensors(request.at("inputs"));
    std::vector<Tensor> inputs;
    for (const std::string& name : order_) {
      const auto it = read.find(name);
      if (it == read.end()) throw Failure("inputs", "there is no input " + name);
      inputs.push_back(it->second);
    }
    return inputs;
  }

  Json Prepare(const Json& request) {
    order_ = request.at("order").get<std::vector<std::string>>();
    worker_.Close();
    worker_.Prepare(request, Read(request));
    return {{"ok", true}};
  }

 private:
  Json Run(const Json& request) {
    const std::vector<Tensor> inputs = Read(request);
    worker_.SetInputs(inputs);
    worker_.Run();
    WriteTensors(worker_.Outputs(), request.at("outputs"));
    const std::vector<Tensor> again = Read(request);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (std::memcmp(inputs[i].data(), again[i].data(), inputs[i].bytes) != 0)
        throw Failure("run", "changed its input " + order_[i]);
    }
    return {{"ok", true}, {"proof", worker_.Proof()}};
  }

  Json Time(const Json& request) {
    const std::vector<Tensor> inputs = Read(request);
    worker_.SetInputs(inputs);
    const int warmup = request.at("warmup"), trials = request.at("trials");
    std::vector<double> ms;
    for (int trial = -warmup; trial < trials; ++trial) {
      const auto begin = std::chrono::steady_clock::now();
      worker_.Run();
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - begin;
      if (trial >= 0) ms.push_back(took.count());
      if (trial == trials - 1) WriteTensors(worker_.Outputs(), request.at("outputs"));
      worker_.PoisonOutputs();
    }
    return {{"ok", true}, {"ms", ms}};
  }

  Worker& worker_;
  std::vector<std::string> order_;
};

// The slots, each of which has a worker and a program of its own.
template <typename W>
class Slots {
 public:
  std::string Answer(const std::string& line) {
    const Json request = Json::parse(line);
    return slots_[request.value("slot", 0)].server.Answer(request).dump(
        -1, ' ', true, Json::error_handler_t::replace);
  }

 private:
  struct Slot {
    W worker;
    Server server{&worker};
  };
  std::map<int, Slot> slots_;
};

// Answers requests until there are no more.
template <typename W>
int Serve() {
  Slots<W> slots;
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::string answer = slots.Answer(line) + "\n";
    for (size_t written = 0; written < answer.size();) {
      const ssize_t count = write(3, answer.data() + written, answer.size() - written);
      if (count <= 0) return 1;
      written += static_cast<size_t>(count);
    }
  }
  return 0;
}

}  // namespace worker

#endif  // GRAPHNET_EVALUATE_WORKERS_WORKER_H_
