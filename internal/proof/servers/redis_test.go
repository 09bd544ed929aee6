package servers

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedis_StopRemovesItsFiles(t *testing.T) {
	Need(t, "redis-server")
	p, err := Redis()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.dir); err != nil {
		t.Error(err)
	}
	p.Kill()
	if err := p.Start(); err != nil {
		t.Error(err)
	}
	p.Stop()
	if _, err := os.Stat(p.dir); !os.IsNotExist(err) {
		t.Errorf("after Stop, Stat of its directory = %v, want not exist", err)
	}
}

func TestRedisCluster_HasThreeMastersAndTheirReplicas(t *testing.T) {
	Need(t, "redis-server")
	c, err := RedisCluster()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	if diff := cmp.Diff([]int{0, 1, 2}, c.Masters()); diff != "" {
		t.Errorf("masters mismatch (-want +got):\n%s", diff)
	}
	if got := len(c.Addrs()); got != 6 {
		t.Errorf("%d nodes, want 6", got)
	}
}
