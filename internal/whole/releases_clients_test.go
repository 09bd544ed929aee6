package whole_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

// Sixteen clients write through two releases, of which only the newer has the indexes. Each
// acknowledged change is looked for through an index of the newer, at once and at the end: the
// index shows it, or returns ErrNeedsRebuild.

const (
	clients  = 16
	settling = time.Minute
)

type rollout struct {
	*testing.T
	store *memkv.Store
	made  atomic.Int64

	mu    sync.Mutex
	rng   *rand.Rand
	codes map[string]string // by id

	asked, refused, missing atomic.Int64
	answers                 map[string]*verdict
}

func (r *rollout) random() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rng.Uint64()
}

type slow struct {
	kv.Store
	rng    *rand.Rand
	mu     sync.Mutex
	asleep chan struct{} // closed when it wakes; nil while it is awake
}

func (*slow) Powers() kv.Powers { return kv.Powers{} }
func (*slow) Close() error      { return nil }

func (s *slow) Do(ctx context.Context, ops []kv.Op) error {
	s.mu.Lock()
	asleep, late := s.asleep, time.Duration(s.rng.IntN(4000))*time.Microsecond
	s.mu.Unlock()
	if asleep != nil {
		<-asleep
	}
	time.Sleep(late)
	return s.Store.Do(ctx, ops)
}

func (s *slow) sleep(d time.Duration) {
	wakes := make(chan struct{})
	s.mu.Lock()
	s.asleep = wakes
	s.mu.Unlock()
	time.Sleep(d)
	s.mu.Lock()
	s.asleep = nil
	s.mu.Unlock()
	close(wakes)
}

type party struct {
	*rollout
	store  *slow
	db     *kvmodel.DB
	papers *papers
	byCode *index.Unique[paper, string]
	looks  []asked
}

func (r *rollout) join(newer bool) *party {
	s := &slow{Store: r.store, rng: rand.New(rand.NewPCG(r.random(), 0))}
	db, err := kvmodel.Open(s)
	must(r.T, err)
	p := &party{rollout: r, store: s, db: db}
	p.papers = kvmodel.NewRecords(db, kvmodel.Schema[paper, string]{
		Name: "Paper", Version: 1, Key: kvmodel.StringKey[string](), Codec: fieldsCodec{},
		ID: func(p *paper) string { return p.ID }, SetID: func(p *paper, id string) { p.ID = id },
	})
	if newer {
		p.byCode = index.NewUnique(p.papers, kvmodel.IndexSpec[paper, string]{
			Name: "ByCode", Def: "unique Code string", Fields: []string{"Code"}, Key: kvmodel.StringKey[string](),
			Values: func(p *paper) []string { return []string{p.Code} },
		})
		p.looks = append(p.looks, tags(p.papers), ranked(p.papers))
	}
	return p
}

func (p *party) ends() { must(p.T, p.db.Close(ctx)) }

func (p *party) write(d time.Duration, reader *party) {
	var all sync.WaitGroup
	end := time.Now().Add(d)
	for client := range clients / 2 {
		rng := rand.New(rand.NewPCG(p.random(), uint64(client)))
		all.Go(func() {
			var mine []string
			for time.Now().Before(end) {
				time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
				id := fmt.Sprintf("p%05d", p.made.Add(1))
				if len(mine) > 0 && rng.IntN(2) == 0 {
					id = mine[rng.IntN(len(mine))]
				} else {
					mine = append(mine, id)
				}
				p.change(id, fmt.Sprint("c", rng.Uint64()), reader)
			}
		})
	}
	all.Wait()
}

func (p *party) change(id, code string, reader *party) {
	p.mu.Lock()
	_, exists := p.codes[id]
	p.mu.Unlock()
	var err error
	if exists {
		_, err = p.papers.Update(ctx, id, func(v *paper) error { v.Code = code; v.Score++; return nil })
	} else {
		err = p.papers.Create(ctx, &paper{ID: id, Code: code, Text: "x", Tags: []string{"red"}, Score: int64(len(code))})
	}
	must(p.T, err)
	p.mu.Lock()
	p.codes[id] = code
	p.mu.Unlock()
	if reader != nil {
		reader.look(id, code)
	}
}

func (p *party) look(id, code string) {
	got, err := p.byCode.Find(ctx, code)
	if p.answered("unique", err, err == nil && got.ID == id) {
		p.Errorf("paper %s by its code: %v, %v", id, got, err)
	}
}

func (r *rollout) answered(class string, err error, right bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.answers[class]
	if v == nil {
		v = new(verdict)
		r.answers[class] = v
	}
	v.asked++
	r.asked.Add(1)
	switch {
	case errors.Is(err, kvmodel.ErrNeedsRebuild):
		v.says++
		r.refused.Add(1)
	case !right:
		v.wrong = append(v.wrong, "")
		r.missing.Add(1)
		return true
	}
	return false
}

func (p *party) lookAtAll() {
	l := &ledger{all: map[string]paper{}}
	for id, code := range p.codes {
		p.look(id, code)
		l.all[id] = paper{ID: id, Tags: []string{"red"}}
	}
	for i, look := range p.looks {
		got, err := look.show(ctx)
		slices.Sort(got)
		want := l.ids(func(paper) bool { return true })
		if p.answered([]string{"list", "board"}[i], err, err == nil && slices.Equal(want, got)) {
			p.Errorf("look %d: %d of %d papers, %v", i, len(got), len(want), err)
		}
	}
}

func ranked(p *papers) asked {
	board := ranking.NewBoard(p, ranking.Spec[paper, int64]{
		Name: "TopScore", Def: "ranking Score int", Of: ranking.Int[int64](), Score: func(p *paper) int64 { return p.Score },
	})
	return asked{show: func(ctx context.Context) (ids []string, err error) {
		for cursor := ""; ; {
			l, err := board.Page(ctx, cursor, 100)
			for _, p := range l.Items {
				ids = append(ids, p.ID)
			}
			if cursor = l.Next; err != nil || cursor == "" {
				return ids, err
			}
		}
	}}
}

var courses = map[string]func(*rollout){
	"the old one starts during a build": func(r *rollout) {
		old := r.join(false)
		old.write(20*time.Second, nil)
		old.ends()
		next := r.join(true)
		var all sync.WaitGroup
		all.Go(func() { must(r.T, next.papers.Rebuild(ctx)) })
		all.Go(func() { next.write(time.Minute, next) })
		all.Go(func() {
			time.Sleep(time.Duration(r.random()%200) * time.Millisecond)
			old := r.join(false)
			old.write(30*time.Second, next)
			old.ends()
		})
		all.Wait()
		next.rests()
		next.ends()
	},
	"the old one starts after a build": func(r *rollout) {
		next := r.join(true)
		next.write(10*time.Second, next)
		var all sync.WaitGroup
		all.Go(func() { next.write(2*time.Minute, next) })
		old := r.join(false)
		old.write(time.Minute, next)
		all.Wait()
		next.lookAtAll()
		old.ends()
		next.rests()
		next.ends()
	},
	"the old one sleeps while the new one builds": func(r *rollout) {
		old := r.join(false)
		next := r.join(true)
		var all sync.WaitGroup
		all.Go(func() { old.write(4*time.Minute, next) })
		time.Sleep(20 * time.Second)
		all.Go(func() { old.store.sleep(2 * time.Minute) })
		time.Sleep(31 * time.Second)
		must(r.T, next.papers.Rebuild(ctx))
		next.write(time.Minute, next)
		all.Wait()
		next.lookAtAll()
		old.ends()
		next.rests()
		next.ends()
	},
	"the new one is rolled back and comes again": func(r *rollout) {
		for range 2 {
			next := r.join(true)
			next.write(20*time.Second, next)
			next.rests()
			next.ends()
			old := r.join(false)
			old.write(20*time.Second, nil)
			old.ends()
		}
		next := r.join(true)
		next.rests()
		next.ends()
	},
}

func (p *party) rests() {
	time.Sleep(settling)
	p.lookAtAll()
	must(p.T, p.papers.Rebuild(ctx))
	before := p.refused.Load()
	p.lookAtAll()
	if n := p.refused.Load() - before; n > 0 {
		p.Errorf("%d answers are ErrNeedsRebuild after a Rebuild", n)
	}
}

func TestMatrix_OfTwoReleases_NoAnswerMissesARecord(t *testing.T) {
	type run struct {
		course string
		seed   uint64
	}
	var few, all []run
	for seed := range uint64(25) {
		for course := range courses {
			all = append(all, run{course, seed})
			if seed == 0 {
				few = append(few, run{course, seed})
			}
		}
	}
	var asked, refused, missing, runs int64
	found := &sheet{corner: "course"}
	for at := range proof.Part(t, few, all) {
		t.Run(fmt.Sprintf("%s, seed %d", at.course, at.seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &rollout{T: t, rng: rand.New(rand.NewPCG(at.seed, 11)), store: memkv.New(memkv.Options{}), codes: map[string]string{}, answers: map[string]*verdict{}}
				courses[at.course](r)
				asked, refused, missing = asked+r.asked.Load(), refused+r.refused.Load(), missing+r.missing.Load()
				runs++
				for _, class := range slices.Sorted(maps.Keys(r.answers)) {
					found.put(at.course, class, r.answers[class].word())
				}
			})
		})
	}
	numbers := fmt.Sprintf("%d runs of two releases with %d clients: answers %d, that say ErrNeedsRebuild %d, missing %d", runs, clients, asked, refused, missing)
	t.Log(numbers)
	found.merge()
	slices.Sort(found.rows)
	publish(t, "two releases", found, "\n"+numbers+".\n")
}
