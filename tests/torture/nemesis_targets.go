package main

// Whom a fault of the nemesis hits: mostly those on whom it has a great effect.

import (
	"fmt"
)

// anyRun picks a run, mostly one that holds its lock. It is hit once only: what two faults do to one run
// is another matter (kill-both).
func (n *Nemesis) anyRun() *Run {
	var holding []*Run
	all := n.fleet.liveRuns()
	for _, run := range all {
		if n.fleet.holds(run.ID) {
			holding = append(holding, run)
		}
	}
	if long := n.longHolders(); len(long) > 0 && n.choices.Intn(2) == 0 {
		all = long
	} else if len(holding) > 0 && n.choices.Intn(4) > 0 {
		all = holding
	}
	if len(all) == 0 {
		return nil
	}
	run := all[n.choices.Intn(len(all))]
	if !n.claim(run.ID) {
		return nil
	}
	return run
}

// anyProcess picks a process of some run that has one such.
func (n *Nemesis) anyProcess(pick func(Family) int) (*Run, int) {
	for tries := 0; tries < 6; tries++ {
		run := n.anyRun()
		if run == nil {
			continue
		}
		if pid := pick(n.fleet.familyOf(run)); pid != 0 {
			return run, pid
		}
		n.release(run.ID)
	}
	return nil, 0
}

// leftOf returns for how long the command of a run will go on, if nothing happens to it.
func (n *Nemesis) leftOf(run *Run) int64 {
	span := run.Hold
	if run.AtMost > 0 {
		span = min(span, run.AtMost)
	}
	return n.fleet.lifeOf(run.ID).Enter + span - now()
}

func anyOne(*Run) bool { return true }

// holderFor returns a run of rlock's that is one of these, holds its lock, and will for so long.
func (n *Nemesis) holderFor(least, most int64, isOne func(*Run) bool) *Run {
	for _, run := range n.longHolders() {
		if left := n.leftOf(run); run.By == "rlock" && left > least && left < most && isOne(run) {
			return run
		}
	}
	return nil
}

// runBeforeNested returns a run that holds its lock, and will start a run of the same name a little later: in the middle of
// its time.
func (n *Nemesis) runBeforeNested() *Run {
	for _, run := range n.longHolders() {
		left := n.leftOf(run) - run.Hold/2
		if run.By == "rlock" && !run.Fixed && len(run.InnerNames) == 0 && contains(run.Args, n.fleet.life(run.ID+".n")) &&
			left > 30*ms && left < run.Lease/2 {
			return run
		}
	}
	return nil
}

// nestedRun returns a run below which another one works, and the process that works.
func (n *Nemesis) nestedRun() (*Run, int) {
	for _, run := range n.fleet.liveRuns() {
		if inner := n.fleet.lifeOf(run.ID + ".n"); inner.Enter > 0 && !inner.Left && inner.Last > now()-50*ms {
			return run, inner.Pid
		}
	}
	return nil, 0
}

// anyHost picks a host, mostly one on which a run holds its lock for long.
func (n *Nemesis) anyHost() int {
	host := n.choices.Intn(hostCount)
	if long := n.longHolders(); len(long) > 0 && n.choices.Intn(3) > 0 {
		host = long[n.choices.Intn(len(long))].Host
	}
	return host
}

// anyServer picks a server that has no other fault.
func (n *Nemesis) anyServer() (*Server, string) {
	server := n.fleet.group.servers[n.choices.Intn(len(n.fleet.group.servers))]
	key := fmt.Sprint("server", server.ID)
	if !n.claim(key) {
		return nil, ""
	}
	return server, key
}

// anyLock picks a lock, mostly one that somebody will still want to have for a while.
func (n *Nemesis) anyLock() string {
	f := n.fleet
	locks := f.history.Round.Locks
	lock := locks[n.choices.Intn(len(locks))].Name
	if long := n.longHolders(); len(long) > 0 && n.choices.Intn(3) > 0 {
		return long[0].Names[0]
	}
	return lock
}

// longHolders returns runs that hold their lock, and want it for a good part of a lease.
func (n *Nemesis) longHolders() []*Run {
	var long []*Run
	for _, run := range n.fleet.liveRuns() {
		if run.Hold > n.fleet.history.Round.Lease/3 && !run.Limited && n.fleet.holds(run.ID) {
			long = append(long, run)
		}
	}
	return long
}
