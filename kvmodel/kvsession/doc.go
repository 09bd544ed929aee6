// Package kvsession keeps the sessions of github.com/gorilla/sessions in any kv.Store.
//
// A [Store] is a sessions.Store. It also gives a session a new cookie ([Store.SignIn],
// [Store.SignInIf], [Store.Regenerate]), and lists and ends the sessions of a user ([Store.List],
// [Store.Revoke], [Store.RevokeAll]).
//
// # Cookie
//
// The cookie holds a secret of 256 random bits, signed with the first of [Options.Keys]. So made-up
// cookies cost no trip, and write access to the store does not suffice to plant a session. By default
// a cookie is Secure, HttpOnly and SameSite=Lax. sessions.Session.ID is the hash of the secret, and may
// appear in errors and traces. No error contains a value of a session.
//
// # Values
//
// Keys of Values are strings. A value is nil or one of
//
//	bool  int  int64  uint64  float64  string  []byte  time.Time
//	[]string  []any  map[string]any
//
// where the elements of the last two are of these types again. A value keeps its type, and a time
// comes back in UTC. Marshal other types into bytes: Save rejects them. All values together have up to
// about kv.MaxValue bytes, and every request reads them all: keep ids in a session, not records.
//
// # Concurrent requests
//
// Save stores the changes of this request, key by key. Of two changes to one key the last one saved
// wins, even if the value is a collection such as the list of flashes. After Save, Values includes the
// changes of others. An ended session stays ended: a late Save returns ErrEnded and changes nothing.
//
// # A password change during a sign-in
//
// A sign-in may have read the old password. So read the user's [Generation] first, and call RevokeAll
// after storing a new password. When RevokeAll has returned, no session that was checked against the
// old password is signed in:
//
//	g, err := sessions.Generation(ctx, user)  // 1.
//	...                                       // 2. read the password, and check it
//	err = sessions.SignInIf(r, w, session, g) // 3.
//
// # Outages
//
// If the store is unavailable, Get returns the error with an empty session that cannot be saved, so the
// cookie outlives the outage. An unknown, expired or altered cookie is no error: there is no session.
//
// # Expiry
//
// A session ends when it is unused for [Options.Idle], and in any case after [Options.Lifetime]. Only
// Save counts as use, so call it in each request. It writes an unchanged session, and sends its cookie
// again, only after a tenth of the idle time, so a session may end that much early. The Options.MaxAge
// of a session, in seconds, is its own idle time. 0 means a cookie that ends with the browser; a
// negative MaxAge ends the session.
//
// # Trips
//
//	Get                          1, 0 without a valid cookie
//	Save, unchanged              0, 1 once in a tenth of the idle time
//	Save, changed                1, and 2 for each time that others were faster;
//	                             1 more after another write in the same request
//	SignIn, Regenerate           2, 1 if nothing was stored before
//	Generation, SignInIf         1 and 3, 1 and 2 if nothing was stored before
//	SignOut                      1
//	List, Revoke                 2
//	RevokeAll                    5, and 1 more while the list still names
//	                             sessions that ended within the last hour
package kvsession
