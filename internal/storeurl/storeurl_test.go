package storeurl

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
)

func TestParseAddress_TakesAddressesApart(t *testing.T) {
	for _, test := range []struct {
		rest string
		want Address
	}{
		{"//", Address{Hosts: []string{"127.0.0.1:1"}}},
		{"//h", Address{Hosts: []string{"h:1"}}},
		{"//h:2,g", Address{Hosts: []string{"h:2", "g:1"}}},
		{"//[::1]:2,[::2]", Address{Hosts: []string{"[::1]:2", "[::2]:1"}}},
		{"//h/3", Address{Hosts: []string{"h:1"}, Path: "3"}},
		{"//:p@h", Address{Password: "p", Hosts: []string{"h:1"}}},
		{"//u:a%40b%3Fc%25@h", Address{User: "u", Password: "a@b?c%", Hosts: []string{"h:1"}}},
		{"//u:a/b:c@d@h/1", Address{User: "u", Password: "a/b:c@d", Hosts: []string{"h:1"}, Path: "1"}},
	} {
		got, err := ParseAddress(test.rest, "1")
		if err != nil {
			t.Errorf("%s: %v", test.rest, err)
		}
		proof.NoDiff(t, cmp.Diff(test.want, got), "%s: address", test.rest)
	}
}

func TestDistance_CountsEdits(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"redis", "redis", 0},
		{"redsi", "redis", 2}, {"rdis", "redis", 1}, {"bold", "bolt", 1}, {"kitten", "sitting", 3},
	} {
		proof.Equal(t, distance(test.a, test.b), test.want, "distance(%q, %q)", test.a, test.b)
	}
}
