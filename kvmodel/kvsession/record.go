package kvsession

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/sessions"
	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// record is a stored session. Its key is added once and then changed only by compare-and-swap, so
// nothing restores a deleted one.
type record struct {
	User    string // signed in; constant for the life of a key
	Label   string
	Created time.Time // or signed in
	Used    time.Time // last write
	Ends    time.Time // even if in use
	MaxAge  int       // seconds; 0 means that the cookie ends with the browser
	Next    string    // id of the session that replaced it; empty while it is live
	Values  entries
}

var sessionKey = kv.NewClass("session", 1)

// decodeRecord's error is a codec.ErrCorrupt that contains nothing of data.
func decodeRecord(data []byte) (record, error) {
	var rec record
	data, err := frame.Open(data)
	if err != nil {
		return record{}, fmt.Errorf("kvsession: a stored session: %w", err)
	}
	if _, err := recordCodec.Unmarshal(data, &rec); err != nil {
		return record{}, corrupt(err)
	}
	if rec.Ends.IsZero() || rec.MaxAge < 0 {
		return record{}, fmt.Errorf("kvsession: %w: a stored session without an end", codec.ErrCorrupt)
	}
	return rec, nil
}

func (rec *record) encode() ([]byte, error) {
	data, err := recordCodec.Marshal(rec)
	if err != nil {
		return nil, named(err)
	}
	return frame.Whole(data), nil
}

func (rec *record) idle(o *Options) time.Duration {
	if rec.MaxAge == 0 {
		return o.Idle
	}
	return seconds(min(rec.MaxAge, int(o.Lifetime/time.Second)))
}

// left returns the remaining life of the session if it is not used, not positive if it has ended.
func (rec *record) left(o *Options, now time.Time) time.Duration {
	return min(rec.idle(o), rec.Ends.Sub(now))
}

// due reports whether the session must be written to stay alive.
func (rec *record) due(o *Options, now time.Time) bool {
	return now.Sub(rec.Used) >= rec.idle(o)/10
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

var recordCodec = codec.Model[record]{Write: writeRecord, Read: readRecord}

func writeRecord(w *codec.Writer, rec *record) {
	w.Struct(8)
	codec.WriteString(w.Name("User"), &rec.User)
	codec.WriteString(w.Name("Label"), &rec.Label)
	codec.WriteTime(w.Name("Created"), &rec.Created)
	codec.WriteTime(w.Name("Used"), &rec.Used)
	codec.WriteTime(w.Name("Ends"), &rec.Ends)
	codec.WriteInt(w.Name("MaxAge"), &rec.MaxAge)
	codec.WriteString(w.Name("Next"), &rec.Next)
	codec.WriteMap(w.Name("Values"), &rec.Values, codec.WriteString, codec.WriteBytes)
}

func readRecord(r *codec.Reader, rec *record) { codec.ReadStruct(r, rec, readField) }

func readField(r *codec.Reader, rec *record, name []byte) (known bool) {
	switch string(name) {
	case "User":
		codec.ReadString(r, &rec.User)
	case "Label":
		codec.ReadString(r, &rec.Label)
	case "Created":
		codec.ReadTime(r, &rec.Created)
	case "Used":
		codec.ReadTime(r, &rec.Used)
	case "Ends":
		codec.ReadTime(r, &rec.Ends)
	case "MaxAge":
		codec.ReadInt(r, &rec.MaxAge)
	case "Next":
		codec.ReadString(r, &rec.Next)
	case "Values":
		codec.ReadMap(r, &rec.Values, codec.ReadString, codec.ReadBytes)
	default:
		return false
	}
	return true
}

const secretSize = 32

type hash [sha256.Size]byte

func hashOf(secret []byte) hash { return sha256.Sum256(secret) }

func (h hash) String() string { return base64.RawURLEncoding.EncodeToString(h[:]) }

func parseID(id string) (h hash, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(id)
	if err != nil || len(b) != len(h) {
		return h, false
	}
	return hash(b), true
}

// readCookie returns nil without a valid cookie. The signature covers the name.
func (s *Store) readCookie(r *http.Request, name string) (secret []byte, current bool) {
	cookie, err := r.Cookie(name)
	if err != nil {
		return nil, false
	}
	for i, signer := range s.signers {
		if signer.Decode(name, cookie.Value, &secret) == nil && len(secret) == secretSize {
			return secret, i == 0
		}
	}
	return nil, false
}

func (s *Store) writeCookie(w http.ResponseWriter, session *sessions.Session, secret []byte, left time.Duration) error {
	value, err := s.signers[0].Encode(session.Name(), secret)
	if err != nil {
		return fmt.Errorf("kvsession: sign the cookie: %w", err)
	}
	options := *session.Options
	if options.MaxAge > 0 {
		options.MaxAge = max(1, int(left/time.Second))
	}
	setCookie(w, sessions.NewCookie(session.Name(), value, &options))
	return nil
}

func dropCookie(w http.ResponseWriter, session *sessions.Session) {
	options := *session.Options
	options.MaxAge = -1
	setCookie(w, sessions.NewCookie(session.Name(), "", &options))
}

// setCookie replaces an earlier cookie of that name, so that a browser never sees two.
func setCookie(w http.ResponseWriter, cookie *http.Cookie) {
	const header = "Set-Cookie"
	before := w.Header()[header]
	w.Header().Del(header)
	for _, line := range before {
		if !strings.HasPrefix(line, cookie.Name+"=") {
			w.Header().Add(header, line)
		}
	}
	http.SetCookie(w, cookie)
}
