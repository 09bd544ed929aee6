package wire

// mendable bounds the bytes that are tried bit by bit, which takes as many sums of them.
const mendable = 8 << 10

// Mend returns data as it fits: as it is, or a copy of it in which one bit is another. It
// looks for no such bit in more than 8 KiB.
func Mend(data []byte, fits func([]byte) bool) ([]byte, bool) {
	if fits(data) {
		return data, true
	}
	if len(data) > mendable {
		return data, false
	}
	mended := append([]byte(nil), data...)
	for i := range mended {
		for bit := byte(1); bit != 0; bit <<= 1 {
			mended[i] ^= bit
			if fits(mended) {
				return mended, true
			}
			mended[i] ^= bit
		}
	}
	return data, false
}
