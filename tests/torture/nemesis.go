package main

// The nemesis: one fault after the other, each ended again, all chosen from the seed.

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A restart delay for several servers that is longer than any lease and any --at-least of the torture.
const restartDelay = 4 * second

// An outage that is longer than rlock waits for an answer after SIGCONT.
const longOutage = 1250 * ms

type Nemesis struct {
	fleet   *Fleet
	choices *rand.Rand
	ending  sync.WaitGroup // faults that last
	busy    map[string]bool
	mutex   sync.Mutex
	forgot  map[int]bool // servers that have forgotten something in this round
	stop    chan struct{}
}

type deed struct {
	weight int
	do     func(n *Nemesis) *Act
}

// Every deed returns what it did, or nil where it found nothing to do.
var deeds = map[string]deed{
	"kill-rlock":         {4, onProcess("kill-rlock", func(f Family) int { return f.rlock }, syscall.SIGKILL)},
	"kill-guardian":      {2, onProcess("kill-guardian", func(f Family) int { return f.guardian }, syscall.SIGKILL)},
	"kill-command":       {2, onProcess("kill-command", func(f Family) int { return f.command }, syscall.SIGKILL)},
	"kill-nested":        {4, onProcess("kill-nested", func(f Family) int { return f.nested }, syscall.SIGKILL)},
	"kill-both":          {1, (*Nemesis).killBoth},
	"kill-group":         {2, (*Nemesis).killGroup},
	"kill-stalled":       {3, (*Nemesis).killStalled},
	"kill-watchdog":      {1, onProcess("kill-watchdog", func(f Family) int { return f.watchdog }, syscall.SIGKILL)},
	"stop-rlock":         {4, pause("stop-rlock", func(f Family) int { return f.rlock })},
	"stop-past-lease":    {3, (*Nemesis).stopPastLease},
	"stop-guardian":      {1, pause("stop-guardian", func(f Family) int { return f.guardian })},
	"stop-command":       {1, pause("stop-command", func(f Family) int { return f.command })},
	"stop-nested":        {2, pause("stop-nested", func(f Family) int { return f.nested })},
	"term":               {2, onProcess("term", func(f Family) int { return f.rlock }, syscall.SIGTERM)},
	"interrupt":          {1, onProcess("interrupt", func(f Family) int { return f.rlock }, syscall.SIGINT)},
	"hang-up":            {1, onProcess("hang-up", func(f Family) int { return f.rlock }, syscall.SIGHUP)},
	"continue":           {1, onProcess("continue", func(f Family) int { return f.rlock }, syscall.SIGCONT)},
	"stop-host":          {1, (*Nemesis).stopHost},
	"kill-host":          {1, (*Nemesis).killHost},
	"stop-server":        {4, (*Nemesis).stopServer},
	"restart":            {3, (*Nemesis).restart},
	"restart-most":       {1, (*Nemesis).restartMost},
	"pause-clients":      {2, (*Nemesis).pauseClients},
	"kill-clients":       {2, onServer("kill-clients", "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no")},
	"kill-subscribers":   {3, onServer("kill-subscribers", "CLIENT", "KILL", "TYPE", "pubsub")},
	"flush-scripts":      {2, onServer("flush-scripts", "SCRIPT", "FLUSH")},
	"no-memory":          {1, (*Nemesis).takeMemory},
	"cut":                {3, onProxy("cut", func(*rand.Rand) Fault { return Fault{Cut: true} })},
	"swallow":            {3, onProxy("swallow", func(*rand.Rand) Fault { return Fault{Swallow: true} })},
	"swallow-answers":    {4, onProxy("swallow-answers", func(*rand.Rand) Fault { return Fault{SwallowAnswer: true} })},
	"black-hole":         {2, onProxy("black-hole", func(*rand.Rand) Fault { return Fault{Swallow: true, SwallowAnswer: true} })},
	"delay":              {3, onProxy("delay", func(c *rand.Rand) Fault { return Fault{Delay: time.Duration(20+c.Intn(400)) * time.Millisecond} })},
	"split":              {1, onProxy("split", func(*rand.Rand) Fault { return Fault{Split: true} })},
	"delete":             {3, (*Nemesis).deleteLock},
	"late-then-away":     {10, (*Nemesis).lateThenAway},
	"lost-release":       {4, (*Nemesis).loseRelease},
	"lost-reentry":       {12, (*Nemesis).loseReentry},
	"away-for-reentry":   {8, (*Nemesis).awayForReentry},
	"no-right":           {1, (*Nemesis).takeRight},
	"continue-in-outage": {6, (*Nemesis).continueInOutage},
	"stop-replicas":      {4, (*Nemesis).stopReplicas},
	"force":              {3, (*Nemesis).force},
	"take-away":          {4, (*Nemesis).takeAway},
	"evict":              {1, (*Nemesis).evict},
	"repair":             {2, (*Nemesis).repair},
	"failover":           {2, (*Nemesis).failover},
	"clock":              {1, (*Nemesis).stepClock},
	"full-disk":          {1, (*Nemesis).fillDisk},
}

// The order in which they are drawn: that of a map is not the seed's.
var deedNames = sortedKeys(deeds)

// run does one deed after the other until it is stopped, and then ends all that lasts.
func (n *Nemesis) run() {
	pace := []int{600, 2000}[n.choices.Intn(2)] // a round is wild, or calm enough to judge who came first
	total := 0
	for _, name := range deedNames {
		total += deeds[name].weight
	}
	for {
		select {
		case <-n.stop:
			n.ending.Wait()
			return
		case <-time.After(time.Duration(100+n.choices.Intn(pace)) * time.Millisecond):
		}
		drawn := n.choices.Intn(total)
		for _, name := range deedNames {
			if drawn -= deeds[name].weight; drawn < 0 {
				if act := deeds[name].do(n); act != nil {
					n.note(*act)
				}
				break
			}
		}
	}
}

// note keeps an act; one that lasts is noted when it ends.
func (n *Nemesis) note(act Act) {
	if act.Until == never {
		return
	}
	n.fleet.mutex.Lock()
	n.fleet.acts = append(n.fleet.acts, act)
	n.fleet.mutex.Unlock()
}

func newAct(kind string) *Act { return &Act{At: now(), Until: now(), Kind: kind, Server: -1, Host: -1} }

// lasting ends a fault after a while, or when the nemesis is to stop. What it is done to is busy until then.
func (n *Nemesis) lasting(act *Act, key string, span time.Duration, end func()) *Act {
	act.Until = never
	n.ending.Add(1)
	go func() {
		defer n.ending.Done()
		n.wait(span)
		end()
		n.release(key)
		act.Until = now()
		n.note(*act)
	}()
	return act
}

// proxyKey is what is claimed for a fault between a host and a server.
func proxyKey(host, server int) string { return fmt.Sprint("proxy", host, "-", server) }

// claim makes something busy, or tells that it is.
func (n *Nemesis) claim(key string) bool {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.busy[key] {
		return false
	}
	n.busy[key] = true
	return true
}

// span is from a tenth of the lease to twice the lease, in most cases shorter than the lease.
func (n *Nemesis) span() time.Duration {
	lease := n.fleet.history.Round.Lease
	if n.choices.Intn(3) > 0 {
		return time.Duration(lease/10 + n.choices.Int63n(lease/2))
	}
	return time.Duration(lease/2 + n.choices.Int63n(lease*3/2))
}

// anyRun picks a run, mostly one that holds its lock. It is hit once only: what two faults do to one run
// is another matter (kill-both).
func (n *Nemesis) anyRun() *Run {
	var holding []*Run
	all := n.fleet.liveRuns()
	for _, run := range all {
		if n.fleet.holds(run.ID) {
			holding = append(holding, run)
		}
	}
	if long := n.longHolders(); len(long) > 0 && n.choices.Intn(2) == 0 {
		all = long
	} else if len(holding) > 0 && n.choices.Intn(4) > 0 {
		all = holding
	}
	if len(all) == 0 {
		return nil
	}
	run := all[n.choices.Intn(len(all))]
	if !n.claim(run.ID) {
		return nil
	}
	return run
}

// anyProcess picks a process of some run that has one such.
func (n *Nemesis) anyProcess(pick func(Family) int) (*Run, int) {
	for tries := 0; tries < 6; tries++ {
		run := n.anyRun()
		if run == nil {
			continue
		}
		if pid := pick(n.fleet.familyOf(run)); pid != 0 {
			return run, pid
		}
		n.release(run.ID)
	}
	return nil, 0
}

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

// ambush waits for a run on which a fault has its greatest effect, and strikes it. One of a kind waits at a time.
func (n *Nemesis) ambush(kind string, find func() *Run, strike func(*Run)) {
	if !n.claim("ambush " + kind) {
		return
	}
	n.ending.Add(1)
	go func() {
		defer n.ending.Done()
		defer n.release("ambush " + kind)
		var run *Run
		if n.until(8*time.Second, func() bool { run = find(); return run != nil }) {
			strike(run)
		}
	}()
}

// lateThenAway delays the replies of all servers for one host until a renewal has been answered, so that a lease is older
// than it looks. Then it loses them, while a command there works on that does not end before its lease, unless it is killed.
func (n *Nemesis) lateThenAway() *Act {
	round := n.fleet.history.Round
	lease := round.Lease
	most := min(lease/5+n.choices.Int63n(lease/3), round.Timeout*3/5)
	if n.fleet.proxies == nil {
		return nil
	}
	find := func() *Run {
		return n.holderFor(lease*3/2+most, never, func(run *Run) bool { return contains(run.Args, "ignore-term") && !run.Fixed })
	}
	n.ambush("late", n.withNetwork(find), func(run *Run) {
		// A renewal is asked for after a third of the lease, and has to be answered before it is time for SIGTERM.
		late := min(most, lease/2-run.killAfter())
		if run.killAfter() > lease/4 {
			late = min(most, lease/5)
		}
		if round.Servers > 1 { // who asks several servers gives each a tenth of the lease
			late = min(late, lease*9/100)
		}
		n.trouble("late-then-away", run, func() {
			n.onHost(run.Host, Fault{DelayAnswer: time.Duration(late)})
			n.wait(time.Duration(lease/3 + late + lease/10))
			n.onHost(run.Host, Fault{Swallow: true, SwallowAnswer: true})
			n.wait(time.Duration(lease * 6 / 5))
		})
	})
	return nil
}

// leftOf returns for how long the command of a run will go on, if nothing happens to it.
func (n *Nemesis) leftOf(run *Run) int64 {
	span := run.Hold
	if run.AtMost > 0 {
		span = min(span, run.AtMost)
	}
	return n.fleet.lifeOf(run.ID).Enter + span - now()
}

func anyOne(*Run) bool { return true }

// holderFor returns a run of rlock's that is one of these, holds its lock, and will for so long.
func (n *Nemesis) holderFor(least, most int64, isOne func(*Run) bool) *Run {
	for _, run := range n.longHolders() {
		if left := n.leftOf(run); run.By == "rlock" && left > least && left < most && isOne(run) {
			return run
		}
	}
	return nil
}

// withNetwork has find look only while the network has no fault, and claims the network when it has found a run.
func (n *Nemesis) withNetwork(find func() *Run) func() *Run {
	return func() *Run {
		if !n.claim("network") {
			return nil
		}
		run := find()
		if run == nil {
			n.release("network")
		}
		return run
	}
}

// trouble makes faults between the host of a run and all servers, one after the other, and ends them. The network
// is claimed for it, and free afterwards.
func (n *Nemesis) trouble(kind string, run *Run, faults func()) {
	defer n.release("network")
	act := newAct(kind)
	act.Host, act.Detail = run.Host, run.ID
	faults()
	n.onHost(run.Host, Fault{})
	act.Until = now()
	n.note(*act)
}

// onHost makes a fault between a host and all servers.
func (n *Nemesis) onHost(host int, fault Fault) {
	for _, proxy := range n.fleet.proxies[host] {
		proxy.set(fault)
	}
}

// wait waits for so long, or until the nemesis is to stop.
func (n *Nemesis) wait(span time.Duration) {
	select {
	case <-time.After(span):
	case <-n.stop:
	}
}

// until waits for something, for so long at the most, or until the nemesis is to stop. Returns whether it came.
func (n *Nemesis) until(span time.Duration, came func() bool) bool {
	for deadline := time.Now().Add(span); time.Now().Before(deadline); n.wait(20 * time.Millisecond) {
		select {
		case <-n.stop:
			return false
		default:
		}
		if came() {
			return true
		}
	}
	return false
}

// loseRelease loses the reply to the release of a nested run, which asks again only when its connection is cut, more
// than a second later.
func (n *Nemesis) loseRelease() *Act {
	later := time.Duration(1100+n.choices.Intn(1000)) * time.Millisecond
	round := n.fleet.history.Round
	if n.fleet.proxies == nil || round.Timeout < 3*second {
		return nil
	}
	inner := 0
	n.ambush("release", n.withNetwork(func() (run *Run) { run, inner = n.nestedRun(); return run }), func(run *Run) {
		n.trouble("lost-release", run, func() {
			n.onHost(run.Host, Fault{SwallowAnswer: true})
			n.until(time.Duration(round.Lease/2), func() bool { return syscall.Kill(inner, 0) != nil })
			time.Sleep(100 * time.Millisecond)
			n.onHost(run.Host, Fault{Spare: true})
			n.wait(later)
		})
	})
	return nil
}

// loseReentry loses the reply to the request of a nested run, which asks again when its connection is cut.
func (n *Nemesis) loseReentry() *Act {
	if n.fleet.proxies == nil {
		return nil
	}
	n.ambush("reentry", n.withNetwork(n.runBeforeNested), func(run *Run) {
		n.trouble("lost-reentry", run, func() {
			n.waitForNested(run)
			n.onHost(run.Host, Fault{SwallowAnswer: true})
			n.until(500*time.Millisecond, func() bool { return n.fleet.familyOf(run).nested != 0 })
			n.wait(100 * time.Millisecond)
		})
	})
	return nil
}

// awayForReentry keeps one of several servers from hearing of a nested run until the run renews its lock.
func (n *Nemesis) awayForReentry() *Act {
	server := n.choices.Intn(len(n.fleet.group.servers))
	if n.fleet.setup.Topology != "redlock" {
		return nil
	}
	n.ambush("away", n.withNetwork(n.runBeforeNested), func(run *Run) {
		defer n.release("network")
		key := proxyKey(run.Host, server)
		n.waitForNested(run)
		if !n.claim(key) {
			return
		}
		defer n.release(key)
		act := newAct("cut")
		act.Host, act.Server, act.Detail = run.Host, server, "until "+run.ID+".n has begun"
		proxy := n.fleet.proxies[run.Host][server]
		proxy.set(Fault{Cut: true})
		n.until(time.Second, func() bool { return n.fleet.holds(run.ID + ".n") })
		proxy.set(Fault{})
		act.Until = now()
		n.note(*act)
	})
	return nil
}

// waitForNested waits until a run is about to start one below it.
func (n *Nemesis) waitForNested(run *Run) {
	n.wait(time.Duration(n.fleet.lifeOf(run.ID).Enter + run.Hold/2 - 20*ms - now()))
}

// runBeforeNested returns a run that holds its lock, and will start a run of the same name a little later: in the middle of
// its time.
func (n *Nemesis) runBeforeNested() *Run {
	for _, run := range n.longHolders() {
		left := n.leftOf(run) - run.Hold/2
		if run.By == "rlock" && !run.Fixed && len(run.InnerNames) == 0 && contains(run.Args, n.fleet.life(run.ID+".n")) &&
			left > 30*ms && left < run.Lease/2 {
			return run
		}
	}
	return nil
}

// nestedRun returns a run below which another one works, and the process that works.
func (n *Nemesis) nestedRun() (*Run, int) {
	for _, run := range n.fleet.liveRuns() {
		if inner := n.fleet.lifeOf(run.ID + ".n"); inner.Enter > 0 && !inner.Left && inner.Last > now()-50*ms {
			return run, inner.Pid
		}
	}
	return nil, 0
}

// takeRight takes the right to one of the commands that scripts use away from all.
func (n *Nemesis) takeRight() *Act {
	span := n.span()
	rights := []string{"pexpire", "pttl", "hset", "hget", "hexists", "set", "del", "publish", "hincrby", "zadd", "zrem"}
	right := rights[n.choices.Intn(len(rights))]
	server, key := n.anyServer()
	if server == nil {
		return nil
	}
	act := newAct("no-right")
	act.Server, act.Detail = server.ID, right
	_, _ = server.do("ACL", "SETUSER", "default", "-"+right)
	return n.lasting(act, key, span, func() { _, _ = server.do("ACL", "SETUSER", "default", "+@all") })
}

// continueInOutage sends SIGCONT to rlock while its server is away: for longer than rlock waits for an answer then (1 s),
// where some lease bears that, and otherwise for a part of the lease.
func (n *Nemesis) continueInOutage() *Act {
	round := n.fleet.history.Round
	outage := round.Lease / 4
	bearsLong := func(run *Run) bool { return run.bears(round.Timeout) > longOutage+second/10 }
	if bearsLong(&Run{Lease: round.Lease, KillAfter: shortKillAfter}) {
		outage = longOutage
	} else {
		bearsLong = anyOne
	}
	if n.fleet.setup.Topology != "single" {
		return nil
	}
	network := func(run *Run) string { return proxyKey(run.Host, 0) }
	isUndisturbed := func(run *Run) bool {
		return !run.Fixed && bearsLong(run) && n.claim(run.ID) && n.claim(network(run))
	}
	find := func() *Run { return n.holderFor(outage, never, isUndisturbed) }
	n.ambush("continue", n.withNetwork(find), func(run *Run) {
		defer n.release("network")
		defer n.release(network(run))
		pid := n.fleet.familyOf(run).rlock
		if pid == 0 {
			return
		}
		server, key := n.anyServer()
		if server == nil {
			return
		}
		defer n.release(key)
		act := newAct("stop-server")
		act.Server, act.Detail = server.ID, "and SIGCONT to "+run.ID
		server.signal(syscall.SIGSTOP)
		_ = syscall.Kill(pid, syscall.SIGCONT)
		n.wait(time.Duration(outage))
		server.signal(syscall.SIGCONT)
		act.Until = now()
		n.note(*act)
	})
	return nil
}

// stopReplicas leaves a master alone: what it grants then, nobody else knows.
func (n *Nemesis) stopReplicas() *Act {
	lease := n.fleet.history.Round.Lease
	span := time.Duration(lease + n.choices.Int63n(lease))
	if n.fleet.setup.Topology != "sentinel" || !n.claim("replicas") {
		return nil
	}
	act := newAct("stop-replicas")
	var stopped []*Server
	for _, server := range n.fleet.group.servers {
		if !n.fleet.group.isMaster(server) {
			server.signal(syscall.SIGSTOP)
			stopped = append(stopped, server)
		}
	}
	act.At = now()
	goOn := func() {
		for _, server := range stopped {
			server.signal(syscall.SIGCONT)
		}
	}
	if len(stopped) != len(n.fleet.group.servers)-1 { // a master of old is about to become a replica
		goOn()
		span = 0
	}
	return n.lasting(act, "replicas", span, goOn)
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

// anyHost picks a host, mostly one on which a run holds its lock for long.
func (n *Nemesis) anyHost() int {
	host := n.choices.Intn(hostCount)
	if long := n.longHolders(); len(long) > 0 && n.choices.Intn(3) > 0 {
		host = long[n.choices.Intn(len(long))].Host
	}
	return host
}

// anyServer picks a server that has no other fault.
func (n *Nemesis) anyServer() (*Server, string) {
	server := n.fleet.group.servers[n.choices.Intn(len(n.fleet.group.servers))]
	key := fmt.Sprint("server", server.ID)
	if !n.claim(key) {
		return nil, ""
	}
	return server, key
}

func (n *Nemesis) release(key string) {
	n.mutex.Lock()
	delete(n.busy, key)
	n.mutex.Unlock()
}

func (n *Nemesis) stopServer() *Act {
	span := n.span()
	server, key := n.anyServer()
	if server == nil {
		return nil
	}
	act := newAct("stop-server")
	act.Server = server.ID
	server.signal(syscall.SIGSTOP)
	return n.lasting(act, key, span, func() { server.signal(syscall.SIGCONT) })
}

// mayForget tells whether the lock may be deleted on one more of several servers: on a minority, as
// documented. (Any number may be restarted: who has forgotten then has no vote for a while.)
func (n *Nemesis) mayForget(server *Server) bool {
	if n.fleet.setup.Topology != "redlock" {
		return true
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if !n.forgot[server.ID] && len(n.forgot) >= n.fleet.history.Round.Minority {
		return false
	}
	n.forgot[server.ID] = true
	return true
}

func (n *Nemesis) restart() *Act {
	away := time.Duration(n.choices.Intn(1500)) * time.Millisecond
	server, key := n.anyServer()
	if server == nil {
		return nil
	}
	return n.restartServer(server, key, away)
}

func (n *Nemesis) restartServer(server *Server, key string, away time.Duration) *Act {
	act := newAct("restart")
	act.Server = server.ID
	server.signal(syscall.SIGKILL)
	return n.lasting(act, key, away, func() { n.mustStart(server) })
}

// restartMost has a majority of several servers forget at once.
func (n *Nemesis) restartMost() *Act {
	away := time.Duration(n.choices.Intn(1500)) * time.Millisecond
	order := n.choices.Perm(len(n.fleet.group.servers))
	if n.fleet.setup.Topology != "redlock" {
		return nil
	}
	for _, i := range order[:n.fleet.history.Round.Minority+1] {
		server := n.fleet.group.servers[i]
		key := fmt.Sprint("server", server.ID)
		if n.claim(key) {
			n.restartServer(server, key, away)
		}
	}
	return nil
}

func (n *Nemesis) mustStart(server *Server) {
	if err := server.start(); err != nil && !isOver.Load() {
		panic(err)
	}
}

func (n *Nemesis) pauseClients() *Act {
	span := n.span()
	what := []string{"ALL", "WRITE"}[n.choices.Intn(2)]
	server, key := n.anyServer()
	if server == nil {
		return nil
	}
	act := newAct("pause-clients")
	act.Server, act.Detail = server.ID, what
	_, _ = server.do("CLIENT", "PAUSE", int64(span/time.Millisecond), what)
	return n.lasting(act, key, span, func() { _, _ = server.do("CLIENT", "UNPAUSE") })
}

func onServer(kind, command string, words ...any) func(*Nemesis) *Act {
	return func(n *Nemesis) *Act {
		server, key := n.anyServer()
		if server == nil {
			return nil
		}
		defer n.release(key)
		act := newAct(kind)
		act.Server = server.ID
		_, _ = server.do(command, words...)
		act.Until = now()
		return act
	}
}

func (n *Nemesis) takeMemory() *Act {
	span := n.span()
	server, key := n.anyServer()
	if server == nil {
		return nil
	}
	act := newAct("no-memory")
	act.Server = server.ID
	_, _ = server.do("CONFIG", "SET", "maxmemory", "1")
	return n.lasting(act, key, span, func() { _, _ = server.do("CONFIG", "SET", "maxmemory", "0") })
}

func onProxy(kind string, draw func(*rand.Rand) Fault) func(*Nemesis) *Act {
	return func(n *Nemesis) *Act {
		span, fault := n.span(), draw(n.choices)
		act := newAct(kind)
		act.Host = n.anyHost()
		server := n.choices.Intn(len(n.fleet.group.servers))
		if n.fleet.proxies == nil {
			return nil
		}
		act.Server, act.Detail = server, fmt.Sprintf("%+v", fault)
		key := proxyKey(act.Host, server)
		if !n.claim(key) {
			return nil
		}
		proxy := n.fleet.proxies[act.Host][server]
		proxy.set(fault)
		return n.lasting(act, key, span, func() { proxy.set(Fault{}) })
	}
}

// anyLock picks a lock, mostly one that somebody will still want to have for a while.
func (n *Nemesis) anyLock() string {
	f := n.fleet
	locks := f.history.Round.Locks
	lock := locks[n.choices.Intn(len(locks))].Name
	if long := n.longHolders(); len(long) > 0 && n.choices.Intn(3) > 0 {
		return long[0].Names[0]
	}
	return lock
}

// longHolders returns runs that hold their lock, and want it for a good part of a lease.
func (n *Nemesis) longHolders() []*Run {
	var long []*Run
	for _, run := range n.fleet.liveRuns() {
		if run.Hold > n.fleet.history.Round.Lease/3 && !run.Limited && n.fleet.holds(run.ID) {
			long = append(long, run)
		}
	}
	return long
}

func (n *Nemesis) deleteLock() *Act {
	lock := n.anyLock()
	server, key := n.anyServer()
	if server == nil {
		return nil
	}
	defer n.release(key)
	if !n.mayForget(server) {
		return nil
	}
	act := newAct("delete")
	act.Lock, act.Server = lock, server.ID
	deleted, _ := redis.Int(server.do("DEL", lock))
	act.Until, act.Detail = now(), fmt.Sprint("deleted ", deleted)
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

// takeAway deletes a lock whose command would go on for longer than a lease, or ends before the next renewal, and wakes
// those who wait for it.
func (n *Nemesis) takeAway() *Act {
	if n.fleet.setup.Topology != "single" {
		return nil
	}
	lease := n.fleet.history.Round.Lease
	least, most := lease*13/10, never
	if n.choices.Intn(2) == 0 {
		least, most = 20*ms, lease/5
	}
	n.ambush("take", func() *Run { return n.holderFor(least, most, anyOne) }, func(run *Run) {
		server := n.fleet.group.servers[0]
		act := newAct("delete")
		act.Lock, act.Server = run.Names[0], server.ID
		deleted, _ := redis.Int(server.do("DEL", act.Lock))
		for _, channel := range []string{"redisson_lock__channel:{", "redisson_rwlock:{"} {
			_, _ = server.do("PUBLISH", channel+act.Lock+"}", "0")
		}
		act.Until, act.Detail = now(), fmt.Sprint("deleted ", deleted)
		n.note(*act)
	})
	return nil
}

// command runs rlock as somebody on call does, past all proxies. Returns its output.
func (n *Nemesis) command(args ...string) string {
	url := n.fleet.group.url
	if url == "" {
		url = "unix://" + n.fleet.group.servers[0].socket
	}
	cmd := exec.Command("timeout", append([]string{"10", n.fleet.rlock}, args...)...)
	cmd.Env = append(n.fleet.environ(0, "nemesis"), "RLOCK_REDIS="+url, hostVariable+"=none")
	out, _ := cmd.CombinedOutput()
	return string(out)
}

func (n *Nemesis) force() *Act {
	if n.fleet.setup.Topology == "redlock" {
		return nil
	}
	act := newAct("force")
	act.Lock = n.anyLock()
	act.Detail = n.command("unlock", "--force", "-y", act.Lock)
	act.Until = now()
	return act
}

func (n *Nemesis) repair() *Act {
	if n.fleet.setup.Topology == "redlock" {
		return nil
	}
	act := newAct("repair")
	act.Lock = n.anyLock()
	act.Detail = n.command("doctor", "--repair", act.Lock)
	act.Until = now()
	return act
}

func (n *Nemesis) evict() *Act {
	if n.fleet.setup.Topology == "redlock" {
		return nil
	}
	lock := n.anyLock()
	var owners []string
	for _, server := range n.fleet.group.servers {
		found, err := redis.Strings(server.do("LRANGE", "redisson_lock_queue:{"+lock+"}", "0", "-1"))
		if err == nil && len(found) > 0 {
			owners = found
			break
		}
	}
	if len(owners) == 0 {
		return nil
	}
	act := newAct("evict")
	act.Lock = lock
	owner := owners[n.choices.Intn(len(owners))]
	act.Detail = owner + " " + n.command("evict", lock, owner)
	act.Until = now()
	return act
}

func (n *Nemesis) failover() *Act {
	group := n.fleet.group
	act := newAct("failover")
	switch n.fleet.setup.Topology {
	case "sentinel":
		_, err := group.sentinels[n.choices.Intn(3)].do("SENTINEL", "FAILOVER", "mymaster")
		act.Detail = fmt.Sprint(err)
	case "cluster":
		how := []string{"", "FORCE", "TAKEOVER"}[n.choices.Intn(3)]
		var replicas []*Server
		for _, server := range group.servers {
			if !group.isMaster(server) {
				replicas = append(replicas, server)
			}
		}
		if len(replicas) == 0 {
			return nil
		}
		words := []any{"FAILOVER"}
		if how != "" {
			words = append(words, how)
		}
		_, err := replicas[n.choices.Intn(len(replicas))].do("CLUSTER", words...)
		act.Detail = fmt.Sprint(how, " ", err)
	default:
		return nil
	}
	act.Until = now()
	return act
}

func (n *Nemesis) stepClock() *Act {
	group := n.fleet.group
	step := int64(n.choices.Intn(6000) - 3000)
	if group.clock == "" {
		return nil
	}
	data, err := os.ReadFile(group.clock)
	if err != nil {
		return nil
	}
	var ahead int64
	_, _ = fmt.Sscan(string(data), &ahead)
	act := newAct("clock")
	act.Server, act.Detail = 0, fmt.Sprintf("%+d ms", step)
	if group.setClock(ahead+step) != nil {
		return nil
	}
	act.Until = now()
	return act
}

// fillDisk leaves no room for the log of changes: a server that writes always ends itself then.
func (n *Nemesis) fillDisk() *Act {
	span := n.span()
	if !n.fleet.setup.Persists || n.fleet.setup.Topology != "single" {
		return nil
	}
	server, key := n.anyServer()
	if server == nil {
		return nil
	}
	filler := filepath.Join(server.dir, "filler")
	out, err := exec.Command("mountpoint", server.dir).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "is a mountpoint") {
		n.release(key)
		return nil
	}
	act := newAct("full-disk")
	act.Server = server.ID
	_ = exec.Command("dd", "if=/dev/zero", "of="+filler, "bs=64k").Run()
	return n.lasting(act, key, span, func() {
		os.Remove(filler)
		if _, err := server.do("PING"); err != nil {
			server.signal(syscall.SIGKILL)
			n.mustStart(server)
		}
	})
}
