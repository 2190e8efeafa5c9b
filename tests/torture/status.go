package main

// Whether each run said the truth at its end, and did nothing to others.

import (
	"fmt"
	"strings"
)

// killAfter is from SIGTERM to SIGKILL.
func (r *Run) killAfter() int64 {
	if r.KillAfter == 0 {
		return r.Lease / 3
	}
	return r.KillAfter
}

// bears returns for how long its server may be away without costing a run its lock, as rlock-exec(1) says: two thirds of the
// lease, less --kill-after and --timeout; and something for a busy machine.
func (r *Run) bears(timeout int64) int64 {
	return r.Lease*2/3 - r.killAfter() - timeout - second/5
}

// killers are the acts that explain that a signal ended a run.
var killers = map[int][]string{
	1:  {"hang-up"},
	2:  {"interrupt"},
	9:  {"kill-rlock", "kill-command", "kill-both", "kill-group", "kill-stalled", "kill-host"},
	15: {"term"},
}

// hit tells whether an act of one of these kinds struck a run while it lived.
func (j *judge) hit(r *Run, kinds ...string) bool {
	for _, act := range j.Acts {
		if contains(kinds, act.Kind) && act.touches(r, r.Called, r.Ended) {
			return true
		}
	}
	return false
}

// status judges what a run said at its end.
func (j *judge) status(r *Run) {
	if r.Outer != "" || r.Args == nil {
		return
	}
	if r.Status == r.Exit && r.Left {
		j.verdict.Statuses["the command's"]++
	} else {
		j.verdict.Statuses[fmt.Sprint(r.Status)]++
	}
	bad := func(what string) {
		j.violate(fmt.Sprintf("%s: status %d: %s (%s)", r.ID, r.Status, what, r.Stderr), "", r.Called, r.ID)
	}
	isQuiet := j.quiet(r, r.Called-second, r.Ended+10*ms) && !r.Limited
	hasRun := r.Enter > 0
	if strings.Contains(r.Stderr, "strace: ") { // it could not trace, or died
		return
	}
	switch {
	case r.Ended == 0:
		bad("it never ended")
	case r.Refused:
		if r.Status == 0 {
			bad("it must be refused")
		}
	case r.Final && (!r.Left || r.Status != 0):
		bad("nobody has the lock, and it cannot be taken")
	case hasRun && r.Left && r.Status == r.Exit:
		// Who could not ask for the release cannot know.
		if j.wasDeleted(r) && !strings.Contains(r.Stderr, "not released") {
			bad("its lock was deleted while the command ran")
		}
		if strings.Contains(r.Stderr, "not released") && j.wasRefusedBriefly(r) {
			bad("the server refused its release for less than --timeout, and it did not try again")
		}
	case r.Status == 0:
		bad("the command has not run to its end")
	case r.Status == 75:
		if hasRun {
			bad("the command has run")
		} else if r.Wait < 0 || r.Ended-r.Called < r.Wait-ms {
			bad("it gave up too early")
		}
	case r.Status == 69:
		if hasRun && r.By != "shell" {
			bad("the command has run")
		} else if strings.Contains(r.Stderr, "the lock is on ") && j.mayFailOver(r.Called-30*second, r.Ended) {
			// Sentinel takes its time to tell those who were away whose replicas they are.
		} else if strings.Contains(r.Stderr, " is a replica") && j.mayFailOver(r.Called-30*second, r.Ended) {
			// After two failovers at once, Sentinel can name a replica as the master until it notices.
		} else if isQuiet && !r.Unheard && !strings.Contains(r.Stderr, " within ") { // this machine may be too busy for an answer
			bad("nothing was wrong with the server")
		}
	case r.Status == 77:
		if !j.hit(r, "no-right") {
			bad("nobody took a right from it")
		}
	case r.Status == 79:
		if !r.Fixed && !r.Limited && j.bearable(r) {
			bad("nobody took the lock from it, nor was the server away for long")
		}
	case r.Status == 124:
		if r.AtMost == 0 {
			bad("there was no --at-most")
		}
	case r.Status == 126 || r.Status == 127:
		if !r.Limited {
			bad("there is such a command")
		}
	case r.Status > 128:
		if !j.hit(r, killers[r.Status-128]...) {
			bad("nobody sent it such a signal")
		}
	default:
		bad("no status that is documented, or not its command's")
	}
	limit := r.Wait + j.Round.Timeout + 3*second
	if r.Wait == 0 && strings.Contains(strings.Join(r.Args, " "), "--fair") { // a silent head may be in the way
		limit += 10 * second
	}
	if !hasRun && r.Wait >= 0 && isQuiet && r.Ended-r.Called > limit {
		bad(fmt.Sprintf("it waited for %.1f s, and was to give up after %.1f s", float64(r.Ended-r.Called)/1e9, float64(r.Wait)/1e9))
	}
	j.manners(r, isQuiet, bad)
}

// manners are promises that have nothing to do with the lock.
func (j *judge) manners(r *Run, isQuiet bool, bad func(string)) {
	for _, one := range j.Runs {
		if (one == r || one.Outer == r.ID) && one.DoubleTerm && isQuiet && !contains(r.Args, "fork-away") {
			bad(fmt.Sprintf("%s got SIGTERM twice at once", one.ID))
		}
	}
	if r.Logger && isQuiet && !r.loggerEnded {
		bad("a process that was there before it was ended with it")
	}
	if !r.Synced || r.Enter == 0 {
		return
	}
	const resuming = second / 5 // of the replicas, before the end of the act was noted
	for _, act := range j.Acts {
		if act.Kind == "stop-replicas" && act.At < r.Called && r.Enter < act.Until-resuming && !j.mayFailOver(act.At-second, r.Enter) {
			bad("no replica knew of its lock")
		}
	}
}

// mayFailOver tells whether another server may have become the master between two moments.
func (j *judge) mayFailOver(from, to int64) bool {
	for _, act := range j.Acts {
		if isFailover(j.History, act) && act.At < to && act.Until > from {
			return true
		}
	}
	return false
}

// wasRefusedBriefly tells whether a server refused the release of a run, and took requests again within --timeout.
func (j *judge) wasRefusedBriefly(r *Run) bool {
	left, isRefused := min(j.Round.Timeout, r.Lease)-second/2, false // a lock that has ended is not released any more
	for _, act := range j.Acts {
		if act.Kind == "refuse" && act.touches(r, r.Last, r.Ended) {
			left -= act.Until - act.At
			isRefused = true
		}
	}
	return isRefused && left > 0 && !r.Limited && j.quietBut(r, r.Last-second, r.Ended, "refuse")
}

// wasDeleted tells whether the lock of a single server was deleted between two signs of life.
func (j *judge) wasDeleted(r *Run) bool {
	if j.Round.Servers > 1 || r.Mode != "exclusive" || r.By != "rlock" || len(r.InnerNames) > 0 {
		return false
	}
	for _, one := range j.Runs {
		if one.Outer == r.ID {
			return false
		}
	}
	for _, act := range j.Acts {
		if act.broke(r) && act.At > r.Enter && act.Until < r.Last-5*ms {
			return true
		}
	}
	return false
}

// bearable tells whether a run should have kept its lock: nothing happened to it but outages that end in time.
func (j *judge) bearable(r *Run) bool {
	left := r.bears(j.Round.Timeout)
	from := r.Called - second
	if r.Enter > 0 { // what happened while it waited has cost it no lock
		from = r.hadLockSince()
	}
	for _, act := range j.Acts {
		if act.At < r.Ended && j.differs(act, r) {
			return false
		}
		if !act.touches(r, from, r.Ended) {
			continue
		}
		switch act.Kind {
		case "continue", "kill-guardian", "kill-subscribers":
		case "stop-server", "pause-clients", "refuse":
			left -= act.Until - act.At
		default:
			return false
		}
	}
	return left > 0 || j.quiet(r, from, r.Ended)
}
