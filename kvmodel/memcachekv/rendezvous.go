package memcachekv

// pick returns the server with the highest score for key. A score depends only on the name and the
// key, so a new server takes its share of the keys and nothing else moves. Changing the scores
// loses data.
func pick(servers []*server, key string) *server {
	if len(servers) == 1 {
		return servers[0]
	}
	hash := fnv1a(key)
	best, top := servers[0], uint64(0)
	for _, s := range servers {
		if score := scatter(hash ^ s.seed); score >= top {
			best, top = s, score
		}
	}
	return best
}

func fnv1a(text string) uint64 {
	hash := uint64(14695981039346656037)
	for i := range len(text) {
		hash = (hash ^ uint64(text[i])) * 1099511628211
	}
	return hash
}

// scatter is the last step of SplitMix64, and injective.
func scatter(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
