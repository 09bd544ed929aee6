package commitlog

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// stream returns a stream of n commits.
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

// read returns how many records data has before the end, and what ends them.
func read(data []byte) (n int, ended bool, err error) {
	r, err := NewReader(bytes.NewReader(data))
	if err != nil {
		return 0, false, err
	}
	for {
		record, err := r.Next()
		if err != nil {
			return n, r.Ended(), err
		}
		if !record.End {
			n++
		}
	}
}

func TestReader_ReadsWhatWasWrittenUpToTheEnd(t *testing.T) {
	if n, ended, err := read(stream(20)); n != 20 || !ended || !errors.Is(err, io.EOF) {
		t.Errorf("it read %d records, ended %v, error %v", n, ended, err)
	}
}

func TestWriter_ARecordThatCouldNotBeReadAgainIsNotWritten(t *testing.T) {
	var buf bytes.Buffer
	w := must(NewWriter(&buf, header))
	if err := w.Write(Record{Body: tooLarge}); err == nil {
		t.Error("want an error")
	}
	if err := w.Write(Record{End: true}); err != nil {
		t.Fatal(err)
	}
	if n, ended, err := read(buf.Bytes()); n != 0 || !ended || !errors.Is(err, io.EOF) {
		t.Errorf("it read %d records, ended %v, error %v", n, ended, err)
	}
}

func TestReader_WhatIsMissingOrChangedIsNoticed(t *testing.T) {
	whole := stream(5)
	for cut := range whole {
		if n, ended, err := read(whole[:cut]); ended || !errors.Is(err, ErrDamaged) && !errors.Is(err, io.EOF) {
			t.Fatalf("cut off after %d bytes: it read %d records, ended %v, error %v", cut, n, ended, err)
		}
	}
	for at := range whole {
		changed := bytes.Clone(whole)
		changed[at] ^= 4
		if _, _, err := read(changed); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d changed: error %v", at, err)
		}
	}
}

func FuzzReader_AnyBytesAreRecordsOrDamage(f *testing.F) {
	f.Add(stream(0))
	f.Add(stream(3))
	f.Add(stream(3)[:100])
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, _, err := read(data); !errors.Is(err, io.EOF) && !errors.Is(err, ErrDamaged) {
			t.Errorf("error %v", err)
		}
	})
}
