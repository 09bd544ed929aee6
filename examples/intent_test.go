package examples_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/examples"
	"github.com/ringtree/ringtree/kvmodel"
)

// A transfer changes two accounts. Once begun, it ends, even after a crash.
func ExampleNewTransfers() {
	ctx, m, done := open()
	defer done()
	transfers := examples.NewTransfers(m.DB, m.Accounts) // at start-up, in every process

	check(m.Accounts.Create(ctx, &examples.Account{ID: "ann", Balance: 10}))
	check(m.Accounts.Create(ctx, &examples.Account{ID: "bob"}))
	for range 2 {
		fmt.Println(transfers.Do(ctx, examples.Transfer{ID: kvmodel.NewID(time.Now()), From: "ann", To: "bob", Amount: 7}))
	}
	err := transfers.Do(ctx, examples.Transfer{ID: kvmodel.NewID(time.Now()), From: "ann", To: "rob", Amount: 1})
	fmt.Println(errors.Is(err, kvmodel.ErrNotFound), kvmodel.HTTPStatus(err))
	all, err := m.Accounts.GetMulti(ctx, []string{"ann", "bob"})
	check(err)
	fmt.Println(all[0].Balance, all[1].Balance)
	// Output:
	// <nil>
	// the balance is too low
	// true 404
	// 3 7
}

// A name is in two records. A rename changes both.
func ExampleNewRenames() {
	ctx, m, done := open()
	defer done()
	renames := examples.NewRenames(m.DB, m.Authors, m.Badges)

	check(m.Authors.Create(ctx, &examples.Author{ID: "a1", Name: "Ann"}))
	now := time.Now()
	check(renames.Do(ctx, examples.Rename{Author: "a1", Name: "Anna", At: now}))
	check(renames.Do(ctx, examples.Rename{Author: "a1", Name: "Annie", At: now.Add(-time.Minute)})) // late

	author, err := m.Authors.Get(ctx, "a1")
	check(err)
	badge, err := m.Badges.Get(ctx, "a1")
	check(err)
	fmt.Println(author.Name, badge.Name)
	// Output: Anna Anna
}
