package rediskv

import (
	"strings"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

func TestOpen_NamesTheCommandsThatTheServerRefuses(t *testing.T) {
	p := ownServer(t)
	user := func(name string, rules ...string) Options {
		raw(t, p.Addr, append([]string{"ACL", "SETUSER", name, "on", ">secret"}, rules...)...)
		return Options{Addrs: []string{p.Addr}, Username: name, Password: "secret"}
	}
	wantOpen(t, user("unscripted", "~*", "+@all", "-@scripting"), "the server refuses EVALSHA, EVAL, which the store needs: NOPERM")
	wantOpen(t, user("untransacted", "~*", "+@all", "-multi"), "the server refuses MULTI, which the store needs: NOPERM")
	wantOpen(t, user("unfinished", "~*", "+@all", "-exec", "-setrange"), "the server refuses SETRANGE, EXEC, which the store needs: NOPERM")
	wantOpen(t, user("elsewhere", "~app:*", "+@all"), "the server refuses SET, GET, MGET, ", "; besides its own keys a user needs ringtree{*}")

	few := strings.Fields("~app:* ~ringtree{*} -@all +multi +exec +discard +set +get +mget +del +eval +evalsha +exists +strlen +getrange +setrange +append +hello +ping")
	s := wantOpen(t, user("sparing", few...))
	mustDo(t, s, kv.OpSet("app:k", []byte("1")))
	mustDo(t, s, kv.OpAppend("app:k", []byte("2")))
	mustDo(t, s, kv.OpIncrement("app:k", 1))
}

func TestOpen_RenamedCommandIsNamed(t *testing.T) {
	wantOpen(t, Options{Addrs: []string{ownServer(t, "--rename-command", "EVAL", "").Addr}},
		"the server refuses EVAL, which the store needs: ERR unknown command 'EVAL'")
}

func TestOpen_LeavesNothingAtTheServer(t *testing.T) {
	p := ownServer(t)
	openAt(t, p.Addr)
	if n, err := raw(t, p.Addr, "DBSIZE").AsInt64(); n != 0 || err != nil {
		t.Errorf("want no keys, got %d, %v", n, err)
	}
}

func TestOpen_UserWhoOnlyReadsMayDoSo(t *testing.T) {
	p := ownServer(t)
	writer := openAt(t, p.Addr)
	mustDo(t, writer, kv.OpSet("k", []byte("v")))
	raw(t, p.Addr, "ACL", "SETUSER", "reader", "on", ">secret", "~*", "+@read", "+@connection", "+@transaction")
	log := new(said)
	s := wantOpen(t, Options{Addrs: []string{p.Addr}, Username: "reader", Password: "secret", Log: log.log()})
	if r := mustDo(t, s, kv.OpGet("k")); string(r.Value) != "v" {
		t.Errorf("want v, got %q", r.Value)
	}
	wantErr(t, do(t, s, kv.OpSet("k", nil)).Err, kv.ErrUnavailable)
	if !strings.Contains(log.String(), "the server refuses SET, so nothing can be written") {
		t.Errorf("want a log that says so, got %q", log)
	}
}

func TestOpen_NodeThatRefusesACommandIsNamed(t *testing.T) {
	for _, addr := range clusterAddrs(t) {
		raw(t, addr, "ACL", "SETUSER", "unscripted", "on", ">secret", "~*", "+@all", "-eval")
		raw(t, addr, "ACL", "SETUSER", "untransacted", "on", ">secret", "~*", "+@all", "-multi")
	}
	wantOpen(t, Options{Addrs: clusterAddrs(t), Username: "unscripted", Password: "secret"}, "the server refuses EVAL, which the store needs: NOPERM")
	s := wantOpen(t, Options{Addrs: clusterAddrs(t), Username: "untransacted", Password: "secret"})
	mustDo(t, s, kv.OpSet("without:a:transaction", nil))
}
