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

// SignUp creates a member, once for a form with an id from NewID; the second time it is a LogIn. It
// returns ErrSentBefore, Problems, or a *kvmodel.TakenError for the handle.
func (s *Site) SignUp(ctx context.Context, id, handle, password, from string) (*Member, error) {
	m := &Member{ID: id, Handle: norm.NFKC.String(handle), Joined: s.now()}
	problems := kvmodel.ProblemsOf(m.Validate())
	problems.Add("id", formProblem(id))
	problems.Add("password", passwordProblem(password))
	if err := problems.Err(); err != nil {
		return nil, err
	}
	var err error
	if m.Password, err = s.passwords.Hash(ctx, password); err != nil {
		return nil, err
	}
	if err = s.Models.Members.Create(ctx, m); !usedUp(err) {
		return m, err
	}
	there, err := s.LogIn(ctx, handle, password, from, nil)
	if errors.Is(err, ErrNoLogIn) || err == nil && there.ID != m.ID {
		return nil, ErrSentBefore
	}
	return there, err
}

// LogIn returns the member, ErrNoLogIn or a *guard.TooManyError. Attempts are limited per origin,
// per handle, and per both. The work is the same whether or not the member exists. begin, if not
// nil, is called before the password is read.
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

var passwordChanges = guard.Limit{What: "password", Times: 10, Per: 15 * time.Minute}

// PasswordChange is an allowed change, with both passwords in their stored form.
type PasswordChange struct{ Member, Old, New string }

// NewPassword returns a *guard.TooManyError, or Problems with "old" or "password".
func (s *Site) NewPassword(ctx context.Context, who, old, password string) (PasswordChange, error) {
	none := PasswordChange{}
	if problem := passwordProblem(password); problem != "" {
		return none, kvmodel.Problems{"password": problem}
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
		return none, kvmodel.Problems{"old": "This is not your current password."}
	}
	stored, err := s.passwords.Hash(ctx, password)
	return PasswordChange{who, m.Password, stored}, err
}

// SetPassword carries out c once. It refuses if the member has left or the password has changed.
func (s *Site) SetPassword(ctx context.Context, c PasswordChange) error {
	_, err := s.Models.Members.Update(ctx, c.Member, func(m *Member) error {
		if m.Password != c.Old && m.Password != c.New {
			return kvmodel.Refused(fmt.Errorf("%w: the password has changed", kvmodel.ErrConflict))
		}
		m.Password = c.New
		return nil
	})
	if errors.Is(err, kvmodel.ErrNotFound) {
		return kvmodel.Refused(err)
	}
	return err
}

// HashPassword returns the stored form of a password, for members created without SignUp.
func (s *Site) HashPassword(ctx context.Context, password string) (string, error) {
	return s.passwords.Hash(ctx, password)
}

// Describe sets the description of a member. It returns Problems with "about".
func (s *Site) Describe(ctx context.Context, who, about string) error {
	_, err := s.Models.Members.Update(ctx, who, func(m *Member) error {
		m.About = lines(about)
		return nil
	})
	return err
}
