// What a small process of ours does to be none of its caller's any more.
#pragma once

#include <string>

namespace rlock::process {

// Gives this process, which has not run another program since its fork, a name and a title (what
// `ps` shows for its arguments). Another name than rlock, so that `killall rlock` and `pkill rlock`
// leave somebody to clean up.
void rename_process(const char* name, const std::string& title);

// Closes every descriptor but these two.
void close_all_but(int one, int other);

}  // namespace rlock::process
