package oldforms_test

import (
	"context"
	"fmt"
	"log"

	"github.com/ringtree/ringtree/examples/oldforms"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// The followers of a topic, as a list of those who began and one of those who stopped.
func ExampleFollows() {
	ctx := context.Background()
	f := oldforms.Follows{Store: memkv.New(memkv.Options{})}
	for _, user := range []string{"ann", "bob", "cid"} {
		check(f.Follow(ctx, "tea", user))
	}
	check(f.Unfollow(ctx, "tea", "bob"))
	check(f.Unfollow(ctx, "tea", "ann"))
	check(f.Follow(ctx, "tea", "ann"))
	before, err := f.Followers(ctx, "tea")
	check(err)
	done, err := f.Compact(ctx, "tea")
	check(err)
	after, err := f.Followers(ctx, "tea")
	check(err)
	fmt.Println(before, done, after)
	// Output: [ann cid] true [ann cid]
}

// The newest revision has the number of all.
func ExampleLedger() {
	ctx := context.Background()
	l := oldforms.Ledger{Store: memkv.New(memkv.Options{}), Name: "members"}
	for _, says := range []string{"ann joined", "bob joined"} {
		_, err := l.Add(ctx, 1, says)
		check(err)
	}
	_, err := l.Add(ctx, 0, "bob is called rob now")
	check(err)
	_, err = l.Add(ctx, -1, "ann left")
	check(err)
	last, err := l.Last(ctx)
	check(err)
	fmt.Printf("%d after change %d: %s\n", last.Count, last.Number, last.Says)
	// Output: 1 after change 4: ann left
}

// The last entries of a row of keys, of which the oldest are forgotten.
func ExampleRow() {
	ctx := context.Background()
	r := oldforms.Row{Store: memkv.New(memkv.Options{}), Name: "visits"}
	for _, guest := range []string{"ann", "bob", "cid", "dan"} {
		check(r.Add(ctx, guest))
	}
	check(r.Forget(ctx))
	lowest, highest, err := r.InUse(ctx)
	check(err)
	newest, err := r.Newest(ctx, 10)
	check(err)
	fmt.Println(lowest, "to", highest, newest)
	// Output: 2 to 4 [dan cid bob]
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
