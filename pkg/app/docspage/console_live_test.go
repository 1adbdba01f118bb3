package docspage

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"svc/internal/test/apptest"
	"svc/internal/test/browsing"
	"svc/internal/test/testkit"
	"svc/pkg/local/demo"
)

var (
	pictures = flag.String("pictures", "", "write pictures of the console with robots into the folder")
	fast     = flag.Bool("performance", false, "also ask Lighthouse for 95 of 100 for performance, on an idle machine")
)

// seen counts the frames in which a driver on the map has moved on, and the readings of the positions. It keeps for
// each trip under way the places of its driver.
const seen = `(() => {
	window.movements = window.readings = 0
	window.driven = {}
	let frame = [], before = [], drivers = {}
	const arc = CanvasRenderingContext2D.prototype.arc
	CanvasRenderingContext2D.prototype.arc = function (x, y, ...rest) {
		frame.push(x, y)
		return arc.call(this, x, y, ...rest)
	}
	const next = window.requestAnimationFrame
	window.requestAnimationFrame = act => next(now => {
		frame = []
		act(now)
		if (frame.length === 0) return
		const same = frame.length === before.length
		if (same && !frame.some((at, i) => Math.abs(at - before[i]) > 0.05)) return
		if (same) movements++
		before = frame
	})
	const real = window.fetch
	window.fetch = async (...given) => {
		const answer = await real(...given)
		const [, list] = /api.v1.(drivers|trips)\?/.exec(given[0].url ?? given[0]) ?? []
		if (!list) return answer
		const { items } = await answer.clone().json()
		if (list === "drivers") {
			readings++
			drivers = Object.fromEntries(items.map(d => [d.id, d.currentLat + " " + d.currentLng]))
		} else for (const trip of items) {
			if (!["ASSIGNED", "IN_PROGRESS"].includes(trip.status) || !drivers[trip.driverId]) continue
			(driven[trip.id] ??= new Set()).add(drivers[trip.driverId])
		}
		return answer
	}
})()`

// TestConsoleRobots: within a minute after the first svc dev answers, which is what make run starts, an operator of the
// sandbox sees a robot drive a trip: its driver is read at three places, and moves on the map and on the trip's page.
// The minute is counted in readings of the positions, every 2.5 seconds, so that a busy machine has as many. With
// -performance, on an idle machine, a clock measures it too.
func TestConsoleRobots(t *testing.T) {
	testkit.Long(t)
	dev := testkit.StartDev(t)
	answered := time.Now()
	ctx := browser(t)
	const driving = `Object.keys(driven).find(id => driven[id].size > 2)`
	run(t, ctx, size(1100, 700, "light"), watch(), inject(seen), chromedp.Navigate(dev.BaseURL+"/console/"),
		browsing.Click(button("Sign in")), browsing.WaitVisible(chromedp.CSS("#password")),
		browsing.SetValue(chromedp.CSS("#email"), "operator@sandbox.example"),
		browsing.SendKeys(chromedp.CSS("#password"), demo.Password+kb.Enter), browsing.WaitVisible(chromedp.CSS(".open li")),
		browsing.WaitReady(chromedp.JSPath(`movements > 20 && `+driving+` ? document.body : null`)))
	took, readings := time.Since(answered), get[int](t, ctx, `readings`)
	if readings < 3 || readings > 24 || *fast && took > time.Minute {
		t.Errorf("a robot's trip was seen moving after %s and %d readings", took, readings)
	}
	t.Logf("a robot's trip was seen moving after %s and %d readings", took, readings)
	for i := range 60 {
		if *pictures == "" {
			break
		}
		picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		testkit.Must(t, err)
		testkit.Must(t, os.WriteFile(filepath.Join(*pictures, fmt.Sprintf("%03d.png", i)), picture, 0o600))
		time.Sleep(400 * time.Millisecond)
	}
	trip := get[string](t, ctx, driving)
	run(t, ctx, open("trips/"+trip, `//h2[.="What happened"]`)...)
	run(t, ctx, chromedp.Evaluate[chromedp.Void](`void (movements = 0)`),
		browsing.WaitReady(chromedp.JSPath(`movements > 20 ? document.body : null`)))
	noFaults(t, ctx)
}

// TestConsoleLighthouse: Lighthouse gives 100 for accessibility and for best practices, signed out and signed in.
func TestConsoleLighthouse(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	rides(t, s, 3)
	olga := s.Operator(t, "metro", "olga")
	order, err := json.Marshal(map[string]string{"chrome": testkit.Chrome(t), "url": s.URL + "/console/",
		"email": olga.Email, "password": apptest.Password})
	testkit.Must(t, err)
	cmd := exec.CommandContext(t.Context(), "node", "console.mjs")
	cmd.Dir = "../../oauth/browser"
	var complaints bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(order), &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, complaints.String())
	}
	pages := 0
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); pages++ {
		var v struct {
			Name   string
			Scores map[string]int
			Failed []string
		}
		testkit.Must(t, d.Decode(&v))
		t.Logf("%s: %v", v.Name, v.Scores)
		if v.Scores["accessibility"] != 100 || v.Scores["best-practices"] != 100 || *fast && v.Scores["performance"] < 95 {
			t.Errorf("%s: %v: %q", v.Name, v.Scores, v.Failed)
		}
	}
	if pages != 2 {
		t.Errorf("%d pages: %s", pages, complaints.String())
	}
}
