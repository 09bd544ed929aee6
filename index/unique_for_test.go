package index_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// link is a record whose URL is unique for heldFor.
type link struct {
	ID   string
	URL  string
	N    int
	Made time.Time
}

const heldFor = 240 * time.Hour

type links struct {
	*kvmodel.Records[link, string]
	db    *kvmodel.DB
	ByURL *index.Unique[link, string]
}

func newLinks(db *kvmodel.DB) *links {
	r := kvmodel.NewRecords(db, schemaOf("Link", func(l *link) *string { return &l.ID }, func(s *kvmodel.Schema[link, string]) {
		s.Created = func(l *link) *time.Time { return &l.Made }
	}))
	return &links{Records: r, db: db, ByURL: index.NewUnique(r, kvmodel.IndexSpec[link, string]{
		Name: "ByURL", Def: "unique URL string for 240h", Fields: []string{"URL"}, Key: kvmodel.StringKey[string](),
		Values: func(l *link) []string { return []string{l.URL} },
	}, index.HeldFor(heldFor, func(l *link) time.Time { return l.Made }))}
}

type site struct {
	*links
	*testing.T
	ctx   context.Context
	clock *proof.Clock
	store kv.Store
}

func newSite(t *testing.T, s kv.Store) *site {
	clock := proof.NewClock(time.Now())
	return &site{linksAt(t, s, clock), t, t.Context(), clock, s}
}

func linksAt(t *testing.T, s kv.Store, clock *proof.Clock) *links {
	db, err := kvmodel.Open(shared{s}, kvmodel.Clock(clock.Now))
	must(t, err)
	return newLinks(closing(t, db))
}

// holder asserts that the record id holds url, or none if id is "".
func (s *site) holder(url, id string) {
	s.Helper()
	switch got, err := s.ByURL.Find(s.ctx, url); {
	case id == "" && !errors.Is(err, kv.ErrNotFound):
		s.Errorf("%s is held by %+v, %v", url, got, err)
	case id != "" && (err != nil || got.ID != id):
		s.Errorf("want %s held by %s, got %+v, %v", url, id, got, err)
	}
	if id != "" {
		s.taken(url, id)
	}
}

func (s *site) taken(url, id string) {
	s.Helper()
	err := s.Create(s.ctx, &link{ID: "another", URL: url})
	if taken, ok := errors.AsType[*kvmodel.TakenError](err); !ok || taken.ID != id || taken.Value != url {
		s.Errorf("want %s taken by %s, got %v", url, id, err)
	}
}

func (s *site) create(id, url string) {
	s.Helper()
	must(s.T, s.Create(s.ctx, &link{ID: id, URL: url}))
}

func (s *site) count(id string) {
	s.Helper()
	proof.Done(s.T)(s.Update(s.ctx, id, func(l *link) error { l.N++; return nil }))
}

// well asserts that a check finds no fault.
func (s *site) well() {
	s.Helper()
	must(s.T, s.db.Flush(s.ctx))
	r, err := inspect.New(s.db).Check(s.ctx, inspect.CheckOptions{})
	must(s.T, err)
	if !r.Well() {
		s.Error(r.Faults)
	}
}

// drop removes the claim of url, as its TTL does.
func (s *site) drop(url string) {
	s.Helper()
	must(s.T, s.store.Do(s.ctx, []kv.Op{kv.OpDelete("u:Link:ByURL:" + kv.JoinText(url))}))
}

type listed struct{ kv.Store }

func (s listed) Powers() kv.Powers { return kv.Powers{Keys: kv.PowersOf(s.Store).Keys} }

func eachLinks(t *testing.T, f func(s *site)) {
	all := backends()
	all["without transactions"] = func(*testing.T) kv.Store { return listed{memkv.New(memkv.Options{})} }
	proof.AtOnce(t, all, func(t *testing.T, open func(*testing.T) kv.Store) { f(newSite(t, open(t))) })
}

func TestHeldFor_AValueIsFreeAfterItsTimeAndBelongsToTheNextWhoTakesIt(t *testing.T) {
	for _, lost := range []bool{false, true} {
		eachLinks(t, func(s *site) {
			s.create("a", "u")
			s.clock.Advance(heldFor - time.Second)
			s.holder("u", "a")
			s.well()
			s.clock.Advance(time.Second)
			if lost {
				s.drop("u")
			}
			s.well()
			s.count("a") // claims nothing
			s.holder("u", "")
			s.well()
			s.create("b", "u")
			s.holder("u", "b")
			s.count("a")
			s.holder("u", "b")
			s.well()
			must(s.T, s.Delete(s.ctx, "a"))
			must(s.T, s.db.Flush(s.ctx))
			s.holder("u", "b")
			s.well()
			must(s.T, s.Delete(s.ctx, "b"))
			must(s.T, s.db.Flush(s.ctx))
			s.holder("u", "")
			s.create("c", "u")
			s.holder("u", "c")
			s.well()
		})
	}
}

func TestHeldFor_AValueThatIsGivenUpIsFreeAtOnce(t *testing.T) {
	eachLinks(t, func(s *site) {
		s.create("a", "u")
		proof.Done(s.T)(s.Update(s.ctx, "a", func(l *link) error { l.URL = "w"; return nil }))
		must(s.T, s.db.Flush(s.ctx))
		s.holder("u", "")
		s.holder("w", "a")
		s.create("b", "u")
		s.holder("u", "b")
		s.well()
	})
}

func TestHeldFor_AnOldRecordClaimsNothing(t *testing.T) {
	eachLinks(t, func(s *site) {
		s.create("a", "u")
		s.clock.Advance(heldFor)
		s.create("b", "u")
		must(s.T, s.Put(s.ctx, &link{ID: "a", URL: "w"}))
		s.holder("w", "")
		s.create("c", "w")
		s.holder("w", "c")
		proof.Done(s.T)(s.Update(s.ctx, "a", func(l *link) error { l.URL = "u"; return nil }))
		s.holder("u", "b")
		s.well()
		must(s.T, s.Delete(s.ctx, "a"))
		s.create("a", "v") // created anew, it does
		s.holder("v", "a")
		s.holder("u", "b")
		s.well()
	})
}

// mixed creates records whose time has passed, with the value taken since by another and with one
// that nobody took, and a young one.
func (s *site) mixed() {
	s.Helper()
	s.create("old", "u")
	s.create("alone", "w")
	s.clock.Advance(heldFor / 2)
	s.create("young", "v")
	s.clock.Advance(heldFor / 2)
	s.create("new", "u")
}

// isMixed asserts that the values are held as mixed left them, and that young holds its value as
// long as it would have.
func (s *site) isMixed() {
	s.Helper()
	s.well()
	s.holder("u", "new")
	s.holder("v", "young")
	s.holder("w", "")
	s.clock.Advance(heldFor / 2)
	s.holder("u", "new")
	s.holder("v", "")
	s.well()
}

func TestHeldFor_NoUpkeepBringsBackAValueOrTakesItAway(t *testing.T) {
	for name, do := range map[string]func(s *site){
		"rebuild": func(s *site) { must(s.T, s.Rebuild(s.ctx)) },
		"rebuild of lost claims": func(s *site) {
			s.drop("u")
			s.drop("v")
			s.drop("w")
			must(s.T, s.Rebuild(s.ctx))
		},
		"repair of lost claims": func(s *site) {
			s.drop("u")
			s.drop("v")
			s.drop("w")
			in := inspect.New(s.db)
			r, err := in.Check(s.ctx, inspect.CheckOptions{})
			must(s.T, err)
			var ids []string
			for _, f := range r.Faults {
				ids = append(ids, f.ID)
			}
			if slices.Sort(ids); !slices.Equal(ids, []string{"new", "young"}) {
				s.Error(r.Faults)
			}
			proof.Done(s.T)(in.Repair(s.ctx, r.Faults, inspect.RepairOptions{}))
		},
		"import": func(s *site) {
			var b bytes.Buffer
			proof.Done(s.T)(inspect.New(s.db).Export(s.ctx, &b, inspect.Pace{}))
			s.store = memkv.New(memkv.Options{})
			s.links = linksAt(s.T, s.store, s.clock)
			proof.Done(s.T)(inspect.New(s.db).Import(s.ctx, &b, inspect.ImportOptions{}))
		},
		"copy": func(s *site) {
			from := inspect.New(s.db)
			s.store = listed{memkv.New(memkv.Options{})}
			s.links = linksAt(s.T, s.store, s.clock)
			proof.Done(s.T)(from.Copy(s.ctx, inspect.New(s.db), inspect.ImportOptions{}))
		},
		"load": func(s *site) {
			from := s.All(s.ctx)
			s.store = listed{memkv.New(memkv.Options{})}
			s.links = linksAt(s.T, s.store, s.clock)
			n, err := s.Load(s.ctx, from, kvmodel.LoadOptions{})
			if must(s.T, err); n != 4 {
				s.Error(n)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachLinks(t, func(s *site) {
				s.mixed()
				must(s.T, s.db.Flush(s.ctx))
				do(s)
				s.isMixed()
			})
		})
	}
}

// The claim of a rebuild has a TTL, too, with an hour for clocks that are behind.
func TestHeldFor_TheStoreDropsAClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memkv.New(memkv.Options{})
		l := newLinks(closing(t, open(t, plain{s})))
		must(t, l.Create(t.Context(), &link{ID: "a", URL: "u"}))
		must(t, l.Rebuild(t.Context()))
		has := func() bool {
			_, err := kv.One(t.Context(), s, kv.OpGet("u:Link:ByURL:u"))
			return err == nil
		}
		time.Sleep(heldFor)
		if !has() {
			t.Error("a process whose clock is behind takes the value for free")
		}
		if time.Sleep(time.Hour); has() {
			t.Error("the claim is there")
		}
	})
}

func TestHeldFor_AClaimLastsAnHourLongerThanItsTimeOrForever(t *testing.T) {
	var ttl atomic.Int64
	s := newSite(t, answering(listed{memkv.New(memkv.Options{})}, func(op *kv.Op) bool {
		if op.Kind != kv.Get && strings.HasPrefix(op.Key, "u:Link:") {
			ttl.Store(int64(op.TTL))
		}
		return false
	}))
	for made, want := range map[time.Duration]time.Duration{
		0: heldFor + time.Hour, -heldFor + time.Minute: time.Hour + time.Minute, kv.MaxTTL: 0,
	} {
		l := &link{URL: made.String(), Made: s.clock.Now().Add(made)}
		must(t, s.Create(s.ctx, l))
		if got := time.Duration(ttl.Load()); got < want-time.Millisecond || got > want {
			t.Errorf("made %v from now: want %v, got %v", made, want, got)
		}
		must(t, s.Rebuild(s.ctx))
		must(t, s.Delete(s.ctx, l.ID))
		must(t, s.db.Flush(s.ctx))
	}
}

func TestHeldFor_TheNextReaderDropsAClaimAndARebuildDoesNotMakeItAgain(t *testing.T) {
	eachLinks(t, func(s *site) {
		s.create("a", "u")
		must(s.T, s.Rebuild(s.ctx)) // the claim now has the record's rev
		s.drop("u")
		must(s.T, s.Rebuild(s.ctx))
		has := func() bool {
			_, err := kv.One(s.ctx, s.store, kv.OpGet("u:Link:ByURL:u"))
			return err == nil
		}
		if !has() {
			s.Error("the claim is lost")
		}
		s.clock.Advance(heldFor)
		s.holder("u", "")
		must(s.T, s.db.Flush(s.ctx))
		if has() {
			s.Error("a reader leaves the claim")
		}
		must(s.T, s.Rebuild(s.ctx))
		if has() {
			s.Error("a rebuild has made the claim again")
		}
	})
}

func TestHeldFor_TheTracesOfARecordIncludeItsValue(t *testing.T) {
	s := newSite(t, memkv.New(memkv.Options{}))
	s.create("a", "u")
	traces, err := inspect.New(s.db).Traces(s.ctx, "Link", "a", inspect.Pace{})
	must(t, err)
	if !slices.ContainsFunc(traces, func(trace inspect.Trace) bool { return trace.What == "its ByURL" }) {
		t.Errorf("%+v", traces)
	}
}
