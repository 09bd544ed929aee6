package plug

// Ask returns how many entries a page of n items reads next, after found hits among looked entries;
// 0 ends the page. The first trip reads n. The second reads twice what the hit rate requires, so it
// is usually the last; each later one three times the entries read since the first. A page reads at
// most 10 n entries, 4 n in one trip.
func Ask(n, found, looked int) int {
	missing := n - found
	if looked == 0 || missing == 0 {
		return missing
	}
	ask := max(2*missing*(looked+1)/(found+1)+4, 3*(looked-n))
	return min(ask, 4*n, 10*n-looked)
}
