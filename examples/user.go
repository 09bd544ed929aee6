package examples

import (
	"errors"
	"strings"
	"time"
)

// User is a person who has signed up.
type User struct {
	ID     string `kv:"id"`
	Name   string `kv:"unique"`
	Mail   string
	Latest time.Time // when the user made a page last
}

// Address is the user's mail address without differences that mean nothing, so
// that no one signs up with it twice.
//
//kv:unique,name=ByMail
func (u *User) Address() string { return strings.ToLower(strings.TrimSpace(u.Mail)) }

// ErrNoName is what Validate returns for a User without a name.
var ErrNoName = errors.New("a user needs a name")

// Validate says why a User may not be stored.
func (u *User) Validate() error {
	if u.Name == "" {
		return ErrNoName
	}
	return nil
}

// Session is a user's log-in, which ends by itself.
type Session struct {
	Token  string    `kv:"id"`
	User   string    `kv:"list"` // the id
	Until  time.Time `kv:"expires"`
	Secret string    `kv:"-"` // for this request only
}
