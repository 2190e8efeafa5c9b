package main

// What looks at the servers tell, without a second run: who had a lock while its command ran, and who kept one.

import (
	"fmt"
	"sort"
	"strings"
)

// heldAll judges that the servers knew of the lock of each run for as long as its command was seen alive: it is not
// to run for a moment without, also when nobody else wants the lock.
func (j *judge) heldAll() {
	looks := map[string][][]Look{} // of a lock, a server each, in the order of time
	for _, look := range j.Looks {
		if looks[look.Lock] == nil {
			looks[look.Lock] = make([][]Look, j.Round.Servers)
		}
		looks[look.Lock][look.Server] = append(looks[look.Lock][look.Server], look)
	}
	for _, g := range j.groups {
		if !g.toldOwner() || g.Mode == "permit" {
			continue
		}
		for _, name := range g.Names {
			// With several servers each of several locks may have an owner of its own, and g tells one of them.
			isOfAnother := j.Round.Servers > 1 && len(g.Names) > 1 && !isEverHeldBy(g.Owner, looks[name])
			if looks[name] != nil && !isOfAnother {
				j.held(g, name, looks[name])
			}
		}
	}
}

// toldOwner tells whether it is a run of rlock's own command, which began, and said whose its lock is.
func (g *Group) toldOwner() bool {
	return g.Enter > 0 && g.By == "rlock" && g.of == g.ID && g.Owner != "" && g.Owner != "-"
}

func isEverHeldBy(owner string, looks [][]Look) bool {
	for _, ofServer := range looks {
		for _, look := range ofServer {
			if look.isHeldBy(owner) {
				return true
			}
		}
	}
	return false
}

// held finds the first moment at which too many servers did not know of the lock of g.
func (j *judge) held(g *Group, name string, looks [][]Look) {
	end := min(g.until, g.last)
	type change struct {
		at   int64
		lost int // one more server is without, or one fewer
	}
	var changes []change
	for _, ofServer := range looks {
		isWithout := false
		for _, look := range ofServer {
			if look.Began < g.Enter || look.Ended > end {
				continue
			}
			j.verdict.Held++
			without := !look.isHeldBy(g.Owner) && !(j.Round.Servers > 1 && j.hasNoVote(look))
			if without != isWithout {
				isWithout = without
				if without {
					changes = append(changes, change{look.Ended, 1})
				} else {
					changes = append(changes, change{look.Began, -1})
				}
			}
		}
	}
	sort.Slice(changes, func(a, b int) bool { return changes[a].at < changes[b].at })
	const glimpse = 150 * ms // between the looks at several servers
	minority, without := (j.Round.Servers-1)/2, 0
	for i, c := range changes {
		without += c.lost
		until := end
		if i+1 < len(changes) {
			until = changes[i+1].at
		}
		if without > minority && (j.Round.Servers == 1 || until-c.at > glimpse) {
			j.violate(fmt.Sprintf("%s went on for %.1f ms, and had no lock", g.ID, float64(g.last-c.at)/1e6), name, c.at, g.ID)
			return
		}
	}
}

// hasNoVote tells whether one of several servers has just started, and nobody counts on what it says.
func (j *judge) hasNoVote(look Look) bool {
	for _, act := range j.Acts {
		if act.Kind == "restart" && act.Server == look.Server && act.At <= look.Ended && look.Began <= act.Until {
			return true
		}
	}
	return false
}

func (l Look) isHeldBy(owner string) bool {
	for _, holder := range l.Holders {
		if strings.TrimSuffix(holder, ":write") == owner {
			return true
		}
	}
	return false
}

// outlived finds locks that were seen after their run had ended and said nothing: it has released them.
func (j *judge) outlived() {
	if j.Round.Servers > 1 {
		return
	}
	byOwner := map[string]*Group{}
	for _, g := range j.groups {
		isSilent := j.hasReleased(g) && !g.Unheard &&
			!j.hit(g.Run, "swallow-answers") && // it may not know of a renewal, and takes its lease for ended
			!(j.cutOff(g.Run, g.Enter-g.Lease, g.Enter) && j.cutOff(g.Run, g.last, g.Ended)) // its lease began late at the server
		if isSilent && g.Owner != "" && g.Owner != "-" {
			byOwner[g.Owner] = g
		}
	}
	for _, look := range j.Looks {
		for _, holder := range look.Holders {
			g := byOwner[strings.TrimSuffix(holder, ":write")]
			if g != nil && look.Again > g.Ended+20*ms && g.wants(look.Lock) {
				j.violate(g.ID+" has ended without a word, and still has the lock", look.Lock, look.Again, g.ID)
				delete(byOwner, g.Owner)
			}
		}
	}
}

// hasReleased tells whether a run of rlock's and all below it ended by themselves, without a word, and kept no lock.
func (j *judge) hasReleased(g *Group) bool {
	hasReleased := g.Ended > 0 && g.Left && g.Status == g.Exit && g.Stderr == "" && g.By == "rlock" && g.of == g.ID &&
		g.AtLeast == 0 && g.InnerAtLeast == 0 && !j.hit(g.Run, "kill-nested", "kill-both", "kill-host") // whose hold ends with its lease
	for _, nested := range g.nested {
		hasReleased = hasReleased && nested.Left
	}
	return hasReleased
}

// cutOff tells whether a run could not reach a server for some of this time.
func (j *judge) cutOff(r *Run, from, to int64) bool {
	for _, act := range j.Acts {
		if isOutage(act, r) && act.At <= to && act.Until >= from {
			return true
		}
	}
	return false
}

// votes finds servers that still have a lock for a run that did not get it from a majority, or that has given it back.
func (j *judge) votes() {
	if j.Round.Minority == 0 {
		return
	}
	told := map[string]bool{}
	byID := map[string]*Run{}
	for _, r := range j.Runs {
		if r.Status == 75 && r.Ended > 0 && !r.Limited && j.quiet(r, r.Called-second, r.Ended+second) {
			byID[r.ID] = r
		}
	}
	for _, g := range j.groups {
		r := g.Run
		from := r.Called - second
		for _, nested := range g.nested { // what a server has missed before the end of the last of them, it is asked to give back, too
			from = nested.Last - second/5
		}
		if j.hasReleased(g) && !r.Limited && j.quiet(r, from, r.Ended+second) {
			byID[r.ID] = r
		}
	}
	for _, look := range j.Looks {
		for _, note := range look.Notes {
			if r := byID[note]; r != nil && look.Again > r.Ended+second/2 && !told[note] && j.quiet(r, r.Ended, min(look.Again, r.Ended+second)) {
				told[note] = true
				j.violate(fmt.Sprintf("%s gave up or ended, and server %d keeps its vote", note, look.Server), look.Lock, look.Again, note)
			}
		}
	}
}

// After this time, each server that can be reached has a lock that a majority has granted.
const spreadTime = second / 2

// spread finds runs that one of several servers did not know for longer, although nobody else had a vote there.
func (j *judge) spread() {
	if j.Round.Minority == 0 {
		return
	}
	for _, g := range j.groups {
		if !g.toldOwner() || g.Mode != "exclusive" || len(g.Names) > 1 || g.Fixed || g.Limited {
			continue
		}
		for _, look := range j.Looks {
			// From soon after the grant on, and for the whole of that time.
			hasNobody := look.Lock == g.Names[0] && len(look.Holders) == 0 && look.Began < g.Enter+spreadTime/5
			until := min(look.Again, min(g.last, g.until))
			if hasNobody && until > g.Enter+6*spreadTime/5 && j.quiet(g.Run, g.Called-second, until) {
				j.violate(fmt.Sprintf("for %.1f s, server %d did not know that %s has the lock", float64(until-g.Enter)/1e9,
					look.Server, g.ID), look.Lock, until, g.ID)
				break
			}
		}
	}
}

// hoarded finds runs that had one of the two locks that they want for longer than they may, and did not run.
func (j *judge) hoarded() {
	if j.Round.Servers > 1 {
		return
	}
	byNote := map[string]*Group{}
	for _, g := range j.groups {
		if len(g.Names) > 1 && g.By == "rlock" && g.of == g.ID && !g.isDelayed() {
			byNote[g.ID] = g
		}
	}
	for _, look := range j.Looks {
		for _, note := range look.Notes {
			g := byNote[note]
			if g == nil || !g.wants(look.Lock) {
				continue
			}
			until := look.Again
			if g.Enter > 0 {
				until = min(until, g.Enter)
			}
			limit := longestKeep + 2*second // for a busy machine
			for _, act := range j.Acts {    // what kept it from giving back
				if act.hinders(g.Run, look.Began, until) {
					limit += act.Until - act.At + j.Round.Timeout
				}
			}
			if until-look.Began > limit {
				j.violate(fmt.Sprintf("%s had one of its locks for %.1f s, and did not run", note, float64(until-look.Began)/1e9),
					look.Lock, until, note)
				delete(byNote, note)
			}
		}
	}
}

// hinders tells whether an act can have kept a run from asking a server for something. Who has lost a connection makes
// another one at once, and what is done to locks delays nobody.
func (act Act) hinders(r *Run, from, to int64) bool {
	switch act.Kind {
	case "kill-subscribers", "kill-clients", "delete", "force", "evict", "clock", "continue":
		return false
	}
	return act.touches(r, from, to)
}

// leftInQueue finds waiters that have given up, and that are still in the queue.
func (j *judge) leftInQueue() {
	gone := map[string]*Run{}
	for _, r := range j.Runs {
		hasGivenUp := r.Ended > 0 && r.Enter == 0 && (r.Status == 75 || j.hit(r, "term", "interrupt", "hang-up"))
		if hasGivenUp && r.By == "rlock" && !r.Limited &&
			j.quietBut(r, r.Called-second, r.Ended+second, "term", "interrupt", "hang-up", "kill-subscribers", "continue") {
			gone[r.ID] = r
		}
	}
	for _, look := range j.Looks {
		for place, id := range look.Queue {
			if r := gone[id]; r != nil && look.Again > r.Ended+second/2 {
				j.violate(fmt.Sprintf("%s gave up, and %.1f s later it is still number %d in the queue", id,
					float64(look.Again-r.Ended)/1e9, place+1), look.Lock, look.Again, id)
				delete(gone, id)
			}
		}
	}
}

// broke tells whether an act deleted or broke a lock that a run held.
func (act Act) broke(r *Run) bool {
	if !r.wants(act.Lock) {
		return false
	}
	return act.Kind == "delete" && act.Detail == "deleted 1" ||
		act.Kind == "force" && strings.Contains(act.Detail, "taken from") && strings.Contains(act.Detail, `"`+r.ID+`"`)
}

// wentOn finds commands that went on after the server had lost their lock: at the next renewal that is noticed, and
// without one the lease ends.
func (j *judge) wentOn() {
	if j.Round.Servers > 1 {
		return
	}
	for _, act := range j.Acts {
		isForgotten := act.Kind == "restart" && j.Round.Forgets && j.Round.Setup == "volatile"
		for _, g := range j.groups {
			if g.By != "rlock" || g.of != g.ID || g.Mode == "permit" || g.Enter == 0 || act.At < g.Enter ||
				!isForgotten && !act.broke(g.Run) || len(g.nested) > 0 {
				continue
			}
			lost := act.Until
			if isForgotten {
				lost = act.At
			}
			noticed := lost + g.Lease/3 + j.Round.Timeout + g.killAfter() + second
			isNoticed := !isForgotten && !g.Fixed && !g.Limited && j.quietBut(g.Run, act.At-second, noticed, "delete", "force")
			if isNoticed && g.last > noticed || g.last > lost+g.Lease && !j.isBeyondHelp(g) {
				j.violate(fmt.Sprintf("%s went on for %.1f s after its lock was lost", g.ID, float64(g.last-lost)/1e9),
					g.Names[0], lost, g.ID)
			}
		}
	}
}
