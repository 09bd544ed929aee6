package ashiato

import (
	"context"
	_ "embed"
	"strings"
	"time"

	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel"
)

// A Site performs the actions of people in one database. Methods take the acting member by the id
// from their session; "" is a guest. It is safe for concurrent use. It returns the errors of kvmodel
// and errors.go.
type Site struct {
	Models *Models

	db        *kvmodel.DB
	passwords *guard.Passwords
}

// NewSite returns the Site in db. Call it once for a db, before the first write. The zero hash
// follows OWASP.
func NewSite(db *kvmodel.DB, hash guard.HashCost) *Site {
	s := &Site{Models: New(db), db: db, passwords: guard.NewPasswords(hash)}
	s.Models.Pages.OnChange(s.spread)
	return s
}

// Allow counts tries. It returns a *guard.TooManyError beyond a limit.
func (s *Site) Allow(ctx context.Context, tries ...guard.Try) error {
	return guard.Allow(ctx, s.db.Store(), s.now(), tries...)
}

func (s *Site) DB() *kvmodel.DB { return s.db }

// NewID returns an id for a form, which creates one record however often it is sent.
func (s *Site) NewID() string { return kvmodel.NewID(s.db.Now()) }

// once creates a record with the id of a form. If the form was sent before, it returns that record,
// or ErrSentBefore if the contents differ.
func once[T any](ctx context.Context, records *kvmodel.Records[T, string], id string, record *T, same func(there *T) bool) (*T, error) {
	err := records.Create(ctx, record)
	if err == nil {
		return record, nil
	}
	if !usedUp(err) {
		return nil, err
	}
	there, err := records.Get(ctx, id)
	if err == nil && !same(there) {
		return nil, ErrSentBefore
	}
	return there, err
}

// exists reports whether a member has a record with that id. A guest has none.
func exists[T any, K comparable](ctx context.Context, who string, records *kvmodel.Records[T, K], id K) (bool, error) {
	if who == "" {
		return false, nil
	}
	_, err := records.Get(ctx, id)
	return err == nil, unlessGone(err)
}

//go:embed models.go
var models string

// ModelLine returns the line of models.go that declares a field.
func ModelLine(field string) string {
	_, line, _ := strings.Cut(models, "\n\t"+field+" ")
	line, _, _ = strings.Cut(line, "\n")
	return strings.Join(strings.Fields(field+" "+line), " ")
}

func (s *Site) now() time.Time { return s.db.Now().UTC() }

// Health returns kvmodel.ErrUnavailable if the store does not answer.
func (s *Site) Health(ctx context.Context) error {
	_, err := s.Models.Members.Get(ctx, "nobody")
	return unlessGone(err)
}
