package imports

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strings"
)

// separators are the characters that may separate the cells of a CSV file.
var separators = []string{",", ";", "\t", "|"}

// shapeOf finds how a file is written (Shape) from its first maxRow bytes. It takes the
// separator with which most columns are known. The text of an error is shown to the company.
func (o Options) shapeOf(in io.Reader) (s Shape, err error) {
	begin, err := io.ReadAll(io.LimitReader(in, maxRow))
	if err != nil {
		return s, err
	}
	encoding, mark, isText := charset(begin)
	if err := notATable(begin, isText); err != nil {
		return s, err
	}
	s.Head, s.Charset = mark, encoding
	if o.Format == "ndjson" {
		return s, nil
	}
	source := newSource(bytes.NewReader(begin[mark:]), encoding)
	text, err := io.ReadAll(source)
	if err != nil {
		return s, err
	}
	separator, skipped := separatorLine(text)
	among := separators
	if separator != "" {
		among = []string{separator}
	}
	var found header
	var end int64
	best, tooMany := -1, 0
	for _, comma := range among {
		cells, length := firstRow(text[skipped:], comma)
		if length < 0 {
			continue
		}
		if len(cells) > maxColumns {
			tooMany = max(tooMany, len(cells))
			continue
		}
		h, wrong := o.headerOf(cells, false)
		if score := h.known*maxRow + len(cells); score > best {
			best, found, end, err, s.Comma = score, h, length, wrong, comma
		}
	}
	if tooMany > 0 && found.known == 0 {
		return s, broken(fmt.Sprintf("The header has %d columns, and at most 1,000 are read. Remove those that are empty.",
			tooMany))
	}
	if best < 0 || skipped+end >= int64(len(text)) && len(begin) == maxRow {
		return s, broken("The header, which is the first line, cannot be read or has more than 64 KB.")
	}
	s.Lines = lineBreaks(text[:skipped+end])
	s.Columns, s.Ignored, s.Joined = found.columns, found.ignored, found.joined
	s.Head += source.place(skipped + end)
	if text[skipped+end-1] == '\r' || encoding != "" || len(s.Joined) > 0 {
		s.Comma, s.Separator = olderFails, s.Comma
	}
	return s, err
}

// notATable returns an error for a file that cannot be CSV or NDJSON, such as a workbook.
// begin is the beginning of the file.
func notATable(begin []byte, isText bool) error {
	switch {
	case len(begin) == 0:
		return broken("The file is empty.")
	case bytes.HasPrefix(begin, []byte("PK\x03\x04")):
		return broken("The file is a workbook or another zip archive. Save the sheet as CSV UTF-8.")
	case bytes.HasPrefix(begin, []byte("PAR1")):
		return broken("The file is a Parquet file. Convert it to CSV.")
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		return broken("The file is compressed. Upload it unpacked.")
	case !isText:
		return broken("The file is no text. Save it as CSV UTF-8.")
	}
	return nil
}

// separatorLine reads a first line such as sep=; which names the separator. It returns
// the separator and the length of the line in bytes, "" and 0 if there is no such line.
func separatorLine(text []byte) (separator string, length int64) {
	end := bytes.IndexAny(text, "\r\n")
	if end < 0 {
		return "", 0
	}
	line := strings.Trim(string(text[:end]), `"`)
	if len(line) != len("sep=;") || !strings.EqualFold(line[:4], "sep=") || strings.ContainsAny(line[4:], `"=`) {
		return "", 0
	}
	if end++; text[end-1] == '\r' && end < len(text) && text[end] == '\n' {
		end++
	}
	return line[4:], int64(end)
}

// firstRow returns the cells of the first row of a CSV text, which comma separates, and the
// length of the row in bytes. The length is -1 if the row cannot be read.
func firstRow(text []byte, comma string) ([]string, int64) {
	r := csv.NewReader(newCellText(bytes.NewReader(text), comma[0]))
	r.Comma = rune(comma[0])
	cells, err := r.Read()
	if err != nil {
		return nil, -1
	}
	return cells, r.InputOffset()
}

// lineBreaks counts the line breaks of a text: LF, CR, or CR and LF together.
func lineBreaks(text []byte) int {
	return bytes.Count(text, []byte("\n")) + bytes.Count(text, []byte("\r")) - bytes.Count(text, []byte("\r\n"))
}
