package wire

import "slices"

// TextSet is a set of texts in the order of their addition. The zero TextSet is empty.
type TextSet struct {
	all []string
	has map[string]struct{} // nil: scan all
}

// fewTexts is the number of texts up to which a scan is as fast as a map.
const fewTexts = 16

// SetOf returns a set that shares texts until the first Add.
func SetOf(texts []string) TextSet {
	s := TextSet{all: slices.Clip(texts)}
	if len(texts) > fewTexts {
		s.index()
	}
	return s
}

// Sized returns an empty set with room for n texts.
func Sized(n int) TextSet { return TextSet{all: make([]string, 0, n)} }

func (s *TextSet) index() {
	s.has = make(map[string]struct{}, 2*len(s.all))
	for _, text := range s.all {
		s.has[text] = struct{}{}
	}
}

// All returns the texts, nil if there are none. The caller may change them if it uses the set no
// more.
func (s *TextSet) All() []string {
	if len(s.all) == 0 {
		return nil
	}
	return s.all
}

func (s *TextSet) Has(text string) bool {
	if s.has == nil {
		return slices.Contains(s.all, text)
	}
	_, has := s.has[text]
	return has
}

// Add adds text, and reports whether it was new.
func (s *TextSet) Add(text string) bool {
	if s.Has(text) {
		return false
	}
	if s.all = append(s.all, text); s.has != nil {
		s.has[text] = struct{}{}
	} else if len(s.all) > fewTexts {
		s.index()
	}
	return true
}
