// Package shelf is a folder in memory for tests. It can be away, and what is in it can be
// spoiled.
package shelf

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
)

// ErrAway is what every call of a shelf returns that is away.
var ErrAway = errors.New("the folder is away")

// Shelf is a folder. The zero Shelf is an empty one.
type Shelf struct {
	mu   sync.Mutex
	all  *objects
	away bool
	left int // calls until it is away, if above 0
}

type objects map[string][]byte

// call does something with the objects, if the shelf is not away.
func (s *Shelf) call(f func(objects) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return ErrAway
	}
	if s.left--; s.left == 0 {
		s.away = true
	}
	return f(s.objects())
}

func (s *Shelf) objects() objects {
	if s.all == nil {
		s.all = &objects{}
	}
	return *s.all
}

// PutNew is that of a folder.
func (s *Shelf) PutNew(_ context.Context, name string, from io.Reader) error {
	data, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	return s.call(func(all objects) error {
		if all[name] != nil {
			return fs.ErrExist
		}
		all[name] = data
		return nil
	})
}

// Put is that of a folder.
func (s *Shelf) Put(_ context.Context, name string, from io.Reader) error {
	data, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	return s.call(func(all objects) error { all[name] = data; return nil })
}

// Get is that of a folder.
func (s *Shelf) Get(_ context.Context, name string) (r io.ReadCloser, err error) {
	err = s.call(func(all objects) error {
		if all[name] == nil {
			return fmt.Errorf("%s: %w", name, fs.ErrNotExist)
		}
		r = io.NopCloser(bytes.NewReader(all[name]))
		return nil
	})
	return r, err
}

// List is that of a folder.
func (s *Shelf) List(_ context.Context, begin string) (names []string, err error) {
	err = s.call(func(all objects) error {
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

// Delete is that of a folder.
func (s *Shelf) Delete(_ context.Context, name string) error {
	return s.call(func(all objects) error { delete(all, name); return nil })
}

// String returns the name.
func (s *Shelf) String() string { return "the shelf" }

// SetAway says whether the shelf is away from now on.
func (s *Shelf) SetAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.left = away, 0
}

// SetCalls makes the shelf go away after so many calls.
func (s *Shelf) SetCalls(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = n
}

// Other returns another way to the same objects, which is not away.
func (s *Shelf) Other() *Shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects()
	return &Shelf{all: s.all}
}

// Clone returns a shelf of its own with the same objects, which is not away.
func (s *Shelf) Clone() *Shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := maps.Clone(s.objects())
	return &Shelf{all: &all}
}

// Become makes the shelf hold what another one holds.
func (s *Shelf) Become(other *Shelf) {
	all := maps.Clone(other.objects())
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.objects())
	maps.Copy(*s.all, all)
}

// Change changes an object by f, which returns nil to delete it.
func (s *Shelf) Change(name string, f func([]byte) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.objects()
	if all[name] = f(bytes.Clone(all[name])); all[name] == nil {
		delete(all, name)
	}
}
