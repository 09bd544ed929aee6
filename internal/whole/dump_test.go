package whole_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	must(t, errors.Join(w.Close(), os.WriteFile(path, packed.Bytes(), 0o644)))
	t.Logf("%s: %d bytes of %d", path, packed.Len(), len(data))
}

// TTL is the rest at the time of the dump; 0: for ever.
type item struct {
	Key   string
	Value []byte
	TTL   time.Duration
}

func dump(t *testing.T, path string, now time.Time) []byte {
	t.Helper()
	items := itemsIn(t, path, now)
	s := open(t, path, now)
	var lines bytes.Buffer
	for _, it := range items {
		r, err := kv.One(ctx, s, kv.OpGet(it.Key))
		it.Value = r.Value
		must(t, errors.Join(err, json.NewEncoder(&lines).Encode(it)))
	}
	must(t, s.Close())
	return lines.Bytes()
}

// itemsIn returns the items of a closed store without their values.
func itemsIn(t *testing.T, path string, now time.Time) (all []item) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	must(t, err)
	err = db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("items")).ForEach(func(key, stored []byte) error {
			it := item{Key: string(key)}
			if expires := stored[0]&1 == 0; expires {
				if it.TTL = time.Unix(0, int64(binary.BigEndian.Uint64(stored[9:]))).Sub(now); it.TTL <= 0 {
					return nil
				}
			}
			all = append(all, it)
			return nil
		})
	})
	must(t, errors.Join(err, db.Close()))
	return all
}

func load(t *testing.T, s kv.Store, lines []byte) {
	t.Helper()
	for in := json.NewDecoder(bytes.NewReader(lines)); ; {
		var it item
		if err := in.Decode(&it); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		_, err := kv.One(ctx, s, kv.OpSet(it.Key, it.Value).For(it.TTL))
		must(t, err)
	}
}
