package ashiato

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/ringtree/ringtree/kvmodel"
)

// Joining is the form for signing up.
type Joining struct {
	ID       string // of the form: NewID
	Handle   string
	Password string
	About    string
}

// SignUp makes a member. A form that is sent twice makes one member. It returns
// ErrSentBefore, or Problems, including one with a handle that is taken.
func (s *Site) SignUp(ctx context.Context, form Joining) (*Member, error) {
	m := &Member{ID: form.ID, Handle: norm.NFKC.String(form.Handle), About: lines(form.About), Joined: s.now()}
	problems := kvmodel.ProblemsOf(m.Validate())
	problems.Add("id", formProblem(form.ID))
	problems.Add("password", passwordProblem(form.Password))
	if err := problems.Err(); err != nil {
		return nil, err
	}
	var err error
	if m.Password, err = s.passwords.hash(ctx, form.Password); err != nil {
		return nil, err
	}
	joined, err := once(ctx, s.Models.Members.Records, m.ID, m, func(there *Member) (bool, error) {
		same, err := s.passwords.match(ctx, there.Password, form.Password)
		return same && there.Handle == m.Handle, err
	})
	return joined, taken(err)
}

// LogIn returns the member with that handle and password. from is where the try
// comes from, such as the visitor's address: tries are limited for each address, for
// each handle at one address, and for each handle. If it fails, it returns ErrNoLogIn or a
// *TooManyError. It does the same work whether or not there is such a member.
func (s *Site) LogIn(ctx context.Context, handle, password, from string) (*Member, error) {
	handle = norm.NFKC.String(handle)
	name := normal(handle)
	if utf8.RuneCountInString(handle) > MaxHandle || len(password) > MaxPassword {
		return nil, ErrNoLogIn
	}
	// No address has a space in it.
	err := s.Allow(ctx, Try{logInsFrom, from}, Try{logInsFromOf, from + " " + name})
	if err == nil {
		err = s.Allow(ctx, Try{logInsOf, name})
	}
	if err != nil {
		return nil, err
	}
	m, err := s.Models.Members.ByHandle.Find(ctx, name)
	if errors.Is(err, kvmodel.ErrNotFound) {
		m = &Member{}
	} else if err != nil {
		return nil, err
	}
	ok, err := s.passwords.match(ctx, m.Password, password)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, ErrNoLogIn
	}
	return m, nil
}

// ChangePassword gives who a new password. It returns a *TooManyError, or Problems
// with "old" if that is not the current password or with "password" if the new one
// is not allowed.
func (s *Site) ChangePassword(ctx context.Context, who, old, password string) error {
	if problem := passwordProblem(password); problem != "" {
		return Problems{"password": problem}
	}
	if err := s.Allow(ctx, Try{passwordChanges, who}); err != nil {
		return err
	}
	m, err := s.Models.Members.Get(ctx, who)
	if err != nil {
		return err
	}
	ok, err := s.passwords.match(ctx, m.Password, old)
	if err != nil {
		return err
	}
	if !ok {
		return Problems{"old": "This is not your current password."}
	}
	return s.setPassword(ctx, m, password)
}

// HashPassword returns the stored form of a password, for code that makes members
// without SignUp.
func (s *Site) HashPassword(ctx context.Context, password string) (string, error) {
	return s.passwords.hash(ctx, password)
}

// setPassword gives m a password, unless the password of m has changed since it
// was read.
func (s *Site) setPassword(ctx context.Context, m *Member, password string) error {
	stored, err := s.passwords.hash(ctx, password)
	if err != nil {
		return err
	}
	_, err = s.Models.Members.Update(ctx, m.ID, func(now *Member) error {
		if now.Password != m.Password {
			return fmt.Errorf("%w: the password has changed", kvmodel.ErrConflict)
		}
		now.Password = stored
		return nil
	})
	return err
}

// Describe changes what a member says about themselves. It returns Problems with
// "about".
func (s *Site) Describe(ctx context.Context, who, about string) (*Member, error) {
	return s.Models.Members.Update(ctx, who, func(m *Member) error {
		m.About = lines(about)
		return nil
	})
}

// Visitor is what the frame of every page shows of its visitor.
type Visitor struct {
	Member *Member
	Unread int // footprints they have not seen, of those that Visit keeps
}

// Visitor returns the logged-in visitor who. For "" it returns nil without asking
// the store. It returns ErrNotFound if the member is gone.
func (s *Site) Visitor(ctx context.Context, who string) (*Visitor, error) {
	if who == "" {
		return nil, nil
	}
	v := &Visitor{}
	var visits []Visit
	err := s.db.SideBySide(ctx, func(ctx context.Context) (err error) {
		v.Member, err = s.Models.Members.Get(ctx, who)
		return err
	}, func(ctx context.Context) (err error) {
		visits, err = s.visits(ctx, who)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, visit := range visits {
		if visit.At.After(v.Member.Looked) {
			v.Unread++
		}
	}
	return v, nil
}

// Profile is the page of a member.
type Profile struct {
	Member   *Member
	Followed bool // by the visitor
	Pages    Listing
}

// Profile returns the profile of the member with that handle as who sees it, with
// the member's pages from the cursor on. It leaves no footprint; Visit does. It
// returns ErrNotFound or ErrBadCursor.
func (s *Site) Profile(ctx context.Context, who, handle, cursor string) (*Profile, error) {
	m, err := s.Find(ctx, handle)
	if err != nil {
		return nil, err
	}
	p := &Profile{Member: m}
	err = s.db.SideBySide(ctx, func(ctx context.Context) error {
		page, err := s.Models.Pages.NewestByAuthor.Of(m.ID).Page(ctx, cursor, pageSize)
		p.Pages = listingBy(page, map[string]*Member{m.ID: m})
		return orRebuilding(&p.Pages.Rebuilding, err)
	}, func(ctx context.Context) (err error) {
		p.Followed, err = s.follows(ctx, who, m.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Find returns the member with that handle, or ErrNotFound.
func (s *Site) Find(ctx context.Context, handle string) (*Member, error) {
	return s.Models.Members.ByHandle.Find(ctx, normal(handle))
}
