// The torture of rlock: real processes and servers, faults from a seed, histories for a checker that does
// not know the code. See tests/torture/run, which builds what is needed and starts it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sort"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	minutes := flag.Float64("minutes", 4, "for so long")
	seed := flag.Int64("seed", time.Now().UnixNano()%1e9, "what all choices come from")
	only := flag.String("setup", "", "only these, separated by commas")
	span := flag.Float64("seconds", 20, "of a round, under the nemesis")
	rlock := flag.String("rlock", "", "the program")
	tools := flag.String("tools", "", "the folder with work and clock.so")
	out := flag.String("out", "", "the folder for histories")
	peers := flag.String("peers", "", "the folder with redisson and redis-py")
	replay := flag.String("replay", "", "judge this history")
	jobs := flag.Int("jobs", 2, "so many rounds at a time")
	until := flag.Bool("until-violation", false, "stop at the first violation")
	keep := flag.Bool("keep", false, "keep each history, also of a round without a violation")
	judgeOnly := flag.String("judge", "", "judge this history, and print the verdict as JSON")
	flag.Parse()

	switch {
	case *judgeOnly != "":
		os.Exit(judgeStored(*judgeOnly))
	case *replay != "":
		report := newReport()
		report.add(*replay, judgeApart(*replay))
		report.print(os.Stdout)
		os.Exit(report.status())
	}
	var chosen []Setup
	for _, setup := range setups {
		if *only == "" && !(setup.Peers && *peers == "") || contains(strings.Split(*only, ","), setup.Name) {
			chosen = append(chosen, setup)
		}
	}
	if len(chosen) == 0 {
		fatal("no such setup: %s", *only)
	}
	t := Tools{rlock: *rlock, work: filepath.Join(*tools, "work"), shim: filepath.Join(*tools, "clock.so"),
		span: time.Duration(*span * float64(time.Second))}
	if *peers != "" {
		t.peers = []string{filepath.Join(*peers, "redisson"), filepath.Join(*peers, "redis-py")}
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)

	fmt.Printf("torture: seed %d, %g minutes, %d setups, %d rounds at a time\n", *seed, *minutes, len(chosen), *jobs)
	report := newReport()
	type result struct {
		number  int64
		setup   Setup
		dir     string
		took    time.Duration
		verdict Verdict
		err     error
	}
	results := make(chan result)
	play := func(number int64) {
		r := result{number: number, setup: chosen[number%int64(len(chosen))]}
		r.dir = filepath.Join(*out, fmt.Sprintf("%d-%d-%s", *seed, number, r.setup.Name))
		started := time.Now()
		if _, r.err = runRound(r.setup, *seed+number, r.dir, t); r.err == nil {
			r.verdict = judgeApart(r.dir)
		}
		r.took = time.Since(started)
		results <- r
	}
	var next int64
	playing := map[int64]bool{}
	for end := time.Now().Add(time.Duration(*minutes * float64(time.Minute))); ; {
		for len(playing) < *jobs && time.Now().Before(end) && !(*until && report.status() != 0) {
			playing[next] = true
			go play(next)
			next++
		}
		if len(playing) == 0 {
			break
		}
		select {
		case r := <-results:
			delete(playing, r.number)
			if r.err != nil {
				isOver.Store(true)
				clearAll(*out)
				fatal("round %d (%s, seed %d): %v", r.number, r.setup.Name, *seed+r.number, r.err)
			}
			report.add(r.dir, r.verdict)
			bad := len(r.verdict.Violations) + len(r.verdict.Unknown)
			fmt.Printf("round %d: %s, seed %d: %d grants, %d faults, %d excused, %d violations (%.0f s)\n", r.number, r.setup.Name,
				*seed+r.number, r.verdict.Grants, sum(r.verdict.Faults), sum(r.verdict.Excused), bad, r.took.Seconds())
			if bad == 0 && !*keep {
				os.RemoveAll(r.dir)
			}
		case <-interrupted:
			isOver.Store(true)
			clearAll(*out)
			for number := range playing {
				os.RemoveAll(filepath.Join(*out, fmt.Sprintf("%d-%d-%s", *seed, number, chosen[number%int64(len(chosen))].Name)))
			}
			report.print(os.Stdout)
			os.Exit(130)
		}
	}
	report.print(os.Stdout)
	os.Exit(report.status())
}

// isOver is true once nothing is to be started any more.
var isOver atomic.Bool

// clearAll ends what rounds have started, and removes what they mounted. What was being started meanwhile is
// found the second time.
func clearAll(out string) {
	dirs, _ := filepath.Glob(filepath.Join(out, "*"))
	for i := 0; i < 2; i++ {
		for _, dir := range dirs {
			(&Fleet{history: &History{Dir: dir}}).clear()
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// judgeApart judges in a process of its own, which may run out of time or memory.
func judgeApart(dir string) Verdict {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		fatal("%v", err)
	}
	cmd := exec.CommandContext(ctx, self, "-judge", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.Output()
	var verdict Verdict
	if err == nil {
		err = json.Unmarshal(out, &verdict)
	}
	if err != nil {
		verdict.Unknown = append(verdict.Unknown, fmt.Sprintf("the checker ended: %v", err))
	}
	return verdict
}

func judgeStored(dir string) int {
	limit := unix.Rlimit{Cur: 6 << 30, Max: 6 << 30}
	_ = unix.Setrlimit(unix.RLIMIT_AS, &limit)
	h, err := loadHistory(dir)
	if err != nil {
		fatal("%v", err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(judgeHistory(h, 30*time.Second)); err != nil {
		fatal("%v", err)
	}
	return 0
}

// A Report adds verdicts up.
type Report struct {
	total   Verdict
	rounds  int
	started time.Time
	pages   []string // histories with a violation
}

func newReport() *Report {
	return &Report{total: Verdict{Excused: map[string]int{}, Faults: map[string]int{}, Statuses: map[string]int{}}, started: time.Now()}
}

func (r *Report) add(dir string, v Verdict) {
	r.rounds++
	r.total.Runs += v.Runs
	r.total.Grants += v.Grants
	r.total.Waits += v.Waits
	r.total.Ordered += v.Ordered
	r.total.Disturbed += v.Disturbed
	r.total.Tokens += v.Tokens
	r.total.Checks += v.Checks
	r.total.Held += v.Held
	for _, pair := range []struct{ to, from map[string]int }{{r.total.Excused, v.Excused}, {r.total.Faults, v.Faults},
		{r.total.Statuses, v.Statuses}} {
		for key, count := range pair.from {
			pair.to[key] += count
		}
	}
	r.total.Unknown = append(r.total.Unknown, v.Unknown...)
	r.total.Violations = append(r.total.Violations, v.Violations...)
	for _, what := range v.Unknown {
		fmt.Printf("UNKNOWN: %s; the history is in %s\n", what, dir)
	}
	if len(v.Violations) > 0 {
		if h, err := loadHistory(dir); err == nil {
			for i, violation := range v.Violations {
				if i < 3 {
					writePage(os.Stdout, h, violation)
				} else {
					fmt.Printf("\n== and: %s\n", violation.What)
				}
			}
		}
	}
}

// tooMuch tells whether more than a tenth of the grants had to be excused: no proof then.
func (r *Report) tooMuch() bool { return sum(r.total.Excused)*10 > r.total.Grants }

func (r *Report) status() int {
	if len(r.total.Violations)+len(r.total.Unknown) > 0 || r.rounds > 0 && r.tooMuch() {
		return 1
	}
	return 0
}

func (r *Report) print(out *os.File) {
	t := r.total
	fmt.Fprintf(out, "\n%d rounds in %.1f minutes: %d runs, %d grants, %d waits without one; order judged of %d fair grants (%d were disturbed); %d tokens, %d accepted; %d looks at locks under which a command ran\n",
		r.rounds, time.Since(r.started).Minutes(), t.Runs, t.Grants, t.Waits, t.Ordered, t.Disturbed, t.Tokens, t.Checks, t.Held)
	for _, part := range []struct {
		name   string
		counts map[string]int
	}{{"faults", t.Faults}, {"statuses", t.Statuses}, {"excused", t.Excused}} {
		var words []string
		for _, key := range sortedKeys(part.counts) {
			words = append(words, fmt.Sprintf("%s %d", key, part.counts[key]))
		}
		fmt.Fprintf(out, "%s (%d): %s\n", part.name, sum(part.counts), strings.Join(words, ", "))
	}
	if r.rounds > 0 && r.tooMuch() {
		fmt.Fprintln(out, "more than a tenth of the grants had to be excused: this is no proof")
	}
	fmt.Fprintf(out, "%d violations, %d unknown\n", len(t.Violations), len(t.Unknown))
}

func fatal(format string, words ...any) {
	fmt.Fprintf(os.Stderr, "torture: "+format+"\n", words...)
	os.Exit(2)
}

func sum(counts map[string]int) int {
	total := 0
	for _, count := range counts {
		total += count
	}
	return total
}

func contains(words []string, word string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

func sortedNames(names []string) []string {
	sorted := append([]string{}, names...)
	sort.Strings(sorted)
	return sorted
}

// bootMinusMonotonic is for peers that know CLOCK_MONOTONIC only.
func bootMinusMonotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return now() - t.Nano()
}
