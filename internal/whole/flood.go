package whole

import (
	"context"
	"errors"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// Flood is what a process says while one of two servers is gone.
type Flood struct {
	Lines  []string      // of its log
	Calls  int           // of its writers
	Stats  kvmodel.Stats // at the end
	Closed error         // what Close has returned, while the server was still gone
}

// Longest returns the length of the longest line.
func (f *Flood) Longest() (most int) {
	for _, line := range f.Lines {
		most = max(most, len(line))
	}
	return most
}

// floodPause is how long a writer waits between two calls.
const floodPause = 20 * time.Millisecond

// RunFlood has writers change everything for a second, and then, while every op on one
// of two servers ends in why, for as long as lasts. Then it closes the library.
func RunFlood(ctx context.Context, writers int, lasts time.Duration, why error) (*Flood, error) {
	s := &halved{Store: memkv.New(memkv.Options{})}
	said := new(lines)
	l, err := Open(s, kvmodel.Log(slog.New(slog.NewTextHandler(said, nil))))
	if err != nil {
		return nil, err
	}
	d := new(Diary)
	run(ctx, l, d, writers, time.Second)
	if err := l.DB.Flush(ctx); err != nil {
		return nil, errors.Join(err, l.DB.Close(ctx))
	}
	s.why.Store(&why)
	before := d.Calls()
	run(ctx, l, d, writers, lasts)
	f := &Flood{Calls: d.Calls() - before, Stats: l.DB.Stats()}
	closing, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	f.Closed = l.DB.Close(closing)
	f.Lines = said.all()
	return f, nil
}

// run has writers make calls for that long.
func run(ctx context.Context, l *Library, d *Diary, writers int, lasts time.Duration) {
	var busy sync.WaitGroup
	for n := range writers {
		w := NewWriter(l, n, rand.New(rand.NewPCG(1, uint64(n))), d)
		busy.Go(func() {
			for end := time.Now().Add(lasts); time.Now().Before(end); time.Sleep(floodPause) {
				w.Step(ctx)
			}
		})
	}
	busy.Wait()
}

// halved is a store on two servers, one of which may be gone.
type halved struct {
	kv.Store
	why atomic.Pointer[error] // nil: both are there
}

func (h *halved) Powers() kv.Powers { return kv.Powers{} }

func (h *halved) Do(ctx context.Context, ops []kv.Op) error {
	why := h.why.Load()
	if why == nil {
		return h.Store.Do(ctx, ops)
	}
	for i := range ops {
		if onSecond(ops[i].Key) {
			ops[i].Result = kv.Result{Err: *why}
			continue
		}
		// Its result says what became of it.
		_ = h.Store.Do(ctx, ops[i:i+1])
	}
	return kv.Unanswered(ops)
}

func onSecond(key string) bool {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(key))
	return hash.Sum32()&1 == 1
}

// lines keeps what is logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) all() (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		all = append(all, line)
	}
	return all
}
