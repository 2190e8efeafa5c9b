# Completion of rlock(1) for fish.

# Prints the command in the words before the cursor; fails if there is none.
function __rlock_command
    for word in (commandline -opc)[2..-1]
        switch $word
            case --
                return 1
            case exec acquire renew unlock evict fence inspect-queue list watch doctor config completion
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

# Prints, behind one NUL each, the options that tell the server. Fails where that cannot be known, as
# after `env` or `sudo`. Nothing is expanded or run here. fish tells a completion nothing of what stands
# after the cursor.
function __rlock_asked
    set -l words (commandline -opc)
    string match -qr -- '(^|/)rlock$' $words[1]; or return 1
    set -e words[1]
    set -l options redis user password-file tls-ca tls-cert tls-key config
    set -l asked
    while set -q words[1]
        set -l word $words[1]
        set -e words[1]
        switch $word
            case --
                break
            case --$options
                set -a asked $word
                set word (string replace -r -- '^~/' "$HOME/" "$words[1]")
                set -e words[1]
            case --$options'=*'
            case '--*'
                __rlock_takes_value $word; and set -e words[1]
                continue
            case -
                continue
            case '-*'
                # Letters: the rest of the word, if there is one, is the value of the first that has one.
                set -l letters (string split '' -- (string sub -s 2 -- $word))
                while set -q letters[1]; and not __rlock_takes_value -$letters[1]
                    set -e letters[1]
                end
                set -q letters[1]; or continue
                set -l value (string join '' -- $letters[2..-1])
                if test -z "$value"
                    set value (string replace -r -- '^~/' "$HOME/" "$words[1]")
                    set -e words[1]
                end
                test $letters[1] = r; or continue
                set -a asked -r
                set word $value
            case '*'
                continue
        end
        string match -qr -- '[$(<>]' $word; and return 1
        set -a asked $word
    end
    set -q asked[1]; and printf '%s\0' $asked
    return 0
end

# Succeeds if the value of the option is the next word.
function __rlock_takes_value
    contains -- "$argv[1]" -r --redis --timeout --user --password-file --tls-ca --tls-cert --tls-key \
        --config --color --kind --fair-wait -w --wait --lease --note \
        --sync-replicas --restart-delay --wait-server -E --conflict-exit-code -c --on-lost --permits --kill-after --at-least \
        --at-most --pid --owner --simple --until --for
end

# Succeeds if the value of the option, or of the last of the letters as in -qr, is the next word.
function __rlock_takes_next
    if string match -q -- '--*' "$argv[1]"
        __rlock_takes_value "$argv[1]"
        return
    end
    set -l letters (string split '' -- (string sub -s 2 -- "$argv[1]"))
    while set -q letters[1]
        if __rlock_takes_value -$letters[1]
            not set -q letters[2]
            return
        end
        set -e letters[1]
    end
    return 1
end

# Prints the operands before the cursor, each behind a NUL.
function __rlock_operands
    set -l words (commandline -opc)[2..-1]
    set -l command
    set -l behind
    while set -q words[1]
        set -l word $words[1]
        set -e words[1]
        if not set -q behind[1]
            if test "$word" = --
                set behind yes
                continue
            else if string match -qr -- '^-.' "$word" # since fish 4, ? in a pattern is itself
                __rlock_takes_next "$word"; and set -e words[1]
                continue
            end
        end
        if set -q command[1]
            printf '%s\0' "$word"
        else
            set command $word
        end
    end
end

# Prints what the server has for the current word: $argv[1] is names, holders or waiters, $argv[2] the
# lock. fish quotes it where it is inserted.
function __rlock_offer
    command -q rlock; or return
    set -l asked (__rlock_asked | string split0)
    test $pipestatus[1] -eq 0; or return
    set -l typed (string replace -r -- '^--[a-z-]*=' '' (commandline -ct))
    set -l start (string unescape -- "$typed" 2>/dev/null)
    set -l found (command rlock __complete $argv[1] $asked -- "$start" $argv[2..-1] </dev/null 2>/dev/null | string split0)
    set -l offers
    for name in $found
        # A description would begin behind a tab; a name like an option needs -- before it.
        string match -q -- "*"\t"*" "$name"; and continue
        if string match -q -- '-*' "$name"; and test $argv[1] = names
            contains -- -- (commandline -opc); or continue
        end
        set -a offers $name
    end
    set -q offers[1]; and printf '%s\0' $offers | string split0
end

# Prints names, or waiters, where the next operand is one.
function __rlock_offer_operand
    set -l operands (__rlock_operands | string split0)
    switch (__rlock_command):(count $operands)
        case 'exec:*' 'watch:*' acquire:0 renew:0 unlock:0 evict:0 fence:0 inspect-queue:0 list:0 doctor:0
            __rlock_offer names
        case evict:1
            __rlock_offer waiters $operands[1]
    end
end

# Prints who holds the lock that is named, or any.
function __rlock_offer_holders
    __rlock_offer holders (__rlock_operands | string split0)[1]
end

complete -c rlock -f
complete -c rlock -n 'not __rlock_is_behind_dashes' -a '(__rlock_offer_operand)'
complete -c rlock -n __rlock_is_behind_dashes -a '(__rlock_complete_command)'

complete -c rlock -n '__rlock_in' -a exec -d 'Hold locks while a command runs'
complete -c rlock -n '__rlock_in' -a acquire -d 'Take a lock for a shell, and renew it in the background'
complete -c rlock -n '__rlock_in' -a renew -d 'Extend a lease once'
complete -c rlock -n '__rlock_in' -a unlock -d 'Release one hold of a lock, or break the lock'
complete -c rlock -n '__rlock_in' -a evict -d 'Take a waiter out of the queue of a fair lock'
complete -c rlock -n '__rlock_in' -a fence -d 'Check a fencing token'
complete -c rlock -n '__rlock_in' -a inspect-queue -d 'Show the holders, the waiters and the raw state of a lock'
complete -c rlock -n '__rlock_in' -a list -d 'Show the locks on the server, one a line'
complete -c rlock -n '__rlock_in' -a watch -d 'Follow locks live'
complete -c rlock -n '__rlock_in' -a doctor -d 'Find and repair problems of the server and its locks'
complete -c rlock -n '__rlock_in' -a config -d 'Show the settings and their sources'
complete -c rlock -n '__rlock_in' -a completion -d 'Print the completion for a shell'
complete -c rlock -n '__rlock_in completion' -a 'bash zsh fish'

complete -c rlock -n __rlock_before_dashes -s r -l redis -x -d 'URL of the server'
complete -c rlock -n __rlock_before_dashes -l timeout -x -d 'Time limit for connecting and one request together'
complete -c rlock -n __rlock_before_dashes -l user -x -d 'User of the server'
complete -c rlock -n __rlock_before_dashes -l password-file -r -F -d 'File with the password'
complete -c rlock -n __rlock_before_dashes -l tls-ca -r -F -d 'Trusted authorities or certificates (PEM) for rediss://'
complete -c rlock -n __rlock_before_dashes -l tls-cert -r -F -d 'Certificate chain of the client (PEM)'
complete -c rlock -n __rlock_before_dashes -l tls-key -r -F -d 'Private key of the client (PEM, not encrypted)'
complete -c rlock -n __rlock_before_dashes -l config -r -F -d 'Read settings from this file only'
complete -c rlock -n __rlock_before_dashes -l json -d 'Print JSON, one value a line'
complete -c rlock -n __rlock_before_dashes -s q -l quiet -d 'Say less on stderr'
complete -c rlock -n __rlock_before_dashes -s v -l verbose -d 'Say more on stderr'
complete -c rlock -n __rlock_before_dashes -l color -x -a 'auto always never' -d 'When to print in colour'
complete -c rlock -n __rlock_before_dashes -s h -l help -d 'Print help and exit'
complete -c rlock -n '__rlock_in' -s V -l version -d 'Print the version and exit'

complete -c rlock -n '__rlock_in exec acquire' -l kind -x -a 'reentrant fair simple read write semaphore' -d 'Kind of lock'
complete -c rlock -n '__rlock_in exec acquire' -l fair -d 'First come, first served (--kind fair)'
complete -c rlock -n '__rlock_in exec acquire' -s s -l shared -d 'Read lock, shared with other readers (--kind read)'
complete -c rlock -n '__rlock_in exec acquire' -s x -l exclusive -d 'Write lock, which excludes readers and other writers (--kind write)'
complete -c rlock -n '__rlock_in exec acquire' -l fair-wait -x \
    -d 'How long this run stays in the queue after it has died'
complete -c rlock -n '__rlock_in exec acquire' -l permits -x -d 'Let up to N runs hold the lock at the same time (--kind semaphore)'
complete -c rlock -n '__rlock_in exec acquire' -s w -l wait -x -d 'Give up after this time'
complete -c rlock -n '__rlock_in exec acquire' -s n -l no-wait -d 'Do not wait (--wait 0)'
complete -c rlock -n '__rlock_in exec acquire' -l lease -x -d 'How long the server keeps the lock without a renewal'
complete -c rlock -n '__rlock_in renew' -l lease -x -d 'How long the lock is held from now on'
complete -c rlock -n '__rlock_in exec acquire' -l no-watchdog -d 'Do not renew the lease'
complete -c rlock -n '__rlock_in exec acquire' -l fence -d 'Draw a fencing token'
complete -c rlock -n '__rlock_in exec acquire' -l sync-replicas -x -d 'Give the lock back unless N replicas know of it'
complete -c rlock -n '__rlock_in exec acquire' -l restart-delay -x -d 'With several servers, how long after its start a server grants no lock'
complete -c rlock -n '__rlock_in exec acquire' -l note -x -d 'Text that others see beside the owner'
complete -c rlock -n '__rlock_in exec acquire' -l no-info -d 'Do not store host, process ID, user and program'
complete -c rlock -n '__rlock_in exec acquire' -l wait-server -x \
    -d 'How long to try to reach a server that is away at the start'
complete -c rlock -n '__rlock_in exec acquire' -s E -l conflict-exit-code -x \
    -d 'Exit status when the lock was not acquired in time, 0 to 255'
complete -c rlock -n '__rlock_in exec' -s c -x -d 'Run /bin/sh -c STRING instead of CMD'
complete -c rlock -n '__rlock_in exec' -l on-lost -x -a 'term kill ignore' \
    -d 'What happens to CMD when the lock is lost'
complete -c rlock -n '__rlock_in exec' -l kill-after -x -d 'Time from SIGTERM to SIGKILL when rlock ends CMD'
complete -c rlock -n '__rlock_in exec' -l at-least -x -d 'Keep the lock for at least this time, even if CMD ends sooner'
complete -c rlock -n '__rlock_in exec' -l at-most -x -d 'End CMD after this time, with status 124'
complete -c rlock -n '__rlock_in acquire' -l pid -x -a '(__fish_complete_pids)' -d 'Release the lock when this process ends'
complete -c rlock -n '__rlock_in acquire' -l export -f -a 'sh fish' -d 'Print shell code for eval instead of the owner'
complete -c rlock -n '__rlock_in renew unlock' -l owner -x -a '(__rlock_offer_holders)' -d 'Owner that holds the lock'
complete -c rlock -n '__rlock_in unlock' -l force -d 'Break the lock and wake the waiters'
complete -c rlock -n '__rlock_in unlock' -s y -l yes -d 'Break the lock without asking'
complete -c rlock -n '__rlock_in unlock' -l kind -x -a 'simple hash' -d 'Break a string or a hash that might not be a lock'
complete -c rlock -n '__rlock_in evict' -l dead -d 'Evict all waiters that are dead'
complete -c rlock -n '__rlock_in evict' -s y -l yes -d 'Evict the dead waiters without asking'
complete -c rlock -n '__rlock_in list' -l stuck -d 'Show only locks with a problem'
complete -c rlock -n '__rlock_in list' -l simple -x -d 'Also show strings whose names match PATTERN, as locks of kind simple'
complete -c rlock -n '__rlock_in watch' -l until -x -a 'held free' \
    -d 'End as soon as all locks are held, or all free'
complete -c rlock -n '__rlock_in watch' -l for -x -d 'End after this time, with status 124 if --until is not reached'
complete -c rlock -n '__rlock_in doctor' -l repair -d 'Remove what nobody can need any more, and say what was removed'
complete -c rlock -n '__rlock_in doctor' -l dry-run -d 'Only say what --repair would remove'
