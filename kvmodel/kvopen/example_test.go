package kvopen_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// folder returns a folder for the files of an example.
func folder() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "kvopen")
	check(err)
	return dir, func() { os.RemoveAll(dir) }
}

// An app takes the URL from its configuration.
func ExampleOpen() {
	ctx := context.Background()
	url := os.Getenv("RINGTREE_STORE")
	if url == "" {
		url = "mem:"
	}
	db, err := kvopen.Open(ctx, url)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(db.Close(ctx))
	// Output: <nil>
}

// Engines and the options of a database stand side by side.
func ExampleOption() {
	ctx := context.Background()
	opts := []kvopen.Option{rediskv.Engine, kvmodel.Tenant("acme")}
	db, err := kvopen.Open(ctx, "mem:", opts...)
	check(err)
	fmt.Println(db.Close(ctx))
	// Output: <nil>
}

// A store without models, such as that of sessions.
func ExampleStore() {
	ctx := context.Background()
	store, err := kvopen.Store(ctx, "mem:")
	check(err)

	// A trip carries any number of operations, each atomic on its own key.
	check(store.Do(ctx, []kv.Op{
		kv.OpSet("page:home", []byte("Welcome")),
		kv.OpSet("views:home", []byte("41")),
	}))

	// An absent key is a result, and never confused with a store that is down.
	pages, err := kv.GetAll(ctx, store, "page:home", "page:gone")
	check(err)
	fmt.Printf("%s; the other is absent: %v\n", pages[0].Value, errors.Is(pages[1].Err, kv.ErrNotFound))

	// A compare-and-swap succeeds only if the version is still current.
	for _, text := range []string{"Hello", "Hi"} {
		_, err = kv.One(ctx, store, kv.OpSwap("page:home", pages[0].Version, []byte(text)))
		fmt.Println(text, err)
	}

	views, err := kv.Next(ctx, store, "views:home", 0, 1)
	fmt.Println(views, err)
	check(store.Close())
	// Output:
	// Welcome; the other is absent: true
	// Hello <nil>
	// Hi cas "page:home": changed by someone else
	// 42 <nil>
}

// backedUp returns a backup of a file with one item.
func backedUp(ctx context.Context, path string) *bytes.Buffer {
	store, err := boltkv.Open(path, boltkv.Options{})
	check(err)
	defer store.Close()
	_, err = kv.One(ctx, store, kv.OpSet("motd", []byte("hello")))
	check(err)
	var backup bytes.Buffer
	check(store.Backup(ctx, &backup))
	return &backup
}

// What cannot be restored is no backup: look before it is needed.
func ExampleVerifyBackup() {
	ctx := context.Background()
	dir, remove := folder()
	defer remove()
	backup := backedUp(ctx, filepath.Join(dir, "app.db"))

	snapshot, err := kvopen.VerifyBackup(ctx, backup)
	check(err)
	fmt.Println(snapshot.Damaged, "damaged")
	// Output: 0 damaged
}

func ExampleRestoreBackup() {
	ctx := context.Background()
	dir, remove := folder()
	defer remove()
	backup := backedUp(ctx, filepath.Join(dir, "app.db"))

	path := filepath.Join(dir, "restored.db")
	_, err := kvopen.RestoreBackup(ctx, backup, path)
	check(err)
	store, err := kvopen.Store(ctx, "bolt:"+path)
	check(err)
	defer store.Close()
	got, err := kv.One(ctx, store, kv.OpGet("motd"))
	check(err)
	fmt.Println(string(got.Value))
	// Output: hello
}

// shipped writes an item to a file that is shipped to a folder, and closes it once it is there.
func shipped(ctx context.Context, dir string) (to string) {
	to = filepath.Join(dir, "shipped")
	store, err := kvopen.Store(ctx, "bolt:"+filepath.Join(dir, "app.db")+"?ship="+to)
	check(err)
	_, err = kv.One(ctx, store, kv.OpSet("motd", []byte("hello")))
	check(err)
	for wrote := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if is := store.(*boltkv.Store).Stats().Shipping; is.Shipped.After(wrote) && !is.Snapshot.IsZero() {
			break
		}
	}
	check(store.Close())
	return to
}

// The disk is gone, and the folder that the file was shipped to is there.
func ExampleRestoreShipped() {
	ctx := context.Background()
	dir, remove := folder()
	defer remove()
	from := shipped(ctx, dir)

	path := filepath.Join(dir, "restored.db")
	_, err := kvopen.RestoreShipped(ctx, from, time.Time{}, path)
	check(err)
	store, err := kvopen.Store(ctx, "bolt:"+path)
	check(err)
	defer store.Close()
	got, err := kv.One(ctx, store, kv.OpGet("motd"))
	check(err)
	fmt.Println(string(got.Value))
	// Output: hello
}

// A file that much was deleted from becomes small again.
func ExampleCompact() {
	ctx := context.Background()
	dir, remove := folder()
	defer remove()
	path := filepath.Join(dir, "app.db")
	store, err := kvopen.Store(ctx, "bolt:"+path)
	check(err)
	for _, op := range []kv.Op{kv.OpSet("large", make([]byte, 500_000)), kv.OpDelete("large")} {
		_, err := kv.One(ctx, store, op)
		check(err)
		check(store.Close())
		store, err = kvopen.Store(ctx, "bolt:"+path)
		check(err)
	}
	check(store.Close())

	done, err := kvopen.Compact(path)
	fmt.Println(done.After < done.Before, err)
	// Output: true <nil>
}
