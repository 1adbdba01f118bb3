package app_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"testing"
	"time"

	"svc/internal/test/script"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
)

// used is what a process holds.
type used struct {
	heap                    uint64 // bytes after a collection
	goroutines, descriptors int
}

func measure(t *testing.T) (u used) {
	t.Helper()
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	open, err := os.ReadDir("/dev/fd")
	testkit.Must(t, err)
	return used{m.HeapAlloc, runtime.NumGoroutine(), len(open)}
}

// TestDayOfLoad runs a day of load on one process, in which the clock runs ahead
// from hour to hour: people sign in anew, tokens and throttles expire, keys are
// read again and rotated, rides are taken and swept. What the process holds does
// not grow with the hours. SVC_DAY sets the rides an hour (make day).
func TestDayOfLoad(t *testing.T) {
	testkit.Long(t)
	rides := 2
	if text := os.Getenv("SVC_DAY"); text != "" {
		var err error
		rides, err = strconv.Atoi(text)
		testkit.Must(t, err)
	}
	s := newSuite(t)
	var early used
	for hour := range 25 {
		for n := range rides {
			hourOfRide(t, s, fmt.Sprint(hour, "-", n))
		}
		testkit.Must(t, s.Runtime.Keys().Rotate(t.Context()))
		s.Drain(t)
		s.Clock.Advance(time.Hour)
		if hour == 5 { // caches are full
			s.Wire.CloseIdle()
			early = measure(t)
		}
	}
	late := measure(t)
	few := func() bool {
		s.Wire.CloseIdle()
		late = measure(t)
		return late.goroutines <= early.goroutines+20 && late.descriptors <= early.descriptors+20
	}
	for end := time.Now().Add(time.Minute); !few() && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond) // on a busy machine a closed connection ends later
	}
	t.Logf("after 6 hours %+v, after 25 hours %+v", early, late)
	// The growth that is allowed is the noise of caches and of the log that the test
	// keeps, far below 19 hours of anything that stays.
	if grown := int64(late.heap) - int64(early.heap); grown > int64(4<<20+rides*19*24<<10) {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if !few() {
		t.Errorf("after 6 hours %+v, after 25 hours %+v", early, late)
		testkit.Must(t, pprof.Lookup("goroutine").WriteTo(t.Output(), 1))
	}
}

// hourOfRide signs a rider, a driver and an operator in, and takes a ride.
func hourOfRide(t *testing.T, s *suite, key string) {
	t.Helper()
	rider, driver := s.SignIn(t, s.actors[authz.Rider]), s.SignIn(t, s.actors[authz.Driver])
	fleet := s.SignIn(t, s.actors[authz.Dashboard])
	s.Ride(t, rider.AccessToken, driver.AccessToken, script.Ride{Asks: `"paymentType":"WALLET"`, Fare: "18.5", Key: key})
	for _, path := range []string{"/api/v1/trips", "/api/v1/customers", "/api/v1/wallets", "/api/v1/reports/summary"} {
		s.Get(t, fleet.AccessToken, path).Must(t, 200)
	}
	s.Do(t, posted("/oauth/token", "grant_type", "refresh_token", "refresh_token", rider.RefreshToken, "client_id",
		rider.ClientID)).Must(t, 200)
	s.Do(t, posted("/oauth/revoke", "token", fleet.RefreshToken, "client_id", fleet.ClientID)).Must(t, 200)
	s.Get(t, "", "/health/ready").Must(t, 200)
}
