package conduit

import (
	"errors"

	"github.com/ringtree/ringtree/kvmodel"
)

// App is what the API can do. Its methods take the id of the user who asks, viewer, which is ""
// if nobody has signed in. What is missing or not allowed is an [*Error].
type App struct {
	db *kvmodel.DB
	m  *Models

	passes int // of a password's hash
}

// Options changes an App. The zero value is right.
type Options struct {
	Passes int // how often a password is hashed; 0: 600,000 times
}

// NewApp returns the App with the records in db.
func NewApp(db *kvmodel.DB, opts Options) *App {
	a := &App{db: db, m: New(db), passes: opts.Passes}
	if a.passes == 0 {
		a.passes = 600_000
	}
	return a
}

// Models returns the records of the app, for those who fill or inspect them.
func (a *App) Models() *Models { return a.m }

// Error says what a request asked for and did not get, and why.
type Error struct {
	About string // article, comment, profile, credentials or token
	Err   error
}

// Why a request is refused, besides an ErrNotFound.
var (
	ErrForbidden   = errors.New("forbidden") // it belongs to someone else
	ErrWrong       = errors.New("invalid")   // the password, or the token
	ErrNotSignedIn = errors.New("is missing")
)

func (e *Error) Error() string { return e.About + ": " + e.Err.Error() }

// Unwrap returns why.
func (e *Error) Unwrap() error { return e.Err }

// about says in err what it is about. No error stays none.
func about(what string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{what, err}
}
