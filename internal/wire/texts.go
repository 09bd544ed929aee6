package wire

import "slices"

// TextSet is a set of texts. The zero TextSet is empty.
type TextSet struct {
	few  []string
	many map[string]struct{} // replaces few if there are more than fewTexts
}

// fewTexts is the number of texts up to which a scan is as fast as a map.
const fewTexts = 16

func SetOf(texts []string) (s TextSet) {
	if len(texts) <= fewTexts {
		s.few = texts[:len(texts):len(texts)]
		return s
	}
	s.many = make(map[string]struct{}, len(texts))
	for _, text := range texts {
		s.many[text] = struct{}{}
	}
	return s
}

func (s *TextSet) Has(text string) bool {
	if s.many == nil {
		return slices.Contains(s.few, text)
	}
	_, has := s.many[text]
	return has
}

// Add adds text, and reports whether it was new.
func (s *TextSet) Add(text string) bool {
	if s.Has(text) {
		return false
	}
	if s.many == nil && len(s.few) == fewTexts {
		s.many = make(map[string]struct{}, 2*fewTexts)
		for _, text := range s.few {
			s.many[text] = struct{}{}
		}
	}
	if s.many == nil {
		s.few = append(s.few, text)
	} else {
		s.many[text] = struct{}{}
	}
	return true
}
