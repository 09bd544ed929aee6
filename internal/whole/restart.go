package whole

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Restarted is what was found when one of several servers had lost its memory.
type Restarted struct {
	Calls     int      // of the load while it happened
	Answers   int      // afterward
	Said      int      // of these, that say that something is lost
	Unnoticed int      // 1 if none does
	Wrong     []string // of these, neither right nor an error
}

// Add adds what was found another time.
func (r *Restarted) Add(next Restarted) {
	r.Calls += next.Calls
	r.Answers += next.Answers
	r.Said += next.Said
	r.Unnoticed += next.Unnoticed
	r.Wrong = append(r.Wrong, next.Wrong...)
}

const (
	restartWriters = 4
	restartTargets = 4 // each writer likes a work of its own
	restartSteps   = 150
	loadTime       = 300 * time.Millisecond // before a restart and after it
)

// Restart makes one library of a tenant and leaves it alone, and restarts a server while
// others are being written. Then a process that ran before and one that starts later must
// show of the first what it showed before, and of the others what was acknowledged, or an
// error. At the end the loss is accepted, so another tenant can begin.
func Restart(ctx context.Context, tenant string, open func(tenant string) (*Library, error), restart func() error) (found Restarted, err error) {
	quiet, err := open(tenant)
	if err != nil {
		return found, err
	}
	defer func() { closeLibrary(ctx, quiet) }()
	for n := range 3 {
		w := NewWriter(quiet, n, rand.New(rand.NewPCG(rand.Uint64(), 0)), new(Diary))
		for range restartSteps {
			w.Step(ctx)
		}
	}
	if err := quiet.DB.Flush(ctx); err != nil {
		return found, err
	}
	want := quiet.Look(ctx)
	if err := quiet.DB.Flush(ctx); err != nil {
		return found, err
	}

	loaded, err := open(tenant + "-load")
	if err != nil {
		return found, err
	}
	defer func() { closeLibrary(ctx, loaded) }()
	likes, err := loaded.likeUntil(ctx, func() error {
		time.Sleep(loadTime)
		err := restart()
		time.Sleep(loadTime)
		return err
	})
	if err != nil {
		return found, err
	}
	found.Calls = likes.calls

	fresh, err := open(tenant)
	if err != nil {
		return found, err
	}
	defer func() { closeLibrary(ctx, fresh) }()
	late, err := open(tenant + "-load")
	if err != nil {
		return found, err
	}
	defer func() { closeLibrary(ctx, late) }()
	for name, l := range map[string]*Library{"a process that ran": quiet, "a fresh process": fresh} {
		found.compare(name, want, l.Look(ctx))
	}
	for name, l := range map[string]*Library{"a process that wrote": loaded, "a fresh process": late} {
		likes.judge(ctx, name, l, &found)
	}
	if found.Said == 0 {
		found.Unnoticed = 1
	}
	_, err = fresh.DB.Accept(ctx)
	return found, err
}

// closeLibrary ends a process whose changes may be lost, which it then says.
func closeLibrary(ctx context.Context, l *Library) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = l.DB.Close(ctx)
}

// SaysLoss reports whether an answer says that something is lost, or cannot be asked.
func SaysLoss(answer string) bool {
	return answer == NeedsRebuild || slices.ContainsFunc([]error{kvmodel.ErrNeedsRebuild, kv.ErrLost, kv.ErrUnavailable, kv.ErrUnclear}, func(err error) bool {
		return strings.Contains(answer, err.Error())
	})
}

// compare counts the answers of a library.
func (r *Restarted) compare(who string, want, got Shown) {
	for question, answer := range got {
		r.Answers++
		switch right, asked := want[question]; {
		case asked && answer == right:
		case SaysLoss(answer):
			r.Said++
		default:
			r.Wrong = append(r.Wrong, fmt.Sprintf("%s, %s: want %.200q, got %.200q", who, question, right, answer))
		}
	}
}

// liked is what some writers know of their likes.
type liked struct {
	mu    sync.Mutex
	calls int
	sure  map[string][]string // users whose likes were acknowledged, by work
	maybe map[string][]string // users whose likes may be there
}

// likeUntil makes likes that no one has made before until f returns.
func (l *Library) likeUntil(ctx context.Context, f func() error) (*liked, error) {
	k := &liked{sure: map[string][]string{}, maybe: map[string][]string{}}
	for n := range restartTargets {
		if err := l.Works.Create(ctx, &Work{ID: fmt.Sprint("liked", n)}); err != nil {
			return nil, err
		}
	}
	var all sync.WaitGroup
	stop := make(chan struct{})
	for n := range restartWriters {
		all.Go(func() { k.write(ctx, l, fmt.Sprint("liked", n%restartTargets), fmt.Sprint("u", n), stop) })
	}
	err := f()
	close(stop)
	all.Wait()
	return k, err
}

func (k *liked) write(ctx context.Context, l *Library, work, name string, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		user := fmt.Sprint(name, "-", i)
		call, cancel := context.WithTimeout(ctx, callTime)
		err := l.Likes.Create(call, &Like{User: user, Work: work})
		cancel()
		k.mu.Lock()
		k.calls++
		k.maybe[work] = append(k.maybe[work], user)
		if err == nil {
			k.sure[work] = append(k.sure[work], user)
		}
		k.mu.Unlock()
		if err != nil {
			// It fails at once, and the servers should not be busy with that.
			time.Sleep(time.Millisecond)
		}
	}
}

// judge counts the answers of a library about the likes of each work: all that were
// acknowledged and none that no one made, or an error.
func (k *liked) judge(ctx context.Context, who string, l *Library, found *Restarted) {
	for work, sure := range k.sure {
		maybe := k.maybe[work]
		tell := func(question string, err error, n int, missing []string) {
			found.Answers++
			switch {
			case err != nil && SaysLoss(err.Error()):
				found.Said++
			case err != nil || n < len(sure) || n > len(maybe) || len(missing) > 0:
				found.Wrong = append(found.Wrong, fmt.Sprintf("%s, %s of %s: want %d to %d, got %d without %.5q, %v", who, question, work, len(sure), len(maybe), n, missing, err))
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
			// It is in doubt for as long as the process says so.
			if l.DB.Stats().InDoubt == 0 {
				tell("number", nil, int(v.Likes), nil)
			}
		} else {
			tell("number", err, 0, nil)
		}
		for _, user := range sure[max(0, len(sure)-5):] {
			_, err := l.Likes.Get(ctx, LikeID{User: user, Work: work})
			tell("like", err, len(sure), nil)
		}
	}
}
