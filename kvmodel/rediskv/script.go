package rediskv

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

//go:embed ops.lua
var opsLua string

type script struct {
	text string
	sha  string
}

// billion splits a number into two parts for the script, whose numbers are doubles.
const billion = 1_000_000_000

func newScript() script {
	text := strings.NewReplacer(
		"$MAX_VALUE", strconv.Itoa(kv.MaxValue),
		"$MAX_HIGH", strconv.Itoa(kv.MaxNumber/billion),
		"$MAX_LOW", strconv.Itoa(kv.MaxNumber%billion),
	).Replace(opsLua)
	sum := sha1.Sum([]byte(text))
	return script{text, hex.EncodeToString(sum[:])}
}

func (sc script) run(b rueidis.Builder, ops []*kv.Op, sha string) rueidis.Completed {
	args := make([]string, 0, 4*len(ops))
	for _, op := range ops {
		three := scriptArgs(op)
		args = append(args, scriptKind(op), three[0], three[1], three[2])
	}
	n := int64(len(ops))
	if sha == "" {
		return b.Eval().Script(sc.text).Numkeys(n).Key(keysOf(ops)...).Arg(args...).Build()
	}
	return b.Evalsha().Sha1(sha).Numkeys(n).Key(keysOf(ops)...).Arg(args...).Build()
}

func scriptKind(op *kv.Op) string {
	if op.Chain == 0 {
		return op.Kind.String()
	}
	return strconv.FormatUint(op.Chain, 10) + op.Kind.String()
}

func scriptArgs(op *kv.Op) [3]string {
	ms := strings.Join(ttl(op), "")
	switch op.Kind {
	case kv.Set, kv.Add:
		return [3]string{newText(op.Value), ms}
	case kv.CompareAndSwap:
		return [3]string{string(head(op.Version)), newText(op.Value), ms}
	case kv.CompareAndDelete:
		return [3]string{string(head(op.Version))}
	case kv.Append:
		return [3]string{newText(nil), string(op.Value), string(op.Unless)}
	case kv.Increment:
		// Both parts have the sign of the delta.
		return [3]string{newText(nil), strconv.FormatInt(op.Delta/billion, 10), strconv.FormatInt(op.Delta%billion, 10)}
	}
	return [3]string{}
}
