package rediskv

import (
	"strconv"
	"sync"
)

// A cluster spreads keys over slots by the CRC-16 of the key, or of the part in its first braces.
const slots = 1 << 14

func slotOf(text string) int {
	crc := uint16(0)
	for i := range len(text) {
		crc = crc<<8 ^ crcTable()[byte(crc>>8)^text[i]]
	}
	return int(crc % slots)
}

var crcTable = sync.OnceValue(func() *[256]uint16 {
	table := new([256]uint16)
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
})

// A cluster has a boot item in every spacing-th slot, so each master with that many in a row holds
// one.
const (
	itemsOfCluster = 64
	spacing        = slots / itemsOfCluster
)

var clusterKeys = sync.OnceValue(func() []string {
	keys := make([]string, itemsOfCluster)
	for n, found := 0, 0; found < len(keys); n++ {
		tag := "b" + strconv.Itoa(n)
		if slot := slotOf(tag); slot%spacing == 0 && keys[slot/spacing] == "" {
			keys[slot/spacing] = "ringtree{" + tag + "}"
			found++
		}
	}
	return keys
})

// itemsOf returns the boot items on both sides of a slot: its master is likely to hold one.
func itemsOf(slot int) (before, after int) {
	before = slot / spacing
	return before, (before + 1) % itemsOfCluster
}
