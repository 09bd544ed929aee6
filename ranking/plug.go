package ranking

import (
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
)

// plugIn makes c one of the indexes of records.
func plugIn[T any, K comparable, S any](records *kvmodel.Records[T, K], c *core, spec Spec[T, S]) {
	if spec.Of.isText() && (spec.Counter != nil || spec.Score == nil) {
		panic("ranking: " + spec.Name + " cannot be of texts: no counter says them")
	}
	c.join(records, spec.Counter, spec.Also, spec.Batch)
}

// join plugs c into the records. It follows counter and also, unless counter is nil.
func (c *core) join(records plug.Model, counter kvmodel.Counter, also []kvmodel.Counter, batch Batch) {
	if counter == nil {
		c.host = records.Plug(exact{c})
		c.reports = &reporter{db: c.host.DB()}
		return
	}
	f := newCounted(c, counter, batch)
	c.host = records.Plug(f)
	c.reports = &reporter{db: c.host.DB()}
	f.begin()
	for _, counter := range append(also[:len(also):len(also)], counter) {
		counter.Follow(f)
	}
}
