package memcachekv

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	// bootKey holds a server's boot number. The contract allows no key with
	// braces, so no caller can touch it.
	bootKey = "ringtree{boot}"

	// lookAgain is how often a link in use reads the boot number again. Reading
	// it also keeps the item far from eviction.
	lookAgain = time.Minute
)

// meet makes sure that l is connected to the server that the store first met.
// The error is a kv.ErrLost if that server has lost its memory.
func (l *link) meet() error {
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
	// The server had the number before, so if it is absent now, or another one,
	// the server has lost its memory.
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

func (l *link) meetFirst() error {
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

// adopt returns the server's boot number, and adds one if it has none. If several
// processes do so at once, one adds its number and all return that.
func (l *link) adopt() (uint64, error) {
	seen, err := l.bootNumber()
	if !errors.Is(err, memcache.ErrCacheMiss) {
		return seen, err
	}
	// 0 stands for a server not met yet.
	number := strconv.FormatUint(kv.Random()|1, 16)
	err = l.client.Add(&memcache.Item{Key: bootKey, Value: []byte(number)})
	if err != nil && !errors.Is(err, memcache.ErrNotStored) {
		return 0, err
	}
	return l.bootNumber()
}

// bootNumber reads the boot number. The error is a memcache.ErrCacheMiss if there
// is none.
func (l *link) bootNumber() (uint64, error) {
	item, err := l.client.Get(bootKey)
	if l.broke(err) {
		// The old connection was broken; the library makes a new one now.
		item, err = l.client.Get(bootKey)
	}
	if err != nil {
		return 0, err
	}
	if item.CasID == 0 {
		return 0, errors.New("it runs without compare-and-swap (option -C), which this store needs")
	}
	number, err := strconv.ParseUint(string(item.Value), 16, 64)
	if err != nil {
		return 0, fmt.Errorf("boot number in %s: %w", bootKey, err)
	}
	return number, nil
}

// standing returns the boot number the server was met with, or 0 if it was not
// met yet. The error says why the server must not be asked.
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

// met records number if the server was not met before, and returns the number it
// is known by.
func (s *server) met(number uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.boot == 0 {
		s.boot = number
	}
	return s.boot
}

// lose records that the server is no longer the one known by that number, and
// returns the error that says so.
func (s *server) lose(known uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// If the boot number differs, the loss has been accepted since.
	if s.boot == known {
		s.lost = true
	}
	return s.errLost()
}

func (s *server) errLost() error {
	return fmt.Errorf("memcachekv: %s: %w: it was restarted or flushed, or it evicts items", s.addr, kv.ErrLost)
}

// accept meets the server again if it is lost.
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
