package main

// What the servers were asked tells, without a second run, when the lease of a command had ended at the latest.

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// In the log of a server's requests: from here on somebody listens, and from here on nobody does.
const (
	listens = "LISTENS"
	deaf    = "DEAF"
)

// A Request that a server carried out at that moment.
type Request struct {
	At   int64
	Text string
}

// isOf tells whether it is about a lock, and by the owner of a run.
func (r Request) isOf(g *Group, name string) bool {
	return strings.Contains(r.Text, g.Owner) && strings.Contains(r.Text, `"`+name+`"`)
}

// requests returns what a server was asked, in order. The log is read once.
func (h *History) requests(server int) []Request {
	if h.logs == nil {
		h.logs = map[int][]Request{}
	}
	if _, isRead := h.logs[server]; !isRead {
		h.logs[server] = h.readRequests(server)
	}
	return h.logs[server]
}

// readRequests reads the log of a server. What it says is read a little later than it happened: its own clock tells when,
// unless somebody has set it.
func (h *History) readRequests(server int) []Request {
	in, err := os.Open(filepath.Join(h.Dir, fmt.Sprintf("requests-%d.log", server)))
	if err != nil {
		return nil
	}
	defer in.Close()
	var requests []Request
	var clock []int64 // the server's, of each request; 0: not told
	ahead := never    // of the server's clock, the clock of the histories
	text := bufio.NewScanner(in)
	text.Buffer(nil, 1<<20)
	for text.Scan() {
		words := strings.SplitN(text.Text(), " ", 3)
		at, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil || len(words) < 3 {
			continue
		}
		told, _ := strconv.ParseInt(strings.Replace(words[1], ".", "", 1), 10, 64) // us
		if told > 0 {
			ahead = min(ahead, at-told*1000)
		}
		requests = append(requests, Request{at, words[2]})
		clock = append(clock, told*1000)
	}
	if h.hasSetClock() {
		return requests
	}
	for i := range requests {
		if clock[i] > 0 {
			requests[i].At = clock[i] + ahead
		}
	}
	return requests
}

func (h *History) hasSetClock() bool {
	for _, act := range h.Acts {
		if act.Kind == "clock" {
			return true
		}
	}
	return false
}

// outlasted finds commands that went on for longer than a lease after the last request of their owner, on too many servers.
func (j *judge) outlasted() {
	// Of replicas, one at a time keeps the lock, and which one is not known.
	if j.Round.Servers > 1 && j.Round.Minority == 0 || j.hasSetClock() {
		return
	}
	logs := make([][]Request, j.Round.Servers)
	for server := range logs {
		logs[server] = j.requests(server)
	}
	for _, g := range j.groups {
		// With several servers each of several locks may have an owner of its own, and g tells one of them.
		isOfOne := j.Round.Servers == 1 || len(g.Names) == 1
		if !g.toldOwner() || !isOfOne {
			continue
		}
		end := min(g.until, g.last)
		if end < g.Enter { // excused before it began
			continue
		}
		for _, name := range g.Names {
			latest := make([]int64, len(logs))
			for server, log := range logs {
				latest[server] = lastRequest(log, name, g, end) + g.Lease
			}
			sort.Slice(latest, func(a, b int) bool { return latest[a] > latest[b] }) // a majority counts
			if over := end - latest[len(latest)/2]; over > 0 {
				j.violate(fmt.Sprintf("%s went on for %.1f ms after the end of its lease, counted from the last request", g.ID,
					float64(over)/1e6), name, end, g.ID)
				break
			}
		}
	}
}

// lastRequest returns when a server was last asked something about a lock by the owner of a run, before its end: at any moment
// at which nobody listened, it may have been. 0: never.
func lastRequest(log []Request, name string, g *Group, end int64) int64 {
	last, isHeard := int64(0), false
	for _, request := range log {
		if request.At > end {
			break
		}
		switch {
		case request.Text == listens:
			isHeard = true
			last = request.At
		case request.Text == deaf:
			isHeard = false
		case request.isOf(g, name):
			last = request.At
		}
	}
	if !isHeard {
		return end
	}
	return last
}
