package conduit

import (
	"context"
	"errors"

	"github.com/ringtree/ringtree/kvmodel"
)

type NewUser struct{ Username, Email, Password string }

// UserChange has the fields to set; nil ones stay.
type UserChange struct{ Username, Email, Password, Bio, Image *string }

func (u *User) Validate() error {
	p := kvmodel.Problems{}
	notBlank(p, "username", u.Username)
	notBlank(p, "email", u.Email)
	notBlank(p, "password", string(u.Password.Key))
	return p.Err()
}

func notBlank(p kvmodel.Problems, field, text string) {
	if text == "" {
		p.Add(field, "can't be blank")
	}
}

// Register is POST /api/users.
func (a *App) Register(ctx context.Context, n NewUser) (*Account, error) {
	password, err := hashOf(n.Password, a.passes)
	if err != nil {
		return nil, err
	}
	u := &User{Username: n.Username, Email: n.Email, Password: password}
	if err := a.m.Users.Create(ctx, u); err != nil {
		return nil, err
	}
	return accountOf(u), nil
}

// Login is POST /api/users/login.
func (a *App) Login(ctx context.Context, email, password string) (*Account, error) {
	u, err := a.m.Users.ByEmail.Find(ctx, email)
	if errors.Is(err, kvmodel.ErrNotFound) {
		return nil, about("credentials", ErrWrong)
	}
	if err != nil {
		return nil, err
	}
	right, err := u.Password.matches(password)
	if err != nil {
		return nil, err
	}
	if !right {
		return nil, about("credentials", ErrWrong)
	}
	return accountOf(u), nil
}

// CurrentUser is GET /api/user.
func (a *App) CurrentUser(ctx context.Context, viewer string) (*Account, error) {
	u, err := a.m.Users.Get(ctx, viewer)
	if errors.Is(err, kvmodel.ErrNotFound) {
		return nil, about("token", ErrWrong)
	}
	if err != nil {
		return nil, err
	}
	return accountOf(u), nil
}

// UpdateUser is PUT /api/user.
func (a *App) UpdateUser(ctx context.Context, viewer string, c UserChange) (*Account, error) {
	var password Hash
	if c.Password != nil {
		var err error
		if password, err = hashOf(*c.Password, a.passes); err != nil {
			return nil, err
		}
	}
	u, err := a.m.Users.Update(ctx, viewer, func(u *User) error {
		set(&u.Username, c.Username)
		set(&u.Email, c.Email)
		set(&u.Bio, c.Bio)
		set(&u.Image, c.Image)
		if c.Password != nil {
			u.Password = password
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return accountOf(u), nil
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}
