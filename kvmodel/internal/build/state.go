package build

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
)

// State is how far a build has come.
type State struct {
	Tokens  []string // with which the built item names the indexes that are built; sorted
	Number  int64    // of the rebuild
	Stage   Stage
	Reached enumeration.Reached
	Done    int64 // ids that were entered, some perhaps twice
	Total   int64 // about how many there are; 0 if that is not known

	// Losers are the ids of records that hold a unique value of others. More is how many
	// there were that found no room in the item.
	Losers []string
	More   int64

	// Own is how far indexes have come with parts of the build that are their own, by
	// name: texts that only they understand.
	Own map[string]string

	owner string // the process that builds; "" if none does
	beat  uint64 // counts what the owner writes
}

// Stage is what a build has behind it.
type Stage byte

const (
	Entering Stage = iota
	Entered        // all ids were gone through
	Finished       // all indexes are whole but those that the losers are in conflict about
)

const (
	maxLosers = 256 << 10 // bytes of ids of losers that an item holds
	maxNumber = 1 << 62

	// hasOwn is added to the stage of an item with texts of indexes. A release that does
	// not know them then takes the item for broken, and begins the build over.
	hasOwn = 1 << 2
)

// IsOwned reports whether a process says that it builds.
func (st State) IsOwned() bool { return st.owner != "" }

// fits reports whether the build of st is also one of tokens.
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

// room returns those of the losers that the item has room for, and how many there are
// besides.
func (st State) room() (losers []string, more int64) {
	size := 0
	for i, id := range st.Losers {
		if size += len(id) + 2; size > maxLosers {
			return st.Losers[:i], st.More + int64(len(st.Losers)-i)
		}
	}
	return st.Losers, st.More
}

// decode returns what an item says. The zero State is what one says that is broken.
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
