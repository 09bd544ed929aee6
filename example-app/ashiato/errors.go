package ashiato

import (
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel"
)

var (
	// ErrNoLogIn is returned when no member has this handle and this password. It does not say
	// which is wrong.
	ErrNoLogIn = errors.New("the handle or the password is wrong")

	// ErrNotYours is returned when a member changes the page of another.
	ErrNotYours = errors.New("another member wrote this")

	// ErrTrashed is returned when a page cannot be changed because it is in the trash.
	ErrTrashed = errors.New("the page is in the trash")

	// ErrYourself is returned when members follow themselves or like a page of their own.
	ErrYourself = errors.New("members cannot follow themselves or like their own pages")

	// ErrSentBefore is returned when a form was sent before with other contents. Nothing was
	// changed; the contents can be sent in a form with a new id.
	ErrSentBefore = errors.New("this form was sent before with other contents")
)

// EditConflict means that a page was saved after the start of a draft of it. It is an ErrConflict.
// It holds both versions, so nothing is lost.
type EditConflict struct {
	Saved *Page // the current version
	Yours Draft // the draft sent
}

func (e *EditConflict) Error() string {
	return fmt.Sprintf("the page was saved in between: it is at version %d, not %d", e.Saved.Version, e.Yours.Version)
}

// Is makes an EditConflict an ErrConflict.
func (e *EditConflict) Is(target error) bool { return target == kvmodel.ErrConflict }

// usedUp reports whether err means that a record with the same id exists, rather than one with the
// same unique value.
func usedUp(err error) bool {
	_, taken := errors.AsType[*kvmodel.TakenError](err)
	return errors.Is(err, kvmodel.ErrExists) && !taken
}

// unlessThere returns err, or nil if err means that the record exists already.
func unlessThere(err error) error {
	if usedUp(err) {
		return nil
	}
	return err
}

// unlessGone returns err, or nil if err means that the record does not exist.
func unlessGone(err error) error {
	if errors.Is(err, kvmodel.ErrNotFound) {
		return nil
	}
	return err
}
