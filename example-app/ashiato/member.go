package ashiato

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel"
)

// Joining is the form for signing up.
type Joining struct {
	ID       string // of the form: NewID
	Handle   string
	Password string
	About    string
	From     string // where it comes from, as in LogIn
}

// SignUp makes a member. A form that is sent twice makes one member: the second time it is a
// LogIn. It returns ErrSentBefore, or Problems, including one with a handle that is taken.
func (s *Site) SignUp(ctx context.Context, form Joining) (*Member, error) {
	m := &Member{ID: form.ID, Handle: norm.NFKC.String(form.Handle), About: lines(form.About), Joined: s.now()}
	problems := kvmodel.ProblemsOf(m.Validate())
	problems.Add("id", formProblem(form.ID))
	problems.Add("password", passwordProblem(form.Password))
	if err := problems.Err(); err != nil {
		return nil, err
	}
	var err error
	if m.Password, err = s.passwords.Hash(ctx, form.Password); err != nil {
		return nil, err
	}
	if err = s.Models.Members.Create(ctx, m); !usedUp(err) {
		return m, taken(err)
	}
	there, err := s.LogIn(ctx, form.Handle, form.Password, form.From, nil)
	if errors.Is(err, ErrNoLogIn) || err == nil && there.ID != m.ID {
		return nil, ErrSentBefore
	}
	return there, err
}

// LogIn returns the member with that handle and password. from is where the try
// comes from, such as the visitor's address: tries are limited for each address, for
// each handle at one address, and for each handle. If it fails, it returns ErrNoLogIn or a
// *guard.TooManyError. It does the same work whether or not there is such a member. begin, unless
// it is nil, is called with the id of the member before the password is read.
func (s *Site) LogIn(ctx context.Context, handle, password, from string, begin func(ctx context.Context, id string) error) (*Member, error) {
	handle = norm.NFKC.String(handle)
	name := normal(handle)
	if utf8.RuneCountInString(handle) > MaxHandle || len(password) > MaxPassword {
		return nil, ErrNoLogIn
	}
	if err := guard.AllowSignIn(ctx, s.db.Store(), s.now(), name, from); err != nil {
		return nil, err
	}
	m, err := s.Models.Members.ByHandle.Find(ctx, name)
	if errors.Is(err, kvmodel.ErrNotFound) {
		m, err = &Member{ID: "nobody"}, nil
	}
	if err == nil && begin != nil {
		err = begin(ctx, m.ID)
	}
	if err != nil {
		return nil, err
	}
	if m, err = s.Models.Members.Get(ctx, m.ID); errors.Is(err, kvmodel.ErrNotFound) {
		m = &Member{}
	} else if err != nil {
		return nil, err
	}
	ok, err := s.passwords.Match(ctx, m.Password, password)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, ErrNoLogIn
	}
	return m, nil
}

// passwordChanges limits how often a member may try to change their password.
var passwordChanges = guard.Limit{What: "password", Times: 10, Per: 15 * time.Minute}

// PasswordChange is a change of a member's password that was allowed. Both passwords are as
// they are stored.
type PasswordChange struct{ Member, Old, New string }

// NewPassword returns the change of the password of who. It returns a *guard.TooManyError, or
// Problems with "old" if that is not the current password or with "password" if the new one
// is not allowed.
func (s *Site) NewPassword(ctx context.Context, who, old, password string) (PasswordChange, error) {
	none := PasswordChange{}
	if problem := passwordProblem(password); problem != "" {
		return none, Problems{"password": problem}
	}
	if err := s.Allow(ctx, guard.Try{Limit: passwordChanges, Who: who}); err != nil {
		return none, err
	}
	m, err := s.Models.Members.Get(ctx, who)
	if err != nil {
		return none, err
	}
	ok, err := s.passwords.Match(ctx, m.Password, old)
	if err != nil {
		return none, err
	}
	if !ok {
		return none, Problems{"old": "This is not your current password."}
	}
	stored, err := s.passwords.Hash(ctx, password)
	return PasswordChange{who, m.Password, stored}, err
}

// SetPassword carries out c, unless that was done. It returns an ErrConflict if the member
// has got another password in between, and ErrNotFound if they are gone.
func (s *Site) SetPassword(ctx context.Context, c PasswordChange) error {
	_, err := s.Models.Members.Update(ctx, c.Member, func(m *Member) error {
		if m.Password != c.Old && m.Password != c.New {
			return fmt.Errorf("%w: the password has changed", kvmodel.ErrConflict)
		}
		m.Password = c.New
		return nil
	})
	return err
}

// HashPassword returns the stored form of a password, for code that makes members
// without SignUp.
func (s *Site) HashPassword(ctx context.Context, password string) (string, error) {
	return s.passwords.Hash(ctx, password)
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
