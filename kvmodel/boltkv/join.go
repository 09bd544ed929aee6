package boltkv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/archive"
)

// tenure is what the file itself says about the term in which it ships.
type tenure struct {
	number uint64 // 0: it never did
	taken  bool   // The folder knows.
	token  archive.Token
	folder string
}

func (t *tenure) encode() []byte {
	buf := binary.BigEndian.AppendUint64(nil, t.number)
	taken := byte(0)
	if t.taken {
		taken = 1
	}
	return append(append(append(buf, taken), t.token[:]...), t.folder...)
}

func decodeTenure(buf []byte) (t tenure) {
	const least = 8 + 1 + len(t.token)
	if len(buf) < least {
		return t
	}
	t.number, t.taken = binary.BigEndian.Uint64(buf), buf[8] != 0
	copy(t.token[:], buf[9:])
	t.folder = string(buf[least:])
	return t
}

func (s *Store) tenure() (tenure, error) {
	buf, err := s.meta(termKey)
	return decodeTenure(buf), err
}

// join finds out where the folder stands, and begins the first term if there is none.
func (sh *shipper) join(ctx context.Context) error {
	terms, err := sh.to.Terms(ctx)
	if errors.Is(err, archive.ErrForeign) {
		return fmt.Errorf("%w: %w", ErrFolder, err)
	}
	if err != nil {
		return err
	}
	t, err := sh.tenure()
	if err != nil {
		return err
	}
	if len(terms) == 0 {
		if t.taken && t.folder == sh.folder {
			return errors.New("the folder is empty, though this store has shipped to it: is it mounted?")
		}
		return sh.beginFirst(ctx, t)
	}
	latest := terms[len(terms)-1]
	own := slices.IndexFunc(terms, func(term archive.Term) bool { return term.Token == t.token })
	if own < 0 {
		return fmt.Errorf("%w: %s ships there, with term %d", ErrFolder, latest.Who, latest.Number)
	}
	if err := sh.goOn(ctx, terms[own]); err != nil {
		return err
	}
	sh.term, sh.piece.Term = terms[own], terms[own].Number
	sh.wakeSnapshots()
	return nil
}

// beginFirst begins the first term. The file notes it before, so that after a crash it knows
// the term for its own. The next call of join goes on.
func (sh *shipper) beginFirst(ctx context.Context, t tenure) error {
	if t.taken || t.number != 1 || t.folder != sh.folder {
		t = tenure{number: 1, token: archive.NewToken(), folder: sh.folder}
		if err := sh.setMeta(termKey, t.encode()); err != nil {
			return err
		}
	}
	if err := sh.to.Take(ctx, archive.Term{Number: t.number, Token: t.token, Who: who(sh.path), Since: time.Now()}); err != nil {
		return err
	}
	return sh.join(ctx)
}

// goOn finds out what was shipped of the store's term.
func (sh *shipper) goOn(ctx context.Context, term archive.Term) error {
	t, err := sh.tenure()
	if err == nil && !t.taken {
		t.taken = true
		err = sh.setMeta(termKey, t.encode())
	}
	if err == nil && !term.Started {
		term.From = sh.first() - 1
		err = sh.to.Start(ctx, term.Number, term.From)
	}
	if err != nil {
		return err
	}
	last, ok, err := sh.to.Last(ctx, term.Number)
	switch {
	case errors.Is(err, archive.ErrDamaged):
		// What is in the piece was shipped, and is lost: the next snapshot makes up for it.
		sh.want.Store(true)
		sh.last = last.Seq
		if head, err := sh.to.Head(ctx, term.Number); err == nil {
			sh.last = max(sh.last, head.Last)
		}
	case err != nil:
		return err
	case ok:
		sh.last, sh.made = last.Seq, last.Time
	default:
		sh.last = term.From
	}
	return nil
}
