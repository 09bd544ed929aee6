package whole_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type thing struct{ model, kind, name string }

func thingsOf(t *testing.T, model string) (all []thing) {
	t.Helper()
	text, err := os.ReadFile("kvgen.lock")
	must(t, err)
	_, rest, _ := strings.Cut(string(text), "\nmodel "+model+"\n")
	rest, _, _ = strings.Cut(rest, "\nmodel ")
	for line := range strings.Lines(rest) {
		words := strings.Fields(line)
		if len(words) > 1 && slices.Contains([]string{"index", "counter", "history"}, words[0]) {
			all = append(all, thing{model, words[0], words[1]})
		}
	}
	return all
}

func gone(all ...thing) (g kvmodel.Gone) {
	for _, x := range all {
		switch x.kind {
		case "index":
			g.Indexes = append(g.Indexes, x.name)
			if x.isTotal() {
				g.Counters = append(g.Counters, x.name)
			}
		case "counter":
			g.Counters = append(g.Counters, x.name)
		default:
			g.History = true
		}
	}
	return g
}

func (x thing) isTotal() bool { return x == thing{x.model, "index", "count"} }

func (x thing) isNamed(record []byte) bool {
	if x.kind == "history" {
		e, err := envelope.Decode(record)
		return err == nil && e.Mark("#") != nil
	}
	return strings.Contains(string(record), string(rune(len(x.name)))+x.name)
}

func (x thing) isIn(key string, value []byte) bool {
	rest, ok := strings.CutPrefix(key, "h:"+x.model+":")
	if x.kind == "history" {
		return ok && rest != "" || strings.HasPrefix(key, "r:"+x.model+":") && x.isNamed(value)
	}
	parts := strings.Split(key, ":")
	if len(parts) > 2 && parts[1] == x.model && slices.Contains(plug.BoardNames(x.name), parts[2]) {
		return x.isTotal() || (x.kind == "counter") == (parts[0] == "n" || parts[0] == "c")
	}
	return x.kind == "index" && strings.HasPrefix(key, "r:"+x.model+":") && x.isNamed(value) || key == "built:"+x.model && strings.Contains(string(value), x.name+"=")
}

var passing = []string{"procs", "out", "line", "fixed", "rebuild", "rebuilt", "build"}

func split(t *testing.T, s *memkv.Store, of func(key string, value []byte) bool) (keys [2][]string) {
	synctest.Wait()
	items := contents(t, s)
	for _, key := range slices.Sorted(maps.Keys(items)) {
		if of(key, items[key]) {
			keys[0] = append(keys[0], key)
		}
		if class, _, _ := strings.Cut(key, ":"); !of(key, nil) && !slices.Contains(passing, class) {
			keys[1] = append(keys[1], key)
		}
	}
	return keys
}

var lives onceByKind

func (k kind) lived(t *testing.T) map[string][]byte {
	return lives.of(k, func() map[string][]byte { return k.items(t, live) })
}

func live(t *testing.T, l *whole.Library, _ *memkv.Store) {
	liveOn(t, l)
	must(t, l.Works.Delete(ctx, "b"))
	must(t, l.Offers.Create(ctx, &whole.Offer{ID: "7", Code: "c", Kind: "k", Until: time.Now().Add(480 * time.Hour)}))
	must(t, l.Tickets.Create(ctx, &whole.Ticket{Text: "t"}))
	must(t, l.Pieces.Create(ctx, &whole.Piece{ID: "p", Tags: []string{"red"}, Stars: 3, Motto: "m"}))
	must(t, l.Visits.Push(ctx, whole.Visit{Owner: "o", Guest: "g"}))
	must(t, l.DB.Close(ctx))
}

func onALived(t *testing.T, k kind, f func(t *testing.T, s *memkv.Store, db *kvmodel.DB), opts ...kvmodel.Option) {
	items := k.lived(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour) // The items were written within an hour.
		s := holding(t, items)
		db, err := kvmodel.Open(k.opened(s), append([]kvmodel.Option{kvmodel.Log(slog.New(slog.DiscardHandler))}, opts...)...)
		must(t, err)
		f(t, s, db)
		must(t, db.Close(ctx))
	})
}

func leavesNothing(t *testing.T, k kind, of func(string, []byte) bool, remove func(*kvmodel.DB) error) {
	onALived(t, k, func(t *testing.T, s *memkv.Store, db *kvmodel.DB) {
		before := split(t, s, of)
		if len(before[0]) == 0 {
			t.Fatal("it has kept nothing")
		}
		must(t, remove(db))
		proof.NoDiff(t, cmp.Diff([2][]string{nil, before[1]}, split(t, s, of)), "the items of it, and the others")
	})
}

func TestGone_RebuildLeavesNothingOfWhatWasRemoved(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		for _, x := range slices.Concat(thingsOf(t, "Work"), thingsOf(t, "Offer"), thingsOf(t, "Like"), thingsOf(t, "Ticket"), thingsOf(t, "Piece")) {
			t.Run(k.name+"/"+x.model+"/"+x.kind+"/"+x.name, func(t *testing.T) {
				leavesNothing(t, k, x.isIn, func(db *kvmodel.DB) error { return whole.NewBare(db, x.model, gone(x)).Rebuild(ctx) })
			})
		}
	}
}

func TestDropModel_LeavesNothingOfIt(t *testing.T) {
	for _, k := range kinds {
		for _, model := range []string{"Work", "Offer", "Like", "Visit"} {
			t.Run(k.name+"/"+model, func(t *testing.T) {
				of := func(key string, _ []byte) bool {
					return strings.Contains(strings.ReplaceAll(key, "#", ":")+":", ":"+model+":")
				}
				leavesNothing(t, k, of, func(db *kvmodel.DB) error { return errors.Join(db.DropModel(ctx, model), db.DropModel(ctx, model)) })
			})
		}
	}
}

func TestGone_TombstonesGoWithTheHistory(t *testing.T) {
	onALived(t, kinds[1], func(t *testing.T, s *memkv.Store, db *kvmodel.DB) {
		must(t, whole.NewBare(db, "Work", kvmodel.Gone{History: true}).Rebuild(ctx))
		time.Sleep(25 * time.Hour)
		if _, err := kv.One(ctx, s, kv.OpGet("r:Work:b")); err == nil {
			t.Error("the tombstone is still there")
		}
	})
}

func TestGone_RebuildAwaitsProcessesThatStillKeepIt(t *testing.T) {
	bySlug := thing{"Work", "index", "BySlug"}
	onALived(t, kinds[1], func(t *testing.T, s *memkv.Store, db *kvmodel.DB) {
		older := kinds[1].open(t, s)
		var stop atomic.Bool
		var writing sync.WaitGroup
		writing.Go(func() {
			for !stop.Load() {
				proof.Done(t)(older.Works.Update(ctx, person, func(w *whole.Work) error { w.Price++; return nil }))
				time.Sleep(5 * time.Second)
			}
		})
		time.Sleep(time.Second)
		works := whole.NewBare(db, "Work", gone(bySlug))
		wantIs(t, works.Rebuild(ctx), kv.ErrConflict)
		if len(split(t, s, bySlug.isIn)[0]) == 0 {
			t.Error("it was dropped while a process keeps it")
		}
		stop.Store(true)
		writing.Wait()
		must(t, older.DB.Close(ctx))
		must(t, works.Rebuild(ctx))
	})
}

// writtenOn writes a record of Offer at each listing of keys.
var writtenOn = kind{"redis", func(s kv.Store) kv.Powers {
	p := kinds[1].powers(s)
	keys := p.Keys
	p.Keys = func(ctx context.Context, begin string, f func([]string) error) error {
		return errors.Join(s.Do(ctx, []kv.Op{kv.OpSet("r:Offer:late", []byte("late"))}), keys(ctx, begin, f))
	}
	return p
}, false}

func TestDropModel_WhatIsLeftIsAnErrorAndKeepsItsNames(t *testing.T) {
	for name, world := range map[string]struct {
		kind
		want error
		says string
	}{
		"someone writes on":              {writtenOn, kv.ErrConflict, "r:Offer:late"},
		"the store cannot list its keys": {lossWorlds[0], kvmodel.ErrInvalid, "cannot list its keys"},
	} {
		t.Run(name, func(t *testing.T) {
			onALived(t, world.kind, func(t *testing.T, s *memkv.Store, db *kvmodel.DB) {
				err := db.DropModel(ctx, "Offer")
				if wantIs(t, err, world.want); err != nil && !strings.Contains(err.Error(), world.says) {
					t.Errorf("the error %q does not say %q", err, world.says)
				}
				if keys := s.Keys(); !slices.Contains(keys, "built:Offer") {
					t.Error("nothing names the records any more")
				}
			})
		})
	}
}

func TestGone_RebuildOnAStoreThatCannotListItsKeysSaysWhatStays(t *testing.T) {
	var log strings.Builder
	onALived(t, lossWorlds[0], func(t *testing.T, _ *memkv.Store, db *kvmodel.DB) {
		must(t, whole.NewBare(db, "Offer", gone(thingsOf(t, "Offer")...)).Rebuild(ctx))
	}, kvmodel.Log(slog.New(slog.NewTextHandler(&log, nil))))
	if !strings.Contains(log.String(), "cannot list its keys") || !strings.Contains(log.String(), "u:Offer:ByCode") {
		t.Errorf("the log says %q", log.String())
	}
}

func TestDropModel_OneThatTheProgramHasIsInvalid(t *testing.T) {
	l := kinds[0].open(t, memkv.New(memkv.Options{}))
	wantIs(t, l.DB.DropModel(ctx, "Work"), kvmodel.ErrInvalid)
	wantIs(t, l.DB.DropModel(ctx, ""), kvmodel.ErrInvalid)
}

func wantIs(t *testing.T, err, want error) {
	t.Helper()
	proof.Is(t, err, want)
}
