package commitlog

import (
	"bytes"
	"errors"
	"testing"
)

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
	if err := w.Write(Record{End: true}); err != nil {
		t.Fatal(err)
	}
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
