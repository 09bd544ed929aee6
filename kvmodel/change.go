package kvmodel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A change goes through these steps; the letters are those of
// docs/write-path.md, and every trip between two of them is a place where the
// process may die.
//
//	A0 read    the record as it is
//	A1 prepare one trip: the journal line and the new entries of every index
//	A2 commit  one trip: the record; what it says is the truth from here on
//	           reply
//	A4 after   the old entries of every index go
//	A5 done    the line counts as complete
const (
	maxTries = 8  // of a step that others can disturb
	maxLost  = 16 // races of one change, before ErrConflict
	maxAge   = 10 * time.Second
)

// edit is a change that somebody wants of one record.
type edit[T any] struct {
	id string

	// fresh: the id is new or was given for a new record, so A0 is left out
	// and the record is taken for absent. peek: it is then read beside A1.
	fresh, peek bool

	// removes: the edit is a deletion, so A1 has no entries to make, and the
	// line may be written earlier, beside A0, or later, beside A2.
	removes bool

	// next returns another id for a new record whose id has turned out to be
	// taken; nil if the id is given.
	next func(ctx context.Context) (id string, err error)

	// apply returns what the record is to become: nil to delete it, old itself
	// where nothing changes. It may be called again with a newer old, which is
	// nil if the record is absent.
	apply func(old *T) (*T, error)
}

// errLost: the record has changed since the change read it.
var errLost = fmt.Errorf("lost a race: %w", ErrConflict)

// change carries out e and returns what the record has become.
func (m *model[T]) change(ctx context.Context, s Store, e edit[T]) (*T, error) {
	if len(e.id) > MaxID {
		return nil, m.failure(e.id, fmt.Errorf("%w: an id of %d bytes, at most %d", ErrTooLarge, len(e.id), MaxID))
	}
	if err := m.writable(ctx); err != nil {
		return nil, m.failure(e.id, err)
	}
	c := &change[T]{model: m, edit: e, ctx: ctx, s: s, nonce: randomNumber()}
	v, err := c.run()
	if err != nil {
		return nil, m.failure(e.id, err)
	}
	return v, nil
}

// change is an edit under way.
type change[T any] struct {
	*model[T]
	edit[T]
	ctx   context.Context
	s     Store
	nonce uint64

	lines   []*segment // of the journal lines written for it
	touched []touched  // the places some try has prepared
	maxRev  uint64     // of all tries: what removes their entries must stand above it
	unclear bool       // some commit was sent and not answered
	early   early      // of this try
	began   time.Time  // of this try
	told    bool       // OnChange knows of it
}

func (c *change[T]) run() (*T, error) {
	for tries := 1; ; tries++ {
		v, err := c.try(tries == 1)
		if !errors.Is(err, errLost) {
			return v, err
		}
		c.db.hand.drop(c.key(c.id))
		c.db.lostRaces.Add(1)
		if tries == c.maxLost() || !sleep(c.ctx, jitter(time.Millisecond<<min(tries, 5))) {
			return nil, c.giveUp(fmt.Errorf("%w: %d tries lost against others", ErrConflict, tries))
		}
		if c.next != nil {
			if err := c.moveOn(); err != nil {
				return nil, err
			}
		}
	}
}

// maxLost returns how many races the change may lose. Those that go for the next
// number all go for the same one.
func (c *change[T]) maxLost() int {
	if c.next != nil {
		return 16 * maxLost
	}
	return maxLost
}

// moveOn goes on with another id. What was prepared for this one is cleaned away
// in the background.
func (c *change[T]) moveOn() error {
	old := *c
	_ = old.giveUp(nil)
	c.nonce, c.lines, c.touched, c.maxRev, c.unclear = randomNumber(), nil, nil, 0, false
	id, err := c.next(c.ctx)
	c.id = id
	return err
}

// try is one pass from A0 to the reply.
func (c *change[T]) try(first bool) (*T, error) {
	c.began = c.db.now()
	rec, atHand, err := c.read(first)
	if err != nil {
		return nil, c.giveUp(err)
	}
	if c.next != nil && rec.version != 0 {
		return nil, errLost // Somebody else has the number.
	}
	p, err := c.plan(rec)
	if atHand && (err != nil || p == nil) {
		// What ends the change without a commit must not rest on an old copy.
		if rec, err = c.seeOne(c.ctx, c.s, c.id); err != nil {
			return nil, c.giveUp(err)
		}
		p, err = c.plan(rec)
	}
	if err != nil {
		return nil, c.giveUp(err)
	}
	if p == nil {
		return rec.Value, c.giveUp(nil)
	}
	if c.db.atomic != nil {
		return p.value, c.commitAtOnce(p)
	}
	if err := c.prepare(p); err != nil {
		return nil, err
	}
	if c.db.now().Sub(c.began) > maxAge {
		return nil, errLost
	}
	return p.value, c.commit(p)
}

// read is A0. For a deletion it also writes the line, which
// cannot name the places yet: the tombstone will.
func (c *change[T]) read(first bool) (rec *Seen[T], atHand bool, err error) {
	c.early = early{}
	if first && c.fresh {
		return &Seen[T]{ID: c.id}, false, nil
	}
	if first {
		if results, ok := c.db.hand.take(c.key(c.id), c.db.now()); ok {
			if rec, err := c.decodeCounted(c.id, results); err == nil {
				return rec, true, nil
			}
		}
	}
	works := []func(Store) error{func(s Store) (err error) { rec, err = c.seeOne(c.ctx, s, c.id); return err }}
	if c.removes && c.db.atomic == nil && c.leavesTraces() {
		if err := c.db.journal.ready(c.ctx); err != nil {
			return nil, false, err
		}
		works = append(works, func(s Store) error { return c.note(s, line{model: c.name, id: c.id, rev: fenceAlways}) })
	}
	if ahead := c.readEarly(); len(ahead) > 0 {
		if err := c.db.journal.ready(c.ctx); err != nil {
			return nil, false, err
		}
		works = append(works, ahead...)
	}
	return rec, false, firstError(Together(c.ctx, c.s, works...))
}

// leavesTraces tells whether a record of the model is known anywhere but under
// its own key.
func (c *change[T]) leavesTraces() bool {
	return len(c.indexes)+len(c.counters) > 0 || c.listens()
}

// plan is one try's whole intention.
type plan[T any] struct {
	rec     *Seen[T] // as read
	value   *T       // what it becomes; nil: deleted
	env     *envelope
	moves   []*Move // by index; nil where nothing moves
	touched []touched
	created bool
	number  int64 // of the revision, on a model with a history
	chunk   grown // of the enumeration, if created on an atomic store
}

// before is what a change needs to know of the record as it was, taken before
// the edit changes the value in place.
type before struct {
	live     bool
	body     []byte
	places   [][]string // by index
	revision int64
	created  time.Time
	updated  time.Time
}

func (c *change[T]) snapshot(v *T) (b before, err error) {
	b.places = make([][]string, len(c.indexes))
	if v == nil {
		return b, nil
	}
	b.live = true
	for i, index := range c.indexes {
		b.places[i] = index.Places(v)
	}
	f := c.schema(v)
	b.revision, b.created, b.updated = value(f.revision), value(f.created), value(f.updated)
	b.body, err = c.codec.Append(nil, v)
	return b, err
}

// plan returns what is to be done to bring rec to what the edit wants, or nil
// if it is there already.
func (c *change[T]) plan(rec *Seen[T]) (*plan[T], error) {
	was, err := c.snapshot(rec.Value)
	if err != nil {
		return nil, err
	}
	v, err := c.apply(rec.Value)
	if err != nil {
		return nil, err
	}
	if v == nil && !was.live {
		return nil, ErrNotFound
	}
	if c.numbers != nil && c.next == nil && rec.version == 0 {
		return nil, fmt.Errorf("%w: numbers are given in order, by Create", ErrInvalid)
	}
	if v != nil {
		if same, err := c.fillIn(was, v); err != nil || same {
			return nil, err
		}
	}
	p := &plan[T]{rec: rec, value: v, created: !was.live}
	if p.env, err = c.nextEnvelope(rec, v); err != nil {
		return nil, err
	}
	c.planMoves(p, was)
	if c.history > 0 {
		c.number(p)
	}
	return p, nil
}

// fillIn sets the fields of v that are the write path's to set. It tells
// whether v is what the record was.
func (c *change[T]) fillIn(was before, v *T) (same bool, err error) {
	f := c.schema(v)
	now := c.db.now().UTC()
	if !was.live {
		was.created = now
	}
	set(f.revision, was.revision)
	set(f.created, was.created)
	set(f.updated, was.updated)
	if was.live {
		body, err := c.codec.Append(nil, v)
		if err != nil || bytes.Equal(body, was.body) {
			return err == nil, err
		}
	}
	set(f.revision, was.revision+1)
	set(f.updated, now)
	return false, validate(v)
}

func validate(v any) error {
	if v, ok := v.(validator); ok {
		if err := v.Validate(); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	return nil
}

func set[V any](p *V, v V) {
	if p != nil {
		*p = v
	}
}

func value[V any](p *V) (v V) {
	if p != nil {
		v = *p
	}
	return v
}

// nextEnvelope returns what is to be stored in the place of rec.
func (c *change[T]) nextEnvelope(rec *Seen[T], v *T) (*envelope, error) {
	env := &envelope{model: c.version, rev: rec.Rev + 1, deleted: v == nil}
	if !rec.env.live() && v != nil {
		// A record that is made again after its tombstone has expired must
		// stand above everything that was ever said of its id.
		env.rev = max(env.rev, uint64(c.db.now().UnixMilli()))
	}
	if env.rev > maxRev {
		return nil, fmt.Errorf("%w: rev %d", ErrCorrupt, env.rev)
	}
	env.tries = addTry(rec.env, env.rev, c.nonce)
	if v == nil {
		return env, nil
	}
	if rec.env.live() {
		env.marks = slices.Clone(rec.env.marks)
		// An older release that rewrites a newer one's record leaves it newer.
		env.model = max(c.version, rec.env.model)
	}
	if at := c.schema(v).expires; at != nil && !at.IsZero() {
		if err := c.checkExpiry(*at); err != nil {
			return nil, err
		}
		env.expires = at.UnixMilli()
	}
	var err error
	env.body, err = c.encodeBody(rec.env, v)
	return env, err
}

func (c *change[T]) checkExpiry(at time.Time) error {
	switch now := c.db.now(); {
	case !at.After(now):
		return fmt.Errorf("%w: it expires at %v, which is past", ErrInvalid, at.UTC())
	case at.Sub(now) > MaxTTL:
		return fmt.Errorf("%w: it expires at %v, which is more than %v ahead", ErrInvalid, at.UTC(), MaxTTL)
	}
	return nil
}

// planMoves fills in what the change means to each index.
func (c *change[T]) planMoves(p *plan[T], old before) {
	p.moves = make([]*Move, len(c.indexes))
	ttl := c.ttl(p.env)
	extends := p.value != nil && p.rec.env.live() && p.env.expires != p.rec.env.expires
	for i, index := range c.indexes {
		was, is := old.places[i], places(index, p.value)
		mv := &Move{
			ID: c.id, Base: p.rec.Rev, Rev: p.env.rev, TTL: ttl,
			Gained: without(is, was), Lost: without(was, is), Was: was, Is: is,
			Mark: p.rec.env.mark(index.Name()), Began: c.began,
		}
		if extends {
			mv.Gained, mv.Had = is, without(is, mv.Gained)
		}
		for _, stale := range [][]string{placesOf(c.touched, index.Name()), placesOf(p.rec.lost(), index.Name())} {
			mv.Lost = append(mv.Lost, without(without(stale, is), mv.Lost)...)
		}
		if len(mv.Gained)+len(mv.Lost) == 0 {
			continue
		}
		p.moves[i] = mv
		t := touched{index.Name(), append(slices.Clone(mv.Gained), mv.Lost...)}
		p.touched = append(p.touched, t)
		if p.value == nil {
			p.env.lost = append(p.env.lost, t)
		}
	}
}

func places[T any](index Index[T], v *T) []string {
	if v == nil {
		return nil
	}
	return index.Places(v)
}

// without returns what is in all and not in others.
func without(all, others []string) []string {
	var rest []string
	for _, s := range all {
		if !slices.Contains(others, s) {
			rest = append(rest, s)
		}
	}
	return rest
}

// placesOf returns the places of one index among all.
func placesOf(all []touched, index string) []string {
	for _, t := range all {
		if t.index == index {
			return t.places
		}
	}
	return nil
}

// needsLine tells whether somebody must be able to find the change if it is
// left half done.
func (c *change[T]) needsLine(p *plan[T]) bool {
	return len(p.touched) > 0 || c.listens() || p.value == nil && len(c.counters) > 0 || p.created && c.db.atomic == nil && c.numbers == nil
}

// prepare is A1.
func (c *change[T]) prepare(p *plan[T]) error {
	works, err := c.announce(p, c.useEarly(p))
	if err != nil || c.removes {
		return err
	}
	works = append(works, c.each(p, Index[T].Prepare)...)
	if c.history > 0 {
		works = append(works, func(s Store) error { return c.keep(s, p) })
	}
	if len(works) == 0 {
		return nil
	}
	var found Result
	if c.peek {
		works = append(works, func(s Store) (err error) { found, err = c.lookAround(s, p); return err })
	}
	errs := Together(c.ctx, c.s, works...)
	if found.Err == nil && found.Value != nil {
		if rec, err := c.decode(c.id, found); err == nil && rec.env.live() && c.next == nil {
			return c.giveUp(c.exists(rec))
		}
		return errLost
	}
	return c.prepared(errs)
}

// announce returns the work that writes the journal line of p, if it needs one
// and none is written yet.
func (c *change[T]) announce(p *plan[T], written bool) ([]func(Store) error, error) {
	if !c.needsLine(p) {
		return nil, nil
	}
	if err := c.db.journal.ready(c.ctx); err != nil {
		return nil, c.giveUp(err)
	}
	c.remember(p)
	if written || c.removes {
		return nil, nil
	}
	return []func(Store) error{func(s Store) error { return c.note(s, c.lineOf(p)) }}, nil
}

// prepared returns what the errors of A1 mean to the change: a value that is
// taken counts more than a race that is lost.
func (c *change[T]) prepared(errs []error) error {
	var lost error
	for _, err := range errs {
		if err = lostIfConflict(err); errors.Is(err, errLost) {
			lost = err
		} else if err != nil {
			return c.giveUp(err)
		}
	}
	return lost
}

// lineOf returns the journal line of p.
func (c *change[T]) lineOf(p *plan[T]) line {
	return line{model: c.name, id: c.id, rev: p.env.rev, created: p.created, touched: p.touched}
}

// note writes a journal line of the change. Where the journal is gone it opens
// another, but not inside a transaction, which starts over then.
func (c *change[T]) note(s Store, l line) error {
	for range maxTries {
		seg, err := c.db.journal.note(c.ctx, s, l)
		if seg != nil {
			c.lines = append(c.lines, seg)
		}
		if !errors.Is(err, errGone) || c.db.atomic != nil {
			return err
		}
		if err := c.db.journal.ready(c.ctx); err != nil {
			return err
		}
	}
	return errGone
}

// lookAround reads the record beside A1, for a Create with an id that may be
// in use.
func (c *change[T]) lookAround(s Store, p *plan[T]) (Result, error) {
	if !c.peek || p.rec.version != 0 {
		return Result{}, nil
	}
	r, err := One(c.ctx, s, OpGet(c.key(c.id)))
	if errors.Is(err, ErrNotFound) {
		return r, nil
	}
	return r, err
}

// exists returns the error of an edit that wanted the record absent.
func (c *change[T]) exists(rec *Seen[T]) error {
	_, err := c.apply(rec.Value)
	if err == nil {
		err = ErrExists
	}
	return err
}

// remember keeps what p prepares, for cleaning after a lost race.
func (c *change[T]) remember(p *plan[T]) {
	c.maxRev = max(c.maxRev, p.env.rev)
	for _, t := range p.touched {
		c.touched = mergeTouched(c.touched, t)
	}
}

func mergeTouched(all []touched, t touched) []touched {
	for i := range all {
		if all[i].index == t.index {
			all[i].places = append(all[i].places, without(t.places, all[i].places)...)
			return all
		}
	}
	return append(all, touched{t.index, slices.Clone(t.places)})
}

// each returns, for every index that moves, the work of step.
func (c *change[T]) each(p *plan[T], step func(Index[T], context.Context, Store, *Move) error) []func(Store) error {
	var works []func(Store) error
	for i, index := range c.indexes {
		if mv := p.moves[i]; mv != nil {
			works = append(works, func(s Store) error { return step(index, c.ctx, s, mv) })
		}
	}
	return works
}

// commit is A2 and what follows.
func (c *change[T]) commit(p *plan[T]) error {
	c.setMarks(p)
	works := append([]func(Store) error{func(s Store) error { return c.write(s, p) }}, c.each(p, Index[T].Beside)...)
	if c.removes && len(c.lines) == 0 && c.needsLine(p) {
		works = append(works, func(s Store) error { return c.note(s, c.lineOf(p)) })
	}
	if c.removes && c.history > 0 {
		// A deletion has nothing to keep, so it does not wait for this.
		works = append(works, func(s Store) error { _ = c.keep(s, p); return nil })
	}
	errs := Together(c.ctx, c.s, works...)
	if errs[0] != nil {
		return c.notCommitted(errs[0])
	}
	c.db.hand.drop(c.key(c.id))
	// A deletion's line, beside the commit, may have failed; what is to be done
	// is the same.
	if len(c.lines) > 0 || c.needsLine(p) {
		since, settled := c.db.now(), firstError(errs) == nil
		c.db.Surely(func(ctx context.Context) error { return c.after(ctx, p, settled, since) })
	}
	return nil
}

// setMarks puts into the envelope what the indexes want to keep in it.
func (c *change[T]) setMarks(p *plan[T]) {
	if p.value == nil {
		return
	}
	for i, mv := range p.moves {
		if mv != nil && mv.Mark != nil {
			p.env.setMark(c.indexes[i].Name(), mv.Mark)
		}
	}
}

// write stores the record: the one step that makes the change true. Where that
// is unclear it looks, and sends the same again while nothing else came.
func (c *change[T]) write(s Store, p *plan[T]) error {
	op := c.store(p.rec, p.env)
	for range maxTries {
		_, err := One(c.ctx, s, op)
		switch {
		case errors.Is(err, ErrConflict), errors.Is(err, ErrExists), errors.Is(err, ErrNotFound):
			err = c.whose(s, p)
		case errors.Is(err, ErrUnclear):
			err = c.settle(s, p)
		case c.unclear && err != nil:
			// This one was not sent, but an earlier one may have been.
			err = fmt.Errorf("%w: %w", ErrUnclear, err)
		}
		if !errors.Is(err, errAgain) {
			return err
		}
	}
	return ErrUnclear
}

var errAgain = errors.New("again")

// whose finds out whether a refused commit was refused because an earlier send
// of it, thought lost, had been carried out.
func (c *change[T]) whose(s Store, p *plan[T]) error {
	if !c.unclear {
		return errLost
	}
	return c.settle(s, p)
}

// settle finds out what became of an unclear commit: nil, it was carried out;
// errAgain, it is undecided and the same may be sent again; errLost, it was
// not and never will be; ErrUnclear, nobody can tell.
func (c *change[T]) settle(s Store, p *plan[T]) error {
	c.unclear = true
	now, err := c.seeOne(c.ctx, s, c.id)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnclear, err)
	}
	did, sure := now.env.hasTry(c.nonce, p.rec.Rev)
	switch {
	case did:
		return nil
	case now.version == p.rec.version:
		return errAgain
	case sure:
		return errLost
	default:
		return ErrUnclear
	}
}

// notCommitted returns what the end of A2 without a commit means.
func (c *change[T]) notCommitted(err error) error {
	if errors.Is(err, errLost) {
		return err
	}
	return c.giveUp(err)
}

// giveUp ends the change with err. What it has prepared is cleaned away after
// the reply; an unclear commit is decided by that as well.
func (c *change[T]) giveUp(err error) error {
	if len(c.lines)+len(c.touched) == 0 {
		return err
	}
	c.db.Surely(func(ctx context.Context) error {
		if err := c.repair(ctx, c.db.store, c.id, c.maxRev, c.touched, c.unclear); err != nil {
			return err
		}
		c.complete()
		return nil
	})
	return err
}

// after is A4 and A5. Where something beside the commit did not succeed, the
// entries of the change are repaired first.
func (c *change[T]) after(ctx context.Context, p *plan[T], settled bool, since time.Time) error {
	if !settled {
		if err := c.repair(ctx, c.db.store, c.id, 0, p.touched, false); err != nil {
			return err
		}
	}
	wait := c.removeOld(ctx, c.db.store, p)
	if wait != nil && !waits(wait) {
		return wait
	}
	// What has to wait keeps nobody from being told, once.
	if !c.told {
		if err := c.changedSince(ctx, since, c.id, p.created); err != nil {
			return err
		}
		c.told = true
	}
	if wait == nil {
		c.complete()
	}
	return wait
}

// removeOld is A4.
func (c *change[T]) removeOld(ctx context.Context, s Store, p *plan[T]) error {
	var works []func(Store) error
	for i, index := range c.indexes {
		if mv := p.moves[i]; mv != nil {
			works = append(works, func(s Store) error { return index.After(ctx, s, mv) })
		}
	}
	if p.value == nil {
		works = append(works, func(s Store) error { return c.dropCounters(ctx, s, c.id) })
	}
	return firstError(Together(ctx, s, works...))
}

// complete is A5.
func (c *change[T]) complete() {
	for _, seg := range c.lines {
		c.db.journal.done(seg)
	}
	c.lines = nil
}

// commitAtOnce is A1 to A4 on a store that can do all of it at once.
func (c *change[T]) commitAtOnce(p *plan[T]) error {
	if c.listens() {
		if err := c.db.journal.ready(c.ctx); err != nil {
			return err
		}
	}
	err := c.db.atomic(c.ctx, func(s Store) error { return c.allSteps(s, p) })
	c.db.hand.drop(c.key(c.id))
	if err != nil && !errors.Is(err, ErrUnclear) {
		c.complete()
		return err
	}
	if p.created && err == nil && c.numbers == nil {
		c.all.grew(p.chunk)
	}
	if len(c.lines) > 0 {
		since := c.db.now()
		c.db.Surely(func(ctx context.Context) error {
			if err := c.changedSince(ctx, since, c.id, p.created); err != nil {
				return err
			}
			c.complete()
			return nil
		})
	}
	return err
}

// allSteps carries out p on s, which nobody else changes meanwhile.
func (c *change[T]) allSteps(s Store, p *plan[T]) error {
	if found, err := c.lookAround(s, p); err != nil {
		return err
	} else if found.Value != nil {
		rec, err := c.decode(c.id, found)
		if err == nil && rec.env.live() && c.next == nil {
			err = c.exists(rec)
		}
		return firstError([]error{err, errLost})
	}
	if err := firstError(Together(c.ctx, s, c.each(p, Index[T].Prepare)...)); err != nil {
		return lostIfConflict(err)
	}
	if c.history > 0 {
		if err := c.keep(s, p); err != nil {
			return err
		}
	}
	c.setMarks(p)
	if _, err := One(c.ctx, s, c.store(p.rec, p.env)); err != nil {
		return lostIfConflict(err)
	}
	if err := firstError(Together(c.ctx, s, c.each(p, Index[T].Beside)...)); err != nil {
		return err
	}
	if err := c.removeOld(c.ctx, s, p); err != nil {
		return err
	}
	return c.leaveTraces(s, p)
}

// leaveTraces writes what finds the record later: its place in the
// enumeration, and the line that remembers to tell OnChange.
func (c *change[T]) leaveTraces(s Store, p *plan[T]) (err error) {
	if p.created && c.numbers == nil {
		if p.chunk, err = c.all.add(c.ctx, s, []string{c.id}); err != nil {
			return err
		}
	}
	if c.listens() {
		return c.note(s, c.lineOf(p))
	}
	return nil
}

// lostIfConflict returns errLost for an answer that says that the record or a
// claim has changed.
func lostIfConflict(err error) error {
	var taken *TakenError
	if errors.As(err, &taken) {
		return err
	}
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrExists) || errors.Is(err, ErrNotFound) {
		return errLost
	}
	return err
}
