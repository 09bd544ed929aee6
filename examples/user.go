package examples

import (
	"errors"
	"strings"
	"time"
)

// User is an account.
type User struct {
	ID     string `kv:"id"`
	Name   string `kv:"unique"`
	Mail   string
	Latest time.Time // when the user last made a page
}

// Address is the user's mail address without insignificant differences, so that it cannot be
// registered twice.
//
//kv:unique,name=ByMail
func (u *User) Address() string { return strings.ToLower(strings.TrimSpace(u.Mail)) }

// ErrNoName is the error of Validate for a User without a name.
var ErrNoName = errors.New("a user needs a name")

func (u *User) Validate() error {
	if u.Name == "" {
		return ErrNoName
	}
	return nil
}

// Session is a user's log-in. It expires.
type Session struct {
	Token  string    `kv:"id"`
	User   string    `kv:"list"` // the id
	Until  time.Time `kv:"expires"`
	Secret string    `kv:"-"` // for this request only
}
