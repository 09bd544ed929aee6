package examples

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// Account has a balance, and the last transfers that changed it.
type Account struct {
	ID      string `kv:"id"`
	Balance int64
	Seen    []string // the ids of transfers, the newest last
}

// Transfer is an intent to move an amount.
type Transfer struct {
	ID, From, To string
	Amount       int64
}

// Turn makes a process carry out the transfers from one account one after another.
func (t *Transfer) Turn() string { return t.From }

// seenLimit is the number of transfers that an account remembers. A retried transfer must still be
// among them.
const seenLimit = 1000

var errPoor = errors.New("the balance is too low")

// NewTransfers returns the intent that moves an amount between accounts, which are closed, but
// never deleted.
func NewTransfers(db *kvmodel.DB, accounts *Accounts) *kvmodel.Intent[Transfer] {
	return kvmodel.NewIntent(db, "transfer", func(ctx context.Context, t Transfer) error {
		_, err := accounts.Get(ctx, t.To)
		if err == nil {
			_, err = accounts.Update(ctx, t.From, func(a *Account) error {
				if !slices.Contains(a.Seen, t.ID) && a.Balance < t.Amount {
					return kvmodel.Refused(errPoor) // Nothing was changed yet.
				}
				a.book(t.ID, -t.Amount)
				return nil
			})
		}
		if errors.Is(err, kvmodel.ErrNotFound) {
			return kvmodel.Refused(err) // One of them does not exist, so nothing was changed either.
		}
		if err != nil {
			return err
		}
		_, err = accounts.Update(ctx, t.To, func(a *Account) error {
			a.book(t.ID, t.Amount)
			return nil
		})
		return err
	})
}

// book changes the balance, unless the account has seen the transfer.
func (a *Account) book(transfer string, amount int64) {
	if slices.Contains(a.Seen, transfer) {
		return
	}
	a.Balance += amount
	a.Seen = append(a.Seen, transfer)
	a.Seen = a.Seen[max(0, len(a.Seen)-seenLimit):]
}

// Author is a person with a public name.
type Author struct {
	ID    string    `kv:"id"`
	Name  string    `kv:"unique"`
	Named time.Time // when the author got the name
}

// Badge shows the name of an author, in a record of its own.
type Badge struct {
	ID   string `kv:"id"` // of the author
	Name string
}

// Rename is an intent to rename an author.
type Rename struct {
	Author, Name string
	At           time.Time
}

// NewRenames returns the intent that changes an author's name in both places. A late rename does
// not undo a newer one.
func NewRenames(db *kvmodel.DB, authors *Authors, badges *Badges) *kvmodel.Intent[Rename] {
	return kvmodel.NewIntent(db, "rename", func(ctx context.Context, r Rename) error {
		_, err := authors.Update(ctx, r.Author, func(a *Author) error {
			if a.Named.Before(r.At) {
				a.Name, a.Named = r.Name, r.At
			}
			return nil
		})
		if errors.Is(err, kvmodel.ErrExists) || errors.Is(err, kvmodel.ErrNotFound) {
			return kvmodel.Refused(err) // The name is taken, or the author does not exist. Nothing was changed yet.
		}
		if err != nil {
			return err
		}
		_, err = badges.Upsert(ctx, r.Author, func(b *Badge) error {
			author, err := authors.Get(ctx, r.Author) // as of now
			if err == nil {
				b.Name = author.Name
			}
			return err
		})
		return err
	})
}
