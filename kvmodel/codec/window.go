package codec

// window is a part of the input from which neighboring strings are cut, so that they share an
// allocation.
type window struct {
	from int
	text string
}

const (
	windowSize = 4 << 10
	shortText  = windowSize / 4 // longer text gets its own allocation
)

func (w *window) cut(data []byte, from, to int) string {
	if from == to {
		return ""
	}
	if from < w.from || to > w.from+len(w.text) {
		if to-from > shortText {
			return string(data[from:to])
		}
		w.from = from
		w.text = string(data[from:min(from+windowSize, len(data))])
	}
	return w.text[from-w.from : to-w.from]
}
