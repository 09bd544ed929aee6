package wiki

import (
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// InMemory returns the models of the wiki in a database in memory.
func InMemory(opts ...kvmodel.Option) (*kvmodel.DB, *Models) {
	db, err := kvmodel.Open(memkv.New(memkv.Options{Local: true}), opts...)
	if err != nil {
		panic(err) // an invalid option
	}
	return db, New(db)
}
