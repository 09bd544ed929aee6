package inspect

// set is a set of texts, each as its hash: ids with their models, or keys. A store can list a key
// more than once.
type set map[sum128]struct{}

// add adds text, and reports whether it is new.
func (s set) add(text string) bool {
	h := hashOf(text)
	_, was := s[h]
	s[h] = struct{}{}
	return !was
}

func (s set) has(text string) bool {
	_, is := s[hashOf(text)]
	return is
}

func (s set) lacks(text string) bool { return !s.has(text) }

// idIn returns the text of an id in a set.
func idIn(m model, id string) string { return m.Name() + ":" + id }

// fresh adds ids of m, and returns the new ones. Numbered ids are never listed twice, so it returns
// all of them.
func (s set) fresh(m model, ids []string) (fresh []string) {
	if m.IsNumbered() {
		return ids
	}
	for _, id := range ids {
		if s.add(idIn(m, id)) {
			fresh = append(fresh, id)
		}
	}
	return fresh
}

// those returns the items with keys that want accepts.
func (in *Inspector) those(items []item, want func(key string) bool) (some []item, err error) {
	keys, err := in.keysOf(items)
	for i, key := range keys {
		if want(key) {
			some = append(some, items[i])
		}
	}
	return some, err
}
