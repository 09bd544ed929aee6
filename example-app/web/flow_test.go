package web_test

import (
	"maps"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func TestSite_WritesEditsAndDeletesOnEachStore(t *testing.T) {
	onEachStore(t, func(t *testing.T, v *visitor) {
		got := v.write("tea", "Tea for one", "In nine cups.")
		v.want(got, 200, "Tea for one", "In nine cups.", "ann")
		v.want(v.get("/"), 200, "Tea for one", "ann")
		v.want(v.get("/newest"), 200, "Tea for one", "ann")

		edit := v.editOf("tea")
		v.wantVersion(edit, "1")
		got = v.post(edit, fill(v.get(edit), "slug", "tea", "title", "Tea for two", "body", "In ten."))
		v.want(got, 200, "Tea for two", "In ten.")
		v.wantVersion(edit, "2")

		v.want(v.post(deleteOf(edit), fill(v.get(edit))), 200)
		v.want(v.get("/p/tea"), 404, "Page not found")
		v.want(v.get(edit), 410, "This page was deleted")
		v.without(v.get("/newest"), "Tea for two")

		got = v.write("tea", "Tea again", "Its address was free.")
		v.want(got, 200, "Tea again", "Its address was free.")
	})
}

func deleteOf(edit string) string { return "/delete/" + edit[len("/edit/"):] }

func TestSignUp_ReportsATakenHandleAtItsFieldOnEachStore(t *testing.T) {
	onEachStore(t, func(t *testing.T, v *visitor) {
		guest := v.another()
		guest.want(guest.signUp("Ann"), 422, "taken", `value="Ann"`, `aria-invalid="true"`)
		guest.want(guest.signUp("ben"), 200, "Joined")
	})
}

func TestSignUp_OneOfManyGetsAHandle(t *testing.T) {
	v := visitMem(t)
	forms := make([]reply, 8)
	guests := make([]*visitor, len(forms))
	for i := range forms {
		guests[i] = v.another()
		forms[i] = guests[i].get("/signup")
	}
	replies := make([]reply, len(forms))
	var wait sync.WaitGroup
	for i, form := range forms {
		wait.Go(func() { replies[i] = guests[i].post("/signup", fill(form, "handle", "Heron", "password", password)) })
	}
	wait.Wait()
	count := map[int]int{}
	for _, got := range replies {
		count[got.status]++
	}
	if count[200] != 1 || count[422] != 7 {
		t.Errorf("want one 200 and seven 422, got %v", count)
	}
}

func TestProfile_IgnoresTheCaseOfAHandle(t *testing.T) {
	v := visitMem(t)
	v.want(v.get("/m/ANN"), 200, "<bdi>ann</bdi></h1>")
	v.want(v.get("/m/nobody"), 404)
}

func TestWrite_DuplicateSlugKeepsWhatWasTyped(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "First.")
	got := v.write("Tea", "Other tea", "Second.")
	v.want(got, 422, "taken", "Other tea", "Second.", `aria-invalid="true"`)
	v.want(v.get("/p/tea"), 200, "First.")
}

func TestWrite_AddressIsMadeFromTheTitle(t *testing.T) {
	v := visitMem(t)
	for _, test := range []struct{ title, want string }{
		{"Tea, for one — Ünlike 2!", "/p/tea-for-one-unlike-2"},
		{"お茶", "/p/お茶"},
		{"תה", "/p/תה"},
	} {
		if got := v.write("", test.title, "Warm."); got.path != test.want {
			t.Errorf("%s: want the address made from the title, got %s", test.title, got.path)
		}
	}
	v.want(v.write("", "🍵", "Warm."), 200, "🍵")
	v.want(v.write("", "お茶", "Cold."), 200, "Cold.")
	v.want(v.get("/p/%E3%81%8A%E8%8C%B6-2"), 200, "Cold.")
	v.want(v.write("", "\u200b\u3164", "Warm."), 422, "A page needs a title.")
}

func TestWrite_TopicsNeedNoCare(t *testing.T) {
	v := visitMem(t)
	got := v.post("/write", fill(v.get("/write"), "slug", "tea", "title", "Tea", "body", "Warm.", "topics", "#Kitchen warm,kitchen、お茶　,"))
	v.want(got, 200, `href="/t/kitchen"`, `href="/t/warm"`, `href="/t/%E3%81%8A%E8%8C%B6"`)
	v.want(v.get("/t/KITCHEN"), 200, "<bdi>kitchen</bdi></h1>", "Tea")
	v.settle()
	v.want(v.get("/topics"), 200, `<span class="sr">rank </span>1</p>`, `<span class="sr">rank </span>3</p>`, "お茶", "1</b> <span class=\"unit\">page")
}

func TestForms_TakeTextInItsDirection(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "Warm.")
	for path, n := range map[string]int{"/write": 5, "/p/tea": 2, "/settings": 2, "/signup": 2} { // one is the search field
		guest := v
		if path == "/signup" {
			guest = v.another()
		}
		got := regexp.MustCompile(`<(?:input|textarea)[^>]* dir="auto"`).FindAllString(guest.get(path).body, -1)
		if len(got) != n {
			t.Errorf("%s: want %d fields with dir=auto, got %q", path, n, got)
		}
	}
}

func TestTrash_OffersUndoAndRestores(t *testing.T) {
	onEachStore(t, func(t *testing.T, v *visitor) {
		v.want(v.get("/trash"), 200, "The trash is empty.")
		v.write("tea", "Tea", "One cup.")
		edit := v.editOf("tea")
		got := v.post(deleteOf(edit), fill(v.get(edit)))
		v.want(got, 200, "<bdi>Tea</bdi> is in the trash.", "Undo", "Restore")
		v.without(v.get("/trash"), "Undo")
		v.want(v.get("/trash"), 200, "Restore", "Tea")
		other := v.as("ben")
		other.want(other.get("/trash"), 200, "The trash is empty.")
		other.want(other.post(restoreOf(edit), nil), 403, "This belongs to someone else")

		v.want(v.write("tea", "New tea", "Two cups."), 200)
		got = v.post(restoreOf(edit), nil)
		v.want(got, 200, "One cup.")
		if got.path != "/p/tea-2" {
			t.Errorf("want the page at /p/tea-2, got %s", got.path)
		}
		v.want(v.get("/trash"), 200, "The trash is empty.")
	})
}

func restoreOf(edit string) string { return "/restore/" + edit[len("/edit/"):] }
func historyOf(edit string) string { return "/history/" + edit[len("/edit/"):] }

func TestHistory_ShowsEachEditAndBringsOneBack(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "One cup, warm.")
	edit := v.editOf("tea")
	history := historyOf(edit)
	v.want(v.get("/p/tea"), 200, `href="`+history+`"`)
	v.post(edit, fill(v.get(edit), "slug", "tea", "title", "Tea", "body", "Two cups, warm."))
	v.post(deleteOf(edit), fill(v.get(edit)))
	v.want(v.get(history), 200, "is in the trash", restoreOf(edit), "The page was deleted.")
	v.without(v.get(history), "Bring back")
	v.post(restoreOf(edit), nil)

	got := v.get(history)
	v.want(got, 200, "Edit 4", "The page was restored.", "<del>One cup, </del><ins>Two cups, </ins>warm.</p>", "The page was written.")
	if n := strings.Count(got.body, "Bring back"); n != 1 {
		t.Errorf("want one edit with another text to bring back, got %d", n)
	}
	back := url.Values{"version": {"4"}, "edit": {"1"}}
	v.want(v.post(history, back), 200, "One cup, warm.")
	v.want(v.post(history, back), 200, "One cup, warm.")
	v.want(v.post(history, url.Values{"version": {"4"}, "edit": {"2"}}), 409, "This has changed since you opened it")
	v.want(v.post(history, url.Values{"version": {"5"}, "edit": {"77"}}), 404)
	v.want(v.post(history, url.Values{"version": {"5"}, "edit": {"x"}}), 400)
	v.wantVersion(edit, "5")
	ben := v.as("ben")
	ben.want(ben.get(history), 403, "This belongs to someone else")
	ben.want(ben.post(history, back), 403, "This belongs to someone else")
}

func TestWrite_PreviewShowsThePageAndSavesNothing(t *testing.T) {
	v := visitMem(t)
	form := fill(v.get("/write"), "slug", "tea", "title", "Tea", "body", "In *nine* cups.", "topics", "kitchen, warm", "do", "preview")
	v.want(v.post("/write", form), 200, "<em>nine</em>", "kitchen", "not saved yet", "In *nine* cups.")
	v.want(v.get("/p/tea"), 404)
}

func TestRanking_ShowsWhatIsAroundYouOnEveryTab(t *testing.T) {
	ann := visitMem(t)
	ann.write("tea", "Tea", "Warm.")
	ben := ann.as("ben")
	ben.write("milk", "Milk", "Cold.")
	for _, v := range []*visitor{ann, ben} {
		v.get("/p/tea")
	}
	ann.get("/p/milk")
	ben.want(ben.post("/p/tea/like", nil), 200)
	ann.want(ann.post("/p/milk/like", nil), 200)
	ann.settle()
	for _, span := range []string{"today", "week", "all", "liked"} {
		got := ben.get("/ranking?span=" + span)
		ben.want(got, 200, "Around you", `class="yours"`, "Tea", "Milk")
		// What was not ranked before has not moved.
		ben.without(got, "not moved")
	}
	guest := ann.another()
	guest.want(guest.get("/ranking"), 200, "Write a page to see its rank here")
	guest.want(guest.get("/ranking?span=year"), 404)
}

func TestHome_SaysHowMuchThereIsAndWhatThePageTook(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "Warm.")
	v.settle()
	v.want(v.get("/"), 200, "1 page by 1 person, kept in nothing but a key-value store.", "This page took ")
}

func TestWrite_EmptyFormNamesEachField(t *testing.T) {
	v := visitMem(t)
	v.want(v.write("", "", ""), 422, "A page needs a title.", "A page needs text.")
}

func TestWrite_DoubleSubmitMakesOnePage(t *testing.T) {
	v := visitMem(t)
	form := fill(v.get("/write"), "slug", "tea", "title", "Tea", "body", "Warm.")
	v.want(v.post("/write", form), 200, "Warm.")
	got := v.post("/write", form)
	v.want(got, 200, "Warm.")
	if got.path != "/p/tea" {
		t.Errorf("want to end at the page, got %s", got.path)
	}
	if n := v.written("ann"); n != 1 {
		t.Errorf("want one page, got %d", n)
	}
}

func TestWrite_DoubleSubmitAtTheSameTimeMakesOnePage(t *testing.T) {
	v := visitMem(t)
	form := fill(v.get("/write"), "slug", "tea", "title", "Tea", "body", "Warm.")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() { v.want(v.post("/write", form), 200, "Warm.") })
	}
	wait.Wait()
	if n := v.written("ann"); n != 1 {
		t.Errorf("want one page, got %d", n)
	}
}

func TestWrite_ReusedFormLosesNothing(t *testing.T) {
	v := visitMem(t)
	form := fill(v.get("/write"), "slug", "tea", "title", "Tea", "body", "Warm.")
	v.want(v.post("/write", form), 200, "Warm.")
	for field, typed := range map[string]string{"slug": "coffee", "title": "Coffee", "body": "Black."} {
		again := maps.Clone(form)
		again.Set(field, typed)
		got := v.post("/write", again)
		v.want(got, 409, "This form was already sent", typed)
		again.Set("id", fill(got).Get("id"))
		again.Set("slug", "other-"+field)
		v.want(v.post("/write", again), 200, again.Get("body"), again.Get("title"))
	}
	v.want(v.get("/p/tea"), 200, "Warm.")
}

func TestSignUp_DoubleSubmitMakesOneMember(t *testing.T) {
	v := visitMem(t).another()
	form := fill(v.get("/signup"), "handle", "ben", "password", password)
	v.want(v.post("/signup", form), 200, "Joined")
	v.want(v.post("/signup", form), 200, "Joined")
	form.Set("handle", "cid")
	v.want(v.post("/signup", form), 409, "This form was already sent", `value="cid"`)
}

func TestEdit_SecondOfTwoTabsSeesBothTexts(t *testing.T) {
	onEachStore(t, func(t *testing.T, v *visitor) {
		v.write("tea", "Tea", "One cup.")
		edit := v.editOf("tea")
		first, second := v.get(edit), v.get(edit)
		v.want(v.post(edit, fill(first, "slug", "tea", "title", "Tea", "body", "Two cups.")), 200, "Two cups.")

		got := v.post(edit, fill(second, "slug", "tea", "title", "Tea", "body", "Three cups."))
		v.want(got, 409, "This page changed while you were writing", "<mark>Two </mark>", "<mark>Three </mark>", "Three cups.</textarea>", "Save mine as edit 3")
		v.want(v.get("/p/tea"), 200, "Two cups.")

		got = v.post(edit, fill(got, "slug", "tea", "title", "Tea", "body", "Five cups."))
		v.want(got, 200, "Five cups.")
		v.wantVersion(edit, "3")
	})
}

func TestEdit_ReportsAConflictAfterTheAddressChanged(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "One cup.")
	edit := v.editOf("tea")
	second := v.get(edit)
	v.post(edit, fill(second, "slug", "green-tea", "title", "Tea", "body", "One cup."))
	v.want(v.get("/p/tea"), 404)
	got := v.post(edit, fill(second, "slug", "tea", "title", "Tea", "body", "Three cups."))
	v.want(got, 409, "/p/green-tea", "One ", "Three cups.")
}

func TestEdit_DoubleSubmitChangesOnce(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "One cup.")
	edit := v.editOf("tea")
	form := fill(v.get(edit), "slug", "tea", "title", "Tea", "body", "Two cups.")
	v.want(v.post(edit, form), 200, "Two cups.")
	v.want(v.post(edit, form), 200, "Two cups.")
	v.wantVersion(edit, "2")
}

func TestEdit_TakenSlugKeepsWhatWasTyped(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "Warm.")
	v.write("coffee", "Coffee", "Black.")
	edit := v.editOf("coffee")
	got := v.post(edit, fill(v.get(edit), "slug", "tea", "title", "Coffee", "body", "Blacker."))
	v.want(got, 422, "taken", "Blacker.", "Edit page")
	v.want(v.get("/p/coffee"), 200, "Black.")
}

func TestEdit_TextOfADeletedPageCanBecomeANewPage(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "One cup.")
	edit := v.editOf("tea")
	form := v.get(edit)
	v.post(deleteOf(edit), fill(form))
	got := v.post(edit, fill(form, "slug", "tea", "title", "Tea", "body", "Two cups."))
	v.want(got, 410, "This page was deleted", "Two cups.", "Write a page")
	v.want(v.post("/write", fill(got, "slug", "tea", "title", "Tea", "body", "Two cups.")), 200, "Two cups.")

	got = v.post("/edit/never", fill(form, "slug", "tea", "title", "Tea", "body", "Six cups."))
	v.want(got, 404, "Six cups.", "Write a page")
}

func TestEdit_OnlyTheAuthorMay(t *testing.T) {
	ann := visitMem(t)
	ann.write("tea", "Tea", "One cup.")
	edit := ann.editOf("tea")
	form := fill(ann.get(edit), "slug", "tea", "title", "Mine", "body", "Mine.")
	ben := ann.as("ben")
	ben.without(ben.get("/p/tea"), edit)
	ben.want(ben.get(edit), 403, "This belongs to someone else")
	ben.want(ben.post(edit, form), 403, "This belongs to someone else")
	ben.want(ben.post(deleteOf(edit), form), 403, "This belongs to someone else")
	ann.want(ann.get("/p/tea"), 200, "One cup.")
}

func TestEdit_TextOutlivesTheSession(t *testing.T) {
	ann := visitMem(t)
	ann.write("tea", "Tea", "One cup.")
	edit := ann.editOf("tea")
	form := fill(ann.get(edit), "slug", "tea", "title", "Tea", "body", "Two cups.")
	fresh := fill(ann.get("/write"), "slug", "coffee", "title", "Coffee", "body", "Black.")
	ann.want(ann.post("/logout", nil), 200, "Log in")
	ann.want(ann.post(edit, form), 403, "You are not logged in", "Two cups.")
	ann.want(ann.post("/write", fresh), 403, "You are not logged in", "Black.")
	ann.want(ann.post("/login", fill(ann.get("/login"), "handle", "ann", "password", password)), 200)
	ann.want(ann.post(edit, form), 200, "Two cups.")
	ann.want(ann.post("/write", fresh), 200, "Black.")
}

func TestDelete_KeepsAPageThatHasChanged(t *testing.T) {
	v := visitMem(t)
	v.write("tea", "Tea", "One cup.")
	edit := v.editOf("tea")
	old := v.get(edit)
	v.post(edit, fill(old, "slug", "tea", "title", "Tea", "body", "Two cups."))
	v.want(v.post(deleteOf(edit), fill(old)), 409, "it was not deleted", "Two cups.")
	v.want(v.get("/p/tea"), 200, "Two cups.")

	now := fill(v.get(edit))
	v.want(v.post(deleteOf(edit), now), 200)
	v.want(v.post(deleteOf(edit), now), 200)
	v.want(v.get("/p/tea"), 404)
	v.want(v.post("/delete/never", now), 404)
}

func TestSite_Returns503UntilTheStoreIsBack(t *testing.T) {
	v, store := visitFrail(t)
	v.write("tea", "Tea", "One cup.")
	edit := v.editOf("tea")
	form := fill(v.get(edit), "slug", "tea", "title", "Tea", "body", "Two cups.")
	fresh := fill(v.get("/write"), "slug", "coffee", "title", "Coffee", "body", "Black.")
	guest := v.another()
	join := fill(guest.get("/signup"), "handle", "ben", "password", password)

	store.down.Store(true)
	for _, path := range []string{"/", "/newest", "/feed", "/p/tea", "/m/ann", "/topics", "/footprints", "/settings", edit} {
		got := v.get(path)
		v.want(got, 503, "The store is not responding", "Try again")
		v.without(got, "One cup.")
		v.without(got, "Your profile")
		if got.header.Get("Retry-After") == "" {
			t.Errorf("%s: want Retry-After", path)
		}
	}
	v.want(v.post(edit, form), 503, "The store is not responding", "Two cups.")
	v.want(v.post("/write", fresh), 503, "The store is not responding", "Black.")
	guest.want(guest.post("/signup", join), 503, "The store is not responding", `value="ben"`)
	v.want(v.get("/healthz"), 503, "not responding")

	store.down.Store(false)
	v.want(v.get("/healthz"), 200, "ok")
	v.want(v.get("/p/tea"), 200, "One cup.")
	v.want(v.post(edit, form), 200, "Two cups.")
	v.want(v.post("/write", fresh), 200, "Black.")
	guest.want(guest.post("/signup", join), 200, "Joined")
}

func TestWrite_ResentAfterAnUnclearAnswerMakesOnePage(t *testing.T) {
	v, store := visitFrail(t)
	v.write("tea", "Tea", "One cup.")
	form := fill(v.get("/write"), "slug", "coffee", "title", "Coffee", "body", "Black.")
	store.mute.Store(true)
	v.want(v.post("/write", form), 503, "Black.")
	store.mute.Store(false)
	v.want(v.post("/write", form), 200, "Black.")
	if n := v.written("ann"); n != 2 {
		t.Errorf("want two pages, got %d", n)
	}
}

func TestSite_RecoversAfterRedisWasKilled(t *testing.T) {
	servers.Need(t, "redis-server")
	redis := started(t, func() (*servers.Process, error) {
		return servers.Redis("--appendonly", "yes", "--appendfsync", "always")
	})
	v := visitURL(t, "redis://"+redis.Addr)
	v.write("tea", "Tea", "One cup.")
	redis.Kill()
	v.want(v.get("/p/tea"), 503, "The store is not responding")
	if err := redis.Start(); err != nil {
		t.Fatal(err)
	}
	v.want(v.get("/p/tea"), 200, "One cup.")
	v.want(v.write("coffee", "Coffee", "Black."), 200, "Black.")
}

func TestSite_DoesNotMistakeARestartedMemcachedForAnEmptyOne(t *testing.T) {
	servers.Need(t, "memcached")
	server := started(t, func() (*servers.Process, error) { return servers.Memcached() })
	v := visitURL(t, "memcached://"+server.Addr)
	v.write("tea", "Tea", "One cup.")
	server.Kill()
	v.want(v.get("/p/tea"), 503, "The store is not responding")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	v.want(v.get("/p/tea"), 503, "The store has lost its data", "example-app db accept", "example-app db rescue")
	v.want(v.get("/healthz"), 503, "lost")
}

// While indexes have to be built, each part of a page that needs one says so.
func TestSite_ShowsTheRestWhileAPartIsBeingRebuilt(t *testing.T) {
	store := newFrail()
	db, err := kvmodel.Open(shared{store})
	if err != nil {
		t.Fatal(err)
	}
	v := visit(t, db).as("ann")
	v.want(v.post("/write", fill(v.get("/write"), "slug", "tea", "title", "Tea", "body", "One cup.", "topics", "water")), 200)
	v.settle()
	for _, model := range []string{"Page", "Comment"} {
		if err := store.Do(t.Context(), []kv.Op{kv.OpDelete("built:" + model)}); err != nil {
			t.Fatal(err)
		}
	}
	other, err := kvmodel.Open(shared{store})
	if err != nil {
		t.Fatal(err)
	}
	w := visit(t, other)
	w.setCookie(v.cookie())
	const says = "This list is being rebuilt."
	for _, path := range []string{"/", "/ranking", "/ranking?span=all", "/m/ann", "/t/water", "/hood", "/hood?list=titles"} {
		w.want(w.get(path), 200, says)
	}
	w.want(w.get("/newest"), 503, says[:len(says)-1])
	out := w.another()
	out.want(out.post("/login", fill(out.get("/login"), "handle", "ann", "password", password)), 200, says)
}

// shared is a store that other processes may use, too.
type shared struct{ *frail }

func (s shared) Powers() kv.Powers { return kv.Powers{Unless: true} }
func (s shared) Close() error      { return nil }
