package boltkv

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// state is the tree's record of itself and the logs.
type state struct {
	open  bool   // a log may have commits that the tree lacks
	epoch uint64 // of the last log
	point
	items uint64
	ships uint64 // identifies the folder of Ship, or 0
}

type point struct {
	seq     uint64
	time    int64
	version uint64
}

func after(r *commitlog.Record) point { return point{r.Seq, r.Time, r.Version} }

const stateSize = 1 + 6*8 + 4

var errState = fmt.Errorf("%w: its record of its logs cannot be read", ErrDamaged)

func (st *state) encode() []byte {
	buf := make([]byte, 1, stateSize)
	if st.open {
		buf[0] = 1
	}
	for _, n := range []uint64{st.epoch, st.seq, uint64(st.time), st.version, st.items, st.ships} {
		buf = binary.BigEndian.AppendUint64(buf, n)
	}
	return binary.BigEndian.AppendUint32(buf, crc32.Checksum(buf, castagnoli))
}

func decodeState(buf []byte) (st state, err error) {
	if len(buf) != stateSize || binary.BigEndian.Uint32(buf[stateSize-4:]) != crc32.Checksum(buf[:stateSize-4], castagnoli) {
		return st, errState
	}
	st.open = buf[0]&1 != 0
	var time uint64
	for i, n := range []*uint64{&st.epoch, &st.seq, &time, &st.version, &st.items, &st.ships} {
		*n = binary.BigEndian.Uint64(buf[1+8*i:])
	}
	st.time = int64(time)
	return st, nil
}

func stateOf(tx *bolt.Tx) (state, error) { return decodeState(tx.Bucket(metaBucket).Get(stateKey)) }

func (t *tree) setState(f func(*state)) {
	st, err := stateOf(t.tx)
	must(err)
	f(&st)
	must(t.tx.Bucket(metaBucket).Put(stateKey, st.encode()))
}
