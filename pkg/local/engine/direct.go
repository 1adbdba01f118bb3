package engine

import "context"

// launch starts the engine, with its door unless the options leave it out.
func (o order) launch(ctx context.Context, options Options) (*Engine, error) {
	if !options.Direct || o.Program.Kind != Dynoxide {
		return launchDoor(ctx, o, options.Stderr)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.Private = false
	b, err := o.run(options.Stderr, 0)
	if err != nil {
		return nil, err
	}
	return &Engine{Kind: o.Program.Kind, child: b.child, pid: b.child.cmd.Process.Pid, input: killing{b.child},
		URL: b.url.String(), Exposed: true}, nil
}

// killing kills an engine without a door when it is closed, as the door does at the
// end of its input.
type killing struct{ *child }

func (k killing) Close() error { return k.cmd.Process.Kill() }
