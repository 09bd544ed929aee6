package whole

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const writing = "writing"

// WriteUntilKilled is the main function of a child process: it reports that it writes, and makes
// random changes in the library of a tenant. It returns only after an error.
func WriteUntilKilled(ctx context.Context, s kv.Store, tenant string, seed uint64, say io.Writer) error {
	l, err := Open(s, kvmodel.Tenant(tenant))
	if err != nil {
		return err
	}
	w := NewWriter(l, int(seed%ownWorks), rand.New(rand.NewPCG(seed, 7)), new(Diary))
	for ctx.Err() == nil {
		w.Step(ctx)
		if w.calls == 1 {
			if _, err := fmt.Fprintln(say, writing); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// Kill starts child, which runs WriteUntilKilled, and kills it after it has been writing for life.
func Kill(child *exec.Cmd, life time.Duration) error {
	var said strings.Builder
	child.Stderr = &said
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	time.Sleep(life)
	killed := child.Process.Kill()
	err = child.Wait()
	if strings.TrimSpace(line) != writing || killed != nil {
		return fmt.Errorf("the child ended by itself: %w: %.500s", errors.Join(killed, err), said.String())
	}
	return nil
}

type Healed struct {
	Took  time.Duration
	Wrong []string // remaining faults when time ran out
}

const lookAgain = 3 * time.Second

// Heal opens the library of a tenant as the next process, and measures the time until all answers
// agree with the records, at most limit.
func Heal(ctx context.Context, s kv.Store, tenant string, limit time.Duration) (h Healed, err error) {
	began := time.Now()
	l, err := Open(s, kvmodel.Tenant(tenant))
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, l.DB.Close(ctx)) }()
	l.Touch(ctx, new(Diary))
	for {
		if err := errors.Join(l.DB.Repair(ctx), l.DB.Flush(ctx)); err != nil && !errors.Is(err, kvmodel.ErrNotYet) {
			return h, err
		}
		if h.Wrong, err = l.Judge(ctx, new(Diary)); err != nil {
			return h, err
		}
		if h.Took = time.Since(began); len(h.Wrong) == 0 || h.Took > limit || !kv.Sleep(ctx, lookAgain) {
			return h, ctx.Err()
		}
	}
}

// Plant is a kind of fault that only a check finds.
type Plant struct {
	Name string
	Kind string
	Lost bool // a repair can only report it

	plant func(p *planting) error
}

type Planted struct {
	ID   string // the affected work, if the fault shows in a record
	Base string // prefix of the affected keys
}

// Has reports whether a fault that shows in the record id, or in the item under key, follows from
// this one.
func (p Planted) Has(id, key string) bool {
	return p.ID != "" && p.ID == id || p.Base != "" && strings.HasPrefix(key, p.Base)
}

// In plants a fault in the work id, or in the items at its values. other is another work by the
// same author. No other fault may be planted in these works.
func (k *Plant) In(ctx context.Context, l *Library, s kv.Store, id, other string) (Planted, error) {
	w, err := l.Works.Get(ctx, id)
	if err != nil {
		return Planted{}, err
	}
	p := &planting{ctx: ctx, l: l, s: s, w: w, other: other}
	err = k.plant(p)
	if err == nil {
		err = p.err
	}
	return p.Planted, err
}

type planting struct {
	Planted
	ctx   context.Context
	l     *Library
	s     kv.Store
	w     *Work
	other string
	err   error
}

func (p *planting) do(op kv.Op) error {
	_, err := kv.One(p.ctx, p.s, op)
	return err
}

func (p *planting) get(key string) []byte {
	r, err := kv.One(p.ctx, p.s, kv.OpGet(key))
	if p.err == nil {
		p.err = err
	}
	return r.Value
}

func (p *planting) copy(to, from string) error { return p.do(kv.OpSet(to, p.get(from))) }

func (p *planting) damage(key string) error {
	value := bytes.Clone(p.get(key))
	if len(value) > 0 {
		value[len(value)/2] ^= 0x10
	}
	return p.do(kv.OpSet(key, value))
}

func (p *planting) keys(begin, end string) (all []string) {
	err := kv.PowersOf(p.s).Keys(p.ctx, begin, func(keys []string) error {
		for _, key := range keys {
			if strings.HasPrefix(key, begin) && strings.HasSuffix(key, end) {
				all = append(all, key)
			}
		}
		return nil
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("no key begins with %s and ends in %s", begin, end)
	}
	if p.err == nil {
		p.err = err
	}
	if err != nil {
		return []string{""}
	}
	slices.Sort(all)
	return all
}

// Writers that begin a tree together each create a root, and all but one stay empty.
func (p *planting) leaf() string {
	size := func(key string) int { return len(p.get(key)) }
	return slices.MaxFunc(p.keys(p.at(p.board())+":", ":key0"), func(a, b string) int { return cmp.Compare(size(a), size(b)) })
}

func (p *planting) at(base string) string {
	p.Base = base
	return base
}

func (p *planting) record() string { return "r:Work:" + p.w.ID }
func (p *planting) claim() string  { return "u:Work:BySlug:" + p.w.Slug }
func (p *planting) list() string   { return "l:Work:ByAuthor:" + p.w.Author }
func (p *planting) ring() string   { return "t:Work:NewestByAuthor:" + p.w.Author }
func (p *planting) board() string  { return "rank:Work:TopPriceByAuthor:" + p.w.Author }

func (p *planting) segment() string { return p.keys(p.ring()+"#s0", "")[0] }

var Plants = []Plant{
	{"a claim that is lost", "missing entry", false, func(p *planting) error {
		return p.do(kv.OpDelete(p.at(p.claim())))
	}},
	{"a claim that is damaged", "damaged item", false, func(p *planting) error {
		return p.damage(p.at(p.claim()))
	}},
	{"a claim of a record that holds another value", "stray entry", false, func(p *planting) error {
		return p.copy(p.at("u:Work:BySlug:not-"+p.w.Slug), p.claim())
	}},
	{"a claim of another record", "missing entry", false, func(p *planting) error {
		other, err := p.l.Works.Get(p.ctx, p.other)
		if err != nil {
			return err
		}
		return p.copy(p.at(p.claim()), "u:Work:BySlug:"+other.Slug)
	}},
	{"a list that is lost", "missing entry", false, func(p *planting) error {
		return p.do(kv.OpDelete(p.at(p.list()) + "#0"))
	}},
	{"a list that is damaged", "damaged item", false, func(p *planting) error {
		return p.damage(p.at(p.list()) + "#0")
	}},
	{"a list of records that do not hold the value", "stray entry", false, func(p *planting) error {
		return p.copy(p.at("l:Work:ByAuthor:not-"+p.w.Author)+"#0", p.list()+"#0")
	}},
	{"a segment of a ring that is lost", "missing entry", false, func(p *planting) error {
		p.at(p.ring())
		return p.do(kv.OpDelete(p.segment()))
	}},
	{"a segment of a ring that is damaged", "damaged item", false, func(p *planting) error {
		p.at(p.ring())
		return p.damage(p.segment())
	}},
	{"a leaf of a board that is lost", "damaged item", false, func(p *planting) error {
		return p.do(kv.OpDelete(p.leaf()))
	}},
	{"a leaf of a board that is damaged", "damaged item", false, func(p *planting) error {
		return p.damage(p.leaf())
	}},
	{"a count that is one too many", "wrong count", false, func(p *planting) error {
		return p.do(kv.OpIncrement(p.likes(), 1))
	}},
	{"a count that is lost", "wrong count", false, func(p *planting) error {
		return p.do(kv.OpDelete(p.likes()))
	}},
	{"a record that is lost", "stray entry", false, func(p *planting) error {
		p.ID = p.w.ID
		return p.do(kv.OpDelete(p.record()))
	}},
	{"a record that is damaged", "damaged record", true, func(p *planting) error {
		p.ID = p.w.ID
		return p.damage(p.record())
	}},
}

func (p *planting) likes() string {
	p.at("l:Like:ByWork:" + p.w.ID)
	return "c:Work:Likes:" + p.w.ID
}
