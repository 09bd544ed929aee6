package main

import (
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}

// onlyMatch returns what the group of an expression matches in text, which it does once.
func onlyMatch(t *testing.T, text, expression string) string {
	t.Helper()
	found := regexp.MustCompile(expression).FindAllStringSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("want one match of %s, got %q", expression, found)
	}
	return found[0][1]
}

func TestContainerfile_StartsTheAppAndLetsDbFindItsStore(t *testing.T) {
	text := readText(t, "Containerfile")
	var args []string
	must(t, json.Unmarshal([]byte(onlyMatch(t, text, `(?m)^ENTRYPOINT (.*)$`)), &args))
	t.Setenv(keyVariable, strings.Repeat("0", 64)) // No directory is made.
	set, err := parse(args[1:], io.Discard)
	must(t, err)
	if want := "0.0.0.0:" + onlyMatch(t, text, `(?m)^EXPOSE (\d+)$`); !set.secure || set.addr != want || set.data != onlyMatch(t, text, `(?m)^VOLUME (\S+)$`) {
		t.Errorf("want it to serve behind TLS on %s with its data in the volume, got %+v", want, set)
	}
	if got := onlyMatch(t, text, `RINGTREE_STORE=(\S+)`); got != set.store {
		t.Errorf("want db to open %s, got %s", set.store, got)
	}
	if args[0] != "/ashiato" {
		t.Errorf("want the program that was built started, got %s", args[0])
	}
}
