package whole_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

type restarted struct {
	calls int // during the load
	verdict
}

const (
	restartWriters = 4
	restartTargets = 4 // each writer likes a work of its own
	loadTime       = 300 * time.Millisecond
)

// A server restarts while libraries are written. Afterwards a quiet library must show its answers
// from before, and the others the acknowledged writes, or an error.
func restart(t *testing.T, tenant string, open func(tenant string) *whole.Library, server *servers.Process) (found restarted) {
	t.Helper()
	quiet := open(tenant)
	defer closeLibrary(quiet)
	want := writeAll(t, quiet, rand.Uint64())

	loaded := open(tenant + "-load")
	defer closeLibrary(loaded)
	likes := likeUntil(t, loaded, func() {
		time.Sleep(loadTime)
		server.Kill()
		must(t, server.Start())
		time.Sleep(loadTime)
	})
	found.calls = likes.calls

	fresh, late := open(tenant), open(tenant+"-load")
	defer closeLibrary(fresh)
	defer closeLibrary(late)
	for name, l := range map[string]*whole.Library{"a process that ran": quiet, "a fresh process": fresh} {
		found.compare(name, want, l.Look(ctx))
	}
	for name, l := range map[string]*whole.Library{"a process that wrote": loaded, "a fresh process": late} {
		likes.judge(name, l, &found)
	}
	proof.Done(t)(fresh.DB.Accept(ctx))
	return found
}

func closeLibrary(l *whole.Library) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = l.DB.Close(ctx)
}

func (r *restarted) compare(who string, want, got whole.Shown) {
	for question, answer := range got {
		right, asked := want[question]
		r.add(who+", "+question, right, answer, asked, whole.SaysLoss(answer))
	}
}

type liked struct {
	mu    sync.Mutex
	calls int
	sure  map[string][]string // acknowledged, by work
	maybe map[string][]string // unacknowledged
}

func likeUntil(t *testing.T, l *whole.Library, f func()) *liked {
	t.Helper()
	k := &liked{sure: map[string][]string{}, maybe: map[string][]string{}}
	for n := range restartTargets {
		must(t, l.Works.Create(ctx, &whole.Work{ID: fmt.Sprint("liked", n)}))
	}
	var all sync.WaitGroup
	stop := make(chan struct{})
	for n := range restartWriters {
		all.Go(func() { k.write(l, fmt.Sprint("liked", n%restartTargets), fmt.Sprint("u", n), stop) })
	}
	f()
	close(stop)
	all.Wait()
	return k
}

func (k *liked) write(l *whole.Library, work, name string, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		user := fmt.Sprint(name, "-", i)
		call, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := l.Likes.Create(call, &whole.Like{User: user, Work: work})
		cancel()
		k.mu.Lock()
		k.calls++
		k.maybe[work] = append(k.maybe[work], user)
		if err == nil {
			k.sure[work] = append(k.sure[work], user)
		}
		k.mu.Unlock()
		if err != nil {
			// A refused write fails at once.
			time.Sleep(time.Millisecond)
		}
	}
}

// judge requires all acknowledged likes and none that nobody made, or an error.
func (k *liked) judge(who string, l *whole.Library, found *restarted) {
	for work, sure := range k.sure {
		maybe := k.maybe[work]
		tell := func(question string, err error, n int, missing []string) {
			found.asked++
			switch {
			case err != nil && whole.SaysLoss(err.Error()):
				found.says++
			case err != nil || n < len(sure) || n > len(maybe) || len(missing) > 0:
				found.wrong = append(found.wrong, fmt.Sprintf("%s, %s of %s: want %d to %d, got %d without %.5q, %v", who, question, work, len(sure), len(maybe), n, missing, err))
			}
		}
		list := l.Likes.ByWork.Of(work)
		seen := map[string]bool{}
		var failed error
		for v, err := range list.All(ctx) {
			if err != nil {
				failed = errors.Join(failed, err)
				break
			}
			seen[v.User] = true
		}
		missing := slices.DeleteFunc(slices.Clone(sure), func(user string) bool { return seen[user] })
		tell("likes", failed, len(seen), missing)
		n, err := list.Size(ctx)
		tell("Size", err, n, nil)
		n, err = list.Count(ctx)
		tell("Count", err, n, nil)
		v, err := l.Works.Get(ctx, work)
		if err == nil {
			if l.DB.Stats().InDoubt == 0 {
				tell("number", nil, int(v.Likes), nil)
			}
		} else {
			tell("number", err, 0, nil)
		}
		for _, user := range sure[max(0, len(sure)-5):] {
			_, err := l.Likes.Get(ctx, whole.LikeID{User: user, Work: work})
			tell("like", err, len(sure), nil)
		}
	}
}

func TestLong_ARestartUnderLoadShowsOrIsSaid(t *testing.T) {
	two, store := twoServers(t, "-m", "512")
	open := func(tenant string) *whole.Library {
		l, err := whole.Open(store(), kvmodel.Tenant(tenant))
		must(t, err)
		return l
	}
	rounds, calls, answers, said := 0, 0, 0, 0
	for round := range proof.Rounds(t, 1, 500) {
		found := restart(t, fmt.Sprint("t", round), open, two[round%2])
		for _, wrong := range found.wrong {
			t.Errorf("restart %d: %s", round, wrong)
		}
		if found.says == 0 {
			t.Errorf("restart %d was not noticed", round)
		}
		rounds, calls, answers, said = rounds+1, calls+found.calls, answers+found.asked, said+found.says
	}
	t.Logf("%d restarts: %d calls under load, of %d answers %d say what is lost", rounds, calls, answers, said)
}

func redisIn(t *testing.T, dir string) (addr string, w *wire) {
	t.Helper()
	p := servers.Of(t, "redis-server", "--dir", dir)
	return p.Addr, dial(t, p.Addr)
}

func TestVerifyBackup_ARedisThatWasRestoredIsCheckedByOneCommand(t *testing.T) {
	dir := t.TempDir()
	addr, w := redisIn(t, dir)
	s, err := rediskv.Open(ctx, rediskv.Options{Addrs: []string{addr}})
	must(t, err)
	l := libraryIn(t, s)
	for i, id := range whole.WorkIDs {
		furnish(t, l, i, id)
	}
	must(t, l.DB.Close(ctx))
	w.send("SAVE\r\n")
	if got := w.line(); got != "+OK" {
		t.Fatal(got)
	}

	restored, w := redisIn(t, dir)
	verify := func(wantCode int, wants ...string) {
		t.Helper()
		var out bytes.Buffer
		code := inspect.Run(ctx, inspect.Config{
			Name: "db", Args: []string{"verify", "redis://" + restored}, Stdout: &out, Stderr: &out,
			Models: func(db *kvmodel.DB) []kvmodel.Model { whole.New(db); return nil },
		})
		for _, want := range wants {
			if code != wantCode || !strings.Contains(out.String(), want) {
				t.Errorf("exit code %d, and\n%s\nwant %d, and %q", code, out.String(), wantCode, want)
			}
		}
	}
	verify(0, "redis://"+restored+" is whole: ", ", the newest record of 2")
	for _, damage := range []struct{ command, want string }{
		{"DEL u:Work:BySlug:slug-w3", "is not whole, or not all of it could be checked: "},
		{"DEL format:ringtree", "has no data of this app: the key format:ringtree is missing"},
		{"FLUSHALL", "has no data of this app"},
	} {
		w.send("%s\r\n", damage.command)
		w.line()
		verify(1, damage.want)
	}
}
