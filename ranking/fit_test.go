package ranking_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

func TestBoard_Fit_NamesTiesThatMakeATreeDeep(t *testing.T) {
	ranking.SmallLeaves(t)
	synctest.Test(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		m := openRunners(t, mem)
		for i := range 100 {
			must(t, m.Create(t.Context(), &runner{ID: fmt.Sprint("r", i), Teams: []string{"a"}, Points: 7, Seconds: float64(i)}))
		}
		must(t, m.db.Flush(t.Context()))
		classes, _ := m.db.Windows()
		sights, err := classes[0].See(t.Context(), mem, []string{"r0", "r1", "r50"})
		must(t, err)
		deep := 0
		for k, w := range classes[0].Windows() {
			var some []plug.Standing
			for i := range sights {
				for _, place := range sights[i].Places[k] {
					some = append(some, plug.Standing{ID: sights[i].ID, Place: place})
				}
			}
			f, ok := w.(plug.Fitter)
			if !ok {
				continue
			}
			unfit, err := f.Fit(t.Context(), mem, some, 48*time.Hour)
			must(t, err)
			tied := strings.Contains(w.Name(), fmt.Sprint(ranking.Newest)) || strings.Contains(w.Name(), fmt.Sprint(ranking.Oldest))
			if len(unfit) > 0 && !tied {
				t.Errorf("%s: %q", w.Name(), unfit)
			}
			deep += len(unfit)
		}
		if deep == 0 {
			t.Error("no board with ties is deep")
		}
		must(t, m.db.Close(t.Context()))
	})
}
