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

	"svc/pkg/app/apptest"
	"svc/pkg/local/demo"
	"svc/pkg/local/testkit"
)

var (
	pictures = flag.String("pictures", "", "write pictures of the console with robots into the folder")
	fast     = flag.Bool("performance", false, "also ask Lighthouse for 95 of 100 for performance, on an idle machine")
)

// seen counts the frames in which a driver on the map is elsewhere than before.
const seen = `(() => {
	window.movements = 0
	let frame = [], before = []
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
		const moved = frame.some((at, i) => Math.abs(at - before[i]) > 0.01)
		if (moved && frame.length === before.length) movements++
		before = frame
	})
})()`

// TestConsoleRobots: within a minute of the first start of svc dev, which is what make run starts, an operator of the
// sandbox sees robots drive. The minute is counted in readings of the positions, every 2.5 seconds, so that a busy
// machine has as many. With -performance, on an idle machine, a clock measures it too.
func TestConsoleRobots(t *testing.T) {
	testkit.Long(t)
	began := time.Now()
	dev := testkit.StartDev(t)
	ctx := browser(t)
	run(t, ctx, size(1100, 700, "light"), watch(), script(seen), chromedp.Navigate(dev.BaseURL+"/console/"),
		chromedp.Click(button("Sign in")), chromedp.WaitVisible(chromedp.CSS("#password")),
		chromedp.SetValue(chromedp.CSS("#email"), "operator@sandbox.example"),
		chromedp.SendKeys(chromedp.CSS("#password"), demo.Password+kb.Enter), chromedp.WaitVisible(chromedp.CSS(".open li")),
		chromedp.WaitReady(chromedp.JSPath(`movements > 20 ? document.body : null`)))
	took := time.Since(began)
	readings := get[int](t, ctx, `performance.getEntriesByType("resource").filter(e => /api.v1.drivers\?/.test(e.name)).length`)
	if readings < 2 || readings > 24 || *fast && took > time.Minute {
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
