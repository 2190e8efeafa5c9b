package main

// One page on a violation: what happened around it, in the order of time.

import (
	"fmt"
	"io"
	"sort"
	"strings"
)

const (
	before   = 3 * second
	after    = second
	maxLines = 120
)

func writePage(out io.Writer, h *History, v Violation) {
	fmt.Fprintf(out, "\n== %s\n   setup %s, seed %d, lock %q, lease %d ms; history: %s\n", v.What, h.Round.Setup, h.Round.Seed,
		v.Lock, h.Round.Lease/ms, h.Dir)
	type line struct {
		at   int64
		text string
	}
	var lines []line
	involved := map[string]bool{}
	for _, id := range v.Runs {
		involved[id] = true
	}
	add := func(at int64, format string, words ...any) {
		if at >= v.At-before && at <= v.At+after {
			lines = append(lines, line{at, fmt.Sprintf(format, words...)})
		}
	}
	owners := map[string]string{}
	for _, r := range h.Runs {
		outer := strings.TrimSuffix(r.ID, ".n")
		if !involved[r.ID] && !involved[outer] {
			continue
		}
		if r.Owner != "" && r.Owner != "-" {
			owners[r.Owner] = r.ID
		}
		fmt.Fprintf(out, "   %s: host %d, pid %d, owner %s, status %d, lived %.3f to %.3f\n      %s\n      %s\n", r.ID, r.Host, r.Pid,
			r.Owner, r.Status, at(h, r.Enter), at(h, r.Last), strings.Join(r.Args, " "), r.Stderr)
		for _, moment := range []struct {
			at   int64
			what string
		}{{r.Called, "called"}, {r.Enter, "ENTERS"}, {r.Last, "last sign of life"}, {r.Ended, fmt.Sprint("ended, status ", r.Status)}} {
			if moment.at > 0 {
				add(moment.at, "%s %s", r.ID, moment.what)
			}
		}
	}
	for _, act := range h.Acts {
		what := fmt.Sprintf("NEMESIS %s server=%d host=%d run=%s lock=%s %s", act.Kind, act.Server, act.Host, act.Run, act.Lock, act.Detail)
		add(act.At, "%s, for %d ms", what, (act.Until-act.At)/ms)
		if act.Until-act.At > ms {
			add(act.Until, "%s: over", what)
		}
	}
	for _, look := range h.Looks {
		if look.Lock == v.Lock && len(lines) < maxLines {
			add(look.Ended, "%s is held by %v, and wanted by %v", look.Lock, look.Holders, look.Queue)
		}
	}
	for server := 0; server < h.Round.Servers; server++ {
		for _, r := range h.requests(server) {
			request := r.Text
			if v.Lock != "" && !strings.Contains(request, v.Lock) {
				continue
			}
			for owner, id := range owners {
				request = strings.ReplaceAll(request, owner, "<"+id+">")
			}
			if len(v.Runs) == 0 || strings.Contains(request, "<") {
				add(r.At, "requests-%d: %.300s", server, request)
			}
		}
	}
	sort.SliceStable(lines, func(a, b int) bool { return lines[a].at < lines[b].at })
	if len(lines) > maxLines {
		fmt.Fprintf(out, "   (%d earlier lines are left out)\n", len(lines)-maxLines)
		lines = lines[len(lines)-maxLines:]
	}
	for _, l := range lines {
		fmt.Fprintf(out, "   %10.3f  %s\n", at(h, l.at), l.text)
	}
}

// at is a moment in seconds since the round began.
func at(h *History, moment int64) float64 { return float64(moment-h.Round.Began) / 1e9 }
