// Package archive keeps the history of a store in a folder: snapshots, and the commits in
// between.
//
// Its objects are streams of a commitlog, so each has sums and an end, and is whole or
// named as damaged:
//
//	term-TERM          who ships since when; the file that makes it has the term
//	start-TERM         the last commit of earlier terms that counts
//	piece-TERM-FIRST   commits, from number FIRST on; the newest one grows
//	gap-TERM-FIRST     why the commits before that piece were not shipped
//	head-TERM          up to where all is shipped, and when that was known
//	items-TIME         what the store held, read while commits went on
//	snapshot-TERM-LAST says which items there are, up to commit number LAST
//
// A term is the time in which one file ships. A file that loses it to another may ship for
// a moment longer, but no commit of its that comes behind the start of a later term counts.
package archive

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// Folder is what the objects are kept in; boltkv has it with comments.
type Folder interface {
	PutNew(ctx context.Context, name string, from io.Reader) error
	Put(ctx context.Context, name string, from io.Reader) error
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	List(ctx context.Context, begin string) ([]string, error)
	Delete(ctx context.Context, name string) error
}

var (
	// ErrDamaged: an object is not what was written.
	ErrDamaged = errors.New("damaged")

	// ErrForeign: an object is of another store.
	ErrForeign = errors.New("it is of another store")
)

// Archive is the history of one store.
type Archive struct {
	Folder Folder
	Store  [16]byte // identifies the store; unknown until a term was read
}

// note is a small object: numbers, a moment, and a text.
type note struct {
	term uint64
	seq  uint64
	at   int64
	text string
}

func (a *Archive) encode(n note) *bytes.Buffer {
	var buf bytes.Buffer
	// A Buffer returns no errors, and a text is short.
	w, _ := commitlog.NewWriter(&buf, commitlog.Header{Store: a.Store, Epoch: n.term})
	_ = w.Write(commitlog.Record{Seq: n.seq, Time: n.at, Body: []byte(n.text), End: true})
	return &buf
}

// note reads a note.
func (a *Archive) note(ctx context.Context, name string) (n note, err error) {
	err = a.read(ctx, name, func(h commitlog.Header, r commitlog.Record) error {
		n = note{h.Epoch, r.Seq, r.Time, string(r.Body)}
		return nil
	})
	return n, err
}

// read calls f for each record of an object, the end included.
func (a *Archive) read(ctx context.Context, name string, f func(commitlog.Header, commitlog.Record) error) error {
	object, err := a.Folder.Get(ctx, name)
	if err != nil {
		return err
	}
	defer object.Close()
	r, err := commitlog.NewReader(object)
	if err != nil {
		return about(name, err)
	}
	if a.Store == ([16]byte{}) {
		a.Store = r.Store
	}
	if r.Store != a.Store {
		return about(name, ErrForeign)
	}
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) && !r.Ended() {
			err = fmt.Errorf("%w: it is cut off", commitlog.ErrDamaged)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return about(name, err)
		}
		if err := errors.Join(ctx.Err(), f(r.Header, record)); err != nil {
			return err
		}
	}
}

// about returns err, which is about the object called name.
func about(name string, err error) error {
	if errors.Is(err, commitlog.ErrDamaged) {
		return fmt.Errorf("%s: %w: %w", name, ErrDamaged, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// Token tells files apart that ship, even if one is a copy of the other.
type Token [16]byte

// NewToken returns one that no one else has.
func NewToken() (t Token) {
	_, _ = rand.Read(t[:])
	return t
}

// Term is the time in which one file ships.
type Term struct {
	Number uint64
	Token  Token  // of the file
	Who    string // says which file, and on which machine
	Since  time.Time

	Started bool
	From    uint64 // the last commit of earlier terms that counts, once it has started
}

func termName(n uint64) string  { return fmt.Sprintf("term-%08d", n) }
func startName(n uint64) string { return fmt.Sprintf("start-%08d", n) }
func headName(n uint64) string  { return fmt.Sprintf("head-%08d", n) }

// Taken returns who has term number n, or an fs.ErrNotExist if it has not begun. It does not
// say whether the term has started.
func (a *Archive) Taken(ctx context.Context, n uint64) (Term, error) {
	found, err := a.note(ctx, termName(n))
	if err != nil {
		return Term{}, err
	}
	t := Term{Number: n, Since: time.Unix(0, found.at)}
	if found.term != n || len(found.text) < len(t.Token) {
		return Term{}, fmt.Errorf("%s: %w: it is of term %d", termName(n), ErrDamaged, found.term)
	}
	t.Who = found.text[copy(t.Token[:], found.text):]
	return t, nil
}

// Term returns term number n, or an fs.ErrNotExist if it has not begun.
func (a *Archive) Term(ctx context.Context, n uint64) (Term, error) {
	t, err := a.Taken(ctx, n)
	if err != nil {
		return Term{}, err
	}
	start, err := a.note(ctx, startName(n))
	switch {
	case err == nil:
		t.Started, t.From = true, start.seq
	case isMissing(err):
		return t, a.unshipped(ctx, n, startName(n))
	}
	return t, err
}

// unshipped returns an ErrDamaged if something was shipped in term number n, though there is
// no object of a name, which comes first.
func (a *Archive) unshipped(ctx context.Context, n uint64, name string) error {
	_, err := a.Head(ctx, n)
	if err == nil {
		return fmt.Errorf("%s: %w: it is missing, and there is %s", name, ErrDamaged, headName(n))
	}
	if isMissing(err) {
		return nil
	}
	return err
}

// Terms returns all terms there were, and the one there is.
func (a *Archive) Terms(ctx context.Context) (all []Term, err error) {
	for n := uint64(1); ; n++ {
		t, err := a.Term(ctx, n)
		if isMissing(err) {
			return all, a.unshipped(ctx, n, termName(n))
		}
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
}

// Current returns the number of the last term that has started; 0 if none has.
func Current(terms []Term) (n uint64) {
	for _, t := range terms {
		if t.Started {
			n = t.Number
		}
	}
	return n
}

// Take begins a term. If someone else has begun it, the error is an fs.ErrExist.
func (a *Archive) Take(ctx context.Context, t Term) error {
	n := note{term: t.Number, at: t.Since.UnixNano(), text: string(t.Token[:]) + t.Who}
	return a.Folder.PutNew(ctx, termName(t.Number), a.encode(n))
}

// Start says that of the commits before term number n those up to number from count.
func (a *Archive) Start(ctx context.Context, n, from uint64) error {
	return a.Folder.Put(ctx, startName(n), a.encode(note{term: n, seq: from, at: time.Now().UnixNano()}))
}

// Head says up to where all is shipped.
type Head struct {
	Piece uint64 // the number of the first commit of the newest piece; 0: look for it
	Last  uint64 // the number of the last commit
	At    time.Time
}

// PutHead replaces the head of term number n.
func (a *Archive) PutHead(ctx context.Context, n uint64, h Head) error {
	return a.Folder.Put(ctx, headName(n), a.encode(note{term: n, seq: h.Last, at: h.At.UnixNano(), text: fmt.Sprint(h.Piece)}))
}

// Head returns the head of term number n, or an fs.ErrNotExist.
func (a *Archive) Head(ctx context.Context, n uint64) (h Head, err error) {
	found, err := a.note(ctx, headName(n))
	if err != nil {
		return h, err
	}
	h.Last, h.At = found.seq, time.Unix(0, found.at)
	if _, err := fmt.Sscan(found.text, &h.Piece); err != nil {
		return h, fmt.Errorf("%s: %w: %q is no number", headName(n), ErrDamaged, found.text)
	}
	return h, nil
}

// numbers returns the numbers in the name of an object, which begins with begin.
func numbers(name, begin string) (term, number uint64, ok bool) {
	rest, ok := strings.CutPrefix(name, begin)
	if !ok {
		return 0, 0, false
	}
	n, err := fmt.Sscanf(rest, "%d-%d", &term, &number)
	return term, number, err == nil && n == 2
}
