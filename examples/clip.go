package examples

// Clip is a clip that very many people play. Its ranking follows one play in many, chosen at
// random: one in as many as a binary tree of all clips has levels.
type Clip struct {
	ID    string `kv:"id"`
	Plays int64  `kv:"counter,batch=sampled; ranking"`
}
