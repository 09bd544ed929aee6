package inspect

// met is the set of ids seen in a call, each hashed with its model. A store can list a key more
// than once.
type met map[sum128]struct{}

func hashIn(m model, id string) sum128 { return hashOf(m.Name() + ":" + id) }

// fresh adds ids, and returns the new ones. Numbered ids are never listed twice, so it returns all
// of them.
func (s met) fresh(m model, ids []string) (fresh []string) {
	if m.IsNumbered() {
		return ids
	}
	for _, id := range ids {
		if !s.has(m, id) {
			s[hashIn(m, id)] = struct{}{}
			fresh = append(fresh, id)
		}
	}
	return fresh
}

func (s met) has(m model, id string) bool {
	_, is := s[hashIn(m, id)]
	return is
}
