package guard

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type HashCost struct {
	Passes  uint32
	Memory  uint32 // in KiB
	Threads uint8
}

// owasp is the minimum in OWASP's Password Storage Cheat Sheet.
var owasp = HashCost{Passes: 2, Memory: 19 << 10, Threads: 1}

const (
	saltSize = 16
	sumSize  = 32
)

// Passwords hashes passwords with argon2id, two at a time: in a flood of sign-ins, others wait
// instead of filling the memory.
type Passwords struct {
	cost  HashCost
	turns chan struct{}

	nobody string // hash for unknown names, so that they take as long as others
}

// NewPasswords returns Passwords of that cost. The zero HashCost means the minimum of OWASP.
func NewPasswords(cost HashCost) *Passwords {
	if cost == (HashCost{}) {
		cost = owasp
	}
	p := &Passwords{cost: cost, turns: make(chan struct{}, 2)}
	p.nobody = cost.sum(rand.Text())
	return p
}

// Hash returns the stored form of a password.
func (p *Passwords) Hash(ctx context.Context, password string) (stored string, err error) {
	err = p.turn(ctx, func() { stored = p.cost.sum(password) })
	return stored, err
}

// Match reports whether stored is the stored form of password. If stored is empty, for an unknown user,
// it returns false after the same time.
func (p *Passwords) Match(ctx context.Context, stored, password string) (ok bool, err error) {
	known := stored != ""
	if !known {
		stored = p.nobody
	}
	err = p.turn(ctx, func() { ok = matches(stored, password) && known })
	return ok, err
}

// turn runs work when a slot is free, unless ctx ends first.
func (p *Passwords) turn(ctx context.Context, work func()) error {
	select {
	case p.turns <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.turns }()
	work()
	return nil
}

// sum returns the hash of password with a new salt: $argon2id$v=19$m=19456,t=2,p=1$SALT$SUM.
func (h HashCost) sum(password string) string {
	salt := kv.RandomBytes(saltSize)
	sum := argon2.IDKey([]byte(password), salt, h.Passes, h.Memory, h.Threads, sumSize)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.Memory, h.Passes, h.Threads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(sum))
}

func matches(stored, password string) bool {
	var h HashCost
	var version int
	var tail string
	_, err := fmt.Sscanf(stored, "$argon2id$v=%d$m=%d,t=%d,p=%d$%s", &version, &h.Memory, &h.Passes, &h.Threads, &tail)
	salt64, sum64, _ := strings.Cut(tail, "$")
	salt, err2 := base64.RawStdEncoding.DecodeString(salt64)
	sum, err3 := base64.RawStdEncoding.DecodeString(sum64)
	if err != nil || err2 != nil || err3 != nil || version != argon2.Version || len(sum) != sumSize {
		return false
	}
	got := argon2.IDKey([]byte(password), salt, h.Passes, h.Memory, h.Threads, sumSize)
	return subtle.ConstantTimeCompare(got, sum) == 1
}
