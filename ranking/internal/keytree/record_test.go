package keytree

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func (r *ranking) damage(t *testing.T, id string) []byte {
	t.Helper()
	got, err := kv.One(ctx, r.s, kv.OpGet(r.own.Key(id)))
	must(t, err)
	got.Value[len(got.Value)/2] ^= 0x10
	proof.Done(t)(kv.One(ctx, r.s, kv.OpSet(r.own.Key(id), got.Value)))
	return got.Value
}

func (r *ranking) wantRecord(t *testing.T, id string, score int64) {
	t.Helper()
	if st, err := r.state(ctx, r.s, id); err != nil || !st.In || st.Score != FromInt(score) {
		t.Errorf("the record says %+v, %v; want %d", st, err, score)
	}
}

func TestTree_Mend_OfADamagedRecordTakesTheNewestEntryThatCounts(t *testing.T) {
	r := open(newMem())
	for i := range 20 {
		r.set(t, idOf(i), int64(i))
	}
	stale, err := r.state(ctx, r.s, idOf(3))
	must(t, err)
	r.set(t, idOf(3), 17)
	proof.Done(t)(r.InsertNow(ctx, r.s, Insertion{idOf(3), stale}))
	r.damage(t, idOf(3))
	if got := r.checkInvariants(t); cmp.Diff([]string{idOf(3)}, got.Damaged) != "" || got.Members != 21 {
		t.Errorf("%d members, damaged %v; want 21 entries that count, and %s", got.Members, got.Damaged, idOf(3))
	}
	must(t, r.mendAll())
	r.wantClean(t, 20, idOf(3))
	r.wantRecord(t, idOf(3), 17)
}

func TestTree_Mend_OfADamagedRecordTakesNoPendingEntry(t *testing.T) {
	r := open(newMem())
	r.set(t, "a", 1)
	st, err := r.state(ctx, r.s, "a")
	must(t, err)
	proof.Done(t)(r.Insert(ctx, r.s, "a", State{In: true, Score: FromInt(5), Ver: st.Ver + 1}))
	r.damage(t, "a")
	must(t, r.mendAll())
	r.wantClean(t, 1, "a")
	r.wantRecord(t, "a", 1)
}

func TestTree_Finish_LeavesADamagedRecordAndItsEntry(t *testing.T) {
	r := open(newMem())
	r.set(t, "a", 1)
	st, err := r.state(ctx, r.s, "a")
	must(t, err)
	want := r.damage(t, "a")
	must(t, r.Finish(ctx, r.s, r.own, []Claim{{"a", st.Ver + 1, []Score{FromInt(1)}}}, new(Due)))
	got, err := kv.One(ctx, r.s, kv.OpGet(r.own.Key("a")))
	proof.Is(t, err, nil)
	proof.NoDiff(t, cmp.Diff(want, got.Value), "the record")
	if report := r.checkInvariants(t); report.Members != 1 {
		t.Errorf("%+v", report)
	}
}

func TestTree_Finish_AMemberThatAnotherOneChangesMeanwhileIsFencedAllTheSame(t *testing.T) {
	for name, begin := range map[string]func(*ranking){
		"no record yet":     func(*ranking) {},
		"a record is there": func(r *ranking) { r.set(t, "a", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			mem := newMem()
			other := open(mem)
			begin(other)
			d := &disturbed{Store: mem}
			d.at = map[int]func(){2: func() { other.set(t, "a", 7) }} // after the record was read
			r := open(plain{d})
			must(t, r.Finish(ctx, r.s, r.own, []Claim{{"a", 1 << 47, []Score{FromInt(1)}}}, new(Due)))
			if st, err := r.state(ctx, mem, "a"); err != nil || st.Ver != 1<<47 || st.Score != FromInt(7) {
				t.Errorf("the record says %+v, %v; want 7 with the fence's version", st, err)
			}
		})
	}
}

func TestTree_Clear_ARecordThatAnotherOneWritesAgainMeanwhileIsNoError(t *testing.T) {
	mem := newMem()
	other := open(mem)
	other.set(t, "a", 1)
	other.damage(t, "a")
	d := &disturbed{Store: mem}
	doubt := Doubt{ID: "a", Score: FromInt(1), Again: &State{In: true, Score: FromInt(1)}}
	d.at = map[int]func(){2: func() { must(t, other.clear(ctx, []Doubt{doubt})) }} // after the damage was read
	must(t, open(plain{d}).clear(ctx, []Doubt{doubt}))
	other.wantRecord(t, "a", 1)
}
