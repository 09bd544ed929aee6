package boltkv

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"sync"
)

// powerDisk is a disk with files in memory. A power cut takes parts of the unsynced data.
type powerDisk struct {
	// Gate is held for reading during each call. Its writer sees the disk at one moment.
	Gate sync.RWMutex

	mu     sync.Mutex
	files  map[string]*powerFile
	synced map[string]*powerFile // as of the last SyncDir
	since  []nameChange          // since then
}

type nameChange func(files map[string]*powerFile)

// The caller of do holds mu.
func (d *powerDisk) do(c nameChange) {
	if d.files == nil {
		d.files = make(map[string]*powerFile)
	}
	c(d.files)
	d.since = append(d.since, c)
}

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

func (d *powerDisk) SyncDir() error {
	d.Gate.RLock()
	defer d.Gate.RUnlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced, d.since = maps.Clone(d.files), nil
	return nil
}

// Cut returns what a power cut at this moment may leave: the names synced last, with a prefix of
// the later changes. The caller holds Gate.
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

type powerFile struct {
	// Data may be changed while nothing else uses the file.
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

func (f *powerFile) Sync() error {
	defer f.enter()()
	f.durable = bytes.Clone(f.Data)
	return nil
}

func (f *powerFile) Size() (int64, error) {
	defer f.enter()()
	return int64(len(f.Data)), nil
}

func (f *powerFile) Close() error { return nil }

const sector = 512

// cut returns each sector with its synced bytes or its current ones.
func (f *powerFile) cut(of *powerDisk, random *rand.Rand) *powerFile {
	left := bytes.Clone(f.durable)
	all := random.IntN(4) == 0 // By chance the system had written everything.
	for at := 0; at < len(f.Data); at += sector {
		if all || random.IntN(2) == 0 {
			left = over(left, f.Data[at:min(at+sector, len(f.Data))], at)
		}
	}
	return &powerFile{Data: left, disk: of, durable: bytes.Clone(left)}
}
