package kvtest

import (
	"errors"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type moment []time.Time

func (f *fixture) now() moment {
	if f.maker.Clocks == nil {
		return moment{time.Now()}
	}
	f.Helper()
	return f.maker.Clocks(f)
}

// since returns the minimum time passed since m, by the slowest of the clocks and by the fastest.
func (f *fixture) since(m moment) (slowest, fastest time.Duration) {
	f.Helper()
	var unsure time.Duration
	if f.maker.Clocks != nil {
		unsure = time.Second
	}
	for i, now := range f.now() {
		passed := now.Sub(m[i]) - unsure
		if i == 0 {
			slowest = passed
		}
		slowest, fastest = min(slowest, passed), max(fastest, passed)
	}
	return slowest, fastest
}

func (f *fixture) pass(d time.Duration) {
	f.Helper()
	if f.maker.Advance != nil {
		f.maker.Advance(d)
		return
	}
	start := f.now()
	time.Sleep(d)
	for passed, _ := f.since(start); passed < d; passed, _ = f.since(start) {
		time.Sleep(pollEvery)
	}
}

const pollEvery = 20 * time.Millisecond

// expires runs write, which gives key that TTL, and expects the item to exist until the TTL has
// passed, and to be gone after the slack.
func (f *fixture) expires(key string, ttl time.Duration, write func()) {
	f.Helper()
	if f.maker.Advance == nil {
		f.expiresInRealTime(key, ttl, write)
		return
	}
	write()
	f.maker.Advance(ttl - time.Millisecond)
	f.answer(kv.OpGet(key), nil)
	f.maker.Advance(slack + 2*time.Millisecond)
	f.absent(key)
}

func (f *fixture) expiresInRealTime(key string, ttl time.Duration, write func()) {
	f.Helper()
	began := f.now()
	write()
	written := f.now()
	for {
		old, _ := f.since(written)
		err := f.do(kv.OpGet(key))[0].Result.Err
		_, age := f.since(began)
		switch {
		case err != nil && age < ttl:
			f.Fatalf("%q was gone %v before its TTL had passed: %v", key, ttl-age, err)
		case errors.Is(err, kv.ErrNotFound):
			return
		case err != nil:
			f.Fatalf("get %q: %v", key, err)
		case old > ttl+slack:
			f.Fatalf("%q was there %v after TTL and slack had passed", key, old-ttl-slack)
		}
		time.Sleep(pollEvery)
	}
}
