package conduit

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Tokens issues signed tokens with a user and an expiry.
type Tokens struct {
	Key []byte        // 32 random bytes, the same in all processes
	For time.Duration // 0: 30 days
}

func (t Tokens) of(user string, now time.Time) string {
	until := now.Add(cmp.Or(t.For, 30*24*time.Hour))
	return t.signed(fmt.Sprint(user, ".", until.Unix()))
}

// user returns the user of token, or ErrWrong if it is invalid or expired.
func (t Tokens) user(token string, now time.Time) (string, error) {
	claim := token[:max(0, strings.LastIndexByte(token, '.'))]
	user, until, _ := strings.Cut(claim, ".")
	end, err := strconv.ParseInt(until, 10, 64)
	if err != nil || !hmac.Equal([]byte(t.signed(claim)), []byte(token)) || !now.Before(time.Unix(end, 0)) {
		return "", ErrWrong
	}
	return user, nil
}

func (t Tokens) signed(claim string) string {
	mac := hmac.New(sha256.New, t.Key)
	mac.Write([]byte(claim))
	return claim + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
