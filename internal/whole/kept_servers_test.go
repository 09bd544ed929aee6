package whole_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

// The stores of servers are kept a second time as the servers hold them: a Redis
// keeps the version before each value, a memcached has flags beside it.

// held is what a server holds under a key.
type held struct {
	item
	Flags string // of memcached
}

// wire speaks to a server in its own protocol.
type wire struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, addr string) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	return &wire{t, conn, bufio.NewReader(conn)}
}

func (w *wire) send(format string, args ...any) {
	w.t.Helper()
	_, err := fmt.Fprintf(w, format, args...)
	must(w.t, err)
}

// line returns the next line without its end.
func (w *wire) line() string {
	w.t.Helper()
	line, err := w.in.ReadString('\n')
	must(w.t, err)
	return strings.TrimRight(line, "\r\n")
}

// bytes returns the next n bytes and skips the end of their line.
func (w *wire) bytes(text string) []byte {
	w.t.Helper()
	n, err := strconv.Atoi(text)
	must(w.t, err)
	value := make([]byte, n+2)
	_, err = io.ReadFull(w.in, value)
	must(w.t, err)
	return value[:n]
}

// server is how items go into a server as they are, and come out.
type server struct {
	program string

	start func(...string) (*servers.Process, error)
	open  func(addr string) (kv.Store, error)
	get   func(*wire, string) held
	put   func(*wire, held)
}

var kin = map[string]server{
	"redis": {
		program: "redis-server",
		start:   servers.Redis,
		open: func(addr string) (kv.Store, error) {
			return rediskv.Open(ctx, rediskv.Options{Addrs: []string{addr}})
		},
		get: func(w *wire, key string) held {
			w.send("GET %s\r\n", key)
			h := held{item: item{Key: key, Value: w.bytes(w.line()[1:])}}
			w.send("PTTL %s\r\n", key)
			ms, err := strconv.Atoi(w.line()[1:])
			must(w.t, err)
			h.TTL = time.Duration(max(0, ms)) * time.Millisecond
			return h
		},
		put: func(w *wire, h held) {
			parts := []string{"SET", h.Key, string(h.Value)}
			if h.TTL > 0 {
				parts = append(parts, "PX", strconv.FormatInt(h.TTL.Milliseconds(), 10))
			}
			text := fmt.Sprintf("*%d\r\n", len(parts))
			for _, part := range parts {
				text += fmt.Sprintf("$%d\r\n%s\r\n", len(part), part)
			}
			w.send("%s", text)
			if answer := w.line(); answer != "+OK" {
				w.t.Fatalf("set %s: %s", h.Key, answer)
			}
		},
	},
	"memcached": {
		program: "memcached",
		start:   servers.Memcached,
		open: func(addr string) (kv.Store, error) {
			return memcachekv.OpenVolatile([]string{addr}, memcachekv.Options{})
		},
		get: func(w *wire, key string) held {
			w.send("get %s\r\n", key)
			fields := strings.Fields(w.line())
			h := held{item: item{Key: key, Value: w.bytes(fields[3])}, Flags: fields[2]}
			w.line() // END
			return h
		},
		put: func(w *wire, h held) {
			ends := int64(0)
			if h.TTL > 0 {
				ends = time.Now().Add(h.TTL).Unix() + 1
			}
			w.send("set %s %s %d %d\r\n%s\r\n", h.Key, h.Flags, ends, len(h.Value), h.Value)
			if answer := w.line(); answer != "STORED" {
				w.t.Fatalf("set %s: %s", h.Key, answer)
			}
		},
	},
}

// running starts a server of its kind, and opens the store on it.
func (s server) running(t *testing.T) (kv.Store, *wire) {
	t.Helper()
	p, err := s.start()
	must(t, err)
	t.Cleanup(p.Stop)
	store, err := s.open(p.Addr)
	must(t, err)
	t.Cleanup(func() { store.Close() })
	return store, dial(t, p.Addr)
}

// keepHeld keeps the items of a dump as a server holds them.
func keepHeld(t *testing.T, k kind, dir string) {
	store, w := kin[k.name].running(t)
	lines := read(t, filepath.Join(dir, k.name+".items.gz"))
	load(t, store, lines)
	var out bytes.Buffer
	eachLine(t, lines, func(it item) {
		h := kin[k.name].get(w, it.Key)
		h.TTL = it.TTL // The server's own has run on.
		must(t, json.NewEncoder(&out).Encode(h))
	})
	write(t, filepath.Join(dir, k.name+".held.gz"), out.Bytes())
}

// eachLine calls f with what each line of a dump says.
func eachLine[T any](t *testing.T, lines []byte, f func(T)) {
	t.Helper()
	for in := json.NewDecoder(bytes.NewReader(lines)); ; {
		var v T
		if err := in.Decode(&v); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		f(v)
	}
}

// steady are the questions whose answers do not wait for the repair of the dead,
// which takes a real minute.
var steady = regexp.MustCompile(`( All| Page)$|^(Work|Like|Offer|Ticket) \S+$|BySlug|ByCode|^Work (Newest|Notes|History)|^(Visit|Glance|Notice|Shot|Log|Topics|Scores) ?`)

func TestKept_StoresOfEveryReleaseAreReadByRealServers(t *testing.T) {
	t.Parallel()
	for _, k := range kinds[1:] {
		t.Run(k.name, func(t *testing.T) {
			servers.Need(t, kin[k.name].program)
			dirs, err := filepath.Glob(filepath.Join("testdata", "kept", "*"))
			must(t, err)
			for _, dir := range dirs {
				readHeld(t, k, dir)
			}
		})
	}
}

// readHeld puts what a server held into one, wants the library to show it, and
// changes it.
func readHeld(t *testing.T, k kind, dir string) {
	var was kept
	name := filepath.Join(dir, k.name)
	must(t, json.Unmarshal(read(t, name+".json.gz"), &was))
	store, w := kin[k.name].running(t)
	if _, err := os.Stat(name + ".held.gz"); errors.Is(err, os.ErrNotExist) {
		load(t, store, read(t, name+".items.gz"))
	} else {
		eachLine(t, read(t, name+".held.gz"), func(h held) { kin[k.name].put(w, h) })
	}
	began := time.Now()
	clock := kvmodel.Clock(func() time.Time { return was.Written.Add(time.Since(began)) })
	l, err := whole.Open(store, clock)
	must(t, err)
	defer l.DB.Close(ctx)
	shown := l.Look(ctx)
	for question, want := range was.Before {
		// An index that needs a rebuild says so, to all questions or to the first.
		got, asked := shown[question]
		if asked && got != want && got != whole.NeedsRebuild && steady.MatchString(question) {
			t.Errorf("%s: %s: want %q, got %q", dir, question, want, got)
		}
	}
	changeHeld(t, l)
}

// changeHeld changes a work at every place it has, and wants it there.
func changeHeld(t *testing.T, l *whole.Library) {
	editWork(t, l, "w7", func(w *whole.Work) {
		w.Slug, w.Author, w.Tags, w.Title, w.Price = "held", "cy", []string{"green"}, "held", 5000
	})
	found, err := l.Works.BySlug.Find(ctx, "held")
	must(t, err)
	in, err := l.Works.ByTags.Of("green").Contains(ctx, "w7")
	must(t, err)
	newest, err := l.Works.Newest.Page(ctx, "", 1)
	must(t, err)
	top, err := l.Works.TopPrice.Page(ctx, "", 1)
	must(t, err)
	if found.ID != "w7" || !in || newest.Items[0].ID != "w7" || top.Items[0].ID != "w7" {
		t.Errorf("found %s, in its list: %t, newest %s, top %s", found.ID, in, newest.Items[0].ID, top.Items[0].ID)
	}
	views, err := l.Works.Views.Get(ctx, "w7")
	must(t, err)
	if n, err := l.Works.Views.Hit(ctx, "w7"); err != nil || n != views+1 {
		t.Errorf("a hit after %d: %d, %v", views, n, err)
	}
}
