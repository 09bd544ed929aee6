package build

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
)

type State struct {
	Tokens  []string // of the built item, for the indexes being built; sorted
	Number  int64
	Stage   Stage
	Reached enumeration.Reached
	Done    int64 // ids entered, some perhaps twice
	Total   int64 // approximate; 0: unknown

	// Losers are ids of records that hold a unique value of others. More are not stored.
	Losers []string
	More   int64

	// Own is the progress of indexes with steps of their own, by name.
	Own map[string]string

	owner string // "" if none
	beat  uint64 // counts the owner's writes
}

// Stage is the finished part of a build.
type Stage byte

const (
	Entering Stage = iota
	Entered
	Finished // except indexes with conflicts about the losers
)

const (
	maxLosers = 256 << 10 // in an item
	maxNumber = 1 << 62

	// hasOwn is added to the stage of an item with Own. An older release takes it for damaged and
	// starts over.
	hasOwn = 1 << 2
)

func (st State) IsOwned() bool { return st.owner != "" }

func (st State) fits(tokens []string) bool {
	if len(tokens) == 0 || st.Stage == Finished && st.More > 0 {
		return false
	}
	return !slices.ContainsFunc(tokens, func(token string) bool { return !slices.Contains(st.Tokens, token) })
}

func (st State) encode() []byte {
	b := wire.AppendText(nil, st.owner)
	stage := byte(st.Stage)
	if len(st.Own) > 0 {
		stage += hasOwn
	}
	b = append(b, stage)
	losers, more := st.room()
	for _, n := range []int64{int64(st.beat), st.Number, st.Reached.Number, st.Done, st.Total, more, int64(len(st.Tokens))} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = wire.AppendText(wire.AppendTexts(b, st.Tokens), st.Reached.Key)
	if len(st.Own) > 0 {
		b = binary.AppendUvarint(b, uint64(len(st.Own)))
	}
	for _, name := range slices.Sorted(maps.Keys(st.Own)) {
		b = wire.AppendTexts(b, []string{name, st.Own[name]})
	}
	return frame.Whole(wire.AppendTexts(b, losers))
}

func (st State) room() (losers []string, more int64) {
	size := 0
	for i, id := range st.Losers {
		if size += len(id) + 2; size > maxLosers {
			return st.Losers[:i], st.More + int64(len(st.Losers)-i)
		}
	}
	return st.Losers, st.More
}

func decode(data []byte) (st State) {
	data, damaged := frame.Open(data)
	if damaged != nil {
		return State{}
	}
	r := wire.Reader{Rest: data}
	st.owner = r.Text("owner")
	stage := r.Byte()
	st.Stage = Stage(stage &^ hasOwn)
	if st.Stage > Finished {
		r.Fail("stage")
	}
	st.beat = r.Number("beat", maxNumber)
	for _, n := range []*int64{&st.Number, &st.Reached.Number, &st.Done, &st.Total, &st.More} {
		*n = int64(r.Number("number", maxNumber))
	}
	for range r.Count("tokens", 1) {
		st.Tokens = append(st.Tokens, r.Name("token"))
	}
	st.Reached.Key = r.Text("key")
	if stage&hasOwn != 0 {
		st.Own = make(map[string]string)
		for range r.Count("indexes", 2) {
			st.Own[r.Name("index")] = r.Text("progress")
		}
	}
	for len(r.Rest) > 0 {
		st.Losers = append(st.Losers, r.Text("loser"))
	}
	if r.Err != nil {
		return State{}
	}
	return st
}
