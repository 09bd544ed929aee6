package models

import "time"

// Match is a match that stands on a board for each way in which equal points may stand.
type Match struct {
	_      struct{}  `kv:"model,plural=Matches"`
	ID     string    `kv:"id"`
	Points int64     `kv:"ranking; ranking,name=Shared,ties=shared; ranking,name=Dense,ties=dense; ranking,name=Newest,ties=newest; ranking,name=Oldest,ties=oldest"`
	Made   time.Time `kv:"created"`
}
