// Shows the progress of long work: a bar on a terminal, lines in a log.
#ifndef GRAPHNET_COMMAND_PROGRESS_H_
#define GRAPHNET_COMMAND_PROGRESS_H_

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

namespace graphnet {

// The form of progress on the standard error.
enum class ProgressForm {
  kAuto,   // a bar on a terminal, otherwise lines
  kBar,    // the last line of the terminal, updated several times a second
  kLines,  // one line per minute, for work on several samples
  kNone,
};
// Sets the form of all Progress objects that are made after this call.
void SetProgressForm(ProgressForm form);

// Shows the current step and the elapsed time as long as it lives, and if the total is known, the
// rate and the expected end. The bar appears after one second, a line after each minute. All other
// output must go through Note and Print meanwhile.
class Progress {
 public:
  explicit Progress(std::string what);
  explicit Progress(size_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { End(); }

  void Say(std::string what);
  void Step(size_t done, size_t failed);
  // Prints a line on the standard error.
  void Note(const std::string& line);
  // Prints text, which must be whole lines, on the standard output.
  void Print(const std::string& text);
  // Ends the display and clears it from the terminal.
  void End();

 private:
  Progress(std::string what, size_t total);
  void Show();
  // Returns the text to show after `seconds`.
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

#endif  // GRAPHNET_COMMAND_PROGRESS_H_
