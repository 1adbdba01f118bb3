package imports

import (
	"cmp"
	"strings"
)

// words lists, for each column of an import, the headings that other programs use for it, in
// folded form: letters and digits only, in small letters without accents. The languages
// are English, German, Dutch, French, Spanish, Italian, Polish, Hungarian and Portuguese,
// with some Chinese, Japanese, Korean and Vietnamese headings. familyFirst is a whole
// name that begins with the family name.
var words = map[string]string{
	"email": `mail emailaddress customeremail rideremail emailadresse mailadresse emailadres mailadres courriel
		adresseemail adressemail adressecourriel adresseelectronique correo correoelectronico direccionemail
		direcciondecorreo posta postaelettronica indirizzoemail indirizzomail adresemail adresmailowy poczta
		emailcim mailcim elektronikuscim enderecodeemail enderecoemail correioeletronico メールアドレス`,
	"phone": `phonenumber mobile mobilephone mobilenumber cell cellphone tel telephone telephonenumber telefon
		telefonnummer telefonnr rufnummer handy handynummer mobil mobilnummer mobiltelefon telefoon telefoonnummer
		gsm mobiel mobielnummer numerodetelephone numerotelephone portable telephoneportable telefono
		numerodetelefono movil telefonomovil celular numerotelefono numeroditelefono cellulare telefonocellulare
		numertelefonu nrtelefonu telefonkomorkowy komorka telefonszam mobilszam telefone numerodetelefone telemovel
		telefonecelular 電話番号`,
	"externalId": `externalreference customernumber customerno customerid clientid clientnumber kundennummer kundennr
		kundenid klantnummer klantnr klantid numeroclient numerodeclient numeroclient idclient codeclient
		numerodecliente numerocliente idcliente codigocliente codigodecliente codicecliente codigodocliente
		numerodocliente numerklienta nrklienta idklienta ugyfelszam ugyfelazonosito ugyfelkod drivernumber
		fahrernummer personalnummer`,
	"name": `fullname displayname contactname customername nom nombre nome naam vollername vollstaendigername
		kundenname volledigenaam klantnaam nomcomplet prenomnom prenometnom nomduclient nombrecompleto
		nombreyapellido nombreyapellidos nombredelcliente nomecompleto nomeecognome nomecognome nominativo
		imieinazwisko imienazwisko nomedocliente nomeesobrenome vornamename vornamenachname vornameundnachname`,
	"familyFirst": `nev teljesnev ugyfelnev vezetekneveskeresztnev csaladneveskeresztnev namevorname nachnamevorname
		nachnameundvorname familiennamevorname lastnamefirstname surnamefirstname surnamename lastfirst nomprenom
		nometprenom apellidosnombre apellidosynombre cognomenome cognomeenome nazwiskoimie nazwiskoiimie
		achternaamvoornaam hoten hovaten 氏名 名前 お名前 姓名 성명`,
	"firstName": `givenname forename vorname rufname voornaam roepnaam prenom prenoms primernombre nombredepila imie
		keresztnev utonev primeironome nomeproprio 名 middlename middlenames middleinitial secondname segundonombre
		zweitervorname tweedevoornaam deuxiemeprenom secondonome drugieimie masodikutonev`,
	"lastName": `surname familyname nachname familienname zuname achternaam familienaam nomdefamille apellido apellidos
		primerapellido segundoapellido apellidopaterno apellidomaterno tussenvoegsel tussenvoegsels voorvoegsel
		voorvoegsels namenszusatz cognome cognom cognoms nazwisko vezeteknev csaladnev apelido apelidos
		sobrenome ultimonome 姓`,
	"vehiclePlate": `plate licenseplate licenceplate numberplate registrationnumber kennzeichen nummernschild kenteken
		immatriculation plaquedimmatriculation plaque matricula placa targa numerrejestracyjny tablicarejestracyjna
		rejestracja rendszam`,
	"vehicleModel": `model vehicle car carmodel fahrzeug fahrzeugmodell modell voertuig automodel modele vehicule
		modelevehicule modelo vehiculo modelodelvehiculo modello veicolo modellpojazdu modelpojazdu pojazd jarmu
		tipus veiculo modelodoveiculo`,
	"vehicleColor": `color colour vehiclecolour carcolor farbe fahrzeugfarbe kleur couleur colore kolor szin cor
		cordoveiculo`,
	"address": `street streetaddress address1 address2 addressline1 addressline2 adresszeile1 adresszeile2
		adressline1 street1 street2 adresse anschrift strasse hausnummer strassehausnummer strasseundhausnummer
		adres straat huisnummer straatnaam rue voie direccion calle domicilio indirizzo via civico ulica nrdomu cim
		utca hazszam endereco rua morada numerodacasa defaultaddressaddress1 defaultaddressaddress2
		defaultaddresscity defaultaddresszip housenumber houseno zip zipcode postcode postalcode plz postleitzahl
		codepostal codigopostal cap kodpocztowy iranyitoszam city town ort stadt wohnort plaats woonplaats
		ville ciudad localidad poblacion citta comune miasto miejscowosc varos telepules cidade localidade 住所`,
	"lat": `latitude breite breitengrad breedtegraad latitud latitudine szerokosc szerokoscgeograficzna szelesseg`,
	"lng": `longitude lon long laenge laengengrad langengrad lengtegraad longitud longitudine dlugosc
		dlugoscgeograficzna hosszusag`,
	"label": `bezeichnung omschrijving libelle etiqueta etichetta etykieta cimke rotulo`,
	"notes": `note remark remarks comment comments notiz notizen bemerkung bemerkungen hinweis opmerking opmerkingen
		notitie remarque remarques commentaire commentaires notas nota observaciones comentarios osservazioni commenti
		uwagi notatki komentarz megjegyzes megjegyzesek observacoes`,
	"tripId": `id rideid orderid bookingid tripnumber fahrtid fahrtnummer auftragsnummer auftragsnr ritid ritnummer
		idcourse numerodecourse numerocourse idviaje numerodeviaje idcorsa numerocorsa idprzejazdu numerprzejazdu
		fuvarazonosito fuvarszam idviagem numerodaviagem tripororderid`,
	"driverEmail": `driveremailaddress driversemail fahreremail emailfahrer chauffeuremail emailchauffeur
		emailconductor emaildelconductor emailautista emailkierowcy soforemail emailmotorista emaildomotorista`,
	"driverExternalId": `driverid driverno driverreference fahrernr fahrerid chauffeurid chauffeurnummer idchauffeur idconductor
		idautista idkierowcy soforazonosito idmotorista`,
	"status": `state tripstatus ridestatus tripororderstatus stand zustand statut estado stato stan
		allapot statusz situacao`,
	"requestedAt": `requesttime requestdate orderedat bookedat pickuptime pickupat bestelltam abholzeit abholung
		beginn besteldatum ophaaltijd datedecommande heuredepriseencharge fechadesolicitud horaderecogida
		datarichiesta orarichiesta datazamowienia czasodbioru rendelesideje felvetelideje datadopedido horadopedido`,
	"completedAt": `endedat dropofftime dropoffat endtime finishedat endzeit ankunft ende aankomsttijd heuredarrivee
		heurededepose horadellegada oraarrivo czasprzyjazdu erkezesideje horadechegada`,
	"originAddress": `pickupaddress pickup pickuplocation fromaddress begintripaddress abholadresse startadresse von
		ophaaladres adressededepart depart direccionderecogida origen indirizzodipartenza partenza adresodbioru
		felvetelicim indulasicim enderecodeorigem origem`,
	"originLat": `pickuplat pickuplatitude originlatitude begintriplat startlat startlatitude`,
	"originLng": `pickuplng pickuplon pickuplongitude originlongitude originlon begintriplng startlng startlongitude`,
	"destAddress": `dropoffaddress dropoff dropofflocation destination destinationaddress toaddress zieladresse ziel
		nach bestemming bestemmingsadres adressedarrivee arrivee direcciondedestino destino indirizzodiarrivo
		destinazione adresdocelowy cel celcim erkezesicim enderecodedestino`,
	"destLat": `dropofflat dropofflatitude destlatitude destinationlat destinationlatitude endlat endlatitude`,
	"destLng": `dropofflng dropofflon dropofflongitude destlongitude destinationlng destinationlongitude endlng
		endlongitude`,
	"fare": `finalfare amount fareamount price total totalfare fahrpreis preis betrag prijs ritprijs bedrag prix montant
		tarif precio importe tarifa prezzo importo tariffa cena kwota oplata ar viteldij osszeg preco valor`,
	"currency": `farecurrency waehrung valuta devise moneda divisa waluta penznem moeda`,
	"paymentType": `payment paymentmethod zahlungsart zahlung zahlungsmethode bezahlart betaalwijze betaalmethode
		modedepaiement moyendepaiement paiement formadepago metododepago metododipagamento pagamento
		metodaplatnosci formaplatnosci fizetesimod formadepagamento metododepagamento`,
}

// aliases maps each folded heading of words to its column.
var aliases = aliasesOf(words)

// aliasesOf inverts a table such as words, which has the headings of each column as a text,
// separated by blanks. The result maps each heading to its column.
func aliasesOf(words map[string]string) map[string]string {
	all := map[string]string{}
	for column, text := range words {
		for _, word := range strings.Fields(text) {
			all[word] = column
		}
	}
	return all
}

// setOf returns the set of the words of a text, which are separated by blanks.
func setOf(text string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(text) {
		all[word] = true
	}
	return all
}

// bareNames are folded headings that usually mean a whole name. In a file that also has a
// column for the first or the last name, such a heading means the other part.
var bareNames = setOf("name nom nombre nome naam nev")

// furtherNames are headings of cells that are appended to a name in another column, such as
// a middle name. Cells of precedingNames, such as "van der", are put before it.
var (
	furtherNames = setOf(`middlename middlenames middleinitial secondname segundonombre zweitervorname tweedevoornaam
		deuxiemeprenom secondonome drugieimie masodikutonev segundoapellido apellidomaterno`)
	precedingNames = setOf("tussenvoegsel tussenvoegsels voorvoegsel voorvoegsels namenszusatz")
)

// isFurther reports whether a folded heading means a part of a name, such as a middle name,
// that is joined to a name in another column.
func isFurther(fold string) bool { return furtherNames[fold] || precedingNames[fold] }

// houseNumbers are headings of columns whose cells are joined to the part of the address
// before them without a comma. No comma follows a cell of a postalCodes column.
var (
	houseNumbers = setOf("hausnummer huisnummer housenumber houseno civico nrdomu hazszam numerodacasa")
	postalCodes  = setOf(`plz postleitzahl postcode codepostal codigopostal cap kodpocztowy iranyitoszam zip zipcode
		postalcode defaultaddresszip`)
)

// statuses and payments map what other programs write in a cell, folded, to our values of
// status and paymentType, such as CANCELLED and CARD.
var (
	statuses = valuesOf(map[string]string{
		"completed": `complete completado done finished ended dropoffcompleted abgeschlossen beendet erledigt voltooid
			afgerond termine terminee effectuee completada finalizado finalizada completato completata terminata
			zakonczony zakonczona zrealizowany zrealizowana teljesitve befejezve concluido concluida success`,
		"cancelled": `canceled cancel drivercanceled drivercancelled ridercanceled ridercancelled cancelledbydriver
			cancelledbyrider canceledbydriver canceledbyrider storniert abgesagt abgebrochen geannuleerd annule
			annulee cancelado cancelada annullato annullata anulowany anulowana anulowano lemondva torolve`,
	})
	payments = valuesOf(map[string]string{
		"cash": `bar bargeld barzahlung contant cash especes liquide efectivo contanti contante gotowka keszpenz dinheiro
			csh`,
		"card": `creditcard credit debitcard debit crd karte kreditkarte kartenzahlung eckarte kaart creditcard pin
			pinpas carte cartebancaire cb tarjeta tarjetadecredito carta cartadicredito karta kartakredytowa kartya
			bankkartya cartao cartaodecredito applepay googlepay`,
	})
)

// valuesOf inverts a table that has, for each of our values, the words of other programs as
// a text. The result maps each word, and the value in small letters, to the value in capitals.
func valuesOf(words map[string]string) map[string]string {
	all := map[string]string{}
	for value, text := range words {
		for _, word := range append(strings.Fields(text), value) {
			all[word] = strings.ToUpper(value)
		}
	}
	return all
}

// meant returns our value for a word of another program, from the table among (statuses or
// payments). If the table does not have the word, meant returns the word in capitals.
func meant(word string, among map[string]string) string {
	return cmp.Or(among[folded(word)], strings.ToUpper(word))
}
