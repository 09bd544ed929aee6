package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// counting returns what Hot counts on db while f runs.
func counting(t *testing.T, ctx context.Context, db *kvmodel.DB, o inspect.HotOptions, f func()) (hot inspect.Hot, err error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		hot, err = inspect.New(db).Hot(ctx, o)
	}()
	synctest.Wait()
	f()
	<-ended
	f() // It is over.
	return hot, err
}

// asks gets keys, each of them so often.
func asks(t *testing.T, db *kvmodel.DB, often map[string]int) {
	t.Helper()
	for key, n := range often {
		for range n {
			_, err := kv.GetAll(t.Context(), db.Store(), key)
			must(t, err)
		}
	}
}

func TestHot_SaysWhichKeysAreAskedForMostAndWhoseTheyAre(t *testing.T) {
	inTime(t, func(t *testing.T) {
		db := open(t, shared(memkv.New(memkv.Options{})), kvmodel.Tenant("mine"))
		defer db.Close(context.Background())
		newNotes(db)
		draftsByID(kvmodel.NewRecords(db, kvmodel.Schema[draft, string]{
			Name: "Draft", Version: 1, ID: func(d *draft) string { return d.ID }, SetID: func(d *draft, id string) { d.ID = id },
			Key: kvmodel.StringKey[string](), Codec: packed[draft]{}, Private: []string{"ID"},
		}))
		often := map[string]int{"r:Note:n1": 9, "u:Note:ByTitle:Moss": 5, "u:Draft:ByID:secret": 4, "l:Other:ByName:secret": 3, "r:Note:n2": 1}
		began := time.Now()
		hot, err := counting(t, t.Context(), db, inspect.HotOptions{Top: 4}, func() { asks(t, db, often) })
		must(t, err)
		want := []inspect.HotKey{
			{Key: "r:Note:n1", Owner: "Note.records", Known: true, Gets: 9},
			{Key: "u:Note:ByTitle:Moss", Owner: "Note.ByTitle", Known: true, Gets: 5},
			{Key: inspect.Masked, Owner: "Draft.ByID", Known: true, Gets: 4},
			{Key: inspect.Masked, Owner: "Other.ByName", Gets: 3},
		}
		if diff := cmp.Diff(want, hot.Keys); diff != "" {
			t.Errorf("keys mismatch (-want +got):\n%s", diff)
		}
		if took := time.Since(began); took != 10*time.Second || hot.Took != took {
			t.Errorf("it took %v and says %v, want 10s", took, hot.Took)
		}
	})
}

func TestHot_OneThatIsStoppedSaysWhatItHasCounted(t *testing.T) {
	inTime(t, func(t *testing.T) {
		db := open(t, shared(memkv.New(memkv.Options{})))
		defer db.Close(context.Background())
		ctx, cancel := contextFor(t, 3*time.Second)
		defer cancel()
		hot, err := counting(t, ctx, db, inspect.HotOptions{}, func() { asks(t, db, map[string]int{"r:Note:n1": 2}) })
		if err == nil || hot.Took != 3*time.Second || len(hot.Keys) == 0 || hot.Keys[0].Gets != 2 {
			t.Errorf("%+v, %v", hot, err)
		}
	})
}

func TestHot_RemembersAFewOfManyKeysAndTheHottestAmongThem(t *testing.T) {
	inTime(t, func(t *testing.T) {
		db := open(t, shared(memkv.New(memkv.Options{})))
		defer db.Close(context.Background())
		newNotes(db)
		hot, err := counting(t, t.Context(), db, inspect.HotOptions{Top: 1 << 20}, func() {
			asks(t, db, map[string]int{"r:Note:hot": 3})
			var keys []string
			for i := range 50_000 {
				keys = append(keys, fmt.Sprint("r:Note:", i))
				if len(keys) == 1000 {
					_, err := kv.GetAll(t.Context(), db.Store(), keys...)
					must(t, err)
					keys = nil
				}
			}
		})
		must(t, err)
		if len(hot.Keys) > 20_000 || hot.Keys[0].Key != "r:Note:hot" || hot.Keys[0].Gets != 3 || hot.Gets < 50_003 {
			t.Errorf("%d keys, the first %+v, %d gets", len(hot.Keys), hot.Keys[0], hot.Gets)
		}
	})
}

func TestHot_TheCommandAsksTheAppThatRuns(t *testing.T) {
	dir, path := appFile(t)
	db := open(t, boltStore(t, "bolt:"+path+"?durability=unsynced"))
	newNotes(db)
	other := filepath.Join(dir, "web")
	var stops []func() error
	for _, at := range []string{path, other} {
		stop, err := inspect.Serve(context.Background(), db, at)
		must(t, err)
		stops = append(stops, stop)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { // The app is asked until the command has counted.
		var err error
		for ctx.Err() == nil && err == nil {
			_, err = kv.GetAll(context.Background(), db.Store(), "r:Note:n1")
		}
		ended <- err
	}()
	file(t, path, "hot", "--for", "50ms").want(t, 0, "Note.records  r:Note:n1", "trips with ")
	c := on(nil, "hot", "--for=50ms", "--app", other, "--json")
	runIn(t.Context(), c).want(t, 0, `"type":"hot","key":"r:Note:n1","owner":"Note.records","known":true,"gets":`)
	cancel()
	err := <-ended
	for _, stop := range stops {
		err = errors.Join(err, stop())
	}
	must(t, errors.Join(err, db.Close(context.Background())))
	file(t, path, "hot").want(t, 5, "there is none that carries it out: let the app call inspect.Serve")
	runIn(t.Context(), c).want(t, 3, "no app serves at "+other+": there is no socket")
	file(t, path, "hot", "--for", "soon").want(t, 2, `"soon" is not a duration above 0`)
}
