package ashiato

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

var (
	// ErrNoLogIn says that nobody has this handle and this password: not which
	// of the two is wrong.
	ErrNoLogIn = errors.New("the handle or the password is wrong")

	// ErrNotYours says that only whoever wrote something may change it.
	ErrNotYours = errors.New("somebody else has written this")

	// ErrTrashed says that a page cannot be changed, since it is in the trash.
	ErrTrashed = errors.New("the page is in the trash")

	// ErrYourself says that nobody can follow themselves.
	ErrYourself = errors.New("nobody can follow themselves")

	// ErrSentBefore says that a form has been sent before, with something else
	// in it. Nothing was changed: a form with a new id can be sent.
	ErrSentBefore = errors.New("this form was sent before, with something else in it")
)

// Problems says what is wrong with what somebody typed, by the name of the field
// in the form: handle, password, old, about, slug, title, body, topics, text.
// It is an ErrInvalid.
type Problems map[string]string

func (p Problems) Error() string {
	var all []string
	for _, field := range slices.Sorted(maps.Keys(p)) {
		all = append(all, field+": "+p[field])
	}
	return strings.Join(all, "; ")
}

// Is makes Problems an ErrInvalid.
func (p Problems) Is(target error) bool { return target == kvmodel.ErrInvalid }

// orNil returns p as an error if there are any.
func (p Problems) orNil() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// check notes says for field unless it is empty.
func (p Problems) check(field, says string) {
	if says != "" {
		p[field] = says
	}
}

// TooManyError says that somebody has tried too often, and how long to wait.
type TooManyError struct{ Wait time.Duration }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("too many tries; the next one is in %s", e.Wait.Round(time.Second))
}

// EditConflict says that somebody has saved a page since the draft was begun. It
// is an ErrConflict, and has both: nothing is lost.
type EditConflict struct {
	Saved *Page // as it is now
	Yours Draft // what was sent
}

func (e *EditConflict) Error() string {
	return fmt.Sprintf("the page has been saved meanwhile: it is at version %d, not %d", e.Saved.Version, e.Yours.Version)
}

// Is makes an EditConflict an ErrConflict.
func (e *EditConflict) Is(target error) bool { return target == kvmodel.ErrConflict }

// problemsOf returns what Validate has said.
func problemsOf(err error) Problems {
	if problems, ok := errors.AsType[Problems](err); ok {
		return problems
	}
	return Problems{}
}

// fieldOf says which field of a form the values of a unique index come from.
var fieldOf = map[string]string{"BySlug": "slug", "ByHandle": "handle"}

// taken returns err as Problems if it says that a unique value is taken.
func taken(err error) error {
	if e, ok := errors.AsType[*kvmodel.TakenError](err); ok {
		return Problems{fieldOf[e.Index]: "“" + e.Value + "” is taken."}
	}
	return err
}

// usedUp tells whether err says that there is a record with that very id.
func usedUp(err error) bool {
	_, taken := errors.AsType[*kvmodel.TakenError](err)
	return errors.Is(err, kvmodel.ErrExists) && !taken
}
