package examples

import "time"

// Memo is a note that can be moved to the trash and back. The newest are in a ring; older ones are
// in the archive.
type Memo struct {
	_       struct{} `kv:"model,if=Live"`
	ID      string   `kv:"id"`
	Text    string
	Made    time.Time `kv:"created; timeline,ring=4; ranking,name=Archive"`
	Trashed time.Time `kv:"timeline,name=Trash,if=InTrash"` // zero while it is not in the trash
}

func (m *Memo) Live() bool { return !m.InTrash() }

func (m *Memo) InTrash() bool { return !m.Trashed.IsZero() }
