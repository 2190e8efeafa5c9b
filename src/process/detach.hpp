// How a helper process of rlock detaches from its caller.
#pragma once

#include <string>

namespace rlock::process {

// Gives this process a name and a title (the arguments that `ps` shows). The process must not have
// run another program since its fork. The name is not "rlock", so that the process survives
// `killall rlock` and `pkill rlock`, and can clean up.
void rename_process(const char* name, const std::string& title);

// Closes every descriptor except these two.
void close_all_but(int one, int other);

}  // namespace rlock::process
