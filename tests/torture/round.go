package main

// One round: servers, hosts and a nemesis are started, work, are healed, and end; what is left is looked for.

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"
)

// What a round is run with: all that does not come from its seed.
type Tools struct {
	rlock string
	work  string
	shim  string // the server's clock
	peers []string
	span  time.Duration // under the nemesis
}

// runRound leaves its history in dir, in place of an earlier one. An error is a fault of the torture itself.
func runRound(setup Setup, seed int64, dir string, tools Tools) (*History, error) {
	choices := rand.New(rand.NewSource(seed))
	h := &History{Dir: dir}
	os.RemoveAll(dir)
	if err := os.MkdirAll(filepath.Join(dir, "life"), 0o700); err != nil {
		return nil, err
	}
	h.Round = Round{Setup: setup.Name, Seed: seed, Servers: setup.Servers, Forgets: !setup.Persists,
		Lease:   []int64{1200 * ms, 1500 * ms, 2 * second}[choices.Intn(3)],
		Timeout: []int64{300 * ms, second, 3 * second, 3 * second}[choices.Intn(4)]}
	if setup.Topology == "redlock" {
		h.Round.Minority = setup.Servers / 2
		h.Round.Distance = []int64{0, 10 * ms, 25 * ms}[choices.Intn(3)]
		if choices.Intn(3) == 0 { // renewals are rare
			h.Round.Lease = 3 * second
		}
	} else if choices.Intn(3) == 0 { // time enough for an outage that is not a loss
		h.Round.Lease, h.Round.Timeout = 4*second, min(h.Round.Timeout, second)
	}
	for _, kind := range draw(choices, setup.Kinds, lockCount) {
		lock := Lock{Name: kind, Kind: kind}
		if kind == "semaphore" {
			lock.Permits = 2
		}
		h.Round.Locks = append(h.Round.Locks, lock)
	}
	shim := ""
	if choices.Intn(3) == 0 {
		shim = tools.shim
	}

	fleet := &Fleet{history: h, setup: setup, rlock: tools.rlock, work: tools.work, live: map[string]*Run{}, tokens: map[string][]int64{}}
	defer fleet.clear()
	if setup.Persists && setup.isSingle() {
		mountSmallDisk(filepath.Join(dir, "server0"))
	}
	group, err := startGroup(setup, dir, shim, tools.rlock)
	fleet.group = group
	if err != nil {
		return nil, err
	}
	if err := fleet.connect(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	var listeners sync.WaitGroup
	for _, server := range group.servers {
		listeners.Add(1)
		go func(server *Server) {
			defer listeners.Done()
			h.overhear(server, done)
		}(server)
	}
	if setup.Topology == "redlock" {
		time.Sleep(time.Duration(restartDelay + 2*second)) // before that none of them votes
	}

	h.Round.Began = now()
	fleet.start(seed)
	nemesis := &Nemesis{fleet: fleet, choices: rand.New(rand.NewSource(seed + 7)), busy: map[string]bool{}, forgot: map[int]bool{},
		stop: make(chan struct{})}
	fleet.watchStalls(done)
	for _, server := range group.servers {
		go fleet.lookAtLocks(server, done)
	}
	fleet.workers.Add(1)
	go func() {
		defer fleet.workers.Done()
		fleet.checkTokens(rand.New(rand.NewSource(seed + 8)))
	}()
	stopPeers := fleet.startPeers(tools.peers)
	over := make(chan struct{})
	go func() { nemesis.run(); close(over) }()
	time.Sleep(tools.span)
	close(nemesis.stop)
	<-over
	time.Sleep(2 * time.Second)
	fleet.mutex.Lock()
	fleet.stopping = true
	fleet.mutex.Unlock()
	nemesis.partingShot()
	lastKilled := now()
	stopPeers()
	fleet.drain(h)
	fleet.takeAll(h, lastKilled)
	h.Round.Ended = now()
	h.findLeftovers(group)
	close(done)
	listeners.Wait()
	fleet.mutex.Lock()
	h.Acts = fleet.acts
	fleet.mutex.Unlock()
	sort.Slice(h.Acts, func(a, b int) bool { return h.Acts[a].At < h.Acts[b].At })
	return h, h.save()
}

// draw returns so many of the words, each once.
func draw(choices *rand.Rand, words []string, count int) []string {
	var drawn []string
	for _, i := range choices.Perm(len(words)) {
		if len(drawn) < count {
			drawn = append(drawn, words[i])
		}
	}
	sort.Strings(drawn)
	return drawn
}

// mountSmallDisk gives a server a disk of its own, which can be filled. Without the right to do so, it is not.
func mountSmallDisk(dir string) {
	if os.MkdirAll(dir, 0o700) == nil {
		_ = syscall.Mount("torture", dir, "tmpfs", 0, "size=48m,mode=0700")
	}
}

func (f *Fleet) connect() error {
	if f.group.url != "" {
		return nil
	}
	for host := 0; host < hostCount; host++ {
		var proxies []*Proxy
		for i, server := range f.group.servers {
			distance := time.Duration(0)
			if i == 0 {
				distance = time.Duration(f.history.Round.Distance)
			}
			if f.setup.Topology == "name" {
				server = f.group.servers[0]
			}
			proxy, err := newProxy("unix", server.socket, distance)
			if err != nil {
				return err
			}
			proxies = append(proxies, proxy)
		}
		f.proxies = append(f.proxies, proxies)
	}
	return nil
}

// startPeers starts programs of other libraries. The function that it returns ends them.
func (f *Fleet) startPeers(peers []string) func() {
	var ends []func()
	for i, peer := range peers {
		if !f.setup.Peers {
			break
		}
		host := i % hostCount
		var locks []string
		for _, lock := range f.history.Round.Locks {
			switch {
			case (lock.Kind == "simple") != (filepath.Base(peer) == "redis-py"):
			case lock.Kind == "rw":
				locks = append(locks, "read:rw", "write:rw")
			case lock.Kind == "semaphore":
				locks = append(locks, fmt.Sprintf("permits:%d:semaphore", lock.Permits))
			case lock.Kind == "several":
				for _, name := range lock.names() {
					locks = append(locks, "plain:"+name)
				}
			default:
				locks = append(locks, lock.Kind+":"+lock.Name)
			}
		}
		if len(locks) == 0 {
			continue
		}
		args := append([]string{"--redis", f.proxies[host][0].url(), "--history",
			filepath.Join(f.history.Dir, "life"), "--host", fmt.Sprintf("peer%d", i), "--threads", "3", "--clock-offset",
			fmt.Sprint(bootMinusMonotonic())}, locks...)
		cmd := exec.Command(peer, args...)
		cmd.Env = append(os.Environ(), roundVariable+"="+f.history.Dir)
		in, err := cmd.StdinPipe()
		if err != nil {
			panic(err)
		}
		log, err := os.Create(filepath.Join(f.history.Dir, fmt.Sprintf("peer%d.log", i)))
		if err != nil {
			panic(err)
		}
		cmd.Stderr, cmd.Stdout = log, log
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		ends = append(ends, func() { in.Close(); _ = cmd.Wait(); log.Close() })
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// drain waits until all have ended by themselves; who has not, is told of and killed.
func (f *Fleet) drain(h *History) {
	ended := make(chan struct{})
	go func() { f.workers.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(150 * time.Second):
		f.mutex.Lock()
		for id, run := range f.live {
			var states []string
			for _, p := range processes(runVariable, f.marker(id)) {
				states = append(states, fmt.Sprintf("%d %c %s", p.pid, p.state, filepath.Base(p.program)))
			}
			h.Leftovers = append(h.Leftovers, Leftover{"a run that does not end", fmt.Sprint(id, " pid ", run.Pid, " called ",
				at(h, run.Called), "; ", states, "; ", strings.Join(run.Args, " "))})
		}
		f.mutex.Unlock()
		for host := 0; host < hostCount; host++ {
			signalAll(hostVariable, f.hostMarker(host), syscall.SIGKILL)
		}
		<-ended
	}
	// A guardian, and what a killed run has left, end with the lease.
	limit := time.Duration(h.Round.Lease) + 10*time.Second
	var left []Process
	if until(limit, "", func() bool { left = f.ownProcesses(); return len(left) == 0 }) != nil {
		for _, p := range left {
			h.Leftovers = append(h.Leftovers, Leftover{"a process", fmt.Sprintf("%d %c %s, of %s", p.pid, p.state, p.program,
				environOf(p.pid, runVariable))})
		}
	}
}

func environOf(pid int, name string) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	for _, variable := range strings.Split(string(data), "\x00") {
		if strings.HasPrefix(variable, name+"=") {
			return variable
		}
	}
	return "?"
}

func (f *Fleet) ownProcesses() []Process {
	var own []Process
	for host := 0; host < hostCount; host++ {
		own = append(own, processes(hostVariable, f.hostMarker(host))...)
	}
	return own
}

// clear leaves no process and no mount, also of a round that goes on in this process.
func (f *Fleet) clear() {
	f.mutex.Lock()
	f.stopping = true
	f.mutex.Unlock()
	signalAll(roundVariable, f.history.Dir, syscall.SIGKILL)
	killServers(f.history.Dir)
	for _, proxies := range f.proxies {
		for _, proxy := range proxies {
			proxy.close()
		}
	}
	_ = syscall.Unmount(filepath.Join(f.history.Dir, "server0"), syscall.MNT_DETACH)
}

// takeAll takes each lock once more: nobody wants it, and the leases of the dead, and what is kept, have ended.
func (f *Fleet) takeAll(h *History, lastKilled int64) {
	time.Sleep(time.Duration(longestAtLeast))
	time.Sleep(time.Duration(lastKilled + h.Round.Lease + second - now()))
	for _, lock := range h.Round.Locks {
		run := f.newRun(0, lock)
		run.Wait, run.Final = h.Round.Lease+second/2, true // what a killed run has left may just have ended
		run.Lease = 30 * second                            // the default
		if lock.Kind == "fair" {                           // dead waiters may still stand in the queue
			run.Wait = 40 * second
		}
		run.Args = append([]string{f.rlock, "exec", "-w", seconds(run.Wait)}, kindOptions(run, lock)...)
		if f.setup.Topology == "redlock" {
			run.Args = append(run.Args, "--restart-delay", seconds(restartDelay))
		}
		run.Args = append(run.Args, lock.Name, "--", f.work, f.life(run.ID), "5")
		f.execute(run)
	}
}

// findLeftovers looks for keys that are still there once all leases have ended: a lock, or anything without
// an end but the counter of tokens. What is kept on purpose has an end that is documented.
func (h *History) findLeftovers(group *Backend) {
	var found []Leftover
	_ = until(time.Duration(h.Round.Lease)+8*time.Second, "", func() bool {
		found = nil
		for _, server := range group.servers {
			if h.Round.Minority > 0 || h.Round.Servers == 1 || group.isMaster(server) {
				found = append(found, h.leftoversOf(server)...)
			}
		}
		return len(found) == 0
	})
	h.Leftovers = append(h.Leftovers, found...)
}

func (h *History) leftoversOf(server *Server) []Leftover {
	keys, err := redis.Strings(server.do("KEYS", "*"))
	if err != nil {
		return []Leftover{{"a server that does not answer", err.Error()}}
	}
	var found []Leftover
	for _, key := range keys {
		left, err := redis.Int64(server.do("PTTL", key))
		limit := int64(0)
		switch {
		case strings.HasPrefix(key, "redisson_lock_token:"):
			continue
		case strings.HasPrefix(key, "rlock_info:"):
			limit = 25 * 3600 * 1000
		case strings.HasPrefix(key, "redisson_unlock_latch:"):
			limit = 180 * 1000
		case strings.HasPrefix(key, "redisson_lock_queue:"), strings.HasPrefix(key, "redisson_lock_timeout:"):
			limit = 330 * 1000
		case strings.Contains(key, "semaphore"):
			limit = 25 * 3600 * 1000
			if h.Round.Setup == "mixed" && left == -1 {
				continue // a service made it
			}
		}
		if err != nil || left == -2 || (left >= 0 && left <= limit) {
			continue
		}
		found = append(found, Leftover{"a key", fmt.Sprintf("%s on server %d, for %d ms", key, server.ID, left)})
	}
	return found
}
