package contact

import (
	"net"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

const FindingTime = 2 * time.Second

// IsLocal reports whether addr, host:port, is on this machine.
func IsLocal(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

const maxSkew = 2 * time.Second

// FindClock reports how far the server's clock is ahead of this machine's, known to within the
// given time.
func FindClock(addr string, ahead, within time.Duration) kv.Finding {
	off, is := ahead, "ahead of"
	if ahead < 0 {
		off, is = -ahead, "behind"
	}
	if off <= maxSkew+within {
		return kv.Find(kv.Fine, "%s: its clock is that of this machine, to %v", addr, max(time.Millisecond, (off+within).Round(time.Millisecond)))
	}
	return kv.Find(kv.Hurts, "%s: its clock is %v %s that of this machine, so records expire at the wrong time: have both set their clocks by the network (NTP)",
		addr, off.Round(time.Second), is)
}

const fullFrom = 80

// FindMemory reports how full the server's memory is. setting is the option that limits it.
func FindMemory(addr, setting string, used, limit int64) kv.Finding {
	full := int(float64(used) / float64(limit) * 100)
	if full < fullFrom {
		return kv.Find(kv.Fine, "%s: %d %% of its memory is used", addr, full)
	}
	return kv.Find(kv.Hurts, "%s: %d %% of its memory is used: raise %s before it is full, or delete what is not needed; sizes says what takes most", addr, full, setting)
}
