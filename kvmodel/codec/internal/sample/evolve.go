package sample

// OldNote is the first release of a record.
type OldNote struct {
	ID     string
	Author OldPerson
	Editor *OldPerson
	Lines  []OldLine
	Gone   int32
	Old    string
}

// OldPerson is part of an OldNote.
type OldPerson struct {
	Name string
}

// OldLine is an element of an OldNote.
type OldLine struct {
	Text string
}

// NewNote is the second release: fields were added everywhere, Gone was removed,
// and Old was renamed to Fresh.
type NewNote struct {
	ID     string
	Stars  uint64
	Author NewPerson
	Editor *NewPerson
	Lines  []NewLine
	Fresh  string `msgpack:",alias:Old"`
	Extras map[string][]int
}

// NewPerson is part of a NewNote.
type NewPerson struct {
	Email string
	Name  string
	Home  Address
}

// NewLine is an element of a NewNote.
type NewLine struct {
	Text string
	Mark bool
}
