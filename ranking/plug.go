package ranking

import "github.com/ringtree/ringtree/kvmodel"

// plugIn makes c one of the indexes of records.
func plugIn[T any, K comparable, S any](records *kvmodel.Records[T, K], c *core[T], spec Spec[T, S]) {
	if spec.Of.isText() && (spec.Counter != nil || spec.Score == nil) {
		panic("ranking: " + spec.Name + " cannot be of texts: no counter says them")
	}
	if spec.Counter == nil {
		c.host = records.Plug(exact[T]{c})
		c.reports = &reporter{db: c.host.DB()}
		return
	}
	f := newCounted(c, spec)
	c.host = records.Plug(f)
	c.reports = &reporter{db: c.host.DB()}
	f.begin()
	for _, counter := range append(spec.Also[:len(spec.Also):len(spec.Also)], spec.Counter) {
		counter.Follow(f)
	}
}
