package whole_test

import (
	"errors"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
)

// childVariable holds, in a child that writes until it is killed, the URL of a store and a tenant.
const childVariable = "RINGTREE_WHOLE_CHILD"

func beKilled(where string) error {
	url, tenant, _ := strings.Cut(where, " ")
	s, err := kvopen.Store(ctx, url, all.Engines)
	if err != nil {
		return err
	}
	return whole.WriteUntilKilled(ctx, s, tenant, uint64(os.Getpid()), os.Stdout)
}

func TestMain(m *testing.M) {
	if where := os.Getenv(childVariable); where != "" {
		fmt.Fprintln(os.Stderr, beKilled(where))
		os.Exit(1)
	}
	if what := os.Getenv(loaderVariable); what != "" {
		fmt.Fprintln(os.Stderr, loadUntilKilled(what))
		os.Exit(1)
	}
	if url := os.Getenv(recoverVariable); url != "" {
		os.Exit(recoverAsChild(url))
	}
	flag.Parse()
	if err := proveAll(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestLong_WhatAKilledProcessLeavesIsRightAgain(t *testing.T) {
	t.Run("bolt", func(t *testing.T) {
		dir := t.TempDir()
		eachKilled(t, 1, proof.Rounds(t, 2, 1000), func(tenant string) string {
			return "bolt:" + filepath.Join(dir, tenant+".db") + "?durability=unsynced"
		})
	})
	if !proof.Long() {
		return // On a server a process counts as dead after half a minute.
	}
	for scheme, server := range map[string][]string{"redis": {"redis-server"}, "memcached": {"memcached", "-m", "1024"}} {
		t.Run(scheme, func(t *testing.T) {
			p := servers.Of(t, server[0], server[1:]...)
			eachKilled(t, 40, proof.Rounds(t, 2, 1000), func(string) string { return scheme + "://" + p.Addr })
		})
	}
}

const killedAtOnce = 2

func eachKilled(t *testing.T, tenants int, rounds iter.Seq[uint64], url func(tenant string) string) {
	t.Helper()
	numbers, writing := make(chan uint64), make(chan bool, killedAtOnce)
	var mu sync.Mutex
	var longest time.Duration
	var running sync.WaitGroup
	for n := range tenants {
		tenant := fmt.Sprint("t", n)
		running.Go(func() {
			for round := range numbers {
				life := time.Duration(20+rand.IntN(380)) * time.Millisecond
				writing <- true
				child := exec.Command(os.Args[0])
				child.Env = append(os.Environ(), childVariable+"="+url(tenant)+" "+tenant)
				err := whole.Kill(child, life)
				<-writing
				healed, failed := heal(url(tenant), tenant)
				if err := errors.Join(err, failed); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
				for _, wrong := range healed.Wrong {
					t.Errorf("round %d: %s", round, wrong)
				}
				mu.Lock()
				longest = max(longest, healed.Took)
				mu.Unlock()
			}
		})
	}
	killed := 0
	for round := range rounds {
		killed++
		numbers <- round
	}
	close(numbers)
	running.Wait()
	t.Logf("%d processes killed, all was right after %v at most", killed, longest)
}

func heal(url, tenant string) (whole.Healed, error) {
	s, err := kvopen.Store(ctx, url, all.Engines)
	if err != nil {
		return whole.Healed{}, err
	}
	return whole.Heal(ctx, s, tenant, 4*time.Minute)
}
