package main

// What a lock is, as models for Porcupine: it knows nothing of rlock, and searches for an order of all
// operations that the model allows, each between its call and its return.

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// An op is one operation on one lock by one owner.
type op struct {
	what string // take, give, join, head, pass, quit, draw, accept
	who  string
	mode string
	n    int64
}

type operations []porcupine.Operation

func (o *operations) add(call, ret int64, it op) {
	*o = append(*o, porcupine.Operation{ClientId: len(*o), Input: it, Call: call, Return: ret})
}

// check returns "" if the model allows the history, or why not: "unknown" if there was no time.
func (o operations) check(model porcupine.Model, limit time.Duration) string {
	for i, operation := range o {
		if operation.Return < operation.Call {
			o[i].Return = operation.Call
		}
	}
	switch porcupine.CheckOperationsTimeout(model, o, limit) {
	case porcupine.Ok:
		return ""
	case porcupine.Unknown:
		return "unknown"
	}
	return "illegal"
}

// The state of lockModel: who holds, with which mode and how often, in sorted order: "read r1 1;read r2 2".
type holds string

func (h holds) list() []string {
	if h == "" {
		return nil
	}
	return strings.Split(string(h), ";")
}

// lockModel is a lease or a lock that as many as `permits` owners may have: one, or readers, or permits.
// An owner takes it again while it has it (a reentrant lock counts), and gives each hold back.
func lockModel(permits int) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return holds("") },
		Step: func(state, input, _ interface{}) (bool, interface{}) {
			it := input.(op)
			list := state.(holds).list()
			mine, count := -1, 0
			others := map[string]int{}
			for i, hold := range list {
				var mode, who string
				var n int
				_, _ = fmt.Sscan(hold, &mode, &who, &n)
				if who == it.who {
					mine, count = i, n
				} else {
					others[mode]++
				}
			}
			next := append([]string{}, list...)
			if mine >= 0 {
				next = append(next[:mine], next[mine+1:]...)
			}
			switch it.what {
			case "take":
				isAllowed := false
				switch it.mode {
				case "read":
					isAllowed = others["write"]+others["exclusive"] == 0
				case "permit":
					isAllowed = others["permit"] < permits
				default:
					isAllowed = len(next) == 0
				}
				if !isAllowed {
					return false, state
				}
				count++
			case "give":
				if mine < 0 {
					return false, state
				}
				count--
			}
			if count > 0 {
				next = append(next, fmt.Sprint(it.mode, " ", it.who, " ", count))
			}
			sort.Strings(next)
			return true, holds(strings.Join(next, ";"))
		},
	}
}

// queueModel is a queue: who joins stands at its end, and only the head leaves it with the lock.
var queueModel = porcupine.Model{
	Init: func() interface{} { return "" },
	Step: func(state, input, _ interface{}) (bool, interface{}) {
		it := input.(op)
		queue := state.(string)
		me := it.who + ";"
		switch it.what {
		case "join":
			return true, queue + me
		case "head":
			if !strings.HasPrefix(queue, me) {
				return false, state
			}
			return true, queue[len(me):]
		case "pass": // takes a lock that nobody waits for
			return queue == "", state
		}
		return false, state
	},
}

// tokenModel is the fenced resource: each grant draws a number above all others, and what is accepted is
// not below the highest.
var tokenModel = porcupine.Model{
	Init: func() interface{} { return int64(0) },
	Step: func(state, input, _ interface{}) (bool, interface{}) {
		it := input.(op)
		highest := state.(int64)
		if it.what == "draw" {
			return it.n > highest, it.n
		}
		return it.n >= highest, state
	},
}
