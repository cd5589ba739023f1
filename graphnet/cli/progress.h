// Progress of long work: a bar for a person at a terminal, lines for a log.
#ifndef GRAPHNET_CLI_PROGRESS_H_
#define GRAPHNET_CLI_PROGRESS_H_

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

namespace graphnet {

// How progress is told, on the standard error.
enum class ProgressForm {
  kAuto,   // a bar on a terminal, else lines
  kBar,    // the last line of the terminal, anew several times a second
  kLines,  // a line a minute, of work on several samples
  kNone,
};
// Sets the form of all progress that begins from now on.
void SetProgressForm(ProgressForm form);

// While it lives, says what goes on and for how long it has, with the rate and the expected end
// where the end is known: a bar after a second, or a line after each minute. What is printed
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
  // A line for the standard error.
  void Note(const std::string& line);
  // Text, of whole lines, for the standard output.
  void Print(const std::string& text);
  // Leaves nothing on the terminal.
  void End();

 private:
  Progress(std::string what, size_t total);
  void Show();
  // What goes on, after `seconds` of it.
  std::string Status(double seconds) const;

  const ProgressForm form_;  // not kAuto
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
