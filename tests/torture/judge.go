package main

// The judge sees nothing but a stored history.

import (
	"fmt"
	"sort"
	"strings"
	"time"
)

// A Verdict on one round.
type Verdict struct {
	Runs, Grants, Waits int
	Ordered, Disturbed  int            // grants of fair locks that were judged for their order, and not
	Tokens, Checks      int            // drawn, and asked about
	Held                int            // looks at locks whose command ran
	Excused             map[string]int // grants, by excuse
	Faults              map[string]int // by kind
	Statuses            map[string]int
	Unknown             []string // what the checker had no time for
	Violations          []Violation
}

type Violation struct {
	What string
	Lock string
	Runs []string // whose it is
	At   int64
}

type judge struct {
	*History
	verdict Verdict
	groups  []*Group
	limit   time.Duration
}

// judgeHistory takes so long at the most for each search.
func judgeHistory(h *History, limit time.Duration) Verdict {
	j := &judge{History: h, limit: limit}
	j.verdict.Excused, j.verdict.Faults, j.verdict.Statuses = map[string]int{}, map[string]int{}, map[string]int{}
	for i, act := range h.Acts {
		j.verdict.Faults[act.Kind]++
		if isFailover(h, act) {
			h.Acts[i].Until += failoverTime
		}
		if act.Kind == "restart" && h.Round.Minority > 0 { // until it has a vote again
			h.Acts[i].Until += restartDelay + second
		}
	}
	j.group()
	names := map[string]bool{}
	for _, g := range j.groups {
		for _, name := range g.Names {
			names[name] = true
		}
	}
	for _, name := range sortedKeys(names) {
		j.exclusion(name)
		j.tokens(name)
	}
	for _, lock := range h.Round.Locks {
		if lock.Kind == "fair" && len(h.Looks) > 0 {
			j.order(lock.Name)
		}
	}
	j.heldAll()
	j.outlasted()
	j.hoarded()
	j.outlived()
	j.votes()
	j.spread()
	j.leftInQueue()
	j.wentOn()
	for _, run := range h.Runs {
		j.status(run)
	}
	for _, g := range j.groups {
		j.waiting(g)
	}
	for _, left := range h.Leftovers {
		j.violate("left behind: "+left.What+": "+left.Detail, "", h.Round.Ended)
	}
	return j.verdict
}

func (j *judge) violate(what, lock string, at int64, runs ...string) {
	j.verdict.Violations = append(j.verdict.Violations, Violation{what, lock, runs, at})
}

// group puts nested runs to the run around them.
func (j *judge) group() {
	known := map[string]*Group{}
	for _, run := range j.Runs {
		if !strings.HasSuffix(run.ID, ".n") {
			known[run.ID] = &Group{Run: run, of: run.ID, last: run.Last}
			j.groups = append(j.groups, known[run.ID])
		}
	}
	for _, run := range j.Runs {
		if outer := known[strings.TrimSuffix(run.ID, ".n")]; outer.Run != run {
			run.Outer, run.Names, run.Mode, run.Host, run.By = outer.ID, outer.Names, outer.Mode, outer.Host, outer.By
			if len(outer.InnerNames) == 0 && !outer.Left && run.Owner != outer.Owner && run.Owner != "" && outer.Owner != "" {
				// The command of the outer run was killed before the nested one asked: it has taken a lock of its own.
				run.Called = outer.Enter
				j.groups = append(j.groups, &Group{Run: run, of: outer.ID, last: run.Last})
				continue
			}
			if run.Last > outer.last { // what runs below counts on the lock of what is above
				outer.last = run.Last
			}
			if len(outer.InnerNames) == 0 {
				outer.nested = append(outer.nested, run)
				continue
			}
			run.Names, run.Called = outer.InnerNames, outer.Enter
			j.groups = append(j.groups, &Group{Run: run, of: outer.ID, last: run.Last})
		}
	}
	sort.Slice(j.groups, func(a, b int) bool { return j.groups[a].Enter < j.groups[b].Enter })
	for _, g := range j.groups {
		j.verdict.Runs++
		if g.Called > 0 && g.Enter == 0 {
			j.verdict.Waits++
		}
		if g.Enter == 0 {
			continue
		}
		j.verdict.Grants++
		g.until = g.last
		// --at-least counts from the start of the command, which comes a little before its first line. It is
		// for runs that end in peace.
		kept := g.Enter + g.AtLeast
		for _, nested := range g.nested {
			if nested.Left && g.InnerAtLeast > 0 && nested.Enter+g.InnerAtLeast > kept {
				kept = nested.Enter + g.InnerAtLeast
			}
		}
		if kept -= second / 5; kept > g.until && g.Left && !g.Limited && j.quiet(g.Run, g.Enter-second, kept+second/5) {
			g.until = kept
		}
		j.excused(g)
		if j.believed(g) {
			g.until, g.excuse = g.Called, "a peer ran although the server had refused it"
		}
	}
}

func (j *judge) permits(name string) int {
	name = strings.TrimSuffix(name, "/inner")
	for _, lock := range j.Round.Locks {
		if lock.Name == name && lock.Permits > 0 {
			return lock.Permits
		}
	}
	return 1
}

// exclusion has Porcupine judge one lock, and finds out who overlaps with whom for those who read.
func (j *judge) exclusion(name string) {
	var history operations
	var holders []*Group
	for _, g := range j.groups {
		if g.Enter == 0 || !g.wants(name) {
			continue
		}
		holders = append(holders, g)
		take := op{what: "take", who: g.ID, mode: g.Mode}
		give := op{what: "give", who: g.ID, mode: g.Mode}
		history.add(g.Called, g.Enter, take)
		history.add(g.until, never, give)
		for _, nested := range g.nested {
			if nested.Enter > 0 && nested.Enter <= g.until {
				history.add(g.Enter, nested.Enter, take)
				history.add(nested.Enter, never, give)
			}
		}
	}
	found := j.overlaps(name, holders)
	switch history.check(lockModel(j.permits(name)), j.limit) {
	case "unknown":
		j.verdict.Unknown = append(j.verdict.Unknown, "exclusion of "+name)
	case "illegal":
		if !found {
			j.violate("no order of all takes and releases is one that a lock allows", name, j.Round.Began)
		}
	default:
		if found {
			j.violate("the sweep and Porcupine disagree", name, j.Round.Began)
		}
	}
}

// overlaps counts who was together only because of an excuse, and tells whether anybody was without one.
func (j *judge) overlaps(name string, holders []*Group) bool {
	found := false
	permits := j.permits(name)
	excused := map[*Group]bool{}
	for i, b := range holders {
		var before []*Group // who still held when b came
		for _, a := range holders[:i] {
			if (a.last > b.Enter || a.until > b.Enter) && (a.Mode != "read" || b.Mode != "read") {
				before = append(before, a)
			}
		}
		without := 0
		for _, a := range before {
			if a.until > b.Enter && b.until > b.Enter {
				without++
			}
		}
		if b.Mode == "permit" && len(before) < permits || len(before) == 0 {
			continue
		}
		if b.Mode == "permit" && without >= permits || b.Mode != "permit" && without > 0 {
			found = true
			runs := []string{}
			for _, a := range before {
				if a.until > b.Enter {
					runs = append(runs, a.ID)
				}
			}
			longest := int64(0)
			for _, a := range before {
				if a.until-b.Enter > longest {
					longest = a.until - b.Enter
				}
			}
			j.violate(fmt.Sprintf("run twice: %s began, and %s had the lock for %.1f ms more", b.ID, strings.Join(runs, ", "),
				float64(longest)/1e6), name, b.Enter, append(runs, b.ID)...)
			continue
		}
		for _, a := range before {
			culprit := a
			if a.until > b.Enter {
				culprit = b
			}
			if !excused[culprit] && culprit.excuse != "" {
				excused[culprit] = true
				j.verdict.Excused[culprit.excuse]++
			}
		}
	}
	return found
}

// tokens only grow, and a stale one is refused.
func (j *judge) tokens(name string) {
	var history operations
	lost := never // from when on the counter may have been lost
	clockWentBack := false
	for _, act := range j.Acts {
		if act.At < lost && (isFailover(j.History, act) || j.Round.Forgets && (act.Kind == "restart" || act.Kind == "full-disk")) {
			lost = act.At
		}
		clockWentBack = clockWentBack || act.Kind == "clock" && strings.HasPrefix(act.Detail, "-")
	}
	for _, g := range j.groups {
		if len(g.Names) == 0 || sortedNames(g.Names)[0] != name {
			continue
		}
		draws := append([]*Run{g.Run}, g.nested...)
		for i, run := range draws {
			if run.Token == 0 || i > 0 && run.Token == g.Token || clockWentBack && run.Enter > lost {
				continue
			}
			j.verdict.Tokens++
			called := run.Called
			if i > 0 {
				called = g.Enter
			}
			history.add(called, run.Enter, op{what: "draw", who: run.ID, n: run.Token})
		}
	}
	for _, check := range j.Checks {
		// That a token is refused can be due to a grant that never came to be, so only what is accepted counts.
		if check.Lock == name && check.Status == 0 && check.Ended < lost {
			j.verdict.Checks++
			history.add(check.Began, check.Ended, op{what: "accept", n: check.Token})
		}
	}
	switch history.check(tokenModel, j.limit) {
	case "unknown":
		j.verdict.Unknown = append(j.verdict.Unknown, "tokens of "+name)
	case "illegal":
		at, runs := j.Round.Began, []string{}
		for i, a := range history {
			for _, b := range history[i+1:] {
				first, then := a.Input.(op), b.Input.(op)
				if b.Return < a.Call {
					first, then = then, first
				} else if a.Return >= b.Call {
					continue
				}
				if first.what == "draw" && (then.n < first.n || then.what == "draw" && then.n == first.n) {
					at, runs = a.Call, []string{first.who, then.who}
				}
			}
		}
		j.violate("a stale token was accepted, or a token did not grow", name, at, runs...)
	}
}
