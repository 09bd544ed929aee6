package keytree

import (
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A member ends after a walk has found that it lacks a node, and before it says which.
func TestReading_AnswerNeedsTheSameHoweverLongItTakes(t *testing.T) {
	began, asked := time.Unix(1_000_000, 0), 0
	s := newMem()
	r := open(s, func(c *Config) {
		c.Now = func() time.Time {
			if asked++; asked > 2 {
				return began.Add(time.Hour)
			}
			return began
		}
	}).nodes(&meta{order: order{code: Signed}, limit: 4}, 1).reading()
	first, second, third := entry{id: "first", end: EndAt(began.Add(time.Minute))}, entry{id: "second"}, entry{id: "third"}
	r.seen[""] = node{router: &router{slots: [4]slot{
		{tally: tally{members: 1}, ends: first.end}, {tally: tally{members: 1}}, {tally: tally{members: 1}}, {closed: true},
	}}}
	r.seen["00"] = node{leaf: &leaf{entries: []entry{first}}}
	r.seen["10"] = node{leaf: &leaf{entries: []entry{third}}}
	if _, err := kv.One(ctx, s, kv.OpSet(r.key("01"), (&leaf{entries: []entry{second}}).encode())); err != nil {
		t.Fatal(err)
	}
	var at point
	if err := r.answer(ctx, s, r.skip(1, 1, false, &at)); err != nil {
		t.Fatal(err)
	}
	if want := r.point(second.score, second.id).beside(false); at != want {
		t.Errorf("behind the first member comes %+v, want %+v", at, want)
	}
}
