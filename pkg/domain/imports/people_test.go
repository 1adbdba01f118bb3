package imports_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"svc/internal/test/testkit"
	"svc/pkg/domain/imports"
)

func utf16Of(text string, order binary.AppendByteOrder, mark bool) []byte {
	if mark {
		text = "\ufeff" + text
	}
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return out
}

// TestNamesOfPeople: first and last names are told apart whatever the language and order
// of the headings, and names of companies stay as they are.
func TestNamesOfPeople(t *testing.T) {
	t.Parallel()
	db := testkit.Table(t)
	for _, tt := range []struct{ country, heading, cells, want string }{
		{"DE", "Vorname;Name", "Iris;Novak", "Iris|Novak|Iris Novak"},
		{"DE", "Name;Vorname", "Novak;Iris", "Iris|Novak|Iris Novak"},
		{"NL", "Voornaam;Naam", "Iris;van den Berg", "Iris|van den Berg|Iris van den Berg"},
		{"FR", "Prénom;Nom", "Iris;Novak", "Iris|Novak|Iris Novak"},
		{"FR", "Nom", "Iris Novak", "Iris|Novak|Iris Novak"},
		{"ES", "Nombre;Apellidos", "Ana María;García López", "Ana María|García López|Ana María García López"},
		{"ES", "Nombre", "Ana García", "Ana|García|Ana García"},
		{"IT", "Nome;Cognome", "Iris;Novak", "Iris|Novak|Iris Novak"},
		{"PL", "Imię;Nazwisko", "Iris;Nowak", "Iris|Nowak|Iris Nowak"},
		{"PL", "Imię i nazwisko", "Iris Nowak", "Iris|Nowak|Iris Nowak"},
		{"HU", "Vezetéknév;Keresztnév", "Nagy;János", "János|Nagy|János Nagy"},
		{"HU", "Név;Keresztnév", "Nagy;János", "János|Nagy|János Nagy"},
		{"HU", "Név", "Nagy János", "János|Nagy|Nagy János"},
		{"HU", "Név", "Dr. Nagy János Péter", "János Péter|Dr. Nagy|Dr. Nagy János Péter"},
		{"JP", "氏名", "Yamada Taro", "Taro|Yamada|Yamada Taro"},
		{"JP", "Name", "山田　太郎", "太郎|山田|山田　太郎"},
		{"JP", "姓;名", "山田;太郎", "太郎|山田|太郎 山田"},
		{"KR", "Name", "김 민준", "민준|김|김 민준"},
		{"PT", "Nome;Apelido", "Iris;Novak", "Iris|Novak|Iris Novak"},
		{"PT", "Nome;Sobrenome", "Iris;Novak", "Iris|Novak|Iris Novak"},
		{"US", "Name;Surname", "Iris;Novak", "Iris|Novak|Iris Novak"},
		{"US", "Full Name", "Iris Novak", "Iris|Novak|Iris Novak"},
		{"US", "Name", `"Novak, Iris"`, "Iris|Novak|Iris Novak"},
		{"US", "Name", `"van der Berg, Jan Piet"`, "Jan Piet|van der Berg|Jan Piet van der Berg"},
		{"US", "Name", `"O'Neil-Smith, Mary"`, "Mary|O'Neil-Smith|Mary O'Neil-Smith"},
		{"US", "Last, First", `"García López, Ana"`, "Ana|García López|Ana García López"},
		{"DE", `"Nachname, Vorname"`, "Novak Iris", "Iris|Novak|Novak Iris"},
		{"DE", "Name", `"Hotel Adler, Rezeption"`, "Hotel Adler, Rezeption||Hotel Adler, Rezeption"},
		{"US", "Name", `"Smith, Jones & Co"`, "Smith, Jones & Co||Smith, Jones & Co"},
		{"US", "Name", `"Smith, Jones and Brown"`, "Smith, Jones and Brown||Smith, Jones and Brown"},
		{"DE", "Name", `"Müller, Schmidt und Partner"`, "Müller, Schmidt und Partner||Müller, Schmidt und Partner"},
		{"FR", "Nom", `"Dupont, Martin et fils"`, "Dupont, Martin et fils||Dupont, Martin et fils"},
		{"NL", "Voornaam;Tussenvoegsel;Achternaam", "Jan;van den;Berg", "Jan|van den Berg|Jan van den Berg"},
		{"NL", "Achternaam;Voornaam;Tussenvoegsels", "Berg;Jan;", "Jan|Berg|Jan Berg"},
		{"NL", "Naam;Voorvoegsel;Voornaam", "Berg;van;Jan", "Jan|van Berg|Jan van Berg"},
		{"US", "First Name;Middle Name;Last Name", "Ana;Maria;Novak", "Ana Maria|Novak|Ana Maria Novak"},
		{"US", "Middle Name;Name;Surname", "Maria;Ana;Novak", "Ana Maria|Novak|Ana Maria Novak"},
		{"ES", "Nombre;Primer apellido;Segundo apellido", "Ana;García;López", "Ana|García López|Ana García López"},
		{"US", "Name", `"Smith, Jones, Brown"`, "Smith, Jones, Brown||Smith, Jones, Brown"},
		{"US", "Name", `"Acme, Inc."`, "Acme, Inc.||Acme, Inc."},
		{"US", "Name", `"John Smith, Jr."`, "John Smith, Jr.||John Smith, Jr."},
		{"DE", "Name", `"Zimmer, 12"`, "Zimmer, 12||Zimmer, 12"},
		{"DE", "Name", `"Müller, Söhne GmbH"`, "Müller, Söhne GmbH||Müller, Söhne GmbH"},
		{"US", "Name", "Cher", "Cher||Cher"},
	} {
		t.Run(tt.heading+" "+tt.cells, func(t *testing.T) {
			c := newCompany(t, db, tt.country, "EUR", "UTC")
			file := fmt.Sprintf("E-Mail;%s\r\na@metro.example;%s\r\n", tt.heading, tt.cells)
			rec, faults := c.imports(t, imports.Options{Kind: "customers"}, []byte(file))
			if got := strings.TrimSuffix(c.person(t, "a@metro.example"), "||"); got != tt.want {
				t.Errorf("the person is %s, want %s: %s %v", got, tt.want, tally(rec), faults)
			}
			if again, _ := c.imports(t, imports.Options{Kind: "customers"}, []byte(file)); tally(again) != "0/0/1/0" {
				t.Errorf("again: %s", tally(again))
			}
		})
	}
}

// TestFormsOfFiles: the same two people, as programs of several kinds write them. The line
// of a faulty row is right, and the copy of the faulty rows can be imported again.
func TestFormsOfFiles(t *testing.T) {
	t.Parallel()
	db := testkit.Table(t)
	const plain = "E-Mail;Name;Telefon;Kundennummer\na@metro.example;Änne Öz 😀;0612345675;007\n" +
		"b@metro.example;\"Bo;b\nby\";;8\nno address;Eve;;9\n"
	lines := func(end string) string { return strings.ReplaceAll(plain, "\n", end) }
	for name, file := range map[string][]byte{
		"LF": []byte(plain), "CRLF": []byte(lines("\r\n")), "CR": []byte(lines("\r")),
		"a mark":                      []byte("\ufeff" + plain),
		"UTF-16":                      utf16Of(lines("\r\n"), binary.LittleEndian, true),
		"UTF-16, big end first":       utf16Of(lines("\r\n"), binary.BigEndian, true),
		"UTF-16 without a mark":       utf16Of(plain, binary.LittleEndian, false),
		"UTF-16, lines that end CR":   utf16Of(lines("\r"), binary.BigEndian, false),
		"sep":                         []byte("sep=;\n" + plain),
		"sep, quoted, CR":             []byte("\"sep=;\"\r" + lines("\r")),
		"tabs":                        []byte(strings.ReplaceAll(strings.ReplaceAll(plain, "o;b", "o~b"), ";", "\t")),
		"bars":                        []byte(strings.ReplaceAll(strings.ReplaceAll(plain, "o;b", "o~b"), ";", "|")),
		"separators within a heading": []byte(strings.Replace(plain, "Name;", "Name;\"Notes, remarks, words, other\";", 1)),
		"separators in a heading":     []byte(strings.Replace(plain, "Name;", "Name;Notes (a, b, c, d, e);", 1)),
		"formulas that hold texts": []byte(strings.NewReplacer("0612345675", `="0612345675"`, "007", `="007"`,
			"E-Mail", `="E-Mail"`, "a@metro.example", `="a@metro.example"`).Replace(plain)),
		"quoted formulas that hold texts": []byte(strings.NewReplacer("0612345675", `"=""0612345675"""`).Replace(plain)),
		"Shopify's apostrophe": []byte(strings.NewReplacer("007", "'007", "0612345675",
			"'0612345675").Replace(plain)),
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "separators") { // one more cell
				file = []byte(strings.NewReplacer("😀;", "😀;x;", "by\";", "by\";x;", "Eve;", "Eve;x;").Replace(string(file)))
			}
			if strings.HasPrefix(name, "tabs") || name == "bars" {
				file = []byte(strings.ReplaceAll(string(file), "~", ";"))
			}
			c := newCompany(t, db, "NL", "EUR", "UTC")
			rec, faults := c.imports(t, imports.Options{Kind: "customers"}, file)
			want := []string{"3 name invalid", "5 email invalid"}
			if strings.HasPrefix(name, "sep") && !strings.HasPrefix(name, "separators") {
				want = []string{"4 name invalid", "6 email invalid"}
			}
			if tally(rec) != "1/0/0/2" || strings.Join(faults, ", ") != strings.Join(want, ", ") {
				t.Fatalf("%s %v", tally(rec), faults)
			}
			if got := c.person(t, "a@metro.example"); got != "Änne Öz|😀|Änne Öz 😀|0612345675|007" {
				t.Errorf("the person is %s", got)
			}
			_, rows := c.failed(t, rec, file)
			var copied bytes.Buffer
			testkit.Must(t, imports.CopyRows(&copied, bytes.NewReader(file), rec.Shape, rows))
			again, faults := c.imports(t, imports.Options{Kind: "customers"}, copied.Bytes())
			if tally(again) != "0/0/0/2" || len(faults) != 2 {
				t.Errorf("the faulty rows alone: %s %v\n%q", tally(again), faults, copied.String())
			}
		})
	}
}

// failed returns the faulty rows of a file.
func (c company) failed(t *testing.T, rec imports.Record, file []byte) (imports.Record, []imports.Row) {
	t.Helper()
	var rows []imports.Row
	_, _, _, err := rec.Check(c.target, opened(file), func(row imports.Row, _ imports.Fault) error {
		rows = append(rows, row)
		return nil
	})
	testkit.Must(t, err)
	return rec, rows
}

// TestValuesThatAreNotWhatTheySeem: what spreadsheets have made from ids, two phones or
// addresses in one cell, and addresses with what stood around them are faults that name
// the column.
func TestValuesThatAreNotWhatTheySeem(t *testing.T) {
	t.Parallel()
	c := newCompany(t, testkit.Table(t), "DE", "EUR", "UTC")
	for n, tt := range []struct{ key, cell, want string }{
		{"externalId", "6.40551E+12", "externalId invalid"}, {"externalId", "6,40551E+12", "externalId invalid"},
		{"externalId", "1E+12", "externalId invalid"}, {"externalId", "6.40551e+12", "externalId invalid"},
		{"externalId", "#N/A", "externalId invalid"}, {"externalId", "#REF!", "externalId invalid"},
		{"externalId", "########", "externalId invalid"}, {"externalId", "6.40551E12", "externalId invalid"},
		{"externalId", "640.551E+10", "externalId invalid"}, {"externalId", "6,40551 E12", "externalId invalid"},
		{"externalId", "6E5", ""}, {"externalId", "6405512345678", ""}, {"externalId", "12E+x", ""},
		{"phone", "4.93012E+11", "phone invalid"},
		{"phone", "030 1234567 / 0171 1234567", "phone invalid"}, {"phone", "030 1234567, 0171 1234567", "phone invalid"},
		{"phone", "0301234567 0171 1234567", "phone invalid"}, {"phone", "+49301234567 +491711234567", "phone invalid"},
		{"phone", "030 1234567 oder 0171 1234567", "phone invalid"}, {"phone", "030 1234567/8", "phone invalid"},
		{"phone", "06 12 34 56 78 06 12 34 56 79", "phone invalid"}, {"phone", "\"030 1234567\n0171 1234567\"",
			"phone invalid"},
		{"phone", "030/1234567", ""}, {"phone", "+49 (0)30 / 1234568", ""}, {"phone", "0049 30 1234569", ""},
		{"phone", "030 1234567 ext. 12", "phone invalid"}, {"phone", "+49 30 1234567 x12", "phone invalid"},
		{"phone", "+49301234567;ext=12", "phone invalid"},
		{"email", "mailto:a@metro.example", "email invalid"}, {"email", "a@metro.example>", "email invalid"},
		{"email", "<a@metro.example>", "email invalid"}, {"email", "Ann <a@metro.example>", "email invalid"},
		{"email", "\"a@metro.example, b@metro.example\"", "email invalid"}, {"email", "a@metro.example;", "email invalid"},
		{"email", "a@metro.example/", "email invalid"}, {"email", "\"a@metro.example,\"", "email invalid"},
		{"email", "a+b.c_d@metro-x.example", ""}, {"email", "jürgen@öz.example", ""},
	} {
		t.Run(tt.key+" "+tt.cell, func(t *testing.T) {
			file := tt.key + "\tname\ttel2\n" + tt.cell + "\tAnn One\t\n"
			if tt.key != "email" {
				file = strings.Replace(file, "tel2", "email", 1)
				file = strings.Replace(file, "One\t", fmt.Sprintf("One\tann%d@metro.example", n), 1)
			}
			for _, kind := range []string{"customers", "addresses", "trips"} {
				_, faults := c.imports(t, imports.Options{Kind: kind, Key: tt.key}, []byte(file))
				if kind != "customers" && tt.want == "" {
					continue
				}
				if got := strings.Join(faults, ", "); !strings.HasSuffix(got, tt.want) || tt.want == "" && got != "" {
					t.Errorf("%s: %q, want %q", kind, got, tt.want)
				}
			}
		})
	}
}
