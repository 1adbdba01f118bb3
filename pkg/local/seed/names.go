package seed

// firstNames, lastNames, streets, cars, reasons and notes are what the generator picks
// from. reasons are reasons of cancelled trips, and notes are riders' notes for the
// driver.
var firstNames = []string{"Ava", "Noah", "Maya", "Liam", "Zoë", "Tomás", "Wei", "Amara", "Oliver", "Inês", "João",
	"Chloé", "Mateo", "Aisha", "Ethan",
	"Søren", "Yuki", "Priya", "Lucas", "Nadia", "Øyvind", "Hana", "Omar", "Freya", "Diego", "Mina", "Pavel", "Leila",
	"Kofi", "Sofía", "Jakub",
	"Thandiwe", "Marco", "Anaïs", "Ravi", "Elif", "Hugo", "Camila", "Arjun", "Greta", "Ελένη", "Νίκος", "Дмитрий", "Ольга",
	"美咲", "健太", "Zahra",
	"Bruno", "Ingrid", "Samuel", "Beatriz", "Felix", "Rosa", "Emil", "Nia", "Viktor", "Clara", "Idris", "Louise", "Andrés"}

var lastNames = []string{"Thompson", "Kim", "Okafor", "Herrera", "Zhang", "Laurent", "Sousa", "Fontaine", "Pereira",
	"Carvalho", "Berg", "Novak", "Rossi",
	"Haddad", "Nakamura", "Patel", "Costa", "Lindqvist", "Mensah", "Ivanova", "García", "Müller", "O'Brien", "Nguyễn",
	"Yılmaz", "Kowalski", "Dubois",
	"Ferrari", "Andersson", "Chowdhury", "Ramos", "Fischer", "Adeyemi", "Silva", "Petrov", "Sato", "van Dijk",
	"Castellanos", "Bennett", "Almeida",
	"Horváth", "Jensen", "Moreau", "Tanaka", "Osei", "Delgado", "Wagner", "Łukasik", "Popescu", "Reyes", "Barros"}

// surnames are the last names for first names in a non-Latin script.
var surnames = map[string]string{"Ελένη": "Παπαδάκη", "Νίκος": "Παπαδάκης", "Дмитрий": "Смирнов", "Ольга": "Смирнова",
	"美咲": "佐藤", "健太": "佐藤"}

var streets = []string{"Harbour Street", "Station Square", "Canal Row", "Orchard Avenue", "Battery Place",
	"Museum Mile", "Riverside Walk", "Market Lane",
	"Cathedral Close", "Foundry Road", "Linden Boulevard", "Observatory Hill", "Mill Street", "Victory Parade",
	"Garden Terrace", "Old Post Road",
	"University Avenue", "Quayside", "Tannery Yard", "Northgate", "Beacon Street", "Chestnut Grove", "Stadium Way",
	"Library Place", "Hospital Road",
	"Exchange Alley", "Lakeshore Drive", "Theatre Street", "Weaver's Court", "Copper Bridge"}

var cars = []struct{ model, color string }{{"Toyota Camry", "Silver"}, {"Hyundai Ioniq 5", "White"}, {"Honda Accord",
	"Black"}, {"Škoda Octavia", "Teal"},
	{"Toyota Prius", "Blue"}, {"Tesla Model 3", "White"}, {"Kia Niro", "Grey"}, {"Volkswagen Passat",
		"Green"}, {"Renault Zoe", "Red"}, {"Ford Mondeo", "Black"}}

var reasons = []string{"Plans changed", "The driver is too far away", "Found another way", "Wrong address",
	"Waited too long", "Ordered by mistake"}

var notes = []string{"Two suitcases", "Please call on arrival", "Blue door, second floor", "With a child seat, please",
	"Side entrance", "I have a small dog"}

// kitchens are names of businesses, with their categories.
var kitchens = []struct{ name, category string }{{"Corner Deli", "restaurant"}, {"Green Basket", "grocery"},
	{"Noodle House", "restaurant"}, {"Sunrise Bakery", "bakery"},
	{"Blue Pharmacy", "pharmacy"}, {"Taquería Sol", "restaurant"}, {"Padaria Central", "bakery"}, {"Spice Market",
		"grocery"}, {"Pizzeria Fiore", "restaurant"}, {"Flower Stall", "florist"}}

// dishes are what the businesses sell, with prices in 1/100 of the currency.
var dishes = []struct {
	name  string
	cents int64
}{{"Pastrami on rye", 1450}, {"Tonkotsu ramen", 1675}, {"Margherita", 1290}, {"Salad box", 1120}, {"Oranges, 1 kg",
	410}, {"Oat milk", 349}, {"Sourdough", 600},
	{"Matzo ball soup", 950}, {"Gyoza", 800}, {"Tacos al pastor", 1180}, {"Pastel de nata", 190}, {"Green curry",
		1390}, {"Tulips", 1500}, {"Miso soup", 450}}
