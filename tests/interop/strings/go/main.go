// A client of redsync for the tests of string locks. One command a line on stdin, one answer a line
// on stdout; see string_peer.hpp.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"
)

const retryDelay = 50 * time.Millisecond

func main() {
	options, err := goredislib.ParseURL(os.Args[1])
	if err != nil {
		panic(err)
	}
	rs := redsync.New(goredis.NewPool(goredislib.NewClient(options)))
	mutexes := map[string]*redsync.Mutex{}
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(answer(rs, mutexes, strings.Split(lines.Text(), " ")))
	}
}

func answer(rs *redsync.Redsync, mutexes map[string]*redsync.Mutex, words []string) string {
	name := words[1]
	switch words[0] {
	case "acquire":
		tries := int(millis(words[3])/retryDelay) + 1
		mutex := rs.NewMutex(name, redsync.WithExpiry(millis(words[2])), redsync.WithTries(tries),
			redsync.WithRetryDelay(retryDelay))
		if err := mutex.Lock(); err != nil {
			return "no"
		}
		mutexes[name] = mutex
		return "yes " + mutex.Value()
	case "extend":
		return yesOrNo(mutexes[name].Extend())
	case "release":
		return yesOrNo(mutexes[name].Unlock())
	}
	return "unknown command"
}

func millis(text string) time.Duration {
	number, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return time.Duration(number) * time.Millisecond
}

func yesOrNo(ok bool, err error) string {
	if ok && err == nil {
		return "yes"
	}
	return "no"
}
