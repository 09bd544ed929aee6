package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/templates"
)

// These errors come from the request, not from the data.
var (
	errNoSuchPage = errors.New("page not found")
	errOtherSite  = errors.New("the form was sent from another site")
	errSignedOut  = errors.New("not logged in")
	errBadForm    = errors.New("the form is incomplete")
)

// outcome is the message for a visitor after an error.
type outcome struct {
	err         error
	status      int // 0: the status of the data layer
	title, says string
}

// The first match counts, so failures of the store come before its answers.
var outcomes = []outcome{
	{kvmodel.ErrUnclear, 0, "The store did not confirm that this was saved", "Send it again. It will not be saved twice."},
	{kvmodel.ErrLost, 0, "The store has lost its data", "Try again in a moment. If this stays, the people who run this site have to decide: example-app db recover says what is gone, and brings back what is left."},
	{kvmodel.ErrUnavailable, 0, "The store is not responding", "Nothing was changed. Try again in a moment."},
	{kvmodel.ErrNeedsRebuild, 0, "This list is being rebuilt", "Try again in a few minutes."},
	{context.DeadlineExceeded, 0, "The store took too long to respond", "Try again in a moment."},
	{new(guard.TooManyError), http.StatusTooManyRequests, "Too many attempts", "Nothing was changed."},
	{errSignedOut, http.StatusForbidden, "You are not logged in", "Nothing was changed. Log in and send it again."},
	{kvsession.ErrEnded, http.StatusForbidden, "Your session has ended", "Nothing was changed. Log in and send it again."},
	{kvsession.ErrRevoked, http.StatusConflict, "You have been logged out everywhere", "This happened while you were logging in. Log in again."},
	{ashiato.ErrNotYours, http.StatusForbidden, "This belongs to someone else", "Only its author can change it."},
	{ashiato.ErrYourself, http.StatusForbidden, "You cannot follow yourself or like your own page", "Likes are the votes of the readers."},
	{errOtherSite, http.StatusForbidden, "This form was sent from another site", "Nothing was changed. Use the forms on this site."},
	{ashiato.ErrTrashed, http.StatusGone, "This page was deleted", "Its author moved it to the trash."},
	{ashiato.ErrSentBefore, http.StatusConflict, "This form was already sent", "Nothing was changed this time. What you typed is below. Send it to create another one."},
	{ashiato.ErrNoLogIn, http.StatusUnprocessableEntity, "Wrong handle or password", "Check both and try again."},
	{errNoSuchPage, http.StatusNotFound, "Page not found", "It may have been deleted, or the address may be wrong."},
	{kvmodel.ErrNotFound, 0, "Page not found", "It may have been deleted, or the address may be wrong."},
	{kvmodel.ErrBadCursor, 0, "This part of the list does not exist", "The address may be wrong. Start at the top of the list."},
	{kvmodel.ErrConflict, 0, "This has changed since you opened it", "Nothing was changed. Open it again to see the latest version."},
	{kvmodel.ErrExists, 0, "This is already taken", "Nothing was changed. Choose another one."},
	{kvmodel.ErrInvalid, 0, "This cannot be saved as it is", "Nothing was changed."},
	{kvmodel.ErrTooLarge, 0, "This is too long to save", "Nothing was changed."},
	{errBadForm, http.StatusBadRequest, "This form is incomplete", "Nothing was changed. Open the page again and resend the form."},
}

func outcomeOf(err error) outcome {
	o := outcome{err, http.StatusInternalServerError, "Something went wrong", "The error has been logged. Try again in a moment."}
	if at := slices.IndexFunc(outcomes, func(o outcome) bool { return errors.Is(err, o.err) }); at >= 0 {
		o = outcomes[at]
	}
	if refused, ok := errors.AsType[*templates.FormError](err); ok {
		o = outcome{err, refused.Status, "This form was not accepted", refused.Words}
	}
	if o.status == 0 {
		o.status = kvmodel.HTTPStatus(o.err)
	}
	if tooMany, ok := errors.AsType[*guard.TooManyError](err); ok {
		o.says += " Try again in " + counted(int64(tooMany.Wait.Minutes())+1, "minute", "minutes") + "."
	}
	return o
}

// report logs errors caused by the site.
func (v *visit) report(err error) outcome {
	o := outcomeOf(err)
	v.site.config.Recovery.Notice(err)
	if o.status >= http.StatusInternalServerError {
		level := slog.LevelError
		if errors.Is(v.Context().Err(), context.Canceled) {
			level = slog.LevelDebug // The visitor left, and that ended the request.
		}
		slog.Log(v.Context(), level, "request failed", "request", v.id, "method", v.Method, "path", v.URL.Path, "err", err)
	}
	if tooMany, ok := errors.AsType[*guard.TooManyError](err); ok {
		v.w.Header().Set("Retry-After", strconv.Itoa(int(tooMany.Wait.Seconds())+1))
	} else if o.status == http.StatusServiceUnavailable {
		v.w.Header().Set("Retry-After", "5")
	}
	return o
}

func (v *visit) fail(err error) {
	visitor, unknown := v.visitor()
	if unknown != nil && outcomeOf(err).status < http.StatusInternalServerError {
		err = unknown
	}
	o := v.report(err)
	v.status = o.status
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
	v.write(frame{Title: o.title}, visitor, page)
}
