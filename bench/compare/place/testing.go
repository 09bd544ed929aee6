package place

import "testing"

func StartAll(t testing.TB) Place {
	t.Helper()
	var at Place
	for _, server := range []string{Postgres, Redis, Memcached} {
		if Missing(server) != nil {
			continue
		}
		stop, err := Start(server, &at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
	}
	return at
}
