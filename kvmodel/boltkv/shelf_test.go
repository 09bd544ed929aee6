package boltkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

var errAway = errors.New("the folder is away")

// shelf is a folder in memory that can be away. The zero shelf is empty.
type shelf struct {
	put func(ctx context.Context, name string, from io.Reader) error // called first by PutNew, if not nil

	mu    sync.Mutex
	all   *objects
	asked map[string]int // calls by their names
	away  bool
	left  int // calls until it is away, if above 0
}

type objects map[string][]byte

func (s *shelf) call(name string, f func(objects) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = make(map[string]int)
	}
	s.asked[name]++
	if s.away {
		return errAway
	}
	if s.left--; s.left == 0 {
		s.away = true
	}
	return f(s.objects())
}

func (s *shelf) objects() objects {
	if s.all == nil {
		s.all = &objects{}
	}
	return *s.all
}

func (s *shelf) PutNew(ctx context.Context, name string, from io.Reader) error {
	if s.put != nil {
		if err := s.put(ctx, name, from); err != nil {
			return err
		}
	}
	data, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	return s.call("put", func(all objects) error {
		if all[name] != nil {
			return fs.ErrExist
		}
		all[name] = data
		return nil
	})
}

func (s *shelf) Get(_ context.Context, name string) (r io.ReadCloser, err error) {
	err = s.call("get", func(all objects) error {
		if all[name] == nil {
			return fmt.Errorf("%s: %w", name, fs.ErrNotExist)
		}
		r = io.NopCloser(bytes.NewReader(all[name]))
		return nil
	})
	return r, err
}

func (s *shelf) List(_ context.Context, begin string) (names []string, err error) {
	err = s.call("list", func(all objects) error {
		for name := range all {
			if strings.HasPrefix(name, begin) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return nil
	})
	return names, err
}

func (s *shelf) Delete(_ context.Context, name string) error {
	return s.call("delete", func(all objects) error { delete(all, name); return nil })
}

func (s *shelf) String() string { return "the shelf" }

// during returns the calls made in a time.
func (s *shelf) during(d time.Duration) map[string]int {
	s.mu.Lock()
	s.asked = nil
	s.mu.Unlock()
	time.Sleep(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *shelf) setAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.left = away, 0
}

func (s *shelf) setCalls(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = n
}

// other returns another way to the same objects, which is not away.
func (s *shelf) other() *shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects()
	return &shelf{all: s.all}
}

func (s *shelf) clone() *shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := maps.Clone(s.objects())
	return &shelf{all: &all}
}

// change changes an object by f, which returns nil to delete it.
func (s *shelf) change(name string, f func([]byte) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.objects()
	if all[name] = f(bytes.Clone(all[name])); all[name] == nil {
		delete(all, name)
	}
}
