package ranking

import (
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
)

func plugIn[T any, K comparable, S any](records *kvmodel.Records[T, K], c *core, spec Spec[T, S]) {
	if spec.Of.isText() && (spec.Counter != nil || spec.Score == nil) {
		panic("ranking: " + spec.Name + " cannot be of texts: no counter says them")
	}
	c.join(records, spec.Counter, spec.Also, spec.Batch)
}

func (c *core) join(records plug.Model, counter kvmodel.Counter, also []kvmodel.Counter, batch Batch) {
	if counter == nil {
		records.Plug(exact{c}, c.open)
		return
	}
	f := newCounted(c, counter, batch)
	records.Plug(f, func(host plug.Host) {
		c.open(host)
		f.begin()
		for _, counter := range append(also[:len(also):len(also)], counter) {
			counter.Follow(f)
		}
	})
}

// open connects c to its model. It panics if the model's records expire, since nothing would take
// expired records off the board.
func (c *core) open(host plug.Host) {
	if host.Ends() {
		panic("ranking: " + host.Model() + "." + c.name + " cannot rank records that expire: delete them when they end, or rank records of a model that does not expire")
	}
	c.host = host
	c.base = c.treeName()
	c.reports = newReporter(host.DB())
}
