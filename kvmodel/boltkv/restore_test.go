package boltkv

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func backup(t *testing.T, s *Store) []byte {
	t.Helper()
	var buf bytes.Buffer
	must(s.Backup(t.Context(), &buf))
	return buf.Bytes()
}

func restored(t *testing.T, data []byte, opts Options) (*Store, Snapshot) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "restored.db")
	found, err := RestoreBackup(t.Context(), bytes.NewReader(data), path)
	must(err)
	return openAt(t, path, opts), found
}

func TestRestoreBackup_ItemsAreAsTheyWere(t *testing.T) {
	began := time.Now()
	path := storeFile(t)
	s := openAt(t, path, Options{})
	one(t, s, kv.OpSet("short", []byte("an hour")).For(time.Hour))
	one(t, s, kv.OpSet(keyAt(3), []byte("new")))
	one(t, s, kv.OpDelete(keyAt(4)))
	clock := proof.NewClock(time.Now())
	again, found := restored(t, backup(t, s), Options{Now: clock.Now})
	if found.Items != 1000 || found.Commits != 3 || found.Damaged != 0 || found.Taken.Before(began) {
		t.Errorf("the backup says of itself %+v", found)
	}
	var last kv.Version
	for _, key := range []string{"short", keyAt(3), keyAt(5)} {
		want := one(t, s, kv.OpGet(key))
		if got := one(t, again, kv.OpGet(key)); got.Version != want.Version || !bytes.Equal(got.Value, want.Value) {
			t.Errorf("%s holds %.9q of version %v, held %.9q of %v", key, got.Value, got.Version, want.Value, want.Version)
		}
		last = max(last, want.Version)
	}
	wantGone(t, again, keyAt(4))
	one(t, again, kv.OpSet("later", nil))
	if later := one(t, again, kv.OpGet("later")).Version; later <= last {
		t.Errorf("version %d is given after %d", later, last)
	}
	clock.Advance(time.Hour)
	wantGone(t, again, "short")
	one(t, s, kv.OpSet("still", []byte("well")))
}

func TestRestoreBackup_DamagedBackupLeavesNothing(t *testing.T) {
	proof.Alone(t)
	s := openAt(t, storeFile(t), Options{})
	one(t, s, kv.OpSet("key", nil))
	whole := backup(t, s)
	path := filepath.Join(t.TempDir(), "restored.db")
	spoiled := map[string][]byte{"nothing": nil, "text": []byte(strings.Repeat("text ", 100)), "too much": append(bytes.Clone(whole), 0, 0, 0, 0, 0, 0, 0, 0)}
	for range proof.Size(20, 100) {
		spoiled["cut off"] = whole[:rand.IntN(len(whole))]
		flipped := bytes.Clone(whole)
		flipped[rand.IntN(len(whole))] ^= 1 << rand.IntN(8)
		spoiled["flipped"] = flipped
		for name, data := range spoiled {
			_, err := VerifyBackup(t.Context(), bytes.NewReader(data))
			_, again := RestoreBackup(t.Context(), bytes.NewReader(data), path)
			if !errors.Is(err, ErrDamaged) || !errors.Is(again, ErrDamaged) {
				t.Fatalf("a backup that is %s: VerifyBackup returned %v, RestoreBackup %v", name, err, again)
			}
			wantOnly(t, filepath.Dir(path))
		}
		clear(spoiled)
	}
	proof.Ends(t, nil)(VerifyBackup(t.Context(), bytes.NewReader(whole)))
}

func TestRestoreBackup_StoreThatIsThereStays(t *testing.T) {
	s := openAt(t, storeFile(t), Options{})
	data, path := backup(t, s), storeFile(t)
	before := files(path)
	if _, err := RestoreBackup(t.Context(), bytes.NewReader(data), path); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("restoring over a store returned %v", err)
	}
	if files(path)[""] != before[""] {
		t.Error("the store is another")
	}
	must(os.Rename(path, path+".log1"))
	proof.Ends(t, fs.ErrExist)(RestoreBackup(t.Context(), bytes.NewReader(data), path))
}

func TestRestoreBackup_CanceledLeavesNothing(t *testing.T) {
	data := backup(t, openAt(t, storeFile(t), Options{}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(t.TempDir(), "restored.db")
	proof.Ends(t, context.Canceled)(RestoreBackup(ctx, bytes.NewReader(data), path))
	wantOnly(t, filepath.Dir(path))
}

func TestStore_Backup_DamageStaysAndIsCounted(t *testing.T) {
	path := storeFile(t)
	flip(path, keyAt(7))
	again, found := restored(t, backup(t, openAt(t, path, Options{})), Options{})
	proof.Equal(t, found.Damaged, 1, "items are damaged")
	proof.Ends(t, codec.ErrCorrupt)(kv.One(t.Context(), again, kv.OpGet(keyAt(7))))
	one(t, again, kv.OpGet(keyAt(8)))
}

func TestStore_Backup_DamagedPageIsCorrupt(t *testing.T) {
	path := storeFile(t)
	damageItems(t, path)
	err := openAt(t, path, Options{}).Backup(t.Context(), new(bytes.Buffer))
	wantErr(t, err, codec.ErrCorrupt)
}

type full struct{ left int }

var errFull = errors.New("no space left")

func (f *full) Write(data []byte) (int, error) {
	if f.left -= len(data); f.left < 0 {
		return 0, errFull
	}
	return len(data), nil
}

func TestStore_Backup_ErrorOfTheWriterIsReturned(t *testing.T) {
	s := openAt(t, storeFile(t), Options{})
	for _, left := range []int{0, 100, 100_000} {
		wantErr(t, s.Backup(t.Context(), &full{left}), errFull)
	}
	one(t, s, kv.OpSet("still", []byte("well")))
	must(s.Close())
	wantErr(t, s.Backup(t.Context(), new(bytes.Buffer)), kv.ErrUnavailable)
}
