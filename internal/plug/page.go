package plug

// Ask returns how many entries a page of n items looks at next, which has found so many among
// those that it has looked at; 0 ends the page. At first these are n, and then twice as many as
// the page takes at its rate so far, plus a few, so that one more trip is enough. Each trip
// after that looks at three times as many as those between it and the first. A page looks at
// 10 n entries at most, and at 4 n in one trip.
func Ask(n, found, looked int) int {
	missing := n - found
	if looked == 0 || missing == 0 {
		return missing
	}
	ask := max(2*missing*(looked+1)/(found+1)+4, 3*(looked-n))
	return min(ask, 4*n, 10*n-looked)
}
