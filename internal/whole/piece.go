package whole

import "time"

// Piece is a record that is counted, in all and by its tags, and may share its rank.
type Piece struct {
	_     struct{}  `kv:"model,count"`
	ID    string    `kv:"id"`
	Tags  []string  `kv:"list,values"`
	Stars int64     `kv:"ranking,ties=dense; ranking,name=Latest,ties=newest"`
	Made  time.Time `kv:"created"`
}
