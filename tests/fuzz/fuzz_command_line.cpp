// Any words as a command line. NULs in the input separate the words behind "rlock". Nothing runs.

#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/app.hpp"
#include "fuzz/require.hpp"

using namespace rlock;
using namespace rlock::fuzz;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> words{"rlock"};
  std::string_view text = as_text(data, size);
  while (!text.empty()) words.emplace_back(take_until(text, '\0'));
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  const auto count = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  try {
    const auto action = cli::parse(count, argv.data());
    require(static_cast<bool>(action), "a good command line can be run");
  } catch (const Error& error) {
    const std::string_view message = error.what();
    require(error.status() == ExitStatus::usage, "a bad command line is a matter of usage");
    require(!message.empty() && message.find_first_of("\n\r\x1b") == std::string_view::npos,
            "a message is one line, harmless for a terminal");
  }
  return 0;
}
