package index_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
)

type person struct {
	ID    string
	Email string
	Names []string
	N     int
}

type people struct {
	*kvmodel.Records[person, string]
	ByEmail *index.Unique[person, string]
	ByNames *index.Unique[person, string]
}

type asJSON[T any] = proof.JSON[T]

func newPeople(db *kvmodel.DB) *people {
	r := kvmodel.NewRecords(db, schemaOf("Person", func(p *person) *string { return &p.ID }))
	return &people{
		Records: r,
		ByEmail: index.NewUnique(r, kvmodel.IndexSpec[person, string]{
			Name: "ByEmail", Fields: []string{"Email"}, Key: kvmodel.StringKey[string](),
			Values: func(p *person) []string { return []string{p.Email} },
		}),
		ByNames: index.NewUnique(r, kvmodel.IndexSpec[person, string]{
			Name: "ByNames", Fields: []string{"Names"}, Key: kvmodel.StringKey[string](),
			Values: func(p *person) []string { return p.Names },
		}),
	}
}

func TestUnique_AValueOfAPrivateFieldIsMaskedInTheErrorThatItIsTaken(t *testing.T) {
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	must(t, err)
	defer db.Close(t.Context())
	r := kvmodel.NewRecords(db, schemaOf("Person", func(p *person) *string { return &p.ID }, func(s *kvmodel.Schema[person, string]) {
		s.Private = []string{"Email"}
	}))
	index.NewUnique(r, kvmodel.IndexSpec[person, string]{
		Name: "ByEmail", Def: "unique Email string", Fields: []string{"Email"}, Key: kvmodel.StringKey[string](),
		Values: func(p *person) []string { return []string{p.Email} },
	})
	must(t, r.Create(t.Context(), &person{ID: "ann", Email: "ann@secret"}))
	err = r.Create(t.Context(), &person{ID: "bob", Email: "ann@secret"})
	taken, ok := errors.AsType[*kvmodel.TakenError](err)
	if !ok || taken.Value != "ann@secret" || err.Error() != `Person.ByEmail: Email *** is taken by "ann"` {
		t.Errorf("%v", err)
	}
}

type plain struct{ kv.Store }

func (plain) Powers() kv.Powers { return kv.Powers{} }

func TestUnique_ARecordIsFoundByTheValuesItHolds(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, _ *memkv.Store, s kv.Store) {
		db := closing(t, open(t, s))
		p := newPeople(db)
		ann := &person{Email: "a@x", Names: []string{"ann", "anna"}}
		must(t, p.Create(ctx, ann))
		found(t, ctx, p, "a@x", ann.ID)
		if got, err := p.ByNames.Find(ctx, "anna"); err != nil || got.ID != ann.ID {
			t.Errorf("anna is %+v, %v", got, err)
		}
		err := p.Create(ctx, &person{Email: "a@x"})
		if taken, ok := errors.AsType[*kvmodel.TakenError](err); !ok || !errors.Is(err, kv.ErrExists) || taken.ID != ann.ID {
			t.Errorf("want a TakenError of %s, got %v", ann.ID, err)
		}
		must(t, move(ctx, p, ann.ID, "c@x"))
		for range 2 {
			must(t, db.Flush(ctx))
			_, err := p.ByEmail.Find(ctx, "a@x")
			wantError(t, err, kv.ErrNotFound)
			must(t, p.Create(ctx, &person{ID: "x", Email: "a@x"}))
			wantError(t, p.Create(ctx, &person{ID: "x", Email: "z@x"}), kv.ErrExists)
			must(t, p.Delete(ctx, "x"))
		}
	})
}

// onNear returns the people of two processes with one near cache, which hears of no changes, and of
// a third without.
func onNear(t *testing.T) (first, second, third *people) {
	t.Helper()
	mem := plain{memkv.New(memkv.Options{})}
	near, err := nearkv.New(mem, nearkv.Options{Bytes: 1 << 20, Age: time.Hour})
	must(t, err)
	of := func(s kv.Store) *people { return newPeople(closing(t, open(t, shared{s}))) }
	return of(near), of(near), of(mem)
}

func found(t *testing.T, ctx context.Context, p *people, email, want string) {
	t.Helper()
	got, err := p.ByEmail.Find(ctx, email)
	if err != nil || got.ID != want {
		t.Errorf("%s is held by %+v, %v; want %s", email, got, err, want)
	}
}

func TestUnique_Find_IsAnsweredFromMemory(t *testing.T) {
	first, second, third := onNear(t)
	must(t, third.Create(t.Context(), &person{ID: "a", Email: "x"}))
	found(t, t.Context(), first, "x", "a")
	_, err := second.ByEmail.Find(t.Context(), "nobody's") // it asks which indexes are whole
	if !errors.Is(err, kv.ErrNotFound) {
		t.Fatal(err)
	}
	ctx, meter := kvmodel.Metered(t.Context())
	found(t, ctx, second, "x", "a")
	proof.Equal(t, meter.Cost().Trips, 0, "a process that remembers no holder")
}

func TestUnique_Find_AsksTheStoreIfMemoryIsOld(t *testing.T) {
	first, second, third := onNear(t)
	ctx := t.Context()
	must(t, third.Create(ctx, &person{ID: "a", Email: "x"}))
	found(t, ctx, first, "x", "a")
	proof.Ends(t, kv.ErrNotFound)(first.ByEmail.Find(ctx, "y"))
	must(t, third.Put(ctx, &person{ID: "a", Email: "y"}))
	must(t, third.Create(ctx, &person{ID: "b", Email: "x"}))
	// of records that first wrote, nothing old is in memory
	proof.Done(t)(first.Update(ctx, "a", func(p *person) error { p.N++; return nil }))
	for _, p := range []*people{first, second} {
		found(t, ctx, p, "x", "b")
		found(t, ctx, p, "y", "a")
	}
}

type voucher struct {
	ID   string
	Code string
	Gone time.Time
	N    int
}

type vouchers struct {
	*kvmodel.Records[voucher, string]
	db     *kvmodel.DB
	ByCode *index.Unique[voucher, string]
}

func newVouchers(db *kvmodel.DB) *vouchers {
	r := kvmodel.NewRecords(db, schemaOf("Voucher", func(v *voucher) *string { return &v.ID }, func(s *kvmodel.Schema[voucher, string]) {
		s.Expires = func(v *voucher) *time.Time { return &v.Gone }
	}))
	return &vouchers{Records: r, db: db, ByCode: index.NewUnique(r, kvmodel.IndexSpec[voucher, string]{
		Name: "ByCode", Def: "unique Code string", Fields: []string{"Code"}, Key: kvmodel.StringKey[string](),
		Values: func(v *voucher) []string { return []string{v.Code} },
	})}
}

// mute calls claimed after it replaces a claim, and does not answer once it is cut off.
type mute struct {
	kv.Store
	claimed atomic.Pointer[func()]
	cut     atomic.Bool
}

func (m *mute) Close() error { return nil }

func (m *mute) Powers() kv.Powers {
	p := kv.PowersOf(m.Store)
	if whole := p.Atomic; whole != nil {
		p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
			return whole(ctx, func(s kv.Store) error { return f(&muted{s, m}) })
		}
	}
	return p
}

func (m *mute) Do(ctx context.Context, ops []kv.Op) error { return (&muted{m.Store, m}).Do(ctx, ops) }

type muted struct {
	kv.Store
	m *mute
}

func (t *muted) Do(ctx context.Context, ops []kv.Op) error {
	if t.m.cut.Load() {
		for i := range ops {
			ops[i].Result.Err = kv.ErrUnavailable
		}
		return kv.Unanswered(ops)
	}
	err := t.Store.Do(ctx, ops)
	for i := range ops {
		swapped := ops[i].Kind == kv.CompareAndSwap && ops[i].Result.Err == nil
		if f := t.m.claimed.Load(); f != nil && swapped && strings.HasPrefix(ops[i].Key, "u:") {
			(*f)()
		}
	}
	return err
}

// eachEnding runs f with a process whose store can fall mute, and another process.
func eachEnding(t *testing.T, f func(ctx context.Context, t *testing.T, s kv.Store, m *mute, a, b *vouchers)) {
	for name, as := range map[string]func(kv.Store) kv.Store{
		"atomic": func(s kv.Store) kv.Store { return s },
		"plain":  func(s kv.Store) kv.Store { return plain{s} },
	} {
		t.Run(name, func(t *testing.T) { ending(t, as(memkv.New(memkv.Options{})), f) })
	}
}

func ending(t *testing.T, s kv.Store, f func(ctx context.Context, t *testing.T, s kv.Store, m *mute, a, b *vouchers)) {
	synctest.Test(t, func(t *testing.T) {
		m := &mute{Store: s}
		f(t.Context(), t, s, m, newVouchers(closing(t, open(t, m))), newVouchers(closing(t, open(t, shared{s}))))
	})
}

func wantHeld(ctx context.Context, t *testing.T, v *vouchers, id, code string) {
	t.Helper()
	if got, err := v.ByCode.Find(ctx, code); err != nil || got.ID != id {
		t.Errorf("want %s, got %v, %v", id, got, err)
	}
	var taken *kvmodel.TakenError
	if err := v.Create(ctx, &voucher{ID: "another", Code: code}); !errors.As(err, &taken) || taken.ID != id {
		t.Errorf("want a TakenError of %s, got %v", id, err)
	}
}

func hasClaim(ctx context.Context, t *testing.T, s kv.Store, code string) bool {
	t.Helper()
	_, err := kv.One(ctx, s, kv.OpGet("u:Voucher:ByCode:"+kv.JoinText(code)))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

// The change loses a race, so it makes the claim again. Its process stops right after that, and the
// end passes before a repair.
func TestUnique_AChangeThatStopsBeforeItsCommitDoesNotShortenAClaim(t *testing.T) {
	for _, lives := range []time.Duration{0, 100 * time.Hour} {
		ending(t, plain{memkv.New(memkv.Options{})}, func(ctx context.Context, t *testing.T, s kv.Store, m *mute, a, b *vouchers) {
			x := &voucher{ID: "x", Code: "c"}
			if lives > 0 {
				x.Gone = time.Now().Add(lives)
			}
			must(t, a.Create(ctx, x))
			must(t, a.db.Flush(ctx))
			stop := func() { m.cut.Store(true) }
			_, err := a.Update(ctx, "x", func(v *voucher) error {
				if v.Gone = time.Now().Add(time.Minute); v.N == 0 {
					_, err := b.Update(ctx, "x", func(v *voucher) error { v.N++; return nil })
					return errors.Join(err, b.db.Close(ctx)) // otherwise it would repair
				}
				m.claimed.Store(&stop)
				return nil
			})
			if err == nil {
				t.Fatal("the change was to fail")
			}
			time.Sleep(3 * time.Hour)
			wantHeld(ctx, t, newVouchers(closing(t, open(t, shared{s}))), "x", "c")
			m.claimed.Store(nil)
			m.cut.Store(false)
		})
	}
}

// The first try of the change loses a race against one that reads the record later.
func TestUnique_AClaimEndsWithItsRecordThoughAChangeLosesARace(t *testing.T) {
	errStop := errors.New("decided otherwise")
	lives := func(v *voucher, d time.Duration) {
		if d > 0 {
			v.Gone = time.Now().Add(d)
		}
	}
	for name, c := range map[string]struct {
		made, first, other, second time.Duration // lives that the changes give the record; 0: the same
		alone                      bool          // there is no race
		stops                      error         // of the second try
		held, gone                 time.Duration // then the claim is there, or not
	}{
		"sooner":                           {first: 3 * time.Hour, alone: true, held: 2 * time.Hour, gone: 5 * time.Hour},
		"sooner, after a lost race":        {made: 100 * time.Hour, first: time.Hour, second: time.Hour, gone: 3 * time.Hour},
		"the winner's":                     {made: time.Hour, first: time.Minute, other: 100 * time.Hour, held: 10 * time.Hour, gone: 110 * time.Hour},
		"the winner's, as the loser stops": {made: time.Hour, first: time.Minute, other: 100 * time.Hour, stops: errStop, held: 10 * time.Hour, gone: 110 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			eachEnding(t, func(ctx context.Context, t *testing.T, s kv.Store, _ *mute, a, b *vouchers) {
				x := &voucher{ID: "x", Code: "c"}
				lives(x, c.made)
				must(t, a.Create(ctx, x))
				must(t, a.db.Flush(ctx))
				tries := 0
				_, err := a.Update(ctx, "x", func(v *voucher) error {
					if tries++; tries > 1 {
						v.N = 7
						lives(v, c.second)
						return c.stops
					}
					if lives(v, c.first); c.alone {
						return nil
					}
					_, err := b.Update(ctx, "x", func(v *voucher) error { v.N++; lives(v, c.other); return nil })
					return err
				})
				if !errors.Is(err, c.stops) {
					t.Fatal(err)
				}
				must(t, errors.Join(a.db.Flush(ctx), b.db.Flush(ctx)))
				if time.Sleep(c.held); c.held > 0 {
					wantHeld(ctx, t, b, "x", "c")
				}
				if time.Sleep(c.gone - c.held); hasClaim(ctx, t, s, "c") {
					t.Error("the claim has outlived its record")
				}
			})
		})
	}
}

func TestUnique_ARepairDoesNotShortenTheClaimOfAChangeUnderWay(t *testing.T) {
	ending(t, plain{memkv.New(memkv.Options{})}, func(ctx context.Context, t *testing.T, s kv.Store, m *mute, a, b *vouchers) {
		must(t, a.Create(ctx, &voucher{ID: "x", Code: "c", Gone: time.Now().Add(time.Hour)}))
		must(t, a.db.Flush(ctx))
		repair := func() { must(t, b.ByCode.Host().Mend(ctx, s, "x", "c", 0)) }
		m.claimed.Store(&repair)
		must(t, a.Put(ctx, &voucher{ID: "x", Code: "c", Gone: time.Now().Add(100 * time.Hour)}))
		must(t, a.db.Flush(ctx))
		time.Sleep(10 * time.Hour)
		wantHeld(ctx, t, b, "x", "c")
	})
}

// A repair may come so late that the claim has ended.
func TestUnique_RepairMakesAClaimThatIsMissing(t *testing.T) {
	eachEnding(t, func(ctx context.Context, t *testing.T, s kv.Store, m *mute, a, b *vouchers) {
		must(t, a.Create(ctx, &voucher{ID: "x", Code: "c"}))
		must(t, a.db.Flush(ctx))
		proof.Done(t)(kv.One(ctx, s, kv.OpDelete("u:Voucher:ByCode:"+kv.JoinText("c"))))
		must(t, b.ByCode.Host().Mend(ctx, s, "x", "c", 0))
		wantHeld(ctx, t, b, "x", "c")
	})
}
