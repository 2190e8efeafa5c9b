package main

// The fleet: hosts whose workers start rlock over and over.

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

type Setup struct {
	Name     string
	Topology string // single, redlock, sentinel, cluster
	Servers  int
	Persists bool
	Shells   bool
	Peers    bool
	Kinds    []string
}

var (
	oneServer  = []string{"plain", "fair", "simple", "rw", "semaphore", "several"}
	manyServer = []string{"plain", "simple", "several"}
	setups     = []Setup{
		{Name: "aof", Topology: "single", Servers: 1, Persists: true, Kinds: oneServer},
		{Name: "volatile", Topology: "single", Servers: 1, Kinds: oneServer},
		{Name: "redlock3", Topology: "redlock", Servers: 3, Kinds: manyServer},
		{Name: "redlock5", Topology: "redlock", Servers: 5, Kinds: manyServer},
		{Name: "sentinel", Topology: "sentinel", Servers: 3, Kinds: oneServer},
		{Name: "cluster", Topology: "cluster", Servers: 6, Kinds: oneServer},
		{Name: "shells", Topology: "single", Servers: 1, Persists: true, Shells: true, Kinds: []string{"plain", "fair", "simple", "rw", "semaphore"}},
		{Name: "mixed", Topology: "single", Servers: 1, Persists: true, Peers: true, Kinds: oneServer},
	}
)

const (
	hostCount   = 3
	workerCount = 5 // a host
	lockCount   = 3 // of which each is wanted by a third of the workers
)

// A Fleet is what one round runs. Everything that it chooses comes from the seed.
type Fleet struct {
	history *History
	setup   Setup
	group   *Backend
	proxies [][]*Proxy // of a host, a server
	rlock   string
	work    string

	mutex    sync.Mutex
	live     map[string]*Run // runs that have been started and have not ended
	acts     []Act
	tokens   map[string][]int64 // drawn so far, of a lock
	stopping bool
	counter  int
	workers  sync.WaitGroup
}

func (f *Fleet) urls(host int) []string {
	if f.group.url != "" {
		return []string{f.group.url}
	}
	var urls []string
	for _, proxy := range f.proxies[host] {
		urls = append(urls, proxy.url())
	}
	return urls
}

func (f *Fleet) environ(host int, run string) []string {
	var environ []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "RLOCK_") && !strings.HasPrefix(variable, "REDISCLI_") {
			environ = append(environ, variable)
		}
	}
	return append(environ, roundVariable+"="+f.history.Dir, hostVariable+"="+f.hostMarker(host),
		runVariable+"="+f.marker(run), "RLOCK_REDIS="+strings.Join(f.urls(host), " "), "HOME="+f.history.Dir,
		"XDG_CONFIG_HOME="+f.history.Dir)
}

// Several rounds run at the same time, so what is in the environment tells the round, too.
func (f *Fleet) marker(run string) string   { return f.history.Dir + "/" + run }
func (f *Fleet) hostMarker(host int) string { return fmt.Sprintf("%s/host%d", f.history.Dir, host) }

func (f *Fleet) life(run string) string { return filepath.Join(f.history.Dir, "life", run+".h") }

// holds tells whether the command of a run has begun.
func (f *Fleet) holds(run string) bool {
	_, err := os.Stat(f.life(run))
	return err == nil
}

// start has all workers work, each with a source of choices of its own.
func (f *Fleet) start(seed int64) {
	for host := 0; host < hostCount; host++ {
		for worker := 0; worker < workerCount; worker++ {
			f.workers.Add(1)
			go func(host int, choices *rand.Rand) {
				defer f.workers.Done()
				for !f.isStopping() {
					run := f.choose(choices, host)
					f.execute(run)
					pause := choices.Intn(20)
					if run.Status == 69 { // no server: as cron does, not at once
						pause += 300
					}
					time.Sleep(time.Duration(pause) * time.Millisecond)
				}
			}(host, rand.New(rand.NewSource(seed+int64(host*100+worker))))
		}
	}
}

func (f *Fleet) isStopping() bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.stopping
}

// choose makes up what a worker runs next.
func (f *Fleet) choose(choices *rand.Rand, host int) *Run {
	round := f.history.Round
	lock := round.Locks[choices.Intn(len(round.Locks))]
	f.mutex.Lock()
	f.counter++
	run := &Run{ID: fmt.Sprintf("r%d", f.counter), Host: host, By: "rlock", Names: []string{lock.Name}, Mode: "exclusive",
		Lease: round.Lease}
	f.mutex.Unlock()
	var args []string
	one := func(n int) bool { return choices.Intn(n) == 0 }
	option := func(words ...string) { args = append(args, words...) }
	switch lock.Kind {
	case "fair":
		option("--fair")
	case "simple":
		option("--kind", "simple")
	case "rw":
		run.Mode = "read"
		if one(2) {
			run.Mode = "write"
		}
		option("--kind", run.Mode)
	case "semaphore":
		run.Mode = "permit"
		option("--permits", fmt.Sprint(lock.Permits))
	case "several":
		// Those that want one of the two names meet those that want both, in either order.
		second := lock.Name + "'"
		run.Names = [][]string{{lock.Name}, {second}, {lock.Name, second}, {second, lock.Name}}[choices.Intn(4)]
	}
	run.Wait = int64(3+choices.Intn(10)) * second
	if one(8) {
		run.Wait = 0
	}
	option("-w", seconds(run.Wait), "--lease", seconds(run.Lease), "--timeout", seconds(round.Timeout), "--note", run.ID)
	if run.Mode != "read" && run.Mode != "permit" && one(2) {
		run.Fence = true
		option("--fence")
	}
	if f.setup.Topology == "redlock" {
		option("--restart-delay", seconds(restartDelay))
	}
	hold := int64(5 + choices.Intn(50))
	if one(12) {
		hold = (run.Lease/3 + choices.Int63n(2*run.Lease)) / ms
	}
	if !f.setup.Shells {
		if one(12) {
			run.AtLeast = int64(choices.Intn(1500)) * ms
			option("--at-least", seconds(run.AtLeast))
		}
		if one(10) {
			run.AtMost = run.AtLeast + int64(100+choices.Intn(900))*ms
			option("--at-most", seconds(run.AtMost))
		}
		if f.setup.Topology == "sentinel" && one(4) {
			option("--sync-replicas", "1")
		}
	}
	if one(12) && !f.setup.Shells { // nobody ends what a shell does when its lease ends
		run.Fixed = true
		option("--no-watchdog")
	}
	work := []string{f.work, f.life(run.ID), fmt.Sprint(hold)}
	if one(3) {
		work = append(work, "ignore-term")
	}
	if one(5) {
		run.Exit = 1 + choices.Intn(60)
		work = append(work, fmt.Sprintf("status=%d", run.Exit))
	}
	switch {
	case one(6):
		work = append(work, "fork-away")
	case one(5) && len(run.Names) == 1 && !f.setup.Shells:
		inner := []string{f.rlock, "exec", "-q"}
		inner = append(append(inner, args...), run.Names[0], "--", f.work, f.life(run.ID+".n"),
			fmt.Sprint(5+choices.Intn(int(run.Lease/ms))))
		if one(2) {
			inner = append(inner, "ignore-term")
		}
		work = append(append(work, "--"), inner...)
	}
	if f.setup.Shells {
		run.Args = f.shell(run, args, work)
		return run
	}
	run.Args = append(append([]string{f.rlock, "exec"}, args...), run.Names...)
	run.Args = append(append(run.Args, "--"), work...)
	switch choices.Intn(40) {
	case 0: // a command whose file system is slow
		run.Limited = true
		run.Args = append([]string{"strace", "-f", "--seccomp-bpf", "-q", "-o", "/dev/null", "-e", "trace=execve", "-e",
			fmt.Sprintf("inject=execve:delay_enter=%d", (run.Lease/4+choices.Int63n(run.Lease))/1000)}, run.Args...)
	case 1:
		run.Limited = true
		run.Args = append([]string{"prlimit", fmt.Sprintf("--nofile=%d", 5+choices.Intn(16))}, run.Args...)
	case 2:
		run.Limited = true
		run.Args = append([]string{"prlimit", fmt.Sprintf("--as=%d", (8+choices.Intn(60))<<20)}, run.Args...)
	}
	return run
}

// shell returns a script that takes, may renew, works, and gives back.
func (f *Fleet) shell(run *Run, args, work []string) []string {
	run.By = "shell"
	script := `eval "$("$1" acquire --export ${3} "$2")" || exit
"${@:4}"
status=$?
"$1" renew "$2" >/dev/null 2>&1
"$1" unlock "$2" || exit 79
exit $status`
	script = strings.Replace(script, "${3}", strings.Join(args, " "), 1)
	return append([]string{"bash", "-c", script, "torture", f.rlock, run.Names[0], "-"}, work...)
}

func seconds(ns int64) string { return fmt.Sprintf("%dms", ns/ms) }

// execute runs it to its end, and notes what came of it.
func (f *Fleet) execute(run *Run) {
	cmd := exec.Command(run.Args[0], run.Args[1:]...)
	cmd.Env = f.environ(run.Host, run.ID)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// A file: a pipe would be waited for until all who have inherited it end.
	stderr, err := os.Create(f.life(run.ID) + ".err")
	if err != nil {
		panic(err)
	}
	defer stderr.Close()
	cmd.Stderr = stderr
	f.mutex.Lock()
	f.history.Runs = append(f.history.Runs, run)
	f.live[run.ID] = run
	run.Called = now()
	f.mutex.Unlock()
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	f.mutex.Lock()
	run.Pid = cmd.Process.Pid
	f.mutex.Unlock()
	_ = cmd.Wait()
	ended := now()
	text, _ := os.ReadFile(stderr.Name())
	os.Remove(stderr.Name())
	f.mutex.Lock()
	defer f.mutex.Unlock()
	run.Ended = ended
	run.Status = cmd.ProcessState.ExitCode()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		run.Status = 128 + int(status.Signal())
	}
	run.Stderr = string(bytes.TrimSpace(text))
	delete(f.live, run.ID)
	if run.Fence && len(run.Names) == 1 {
		life := &Run{}
		if life.readLife(f.life(run.ID)) == nil && life.Token > 0 {
			f.tokens[run.Names[0]] = append(f.tokens[run.Names[0]], life.Token)
		}
	}
}

// checkTokens asks over and over whether some token, mostly an old one, is still to be accepted.
func (f *Fleet) checkTokens(choices *rand.Rand) {
	for !f.isStopping() {
		time.Sleep(time.Duration(50+choices.Intn(100)) * time.Millisecond)
		lock := f.history.Round.Locks[choices.Intn(len(f.history.Round.Locks))].Name
		if choices.Intn(4) == 0 {
			lock += "'"
		}
		f.mutex.Lock()
		drawn := f.tokens[lock]
		var token int64
		if len(drawn) > 0 {
			token = drawn[len(drawn)-1-choices.Intn(min(len(drawn), 5))]
		}
		f.mutex.Unlock()
		if token == 0 {
			continue
		}
		check := Check{Began: now(), Lock: lock, Token: token}
		cmd := exec.Command(f.rlock, "fence", "-q", "--timeout", seconds(f.history.Round.Timeout), lock, fmt.Sprint(token))
		cmd.Env = f.environ(choices.Intn(hostCount), "fence")
		_ = cmd.Run()
		check.Ended, check.Status = now(), cmd.ProcessState.ExitCode()
		f.mutex.Lock()
		f.history.Checks = append(f.history.Checks, check)
		f.mutex.Unlock()
	}
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}
