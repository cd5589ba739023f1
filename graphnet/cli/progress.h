// Progress of long work, for a person at a terminal.
#ifndef GRAPHNET_CLI_PROGRESS_H_
#define GRAPHNET_CLI_PROGRESS_H_

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

namespace graphnet {

// While it lives, and after a second, the terminal's last line says what goes on and for how long
// it has, with a bar, the rate and the expected end where the end is known. Nothing without a terminal. What is printed
// meanwhile goes through Print.
class Progress {
 public:
  explicit Progress(std::string what);
  explicit Progress(size_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { End(); }

  void Say(std::string what);
  void Step(size_t done, size_t failed);
  // Text, of whole lines, for the standard output.
  void Print(const std::string& text);
  // Leaves nothing on the terminal.
  void End();

 private:
  Progress(std::string what, size_t total);
  void Show();

  const bool on_;
  const size_t total_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  bool shown_ = false;
  size_t done_ = 0;
  std::string what_;
  std::thread thread_;
};

}  // namespace graphnet

#endif  // GRAPHNET_CLI_PROGRESS_H_
