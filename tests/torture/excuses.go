package main

// What the contract excuses, one predicate each. docs/choosing.md says the same in words ("may run twice").

import "strings"

// A Group is one run of rlock with the nested runs below it: one owner of the lock.
type Group struct {
	*Run
	of     string // the run that was started: its own name, or that of the run around it
	nested []*Run
	last   int64 // the last sign of life of any of them
	until  int64 // until when nobody else may hold the lock; at most `last`, except for --at-least
	excuse string
}

type excuse struct {
	name        string
	isOfCommand bool // not the lock was lost, but nobody could end the command
	applies     func(h *History, act Act, g *Group) bool
}

var excuses = []excuse{
	{"the whole host stood still", true, func(_ *History, act Act, g *Group) bool {
		return act.Kind == "stop-host" && act.Host == g.Host
	}},
	{"rlock and its guardian were killed", true, func(_ *History, act Act, g *Group) bool {
		isOfHost := act.Kind == "kill-host" && act.Host == g.Host // one process after the other
		return (act.Kind == "kill-both" || act.Kind == "kill-watchdog") && act.Run == g.of || isOfHost
	}},
	{"the lock was deleted or broken by hand", false, func(h *History, act Act, g *Group) bool {
		return (act.Kind == "delete" || act.Kind == "force") && h.Round.Minority == 0 && g.wants(act.Lock)
	}},
	{"the lock of a bare quorum was deleted on one of its servers", false, func(h *History, act Act, g *Group) bool {
		return act.Kind == "delete" && h.Round.Minority > 0 && g.wants(act.Lock) && hadBareQuorum(h, act, g)
	}},
	{"a restart without persistence", false, func(h *History, act Act, _ *Group) bool {
		return (act.Kind == "restart" || act.Kind == "full-disk") && h.Round.Forgets && h.Round.Minority == 0
	}},
	{"a failover", false, func(h *History, act Act, _ *Group) bool { return isFailover(h, act) }},
	{"the server's clock jumped ahead", false, func(_ *History, act Act, _ *Group) bool {
		return act.Kind == "clock" && strings.HasPrefix(act.Detail, "+")
	}},
	{"a service's clock differed from the server's, by which the ends of permits are told", false, func(h *History, act Act, g *Group) bool {
		return h.differs(act, g.Run)
	}},
	{"the command was ended, and left a process in the background", true, func(_ *History, act Act, g *Group) bool {
		switch act.Kind {
		case "kill-command", "term", "interrupt", "hang-up":
			return act.Run == g.of && (contains(g.Args, "fork-away") || len(g.InnerNames) > 0 ||
				contains(g.Args, "simple") && len(g.nested) > 0)
		}
		return false
	}},
	{"this machine stood still", true, func(_ *History, act Act, _ *Group) bool { return act.Kind == "stall" }},
	{"a shell or a peer, which nobody ends, was cut off", true, func(h *History, act Act, g *Group) bool {
		return g.By != "rlock" && isOutage(act, g.Run) && h.outage(act, g.Run) > h.Round.Lease/2
	}},
}

// believed tells whether a peer ran although the server had refused it: the looks before and after its last request before it
// began found the lock with somebody else. Redisson does so now and then after an outage.
func (j *judge) believed(g *Group) bool {
	if g.By == "rlock" || g.By == "shell" || g.Mode != "exclusive" || j.Round.Servers > 1 {
		return false
	}
	asked := int64(0)
	for _, request := range j.requests(0) {
		if request.At < g.Enter && request.isOf(g, g.Names[0]) {
			asked = request.At
		}
	}
	for _, look := range j.Looks {
		if look.Lock == g.Names[0] && look.Ended < asked && asked < look.Again {
			return len(look.Holders) == 1 && look.Holders[0] != g.Owner
		}
	}
	return false
}

// A failover, and a cluster that finds itself again, take their time: that long what began it goes on.
const failoverTime = 3 * second

// isFailover tells whether a replica may have taken over, which had not heard of a lock.
func isFailover(h *History, act Act) bool {
	if h.Round.Setup != "sentinel" && h.Round.Setup != "cluster" {
		return false
	}
	switch act.Kind {
	case "failover", "restart":
		return true
	case "stop-server", "pause-clients":
		return act.Until-act.At > second/2
	}
	return false
}

// hadBareQuorum tells whether, when one server lost the lock, another may have been without it: the grant was new, or that
// server was away or had no vote, and the next renewal has not given it the lock yet.
func hadBareQuorum(h *History, lost Act, g *Group) bool {
	if lost.At < g.Enter+spreadTime {
		return true
	}
	from, to := lost.At-g.Lease-h.Round.Timeout, lost.At+g.Lease
	for _, act := range h.Acts {
		if act.Server != lost.Server && isOutage(act, g.Run) && act.At < to && act.Until > from {
			return true
		}
	}
	return false
}

// outage returns how long a run was cut off, from an act on: another may begin before it is over.
func (h *History) outage(act Act, r *Run) int64 {
	until := act.Until
	for _, next := range h.Acts { // in the order of their beginnings
		if next.At >= act.At && next.At <= until && next.Until > until && isOutage(next, r) {
			until = next.Until
		}
	}
	return until - act.At
}

func isOutage(act Act, r *Run) bool {
	switch act.Kind {
	case "stop-server", "pause-clients", "restart", "full-disk", "no-memory", "no-right", "refuse":
		return true
	case "cut", "swallow", "swallow-answers", "black-hole", "delay", "late-then-away", "lost-release", "lost-reentry":
		return act.Host == r.Host
	}
	return false
}

func (r *Run) wants(lock string) bool {
	for _, name := range r.Names {
		if name == lock {
			return true
		}
	}
	return false
}

// excused ends the protection of a group at the first act that excuses what comes then.
func (h *History) excused(g *Group) {
	for _, act := range h.actsOn(g) {
		for _, e := range excuses {
			if e.applies(h, act, g) && act.At < g.until {
				g.until, g.excuse = act.At, e.name
			}
		}
	}
}

// isBeyondHelp tells whether nobody could end the command of a group in time.
func (h *History) isBeyondHelp(g *Group) bool {
	for _, act := range h.actsOn(g) {
		for _, e := range excuses {
			if e.isOfCommand && e.applies(h, act, g) {
				return true
			}
		}
	}
	return false
}

// differs tells whether an act made the clock by which services end a run's permit differ from the server's, for good.
func (h *History) differs(act Act, r *Run) bool {
	return act.Kind == "clock" && h.Round.Setup == "mixed" && r.Mode == "permit"
}

// isDelayed tells whether strace holds a run up while it starts its command.
func (r *Run) isDelayed() bool { return strings.Contains(strings.Join(r.Args, " "), "delay_enter") }

// longestKeep is how long a run that wants two locks keeps the first while it waits for the other.
const longestKeep = 4 * second

// hadLockSince returns from when on a run may have had a lock before its command began. What happened then may have cost it
// that lock.
func (r *Run) hadLockSince() int64 {
	if len(r.Names) > 1 {
		return r.Enter - longestKeep - second
	}
	return r.Enter - second
}

// actsOn returns what happened while a group lived, and had a lock before; or later, what was stopped between.
func (h *History) actsOn(g *Group) []Act {
	from := g.hadLockSince()
	if g.isDelayed() {
		from = g.Called
	}
	for _, act := range h.Acts {
		if act.Run == g.of && act.Kind == "stop-rlock" {
			from = g.Called
		}
	}
	var acts []Act
	for _, act := range h.Acts {
		if act.At <= g.last && (act.Until >= from || h.differs(act, g.Run)) {
			acts = append(acts, act)
		}
	}
	return acts
}

// touches tells whether an act can have made a difference to a run between two moments.
func (act Act) touches(r *Run, from, to int64) bool {
	if act.At > to || act.Until < from {
		return false
	}
	switch act.Kind {
	case "flush-scripts", "repair", "split":
		return false
	case "kill-subscribers", "kill-clients", "stall", "stop-replicas":
		return true
	}
	return act.Run == r.ID || (act.Run == "" && act.Host == r.Host) || (act.Lock != "" && r.wants(act.Lock)) ||
		(act.Server >= 0 && act.Host < 0) || act.Kind == "failover" || act.Kind == "clock"
}

// quiet tells whether nothing touched a run between two moments.
func (h *History) quiet(r *Run, from, to int64) bool { return h.quietBut(r, from, to) }

// quietBut does not count acts of some kinds.
func (h *History) quietBut(r *Run, from, to int64, kinds ...string) bool {
	for _, act := range h.Acts {
		if act.touches(r, from, to) && !contains(kinds, act.Kind) {
			return false
		}
	}
	return true
}
