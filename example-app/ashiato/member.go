package ashiato

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel"
)

// Joining is the form with which somebody signs up.
type Joining struct {
	ID       string // of the form: NewID
	Handle   string
	Password string
	About    string
}

// SignUp makes a member. It returns Problems, of which "taken" is one, or
// ErrSentBefore. A form that is sent twice makes one member.
func (s *Site) SignUp(ctx context.Context, form Joining) (*Member, error) {
	panic("to follow")
}

// LogIn returns the member with that handle and password. from is where the try
// comes from, such as the visitor's address: each address and each handle has so
// many tries. Otherwise it returns Problems, ErrNoLogIn or a *TooManyError, each after the
// same work whether or not there is such a member.
func (s *Site) LogIn(ctx context.Context, handle, password, from string) (*Member, error) {
	panic("to follow")
}

// ChangePassword gives who another password. It returns Problems: of "old" if
// that is not the present password, of "password" for the new one.
func (s *Site) ChangePassword(ctx context.Context, who, old, password string) error {
	panic("to follow")
}

// Describe changes what a member says about themselves. It returns Problems of
// "about".
func (s *Site) Describe(ctx context.Context, who, about string) (*Member, error) {
	panic("to follow")
}

// Visitor is what the frame of every page shows of who looks at it.
type Visitor struct {
	Member *Member
	Unread int // footprints they have not seen; 100 may be more
}

// Visitor returns who is logged in; nil, without asking, for "". ErrNotFound if
// the member is gone.
func (s *Site) Visitor(ctx context.Context, who string) (*Visitor, error) {
	panic("to follow")
}

// Profile is the page of a member.
type Profile struct {
	Member   *Member
	Followed bool // by who looks
	Pages    Listing
}

// Profile returns what who sees of the member with that handle, whose pages are
// shown from the cursor on. ErrNotFound; ErrBadCursor. It leaves no footprint:
// see Visit.
func (s *Site) Profile(ctx context.Context, who, handle, cursor string) (*Profile, error) {
	panic("to follow")
}

// Find returns the member with that handle, or ErrNotFound.
func (s *Site) Find(ctx context.Context, handle string) (*Member, error) {
	panic("to follow")
}

// Newcomers returns the members who joined last.
func (s *Site) Newcomers(ctx context.Context, cursor string) (kvmodel.Listing[Member], error) {
	panic("to follow")
}
