package boltkv

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"sync"
)

// powerDisk is a disk, of which a cut of the power takes what was not synced, in parts: files in
// memory, by their names.
type powerDisk struct {
	// Gate is held for reading while anything is done. Who holds it for writing sees the
	// disk at one moment.
	Gate sync.RWMutex

	mu     sync.Mutex
	files  map[string]*powerFile
	synced map[string]*powerFile // as of the last SyncDir
	since  []nameChange          // of the names, since then
}

// nameChange is something that was done to the names of files.
type nameChange func(files map[string]*powerFile)

// do changes the names; its caller holds mu.
func (d *powerDisk) do(c nameChange) {
	if d.files == nil {
		d.files = make(map[string]*powerFile)
	}
	c(d.files)
	d.since = append(d.since, c)
}

// Open returns the file called name. If there is none, it makes one if makes is set.
func (d *powerDisk) Open(name string, makes bool) (*powerFile, error) {
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
	made := &powerFile{disk: d}
	d.do(func(files map[string]*powerFile) { files[name] = made })
	return made, nil
}

// Remove removes the file called name.
func (d *powerDisk) Remove(name string) error {
	d.Gate.RLock()
	defer d.Gate.RUnlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	d.do(func(files map[string]*powerFile) { delete(files, name) })
	return nil
}

// SyncDir makes the names that files have survive a cut.
func (d *powerDisk) SyncDir() error {
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
func (d *powerDisk) Cut(random *rand.Rand) *powerDisk {
	names := make(map[string]*powerFile)
	maps.Copy(names, d.synced)
	for _, c := range d.since[:random.IntN(len(d.since)+1)] {
		c(names)
	}
	left := &powerDisk{files: make(map[string]*powerFile)}
	for name, f := range names {
		left.files[name] = f.cut(left, random)
	}
	left.synced = maps.Clone(left.files)
	return left
}

// powerFile is a file of a powerDisk.
type powerFile struct {
	// Data is what the file holds. It may be changed while nothing else uses the file.
	Data []byte

	disk    *powerDisk
	durable []byte
}

func (f *powerFile) enter() (leave func()) {
	f.disk.Gate.RLock()
	f.disk.mu.Lock()
	return func() {
		f.disk.mu.Unlock()
		f.disk.Gate.RUnlock()
	}
}

// ReadAt is that of an io.ReaderAt.
func (f *powerFile) ReadAt(p []byte, at int64) (int, error) {
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
func (f *powerFile) WriteAt(p []byte, at int64) (int, error) {
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
func (f *powerFile) Sync() error {
	defer f.enter()()
	f.durable = bytes.Clone(f.Data)
	return nil
}

// Size returns how many bytes the file has.
func (f *powerFile) Size() (int64, error) {
	defer f.enter()()
	return int64(len(f.Data)), nil
}

// Close does nothing.
func (f *powerFile) Close() error { return nil }

const sector = 512

// cut returns the file as a power cut may leave it: each sector with its synced bytes or its
// current ones.
func (f *powerFile) cut(of *powerDisk, random *rand.Rand) *powerFile {
	left := bytes.Clone(f.durable)
	all := random.IntN(4) == 0 // The system had written everything by chance.
	for at := 0; at < len(f.Data); at += sector {
		if all || random.IntN(2) == 0 {
			left = over(left, f.Data[at:min(at+sector, len(f.Data))], at)
		}
	}
	return &powerFile{Data: left, disk: of, durable: bytes.Clone(left)}
}
