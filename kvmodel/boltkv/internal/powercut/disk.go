// Package powercut is a disk for tests. A cut of its power takes what was not synced, in
// parts.
package powercut

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
)

// Disk is files in memory, by their names.
type Disk struct {
	// Gate is held for reading while anything is done. Who holds it for writing sees the
	// disk at one moment.
	Gate sync.RWMutex

	mu     sync.Mutex
	files  map[string]*File
	synced map[string]*File // as of the last SyncDir
	since  []change         // of the names, since then
}

// change is something that was done to the names of files.
type change func(files map[string]*File)

// do changes the names; its caller holds mu.
func (d *Disk) do(c change) {
	if d.files == nil {
		d.files = make(map[string]*File)
	}
	c(d.files)
	d.since = append(d.since, c)
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
	made := &File{disk: d}
	d.do(func(files map[string]*File) { files[name] = made })
	return made, nil
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
	d.do(func(files map[string]*File) { delete(files, name) })
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
	d.do(func(files map[string]*File) { files[to] = files[name]; delete(files, name) })
	return nil
}

// SyncDir makes the names that files have survive a cut.
func (d *Disk) SyncDir() error {
	d.Gate.RLock()
	defer d.Gate.RUnlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced, d.since = maps.Clone(d.files), nil
	return nil
}

// Cut returns what a power cut at this moment may leave of the disk; its caller holds Gate.
// Of the names it leaves those that were synced last, with a beginning of what was done to
// them since.
func (d *Disk) Cut(random *rand.Rand) *Disk {
	names := make(map[string]*File)
	maps.Copy(names, d.synced)
	for _, c := range d.since[:random.IntN(len(d.since)+1)] {
		c(names)
	}
	left := &Disk{files: make(map[string]*File)}
	for name, f := range names {
		left.files[name] = f.cut(left, random)
	}
	left.synced = maps.Clone(left.files)
	return left
}

// File is a file of a Disk. The zero File is one by itself.
type File struct {
	// Data is what the file holds. It may be changed while nothing else uses the file.
	Data []byte

	disk    *Disk
	durable []byte
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
	f.durable = bytes.Clone(f.Data)
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
	return &File{Data: left, disk: of, durable: bytes.Clone(left)}
}
