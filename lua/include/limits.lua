-- The numbers that several scripts use, or scripts and C++ (lua_limits.hpp): where a script has the
-- name, the server gets the number (cmake/ReadLua.cmake). It is not to be included.
local k_longest_name = 1024            --#count  bytes of a lock's name
local k_longest_value = 1024           --#count  bytes of a string that is taken for a lock, or shown
local k_most_holders = 10000           --#count  that are told of; an application's hash can have more fields
local k_most_holds = 1000              --#count  of a reader
local k_our_wait = 15000               --#ms  that a waiter of rlock's adds to deadlines, as a rule
local k_peer_wait = 300000             --#ms  that one of Redisson's adds, as a rule
local k_time_to_come = 8000            --#ms  that a waiter has, once it was told that the lock is free
local k_short_lease = 7000             --#ms  who waits asks again within such a time anyway
local k_longest_silence = 60000        --#ms  of rlock's waiters, at least
local k_far = 3600000                  --#ms  no such wait is so long, unless a clock was wrong
local k_longest_sleep = 5000           --#ms  between two requests of a waiter near the head
local k_idle = 86400000                --#ms  how long a semaphore of rlock's outlives its last permit, at the most
local k_for_ever = 100000000000000     --#ms  Redisson's permits without a lease end later than in so long
local k_furthest = 9000000000000000    --#ms  no moment and no span is so far
