package main

// Faults between hosts and servers.

import (
	"fmt"
	"math/rand"
	"syscall"
	"time"
)

// proxyKey is what is claimed for a fault between a host and a server.
func proxyKey(host, server int) string { return fmt.Sprint("proxy", host, "-", server) }

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
