package testkit

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// Point is a request at which a test interferes with some work: the test ends the process
// there, or lets another process act.
type Point struct {
	N    int  // requests of the work before this one
	Lost bool // the engine executes the request, and its response is lost; always false with Points
	Step int  // requests since the previous point, this one included: for work that continues after each crash

	told, reached bool
}

// Reached records whether the work came to the point, and returns yes. A test must call
// it for each point.
func (p *Point) Reached(yes bool) bool {
	p.told, p.reached = true, yes
	return yes
}

// String returns the point in words.
func (p *Point) String() string {
	if p.Lost {
		return fmt.Sprintf("request %d, whose response is lost", p.N)
	}
	return fmt.Sprintf("request %d", p.N)
}

// Points returns requests of work that sends at most most requests: the first, and one
// of each six that follow (of 24 on DynamoDB Local), which a seed chooses. SVC_SEED is the seed, and by default it
// is random. With SVC_EXHAUSTIVE=1, it returns all of them.
//
// It ends after the first point that the work does not reach. The test fails if the
// work reaches no point, or if it sends more than most requests.
func Points(t testing.TB, most int) iter.Seq[*Point] {
	t.Helper()
	return points(t, most, 1)
}

// CrashPoints is Points with two points for each request: one at which the request is not
// sent, and one at which its response is lost (see Wire.CrashAt).
func CrashPoints(t testing.TB, most int) iter.Seq[*Point] {
	t.Helper()
	return points(t, most, 2)
}

// points is Points or CrashPoints: each is the number of points for a request, 1 or 2.
func points(t testing.TB, most, each int) iter.Seq[*Point] {
	t.Helper()
	chosen := Sample(t, most*each)
	return func(yield func(*Point) bool) {
		t.Helper()
		reached, before := 0, -1
		for _, at := range append(chosen, most*each) { // the last one is a request too many
			p := &Point{N: at / each, Lost: at%each == 1, Step: at/each - before}
			before = p.N
			switch more := yield(p); {
			case !more:
				return
			case !p.told:
				t.Errorf("the test does not call Reached for %v", p)
				return
			case !p.reached && reached == 0:
				t.Errorf("the work does not reach its first point, %v", p)
				return
			case !p.reached:
				return
			}
			reached++
		}
		t.Errorf("the work sends more than %d requests: name a higher limit", most)
	}
}

// few returns the size of the groups from which Sample picks one each: 6, or 24 on
// DynamoDB Local, which takes five times as long.
func few() int {
	if OnDynamoDBLocal() {
		return 24
	}
	return 6
}

// drawn is the seed of this process without SVC_SEED.
var drawn = rand.N(uint64(1e6))

// Sample returns numbers below n in ascending order: 0, and one of each six numbers that
// follow, chosen as by Points. With SVC_EXHAUSTIVE=1 it returns all numbers.
func Sample(t testing.TB, n int) (out []int) {
	t.Helper()
	if os.Getenv("SVC_EXHAUSTIVE") == "1" {
		for at := range n {
			out = append(out, at)
		}
		return out
	}
	text := cmp.Or(os.Getenv("SVC_SEED"), fmt.Sprint(drawn))
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("SVC_SEED is %q, and must be a number", text)
	}
	name := fnv.New64a()
	_, _ = name.Write([]byte(t.Name()))
	rnd := rand.New(rand.NewPCG(seed, name.Sum64()))
	out = []int{0}
	for from := 1; from < n; from += few() {
		out = append(out, from+rnd.IntN(min(few(), n-from)))
	}
	top, _, _ := strings.Cut(t.Name(), "/")
	t.Logf("This test tries one of %d cases. To try the same again: SVC_SEED=%d go test %s -run '^%s$'. "+
		"To try all: SVC_EXHAUSTIVE=1.", few(), seed, pkg(), top)
	return out
}

// pkg returns the import path of the package under test.
func pkg() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return strings.TrimSuffix(info.Path, ".test")
	}
	return "."
}
