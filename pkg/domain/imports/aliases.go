package imports

import (
	"cmp"
	"strings"
)

// words are headings that other programs write, folded, by the column that they mean: in
// English, German, Dutch, French, Spanish, Italian, Polish, Hungarian, Portuguese, and
// in Chinese and Japanese where they say the order of names.
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

// aliases are the columns that words mean.
var aliases = aliasesOf(words)

func aliasesOf(words map[string]string) map[string]string {
	all := map[string]string{}
	for column, text := range words {
		for _, word := range strings.Fields(text) {
			all[word] = column
		}
	}
	return all
}

func setOf(text string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(text) {
		all[word] = true
	}
	return all
}

// bareNames are headings of a whole name. If the file also has a column with the first or
// last name, they are headings of the other part.
var bareNames = setOf("name nom nombre nome naam nev")

// furtherNames follow the name that another column has, and precedingNames stand before it.
var (
	furtherNames = setOf(`middlename middlenames middleinitial secondname segundonombre zweitervorname tweedevoornaam
		deuxiemeprenom secondonome drugieimie masodikutonev segundoapellido apellidomaterno`)
	precedingNames = setOf("tussenvoegsel tussenvoegsels voorvoegsel voorvoegsels namenszusatz")
)

func isFurther(fold string) bool { return furtherNames[fold] || precedingNames[fold] }

// houseNumbers and postalCodes are parts of an address that no comma separates from the
// part before, and behind.
var (
	houseNumbers = setOf("hausnummer huisnummer housenumber houseno civico nrdomu hazszam numerodacasa")
	postalCodes  = setOf(`plz postleitzahl postcode codepostal codigopostal cap kodpocztowy iranyitoszam zip zipcode
		postalcode defaultaddresszip`)
)

// statuses and payments are what other programs write for our values, folded.
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

// valuesOf returns the value that each word stands for, and each value for itself.
func valuesOf(words map[string]string) map[string]string {
	all := map[string]string{}
	for value, text := range words {
		for _, word := range append(strings.Fields(text), value) {
			all[word] = strings.ToUpper(value)
		}
	}
	return all
}

// meant returns our value for another program's word, and the word in capitals if there
// is none.
func meant(word string, among map[string]string) string {
	return cmp.Or(among[folded(word)], strings.ToUpper(word))
}
