package main

// What a worker of the fleet runs next, and in what conditions.

import (
	"fmt"
	"math/rand"
	"strings"
)

func kindOptions(run *Run, lock Lock) []string {
	switch lock.Kind {
	case "fair":
		return []string{"--fair"}
	case "simple":
		return []string{"--kind", "simple"}
	case "rw":
		return []string{"--kind", run.Mode}
	case "semaphore":
		return []string{"--permits", fmt.Sprint(lock.Permits)}
	}
	return nil
}

// choose makes up what a worker runs next.
func (f *Fleet) choose(choices *rand.Rand, host int) *Run {
	round := f.history.Round
	one := func(n int) bool { return choices.Intn(n) == 0 }
	lock := round.Locks[choices.Intn(len(round.Locks))]
	run := f.newRun(host, lock)
	if lock.Kind == "rw" && one(2) {
		run.Mode = "read"
	}
	if lock.Kind == "several" {
		// Those that want one of the two names meet those that want both, in either order.
		a, b := lock.names()[0], lock.names()[1]
		run.Names = [][]string{{a}, {b}, {a, b}, {b, a}, {a, b}, {b, a}}[choices.Intn(6)]
	}
	args := kindOptions(run, lock)
	option := func(words ...string) { args = append(args, words...) }
	run.Wait = int64(3+choices.Intn(10)) * second
	patience := choices.Intn(8)
	if len(run.Names) > 1 && one(2) { // two who wait for each other are to do so for long
		patience = 1
	}
	switch patience {
	case 0:
		run.Wait = 0
		option("-n")
	case 1, 2:
		run.Wait = -1
	default:
		option("-w", seconds(run.Wait))
	}
	option("--lease", seconds(run.Lease), "--timeout", seconds(round.Timeout), "--note", run.ID)
	if run.Mode != "read" && run.Mode != "permit" && one(2) {
		run.Fence = true
		option("--fence")
	}
	if f.setup.Topology == "redlock" {
		option("--restart-delay", seconds(restartDelay))
	}
	hold := int64(5 + choices.Intn(50))
	isLong := one(10)
	if isLong {
		hold = (run.Lease/3 + choices.Int63n(8*run.Lease/3)) / ms
	}
	run.Hold = hold * ms
	work := []string{f.work, f.life(run.ID), fmt.Sprint(hold)}
	if one(3) || isLong && one(2) {
		work = append(work, "ignore-term")
	}
	if one(5) {
		run.Exit = 1 + choices.Intn(60)
		work = append(work, fmt.Sprintf("status=%d", run.Exit))
	}
	if f.setup.Topology == "sentinel" && one(4) {
		run.Synced = true
		option("--sync-replicas", "1")
	}
	if f.setup.Shells {
		if one(6) {
			work = append(work, "fork-away")
		}
		run.Args = f.shell(run, args, work, choices)
		return run
	}
	inner := append([]string{}, args...) // of a nested run
	if one(12) {
		run.AtLeast = choices.Int63n(longestAtLeast/ms) * ms
		option("--at-least", seconds(run.AtLeast))
	}
	if one(10) {
		run.AtMost = run.AtLeast + int64(100+choices.Intn(900))*ms
		option("--at-most", seconds(run.AtMost))
	}
	if one(3) {
		run.KillAfter = shortKillAfter
		option("--kill-after", seconds(run.KillAfter))
	}
	if one(12) {
		run.Fixed = true
		option("--no-watchdog")
	}
	switch {
	case one(6):
		work = append(work, "fork-away")
	case one(8):
		work = append(work, "leader-ends")
	case (one(4) || isLong && one(2)) && len(run.Names) == 1:
		name := run.Names[0]
		if one(3) {
			run.InnerNames = []string{name + "/inner"}
			name = run.InnerNames[0]
		} else if one(4) {
			run.InnerAtLeast = int64(300+choices.Intn(900)) * ms
			inner = append(inner, "--at-least", seconds(run.InnerAtLeast))
		}
		inner = append([]string{f.rlock, "exec"}, inner...)
		inner = append(inner, name, "--", f.work, f.life(run.ID+".n"), fmt.Sprint(5+choices.Intn(int(run.Lease/ms))))
		if one(2) {
			inner = append(inner, "ignore-term")
		}
		work = append(append(work, "--"), inner...)
	}
	run.Args = append(append([]string{f.rlock, "exec"}, args...), run.Names...)
	run.Args = append(append(run.Args, "--"), work...)
	f.hamper(run, choices)
	return run
}

// hamper gives some runs a worse life than most.
func (f *Fleet) hamper(run *Run, choices *rand.Rand) {
	wrap := func(words ...string) {
		run.Limited = true
		run.Args = append(words, run.Args...)
	}
	hard := "" // the same
	if f.setup.Topology == "local" {
		hard = ":" // as it is: the server that rlock starts cannot be without it
	}
	switch choices.Intn(50) {
	case 0, 7: // a command whose file system is slow
		if f.setup.Topology == "local" { // strace would wait for the server that rlock has started
			break
		}
		wrap("strace", "-f", "--seccomp-bpf", "-q", "-o", "/dev/null", "-e", "trace=execve", "-e",
			fmt.Sprintf("inject=execve:delay_enter=%d", (run.Lease/4+choices.Int63n(run.Lease*5/4))/1000))
	case 1:
		wrap("prlimit", fmt.Sprintf("--nofile=%d", 5+choices.Intn(16))+hard)
	case 2, 3:
		wrap("prlimit", fmt.Sprintf("--as=%d", (16+choices.Intn(50))<<20)+hard)
	case 4: // nobody reads what it says, and it says much
		run.Unheard = true
		if run.Stalled = choices.Intn(2) == 0; run.Stalled {
			run.Args = append([]string{run.Args[0], run.Args[1], "-v"}, run.Args[2:]...)
			break
		}
		run.Args = append([]string{"bash", "-c", `exec "$@" 2> >(exec true)`, "torture", run.Args[0], run.Args[1], "-v"}, run.Args[2:]...)
	case 5, 8: // a process that was there before it is not its command's, also where rlock ends the command
		if run.AtMost == 0 {
			run.AtMost = run.AtLeast + 50*ms
			run.Args = append([]string{run.Args[0], run.Args[1], "--at-most", seconds(run.AtMost)}, run.Args[2:]...)
		}
		run.Logger = true
		run.Args = append([]string{"bash", "-c", `exec "$@" > >(cat >/dev/null; echo >"$0")`, strings.TrimSuffix(f.life(run.ID), ".h") + ".logger"}, run.Args...)
	case 6: // the name is a key of another lock
		run.Refused = true
		run.Args = []string{f.rlock, "exec", "-n", "rlock_info:{" + run.Names[0] + "}", "--", f.work, f.life(run.ID), "5"}
	case 9: // a program that does not live on reads the owner
		run.Refused = true
		// It has begun to read before rlock starts: until then, the shell itself may be the one who reads.
		run.Args = []string{"bash", "-c", `exec > >(cat >/dev/null); "$1" acquire -n "$2"`, "torture", f.rlock, run.Names[0]}
	}
}

// shell returns a script that takes, may take once more below, may renew, works, and may give back.
func (f *Fleet) shell(run *Run, args, work []string, choices *rand.Rand) []string {
	run.By = "shell"
	below, release := "", `"$1" unlock "$2" || exit 79`
	switch choices.Intn(5) {
	case 0:
		// If the lock was lost meanwhile, this one takes it as another owner.
		below = `(owner=$RLOCK_OWNER; eval "$("$1" acquire --export ARGS "$2")" || exit; sleep 0.02; "$1" unlock "$2"
 [ "$RLOCK_OWNER" = "$owner" ]) || exit 79`
	case 1:
		release = ""
	}
	// The shell reads what the program prints that reads what rlock prints.
	through := ""
	if choices.Intn(3) == 0 {
		through = " | cat"
	}
	script := `eval "$("$1" acquire --export ARGS "$2"` + through + `)" || exit
` + below + `
"${@:3}"
status=$?
"$1" renew --lease ` + seconds(run.Lease) + ` "$2" >/dev/null 2>&1
` + release + `
exit $status`
	script = strings.ReplaceAll(script, "ARGS", strings.Join(args, " "))
	return append([]string{"bash", "-c", script, "torture", f.rlock, run.Names[0]}, work...)
}
