package imports

import (
	"slices"
	"strings"
	"unicode"

	"svc/pkg/base/plaintext"
)

// weakWords maps folded headings, with or without fillers, to the columns that they may
// mean. guess uses them for a heading that words does not have, if no other heading means
// the column.
var weakWords = aliasesOf(map[string]string{
	"email": `emailklant emailclient emailcliente emailklienta kundenemail emailkunde correoe ugyfelemail clientemail
		メール`,
	"phone": `nrtelefoon nrtel telnr mobieletelefoon telefoonmobiel nrtelephone telephonemobile telportable nrtelefono
		telcellulare nrcellulare telkom telefonkontaktowy nrtelefonu nrtelefone mobilfunknummer handynr mobilnr
		telefonmobil telefonprivat rufnr mobileno phone1 primaryphone nrtelefon 電話`,
	"externalId": `klantcode refclient nrclient identifiantclient nrcliente kodklienta nrklienta vevokod vevoszam kdnr
		customerref memberid clientno kundenreferenz 顧客番号`,
	"name":        "vorundnachname vorundzuname vornachname contact ragionesociale",
	"familyFirst": "ugyfelneve vasarloneve vevonev vevoneve",
	"firstName":   "nombres nomi", "lastName": "csaladinev",
	"vehiclePlate": `nrrejestracyjny kfzkennzeichen amtlkennzeichen plaqueimmatriculation nrimmatriculation
		licenseplateno vehicleregistration regno nrmatricula numerodeplaca`,
	"vehicleModel": `merkentype markaimodel makeandmodel marqueetmodele marcaemodello marcaymodelo marcaemodelo
		markeundmodell`,
	"address": "hausnr numerdomu",
	"tripId":  "nrcourse identifiantcourse nrtrajet nrviaje nrcorsa nrprzejazdu nrviagem nrrit nrfahrt",
	"requestedAt": `tijdstipophalen starttijd begintijd datumentijd opgehaaldop datepriseencharge heuredepart datedebut
		dateetheure dateheure fechainicio fechayhora fechahora fecharecogida horainicio orapartenza dataeora dataora
		datainizio orainizio dataigodzina godzinaodbioru czasrozpoczecia datarozpoczecia kezdes kezdete horarecolha
		dataehora datainicio bestelldatum bestellzeit fahrtbeginn startzeit pickupdate pickupdatetime starttime
		startdate datetime begintime`,
	"completedAt": `afgezetom eindtijd datedepose datefin heurefin heurearrivee fechafin horafin horallegada datafine
		orafine oraarrivo datazakonczenia godzinazakonczenia czaszakonczenia befejezes vege datafim horafim horachegada
		ankunftszeit fahrtende dropoffdatetime dropoffdate enddate completiontime`,
	"originAddress": `from van origin vertrekadres adressepriseencharge lieudepart lieupriseencharge lugarrecogida
		direccionorigen luogopartenza skad miejsceodbioru adrespoczatkowy honnan indulas moradaorigem enderecopartida
		localpartida recolha abholort startort`,
	"destAddress": `to naar aankomstadres adressedestination lieuarrivee lieudepose lugardestino arrivo luogoarrivo dokad
		miejscedocelowe celallomas hova erkezes moradadestino enderecochegada localchegada zielort`,
	"fare":        "prixttc fahrtpreis totalamount",
	"currency":    "wahrung",
	"paymentType": "modereglement zahlart bezahlart fizetesmodja",
})

// fillers are words that guess ignores in a heading. numberWords are words for "number",
// which withoutFillers replaces with nr.
var (
	fillers     = setOf("a o os as the of de du des d del della dello dei di do da das dos l le la les el los las")
	numberWords = setOf("n no nr num numero numer number nummer")
)

// withoutFillers folds a heading and removes fillers and what follows a parenthesis: "N.º
// de cliente" becomes nrcliente, and "Preis (EUR)" becomes preis.
func withoutFillers(heading string) string {
	if open := strings.IndexByte(heading, '('); open > 0 {
		heading = heading[:open]
	}
	var b strings.Builder
	words := strings.FieldsFunc(plaintext.Fold(heading), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for _, word := range words {
		switch {
		case numberWords[word]:
			b.WriteString("nr")
		case !fillers[word] || len(words) == 1:
			b.WriteString(word)
		}
	}
	return b.String()
}

// nameColumns are the columns of a person's name, whole or in parts.
var nameColumns = []string{"name", "familyFirst", "firstName", "lastName"}

// guess gives a column to each heading that has none yet, if the heading may mean one
// that no other heading has (weakWords). It guesses no column for a whole name if the file
// has another column of a name. folds are the headings in folded form, and known are the
// columns of the kind of import.
func (h *header) guess(headings, folds, known []string) {
	for i, found := range h.columns {
		if found != "" {
			continue
		}
		short := withoutFillers(headings[i])
		for _, name := range []string{weakWords[folds[i]], weakWords[short], aliases[short], columnNames[short]} {
			whole := name == "name" || name == "familyFirst"
			named := slices.ContainsFunc(h.columns, func(c string) bool {
				return c == name || whole && slices.Contains(nameColumns, c)
			})
			if slices.Contains(known, name) && name != "id" && !named {
				h.columns[i] = name
				break
			}
		}
	}
}
