// The command that the torture runs under a lock: work FILE MS [WORD...] [-- COMMAND...]
//
// Appends to FILE, one write a line: "enter NS pid=P owner=O token=T", "beat NS" every few ms for
// MS milliseconds, and "leave NS" when it ends by itself. NS is CLOCK_BOOTTIME in nanoseconds.
// Words:
//   ignore-term   SIGTERM, SIGINT and SIGHUP do nothing; each SIGTERM is noted: "term NS"
//   fork-away     a daemon of its own session beats, and work waits for it
//   leader-ends   its first thread ends, and another one beats: the process looks like a zombie
//   status=N      the exit status
// COMMAND is run, and waited for, in the middle of the time.
#include <fcntl.h>
#include <initializer_list>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr int64_t k_beat_ns = 5'000'000;

int history = -1;

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void note(const char* what, const char* more = "") {
  char line[1024];
  const int size =
      snprintf(line, sizeof line, "%s %lld%s\n", what, static_cast<long long>(now_ns()), more);
  if (write(history, line, static_cast<size_t>(size)) != size) _exit(99);
}

void note_term(int) { note("term"); }

void ignore_signals() {
  struct sigaction action {};
  action.sa_handler = note_term;
  sigaction(SIGTERM, &action, nullptr);
  for (int number : {SIGINT, SIGHUP}) signal(number, SIG_IGN);
}

void beat_for(int64_t span_ns) {
  const int64_t end = now_ns() + span_ns;
  for (int64_t left = span_ns; left > 0; left = end - now_ns()) {
    const timespec pause{0, static_cast<long>(left < k_beat_ns ? left : k_beat_ns)};
    nanosleep(&pause, nullptr);
    note("beat");
  }
}

// Has a daemon beat: its parent has ended, and its session is its own.
void beat_far_away(int64_t span_ns) {
  int alive[2];
  if (pipe2(alive, O_CLOEXEC) != 0) _exit(99);
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    beat_for(span_ns);
    _exit(0);
  }
  close(alive[1]);
  char byte;
  while (read(alive[0], &byte, 1) < 0) {
  }
  waitpid(child, nullptr, 0);
}

struct Rest {
  int64_t span_ns;
  int status;
};

void* finish(void* argument) {
  const Rest rest = *static_cast<Rest*>(argument);
  beat_for(rest.span_ns);
  note("leave");
  _exit(rest.status);
}

void run(char** command) {
  const pid_t child = fork();
  if (child == 0) {
    for (int number : {SIGTERM, SIGINT, SIGHUP}) signal(number, SIG_DFL);
    execvp(command[0], command);
    _exit(127);
  }
  while (child > 0 && waitpid(child, nullptr, 0) < 0) {
  }
}

// Returns the first line of a variable, or "-".
const char* variable(const char* name) {
  char* value = getenv(name);
  if (value == nullptr || *value == 0) return "-";
  value[strcspn(value, "\n")] = 0;
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  bool is_far_away = false;
  bool leader_ends = false;
  int status = 0;
  char** command = nullptr;
  for (int i = 3; i < argc && command == nullptr; ++i) {
    if (strcmp(argv[i], "--") == 0) {
      command = argv + i + 1;
    } else if (strcmp(argv[i], "fork-away") == 0) {
      is_far_away = true;
    } else if (strcmp(argv[i], "leader-ends") == 0) {
      leader_ends = true;
    } else if (strcmp(argv[i], "ignore-term") == 0) {
      ignore_signals();
    } else if (strncmp(argv[i], "status=", 7) == 0) {
      status = atoi(argv[i] + 7);
    } else {
      return 99;
    }
  }
  history = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (history < 0) return 99;
  char more[900];
  snprintf(more, sizeof more, " pid=%d owner=%s token=%s", static_cast<int>(getpid()),
           variable("RLOCK_OWNER"), variable("RLOCK_TOKEN"));
  note("enter", more);
  const int64_t span_ns = atoll(argv[2]) * 1'000'000;
  if (leader_ends) {
    static Rest rest{span_ns, status};
    pthread_t thread;
    if (pthread_create(&thread, nullptr, finish, &rest) != 0) _exit(99);
    pthread_exit(nullptr);
  }
  if (is_far_away) {
    beat_far_away(span_ns);
  } else if (command != nullptr) {
    beat_for(span_ns / 2);
    run(command);
    beat_for(span_ns / 2);
  } else {
    beat_for(span_ns);
  }
  note("leave");
  return status;
}
