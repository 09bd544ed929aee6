package ashiato

import (
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel"
)

var (
	// ErrNoLogIn does not say which of the two is wrong.
	ErrNoLogIn = errors.New("the handle or the password is wrong")

	ErrNotYours = errors.New("another member wrote this")
	ErrTrashed  = errors.New("the page is in the trash")
	ErrYourself = errors.New("members cannot follow themselves or like their own pages")

	// ErrSentBefore means that nothing was changed; a form with a new id can.
	ErrSentBefore = errors.New("this form was sent before with other contents")
)

// EditConflict is an ErrConflict: a page was saved after the start of a draft of it. It holds both
// versions.
type EditConflict struct {
	Saved *Page // the current version
	Yours Draft // the draft sent
}

func (e *EditConflict) Error() string {
	return fmt.Sprintf("the page was saved in between: it is at version %d, not %d", e.Saved.Version, e.Yours.Version)
}

func (e *EditConflict) Is(target error) bool { return target == kvmodel.ErrConflict }

// usedUp reports whether the id exists, not only a unique value.
func usedUp(err error) bool {
	_, taken := errors.AsType[*kvmodel.TakenError](err)
	return errors.Is(err, kvmodel.ErrExists) && !taken
}

func unlessThere(err error) error {
	if usedUp(err) {
		return nil
	}
	return err
}

func unlessGone(err error) error {
	if errors.Is(err, kvmodel.ErrNotFound) {
		return nil
	}
	return err
}
