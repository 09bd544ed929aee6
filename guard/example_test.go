package guard_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// The server of a site cuts off slow clients.
func ExampleServer() {
	server := guard.Server(http.NotFoundHandler())
	fmt.Println(server.ReadHeaderTimeout, server.ReadTimeout, server.WriteTimeout)
	// Output: 5s 15s 30s
}

// Every response has the headers; a page with a script also names its nonce.
func ExampleHeaders() {
	w := httptest.NewRecorder()
	guard.Headers(w.Header(), true)
	w.Header().Set("Content-Security-Policy", guard.Policy("q1w2"))
	fmt.Println(w.Header().Get("X-Content-Type-Options"), w.Header().Get("Strict-Transport-Security"))
	// Output: nosniff max-age=31536000
}

// Limits hold across all processes that share a store.
func ExampleAllow() {
	ctx, store := context.Background(), memkv.New(memkv.Options{})
	try := guard.Try{Limit: guard.Limit{What: "sign-up", Times: 2, Per: time.Hour}, Who: "192.0.2.1"}
	for range 3 {
		fmt.Println(guard.Allow(ctx, store, time.Unix(0, 0), try))
	}
	// Output:
	// <nil>
	// <nil>
	// too many tries; wait 1h0m0s
}

// The response says when to try again.
func ExampleTooManyError() {
	var err error = &guard.TooManyError{Wait: 90 * time.Second}
	if many, ok := errors.AsType[*guard.TooManyError](err); ok {
		fmt.Println(http.StatusTooManyRequests, int(many.Wait.Seconds()))
	}
	// Output: 429 90
}

// Call it before trying a password, whether or not there is a user with the name.
func ExampleAllowSignIn() {
	ctx, store := context.Background(), memkv.New(memkv.Options{})
	refused := 0
	for range 300 {
		if guard.AllowSignIn(ctx, store, time.Unix(0, 0), "ann", "192.0.2.1") != nil {
			refused++
		}
	}
	fmt.Println(refused, guard.AllowSignIn(ctx, store, time.Unix(0, 0), "ann", "198.51.100.1"))
	// Output: 280 <nil>
}

// All addresses in a customer's IPv6 network count as one.
func ExampleAddress() {
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Forwarded-For", "made up, 2001:db8:1:2::3")
	fmt.Println(guard.Address(r, true))
	// Output: 2001:db8:1:2::/64
}

func ExampleName() {
	name, problem := guard.Name(" Ａnn ", 30)
	fmt.Printf("%q %q\n", name, problem)
	name, problem = guard.Name("ann\u200b", 30)
	fmt.Printf("%q %q\n", name, problem)
	// Output:
	// "ann" ""
	// "" "A name has letters, digits, - and _ only."
}

// Japanese uses three scripts, together with Latin letters.
func ExampleOneScript() {
	fmt.Println(guard.OneScript("私のcafé"), guard.OneScript("pаypal")) // with a Cyrillic a
	// Output: true false
}

// A model with an index over the look of its names has no two that look alike:
//
//	//kv:unique,field=Name
//	func (u *User) Look() string { return guard.Look(u.Name) }
func ExampleLook() {
	fmt.Println(guard.Look("соре")) // in Cyrillic letters
	// Output: cope
}

func ExampleNewPasswords() {
	ctx, passwords := context.Background(), guard.NewPasswords(guard.HashCost{})
	stored, err := passwords.Hash(ctx, "two bars in the snow")
	if err != nil {
		panic(err)
	}
	fmt.Println(passwords.Match(ctx, stored, "two bars in the snow"))
	// Output: true <nil>
}

// For an unknown name, Match does the same work.
func ExamplePasswords() {
	passwords := guard.NewPasswords(guard.HashCost{})
	fmt.Println(passwords.Match(context.Background(), "", "two bars in the snow"))
	// Output: false <nil>
}

func ExampleRoom() {
	streams := guard.Room{Most: 64, MostFrom: 1}
	leave, ok := streams.Enter("192.0.2.1")
	_, second := streams.Enter("192.0.2.1")
	leave()
	fmt.Println(ok, second)
	// Output: true false
}

func ExampleLocal() {
	fmt.Println(guard.Local("/write?topic=tea"), guard.Local("//evil.example"))
	// Output: /write?topic=tea /
}
