package tag

import "strings"

// A Site is a place where a tag may stand.
type Site int

// The places of tags.
const (
	OnField  Site = 1 << iota // a field's tag
	OnModel                   // the tag of the field _ struct{}
	OnMethod                  // a //kv: comment above a method
)

// String returns the place in words.
func (s Site) String() string {
	switch s {
	case OnField:
		return "a field"
	case OnModel:
		return "the field _ struct{}"
	case OnMethod:
		return "a method"
	}
	var places []string
	for _, one := range []Site{OnField, OnModel, OnMethod} {
		if s&one != 0 {
			places = append(places, one.String())
		}
	}
	return strings.Join(places, " or ")
}
