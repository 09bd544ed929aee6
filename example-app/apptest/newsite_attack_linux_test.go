package apptest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
)

// A customer is a browser behind the proxy of a site that is secure, at an address of its own.
type customer struct {
	*testing.T
	url, address string
	cookie       string
}

// customerOf returns customer number n of a site.
func customerOf(t *testing.T, url string, n int) *customer {
	return &customer{T: t, url: url, address: fmt.Sprintf("10.0.%d.%d", n/250, n%250+1)}
}

// send sends a request, and returns the status of the answer and its body. Status 0 is none.
func (c *customer) send(method, path string, fields ...string) (status int, body string) {
	c.Helper()
	r, err := http.NewRequest(method, c.url+path, strings.NewReader(values(fields).Encode()))
	if err != nil {
		c.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {urlencoded}, "X-Forwarded-For": {c.address}, "Cookie": {c.cookie}}
	r.Close = true
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	for _, cookie := range resp.Cookies() {
		if !cookie.Secure || !cookie.HttpOnly || !strings.HasPrefix(cookie.Name, "__Host-") {
			c.Errorf("the cookie can be sent elsewhere: %s", cookie)
		}
		c.cookie = cookie.Name + "=" + cookie.Value
	}
	all, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(all)
}

// want is send, whose answer has to have a status.
func (c *customer) want(want int, method, path string, fields ...string) string {
	c.Helper()
	got, body := c.send(method, path, fields...)
	if got != want {
		c.Errorf("%s %s: want status %d, got %d: %s", method, path, want, got, shown(body))
	}
	return body
}

func (c *customer) signIn(name, password string) bool {
	c.Helper()
	status, _ := c.send("POST", "/signin", "name", name, "password", password)
	return status == http.StatusSeeOther
}

// cpuOf returns the processor time that a process has used, to 10 ms.
func cpuOf(t *testing.T, process *os.Process) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	// The name of the program is in brackets. Two of the fields after it are hundredths of seconds.
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	user, err := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// A site as kvgen new makes it, with 256 file descriptors, whose visitors want to harm it.
func TestNewSite_StandsUnderAttack(t *testing.T) {
	_, program := sharedSite(t)
	url, process := runSite(t, program, t.TempDir(), "-store", "mem:", "-secure")
	ann := customerOf(t, url, 1)
	ann.want(303, "POST", "/signup", "name", "ann", "password", "long enough")

	t.Run("300 connections that hold still", func(t *testing.T) {
		for i := range 300 {
			c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			io.WriteString(c, []string{"", "GET / HTTP/1.1\r\n", "POST /signin HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nname"}[i%3])
		}
		for range 20 {
			ann.want(200, "GET", "/posts")
		}
		t.Log("20 of 20 visitors are served")
	})
	t.Run("300 wrong passwords", func(t *testing.T) {
		mallory, checked := customerOf(t, url, 2), 0
		for range 300 {
			switch status, body := mallory.send("POST", "/signin", "name", "ann", "password", "not this one"); status {
			case 422:
				checked++
			case 429:
			default:
				t.Fatalf("status %d: %s", status, shown(body))
			}
		}
		// The limits begin anew each 15 minutes, perhaps in between.
		if checked < 20 || checked > 40 {
			t.Errorf("%d of 300 were checked", checked)
		}
		if !customerOf(t, url, 3).signIn("ann", "long enough") {
			t.Error("ann cannot sign in elsewhere")
		}
		t.Logf("%d of 300 were checked, the others refused; ann signs in elsewhere", checked)
	})
	t.Run("100,000 tags", func(t *testing.T) {
		var tags strings.Builder
		for i := range 100_000 {
			fmt.Fprintf(&tags, "t%d,", i)
		}
		const forms = 5
		before := cpuOf(t, process)
		for range forms {
			if body := ann.want(422, "POST", "/posts/new", "title", "Many", "tags", tags.String()); !strings.Contains(body, `id="tags-error"`) {
				t.Fatal("nothing is beside the tags")
			}
		}
		each := (cpuOf(t, process) - before) / forms
		if each > 50*time.Millisecond {
			t.Errorf("a form takes %s of processor time", each)
		}
		t.Logf("refused, each within %s of processor time", each)
	})
}

// The process of a new site is killed while a password changes, at another moment each time. In
// the end the sessions of the old password have ended, or nothing has changed.
func TestMatrix_OfKills_ANewSiteKeepsNoSessionOfAnOldPassword(t *testing.T) {
	_, program := sharedSite(t)
	dir := t.TempDir()
	moments := make([]float64, 40)
	for i := range moments {
		moments[i] = rand.Float64()
	}
	changes, kills := 0, 0
	var takes time.Duration // a change that nothing breaks off; none at first
	for moment := range proof.Part(t, moments[:3], moments) {
		name := fmt.Sprint("bird", kills)
		url, process := runSite(t, program, dir, "-secure")
		owner, elsewhere := customerOf(t, url, 2*kills), customerOf(t, url, 2*kills+1)
		owner.want(303, "POST", "/signup", "name", name, "password", "long enough")
		if !elsewhere.signIn(name, "long enough") {
			t.Fatal("nobody can sign in")
		}
		began, answered := time.Now(), make(chan int, 1)
		go func() {
			status, _ := owner.send("POST", "/settings", "password", "long enough", "new", "even longer")
			answered <- status
		}()
		if kills == 0 {
			if status := <-answered; status != 303 {
				t.Fatalf("the password does not change: status %d", status)
			}
			takes = time.Since(began)
			answered <- 0
		} else {
			time.Sleep(time.Duration((0.6 + 0.6*moment) * float64(takes))) // Before that it hashes.
		}
		process.Kill()
		process.Wait()
		<-answered

		url, process = runSite(t, program, dir, "-secure")
		elsewhere.url = url
		changed, alive := false, true
		for try := range 1000 { // The change goes on, and may take its time.
			changed = customerOf(t, url, 1000+try).signIn(name, "even longer")
			status, _ := elsewhere.send("GET", "/settings")
			if alive = status == 200; changed != alive {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if changed == alive {
			t.Errorf("kill %d: the password has changed: %v, and an old session is alive: %v", kills, changed, alive)
		}
		if changed {
			changes++
		}
		process.Kill()
		process.Wait()
		kills++
	}
	t.Logf("%d kills, after which %d passwords had changed: 0 old sessions alive with a new password", kills, changes)
}
