package costs

import (
	"bytes"
	"fmt"
)

const head = `# Costs

What each verb asks of a store before its reply. ` + "`make docs`" + ` has measured this page and written
it: no number here is typed, and ` + "`make test`" + ` fails where the page and the code disagree.

- **Trips** are requests to the store that follow one another. They are counted on three stores in
  memory, of which each can do what its namesake can. An embedded **file** has transactions, and
  one of them is one trip. **Redis** carries out the operations of a trip in their order, a cluster
  and **memcached** do not; nor can memcached refuse an append.
- **Ops, keys, bytes** are those on Redis: operations, different keys in each trip, and about how
  many bytes of values, to two digits. The bytes differ a little from run to run.
- A record is about a KiB. The process has used the same index seconds ago, and has not just read
  the record. Where it matters a row says so, and [the table at the
  end](#what-a-process-has-to-find-out) what else it costs.
- What comes **after the reply**, such as taking out old entries, is not counted.
`

// page returns docs/costs.md.
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

// about returns n to two digits.
func about(n int) int {
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit/2) / unit * unit
}

const appHead = `
## An app

The endpoints of [examples/conduit](../examples/conduit/models.go), each with all that its answer
shows, in trips: in a process that has made the call seconds ago, with something new since, and
a minute later.

| endpoint | with | file | memcached | Redis | new | later |
|---|---|--:|--:|--:|--:|--:|
`
