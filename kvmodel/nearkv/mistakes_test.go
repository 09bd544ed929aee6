package nearkv_test

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

func TestMistakes_OfANearCacheAreNoticed(t *testing.T) {
	const (
		cache = "kvmodel/nearkv/cache.go"
		near  = "kvmodel/nearkv/nearkv.go"
	)
	proof.Mistakes(t, "./kvmodel/nearkv", "TestStore_", nil, []proof.Mistake{
		proof.Wrong("any get may be answered from memory",
			near, "!op.Near || op.Kind != kv.Get", "op.Kind != kv.Get"),
		proof.Wrong("what a trip has read is kept although its key has changed",
			cache, "if before != (stamp{c.epoch.Load(), *drops}) {", "if false {"),
		proof.Wrong("what a trip has read is kept although all is forgotten",
			cache, "	c.epoch.Add(1)\n", ""),
		proof.Wrong("a process waits until it is told of its own writes",
			near, "case op.Kind.Writes():\n			n.cache.drop(op.Key)", "case op.Kind.Writes():"),
		proof.Wrong("what a transaction has written stays as it was",
			near, "		for _, key := range written {\n			n.cache.drop(key)\n		}\n", ""),
		proof.Wrong("of two gets at the same time the one that ends last is believed",
			cache, "was.version != it.version && ", "false && was.version != it.version && "),
		proof.Wrong("what a past get has shown does not count",
			cache, "if it, ok := s.find(key); !ok || it.version != version {", "if false {"),
		proof.Wrong("what is not known is read alone",
			near, "			return false\n		}\n		ops[i].Result = it.result()", "			_ = n.ask(context.Background(), ops[i:i+1])\n			continue\n		}\n		ops[i].Result = it.result()"),
		proof.Wrong("an answer may be of any age",
			near, "n.age > 0 && now.Sub(it.asked) > n.age", "false && now.Sub(it.asked) > n.age"),
		proof.Wrong("a failure is kept as an answer",
			near, "case !answered(op.Result):", "case false:"),
		proof.Wrong("what a caller of the store gets is kept as it is",
			near, "item{bytes.Clone(op.Result.Value), ", "item{bytes.TrimSpace(op.Result.Value), "),
		proof.Wrong("a server that is not heard of is believed to tell everything",
			near, " && (n.powers.Changes == nil || n.powers.Changes.Current())", ""),
		proof.Wrong("a loss changes nothing",
			near, "		powers.Losses.Watch(func([]string, error) { n.cache.empty() })\n", ""),
		proof.Wrong("there is no bound",
			cache, "s.young == nil || s.size+size > s.limit", "s.young == nil"),
	})
}
