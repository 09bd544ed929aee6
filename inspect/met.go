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

// freshItems adds the keys of items in the database in, and returns the new ones.
func (s set) freshItems(in *Inspector, items []item) ([]item, error) {
	return these(in, items, s.add)
}

// others returns the items that are not in s.
func (s set) others(in *Inspector, items []item) ([]item, error) {
	return these(in, items, func(key string) bool { return !s.has(key) })
}

// these returns the items with keys that want accepts.
func these(in *Inspector, items []item, want func(key string) bool) (some []item, err error) {
	keys, err := in.keysOf(items)
	for i, key := range keys {
		if want(key) {
			some = append(some, items[i])
		}
	}
	return some, err
}
