package peers

import "context"

// Framework is a peer that has the rows with which TechEmpower compares web frameworks:
// Worlds, each an id and a number, and fortunes.
type Framework interface {
	// LoadRows makes the rows. There are none.
	LoadRows(ctx context.Context) error

	World(ctx context.Context, id int64) (World, error)
	Worlds(ctx context.Context, ids []int64) ([]World, error) // as their rules say, each by itself, but not one after the other

	// SetWorlds reads the worlds, gives each the number of its id, and writes them. It may
	// ask for several numbers at the same time.
	SetWorlds(ctx context.Context, ids []int64, number func(id int64) int64) error

	Fortunes(ctx context.Context) ([]Fortune, error) // all, in any order
}

// World is a row to be read and written.
type World struct{ ID, Number int64 }

// Fortune is a row to be shown.
type Fortune struct {
	ID      int64
	Message string
}

// WorldCount is how many worlds there are, with ids from 1.
const WorldCount = 10_000

// allWorlds returns the worlds as they are at first.
func allWorlds() []World {
	all := make([]World, WorldCount)
	for i := range all {
		id := int64(i + 1)
		all[i] = World{id, id*7919%WorldCount + 1}
	}
	return all
}

// allFortunes returns the fortunes, one of which a page must escape.
func allFortunes() []Fortune {
	var all []Fortune
	for i, message := range []string{
		"A list is as long as what it holds.", "Two clocks never agree.", "Measure before you change it.",
		"<script>alert(\"Not on this page.\");</script>", "The newest is not always the best.", "フレームワークのベンチマーク",
		"What is not written down is lost.", "A cache is a promise to forget.", "Most trips are shorter than they feel.",
		"Whoever counts, counts again.", "A name is half of the design.", "Every index has its price.",
	} {
		all = append(all, Fortune{int64(i + 1), message})
	}
	return all
}
