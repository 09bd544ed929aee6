package web_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvtest/servers"
)

func TestSite_WriteEditAndTrashOnEachStore(t *testing.T) {
	onEachStore(t, func(t *testing.T, v *visitor) {
		got := v.write("tea", "Tea for one", "In nine cups.")
		v.want(got, 200, "Tea for one", "In nine cups.", "ann", "version 1")
		v.want(v.get("/"), 200, "Tea for one", "1 of at most 50", "ann")

		edit := v.editOf("tea")
		got = v.post(edit, fill(v.get(edit), "slug", "tea", "title", "Tea for two", "body", "In ten."))
		v.want(got, 200, "Tea for two", "In ten.", "version 2")

		got = v.post("/trash/"+edit[len("/edit/"):], fill(v.get(edit)))
		v.want(got, 200, "0 of at most 50")
		v.want(v.get("/p/tea"), 404, "There is nothing at this address.")
		v.want(v.get(edit), 410, "This page was put into the trash.")

		got = v.write("tea", "Tea again", "Its address was free.")
		v.want(got, 200, "Tea again", "Its address was free.")
	})
}

func TestSite_TakenHandleIsToldAtTheFieldOnEachStore(t *testing.T) {
	onEachStore(t, func(t *testing.T, v *visitor) {
		got := v.signUp("Ann")
		v.want(got, 409, "“ann” is taken.", `value="Ann"`, `aria-invalid="true"`)
		v.want(v.signUp("ben"), 200, "A member since")
		v.want(v.get("/members"), 200, "ann", "ben", "2 of at most 50")
	})
}

func TestSite_ManyWantOneHandleAndOneGetsIt(t *testing.T) {
	v := visitMem(t)
	forms := make([]reply, 8)
	for i := range forms {
		forms[i] = v.get("/join")
	}
	replies := make([]reply, len(forms))
	var wait sync.WaitGroup
	for i, form := range forms {
		wait.Go(func() { replies[i] = v.post("/join", fill(form, "handle", "Heron")) })
	}
	wait.Wait()
	count := map[int]int{}
	for _, got := range replies {
		count[got.status]++
	}
	if count[200] != 1 || count[409] != 7 {
		t.Errorf("want one 200 and seven 409, got %v", count)
	}
}

func TestMember_IsFoundInLettersOfAnySize(t *testing.T) {
	v := visitMem(t)
	v.want(v.get("/m/ANN"), 200, "<h1>ann</h1>")
	v.want(v.get("/m/nobody"), 404)
}

func TestWrite_DuplicateSlugKeepsWhatWasTyped(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "First.")
	got := v.write("Tea", "Other tea", "Second.")
	v.want(got, 409, "“tea” is taken.", "Other tea", "Second.", `aria-invalid="true"`)
	v.want(v.get("/p/tea"), 200, "First.")
}

func TestWrite_UnknownHandleIsToldAtTheField(t *testing.T) {
	v := visitMem(t)
	got := v.post("/write", fill(v.get("/write"), "handle", "ghost", "slug", "tea", "title", "Tea", "body", "Warm."))
	v.want(got, 422, "No member goes by this handle.", "Warm.")
	got = v.post("/write", fill(v.get("/write"), "handle", "ghost"))
	v.want(got, 422, "No member goes by this handle.", "A page needs an address.", "A page needs a title.", "A page needs a text.")
}

func TestWrite_DoubleSubmitMakesOnePage(t *testing.T) {
	v := visitMem(t)
	form := fill(v.get("/write"), "handle", "ann", "slug", "tea", "title", "Tea", "body", "Warm.")
	v.want(v.post("/write", form), 200, "Warm.")
	got := v.post("/write", form)
	v.want(got, 200, "Warm.", "version 1")
	if got.path != "/p/tea" {
		t.Errorf("want to end at the page, got %s", got.path)
	}
	v.want(v.get("/"), 200, "1 of at most 50")
}

func TestWrite_DoubleSubmitAtTheSameTimeMakesOnePage(t *testing.T) {
	v := visitMem(t)
	form := fill(v.get("/write"), "handle", "ann", "slug", "tea", "title", "Tea", "body", "Warm.")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() { v.want(v.post("/write", form), 200, "Warm.", "version 1") })
	}
	wait.Wait()
	v.want(v.get("/"), 200, "1 of at most 50")
}

func TestWrite_FormThatWasUsedAndFilledInAnewLosesNothing(t *testing.T) {
	v := visitMem(t)
	form := fill(v.get("/write"), "handle", "ANN", "slug", "tea", "title", "Tea", "body", "Warm.")
	v.want(v.post("/write", form), 200, "Warm.")
	for field, typed := range map[string]string{"slug": "coffee", "title": "Coffee", "body": "Black."} {
		again := maps.Clone(form)
		again.Set(field, typed)
		got := v.post("/write", again)
		v.want(got, 409, "This form has made the page “Tea” before.", typed)
		again.Set("id", fill(got).Get("id"))
		again.Set("slug", "other-"+field)
		v.want(v.post("/write", again), 200, again.Get("body"), again.Get("title"))
	}
	v.want(v.get("/p/tea"), 200, "Warm.", "version 1")
}

func TestJoin_DoubleSubmitMakesOneMember(t *testing.T) {
	v := visitMem(t)
	form := fill(v.get("/join"), "handle", "ben")
	v.want(v.post("/join", form), 200, "A member since")
	v.want(v.post("/join", form), 200, "A member since")
	v.want(v.get("/members"), 200, "2 of at most 50")
	form.Set("handle", "cid")
	v.want(v.post("/join", form), 409, "This form has signed up “ben” before.", `value="cid"`)
}

func TestEdit_SecondOfTwoTabsSeesBothTexts(t *testing.T) {
	onEachStore(t, func(t *testing.T, v *visitor) {
		v.write("tea", "Tea", "One cup.")
		edit := v.editOf("tea")
		first, second := v.get(edit), v.get(edit)
		v.want(v.post(edit, fill(first, "slug", "tea", "title", "Tea", "body", "Two cups.")), 200, "Two cups.")

		got := v.post(edit, fill(second, "slug", "tea", "title", "Tea", "body", "Three cups."))
		v.want(got, 409, "This page changed while you were writing", "Two cups.", "Three cups.", "Save mine over version 2")
		v.want(v.get("/p/tea"), 200, "Two cups.")

		got = v.post(edit, fill(got, "slug", "tea", "title", "Tea", "body", "Five cups."))
		v.want(got, 200, "Five cups.", "version 3")
	})
}

func TestEdit_ConflictIsToldThoughTheAddressHasMoved(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "One cup.")
	edit := v.editOf("tea")
	second := v.get(edit)
	v.post(edit, fill(second, "slug", "green-tea", "title", "Tea", "body", "One cup."))
	v.want(v.get("/p/tea"), 404)
	got := v.post(edit, fill(second, "slug", "tea", "title", "Tea", "body", "Three cups."))
	v.want(got, 409, "/p/green-tea", "One cup.", "Three cups.")
}

func TestEdit_DoubleSubmitChangesOnce(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "One cup.")
	edit := v.editOf("tea")
	form := fill(v.get(edit), "slug", "tea", "title", "Tea", "body", "Two cups.")
	v.want(v.post(edit, form), 200, "version 2")
	v.want(v.post(edit, form), 200, "Two cups.", "version 2")
}

func TestEdit_TakenSlugKeepsWhatWasTyped(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "Warm.")
	v.write("coffee", "Coffee", "Black.")
	edit := v.editOf("coffee")
	got := v.post(edit, fill(v.get(edit), "slug", "tea", "title", "Coffee", "body", "Blacker."))
	v.want(got, 409, "“tea” is taken.", "Blacker.", "Edit page")
	v.want(v.get("/p/coffee"), 200, "Black.")
}

func TestEdit_TextOfATrashedPageBecomesANewOne(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "One cup.")
	edit := v.editOf("tea")
	form := v.get(edit)
	v.post("/trash/"+edit[len("/edit/"):], fill(form))
	got := v.post(edit, fill(form, "slug", "tea", "title", "Tea", "body", "Two cups."))
	v.want(got, 410, "This page was put into the trash.", "Two cups.", "Write a page")
	v.want(v.post("/write", fill(got, "handle", "ann", "slug", "tea", "title", "Tea", "body", "Two cups.")), 200, "Two cups.")

	got = v.post("/edit/never", fill(form, "slug", "tea", "title", "Tea", "body", "Six cups."))
	v.want(got, 404, "Six cups.", "Write a page")
}

func TestTrash_PageThatHasChangedSinceStays(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "One cup.")
	edit := v.editOf("tea")
	old := v.get(edit)
	v.post(edit, fill(old, "slug", "tea", "title", "Tea", "body", "Two cups."))
	trash := "/trash/" + edit[len("/edit/"):]
	v.want(v.post(trash, fill(old)), 409, "Somebody else has changed this meanwhile.")
	v.want(v.get("/p/tea"), 200, "Two cups.")

	now := fill(v.get(edit))
	v.want(v.post(trash, now), 200)
	v.want(v.post(trash, now), 200, "0 of at most 50")
	v.want(v.post("/trash/never", now), 404)
}

func TestFind_GoesToThePage(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "One cup.")
	v.want(v.get("/find?slug=+TEA+"), 200, "One cup.")
	v.want(v.get("/find?slug=..%2F..%2F%2Fevil.example"), 404)
	v.want(v.get("/find"), 200, "Some pages")
}

func TestSite_StoreThatIsDownIs503UntilItIsBack(t *testing.T) {
	v, store := visitFrail(t)
	v.write("tea", "Tea", "One cup.")
	edit := v.editOf("tea")
	form := fill(v.get(edit), "slug", "tea", "title", "Tea", "body", "Two cups.")
	fresh := fill(v.get("/write"), "handle", "ann", "slug", "coffee", "title", "Coffee", "body", "Black.")
	join := fill(v.get("/join"), "handle", "ben")

	store.down.Store(true)
	for _, path := range []string{"/", "/p/tea", "/members", "/m/ann", edit} {
		got := v.get(path)
		v.want(got, 503, "The store does not answer.")
		v.without(got, "One cup.")
		if got.header.Get("Retry-After") == "" {
			t.Errorf("%s: want Retry-After", path)
		}
	}
	v.want(v.post(edit, form), 503, "The store does not answer.", "Two cups.")
	v.want(v.post("/write", fresh), 503, "The store does not answer.", "Black.")
	v.want(v.post("/join", join), 503, "The store does not answer.", `value="ben"`)

	store.down.Store(false)
	v.want(v.get("/p/tea"), 200, "One cup.")
	v.want(v.post(edit, form), 200, "Two cups.", "version 2")
	v.want(v.post("/write", fresh), 200, "Black.")
	v.want(v.post("/join", join), 200, "A member since")
}

func TestWrite_SentAgainAfterAnUnclearAnswerMakesOnePage(t *testing.T) {
	v, store := visitFrail(t)
	v.write("tea", "Tea", "One cup.")
	form := fill(v.get("/write"), "handle", "ann", "slug", "coffee", "title", "Coffee", "body", "Black.")
	store.mute.Store(true)
	v.want(v.post("/write", form), 503, "Black.")
	store.mute.Store(false)
	v.want(v.post("/write", form), 200, "Black.", "version 1")
	v.want(v.get("/"), 200, "2 of at most 50")
}

func TestSite_RedisThatWasKilledIsUsedAgain(t *testing.T) {
	servers.Need(t, "redis-server")
	redis := started(t, func() (*servers.Process, error) {
		return servers.Redis("--appendonly", "yes", "--appendfsync", "always")
	})
	v := visitURL(t, "redis://"+redis.Addr)
	v.write("tea", "Tea", "One cup.")
	redis.Kill()
	v.want(v.get("/p/tea"), 503, "The store does not answer.")
	if err := redis.Start(); err != nil {
		t.Fatal(err)
	}
	v.want(v.get("/p/tea"), 200, "One cup.")
	v.want(v.write("coffee", "Coffee", "Black."), 200, "Black.")
}

func TestSite_MemcachedThatWasRestartedIsNotTakenForEmpty(t *testing.T) {
	servers.Need(t, "memcached")
	server := started(t, func() (*servers.Process, error) { return servers.Memcached() })
	v := visitURL(t, "memcached://"+server.Addr)
	v.write("tea", "Tea", "One cup.")
	server.Kill()
	v.want(v.get("/p/tea"), 503, "The store does not answer.")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	v.want(v.get("/p/tea"), 503, "The store has lost its data.")
}

// What a page costs is part of what it promises. A change is one trip where the
// store can commit several keys at once, and two or three elsewhere.
func TestSite_TripsOfEachPage(t *testing.T) {
	onEachStore(t, func(t *testing.T, v *visitor) {
		v.write("tea", "Tea", "One cup.")
		edit := v.editOf("tea")
		wantTrips := func(name string, got reply, most int) {
			t.Helper()
			n := v.trips(got)
			t.Logf("%s: %d trips", name, n)
			if got.status >= 400 || n > most {
				t.Errorf("%s: want at most %d trips and no error, got status %d and %s", name, most, got.status, got.header.Get("X-Store-Cost"))
			}
		}
		lists := 0 // what a list takes more where there is a journal
		if strings.HasSuffix(t.Name(), "/memcached") || strings.HasSuffix(t.Name(), "/redis") {
			lists = 2
		}
		wantTrips("home", v.get("/"), 4+lists)
		wantTrips("members", v.get("/members"), 3+lists)
		wantTrips("page", v.get("/p/tea"), 3)
		wantTrips("member", v.get("/m/ann"), 2)
		wantTrips("write form", v.get("/write"), 0)
		wantTrips("edit form", v.get(edit), 1)
		wantTrips("write", v.postOnce("/write", fill(v.get("/write"), "handle", "ann", "slug", "coffee", "title", "Coffee", "body", "Black.")), 4)
		wantTrips("edit", v.postOnce(edit, fill(v.get(edit), "slug", "tea", "title", "Tea", "body", "Two cups.")), 3)
		wantTrips("move", v.postOnce(edit, fill(v.get(edit), "slug", "oolong", "title", "Tea", "body", "Two cups.")), 3)
		wantTrips("trash", v.postOnce("/trash/"+edit[len("/edit/"):], fill(v.get(edit))), 3)
		wantTrips("sign up", v.postOnce("/join", fill(v.get("/join"), "handle", "ben")), 2)
	})
}

// A process that has not seen a page, nor its author, asks for one trip more.
func TestSite_TripsOfAFirstVisit(t *testing.T) {
	db, err := kvmodel.Open(newFrail())
	if err != nil {
		t.Fatal(err)
	}
	v := visit(t, db, 12)
	for i, want := range []int{3, 2} {
		if got := v.trips(v.get("/p/tide-table")); got != want {
			t.Errorf("visit %d: want %d trips, got %d", i+1, want, got)
		}
	}
	for i, want := range []int{5, 4} {
		form := fill(v.get("/write"), "handle", "heron", "slug", fmt.Sprint("page-", i), "title", "Title", "body", "Body.")
		if got := v.trips(v.postOnce("/write", form)); got != want {
			t.Errorf("page %d by a member: want %d trips, got %d", i+1, want, got)
		}
	}
}
