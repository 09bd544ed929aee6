// Package kvsession keeps the sessions of github.com/gorilla/sessions in any
// kv.Store.
//
// A [Store] is a sessions.Store, so Get, Save and flashes work as they do with
// any other. What these have no words for, it has besides: [Store.SignIn] and
// [Store.Regenerate] give a session a new cookie, [Store.List], [Store.Revoke]
// and [Store.RevokeAll] show a user's sessions and end them.
//
// # Cookie
//
// The cookie holds a secret of 256 random bits, signed with the first of
// [Options.Keys]. Nobody could guess the secret alone. The signature is there
// so that made-up cookies cost no trip, and so that whoever can write to the
// store, but does not have the key, cannot place a session there. A cookie is
// Secure, HttpOnly and SameSite=Lax unless told otherwise.
//
// The store knows a session by its id, the hash of the secret. This is what
// sessions.Session.ID holds, and what errors and traces may show: it leads nobody
// to the secret. No error holds a value of a session.
//
// # Values
//
// Keys of Values are strings. A value is nil or one of
//
//	bool  int  int64  uint64  float64  string  []byte  time.Time
//	[]string  []any  map[string]any
//
// with the elements of the last two of these kinds again, and comes back as the
// type it was, a time in UTC. Any other is an error of Save that names the key
// and the type: marshal it into bytes. All values together, with what the
// session needs for itself, have at most kv.MaxValue bytes, and are read
// with each request: keep ids in a session, not records.
//
// # Two requests at once
//
// Save stores what this request has changed, key by key, and leaves all else as
// others have saved it meanwhile: changes of different keys are all kept. Of two
// changes of one key the last one saved counts, also where the value is a
// collection such as the list of flashes. What others have saved is in Values
// afterwards.
//
// A session that has ended stays so: a Save that comes late is ErrEnded, and
// touches neither the store nor the cookie.
//
// # Outages
//
// A store that could not be asked has not said "no session". Get returns the
// error with an empty session, and to save this one is refused, so that the
// cookie outlives the outage. A cookie that is unknown, expired, changed or
// signed with a key that is gone is no error: it is no session.
//
// # Expiry
//
// A session ends when it was not used for [Options.Idle], and in any case after
// [Options.Lifetime]. Use is a Save, so call it with each request, as a
// middleware may: an unchanged session is written, and its cookie sent again,
// only when a tenth of the idle time has passed since the last time, and so may
// end that much early. Options.MaxAge of a session, in seconds, is its own idle
// time and is remembered; 0 gives a cookie that goes with the browser; a
// negative one ends the session.
//
// # Trips
//
//	Get                          1, 0 without a cookie of ours
//	Save, unchanged              0, 1 once in a tenth of the idle time
//	Save, changed                1, and 2 for each time that others were faster;
//	                             1 more after another write in the same request
//	SignIn, Regenerate           2, 1 if nothing was stored before
//	SignOut                      1
//	List, Revoke                 2
//	RevokeAll                    4, and 1 more while the list still names
//	                             sessions that ended within the last hour
package kvsession
