package ashiato

import (
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// Site is what people can do in one database. Its methods take who does it as
// the id of a member, which must come from that member's session; "" is a
// visitor who has not logged in. They are safe for use by many at once.
//
// Errors are those of kvmodel, and the ones of errors.go.
type Site struct {
	Models *Models

	db        *kvmodel.DB
	passwords *passwords
}

// Options are how a Site behaves. The zero Options are good.
type Options struct {
	// Hash is what a password costs to try. The zero Hash is what OWASP asks
	// for; tests take less.
	Hash Hash
}

// NewSite returns the Site in db. It belongs into the program's wiring: before
// the first write, and once for a db.
func NewSite(db *kvmodel.DB, o Options) *Site {
	s := &Site{Models: New(db), db: db, passwords: newPasswords(o.Hash)}
	s.Models.Pages.OnChange(s.spread)
	return s
}

// DB returns the database of the site.
func (s *Site) DB() *kvmodel.DB { return s.db }

// NewID returns an id for a form: what is made under it is made once, however
// often the form is sent.
func (s *Site) NewID() string { return kvmodel.NewID(s.db.Now()) }

func (s *Site) now() time.Time { return s.db.Now().UTC() }

// pageSize is how many pages, comments and members a listing shows.
const pageSize = 20
