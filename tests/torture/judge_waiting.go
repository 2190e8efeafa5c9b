package main

// The judge of those who wait: the order of a fair queue, and that nobody sleeps beside a free lock.

import (
	"fmt"
	"sort"
	"strings"
)

// order judges the queue of a fair lock: nobody passes one who was seen in it before, and lives.
func (j *judge) order(name string) {
	var history operations
	byID := map[string]*Group{}
	for _, g := range j.groups {
		if g.wants(name) {
			byID[g.ID] = g
		}
	}
	waitingAs := map[string]waits{}
	for _, g := range byID {
		waitingAs[g.Owner] = append(waitingAs[g.Owner], g)
	}
	seen := map[string]int64{}
	for _, look := range j.Looks {
		for _, id := range look.Queue {
			if strings.Contains(id, ":") { // a thread of Redisson's waits under the same name each time
				id = waitingAs[id].at(look.Began)
			}
			if look.Lock == name && seen[id] == 0 {
				seen[id] = look.Ended
			}
		}
	}
	for _, g := range byID {
		end := g.Ended
		if g.Enter > 0 {
			end = g.Enter
		}
		if end == 0 {
			end = never
		}
		if j.hadClaim(g, name) { // it does not wait, or did before
			continue
		}
		at, isSeen := seen[g.ID]
		isSeen = isSeen && at < end
		isQuiet := j.quietInQueue(g.Run, g.Called, end)
		switch {
		case isSeen && g.Enter > 0 && isQuiet:
			j.verdict.Ordered++
			history.add(g.Called, at, op{what: "join", who: g.ID})
			history.add(freeSince(g, byID), g.Enter, op{what: "head", who: g.ID})
		case isSeen && isQuiet: // it gave up in time; when it left the queue is not known
		case isSeen: // it has no claim, and holds up nobody who has one
			j.verdict.Disturbed++
		case g.Enter > 0 && isQuiet && g.Enter-g.Called < second/20:
			j.verdict.Ordered++
			history.add(freeSince(g, byID), g.Enter, op{what: "pass", who: g.ID})
		}
	}
	// Where Porcupine runs out of time, the pairs decide. The grants come one after the other, so those who waited have joined
	// in that order if each of them can have joined before the next: that is what passedBy looks at.
	fault := history.check(queueModel, j.limit)
	if fault != "" && !j.passedBy(name, byID, seen) && fault == "illegal" {
		j.violate("no order of all who waited is one of a queue", name, j.Round.Began)
	}
}

// hadClaim tells whether a thread of Redisson's still had the lock when it wanted it again, or a place in the queue, because
// its unlock or its leaving had failed.
func (j *judge) hadClaim(g *Group, name string) bool {
	had := false
	for _, look := range j.Looks { // in the order of time
		if look.Ended < g.Called && look.Lock == name {
			had = g.By != "rlock" && (contains(look.Holders, g.Owner) || contains(look.Queue, g.Owner))
		}
	}
	return had
}

// freeSince returns from when on a run can have got the lock: nobody had it any more.
func freeSince(g *Group, all map[string]*Group) int64 {
	since := g.Called
	for _, before := range all {
		if before.Enter > 0 && before.Enter < g.Enter && before.until <= g.Enter && before.until > since && before.excuse == "" {
			since = before.until
		}
	}
	return since
}

type waits []*Group

// at returns which of the runs waited then, or "".
func (w waits) at(moment int64) string {
	for _, g := range w {
		if g.Called <= moment && moment <= g.Enter {
			return g.ID
		}
	}
	return ""
}

// quietInQueue tells whether nothing that may cost a waiter its turn happened to it or to all.
func (j *judge) quietInQueue(r *Run, from, to int64) bool {
	if r.Limited {
		return false
	}
	for _, act := range j.Acts {
		if act.At > to || act.Until < from || !act.touches(r, from, to) {
			continue
		}
		switch act.Kind {
		case "kill-subscribers", "kill-clients", "force", "delete", "kill-command":
			continue
		case "stop-server", "pause-clients":
			if act.Until-act.At < second {
				continue
			}
		}
		return false
	}
	return true
}

// passedBy finds one who stood in the queue before another began to wait, and who came after it.
func (j *judge) passedBy(name string, byID map[string]*Group, seen map[string]int64) bool {
	for _, first := range byID {
		at, isSeen := seen[first.ID]
		if !isSeen {
			continue
		}
		for _, later := range byID {
			if later.Called > at && !j.hadClaim(later, name) && later.Enter > 0 && (first.Enter == 0 && later.Enter < first.Ended || later.Enter < first.Enter) &&
				j.quietInQueue(first.Run, first.Called, later.Enter) {
				j.violate(fmt.Sprintf("%s stood in the queue before %s began to wait, and %s came first", first.ID, later.ID,
					later.ID), name, later.Enter, first.ID, later.ID)
				return true
			}
		}
	}
	return false
}

// begin is from when on a run may have held the lock: also without having entered.
func (g *Group) begin() int64 {
	if g.Enter > 0 {
		return g.Enter
	}
	return g.Called
}

// waiting judges that nobody sleeps beside a lock that is free: a lost message costs 6 s at the most.
func (j *judge) waiting(w *Group) {
	if len(w.Names) != 1 || w.Mode != "exclusive" || w.Called == 0 || j.Round.Lease > 3*second {
		return
	}
	end := w.Ended
	if w.Enter > 0 {
		end = w.Enter
	}
	if end == 0 || !j.quietInQueue(w.Run, w.Called, end) {
		return
	}
	free := w.Called // so long nobody has been known to hold it
	const patience = 8 * second
	others := append([]*Group{}, j.groups...)
	sort.Slice(others, func(a, b int) bool { return others[a].begin() < others[b].begin() })
	for _, g := range others {
		if g == w || !g.wants(w.Names[0]) || g.Called > end {
			continue
		}
		done := g.last + g.AtLeast
		if g.Enter == 0 {
			done = g.Ended
		}
		// Of who was killed or cut off, the lease goes on, and a fair place.
		if !j.quiet(g.Run, g.Called, g.Ended) || g.Status == 79 || g.Fixed || g.Limited {
			done += j.Round.Lease + 15*second
			if g.Ended+j.Round.Lease > done {
				done = g.Ended + j.Round.Lease
			}
		}
		if g.begin() > free+patience {
			break
		}
		if done > free {
			free = done
		}
	}
	if end > free+patience {
		j.violate(fmt.Sprintf("%s waited for %.1f s beside a free lock", w.ID, float64(end-free)/1e9), w.Names[0], end, w.ID)
	}
}
