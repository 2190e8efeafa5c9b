# Completion of rlock(1) for fish.

# Prints the command in the words before the cursor; fails if there is none.
function __rlock_command
    for word in (commandline -opc)[2..-1]
        switch $word
            case --
                return 1
            case exec acquire renew unlock evict inspect-queue list watch doctor
                echo $word
                return 0
        end
    end
    return 1
end

# Succeeds if the cursor is behind the `--` of exec.
function __rlock_is_behind_dashes
    contains -- -- (commandline -opc); and test "$(__rlock_command)" = exec
end

# Succeeds where one of the commands in the arguments, or none if there are none, has been given.
function __rlock_in
    contains -- -- (commandline -opc); and return 1
    set -l command (__rlock_command)
    if set -q argv[1]
        contains -- "$command" $argv
    else
        test -z "$command"
    end
end

# Succeeds where options of rlock can stand.
function __rlock_before_dashes
    not contains -- -- (commandline -opc)
end

# Completes what stands behind `--` as a command line of its own.
function __rlock_complete_command
    set -l words (commandline -opc)
    set -l first (math (contains -i -- -- $words) + 1)
    set -l rest
    if test $first -le (count $words)
        set rest (string escape -- $words[$first..-1])
    end
    complete -C (string join ' ' -- $rest (commandline -ct))
end

complete -c rlock -f
complete -c rlock -n __rlock_is_behind_dashes -a '(__rlock_complete_command)'

complete -c rlock -n '__rlock_in' -a exec -d 'Hold locks while a command runs'
complete -c rlock -n '__rlock_in' -a acquire -d 'Take a lock and leave; print its owner'
complete -c rlock -n '__rlock_in' -a renew -d 'Extend a lease once'
complete -c rlock -n '__rlock_in' -a unlock -d 'Release one hold of a lock, or break it'
complete -c rlock -n '__rlock_in' -a evict -d 'Take a waiter out of the queue'
complete -c rlock -n '__rlock_in' -a inspect-queue -d 'Show holders, waiters and raw state'
complete -c rlock -n '__rlock_in' -a list -d 'Show the locks on the server, one a line'
complete -c rlock -n '__rlock_in' -a watch -d 'Follow locks live'
complete -c rlock -n '__rlock_in' -a doctor -d 'Say what is wrong with server and locks'

complete -c rlock -n __rlock_before_dashes -s r -l redis -x -d 'Server'
complete -c rlock -n __rlock_before_dashes -l timeout -x -d 'Bound on each command'
complete -c rlock -n __rlock_before_dashes -l user -x -d 'User name'
complete -c rlock -n __rlock_before_dashes -l password-file -r -F -d 'File with the password'
complete -c rlock -n __rlock_before_dashes -l config -r -F -d 'Settings'
complete -c rlock -n __rlock_before_dashes -l json -d 'Print JSON, one value a line'
complete -c rlock -n __rlock_before_dashes -s q -l quiet -d 'Say less on stderr'
complete -c rlock -n __rlock_before_dashes -s v -l verbose -d 'Say more on stderr'
complete -c rlock -n __rlock_before_dashes -l color -x -a 'auto always never' -d 'When to colour'
complete -c rlock -n __rlock_before_dashes -s h -l help -d 'Print a summary and exit'
complete -c rlock -n '__rlock_in' -s V -l version -d 'Print the version and exit'

complete -c rlock -n '__rlock_in exec acquire' -l kind -x -a 'reentrant fair' -d 'Kind of lock'
complete -c rlock -n '__rlock_in exec acquire' -l fair -d 'First come, first served'
complete -c rlock -n '__rlock_in exec acquire' -l fair-wait -x \
    -d 'How long a dead waiter keeps its place'
complete -c rlock -n '__rlock_in exec acquire' -s w -l wait -x -d 'Give up after so long'
complete -c rlock -n '__rlock_in exec acquire' -s n -l no-wait -d 'Do not wait'
complete -c rlock -n '__rlock_in exec acquire renew' -l lease -x -d 'How long the lock is kept'
complete -c rlock -n '__rlock_in exec acquire' -l no-watchdog -d 'Do not renew the lease'
complete -c rlock -n '__rlock_in exec acquire' -l note -x -d 'Words that others see beside the owner'
complete -c rlock -n '__rlock_in exec acquire' -l no-info -d 'Do not tell others host, process, user and program'
complete -c rlock -n '__rlock_in exec acquire' -s E -l conflict-exit-code -x \
    -d 'Exit status when not acquired'
complete -c rlock -n '__rlock_in exec' -s c -x -d 'Run a line of shell'
complete -c rlock -n '__rlock_in exec' -l on-lost -x -a 'term kill ignore' \
    -d 'What the command gets when the lock is lost'
complete -c rlock -n '__rlock_in exec' -l kill-after -x -d 'From SIGTERM to SIGKILL'
complete -c rlock -n '__rlock_in exec' -l at-least -x -d 'Keep the lock at least so long'
complete -c rlock -n '__rlock_in exec' -l at-most -x -d 'End the command after so long'
complete -c rlock -n '__rlock_in renew unlock' -l owner -x -d 'Who holds the lock'
complete -c rlock -n '__rlock_in unlock' -l force -d 'Break the lock and wake the waiters'
complete -c rlock -n '__rlock_in unlock' -s y -l yes -d 'Do not ask before breaking it'
complete -c rlock -n '__rlock_in unlock' -l kind -x -a simple -d 'Break a string'
complete -c rlock -n '__rlock_in list' -l stuck -d 'Show only locks with a problem'
complete -c rlock -n '__rlock_in list' -l simple -x -d 'Show also strings, as simple locks'
complete -c rlock -n '__rlock_in watch' -l until -x -a 'held free' \
    -d 'End as soon as all the locks are so'
complete -c rlock -n '__rlock_in watch' -l for -x -d 'End after so long'
complete -c rlock -n '__rlock_in doctor' -l repair -d 'Remove what is provably garbage'
complete -c rlock -n '__rlock_in doctor' -l dry-run -d 'Only say what would be removed'
