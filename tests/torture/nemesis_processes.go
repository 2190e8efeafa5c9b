package main

// Faults of processes: they are killed, stopped, or get signals.

import (
	"fmt"
	"syscall"
	"time"
)

func onProcess(kind string, pick func(Family) int, number syscall.Signal) func(*Nemesis) *Act {
	return func(n *Nemesis) *Act {
		run, pid := n.anyProcess(pick)
		if run == nil {
			return nil
		}
		act := newAct(kind)
		act.Run, act.Host = run.ID, run.Host
		_ = syscall.Kill(pid, number)
		return act
	}
}

func pause(kind string, pick func(Family) int) func(*Nemesis) *Act {
	return func(n *Nemesis) *Act {
		run, pid := n.anyProcess(pick)
		if run == nil {
			return nil
		}
		act := newAct(kind)
		act.Run, act.Host = run.ID, run.Host
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		return n.lasting(act, run.ID, n.span(), func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	}
}

// killAfterStop stops the guardian of a run, and kills rlock a little later, while its command would go on past the lease: rlock
// must have replaced the guardian.
func (n *Nemesis) killAfterStop() *Act {
	lease := n.fleet.history.Round.Lease
	n.ambush("stop-guardian", func() *Run { return n.holderFor(lease*3/2, never, anyOne) }, func(run *Run) {
		family := n.fleet.familyOf(run)
		if family.guardian == 0 || !n.claim(run.ID) {
			return
		}
		stop, kill := newAct("stop-guardian"), newAct("kill-rlock")
		stop.Run, stop.Host = run.ID, run.Host
		_ = syscall.Kill(family.guardian, syscall.SIGSTOP)
		n.wait(time.Duration(lease / 3))
		kill.At, kill.Until, kill.Run, kill.Host = now(), now(), run.ID, run.Host
		_ = syscall.Kill(family.rlock, syscall.SIGKILL)
		n.note(*kill)
		n.wait(time.Duration(2 * lease))
		_ = syscall.Kill(family.guardian, syscall.SIGCONT)
		stop.Until = now()
		n.note(*stop)
	})
	return nil
}

func (n *Nemesis) killBoth() *Act {
	run := n.anyRun()
	if run == nil {
		return nil
	}
	return n.killPair(run)
}

func (n *Nemesis) killPair(run *Run) *Act {
	family := n.fleet.familyOf(run)
	if family.rlock == 0 || family.guardian == 0 {
		return nil
	}
	act := newAct("kill-both")
	act.Run, act.Host = run.ID, run.Host
	_ = syscall.Kill(family.guardian, syscall.SIGKILL)
	_ = syscall.Kill(family.rlock, syscall.SIGKILL)
	return act
}

// killStalled kills or stops an rlock whose command is being started, and stalls.
func (n *Nemesis) killStalled() *Act {
	f := n.fleet
	for _, run := range f.liveRuns() {
		if run.Args[0] != "strace" {
			continue
		}
		family := f.familyOf(run)
		if f.holds(run.ID) || family.rlock == 0 || family.children < 2 || !n.claim(run.ID) {
			continue
		}
		act := newAct("kill-stalled")
		act.Run, act.Host = run.ID, run.Host
		if n.choices.Intn(2) == 0 {
			_ = syscall.Kill(family.rlock, syscall.SIGKILL)
			return act
		}
		_ = syscall.Kill(family.rlock, syscall.SIGSTOP)
		return n.lasting(act, run.ID, time.Duration(2*f.history.Round.Lease), func() { _ = syscall.Kill(family.rlock, syscall.SIGCONT) })
	}
	return nil
}

// killGroup kills rlock's process group: the command has one of its own, and so has the guardian.
func (n *Nemesis) killGroup() *Act {
	run := n.anyRun()
	if run == nil || run.By != "rlock" || run.Logger {
		return nil
	}
	n.fleet.mutex.Lock()
	defer n.fleet.mutex.Unlock()
	if _, isLive := n.fleet.live[run.ID]; !isLive || run.Pid <= 0 {
		return nil
	}
	act := newAct("kill-group")
	act.Run, act.Host = run.ID, run.Host
	_ = syscall.Kill(-run.Pid, syscall.SIGKILL)
	return act
}

// partingShot kills those who hold locks, with their guardians: who waits still must find out.
func (n *Nemesis) partingShot() {
	for _, run := range n.fleet.liveRuns() {
		if run.By == "rlock" && n.fleet.holds(run.ID) {
			if act := n.killPair(run); act != nil {
				n.note(*act)
			}
		}
	}
}

func (n *Nemesis) stopHost() *Act {
	act := newAct("stop-host")
	act.Host = n.choices.Intn(hostCount)
	key := fmt.Sprint("host", act.Host)
	span := n.span()
	if !n.claim(key) {
		return nil
	}
	signalAll(hostVariable, n.fleet.hostMarker(act.Host), syscall.SIGSTOP)
	return n.lasting(act, key, span, func() {
		// What has been started meanwhile was not stopped, and bears it.
		signalAll(hostVariable, n.fleet.hostMarker(act.Host), syscall.SIGCONT)
	})
}

func (n *Nemesis) killHost() *Act {
	act := newAct("kill-host")
	act.Host = n.choices.Intn(hostCount)
	// Who was born meanwhile is found by the next pass, and who was in execve by the one after it.
	for pass, empty := 0, 0; pass < 20 && empty < 2; pass++ {
		found := processes(hostVariable, n.fleet.hostMarker(act.Host))
		for _, p := range found {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		if empty++; len(found) > 0 {
			empty = 0
		}
	}
	act.Until = now()
	return act
}

// stopPastLease stops rlock until the lease of its lock has ended, while its command would go on.
func (n *Nemesis) stopPastLease() *Act {
	lease := n.fleet.history.Round.Lease
	n.ambush("stop", func() *Run { return n.holderFor(lease*6/5, never, anyOne) }, func(run *Run) {
		pid := n.fleet.familyOf(run).rlock
		if pid == 0 || !n.claim(run.ID) {
			return
		}
		act := newAct("stop-rlock")
		act.Run, act.Host = run.ID, run.Host
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		n.wait(time.Duration(lease * 13 / 10))
		act.Detail = fmt.Sprintf("in the end: %+v", n.fleet.familyOf(run))
		_ = syscall.Kill(pid, syscall.SIGCONT)
		act.Until = now()
		n.note(*act)
	})
	return nil
}
