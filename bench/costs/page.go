package costs

import (
	"bytes"
	"fmt"
)

const head = `# Costs

This page lists the cost of each method before its reply. ` + "`make docs`" + ` measures and writes the page, and
` + "`make test`" + ` fails if it differs from the code.

- **Trips** are sequential requests to the store. They are counted on three in-memory stores with the
  powers of their namesakes. A **file** has transactions, each of which is one trip. **Redis** carries
  out the operations of a trip in order; a cluster and **memcached** do not, and memcached cannot refuse
  an append.
- **Ops, keys, bytes** are those on Redis: operations, different keys in each trip, and bytes of values to
  two digits. The bytes vary a little from run to run.
- A record is about a KiB. The process has used the same index seconds ago, and has not just read the
  record, unless a row says so. [Another table](#what-a-process-has-to-find-out) has the extra costs
  of a process that has not used it.
- Work **after the reply**, such as removing old entries, is not counted.
`

func page(tables []Table, app []AppRow) []byte {
	var b bytes.Buffer
	b.WriteString(head)
	for _, t := range tables {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", t.Title, t.Text)
		b.WriteString("| call | file | Redis | memcached | ops | keys | bytes read | bytes written |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
		for _, r := range t.Rows {
			on := r.Costs[OnRedis]
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d |\n", r.Name,
				r.Costs[OnFile].Trips, on.Trips, r.Costs[OnMemcached].Trips, on.Ops, on.Keys, about(on.Read), about(on.Wrote))
		}
	}
	b.WriteString(appHead)
	for _, r := range app {
		on := r.Costs[OnRedis]
		fmt.Fprintf(&b, "| `%s` | %s | %d | %d | %d | %d | %d |\n", r.Endpoint, r.With,
			r.Costs[OnFile].Again.Trips, r.Costs[OnMemcached].Again.Trips, on.Again.Trips, on.New.Trips, on.Later.Trips)
	}
	return b.Bytes()
}

func about(n int) int {
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit/2) / unit * unit
}

const appHead = `
## An app

The trips of each endpoint of [examples/conduit](../examples/conduit/models.go), with everything that its
response shows: in a process that made the call seconds ago, after a change, and a minute later.

| endpoint | with | file | memcached | Redis | new | later |
|---|---|--:|--:|--:|--:|--:|
`
