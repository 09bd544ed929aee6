package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

type failing struct {
	memory
	write func(data []byte) (n int, err error)
}

func (f *failing) WriteAt(data []byte, at int64) (int, error) {
	if f.write == nil {
		return f.memory.WriteAt(data, at)
	}
	n, err := f.write(data)
	_, _ = f.memory.WriteAt(data[:n], at)
	return n, err
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var header = Header{Store: [16]byte{1, 2, 3}, Epoch: 7, First: 100}

func body(seq uint64) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "commit %d ", seq), int(1+seq%90))
}

func write(t testing.TB, l *Log, n int, synced bool) {
	t.Helper()
	for range n {
		r := Record{Version: l.Next() * 10, Time: int64(l.Next()), Durable: l.Next() - 1, Body: body(l.Next())}
		if !synced {
			r.Durable = 0
		}
		proof.Must(t, l.Append(&r))
		if synced {
			proof.Must(t, l.Sync())
		}
	}
}

// replay fails the test unless each record is as written, and returns the records' numbers.
func replay(t testing.TB, file File) (l *Log, seqs []uint64, ended bool, dropped int, err error) {
	t.Helper()
	l, err = Open(file)
	if err != nil {
		return nil, nil, false, 0, err
	}
	ended, dropped, err = l.Replay(func(r Record) error {
		if !bytes.Equal(r.Body, body(r.Seq)) || r.Version != r.Seq*10 || r.Time != int64(r.Seq) {
			t.Errorf("record %d is not what was written: %+v", r.Seq, r)
		}
		seqs = append(seqs, r.Seq)
		return nil
	})
	return l, seqs, ended, dropped, err
}

func upTo(first uint64, n int) []uint64 {
	var seqs []uint64
	for i := range uint64(n) {
		seqs = append(seqs, first+i)
	}
	return seqs
}

func TestLog_WhatWasAppendedIsReplayed(t *testing.T) {
	file := new(memory)
	l := must(Create(file, header))
	write(t, l, 300, true)
	for round := range 3 {
		again, seqs, ended, dropped, err := replay(t, file)
		if err != nil || ended || dropped != 0 || !slices.Equal(seqs, upTo(100, 300+round)) {
			t.Fatalf("replay: %d records, ended %t, %d dropped, %v", len(seqs), ended, dropped, err)
		}
		proof.Equal(t, again.Header, header, "the header")
		write(t, again, 1, true)
	}
}

func TestLog_AnEndIsTheLast(t *testing.T) {
	file := new(memory)
	l := must(Create(file, header))
	write(t, l, 3, true)
	proof.Must(t, l.Append(&Record{End: true}))
	l, seqs, ended, _, err := replay(t, file)
	if err != nil || !ended || len(seqs) != 3 || l.Next() != 103 {
		t.Errorf("%d records, ended %t, next %d, %v; want 3, ended, next 103", len(seqs), ended, l.Next(), err)
	}
}

func TestLog_AFileUsedAgainHoldsNothingOfBefore(t *testing.T) {
	file := new(memory)
	write(t, must(Create(file, header)), 200, true)
	for n := range 20 {
		l := must(Create(file, Header{Store: header.Store, Epoch: 9, First: 100}))
		write(t, l, n, true)
		_, seqs, _, dropped, err := replay(t, file)
		if err != nil || dropped != 0 || !slices.Equal(seqs, upTo(100, n)) {
			t.Fatalf("%d records, %d dropped, %v; want %d", len(seqs), dropped, err, n)
		}
	}
}

func TestLog_DamageInTheMiddleIsNamed(t *testing.T) {
	file := new(memory)
	l := must(Create(file, header))
	write(t, l, 50, true)
	last := l.at
	write(t, l, 1, true)
	whole := bytes.Clone(file.Data)
	step := proof.Size(61, 1)
	for bit := 0; bit < int(last)*8; bit += step {
		if at := bit / 8; at >= headerSize && at < blockSize {
			continue
		}
		file.Data = bytes.Clone(whole)
		file.Data[bit/8] ^= 1 << (bit % 8)
		_, seqs, _, _, err := replay(t, file)
		switch {
		case errors.Is(err, ErrDamaged):
		case err == nil && slices.Equal(seqs, upTo(100, 51)): // It was padding.
		default:
			t.Fatalf("bit %d: %d records, %v; want ErrDamaged", bit, len(seqs), err)
		}
	}
}

func TestLog_AnAppendThatFailsIsNotThere(t *testing.T) {
	full := errors.New("no space left")
	for _, written := range []int{0, 1, 20, 48, 60} {
		file := new(failing)
		l := must(Create(file, header))
		write(t, l, 3, true)
		file.write = func(data []byte) (int, error) {
			if len(data) == 8 {
				return 8, nil
			}
			return min(written, len(data)), full
		}
		if err := l.Append(&Record{Body: body(1)}); !errors.Is(err, full) || errors.Is(err, ErrStuck) {
			t.Fatalf("Append returned %v, want %v", err, full)
		}
		file.write = nil
		write(t, l, 2, true)
		if _, seqs, _, _, err := replay(t, file); err != nil || len(seqs) != 5 {
			t.Errorf("after a write of %d bytes: %d records, %v; want 5", written, len(seqs), err)
		}
	}
}

// tooLarge could not be read again. Nothing touches its memory.
var tooLarge = make([]byte, MaxBody+1)

func TestLog_ARecordThatCouldNotBeReadAgainIsNotWritten(t *testing.T) {
	file := new(memory)
	l := must(Create(file, header))
	write(t, l, 3, true)
	before := bytes.Clone(file.Data)
	if err := l.Append(&Record{Body: tooLarge}); err == nil || errors.Is(err, ErrStuck) || !strings.Contains(err.Error(), "1073741777 bytes, at most 1073741776") {
		t.Errorf("want an error that names the size and the limit, got %v", err)
	}
	if !bytes.Equal(before, file.Data) {
		t.Error("the file has changed")
	}
	write(t, l, 2, true)
	if _, seqs, _, _, err := replay(t, file); err != nil || len(seqs) != 5 {
		t.Errorf("%d records, %v; want 5", len(seqs), err)
	}
}

func TestLog_AnAppendOfUnknownFateIsStuck(t *testing.T) {
	full := errors.New("no space left")
	file := new(failing)
	l := must(Create(file, header))
	file.write = func(data []byte) (int, error) {
		if len(data) == 8 {
			return 0, full
		}
		return len(data), full
	}
	proof.Is(t, l.Append(&Record{Body: body(1)}), ErrStuck)
}

func TestOpen_WhatIsNoLogIsNamed(t *testing.T) {
	whole := new(memory)
	must(Create(whole, header))
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"empty":  {nil, ErrEmpty},
		"zeros":  {make([]byte, 5000), ErrEmpty},
		"short":  {whole.Data[:40], ErrEmpty},
		"text":   {bytes.Repeat([]byte("no log "), 100), ErrDamaged},
		"header": {append(bytes.Clone(whole.Data[:60]), 1, 2, 3, 4), ErrDamaged},
	} {
		if _, err := Open(&memory{Data: c.data}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

type memory struct{ Data []byte }

func (f *memory) ReadAt(p []byte, at int64) (int, error) {
	if n := copy(p, f.Data[min(at, int64(len(f.Data))):]); n < len(p) {
		return n, io.EOF
	}
	return len(p), nil
}

func (f *memory) WriteAt(p []byte, at int64) (int, error) {
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

func (f *memory) Sync() error { return nil }

func (f *memory) Size() (int64, error) { return int64(len(f.Data)), nil }

func (f *memory) Close() error { return nil }

func stream(n int) []byte {
	var buf bytes.Buffer
	w := must(NewWriter(&buf, header))
	for i := range n {
		seq := header.First + uint64(i)
		if err := w.Write(Record{Seq: seq, Body: body(seq)}); err != nil {
			panic(err)
		}
	}
	if err := w.Write(Record{End: true}); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

func read(data []byte) (n int, err error) {
	r, err := NewReader(bytes.NewReader(data))
	if err == nil {
		_, err = r.Each(func(Record) error { n++; return nil })
	}
	return n, err
}

func TestReader_ReadsWhatWasWrittenUpToTheEnd(t *testing.T) {
	if n, err := read(stream(20)); n != 20 || err != nil {
		t.Errorf("it read %d records, error %v", n, err)
	}
}

func TestWriter_ARecordThatCouldNotBeReadAgainIsNotWritten(t *testing.T) {
	var buf bytes.Buffer
	w := must(NewWriter(&buf, header))
	if err := w.Write(Record{Body: tooLarge}); err == nil {
		t.Error("want an error")
	}
	proof.Must(t, w.Write(Record{End: true}))
	if n, err := read(buf.Bytes()); n != 0 || err != nil {
		t.Errorf("it read %d records, error %v", n, err)
	}
}

func TestReader_WhatIsMissingOrChangedIsNoticed(t *testing.T) {
	whole := stream(5)
	for cut := range whole {
		if n, err := read(whole[:cut]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut off after %d bytes: it read %d records, error %v", cut, n, err)
		}
	}
	for at := range whole {
		changed := bytes.Clone(whole)
		changed[at] ^= 4
		if _, err := read(changed); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d changed: error %v", at, err)
		}
	}
}

func FuzzReader_AnyBytesAreRecordsOrDamage(f *testing.F) {
	f.Add(stream(0))
	f.Add(stream(3))
	f.Add(stream(3)[:100])
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := read(data); err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("error %v", err)
		}
	})
}
