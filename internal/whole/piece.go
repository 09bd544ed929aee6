package whole

import "time"

type Piece struct {
	_     struct{}  `kv:"model,count"`
	ID    string    `kv:"id"`
	Tags  []string  `kv:"list,values"`
	Stars int64     `kv:"ranking,ties=dense; ranking,name=Latest,ties=newest"`
	Motto string    `kv:"unique,for=20000h" json:",omitempty"` // absent in stores kept before
	Made  time.Time `kv:"created"`
}

func (p *Piece) holds(at time.Time) bool {
	return p.Motto != "" && at.Before(p.Made.Add(mottoHeld))
}

const mottoHeld = 20000 * time.Hour

// Title returns that of all pieces with as many stars.
//
//kv:ranking
func (p *Piece) Title() string { return Titles[p.Stars%int64(len(Titles))] }
