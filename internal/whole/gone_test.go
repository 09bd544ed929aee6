package whole_test

import (
	"context"
	"errors"
	"log/slog"
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

// A later release has left something out of a model.

// thing is something that a model keeps beside its records.
type thing struct{ model, kind, name string }

// thingsOf returns what the lock file says that a model keeps.
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

// gone returns what a release says that has left out all.
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

// isTotal reports whether x is how many records there are, whose numbers are a counter's.
func (x thing) isTotal() bool { return x == thing{x.model, "index", "count"} }

// isNamed reports whether a record names x.
func (x thing) isNamed(record []byte) bool {
	if x.kind == "history" {
		e, err := envelope.Decode(record)
		return err == nil && e.Mark("#") != nil
	}
	return strings.Contains(string(record), string(rune(len(x.name)))+x.name)
}

// isIn reports whether the item under key is of x, or names it.
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

// itemsOf returns the items of s that are of x or name it, and all others that are data.
func itemsOf(t *testing.T, s *memkv.Store, x thing) (own, others []string) {
	t.Helper()
	for _, key := range s.Keys() {
		r, err := kv.One(ctx, s, kv.OpGet(key))
		if err != nil {
			continue
		}
		if x.isIn(key, r.Value) {
			own = append(own, key)
		}
		if !x.isIn(key, nil) && strings.Contains("ulthrcneq", key[:1]) && strings.Index(key, ":") == 1 || strings.HasPrefix(key, "rank:") && !x.isIn(key, nil) {
			others = append(others, key)
		}
	}
	slices.Sort(own)
	slices.Sort(others)
	return own, others
}

// bare opens a model in s as a release has it that knows of g.
func bare(t *testing.T, s kv.Store, model string, g kvmodel.Gone) (*kvmodel.DB, kvmodel.Model) {
	t.Helper()
	db, err := kvmodel.Open(s, kvmodel.Clock(time.Now), kvmodel.Log(slog.New(slog.DiscardHandler)))
	must(t, err)
	return db, whole.NewBare(db, model, g)
}

// lived returns a store on which there is a person who was there, and one who still is.
func lived(t *testing.T, k kind) *memkv.Store {
	t.Helper()
	s := memkv.New(memkv.Options{})
	l, err := whole.Open(k.opened(s), kvmodel.Clock(time.Now))
	must(t, err)
	liveOn(t, l)
	must(t, l.Works.Delete(ctx, "b"))
	must(t, l.Offers.Create(ctx, &whole.Offer{ID: "7", Code: "c", Kind: "k", Price: 7, Until: time.Now().Add(480 * time.Hour)}))
	must(t, l.Tickets.Create(ctx, &whole.Ticket{Text: "t"}))
	must(t, l.Pieces.Create(ctx, &whole.Piece{ID: "p", Tags: []string{"red"}, Stars: 3}))
	must(t, l.Visits.Push(ctx, whole.Visit{Owner: "o", Guest: "g"}))
	must(t, l.DB.Close(ctx))
	return s
}

func TestGone_RebuildLeavesNothingOfWhatWasRemoved(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		for _, x := range slices.Concat(thingsOf(t, "Work"), thingsOf(t, "Offer"), thingsOf(t, "Like"), thingsOf(t, "Ticket"), thingsOf(t, "Piece")) {
			t.Run(k.name+"/"+x.model+"/"+x.kind+"/"+x.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := lived(t, k)
					own, before := itemsOf(t, s, x)
					if len(own) == 0 {
						t.Fatal("it has kept nothing")
					}
					db, works := bare(t, k.opened(s), x.model, gone(x))
					must(t, works.Rebuild(ctx))
					own, after := itemsOf(t, s, x)
					if diff := cmp.Diff([]string(nil), own); diff != "" {
						t.Errorf("what is left of it (-want +got)\n%s", diff)
					}
					if diff := cmp.Diff(before, after); diff != "" {
						t.Errorf("other items (-want +got)\n%s", diff)
					}
					must(t, db.Close(ctx))
				})
			})
		}
	}
}

// What kvgen.lock does not say to be gone may be of a later release.
func TestGone_RebuildKeepsWhatItDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lived(t, kinds[1])
		none := thing{"Work", "index", "None"}
		_, before := itemsOf(t, s, none)
		db, works := bare(t, kinds[1].opened(s), "Work", kvmodel.Gone{})
		must(t, works.Rebuild(ctx))
		must(t, db.Close(ctx))
		_, after := itemsOf(t, s, none)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("the items (-want +got)\n%s", diff)
		}
	})
}

// The tombstone of a model with a history stays for good, and that of one without a day.
func TestGone_TombstonesGoWithTheHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lived(t, kinds[1])
		db, works := bare(t, kinds[1].opened(s), "Work", kvmodel.Gone{History: true})
		must(t, works.Rebuild(ctx))
		must(t, db.Close(ctx))
		time.Sleep(25 * time.Hour)
		if _, err := kv.One(ctx, s, kv.OpGet("r:Work:b")); err == nil {
			t.Error("the tombstone is still there")
		}
	})
}

func TestGone_RebuildAwaitsProcessesThatStillKeepIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lived(t, kinds[1])
		older, err := whole.Open(kinds[1].opened(s), kvmodel.Clock(time.Now))
		must(t, err)
		var stop atomic.Bool
		var writing sync.WaitGroup
		writing.Go(func() {
			for !stop.Load() {
				_, err := older.Works.Update(ctx, person, func(w *whole.Work) error { w.Price++; return nil })
				must(t, err)
				time.Sleep(5 * time.Second)
			}
		})
		time.Sleep(time.Second)
		db, works := bare(t, kinds[1].opened(s), "Work", kvmodel.Gone{Indexes: []string{"BySlug"}})
		wantIs(t, works.Rebuild(ctx), kv.ErrConflict)
		if own, _ := itemsOf(t, s, thing{"Work", "index", "BySlug"}); len(own) == 0 {
			t.Error("it was dropped while a process keeps it")
		}
		stop.Store(true)
		writing.Wait()
		must(t, older.DB.Close(ctx))
		must(t, works.Rebuild(ctx))
		must(t, db.Close(ctx))
	})
}

func TestDropModel_LeavesNothingOfIt(t *testing.T) {
	for _, k := range kinds {
		for _, name := range []string{"Work", "Offer", "Like", "Visit"} {
			t.Run(k.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := lived(t, k)
					before := keysOf(s, name)
					db, err := kvmodel.Open(k.opened(s), kvmodel.Clock(time.Now), kvmodel.Log(slog.New(slog.DiscardHandler)))
					must(t, err)
					must(t, db.DropModel(ctx, name))
					must(t, db.DropModel(ctx, name))
					must(t, db.Close(ctx))
					if len(before[0]) == 0 {
						t.Error("nothing was kept")
					}
					if diff := cmp.Diff([2][]string{nil, before[1]}, keysOf(s, name)); diff != "" {
						t.Errorf("the keys of the model, and the others (-want +got)\n%s", diff)
					}
				})
			})
		}
	}
}

// keysOf returns the keys of s that are of the model, and the others.
func keysOf(s *memkv.Store, model string) (keys [2][]string) {
	for _, key := range slices.Sorted(slices.Values(s.Keys())) {
		parts := strings.Split(key, ":")
		switch {
		case len(parts) > 1 && parts[1] == model:
			keys[0] = append(keys[0], key)
		case !slices.Contains([]string{"procs", "out", "line", "fixed"}, parts[0]):
			keys[1] = append(keys[1], key)
		}
	}
	return keys
}

// namers are the keys of a model without which its records cannot be found.
func namers(s *memkv.Store, model string) (keys []string) {
	return slices.DeleteFunc(keysOf(s, model)[0], func(key string) bool { return !strings.HasPrefix(key, "ids:") && !strings.HasPrefix(key, "built:") })
}

// writer is a store on which someone writes a record of Offer whenever its keys are listed.
type writer struct{ still }

func (w writer) Powers() kv.Powers {
	p, keys := w.powers, w.powers.Keys
	p.Keys = func(ctx context.Context, begin string, f func([]string) error) error {
		if err := w.Store.Do(ctx, []kv.Op{kv.OpSet("r:Offer:late", []byte("late"))}); err != nil {
			return err
		}
		return keys(ctx, begin, f)
	}
	return p
}

func TestDropModel_WhatIsLeftIsAnErrorAndKeepsItsNames(t *testing.T) {
	without := func(s kv.Store) kv.Store {
		k := kinds[1].opened(s).(still)
		k.powers.Keys = nil
		return k
	}
	for name, world := range map[string]struct {
		open func(kv.Store) kv.Store
		want error
		says string
	}{
		"someone writes on":              {func(s kv.Store) kv.Store { return writer{kinds[1].opened(s).(still)} }, kv.ErrConflict, "r:Offer:late"},
		"the store cannot list its keys": {without, kvmodel.ErrInvalid, "cannot list its keys"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := lived(t, kinds[1])
				before := namers(s, "Offer")
				db, err := kvmodel.Open(world.open(s), kvmodel.Clock(time.Now), kvmodel.Log(slog.New(slog.DiscardHandler)))
				must(t, err)
				err = db.DropModel(ctx, "Offer")
				if wantIs(t, err, world.want); err != nil && !strings.Contains(err.Error(), world.says) {
					t.Errorf("the error %q does not say %q", err, world.says)
				}
				if diff := cmp.Diff(before, namers(s, "Offer")); diff != "" || len(before) != 2 {
					t.Errorf("what names the records (-want +got)\n%s", diff)
				}
				must(t, db.Close(ctx))
			})
		})
	}
}

// What a release has left out is not in the way of a Rebuild.
func TestGone_RebuildOnAStoreThatCannotListItsKeysSaysWhatStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lived(t, kinds[1])
		k := kinds[1].opened(s).(still)
		k.powers.Keys = nil
		var log strings.Builder
		db, err := kvmodel.Open(k, kvmodel.Clock(time.Now), kvmodel.Log(slog.New(slog.NewTextHandler(&log, nil))))
		must(t, err)
		must(t, whole.NewBare(db, "Offer", gone(thingsOf(t, "Offer")...)).Rebuild(ctx))
		must(t, db.Close(ctx))
		if !strings.Contains(log.String(), "cannot list its keys") || !strings.Contains(log.String(), "u:Offer:ByCode") {
			t.Errorf("the log says %q", log.String())
		}
	})
}

func TestDropModel_OneThatTheProgramHasIsInvalid(t *testing.T) {
	l, err := whole.Open(memkv.New(memkv.Options{}))
	must(t, err)
	wantIs(t, l.DB.DropModel(ctx, "Work"), kvmodel.ErrInvalid)
	wantIs(t, l.DB.DropModel(ctx, ""), kvmodel.ErrInvalid)
	must(t, l.DB.Close(ctx))
}

func wantIs(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("the error is %v, want %v", err, want)
	}
}

func TestMistakes_OfDroppingAreNoticed(t *testing.T) {
	const gone = "kvmodel/gone.go"
	proof.Mistakes(t, "./internal/whole", "TestGone_|TestDropModel_", nil, []proof.Mistake{
		proof.Wrong("marks stay in records",
			gone, "		change = env.DropMark(name) || change\n", "		_ = name\n",
		),
		proof.Wrong("processes that still keep it are not waited for",
			gone, "		if err != nil || living == \"\" {", "		if true {",
		),
		proof.Wrong("a board whose entries have ends is not looked for",
			gone, "range plug.BoardNames(name)", "range plug.BoardNames(name)[:1]",
		),
		proof.Wrong("what is left after three passes is no error",
			gone, "	return fmt.Errorf(\"%w: the last of %d passes", "	if len(left) > 0 {\n		return nil\n	}\n	return fmt.Errorf(\"%w: the last of %d passes",
		),
		proof.Wrong("the tombstone keeps its end",
			gone, "env.Encode(nil)).For(m.stored(env))", "env.Encode(nil))",
		),
	})
}
