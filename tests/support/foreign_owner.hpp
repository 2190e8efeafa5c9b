// Owners that the runs of rlock under test are not.
#pragma once

#include <string>

namespace rlock::test {

// A client of another library, such as Redisson, and what its thread 42 holds locks as.
inline const std::string k_foreign_client = "8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a7";
inline const std::string k_foreign_owner = k_foreign_client + ":42";

// A second one, which also gets the locks that are taken away from those who hold them.
inline const std::string k_thief = "11111111-2222-4333-8444-555555555555:7";

// A permit of Redisson, and how rlock shows it.
inline const std::string k_foreign_permit = std::string("\x81\xfe\x01\x7f", 4) + "0123456789ab";
inline const std::string k_foreign_permit_shown = "81fe017f303132333435363738396162";

}  // namespace rlock::test
