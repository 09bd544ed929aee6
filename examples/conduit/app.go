package conduit

import (
	"errors"

	"github.com/ringtree/ringtree/kvmodel"
)

// App implements the API. Its methods take the id of the requesting user, viewer, which is "" for
// anonymous requests. The error for something missing or forbidden is an [*Error].
type App struct {
	db *kvmodel.DB
	m  *Models

	passes int
}

type Options struct {
	Passes int // number of times a password is hashed; 0: 600,000
}

func NewApp(db *kvmodel.DB, opts Options) *App {
	a := &App{db: db, m: New(db), passes: opts.Passes}
	if a.passes == 0 {
		a.passes = 600_000
	}
	return a
}

// Models returns the records of the app, to fill or inspect them.
func (a *App) Models() *Models { return a.m }

// Error is the reason for a rejected request, with its subject.
type Error struct {
	About string // article, comment, profile, credentials or token
	Err   error
}

// The reasons for rejecting a request, besides an ErrNotFound.
var (
	ErrForbidden   = errors.New("forbidden") // it belongs to another user
	ErrWrong       = errors.New("invalid")   // the password, or the token
	ErrNotSignedIn = errors.New("is missing")
)

func (e *Error) Error() string { return e.About + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

func about(what string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{what, err}
}
