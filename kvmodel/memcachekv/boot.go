package memcachekv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	// bootKey holds a server's boot number. Braces are in no key of the
	// contract, so it is nobody else's.
	bootKey = "ringtree{boot}"

	// lookAgain is the age at which a lane's last look at the boot number is
	// too old. It also keeps the item in use, far from eviction.
	lookAgain = time.Minute
)

// meet makes sure that l is connected to the server that was met. The error
// is a kv.ErrLost if that one has lost its memory.
func (l *lane) meet() error {
	known, err := l.server.standing()
	if err != nil {
		return err
	}
	if l.conn != nil && l.boot == known && time.Since(l.looked) < lookAgain {
		return nil
	}
	if known == 0 {
		return l.meetFirst()
	}
	// The number was there before this question was put, so that it is absent
	// or another one means a loss.
	seen, err := l.bootNumber()
	if err == nil && seen == known {
		l.boot, l.looked = seen, time.Now()
		return nil
	}
	if err != nil && !errors.Is(err, memcache.ErrCacheMiss) {
		return err
	}
	return l.server.lose(known)
}

func (l *lane) meetFirst() error {
	seen, err := l.adopt()
	if err != nil {
		return err
	}
	l.boot, l.looked = seen, time.Now()
	if known := l.server.met(seen); known != seen {
		return l.server.lose(known)
	}
	return nil
}

// adopt returns the server's boot number, a new one if it had none. Where
// several processes come at once, one adds it and all return the same.
func (l *lane) adopt() (uint64, error) {
	seen, err := l.bootNumber()
	if !errors.Is(err, memcache.ErrCacheMiss) {
		return seen, err
	}
	// 0 is the number of a server that was not met.
	number := strconv.FormatUint(rand.Uint64()|1, 16)
	err = l.client.Add(&memcache.Item{Key: bootKey, Value: []byte(number)})
	if err != nil && !errors.Is(err, memcache.ErrNotStored) {
		return 0, err
	}
	return l.bootNumber()
}

// bootNumber asks for the boot number. The error is a memcache.ErrCacheMiss if
// there is none.
func (l *lane) bootNumber() (uint64, error) {
	item, err := l.client.Get(bootKey)
	if l.broke(err) {
		// The connection was an old one; the library makes a new one now.
		item, err = l.client.Get(bootKey)
	}
	if err != nil {
		return 0, err
	}
	if item.CasID == 0 {
		return 0, errors.New("it runs without compare-and-swap (option -C), which this store cannot do without")
	}
	number, err := strconv.ParseUint(string(item.Value), 16, 64)
	if err != nil {
		return 0, fmt.Errorf("boot number in %s: %w", bootKey, err)
	}
	return number, nil
}

// standing returns the boot number the server was met with, 0 if it was not
// met yet, or why it may not be asked.
func (s *server) standing() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return 0, errClosed
	case s.lost:
		return 0, s.errLost()
	}
	return s.boot, nil
}

// met notes number if the server was not met before, and returns the number
// it is known by.
func (s *server) met(number uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.boot == 0 {
		s.boot = number
	}
	return s.boot
}

// lose notes that the server no longer is the one known by that number, and
// returns the error for it.
func (s *server) lose(known uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// If it was accepted meanwhile, this comes from before.
	if s.boot == known {
		s.lost = true
	}
	return s.errLost()
}

func (s *server) errLost() error {
	return fmt.Errorf("memcachekv: %s: %w: it was restarted or flushed, or it evicts", s.addr, kv.ErrLost)
}

// accept meets the server anew if it is lost.
func (s *server) accept(ctx context.Context) error {
	if _, err := s.standing(); !errors.Is(err, kv.ErrLost) {
		return nil
	}
	l, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer s.release(l)
	number, err := l.adopt()
	if err != nil {
		return l.failure(kv.Get, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.boot, s.lost = number, false
	return nil
}
