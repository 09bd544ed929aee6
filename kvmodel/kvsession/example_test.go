package kvsession_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// A visitor fills a cart, signs in, and signs out everywhere.
func Example() {
	store, err := kvsession.New(memkv.New(memkv.Options{}), kvsession.Options{
		Keys:     [][]byte{bytes.Repeat([]byte("k"), 32)}, // An app uses random keys.
		Insecure: true,                                    // This server speaks plain HTTP.
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	check := func(w http.ResponseWriter, err error) {
		if err != nil {
			http.Error(w, "Try again later.", http.StatusServiceUnavailable)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /cart", func(w http.ResponseWriter, r *http.Request) {
		session, err := store.Get(r, "shop")
		if err == nil {
			session.Values["cart"] = "book"
			err = session.Save(r, w)
		}
		check(w, err)
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		session, err := store.Get(r, "shop")
		if err == nil {
			err = store.SignIn(r, w, session, "jo") // Nobody is asked for a password here.
		}
		check(w, err)
	})
	mux.HandleFunc("POST /everywhere", func(w http.ResponseWriter, r *http.Request) {
		session, err := store.Get(r, "shop")
		if err == nil {
			err = store.RevokeAll(r.Context(), store.User(session))
		}
		check(w, err)
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		session, err := store.Get(r, "shop")
		check(w, err)
		fmt.Fprintf(w, "user %q, cart %v\n", store.User(session), session.Values["cart"])
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar}
	for _, path := range []string{"/cart", "/login", "/everywhere"} {
		if _, err := client.Post(server.URL+path, "", nil); err != nil {
			fmt.Println(err)
		}
		answer, err := client.Get(server.URL + "/")
		if err != nil {
			fmt.Println(err)
			return
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		fmt.Print(string(text))
	}
	// Output:
	// user "", cart book
	// user "jo", cart book
	// user "", cart <nil>
}

// kept returns a store of sessions in memory.
func kept() *kvsession.Store {
	store, err := kvsession.New(memkv.New(memkv.Options{}), kvsession.Options{Keys: [][]byte{make([]byte, 32)}})
	if err != nil {
		panic(err)
	}
	return store
}

// The first start makes the key, and every later one finds it.
func ExampleKeyIn() {
	dir, err := os.MkdirTemp("", "keys")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	key, err := kvsession.KeyIn(filepath.Join(dir, "session.key"))
	fmt.Println(len(key), err)
	// Output: 32 <nil>
}

// An app takes its keys from its configuration: the new one first, while both are accepted.
func ExampleOptions() {
	fresh, old := bytes.Repeat([]byte("n"), 32), bytes.Repeat([]byte("o"), 32)
	_, err := kvsession.New(memkv.New(memkv.Options{}), kvsession.Options{
		Keys:     [][]byte{fresh, old},
		Idle:     7 * 24 * time.Hour,
		SameSite: http.SameSiteStrictMode,
		Label:    func(r *http.Request) string { return r.UserAgent() },
	})
	fmt.Println(err)
	// Output: <nil>
}

// A Store is a sessions.Store, and knows who is signed in.
func ExampleStore() {
	store := kept()
	r, w := httptest.NewRequest("POST", "/login", nil), httptest.NewRecorder()
	session, err := store.Get(r, "shop")
	if err == nil {
		err = store.SignIn(r, w, session, "fern")
	}
	fmt.Println(err, store.User(session))
	// Output: <nil> fern
}

// A sign-in with the old password does not outlive a change of it.
func ExampleGeneration() {
	store := kept()
	r, w := httptest.NewRequest("POST", "/login", nil), httptest.NewRecorder()
	session, err := store.Get(r, "shop")
	if err != nil {
		panic(err)
	}
	var g kvsession.Generation
	g, err = store.Generation(r.Context(), "fern")
	if err != nil {
		panic(err)
	}
	// The old password is read, and is right. Then fern changes it elsewhere:
	if err := store.RevokeAll(r.Context(), "fern"); err != nil {
		panic(err)
	}
	err = store.SignInIf(r, w, session, g)
	fmt.Println(errors.Is(err, kvsession.ErrRevoked), store.User(session) == "")
	// Output: true true
}

// Where a user is signed in, to sign out there.
func ExampleInfo() {
	store := kept()
	r, w := httptest.NewRequest("POST", "/login", nil), httptest.NewRecorder()
	session, err := store.Get(r, "shop")
	if err == nil {
		err = store.SignIn(r, w, session, "fern")
	}
	if err != nil {
		panic(err)
	}

	var all []kvsession.Info
	all, err = store.List(r.Context(), "fern")
	if err != nil {
		panic(err)
	}
	for _, info := range all {
		fmt.Println(info.ID == session.ID, store.Revoke(r.Context(), "fern", info.ID))
	}
	// Output: true <nil>
}
