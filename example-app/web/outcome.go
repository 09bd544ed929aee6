package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/templates"
)

// What can be wrong with a request, whatever is stored.
var (
	errNoSuchPage = errors.New("there is nothing at this address")
	errOtherSite  = errors.New("the form was sent from another site")
	errSignedOut  = errors.New("nobody is signed in")
	errBadForm    = errors.New("the form cannot be read")
	errTooBig     = errors.New("the form is too big")
	errTooMany    = new(ashiato.TooManyError)
)

// outcome is what a visitor is told of an error: what happened, and what to do
// next.
type outcome struct {
	err         error
	status      int
	title, says string
}

// outcomes is the table from errors to what visitors are told. The first that
// fits counts, so what could not be asked stands before what was answered.
var outcomes = []outcome{
	{kvmodel.ErrUnclear, http.StatusServiceUnavailable, "The store did not say whether it was saved", "Send it again: it will not be saved twice."},
	{kvmodel.ErrLost, http.StatusServiceUnavailable, "The store has lost its data", "Somebody who runs this site has to decide what now."},
	{kvmodel.ErrUnavailable, http.StatusServiceUnavailable, "The store does not answer", "Nothing was changed. Try again in a moment."},
	{kvmodel.ErrNeedsRebuild, http.StatusServiceUnavailable, "This is being rebuilt", "Try again in a few minutes."},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "The store takes too long", "Try again in a moment."},
	{errTooMany, http.StatusTooManyRequests, "Too many tries", "Nothing was changed."},
	{errSignedOut, http.StatusForbidden, "You are not logged in", "Nothing was changed. Log in, and send it again."},
	{kvsession.ErrEnded, http.StatusForbidden, "You are not logged in any more", "Nothing was changed. Log in, and send it again."},
	{ashiato.ErrNotYours, http.StatusForbidden, "Somebody else has written this", "Only whoever wrote something may change it."},
	{ashiato.ErrYourself, http.StatusForbidden, "Nobody can follow themselves", "Your own pages are on your profile."},
	{errOtherSite, http.StatusForbidden, "This form was sent from another site", "Nothing was changed. Use the forms of this site."},
	{ashiato.ErrTrashed, http.StatusGone, "This page was deleted", "Whoever wrote it has put it into the trash."},
	{ashiato.ErrSentBefore, http.StatusConflict, "This form was sent before", "Nothing was changed this time. Your text is below; save it to make another one."},
	{ashiato.ErrNoLogIn, http.StatusUnprocessableEntity, "The handle or the password is wrong", "The handle or the password is wrong."},
	{errNoSuchPage, http.StatusNotFound, "There is nothing at this address", "It may have been deleted, or the address has a mistake in it."},
	{kvmodel.ErrNotFound, http.StatusNotFound, "There is nothing at this address", "It may have been deleted, or the address has a mistake in it."},
	{kvmodel.ErrBadCursor, http.StatusBadRequest, "This place in the list does not exist", "The address has a mistake in it. Begin at the top of the list."},
	{kvmodel.ErrConflict, http.StatusConflict, "Somebody has changed this meanwhile", "Nothing was done. Look at it again."},
	{kvmodel.ErrExists, http.StatusConflict, "This is taken", "Nothing was changed. Choose another one."},
	{kvmodel.ErrInvalid, http.StatusUnprocessableEntity, "This cannot be stored as it is", "Nothing was changed."},
	{kvmodel.ErrTooLarge, http.StatusRequestEntityTooLarge, "This is too long to be stored", "Nothing was changed."},
	{errTooBig, http.StatusRequestEntityTooLarge, "This is more than a page can hold", "Nothing was changed. Your browser’s back button has your text."},
	{errBadForm, http.StatusBadRequest, "This form cannot be read", "Nothing was changed. Open it again, and send it once more."},
}

// outcomeOf returns what the table says of err.
func outcomeOf(err error) outcome {
	if tooMany, ok := errors.AsType[*ashiato.TooManyError](err); ok {
		o := *find(errTooMany)
		o.says += " The next try is in " + lasting(tooMany.Wait) + "."
		return o
	}
	if o := find(err); o != nil {
		return *o
	}
	return outcome{err, http.StatusInternalServerError, "Something is wrong on this site", "It has been noted. Try again in a moment."}
}

// find returns the row for err, or nil.
func find(err error) *outcome {
	for i := range outcomes {
		if errors.Is(err, outcomes[i].err) {
			return &outcomes[i]
		}
	}
	return nil
}

// report returns what the table says of err, logs what a visitor cannot do
// anything about, and tells the browser when to come back.
func report(v *visit, err error) outcome {
	o := outcomeOf(err)
	if o.status >= http.StatusInternalServerError {
		level := slog.LevelError
		if errors.Is(v.Context().Err(), context.Canceled) {
			level = slog.LevelDebug // The visitor has gone, and that ended the request.
		}
		slog.Log(v.Context(), level, "request failed", "request", v.id, "method", v.Method, "path", v.URL.Path, "err", err)
	}
	if tooMany, ok := errors.AsType[*ashiato.TooManyError](err); ok {
		v.w.Header().Set("Retry-After", strconv.Itoa(int(tooMany.Wait.Seconds())+1))
	} else if o.status == http.StatusServiceUnavailable {
		v.w.Header().Set("Retry-After", "5")
	}
	return o
}

// failure is the page that tells of err.
func (s *Site) failure(v *visit, err error) answer {
	o := report(v, err)
	page := templates.Failure{Title: o.title, Words: o.says, Status: o.status, Request: v.id, Buttons: []templates.Button{
		{Text: "Home", Href: "/", Quiet: o.status >= http.StatusInternalServerError},
	}}
	switch {
	case o.err == errSignedOut || o.err == kvsession.ErrEnded:
		page.Buttons = []templates.Button{{Text: "Log in", Href: "/login"}}
	case o.status >= http.StatusInternalServerError && v.Method == http.MethodGet:
		again := templates.Button{Text: "Try again", Href: v.URL.RequestURI()}
		page.Buttons = append([]templates.Button{again}, page.Buttons...)
	}
	return answer{status: o.status, title: o.title, body: page}
}

// problemsIn returns what err says about the fields of a form.
func problemsIn(err error) ashiato.Problems {
	problems, _ := errors.AsType[ashiato.Problems](err)
	return problems
}
