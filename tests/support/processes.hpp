// Looking at the processes of this machine through /proc.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace rlock::test {

// Some fields of /proc/PID/stat.
struct ProcessStat {
  char state = '?';  // R, S, D, T (stopped), Z (zombie) ...
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
};

// Returns nullopt when there is no such process.
std::optional<ProcessStat> process_stat(pid_t pid);

// Returns the live (non-zombie) processes, other than this one, whose environment at its start or
// whose command line contains marker. Processes of other users are seen by their command line only.
std::vector<pid_t> processes_with(std::string_view marker);

// Returns the live (non-zombie) members of a process group, or of a session.
std::vector<pid_t> processes_in_group(pid_t group);
std::vector<pid_t> processes_in_session(pid_t session);

// True when pid exists and is not a zombie.
bool alive(pid_t pid);

// True when pid is stopped by a signal (SIGSTOP, Ctrl-Z).
bool stopped(pid_t pid);

// How many threads pid has; 0 when there is no such process.
std::ptrdiff_t threads_of(pid_t pid);

// How often pid has slept, or waited for something; -1 when there is no such process.
long sleeps_of(pid_t pid);

// Resident memory in KiB (VmRSS); -1 when there is no such process.
long resident_kib(pid_t pid);
// The most that it ever was (VmHWM); -1 when there is no such process.
long most_resident_kib(pid_t pid);

// The environment variable and its value which main.cpp sets for a run, so that every program
// started by this test process, and what those start, carries it. Redis servers of class Server do
// not.
inline constexpr const char* k_mark_variable = "RLOCK_TEST_RUN";

// Kills (SIGKILL) every live process that has marker in its environment or command line, until none
// is left or 5 s have passed. marker must be unique to processes that the caller started; one of
// less than 8 bytes throws std::invalid_argument.
void kill_processes_with(std::string_view marker);

}  // namespace rlock::test
