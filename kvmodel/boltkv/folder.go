package boltkv

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/durable"
)

// Folder is a destination of Ship: a directory, or a bucket of an object store. Object names
// consist of small letters, digits, dots and hyphens.
type Folder interface {
	// PutNew creates an object. It returns an fs.ErrExist if the name exists; of several concurrent
	// calls, one succeeds. After another error the object is whole or absent.
	PutNew(ctx context.Context, name string, from io.Reader) error

	// Get returns the content of an object, or an fs.ErrNotExist.
	Get(ctx context.Context, name string) (io.ReadCloser, error)

	// List returns the names with a prefix, in order.
	List(ctx context.Context, begin string) ([]string, error)

	Delete(ctx context.Context, name string) error

	String() string
}

// Dir returns the directory at path as a Folder. It need not exist yet.
func Dir(path string) Folder { return dir(path) }

type dir string

func (d dir) path(name string) string { return filepath.Join(string(d), name) }

// List deletes files that a crash has left unfinished a day later.
const (
	temporary    = ".writing-"
	temporaryFor = 24 * time.Hour
)

// PutNew uses a link: unlike a rename, it never replaces a file.
func (d dir) PutNew(_ context.Context, name string, from io.Reader) error {
	if err := makeDir(string(d)); err != nil {
		return err
	}
	file, err := os.CreateTemp(string(d), temporary)
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if _, err = io.Copy(file, from); err == nil {
		err = syncData(file)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return durable.Link(file.Name(), d.path(name))
}

func (d dir) Get(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(d.path(name))
}

func (d dir) List(_ context.Context, begin string) ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil && !isMissing(err) {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		switch name := entry.Name(); {
		case strings.HasPrefix(name, temporary):
			if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > temporaryFor {
				_ = os.Remove(d.path(name))
			}
		case strings.HasPrefix(name, begin):
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (d dir) Delete(_ context.Context, name string) error {
	if err := os.Remove(d.path(name)); !isMissing(err) {
		return err
	}
	return nil
}

func (d dir) String() string { return string(d) }
