package main

// The nemesis: one fault after the other, each ended again, all chosen from the seed.

import (
	"math/rand"
	"sync"
	"syscall"
	"time"
)

// A restart delay for several servers that is longer than any lease and any --at-least of the torture.
const restartDelay = 4 * second

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
	"kill-after-stop":    {10, (*Nemesis).killAfterStop},
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
	"refuse":             {4, (*Nemesis).refuse},
	"demote":             {6, (*Nemesis).demote},
	"new-sentinels":      {2, (*Nemesis).renewSentinels},
	"remove-socket":      {6, (*Nemesis).removeSocket},
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

func (n *Nemesis) release(key string) {
	n.mutex.Lock()
	delete(n.busy, key)
	n.mutex.Unlock()
}
