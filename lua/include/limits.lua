-- The numbers that several scripts use, or scripts and C++ (lua_limits.hpp). cmake/ReadLua.cmake puts the
-- number where a script has the name. Do not include this file.
local k_longest_name = 1024            --#count  bytes of a lock's name
local k_longest_value = 1024           --#count  bytes of a string that counts as a lock, or is shown
local k_most_holders = 10000           --#count  of a lock; a hash with more fields is an application's
local k_most_holds = 1000              --#count  of one reader
local k_most_at_once = 1000            --#count  arguments of one command: Lua's stack is too small for all
local k_near = 100                     --#count  waiters at the head that are looked at one by one
local k_most_judged = 50               --#count  waiters that one request for a whole queue looks at
local k_reach = 5000                   --#count  entries of the queue to pass over in one request, to reach some of them
local k_our_wait = 15000               --#ms  the default of --fair-wait
local k_peer_wait = 300000             --#ms  the default time that a Redisson waiter adds
local k_time_to_come = 8000            --#ms  the time that a called waiter has to come
local k_short_lease = 7000             --#ms  a waiter asks again within this time anyway
local k_longest_silence = 60000        --#ms  a living rlock waiter asks again within this time, even after an outage
local k_far = 3600000                  --#ms  longer than any real wait. A clock may be as wrong, too
local k_longest_sleep = 5000           --#ms  the longest sleep of a waiter near the head, plus up to 1 s
local k_idle = 86400000                --#ms  the longest time that rlock's semaphore outlives its last permit
local k_for_ever = 100000000000000     --#ms  a permit that ends later has no lease in Redisson
local k_highest_token = 9000000000000000000  --#count  no run draws a higher one: tokens begin at the clock (us)
local k_furthest = 9000000000000000    --#ms  beyond every moment and every span
