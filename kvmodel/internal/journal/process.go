package journal

import (
	"bytes"
	"context"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// processList is the one key that names every process with a journal.
const processList = "procs"

// Other is another process with a journal, as its head shows it.
type Other struct {
	Process string
	head    kv.Result
}

// Others returns the processes with a journal that are not own. It takes one trip,
// in which it reads the list and the heads of known, and a second one if the list
// has others.
func Others(ctx context.Context, s kv.Store, own func(process string) bool, known []string) ([]Other, error) {
	results, err := kv.GetAll(ctx, s, append(kv.Texts(known, HeadKey), processList)...)
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(decodeProcesses(results[len(known)].Value), own)
	if more := plug.Without(all, known); len(more) > 0 {
		heads, err := kv.GetAll(ctx, s, kv.Texts(more, HeadKey)...)
		if err != nil {
			return nil, err
		}
		known, results = slices.Concat(known, more), slices.Concat(results[:len(known)], heads)
	}
	others := make([]Other, len(all))
	for i, process := range all {
		others[i] = Other{process, results[slices.Index(known, process)]}
	}
	return others, nil
}

// Head returns the tick and the shapes of the process, none if its head is gone. One that
// is being removed has the tick 0, and so has one that is damaged, which is an ErrCorrupt.
func (o Other) Head() (tick uint64, shapes []string, err error) {
	if o.head.Err != nil {
		return 0, nil, nil
	}
	h, err := readHead(o.Process, o.head.Value)
	if err != nil {
		return 0, nil, err
	}
	return h.sign(), h.shapes, nil
}

// Origin returns what the process says of itself, as far as that can be read.
func (o Other) Origin() Origin {
	if o.head.Err != nil {
		return Origin{}
	}
	h, err := readHead(o.Process, o.head.Value)
	if err != nil {
		return Origin{}
	}
	return h.origin
}

// processes is the list of processes as it was read.
type processes struct {
	all     []string
	version kv.Version // 0 if there is none
}

// readProcesses reads the list of processes.
func readProcesses(ctx context.Context, s kv.Store) (processes, error) {
	r, err := kv.One(ctx, s, kv.OpGet(processList))
	if errors.Is(err, kv.ErrNotFound) {
		return processes{}, nil
	}
	if err != nil {
		return processes{}, err
	}
	return processes{decodeProcesses(r.Value), r.Version}, nil
}

// change puts process into the list or takes it out. If the list has changed since it was
// read, it is read again.
func (p processes) change(ctx context.Context, s kv.Store, process string, in bool) error {
	for slices.Contains(p.all, process) != in {
		all := slices.DeleteFunc(slices.Clone(p.all), func(name string) bool { return name == process })
		if in {
			all = append(all, process)
		}
		_, err := kv.One(ctx, s, kv.OpReplace(processList, p.version, encodeProcesses(all)))
		if !kv.Raced(err) && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
		if p, err = readProcesses(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// listProcess puts process into the list of processes or takes it out.
func listProcess(ctx context.Context, s kv.Store, process string, in bool) error {
	p, err := readProcesses(ctx, s)
	if err != nil {
		return err
	}
	return p.change(ctx, s, process, in)
}

// The name of a process is random characters and the sum of these, so that one which is
// damaged in the list can be told, and mended.
const (
	randomChars = 19
	nameChars   = 26
)

var sumEncoding = base32.HexEncoding.WithPadding(base32.NoPadding)

// newName returns a name that no other process has.
func newName() string { return nameOf(kv.RandomName()[:randomChars]) }

func nameOf(random string) string {
	return random + sumEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, wire.Sum([]byte(random))))
}

// hasName reports whether a line of data is a name with its sum.
func hasName(data []byte) bool {
	return slices.ContainsFunc(bytes.Split(data, []byte{'\n'}), isName)
}

func isName(line []byte) bool {
	return len(line) == nameChars && nameOf(string(line[:randomChars])) == string(line)
}

// decodeProcesses returns the names in data, one of which may have a wrong bit.
func decodeProcesses(data []byte) (all []string) {
	var odd [][]byte // lines without a sum, one after another
	end := func() {
		mended, _ := wire.Mend(bytes.Join(odd, []byte{'\n'}), hasName)
		for name := range bytes.SplitSeq(mended, []byte{'\n'}) {
			if len(name) > 0 {
				all = append(all, string(name))
			}
		}
		odd = nil
	}
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		if odd = append(odd, line); isName(line) {
			odd = odd[:len(odd)-1]
			end()
			all = append(all, string(line))
		}
	}
	end()
	return all
}

func encodeProcesses(all []string) []byte {
	var b []byte
	for _, name := range all {
		b = append(append(b, name...), '\n')
	}
	return b
}
