package plug

import "fmt"

// MaxPage is kvmodel.MaxPage, the maximum number of items on a page.
const MaxPage = 1000

// CheckPage returns an ErrInvalid unless n is a valid number of items for a page.
func CheckPage(listing string, n int) error {
	if n < 1 || n > MaxPage {
		return fmt.Errorf("%s: %w: a page of %d; it has 1 to %d items", listing, ErrInvalid, n, MaxPage)
	}
	return nil
}

// CheckNumber is CheckPage for a page by number.
func CheckNumber(listing string, page, n int) error {
	if page < 1 {
		return fmt.Errorf("%s: %w: page %d; the first is page 1", listing, ErrInvalid, page)
	}
	return CheckPage(listing, n)
}

// Pages returns how many pages of n items total items fill.
func Pages(total, n int) int { return (total + n - 1) / n }

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
