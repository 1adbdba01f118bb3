package erasure

import (
	"bytes"
	"context"
	"encoding/json"

	"svc/pkg/base/timestamp"
	"svc/pkg/domain/privacy"
)

// line is one line of a copy: an item of the person.
type line struct {
	Kind string `json:"kind"`
	Data any    `json:"data"`
}

// export writes the next part of a copy of the person's data. rec.Bytes is how much of
// the file was saved. A process may end after it has written more but before it saves;
// that rest is cut off and written again.
func (r Runner) export(ctx context.Context, p person, rec privacy.Record) (privacy.Record, error) {
	may, err := r.allowed(ctx, p.t, rec)
	if err != nil {
		return rec, err
	}
	if !may {
		rec.Status = privacy.Blocked
		return r.save(ctx, p.t, rec, nil)
	}
	var file []byte
	if rec.Bytes > 0 {
		if file, err = r.Files.Get(ctx, rec.File(p.t)); err != nil {
			return rec, err
		}
	}
	out := bytes.NewBuffer(file[:min(len(file), rec.Bytes)])
	list := sources(p)
	for read := 0; rec.Step < len(list) && read < 20; read++ {
		s := list[rec.Step]
		if s.alien {
			rec.Step++
			continue
		}
		page, err := s.read(ctx, p, rec.Position, 200)
		if err != nil {
			return rec, err
		}
		for _, it := range page.Items {
			var data any = json.RawMessage(it.Raw())
			if s.show != nil {
				if data, err = s.show(it); err != nil {
					return rec, err
				}
			} else if it.Raw() == "" {
				data = nil
			}
			if data, err = withoutMembers(data); err != nil {
				return rec, err
			}
			if err := json.NewEncoder(out).Encode(line{it.Type, data}); err != nil {
				return rec, err
			}
		}
		if rec.Position = page.Last; !page.More {
			rec.Step, rec.Position = rec.Step+1, ""
		}
	}
	if err := r.Files.Put(ctx, rec.File(p.t), out.Bytes()); err != nil {
		return rec, err
	}
	rec.Bytes = out.Len()
	if rec.Step == len(list) {
		rec.Status, rec.ExpiresAt = privacy.Done, timestamp.Ptr(r.Now().Add(privacy.FileLife))
	}
	return r.save(ctx, p.t, rec, nil)
}

// withoutMembers returns a line's data without the members of external.Members, also of an
// entry of the audit log: they belong to the company's other systems.
func withoutMembers(data any) (any, error) {
	text, err := json.Marshal(data)
	if err != nil || !bytes.HasPrefix(text, []byte("{")) {
		return data, err
	}
	var doc document
	if err := json.Unmarshal(text, &doc); err != nil {
		return data, err
	}
	cut(doc, "externalId", "metadata")
	for _, name := range []string{"before", "after"} {
		if len(doc[name]) == 0 {
			continue
		}
		inner, err := withoutMembers(doc[name])
		if err == nil {
			doc[name], err = json.Marshal(inner)
		}
		if err != nil {
			return data, err
		}
	}
	return doc, nil
}
