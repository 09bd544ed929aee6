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
)

// errAway is what every call of a shelf returns that is away.
var errAway = errors.New("the folder is away")

// shelf is a folder in memory. It can be away, and its objects can be spoiled. The zero shelf is
// an empty one.
type shelf struct {
	mu   sync.Mutex
	all  *objects
	away bool
	left int // calls until it is away, if above 0
}

type objects map[string][]byte

// call does something with the objects, if the shelf is not away.
func (s *shelf) call(f func(objects) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// PutNew is that of a folder.
func (s *shelf) PutNew(_ context.Context, name string, from io.Reader) error {
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

// Get is that of a folder.
func (s *shelf) Get(_ context.Context, name string) (r io.ReadCloser, err error) {
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
func (s *shelf) List(_ context.Context, begin string) (names []string, err error) {
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
func (s *shelf) Delete(_ context.Context, name string) error {
	return s.call(func(all objects) error { delete(all, name); return nil })
}

// String returns the name.
func (s *shelf) String() string { return "the shelf" }

// setAway says whether the shelf is away from now on.
func (s *shelf) setAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.left = away, 0
}

// setCalls makes the shelf go away after so many calls.
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

// Clone returns a shelf of its own with the same objects, which is not away.
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
