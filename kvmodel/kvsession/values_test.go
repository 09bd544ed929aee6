package kvsession

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/sessions"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/codec"
)

var everyKind = map[any]any{
	"nil": nil, "yes": true, "no": false, "int": -5, "int64": int64(math.MinInt64), "uint64": uint64(math.MaxUint64),
	"float": 2.5, "string": "a\x00ö\xff", "empty": "", "bytes": []byte{0, 0xff}, "no bytes": []byte(nil),
	"time": time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), "strings": []string{"a", ""},
	"list": []any{1, "a", nil, []any{int64(1)}}, "map": map[string]any{"a": 1, "b": map[string]any{}}, "": 0,
}

func storedValues(t testing.TB) entries {
	e, err := encodeValues(everyKind)
	proof.Must(t, err)
	return e
}

func encoded(t testing.TB, rec record) []byte {
	data, err := rec.encode()
	proof.Must(t, err)
	return data
}

func TestValues_ComeBackAsTheTypeTheyWere(t *testing.T) {
	got, err := storedValues(t).decode()
	proof.Must(t, err)
	proof.NoDiff(t, cmp.Diff(everyKind, got), "values")
}

func TestValues_WhatCannotBeStoredIsNamed(t *testing.T) {
	type cart struct{ N int }
	type name string
	self := []any{nil}
	self[0] = self
	for want, values := range map[string]map[any]any{
		`value "cart": value cannot be stored: a session cannot hold a kvsession.cart`: {"cart": cart{}},
		`value "p": value cannot be stored: a session cannot hold a *int`:              {"p": new(int)},
		`value "n": value cannot be stored: a session cannot hold a kvsession.name`:    {"n": []any{map[string]any{"x": name("")}}},
		`value "f": value cannot be stored: a session cannot hold a float32`:           {"f": float32(1)},
		`a key of type int`:                    {1: "a"},
		`value "self": value cannot be stored`: {"self": self},
	} {
		_, err := encodeValues(values)
		if !errors.Is(err, codec.ErrNotStorable) || !strings.Contains(err.Error(), want) {
			t.Errorf("want an ErrNotStorable with %q, got %v", want, err)
		}
	}
}

var hostileValues = map[string]string{
	"nothing":        "",
	"truncated":      "\x81\xa3int",
	"huge list":      "\x81\xa4list\xdd\xff\xff\xff\xff",
	"huge bytes":     "\x81\xa5bytes\xc6\xff\xff\xff\xff",
	"unknown type":   "\x81\xa3foo\x01",
	"two types":      "\x82\xa3int\x01\xa4bool\xc3",
	"wrong type":     "\x81\xa3int\xa1a",
	"not a struct":   "\x01",
	"out of range":   "\x81\xa3int\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
	"trailing bytes": "\x80\x80",
	"deep":           strings.Repeat("\x81\xa4list\x91", 10_000),
	"unknown inside": "\x81\xa4list\x91\x81\xa1x\x01",
}

func TestValues_HostileBytesAreCorrupt(t *testing.T) {
	for name, data := range hostileValues {
		if v, err := decodeValue([]byte(data)); !errors.Is(err, codec.ErrCorrupt) || v != nil {
			t.Errorf("%s: want ErrCorrupt, got %v, %v", name, v, err)
		} else if strings.Contains(err.Error(), "18446744073709551615") {
			t.Errorf("%s: the error shows what was stored: %v", name, err)
		}
	}
}

func eachFlip(data []byte, f func(flipped []byte)) {
	for i := range data {
		for bit := range 8 {
			flipped := bytes.Clone(data)
			flipped[i] ^= 1 << bit
			f(flipped)
		}
	}
}

func TestRecord_OfWhichABitHasChangedIsDamaged(t *testing.T) {
	rec := record{User: "jo", Label: "l", Created: now(), Used: now(), Ends: now(), MaxAge: 5, Values: storedValues(t)}
	eachFlip(encoded(t, rec), func(flipped []byte) {
		if got, err := decodeRecord(flipped); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%+v, %v; want an ErrCorrupt", got, err)
		}
	})
}

func TestSeats_OfWhichABitHasChangedTheOtherIsRead(t *testing.T) {
	want := []seat{{hash{1}, now()}, {hash{2, 3}, now().Add(time.Hour)}}
	var data []byte
	for _, p := range want {
		data = p.append(data)
	}
	eachFlip(data, func(flipped []byte) {
		got, err := readSeats(flipped)
		if !errors.Is(err, codec.ErrCorrupt) || len(got) != 1 || got[0] != want[0] && got[0] != want[1] {
			t.Errorf("%v, %v; want one of %v and an ErrCorrupt", got, err, want)
		}
	})
}

// FuzzRecord checks that any bytes either are an ErrCorrupt, or a record that stores and reads back
// as the same.
func FuzzRecord(f *testing.F) {
	values := storedValues(f)
	for _, data := range hostileValues {
		f.Add([]byte(data))
		values["hostile"] = []byte(data)
		f.Add(encoded(f, record{User: "jo", Used: now(), Ends: now(), MaxAge: 5, Values: values}))
	}
	delete(values, "hostile")
	f.Add(encoded(f, record{Label: "l", Created: now(), Ends: now(), Next: "n", Values: values}))
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := decodeRecord(data)
		var values map[any]any
		if err == nil {
			values, err = rec.Values.decode()
		}
		if err != nil {
			if !errors.Is(err, codec.ErrCorrupt) {
				t.Fatalf("want ErrCorrupt, got %v", err)
			}
			return
		}
		again, err := encodeValues(values)
		if err != nil {
			return // The longer input allowed it more memory.
		}
		rec.Values = again
		first, err := rec.encode()
		if err != nil {
			return
		}
		second, err := decodeRecord(first)
		proof.Must(t, err)
		stored, err := second.encode()
		if err != nil || !bytes.Equal(first, stored) {
			t.Errorf("stored twice, two forms: %v\n%x\n%x", err, first, stored)
		}
	})
}

// FuzzSeats checks that any bytes are an ErrCorrupt, or a list in which each session occurs once,
// and which stores and reads back as the same.
func FuzzSeats(f *testing.F) {
	p := seat{hash{1}, now()}
	f.Add(p.append(p.append(nil)))
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		seats, err := readSeats(data)
		if err != nil {
			if !errors.Is(err, codec.ErrCorrupt) {
				t.Fatalf("want ErrCorrupt, got %v", err)
			}
			return
		}
		seen, again := map[hash]bool{}, []byte(nil)
		for _, p := range seats {
			if seen[p.id] {
				t.Errorf("%v is there twice", p.id)
			}
			seen[p.id] = true
			again = p.append(again)
		}
		if got, err := readSeats(again); err != nil || !reflect.DeepEqual(got, seats) {
			t.Errorf("stored and read again: %v, %v; want %v", got, err, seats)
		}
	})
}

func TestHolds_ForgetASessionThatIsNotInUse(t *testing.T) {
	h := &holds{of: map[weak.Pointer[sessions.Session]]*hold{}}
	kept := sessions.NewSession(nil, "kept")
	h.get(kept).id = "id"
	for range 100 {
		h.get(sessions.NewSession(nil, "gone"))
	}
	left := func() int {
		runtime.GC()
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.of)
	}
	for end := time.Now().Add(time.Minute); left() > 1 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if n, id := left(), h.get(kept).id; n != 1 || id != "id" {
		t.Errorf("want the one that is held, got %d, id %q", n, id)
	}
}

func Seat(id string, since time.Time) []byte { return seat{hash([]byte(id)), since}.append(nil) }
