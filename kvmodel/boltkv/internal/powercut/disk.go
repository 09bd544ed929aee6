// Package powercut is a disk for tests. A cut of its power takes what was not synced, in
// parts.
package powercut

import (
	"bytes"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync"
)

// Disk is files in memory, by their names.
type Disk struct {
	// Gate is held for reading while anything is done. Who holds it for writing sees the
	// disk at one moment.
	Gate sync.RWMutex

	mu    sync.Mutex
	files map[string]*File
}

// Open returns the file called name. If there is none, it makes one if makes is set.
func (d *Disk) Open(name string, makes bool) (*File, error) {
	d.Gate.RLock()
	defer d.Gate.RUnlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.files[name]; f != nil {
		return f, nil
	}
	if !makes {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if d.files == nil {
		d.files = make(map[string]*File)
	}
	d.files[name] = &File{disk: d}
	return d.files[name], nil
}

// Remove removes the file called name.
func (d *Disk) Remove(name string) error {
	d.Gate.RLock()
	defer d.Gate.RUnlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	delete(d.files, name)
	return nil
}

// List returns the names that begin with begin.
func (d *Disk) List(begin string) (all []string) {
	d.Gate.RLock()
	defer d.Gate.RUnlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for name := range d.files {
		if strings.HasPrefix(name, begin) {
			all = append(all, name)
		}
	}
	return all
}

// Rename gives the file called name another name.
func (d *Disk) Rename(name, to string) error {
	d.Gate.RLock()
	defer d.Gate.RUnlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[name] == nil {
		return &fs.PathError{Op: "rename", Path: name, Err: fs.ErrNotExist}
	}
	d.files[to] = d.files[name]
	delete(d.files, name)
	return nil
}

// Cut returns what a power cut at this moment may leave of the disk; its caller holds Gate.
// A file is there if it was ever synced, or by chance.
func (d *Disk) Cut(random *rand.Rand) *Disk {
	left := &Disk{files: make(map[string]*File)}
	for name, f := range d.files {
		if f.synced || random.IntN(2) == 0 {
			left.files[name] = f.cut(left, random)
		}
	}
	return left
}

// File is a file of a Disk. The zero File is one by itself.
type File struct {
	// Data is what the file holds. It may be changed while nothing else uses the file.
	Data []byte

	disk    *Disk
	durable []byte
	synced  bool
}

func (f *File) enter() (leave func()) {
	if f.disk == nil {
		return func() {}
	}
	f.disk.Gate.RLock()
	f.disk.mu.Lock()
	return func() {
		f.disk.mu.Unlock()
		f.disk.Gate.RUnlock()
	}
}

// ReadAt is that of an io.ReaderAt.
func (f *File) ReadAt(p []byte, at int64) (int, error) {
	defer f.enter()()
	if at >= int64(len(f.Data)) {
		return 0, io.EOF
	}
	n := copy(p, f.Data[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt is that of an io.WriterAt.
func (f *File) WriteAt(p []byte, at int64) (int, error) {
	defer f.enter()()
	f.Data = over(f.Data, p, int(at))
	return len(p), nil
}

func over(data, p []byte, at int) []byte {
	if missing := at + len(p) - len(data); missing > 0 {
		data = append(data, make([]byte, missing)...)
	}
	copy(data[at:], p)
	return data
}

// Sync makes what the file holds survive a cut.
func (f *File) Sync() error {
	defer f.enter()()
	f.durable, f.synced = bytes.Clone(f.Data), true
	return nil
}

// Size returns how many bytes the file has.
func (f *File) Size() (int64, error) {
	defer f.enter()()
	return int64(len(f.Data)), nil
}

// Close does nothing.
func (f *File) Close() error { return nil }

const sector = 512

// Cut returns what a power cut may leave of a file by itself: of each sector either what
// was synced, or what it holds.
func (f *File) Cut(random *rand.Rand) *File { return f.cut(nil, random) }

func (f *File) cut(of *Disk, random *rand.Rand) *File {
	left := bytes.Clone(f.durable)
	all := random.IntN(4) == 0 // The system had written everything by chance.
	for at := 0; at < len(f.Data); at += sector {
		if all || random.IntN(2) == 0 {
			left = over(left, f.Data[at:min(at+sector, len(f.Data))], at)
		}
	}
	return &File{Data: left, disk: of, durable: bytes.Clone(left), synced: true}
}
