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

// TTL is the rest at the time of the dump; 0: none.
type item struct {
	Key   string
	Value []byte
	TTL   time.Duration
}

func dump(t *testing.T, path string, now time.Time) []byte {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	must(t, err)
	defer db.Close()
	var lines bytes.Buffer
	err = db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("items")).ForEach(func(key, stored []byte) error {
			it := item{Key: string(key), Value: stored[21:]}
			if end := int64(binary.BigEndian.Uint64(stored[9:])); end != 0 {
				if it.TTL = time.Unix(0, end).Sub(now); it.TTL <= 0 {
					return nil
				}
			}
			return json.NewEncoder(&lines).Encode(it)
		})
	})
	must(t, err)
	return lines.Bytes()
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
