// Package geo is another package with structs stored by the sample.
package geo

// Point has no codec of its own.
type Point struct {
	Lat, Lng float64
	Label    string `msgpack:"label,omitempty"`
	checked  bool
}

// Checked returns p as checked.
func (p Point) Checked() Point {
	p.checked = true
	return p
}

// IsChecked reports whether p is checked, which is not stored.
func (p Point) IsChecked() bool { return p.checked }

// Region embeds a struct that other packages cannot name.
type Region struct {
	named
	Corners [2]Point
}

// NewRegion returns a region called name.
func NewRegion(name string, corners [2]Point) Region {
	return Region{named{Name: name}, corners}
}

type named struct {
	Name string
}
