package web

import (
	"crypto/subtle"
	"net/http"
	"net/netip"
	"strings"
)

// addressOf returns where a request comes from, as limits count it: an address of IPv4, or
// the first 64 bits of one of IPv6, of which one customer has all. Behind a proxy that is
// the last forwarded address, because clients can make up all others.
func (s *Site) addressOf(r *http.Request) string {
	if forwarded := r.Header.Values("X-Forwarded-For"); !s.config.Development && len(forwarded) > 0 {
		last := forwarded[len(forwarded)-1]
		if ip, err := netip.ParseAddr(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])); err == nil {
			return customer(ip)
		}
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return customer(peer.Addr())
}

func customer(ip netip.Addr) string {
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	// An address of IPv6 has 64 bits.
	network, _ := ip.Prefix(64)
	return network.String()
}

// forwarding has the headers by which a proxy says that it asks for someone else.
var forwarding = []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "Via"}

// trusts reports whether r may see how the site is doing: it comes from this machine and
// not through a proxy, or it bears the token.
func (s *Site) trusts(r *http.Request) bool {
	given, bears := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if bears && s.config.Token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(s.config.Token)) == 1 {
		return true
	}
	for _, header := range forwarding {
		if r.Header.Get(header) != "" {
			return false
		}
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && peer.Addr().Unmap().IsLoopback()
}
