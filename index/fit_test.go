package index_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestLists_Fit_NamesAListThatComesNearItsLimit(t *testing.T) {
	index.SmallHeads(t)
	mem := memkv.New(memkv.Options{})
	b := openSweep(mem)
	closing(t, b.db)
	*b.ByAuthor.Limits() = tinyLimits
	some := []plug.Standing{{ID: "b0", Place: "bob"}, {ID: "b1", Place: "ann"}}
	fit := func() string {
		unfit, err := b.ByAuthor.Window().(plug.Fitter).Fit(t.Context(), mem, some, 48*time.Hour)
		must(t, err)
		return strings.Join(unfit, "\n")
	}
	for i := range 200 {
		if i == 5 && fit() != "" {
			t.Errorf("a short list: %s", fit())
		}
		must(t, b.Create(t.Context(), &book{ID: fmt.Sprint("b", i), Author: "ann"}))
		must(t, b.db.Flush(t.Context()))
	}
	if got := fit(); !strings.HasPrefix(got, "a list of about ") || !strings.HasSuffix(got, "list=Group with a second field divides it") {
		t.Errorf("a long list: %q", got)
	}
}
