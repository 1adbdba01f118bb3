package page

// scope returns what a scope permits an application to do. A scope without a
// text is shown by its name.
func (l Lang) scope(scope string) string {
	if p, ok := scopes[scope]; ok {
		return l.of(p)
	}
	return scope
}

// ScopePhrase returns the consent page's English text of a scope, as in "see
// your trips".
func ScopePhrase(scope string) string { return English.scope(scope) }

var scopes = map[string]pair{
	"openid":  {"know who you are", "saber quién eres"},
	"profile": {"see your name and photo", "ver tu nombre y tu foto"},
	"email":   {"see your email address", "ver tu correo electrónico"},

	"tenant.trips:read":   {"see all trips of the company", "ver todos los viajes de la empresa"},
	"tenant.trips:write":  {"create and change trips of the company", "crear y modificar viajes de la empresa"},
	"tenant.trips:delete": {"delete trips of the company", "eliminar viajes de la empresa"},
	"tenant.drivers:read": {"see the company's drivers and where they are",
		"ver los conductores de la empresa y dónde están"},
	"tenant.drivers:write":   {"add and change drivers", "añadir y modificar conductores"},
	"tenant.customers:read":  {"see the company's customers", "ver los clientes de la empresa"},
	"tenant.customers:write": {"add and change customers", "añadir y modificar clientes"},
	"tenant.settings:read":   {"see the company's settings", "ver la configuración de la empresa"},
	"tenant.settings:write":  {"change the company's settings", "modificar la configuración de la empresa"},
	"tenant.reports:read":    {"see reports", "ver informes"},
	"tenant.reports:export":  {"export reports", "exportar informes"},
	"tenant.builds:read": {"see builds of the company's apps",
		"ver las compilaciones de las aplicaciones de la empresa"},
	"tenant.builds:write": {"start builds of the company's apps",
		"iniciar compilaciones de las aplicaciones de la empresa"},
	"tenant.businesses:read": {"see the businesses that deliver", "ver los comercios de reparto"},
	"tenant.businesses:write": {"add and change the businesses that deliver",
		"añadir y modificar los comercios de reparto"},
	"tenant.delivery:read":  {"see delivery orders", "ver los pedidos a domicilio"},
	"tenant.delivery:write": {"change delivery orders", "modificar los pedidos a domicilio"},
	"tenant.wallets:read":   {"see wallets and balances", "ver monederos y saldos"},
	"tenant.wallets:write":  {"change wallets", "modificar monederos"},
	"tenant.branding:write": {"change the company's branding", "modificar la imagen de la empresa"},
	"tenant.events:read":    {"follow what happens in the company", "seguir lo que ocurre en la empresa"},
	"tenant.webhooks:read":  {"see where events are sent", "ver adónde se envían los eventos"},
	"tenant.webhooks:write": {"change where events are sent", "cambiar adónde se envían los eventos"},
	"feedback:read":         {"read the product's roadmap", "leer la hoja de ruta del producto"},
	"feedback:vote":         {"vote on the product's roadmap for you", "votar por ti en la hoja de ruta del producto"},
	"feedback:write": {"post ideas, bug reports and comments for you",
		"publicar por ti ideas, errores y comentarios"},

	"rider.profile:read":  {"see your profile and saved addresses", "ver tu perfil y tus direcciones guardadas"},
	"rider.profile:write": {"change your profile", "modificar tu perfil"},
	"rider.trips:read":    {"see your trips", "ver tus viajes"},
	"rider.trips:create": {"request rides for you, which may cost you money",
		"pedir viajes por ti, que pueden costarte dinero"},
	"rider.trips:cancel": {"cancel your rides", "cancelar tus viajes"},
	"rider.orders:read":  {"see your delivery orders", "ver tus pedidos a domicilio"},
	"rider.orders:create": {"order deliveries for you, which may cost you money",
		"hacer pedidos por ti, que pueden costarte dinero"},
	"rider.addresses:write": {"save addresses for you", "guardar direcciones por ti"},
	"rider.payments:read":   {"see your payment methods", "ver tus métodos de pago"},
	"rider.payments:write":  {"change your payment methods", "modificar tus métodos de pago"},
	"rider.trips:rate":      {"rate your trips for you", "valorar tus viajes por ti"},
	"rider.wallet:read":     {"see your wallet", "ver tu monedero"},
	"rider.events:read":     {"follow your trips, orders and account", "seguir tus viajes, pedidos y cuenta"},

	"driver.profile:read": {"see your driver profile", "ver tu perfil de conductor"},
	"driver.status:write": {"take you online and offline", "ponerte en línea o fuera de línea"},
	"driver.trips:read":   {"see the trips assigned to you", "ver los viajes que tienes asignados"},
	"driver.trips:accept": {"accept trips for you", "aceptar viajes por ti"},
	"driver.trips:complete": {"report arrival, start and end of your trips",
		"notificar la llegada, el inicio y el fin de tus viajes"},
	"driver.wallet:read":     {"see your wallet", "ver tu monedero"},
	"driver.events:read":     {"follow your trips and account", "seguir tus viajes y tu cuenta"},
	"driver.wallet:withdraw": {"withdraw money from your wallet", "retirar dinero de tu monedero"},
	"driver.documents:read":  {"see your documents", "ver tus documentos"},
}
