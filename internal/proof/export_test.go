package proof

// TryExplore is Explore that returns what is wrong.
var TryExplore = explore

// Stale returns what is wrong with m's quotes of the code below root.
func Stale(root string, m Mistake) error {
	_, err := m.wrong(root)
	return err
}
