package imports

import (
	"slices"
	"strings"
	"testing"
)

// TestHeadingsInLanguages: headings as programs of several languages write them.
func TestHeadingsInLanguages(t *testing.T) {
	for _, tt := range []struct{ kind, headings, want string }{
		{"customers", "E-mail klant;Tel.nr.;Klantcode", "email phone externalId"},
		{"customers", "E-mail du client;N° de téléphone;Réf. client", "email phone externalId"},
		{"customers", "Correo-e;Núm. teléfono;N.º de cliente;Nombres", "email phone externalId firstName"},
		{"customers", "Email cliente;N. telefono;N. cliente;Ragione sociale", "email phone externalId name"},
		{"customers", "E-mail klienta;Tel. kom.;Kod klienta", "email phone externalId"},
		{"customers", "E-mail cím;Vevőkód;Ügyfél neve", "email externalId familyFirst"},
		{"customers", "E-mail do cliente;N.º de telefone;ID do cliente", "email phone externalId"},
		{"customers", "Kunden-E-Mail;Mobil-Nr.;Kd.-Nr.;Vor- und Nachname", "email phone externalId name"},
		{"trips", "Tijdstip ophalen;Afgezet om;Vertrekadres;Aankomstadres",
			"requestedAt completedAt originAddress destAddress"},
		{"trips", "N° de course;Heure de départ;Date de dépose;Adresse de destination;Prix TTC",
			"tripId requestedAt completedAt destAddress fare"},
		{"trips", "N.º de viaje;Fecha de inicio;Fecha de fin;Lugar de recogida",
			"tripId requestedAt completedAt originAddress"},
		{"trips", "N. corsa;Ora di partenza;Ora di arrivo;Arrivo", "tripId requestedAt completedAt destAddress"},
		{"trips", "Nr przejazdu;Godzina odbioru;Czas zakończenia;Skąd;Dokąd",
			"tripId requestedAt completedAt originAddress destAddress"},
		{"trips", "Kezdés;Befejezés;Honnan;Hová;Fizetés módja",
			"requestedAt completedAt originAddress destAddress paymentType"},
		{"trips", "ID da viagem;Hora da recolha;Data de fim;Morada de origem",
			"tripId requestedAt completedAt originAddress"},
		{"trips", "Startzeit;Ankunftszeit;Abholort;Zielort;Preis (EUR);Währung",
			"requestedAt completedAt originAddress destAddress fare currency"},
		{"drivers", "Kfz-Kennzeichen;Marque et modèle;Nr rejestracyjny", "vehiclePlate vehicleModel -"},
		{"customers", "Phone;Phone (work);Phone 1;Contact;Vorname", "phone - - - firstName"},
		{"customers", "ID;No;Name (Company);Account number", "- - name -"},
	} {
		headings := strings.Split(tt.headings, ";")
		h, err := Options{Kind: tt.kind, Key: "email"}.headerOf(slices.Clone(headings), true)
		for i, name := range h.columns {
			if name == "" {
				h.columns[i] = "-"
			}
		}
		if got := strings.Join(h.columns, " "); got != tt.want || err != nil {
			t.Errorf("%s: %s, want %s: %v", tt.headings, got, tt.want, err)
		}
	}
}
